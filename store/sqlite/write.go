package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// statements are the prepared statements of the writer's connection.
type statements struct {
	beginTx, commitTx, rollbackTx *sql.Stmt

	insertStream, selectHead, advance, advanceRun, setTitle *sql.Stmt
	insertEvents                                            [maxInsert]*sql.Stmt // of one event, of two, …
	insertBlob, insertRef                                   *sql.Stmt
	setCursor, ping                                         *sql.Stmt
	deleteBlobs, deleteRefs, deleteEvents, deleteStream     *sql.Stmt
	dropRef, dropBlob                                       *sql.Stmt

	balance, changeBalance, changeBalances, deleteBalance, reservation, reserve, unreserve *sql.Stmt
}

// close must be called before the connection is closed: database/sql leaves the statements of a single connection open,
// and SQLite then keeps the connection open with all its locks.
func (q *statements) close() {
	for _, p := range writeQueries(q) {
		if *p.stmt != nil {
			_ = (*p.stmt).Close() // it only repeats the statement's last error
		}
	}
	*q = statements{}
}

// maxInsert is the maximum number of events that one statement inserts. Most appends have no more.
const maxInsert = 4

// nextStream computes the number of a new stream. It avoids the numbers of rows that could not be deleted with their
// stream, because those rows would become part of the new one. A damaged row may have any value, including the largest
// number; text sorts after all numbers.
const nextStream = `1 + max((SELECT coalesce(max(n), 0) FROM streams WHERE n < 1 << 62),
	(SELECT CAST(coalesce(max(stream), 0) AS INTEGER) FROM events WHERE stream < 1 << 62),
	(SELECT CAST(coalesce(max(stream), 0) AS INTEGER) FROM blob_refs WHERE stream < 1 << 62))`

func writeQueries(q *statements) []query {
	queries := []query{
		{&q.beginTx, `BEGIN IMMEDIATE`},
		{&q.commitTx, `COMMIT`},
		{&q.rollbackTx, `ROLLBACK`},
		{&q.insertStream, `INSERT INTO streams (n, id, kind, org, user, client_id, assistant, created, updated,
			title, last, run, run_state, deadline)
			VALUES (` + nextStream + `, ?, ?, ?, ?, ?, ?, ?7, ?7, ?, ?, ?, ?, ?)`},
		{&q.selectHead, `SELECT n, org, user, ` + lastEvent + ` FROM streams WHERE id = ?`},
		{&q.advance, `UPDATE streams SET last = ?, updated = ? WHERE n = ? AND ` + lastEvent + ` = ?`},
		{&q.advanceRun, `UPDATE streams SET last = ?, updated = ?, run = ?, run_state = ?, deadline = ?
			WHERE n = ? AND ` + lastEvent + ` = ?`},
		{&q.setTitle, `UPDATE streams SET title = ? WHERE n = ?`},
		{&q.insertBlob, `INSERT INTO blobs (digest, data) VALUES (?, ?)
			ON CONFLICT (digest) DO UPDATE SET data = excluded.data WHERE data <> excluded.data`},
		{&q.insertRef, `INSERT OR IGNORE INTO blob_refs (stream, blob) SELECT ?, n FROM blobs WHERE digest = ?`},
		{&q.setCursor, `INSERT INTO cursors (name, position) VALUES (?, ?)
			ON CONFLICT DO UPDATE SET position = excluded.position`},
		{&q.ping, `UPDATE ping SET at = ?`},
		{&q.deleteBlobs, `DELETE FROM blobs WHERE n IN (
			SELECT r.blob FROM blob_refs r JOIN streams s ON s.n = r.stream WHERE s.id = ?
			AND NOT EXISTS (SELECT 1 FROM blob_refs o WHERE o.blob = r.blob AND o.stream <> r.stream))`},
		{&q.deleteRefs, `DELETE FROM blob_refs WHERE stream = (SELECT n FROM streams WHERE id = ?)`},
		{&q.deleteEvents, `DELETE FROM events WHERE stream = (SELECT n FROM streams WHERE id = ?)`},
		{&q.deleteStream, `DELETE FROM streams WHERE id = ?`},
		{&q.dropRef, sqlDropRef},
		{&q.dropBlob, sqlDropBlob},
	}
	for i := range q.insertEvents {
		rows := strings.Repeat(", (?, ?, ?, ?, ?, ?)", i+1)[2:]
		queries = append(queries,
			query{&q.insertEvents[i], "INSERT INTO events (stream, seq, time, run, kind, body) VALUES " + rows})
	}
	return append(queries, moneyQueries(q)...)
}

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, st store.Stream) error {
	if err := store.CheckStream(st); err != nil {
		return err
	}
	return s.do(ctx, "create "+st.ID, &request{exec: func(ctx context.Context, w *writer) error {
		_, err := w.create(ctx, st, s.now(), 0, store.Change{})
		return err
	}})
}

// CreateAppend implements store.Store.
func (s *Store) CreateAppend(ctx context.Context, st store.Stream, a store.Append) ([]footnote.Event, error) {
	a, err := store.FirstAppend(st, a)
	if err != nil {
		return nil, err
	}
	return s.append(ctx, "create "+st.ID, &st, a)
}

// Append implements store.Store.
func (s *Store) Append(ctx context.Context, a store.Append) ([]footnote.Event, error) {
	if err := store.CheckAppend(a); err != nil {
		return nil, err
	}
	return s.append(ctx, "append to "+a.Stream, nil, a)
}

// append writes an append, to a new stream unless create is nil.
func (s *Store) append(ctx context.Context, doing string, create *store.Stream,
	a store.Append) ([]footnote.Event, error) {
	p, err := s.newAppend(a)
	if err != nil {
		return nil, err
	}
	p.create = create
	if err := s.do(ctx, doing, &request{done: p.done, exec: p.exec}); err != nil {
		return nil, err
	}
	return p.events, nil
}

// create inserts a stream with the head that it has after its first events.
func (w *writer) create(ctx context.Context, s store.Stream, now time.Time, last int, c store.Change) (head, error) {
	title := store.CleanTitle(s.Title)
	if c.SetTitle {
		title = c.Title
	}
	res, err := w.stmts.insertStream.ExecContext(ctx, s.ID, s.Kind, s.Org, s.User, s.ClientID, s.Assistant,
		now.UnixMicro(), title, last, c.Run, c.RunState, micro(c.Deadline))
	if unique(err) {
		return head{}, store.ErrTaken(s.ID)
	}
	if err != nil {
		return head{}, err
	}
	n, err := res.LastInsertId()
	return head{n: n, org: s.Org, user: s.User}, err
}

// head holds the columns of a stream that never change.
type head struct {
	n         int64 // the stream's number in the tables
	org, user string
}

// maxHeads is the maximum number of heads that the writer caches.
const maxHeads = 4096

// cacheHead keeps the head of a committed stream for its next append.
func (w *writer) cacheHead(id string, h head) {
	if len(w.heads) >= maxHeads {
		clear(w.heads)
	}
	w.heads[id] = h
}

// pending is an append for the writer. The caller's goroutine encodes it.
type pending struct {
	s           *Store
	create      *store.Stream // nil for an append to an existing stream
	a           store.Append
	events      []footnote.Event
	positions   []int64 // of the events
	kinds, data []string
	change      store.Change
	now         time.Time
	head        head
}

func (s *Store) newAppend(a store.Append) (*pending, error) {
	a.Bodies = withStoredDeadlines(a.Bodies)
	kinds, data, err := store.EncodeBodies(a.Bodies)
	if err != nil {
		return nil, err
	}
	p := &pending{
		s: s, a: a, kinds: kinds, data: make([]string, len(data)),
		events: make([]footnote.Event, len(data)), positions: make([]int64, len(data)),
		change: store.ChangeOf(a.Run, a.Bodies),
	}
	for i, b := range data {
		p.data[i] = string(b) // text, which people can read with any SQLite shell
	}
	return p, nil
}

// withStoredDeadlines returns bodies as a reader of the file would see them, because the store serves recent events
// from memory. It removes the monotonic clock from deadlines.
func withStoredDeadlines(bodies []footnote.Body) []footnote.Body {
	for i, b := range bodies {
		if parked, ok := b.(footnote.RunParked); ok {
			bodies = slices.Clone(bodies)
			parked.Deadline = parked.Deadline.UTC().Round(0)
			bodies[i] = parked
		}
	}
	return bodies
}

// exec writes the append. It refuses it, if it must, before the first write.
func (p *pending) exec(ctx context.Context, w *writer) error {
	p.now = store.Micros(p.s.now())
	if err := p.check(ctx, w); err != nil {
		return err
	}
	if err := p.checkHeld(ctx, w); err != nil {
		return err
	}
	if err := p.moveHead(ctx, w); err != nil {
		return err
	}
	// From here on no refusal is possible.
	if err := p.insert(ctx, w); err != nil {
		return err
	}
	if err := p.settle(ctx, w); err != nil {
		return err
	}
	return p.putBlobs(ctx, w)
}

// check returns an error if the lease or the head of an existing stream does not allow the append.
func (p *pending) check(ctx context.Context, w *writer) error {
	if p.create != nil {
		return nil
	}
	allowed := p.s.leases.Allows(p.a, p.now)
	var known bool
	if p.head, known = w.heads[p.a.Stream]; !known || !allowed || len(p.a.Bodies) == 0 {
		if err := p.checkHead(ctx, w); err != nil {
			return err
		}
	}
	if !allowed {
		return store.ErrHeld(p.a.Stream)
	}
	return nil
}

// readHead reads the head of a stream, and the number of its last event.
func (w *writer) readHead(ctx context.Context, id string) (h head, last int64, err error) {
	err = w.stmts.selectHead.QueryRowContext(ctx, id).Scan(&h.n, &h.org, &h.user, &last)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNoStream(id)
	}
	return h, last, err
}

// checkHead reads the head of the stream. It returns an error if the stream does not exist or has other events than the
// writer saw.
func (p *pending) checkHead(ctx context.Context, w *writer) (err error) {
	var last int64
	if p.head, last, err = w.readHead(ctx, p.a.Stream); err == nil && last != p.a.After {
		err = store.ErrMoved(p.a.Stream, p.a.After, last)
	}
	return err
}

// moveHead creates the stream, or advances its head if the writer has seen the last event.
func (p *pending) moveHead(ctx context.Context, w *writer) (err error) {
	switch {
	case p.create != nil:
		p.head, err = w.create(ctx, *p.create, p.now, len(p.a.Bodies), p.change)
		return err
	case len(p.a.Bodies) == 0:
		return nil
	}
	last, micros, c := p.a.After+int64(len(p.a.Bodies)), p.now.UnixMicro(), p.change
	var res sql.Result
	if c.SetRun {
		res, err = w.stmts.advanceRun.ExecContext(ctx, last, micros, c.Run, c.RunState, micro(c.Deadline), p.head.n,
			p.a.After)
	} else {
		res, err = w.stmts.advance.ExecContext(ctx, last, micros, p.head.n, p.a.After)
	}
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		if err := p.checkHead(ctx, w); err != nil {
			return err
		}
		return fmt.Errorf("the head of %s could not be advanced", p.a.Stream)
	}
	if c.SetTitle {
		_, err = w.stmts.setTitle.ExecContext(ctx, c.Title, p.head.n)
	}
	return err
}

// insert writes the events.
func (p *pending) insert(ctx context.Context, w *writer) error {
	for i, b := range p.a.Bodies {
		p.events[i] = footnote.Event{
			Stream: p.a.Stream, Seq: p.a.After + int64(i) + 1, Time: p.now, Run: p.a.Run, Body: b,
		}
	}
	for from := 0; from < len(p.events); from += maxInsert {
		n := min(len(p.events)-from, maxInsert)
		w.args = w.args[:0]
		for i := from; i < from+n; i++ {
			w.args = append(w.args, p.head.n, p.events[i].Seq, p.now.UnixMicro(), p.a.Run, p.kinds[i], p.data[i])
		}
		res, err := w.stmts.insertEvents[n-1].ExecContext(ctx, w.args...)
		if err != nil {
			return err
		}
		last, err := res.LastInsertId()
		if err != nil {
			return err
		}
		for i := range n {
			p.positions[from+i] = last - int64(n-1-i)
		}
	}
	return nil
}

// putBlobs stores the blobs of the append. Most of them, such as the prompt, are stored already and only need a
// reference. If the stored one is damaged, this repairs it.
func (p *pending) putBlobs(ctx context.Context, w *writer) error {
	for d, data := range p.a.Blobs {
		// A blob on a malformed page cannot be compared. The reference and the events can still be stored.
		if _, err := w.stmts.insertBlob.ExecContext(ctx, d, notNil(data)); err != nil && !damaged(err) {
			return err
		}
		if _, err := w.stmts.insertRef.ExecContext(ctx, p.head.n, d); err != nil {
			return err
		}
	}
	return nil
}

// notNil returns data as it is stored: empty rather than NULL.
func notNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// done applies a committed append to the leases and caches. It runs in the writer's goroutine.
func (p *pending) done() {
	p.s.leases.Apply(p.a, p.now)
	p.s.recent.add(p)
	if w := p.s.writer; p.a.Release {
		delete(w.heads, p.a.Stream)
	} else {
		w.cacheHead(p.a.Stream, p.head)
	}
}

// Delete implements store.Store. It overwrites the deleted rows in the file.
func (s *Store) Delete(ctx context.Context, id string) error { return s.remove(ctx, id, nil) }

// remove deletes a stream; if at is set, only if that is its last event.
func (s *Store) remove(ctx context.Context, id string, at *int64) error {
	err := s.removeWith(ctx, id, at, func(q *statements) []*sql.Stmt {
		return []*sql.Stmt{q.deleteBlobs, q.deleteRefs, q.deleteEvents, q.deleteStream}
	})
	if damaged(err) {
		return s.removeByRow(ctx, id, at)
	}
	return err
}

// removeHead deletes a stream whose rows are deleted, if last is still its last event.
func (s *Store) removeHead(ctx context.Context, id string, last int64) error {
	return s.removeWith(ctx, id, &last, func(q *statements) []*sql.Stmt { return []*sql.Stmt{q.deleteStream} })
}

func (s *Store) removeWith(ctx context.Context, id string, at *int64, deletions func(*statements) []*sql.Stmt) error {
	return s.do(ctx, "delete "+id, &request{
		exec: func(ctx context.Context, w *writer) error {
			h, last, err := w.readHead(ctx, id)
			if err != nil {
				return err
			}
			if at != nil && last != *at {
				return store.ErrMoved(id, *at, last)
			}
			if err := w.moveSpending(ctx, h.org, h.user, id); err != nil {
				return err
			}
			delete(w.heads, id) // the same transaction may reuse its number
			for _, stmt := range deletions(&w.stmts) {
				if _, err := stmt.ExecContext(ctx, id); err != nil {
					return err
				}
			}
			return nil
		},
		done: func() {
			s.leases.Drop(id)
			s.recent.drop(id)
			delete(s.writer.heads, id)
			s.writer.deleted, s.writer.spare = true, true // runs in the writer's goroutine
		},
	})
}

// Renew implements store.Store. It touches no disk.
func (s *Store) Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error {
	if err := store.CheckTTL(ttl); err != nil {
		return err
	}
	if err := s.writable(ctx); err != nil {
		return err
	}
	if !s.leases.Renew(stream, token, ttl, s.now()) {
		return store.ErrHeld(stream)
	}
	return nil
}

// Release implements store.Store. It touches no disk.
func (s *Store) Release(ctx context.Context, stream string, token int64) error {
	if err := s.writable(ctx); err != nil {
		return err
	}
	s.leases.Release(stream, token)
	return nil
}

// SetCursor implements store.Store.
func (s *Store) SetCursor(ctx context.Context, name string, position int64) error {
	if err := store.CheckCursor(name, position); err != nil {
		return err
	}
	return s.do(ctx, "set cursor "+name, &request{exec: func(ctx context.Context, w *writer) error {
		_, err := w.stmts.setCursor.ExecContext(ctx, name, position)
		return err
	}})
}

// Ping implements store.Store. It checks the free space on the disk, because small writes may succeed for some time
// after the disk is full. It also writes, unless something was committed within the last second.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.writable(ctx); err != nil {
		return err
	}
	if err := checkSpace(filepath.Dir(s.path)); err != nil {
		return translate(ctx, "ping", err)
	}
	now := s.now()
	if age := now.UnixNano() - s.committed.Load(); age >= 0 && age < int64(time.Second) {
		return nil
	}
	return s.do(ctx, "ping", &request{exec: func(ctx context.Context, w *writer) error {
		_, err := w.stmts.ping.ExecContext(ctx, now.UnixMicro())
		return err
	}})
}
