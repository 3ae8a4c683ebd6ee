package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// statements are the prepared statements of the writer's connection.
type statements struct {
	beginTx, commitTx, rollbackTx *sql.Stmt

	insertStream, selectLast, advance, setRun, setTitle *sql.Stmt
	insertEvent, insertBlob, insertRef                  *sql.Stmt
	setCursor, ping                                     *sql.Stmt
	deleteBlobs, deleteRefs, deleteEvents, deleteStream *sql.Stmt

	all []*sql.Stmt
}

// close must come before the connection's: database/sql leaves the statements of
// a single connection open, and SQLite such a connection with all its locks.
func (q *statements) close() {
	for _, stmt := range q.all {
		_ = stmt.Close() // it reports the statement's last failure, which was seen
	}
	*q = statements{}
}

func writeQueries(q *statements) []query {
	return []query{
		{&q.beginTx, `BEGIN IMMEDIATE`},
		{&q.commitTx, `COMMIT`},
		{&q.rollbackTx, `ROLLBACK`},
		{&q.insertStream, `INSERT INTO streams (id, kind, org, user, client_id, assistant, title, title_fold,
			last, run, run_state, deadline, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, '', '', 0, ?9, ?9)`},
		{&q.selectLast, `SELECT last FROM streams WHERE id = ?`},
		{&q.advance, `UPDATE streams SET last = last + ?, updated = ? WHERE id = ? AND last = ?`},
		{&q.setRun, `UPDATE streams SET run = ?, run_state = ?, deadline = ? WHERE id = ?`},
		{&q.setTitle, `UPDATE streams SET title = ?, title_fold = ? WHERE id = ?`},
		{&q.insertEvent, `INSERT INTO events (stream, seq, time, run, kind, body) SELECT n, ?, ?, ?, ?, ? FROM streams WHERE id = ?`},
		{&q.insertBlob, `INSERT INTO blobs (digest, data) VALUES (?, ?) ON CONFLICT DO NOTHING`},
		{&q.insertRef, `INSERT OR IGNORE INTO blob_refs (stream, blob)
			SELECT (SELECT n FROM streams WHERE id = ?), n FROM blobs WHERE digest = ?`},
		{&q.setCursor, `INSERT INTO cursors (name, position) VALUES (?, ?) ON CONFLICT DO UPDATE SET position = excluded.position`},
		{&q.ping, `UPDATE ping SET at = ?`},
		{&q.deleteBlobs, `DELETE FROM blobs WHERE n IN (
			SELECT r.blob FROM blob_refs r JOIN streams s ON s.n = r.stream WHERE s.id = ?
			AND NOT EXISTS (SELECT 1 FROM blob_refs o WHERE o.blob = r.blob AND o.stream <> r.stream))`},
		{&q.deleteRefs, `DELETE FROM blob_refs WHERE stream = (SELECT n FROM streams WHERE id = ?)`},
		{&q.deleteEvents, `DELETE FROM events WHERE stream = (SELECT n FROM streams WHERE id = ?)`},
		{&q.deleteStream, `DELETE FROM streams WHERE id = ?`},
	}
}

func (q *statements) prepare(ctx context.Context, conn *sql.Conn) error {
	for _, p := range writeQueries(q) {
		var err error
		if *p.stmt, err = conn.PrepareContext(ctx, p.sql); err != nil {
			return err
		}
		q.all = append(q.all, *p.stmt)
	}
	return nil
}

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, st store.Stream) error {
	if err := store.CheckStream(st); err != nil {
		return err
	}
	return s.do(ctx, "create "+st.ID, &request{exec: func(ctx context.Context, w *writer) error {
		return w.create(ctx, st, s.now())
	}})
}

// CreateAppend implements store.Store.
func (s *Store) CreateAppend(ctx context.Context, st store.Stream, a store.Append) ([]footnote.Event, error) {
	a, err := store.FirstAppend(st, a)
	if err != nil {
		return nil, err
	}
	p, err := s.newAppend(a)
	if err != nil {
		return nil, err
	}
	err = s.do(ctx, "create "+st.ID, &request{done: p.done, exec: func(ctx context.Context, w *writer) error {
		p.begin()
		if err := w.create(ctx, st, p.now); err != nil {
			return err
		}
		// Nothing is refused from here on: the stream is there, and new.
		if len(a.Bodies) == 0 {
			return w.putBlobs(ctx, a)
		}
		return p.write(ctx, w)
	}})
	if err != nil {
		return nil, err
	}
	return p.events, nil
}

// Append implements store.Store.
func (s *Store) Append(ctx context.Context, a store.Append) ([]footnote.Event, error) {
	if err := store.CheckAppend(a); err != nil {
		return nil, err
	}
	p, err := s.newAppend(a)
	if err != nil {
		return nil, err
	}
	err = s.do(ctx, "append to "+a.Stream, &request{done: p.done, exec: func(ctx context.Context, w *writer) error {
		p.begin()
		return p.exec(ctx, w)
	}})
	if err != nil {
		return nil, err
	}
	return p.events, nil
}

func (w *writer) create(ctx context.Context, s store.Stream, now time.Time) error {
	title := store.CleanTitle(s.Title)
	_, err := w.stmts.insertStream.ExecContext(ctx, s.ID, s.Kind, s.Org, s.User, s.ClientID, s.Assistant,
		title, store.Fold(title), now.UnixMicro())
	if unique(err) {
		return store.ErrTaken(s.ID)
	}
	return err
}

// pending is an append on its way: encoded by the caller's goroutine, so that the
// writer only writes.
type pending struct {
	s      *Store
	a      store.Append
	events []footnote.Event
	kinds  []string
	data   []string
	change store.Change
	now    time.Time
}

func (s *Store) newAppend(a store.Append) (*pending, error) {
	kinds, data, err := store.EncodeBodies(a.Bodies)
	if err != nil {
		return nil, err
	}
	p := &pending{
		s: s, a: a, kinds: kinds, data: make([]string, len(data)),
		events: make([]footnote.Event, len(data)),
		change: store.ChangeOf(a.Run, a.Bodies),
	}
	for i, b := range data {
		p.data[i] = string(b) // text, which people can read with any SQLite shell
	}
	return p, nil
}

func (p *pending) begin() { p.now = store.Micros(p.s.now()) }

// exec writes the append. Its refusals come before its first write.
func (p *pending) exec(ctx context.Context, w *writer) error {
	if !p.s.leases.Allows(p.a, p.now) {
		if err := w.exists(ctx, p.a); err != nil {
			return err
		}
		return store.ErrHeld(p.a.Stream)
	}
	if len(p.a.Bodies) == 0 {
		if err := w.exists(ctx, p.a); err != nil {
			return err
		}
		return w.putBlobs(ctx, p.a)
	}
	return p.write(ctx, w)
}

// write advances the head when the writer is up to date, and inserts the events.
func (p *pending) write(ctx context.Context, w *writer) error {
	res, err := w.stmts.advance.ExecContext(ctx, len(p.a.Bodies), p.now.UnixMicro(), p.a.Stream, p.a.After)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		return w.exists(ctx, p.a)
	}
	return p.insert(ctx, w)
}

// exists says why an append cannot be: no such stream, or one that has moved on.
// It returns nil when neither is so.
func (w *writer) exists(ctx context.Context, a store.Append) error {
	var last int64
	err := w.stmts.selectLast.QueryRowContext(ctx, a.Stream).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNoStream(a.Stream)
	}
	if err == nil && last != a.After {
		return store.ErrMoved(a.Stream, a.After, last)
	}
	return err
}

func (p *pending) insert(ctx context.Context, w *writer) error {
	a, micros := p.a, p.now.UnixMicro()
	for i, b := range a.Bodies {
		seq := a.After + int64(i) + 1
		if _, err := w.stmts.insertEvent.ExecContext(ctx, seq, micros, a.Run, p.kinds[i], p.data[i], a.Stream); err != nil {
			return err
		}
		p.events[i] = footnote.Event{Stream: a.Stream, Seq: seq, Time: p.now, Run: a.Run, Body: b}
	}
	if c := p.change; c.SetRun {
		if _, err := w.stmts.setRun.ExecContext(ctx, c.Run, c.RunState, micro(c.Deadline), a.Stream); err != nil {
			return err
		}
	}
	if c := p.change; c.SetTitle {
		if _, err := w.stmts.setTitle.ExecContext(ctx, c.Title, store.Fold(c.Title), a.Stream); err != nil {
			return err
		}
	}
	return w.putBlobs(ctx, a)
}

func (w *writer) putBlobs(ctx context.Context, a store.Append) error {
	for d, data := range a.Blobs {
		if data == nil {
			data = []byte{} // empty, not NULL
		}
		if _, err := w.stmts.insertBlob.ExecContext(ctx, d, data); err != nil {
			return err
		}
		if _, err := w.stmts.insertRef.ExecContext(ctx, a.Stream, d); err != nil {
			return err
		}
	}
	return nil
}

// done takes and gives back the lease, once the append is durable.
func (p *pending) done() { p.s.leases.Apply(p.a, p.now) }

// Delete implements store.Store. What is deleted is overwritten in the file.
func (s *Store) Delete(ctx context.Context, id string) error {
	return s.do(ctx, "delete "+id, &request{
		exec: func(ctx context.Context, w *writer) error {
			var last int64
			if err := w.stmts.selectLast.QueryRowContext(ctx, id).Scan(&last); errors.Is(err, sql.ErrNoRows) {
				return store.ErrNoStream(id)
			} else if err != nil {
				return err
			}
			for _, stmt := range []*sql.Stmt{w.stmts.deleteBlobs, w.stmts.deleteRefs, w.stmts.deleteEvents, w.stmts.deleteStream} {
				if _, err := stmt.ExecContext(ctx, id); err != nil {
					return err
				}
			}
			return nil
		},
		done: func() {
			s.leases.Drop(id)
			s.writer.deleted = true // runs in the writer's goroutine
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

// Ping implements store.Store: it writes, unless something was written within the
// last second.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.writable(ctx); err != nil {
		return err
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
