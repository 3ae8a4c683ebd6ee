package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// maxBatch bounds the requests of one transaction.
const maxBatch = 256

// request is one write that waits for the writer.
type request struct {
	// exec does the write inside of the writer's transaction. A *footnote.Error
	// is a refusal: it says that nothing was written, and the transaction goes on
	// without the request. Any other error undoes the transaction; the others in
	// it are done again, so exec may run twice.
	exec func(ctx context.Context, w *writer) error
	// done runs after the commit; may be nil.
	done func()

	state    atomic.Int32  // waiting, then taken or abandoned
	finished chan struct{} // closed when err is final
	err      error
}

const (
	waiting int32 = iota
	taken
	abandoned
)

// do gives a request to the writer and waits until it is committed or refused.
// Once the writer has taken it, only the writer decides: the caller gets the
// truth, however long ago its ctx ended.
func (s *Store) do(ctx context.Context, doing string, r *request) error {
	if s.readOnly {
		return errReader
	}
	r.finished = make(chan struct{})
	if ctx.Err() != nil {
		return translate(ctx, doing, context.Cause(ctx))
	}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return store.ErrClosed()
	}
	select {
	case s.queue <- r:
		s.mu.RUnlock()
	case <-ctx.Done():
		s.mu.RUnlock()
		return translate(ctx, doing, context.Cause(ctx))
	}
	select {
	case <-r.finished:
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, abandoned) {
			return translate(ctx, doing, context.Cause(ctx))
		}
		<-r.finished
	}
	return translate(ctx, doing, r.err)
}

// writer is the connection that writes, with its statements. All of it belongs to
// the goroutine of serve.
type writer struct {
	s       *Store
	conn    *sql.Conn
	stmts   statements
	heads   map[string]head // of streams that were written lately
	args    []any           // of one statement
	owed    store.Changes   // to balances, by the transaction; see pay
	deleted bool            // since the last time the WAL was emptied
	spare   bool            // there may be free pages to give back
}

func newWriter(ctx context.Context, s *Store, compact bool) (*writer, error) {
	w := &writer{s: s, heads: map[string]head{}, owed: store.Changes{}, spare: true}
	if err := w.connect(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	if err := migrate(ctx, w.conn); err != nil {
		return nil, errors.Join(err, w.close())
	}
	if err := w.compact(ctx, compact); err != nil {
		return nil, errors.Join(err, w.close())
	}
	if err := w.stmts.prepare(ctx, w.conn); err != nil {
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
	return w.stmts.prepare(ctx, w.conn)
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

// serve writes what comes out of the queue until it is closed and empty.
func (w *writer) serve(queue <-chan *request) {
	batch := make([]*request, 0, maxBatch)
	for r := w.next(queue); r != nil; r = w.next(queue) {
		batch = batch[:0]
		batch = take(batch, r)
	fill:
		for len(batch) < maxBatch {
			select {
			case r, ok := <-queue:
				if !ok {
					break fill
				}
				batch = take(batch, r)
			default:
				break fill
			}
		}
		w.commit(batch)
		if w.deleted {
			w.emptyWAL()
		}
		clear(batch)
	}
}

// next waits for a request and gives space back meanwhile; nil when there are no more.
func (w *writer) next(queue <-chan *request) *request {
	for w.spare {
		select {
		case r := <-queue:
			return r
		default:
			w.giveBack()
		}
	}
	return <-queue
}

// take adds a request whose caller still waits.
func take(batch []*request, r *request) []*request {
	if r.state.CompareAndSwap(waiting, taken) {
		return append(batch, r)
	}
	return batch
}

// commit writes a batch and tells its callers.
func (w *writer) commit(batch []*request) {
	if len(batch) == 0 {
		return
	}
	// A write that was taken is finished, whoever still waits for it.
	ctx := context.Background()
	err := w.transact(ctx, batch)
	if err != nil && len(batch) > 1 {
		for _, r := range batch { // one of them cannot be written; the others can
			r.err = w.transact(ctx, []*request{r})
			close(r.finished)
		}
		return
	}
	for _, r := range batch {
		if err != nil {
			r.err = err
		}
		close(r.finished)
	}
}

// transact writes a batch in one transaction. Refusals are left in the requests;
// an error says that nothing of the batch was written.
func (w *writer) transact(ctx context.Context, batch []*request) (err error) {
	defer func() {
		if err != nil {
			w.s.committed.Store(0)
		} else {
			w.s.committed.Store(w.s.now().UnixNano())
		}
	}()
	clear(w.owed) // by one that was undone
	if err := w.begin(ctx); err != nil {
		return err
	}
	for _, r := range batch {
		r.err = r.exec(ctx, w)
		if _, refused := errors.AsType[*footnote.Error](r.err); r.err != nil && !refused {
			w.rollback(ctx)
			return r.err
		}
	}
	if err := w.pay(ctx); err != nil {
		w.rollback(ctx)
		return err
	}
	if _, err := w.stmts.commitTx.ExecContext(ctx); err != nil {
		w.rollback(ctx)
		return fmt.Errorf("commit: %w", err)
	}
	for _, r := range batch {
		if r.err == nil && r.done != nil {
			r.done()
		}
	}
	return nil
}

// begin starts a transaction, on a new connection when the present one cannot.
func (w *writer) begin(ctx context.Context) error {
	now, err := os.Stat(w.s.path)
	if err != nil || !os.SameFile(now, w.s.inode) {
		// SQLite would go on writing to a file that nobody finds again.
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

// rollback undoes the transaction. SQLite has often done so already; a connection
// on which it did not work is replaced at the next begin.
func (w *writer) rollback(ctx context.Context) {
	_, _ = w.stmts.rollbackTx.ExecContext(ctx)
}

// emptyWAL removes the last copies of what was deleted. Readers can be in the way;
// then it is tried again after the next write, and at Close.
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
