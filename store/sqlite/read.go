package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// Limits of what Events reads at once.
const (
	pageEvents = 256
	pageBytes  = 1 << 20
)

const (
	headColumns = `id, kind, org, user, client_id, assistant, title, ` + lastEvent +
		`, last, run, run_state, deadline, created, updated`
	// lastEvent is the number of the last event of a stream. If the column is damaged, it counts the events instead.
	lastEvent = `CASE WHEN typeof(streams.last) = 'integer' AND streams.last >= 0 THEN streams.last ELSE
		(SELECT coalesce(max(seq), 0) FROM events WHERE stream = streams.n AND typeof(seq) = 'integer') END`
)

// reads are the prepared statements of the connections that read.
type reads struct {
	get, find, list, messages, walk, events, blob, exists, unfinished, tail, cursor, key, withdrawn *sql.Stmt

	balance, tallies, reserved, overdue, running *sql.Stmt
}

type query struct {
	stmt **sql.Stmt
	sql  string
}

func readQueries(q *reads) []query {
	return append(moneyReads(q), []query{
		{&q.get, `SELECT ` + headColumns + ` FROM streams WHERE id = ?`},
		{&q.find, `SELECT ` + headColumns + ` FROM streams
			WHERE org = ? AND user = ? AND kind = ? AND client_id = ? AND client_id <> ''`},
		{&q.list, `SELECT ` + headColumns + ` FROM streams
			WHERE org = ?1 AND user = ?2 AND (?3 = '' OR kind = ?3) AND (updated, id) < (?4, ?5)
			ORDER BY updated DESC, id DESC LIMIT ?6`},
		{&q.messages, `SELECT seq, kind, body FROM events
			WHERE stream = (SELECT n FROM streams WHERE id = ?) AND kind IN (` + store.SearchedSQL + `) ORDER BY seq`},
		// The result has at least one row for an existing stream, with the number of its last event.
		{&q.events, `SELECT ` + lastEvent + `, e.seq, e.time, e.run, e.kind, e.body
			FROM streams LEFT JOIN events e ON e.stream = streams.n AND e.seq > ?2 AND e.seq <= ` + lastEvent + `
			WHERE streams.id = ?1 ORDER BY e.seq LIMIT ?3`},
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
		{&q.walk, `SELECT ` + headColumns + ` FROM streams WHERE id > ? ORDER BY id LIMIT ?`},
	}...)
}

// prepare prepares statements.
func prepare(ctx context.Context, db interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}, queries []query) (err error) {
	for _, q := range queries {
		if *q.stmt, err = db.PrepareContext(ctx, q.sql); err != nil {
			return err
		}
	}
	return nil
}

// collect reads all rows of a query, whose error it classifies.
func collect[T any](ctx context.Context, s *Store, doing string, rows *sql.Rows, err error,
	scan func(row func(...any) error) (T, error)) (list []T, _ error) {
	if err != nil {
		return nil, s.failed(ctx, doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows.Scan)
		if err != nil {
			return nil, s.failed(ctx, doing, err)
		}
		list = append(list, v)
	}
	return list, s.failed(ctx, doing, rows.Err())
}

// failed classifies the error of a read.
func (s *Store) failed(ctx context.Context, doing string, err error) error {
	if err != nil && s.closed.Load() {
		return store.ErrClosed()
	}
	return translate(ctx, doing, err)
}

// usable returns an error if ctx has ended or the store is closed.
func (s *Store) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return translate(ctx, "use the store", context.Cause(ctx))
	}
	if s.closed.Load() {
		return store.ErrClosed()
	}
	return nil
}

// writable is usable for operations that need the process to own the file.
func (s *Store) writable(ctx context.Context) error {
	if s.readOnly {
		return errReader
	}
	return s.usable(ctx)
}

// micro returns t as it is stored; the zero time is 0.
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

// number scans an integer. SQLite can hold any value in any column; a value that is not an integer sets wrong instead
// of failing the row.
type number struct {
	n           int64
	wrong, null bool
}

// Scan implements sql.Scanner.
func (n *number) Scan(src any) error {
	value, ok := src.(int64)
	*n = number{n: value, wrong: !ok, null: src == nil}
	return nil
}

// anyText scans a text of any type. Only damage can leave a NULL, which becomes a text that store.Damage rejects.
type anyText struct{ to *string }

// Scan implements sql.Scanner.
func (l anyText) Scan(src any) error {
	switch value := src.(type) {
	case string:
		*l.to = value
	case []byte:
		*l.to = string(value)
	case nil:
		*l.to = "\x00"
	default:
		*l.to = fmt.Sprint(value)
	}
	return nil
}

// scanEvent reads the row of an event whose last columns are seq, time, run, kind and body.
func (s *Store) scanEvent(rows *sql.Rows, stream *string, body *sql.RawBytes, before ...any) (footnote.Event, error) {
	var seq, micros number
	var r store.Row
	if err := rows.Scan(append(before, &seq, &micros, anyText{&r.Run}, anyText{&r.Kind}, body)...); err != nil {
		return footnote.Event{}, badRow{err}
	}
	if seq.null {
		return footnote.Event{}, sql.ErrNoRows
	}
	if seq.wrong || seq.n < 1 {
		return footnote.Event{}, badRow{errors.New("its number is not a positive integer")}
	}
	r.Stream, r.Seq, r.Time, r.TimeWrong, r.Body = *stream, seq.n, timeOf(micros.n), micros.wrong, *body
	return s.damage.Event(r), nil
}

// scanHead reads the row of a head. wrong names unreadable columns that store.Damage cannot detect. A column that does
// not hold a time becomes a time that store.Damage rejects.
func scanHead(scan func(...any) error) (h store.Stream, wrong []string, err error) {
	var last, deadline, created, updated number
	err = scan(anyText{&h.ID}, anyText{&h.Kind}, anyText{&h.Org}, anyText{&h.User}, anyText{&h.ClientID},
		anyText{&h.Assistant}, anyText{&h.Title}, &h.Last, &last, anyText{&h.Run}, anyText{&h.RunState},
		&deadline, &created, &updated)
	for to, n := range map[*time.Time]number{&h.Deadline: deadline, &h.Created: created, &h.Updated: updated} {
		if n.wrong {
			n.n = math.MaxInt64
		}
		*to = timeOf(n.n)
	}
	if last.wrong || last.n < 0 {
		wrong = append(wrong, "number of events")
	}
	return h, wrong, err
}

// head reads one head. id is only for the error message.
func (s *Store) head(ctx context.Context, id string, stmt *sql.Stmt, args ...any) (store.Stream, error) {
	h, wrong, err := scanHead(stmt.QueryRowContext(ctx, args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Stream{}, store.ErrNoStream(id)
	}
	if err != nil {
		return store.Stream{}, s.failed(ctx, "get "+id, err)
	}
	return s.damage.Head(h, wrong...), nil
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, id string) (store.Stream, error) {
	return s.head(ctx, id, s.reads.get, id)
}

// Find implements store.Store.
func (s *Store) Find(ctx context.Context, org, user, kind, clientID string) (store.Stream, error) {
	return s.head(ctx, clientID, s.reads.find, org, user, kind, clientID)
}

// afterAll sorts after any number, and after the text of a damaged column.
var afterAll = bytes.Repeat([]byte{0xff}, 16)

// List implements store.Store.
func (s *Store) List(ctx context.Context, p store.Page) ([]store.Stream, string, error) {
	if p.Query == "" {
		return s.list(ctx, p)
	}
	if _, _, err := store.From(p); err != nil {
		return nil, "", err
	}
	return store.Search(ctx, p, func(p store.Page) ([]store.Stream, string, error) { return s.list(ctx, p) },
		func(ids []string, each func(store.Message) bool) error { return s.messages(ctx, ids, each) })
}

// messages reads the events that a search reads.
func (s *Store) messages(ctx context.Context, ids []string, each func(store.Message) bool) error {
	for _, id := range ids {
		if err := s.messagesOf(ctx, id, each); err != nil {
			return s.failed(ctx, "search "+id, err)
		}
	}
	return nil
}

func (s *Store) messagesOf(ctx context.Context, id string, each func(store.Message) bool) error {
	rows, err := s.reads.messages.QueryContext(ctx, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		m := store.Message{Stream: id}
		var seq number
		if err := rows.Scan(&seq, anyText{&m.Kind}, &m.Body); err != nil {
			return err
		}
		if m.Seq = seq.n; !each(m) {
			return context.Cause(ctx)
		}
	}
	return rows.Err()
}

// list lists streams without a query.
func (s *Store) list(ctx context.Context, p store.Page) ([]store.Stream, string, error) {
	updated, id, err := store.From(p)
	if err != nil {
		return nil, "", err
	}
	var before any = updated
	if p.Before == "" {
		before = afterAll
	}
	var stored []store.Stream // with the stored times, even if wrong, because they define the order
	keep := func(h store.Stream) bool { stored = append(stored, h); return true }
	heads, err := s.heads(ctx, "list", p.Limit+1, keep, s.reads.list, p.Org, p.User, p.Kind, before, id,
		p.Limit+1)
	if err != nil || len(heads) <= p.Limit {
		return heads, "", err
	}
	return heads[:p.Limit:p.Limit], store.CursorOf(stored[p.Limit-1]), nil
}

// heads reads up to limit heads for which keep returns true; a nil keep accepts all.
func (s *Store) heads(ctx context.Context, doing string, limit int, keep func(store.Stream) bool, stmt *sql.Stmt,
	args ...any) ([]store.Stream, error) {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, s.failed(ctx, doing, err)
	}
	defer rows.Close()
	var heads []store.Stream
	for len(heads) < limit && rows.Next() {
		h, wrong, err := scanHead(rows.Scan)
		if err != nil {
			return nil, s.failed(ctx, doing, err)
		}
		if keep == nil || keep(h) {
			heads = append(heads, s.damage.Head(h, wrong...))
		}
	}
	return heads, s.failed(ctx, doing, rows.Err())
}

// Unfinished implements store.Store.
func (s *Store) Unfinished(ctx context.Context, now time.Time, limit int) ([]store.Stream, error) {
	if err := s.writable(ctx); err != nil { // a reader does not know the leases
		return nil, err
	}
	free := func(h store.Stream) bool { return h.RunState == "parked" || !s.leases.Held(h.ID, now) }
	return s.heads(ctx, "list unfinished runs", limit, free, s.reads.unfinished, now.UnixMicro())
}

// Events implements store.Store. It reads in pages and holds no connection while it yields their events.
func (s *Store) Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		after := after // the loop may run twice
		page := make([]footnote.Event, 0, 16)
		for {
			var more bool
			var err error
			page, more, err = s.page(ctx, page[:0], stream, after)
			if unreadable(err) {
				page, more, err = s.pageByRow(ctx, page[:0], stream, after)
			}
			for _, ev := range page {
				if !yield(ev, nil) {
					return
				}
			}
			if err != nil {
				yield(footnote.Event{}, s.failed(ctx, "read "+stream, err))
				return
			}
			if !more {
				return
			}
			after = page[len(page)-1].Seq
		}
	}
}

// page reads the next events into page, and reports whether there may be more.
func (s *Store) page(ctx context.Context, page []footnote.Event, stream string,
	after int64) (_ []footnote.Event, more bool, err error) {
	rows, err := s.reads.events.QueryContext(ctx, stream, after, pageEvents)
	if err != nil {
		return page, false, err
	}
	defer rows.Close()
	n, size, last := 0, 0, max(after, 0)
	var end number
	exists := false
	var body sql.RawBytes
	for rows.Next() {
		exists = true
		ev, err := s.scanEvent(rows, &stream, &body, &end)
		if errors.Is(err, sql.ErrNoRows) {
			// The only row. It still ends with Next: Err would wait forever for the lock that scanning into RawBytes
			// holds until Next or Close, if ctx ended in between.
			continue
		}
		if err != nil {
			return page, false, err
		}
		page = append(s.damage.Gap(page, stream, last, ev.Seq), ev)
		last = ev.Seq
		n++
		if size += len(body); size >= pageBytes || n == pageEvents {
			return page, true, nil
		}
	}
	if err := rows.Err(); err != nil {
		return page, false, err
	}
	if !exists {
		return page, false, store.ErrNoStream(stream)
	}
	return s.damage.Gap(page, stream, last, end.n+1), false, nil // the newest may be missing, too
}

func (s *Store) mustExist(ctx context.Context, stream string) error {
	var ok bool
	err := s.reads.exists.QueryRowContext(ctx, stream).Scan(&ok)
	if err == nil && !ok {
		return store.ErrNoStream(stream)
	}
	return s.failed(ctx, "look for "+stream, err)
}

// Blob implements store.Store.
func (s *Store) Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error) {
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
		return nil, s.failed(ctx, "read a blob of "+stream, err)
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
	if unreadable(err) {
		events, err = s.tailByRow(ctx, after, limit)
	}
	return events, s.failed(ctx, "read the tail", err)
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
		var stream string
		place := []any{&p.Position, anyText{&stream}, anyText{&p.Org}, anyText{&p.User}}
		p.Event, err = s.scanEvent(rows, &stream, &body, place...)
		if errors.Is(err, sql.ErrNoRows) {
			err = badRow{errors.New("it has no number")}
		}
		if err != nil {
			return nil, err
		}
		events = append(events, p)
	}
	return events, rows.Err()
}

// Cursor implements store.Store.
func (s *Store) Cursor(ctx context.Context, name string) (int64, error) {
	var position int64
	err := s.reads.cursor.QueryRowContext(ctx, name).Scan(&position)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return position, s.failed(ctx, "read cursor "+name, err)
}
