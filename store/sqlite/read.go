package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// Bounds of what Events reads at once.
const (
	pageEvents = 256
	pageBytes  = 1 << 20
)

const headColumns = `id, kind, org, user, client_id, assistant, title, last, run, run_state, deadline, created, updated`

// reads are the prepared statements of the connections that read.
type reads struct {
	get, find, list, events, blob, exists, unfinished, tail, cursor, key, withdrawn *sql.Stmt

	balance, tallies, reserved, overdue, running *sql.Stmt
}

type query struct {
	stmt **sql.Stmt
	sql  string
}

func readQueries(q *reads) []query {
	return append(moneyReads(q), []query{
		{&q.get, `SELECT ` + headColumns + ` FROM streams WHERE id = ?`},
		{&q.find, `SELECT ` + headColumns + ` FROM streams WHERE org = ? AND user = ? AND kind = ? AND client_id = ? AND client_id <> ''`},
		{&q.list, `SELECT ` + headColumns + ` FROM streams
			WHERE org = ?1 AND user = ?2 AND (?3 = '' OR kind = ?3) AND (updated, id) < (?4, ?5) AND instr(title_fold, ?6) > 0
			ORDER BY updated DESC, id DESC LIMIT ?7`},
		{&q.events, `SELECT seq, time, run, kind, body FROM events
			WHERE stream = (SELECT n FROM streams WHERE id = ?) AND seq > ? ORDER BY seq LIMIT ?`},
		{&q.blob, `SELECT b.data FROM blobs b JOIN blob_refs r ON r.blob = b.n
			WHERE b.digest = ? AND r.stream = (SELECT n FROM streams WHERE id = ?)`},
		{&q.exists, `SELECT EXISTS (SELECT 1 FROM streams WHERE id = ?)`},
		{&q.unfinished, `SELECT ` + headColumns + ` FROM streams
			WHERE run_state <> '' AND (run_state = 'running' OR deadline < ?) ORDER BY updated, id`},
		{&q.tail, `SELECT e.position, s.id, s.org, s.user, e.seq, e.time, e.run, e.kind, e.body
			FROM events e CROSS JOIN streams s ON s.n = e.stream WHERE e.position > ? ORDER BY e.position LIMIT ?`},
		{&q.cursor, `SELECT position FROM cursors WHERE name = ?`},
		{&q.key, sqlKey},
		{&q.withdrawn, sqlWithdrawn},
	}...)
}

func (q *reads) prepare(ctx context.Context, db *sql.DB) error {
	for _, p := range readQueries(q) {
		var err error
		if *p.stmt, err = db.PrepareContext(ctx, p.sql); err != nil {
			return err
		}
	}
	return nil
}

// usable refuses reads of a closed store and of a caller who has gone.
func (s *Store) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return translate(ctx, "use the store", context.Cause(ctx))
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return store.ErrClosed()
	}
	return nil
}

// writable is usable for what only the owner of the file can do.
func (s *Store) writable(ctx context.Context) error {
	if s.readOnly {
		return errReader
	}
	return s.usable(ctx)
}

// micro is t as it is stored; the zero time is 0.
func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

func scanHead(scan func(...any) error) (h store.Stream, err error) {
	var deadline, created, updated int64
	err = scan(&h.ID, &h.Kind, &h.Org, &h.User, &h.ClientID, &h.Assistant, &h.Title, &h.Last,
		&h.Run, &h.RunState, &deadline, &created, &updated)
	h.Deadline, h.Created, h.Updated = timeOf(deadline), timeOf(created), timeOf(updated)
	return h, err
}

// head reads one head; id is for the words of the error.
func (s *Store) head(ctx context.Context, id string, stmt *sql.Stmt, args ...any) (store.Stream, error) {
	if err := s.usable(ctx); err != nil {
		return store.Stream{}, err
	}
	h, err := scanHead(stmt.QueryRowContext(ctx, args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Stream{}, store.ErrNoStream(id)
	}
	return h, translate(ctx, "get "+id, err)
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, id string) (store.Stream, error) {
	return s.head(ctx, id, s.reads.get, id)
}

// Find implements store.Store.
func (s *Store) Find(ctx context.Context, org, user, kind, clientID string) (store.Stream, error) {
	return s.head(ctx, clientID, s.reads.find, org, user, kind, clientID)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, p store.Page) ([]store.Stream, string, error) {
	updated, id, err := store.From(p)
	if err != nil {
		return nil, "", err
	}
	if err := s.usable(ctx); err != nil {
		return nil, "", err
	}
	heads, err := s.heads(ctx, p.Limit+1, nil, s.reads.list, p.Org, p.User, p.Kind, updated, id, store.Fold(p.Query), p.Limit+1)
	if err != nil {
		return nil, "", translate(ctx, "list", err)
	}
	if len(heads) <= p.Limit {
		return heads, "", nil
	}
	return heads[:p.Limit:p.Limit], store.CursorOf(heads[p.Limit-1]), nil
}

// heads reads at most limit heads that keep lets through; nil lets all through.
func (s *Store) heads(ctx context.Context, limit int, keep func(store.Stream) bool, stmt *sql.Stmt, args ...any) ([]store.Stream, error) {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var heads []store.Stream
	for len(heads) < limit && rows.Next() {
		h, err := scanHead(rows.Scan)
		if err != nil {
			return nil, err
		}
		if keep == nil || keep(h) {
			heads = append(heads, h)
		}
	}
	return heads, rows.Err()
}

// Unfinished implements store.Store.
func (s *Store) Unfinished(ctx context.Context, now time.Time, limit int) ([]store.Stream, error) {
	if err := s.writable(ctx); err != nil { // a reader does not know the leases
		return nil, err
	}
	free := func(h store.Stream) bool { return h.RunState == "parked" || !s.leases.Held(h.ID, now) }
	heads, err := s.heads(ctx, limit, free, s.reads.unfinished, now.UnixMicro())
	return heads, translate(ctx, "list unfinished runs", err)
}

// Events implements store.Store. It reads in pages and holds no connection while
// the caller works on one.
func (s *Store) Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		after := after // the loop may run twice
		page := make([]footnote.Event, 0, 16)
		for {
			if err := s.usable(ctx); err != nil {
				yield(footnote.Event{}, err)
				return
			}
			var more bool
			var err error
			page, more, err = s.page(ctx, page[:0], stream, after)
			if damaged(err) {
				page, more, err = s.pageByRow(ctx, page[:0], stream, after)
			}
			for _, ev := range page {
				if !yield(ev, nil) {
					return
				}
			}
			if err != nil {
				yield(footnote.Event{}, translate(ctx, "read "+stream, err))
				return
			}
			if !more {
				return
			}
			after = page[len(page)-1].Seq
		}
	}
}

// page reads the next events into page, and reports whether there can be more.
func (s *Store) page(ctx context.Context, page []footnote.Event, stream string, after int64) (_ []footnote.Event, more bool, err error) {
	rows, err := s.reads.events.QueryContext(ctx, stream, after, pageEvents)
	if err != nil {
		return page, false, err
	}
	defer rows.Close()
	size, last := 0, max(after, 0)
	var body sql.RawBytes
	for rows.Next() {
		var micros int64
		var kind string
		ev := footnote.Event{Stream: stream}
		if err := rows.Scan(&ev.Seq, &micros, &ev.Run, &kind, &body); err != nil {
			return page, false, err
		}
		ev.Time = timeOf(micros)
		ev.Body = s.damage.Body(stream, ev.Seq, kind, body)
		page = append(s.damage.Gap(page, stream, last, ev.Seq), ev)
		last = ev.Seq
		if size += len(body); size >= pageBytes {
			return page, true, nil
		}
	}
	if err := rows.Err(); err != nil {
		return page, false, err
	}
	if len(page) > 0 {
		return page, len(page) >= pageEvents, nil
	}
	rows.Close() // its connection serves the next query
	return page, false, s.mustExist(ctx, stream)
}

func (s *Store) mustExist(ctx context.Context, stream string) error {
	var ok bool
	if err := s.reads.exists.QueryRowContext(ctx, stream).Scan(&ok); err != nil {
		return err
	}
	if !ok {
		return store.ErrNoStream(stream)
	}
	return nil
}

// Blob implements store.Store.
func (s *Store) Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	var data []byte
	err := s.reads.blob.QueryRowContext(ctx, d, stream).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		if err = s.mustExist(ctx, stream); err == nil {
			return nil, store.ErrNoBlob(d)
		}
	}
	if damaged(err) {
		err = s.damage.LostBlob(stream, d, err.Error())
	}
	if err != nil {
		return nil, translate(ctx, "read a blob of "+stream, err)
	}
	return s.damage.Blob(stream, d, data)
}

// Tail implements store.Store.
func (s *Store) Tail(ctx context.Context, after int64, limit int) ([]store.Positioned, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	limit = max(limit, 0)
	if events, ok := s.recent.after(s.now(), after, limit); ok {
		return events, nil
	}
	events, err := s.tail(ctx, after, limit)
	if damaged(err) {
		events, err = s.tailByRow(ctx, after, limit)
	}
	return events, translate(ctx, "read the tail", err)
}

func (s *Store) tail(ctx context.Context, after int64, limit int) ([]store.Positioned, error) {
	rows, err := s.reads.tail.QueryContext(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var events []store.Positioned
	var body sql.RawBytes
	for rows.Next() {
		var p store.Positioned
		var micros int64
		var kind string
		if err := rows.Scan(&p.Position, &p.Stream, &p.Org, &p.User, &p.Seq, &micros, &p.Run, &kind, &body); err != nil {
			return nil, err
		}
		p.Time = timeOf(micros)
		p.Body = s.damage.Body(p.Stream, p.Seq, kind, body)
		events = append(events, p)
	}
	return events, rows.Err()
}

// Cursor implements store.Store.
func (s *Store) Cursor(ctx context.Context, name string) (int64, error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	var position int64
	err := s.reads.cursor.QueryRowContext(ctx, name).Scan(&position)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return position, translate(ctx, "read cursor "+name, err)
}
