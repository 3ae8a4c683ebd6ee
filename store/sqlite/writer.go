package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/internal/group"
)

// maxBatch is the maximum number of requests in one transaction.
const maxBatch = 256

// request is one write for the writer.
type request struct {
	// exec writes inside the writer's transaction. If it returns a *footnote.Error, it must have written nothing, and
	// the transaction continues without the request. Any other error rolls the transaction back and retries each of its
	// requests alone, so exec may run twice.
	exec func(ctx context.Context, w *writer) error
	// done runs in the writer's goroutine after the commit; may be nil.
	done func()

	refused error // the *footnote.Error of exec
}

type queued = group.Request[*request]

// do passes a request to the writer and waits until it is committed or refused.
func (s *Store) do(ctx context.Context, doing string, r *request) error {
	if s.readOnly {
		return errReader
	}
	ok, err := s.queue.Do(ctx, r)
	if !ok {
		return store.ErrClosed()
	}
	return translate(ctx, doing, err)
}

// writer is the writing connection with its statements. Only the goroutine of serve uses it.
type writer struct {
	s       *Store
	conn    *sql.Conn
	stmts   statements
	heads   map[string]head // of recently written streams
	args    []any           // of one statement
	changes store.Changes   // of balances in this transaction that are not written yet
	deleted bool            // rows were deleted since the WAL was last emptied
	spare   bool            // there may be free pages to return
}

func newWriter(ctx context.Context, s *Store, compact bool) (*writer, error) {
	w := &writer{s: s, heads: map[string]head{}, changes: store.Changes{}, spare: true}
	if err := w.connect(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	if err := migrate(ctx, w.conn); err != nil {
		return nil, errors.Join(err, w.close())
	}
	if err := w.compact(ctx, compact); err != nil {
		return nil, errors.Join(err, w.close())
	}
	if err := prepare(ctx, w.conn, writeQueries(&w.stmts)); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn, err = w.s.write.Conn(ctx); err != nil {
		w.conn = nil
		return err
	}
	return checkDurable(ctx, w.conn)
}

// reconnect replaces a connection that an error left in an unknown state.
func (w *writer) reconnect(ctx context.Context) error {
	w.stmts.close()
	if w.conn != nil {
		_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // out of the pool
		_ = w.conn.Close()
		w.conn = nil
	}
	if err := w.connect(ctx); err != nil {
		return err
	}
	return prepare(ctx, w.conn, writeQueries(&w.stmts))
}

func (w *writer) close() error {
	w.stmts.close()
	if w.conn == nil {
		return nil
	}
	err := w.conn.Close()
	w.conn = nil
	return err
}

// serve writes the requests of the queue until it is closed and empty. While no request waits, it returns free pages to
// the file system.
func (w *writer) serve() {
	queue := w.s.queue
	for {
		for w.spare && queue.Idle() {
			w.returnPages()
		}
		batch := queue.Next(maxBatch, group.All)
		switch {
		case batch == nil:
			return
		case len(batch) == 0: // all waiting writes were abandoned
			continue
		}
		w.commit(batch)
		if w.deleted {
			w.emptyWAL()
		}
	}
}

// commit writes a batch and finishes its requests.
func (w *writer) commit(batch []*queued) {
	// The writer finishes a request that it has taken, even if the caller has gone.
	err := w.transact(context.Background(), batch)
	if err != nil && len(batch) > 1 {
		for i := range batch { // one of them cannot be written; the others can
			w.commit(batch[i : i+1])
		}
		return
	}
	group.Finish(batch, err, func(r *request) error { return r.refused })
}

// transact writes a batch in one transaction and sets refused in its requests. After an error, nothing of the batch was
// written.
func (w *writer) transact(ctx context.Context, batch []*queued) (err error) {
	defer func() {
		if err != nil {
			w.s.committed.Store(0)
		} else {
			w.s.committed.Store(w.s.now().UnixNano())
		}
	}()
	clear(w.changes) // of a transaction that was rolled back
	if err := w.begin(ctx); err != nil {
		return err
	}
	for _, r := range batch {
		err := r.Item.exec(ctx, w)
		if _, refused := errors.AsType[*footnote.Error](err); err != nil && !refused {
			w.rollback(ctx)
			return err
		}
		r.Item.refused = err
	}
	if err := w.writeChanges(ctx); err != nil {
		w.rollback(ctx)
		return err
	}
	if _, err := w.stmts.commitTx.ExecContext(ctx); err != nil {
		w.rollback(ctx)
		return fmt.Errorf("commit: %w", err)
	}
	for _, r := range batch {
		if r.Item.refused == nil && r.Item.done != nil {
			r.Item.done()
		}
	}
	return nil
}

// begin starts a transaction, on a new connection if the current one is broken.
func (w *writer) begin(ctx context.Context) error {
	now, err := os.Stat(w.s.path)
	if err != nil || !os.SameFile(now, w.s.inode) {
		// SQLite would keep writing to a file that no longer has a name.
		return &footnote.Error{Code: footnote.StorageUnavailable, Message: msgGone, Err: err}
	}
	if w.stmts.beginTx != nil {
		if _, err = w.stmts.beginTx.ExecContext(ctx); err == nil {
			return nil
		}
	}
	if err := w.reconnect(ctx); err != nil {
		return err
	}
	_, err = w.stmts.beginTx.ExecContext(ctx)
	return err
}

// rollback rolls the transaction back, unless SQLite already has. If it fails, the next begin replaces the connection.
func (w *writer) rollback(ctx context.Context) { _, _ = w.stmts.rollbackTx.ExecContext(ctx) }

// emptyWAL removes the last copies of deleted rows. If a reader prevents it, serve tries again after the next write,
// and Close does at the end.
func (w *writer) emptyWAL() {
	ctx := context.Background()
	if w.conn == nil {
		return
	}
	var busy, pages, moved int
	_, _ = w.conn.ExecContext(ctx, "PRAGMA busy_timeout = 0")
	err := w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	_, _ = w.conn.ExecContext(ctx, "PRAGMA busy_timeout = 5000")
	w.deleted = err != nil || busy != 0
}
