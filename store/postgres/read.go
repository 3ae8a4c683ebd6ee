package postgres

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

const headColumns = `id, kind, org_id, user_id, client_id, assistant, title, last, run, run_state, deadline, ` +
	`created_at, updated_at`

const (
	sqlGet  = `SELECT ` + headColumns + ` FROM footnote.streams WHERE id = $1`
	sqlFind = `SELECT ` + headColumns + ` FROM footnote.streams
		WHERE org_id = $1 AND user_id = $2 AND kind = $3 AND client_id = $4 AND client_id <> ''`
	sqlList = `SELECT ` + headColumns + ` FROM footnote.streams
		WHERE org_id = $1 AND user_id = $2 AND ($3 = '' OR kind = $3) AND (updated_at, id) < ($4, $5)
		ORDER BY updated_at DESC, id DESC LIMIT $6`
	sqlMessages = `SELECT seq, kind, body FROM footnote.events
		WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) AND kind IN (` + store.SearchedSQL + `)
		ORDER BY seq`
	sqlUnfinished = `SELECT ` + headColumns + ` FROM footnote.streams
		WHERE run_state <> '' AND (run_state = 'running' AND (lease_expires IS NULL OR lease_expires <= $1)
			OR run_state = 'parked' AND deadline < $1)
		ORDER BY updated_at, id LIMIT $2`

	// A page ends after 256 events, or with the one that makes it 1 MB long. The length of a body is known without
	// reading it.
	sqlPage = `SELECT seq, time, run, kind, body FROM (
			SELECT seq, time, run, kind, body,
				sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS before
			FROM footnote.events WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) AND seq > $2
				AND seq <= (SELECT last FROM footnote.streams WHERE id = $1) ORDER BY seq LIMIT 256
		) page WHERE before < 1048576 ORDER BY seq`

	sqlLast = `SELECT last FROM footnote.streams WHERE id = $1`
	sqlBlob = `SELECT data FROM footnote.blobs WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) AND ` +
		`digest = $2`
	sqlTail = `SELECT e.position, s.id, s.org_id, s.user_id, e.seq, e.time, e.run, e.kind, e.body
		FROM (SELECT * FROM footnote.events WHERE position > $1 ORDER BY position LIMIT $2) e
		JOIN footnote.streams s ON s.n = e.stream ORDER BY e.position`
	sqlCursor = `SELECT position FROM footnote.cursors WHERE name = $1`
)

// scanHead reads the row of a head. An infinite time becomes a time that store.Damage rejects.
func scanHead(row pgx.CollectableRow) (h store.Stream, err error) {
	var deadline, created, updated pgtype.Timestamptz
	err = row.Scan(&h.ID, &h.Kind, &h.Org, &h.User, &h.ClientID, &h.Assistant, &h.Title, &h.Last, &h.Run, &h.RunState,
		&deadline, &created, &updated)
	for to, t := range map[*time.Time]pgtype.Timestamptz{
		&h.Deadline: deadline,
		&h.Created:  created,
		&h.Updated:  updated,
	} {
		switch t.InfinityModifier {
		case pgtype.Infinity:
			*to = time.UnixMicro(math.MaxInt64)
		case pgtype.NegativeInfinity:
			*to = time.UnixMicro(math.MinInt64)
		default:
			*to = t.Time.UTC() // no time when it is NULL
		}
	}
	return h, err
}

// scanEvent reads the row of an event whose last columns are seq, time, run, kind and body.
func (s *Store) scanEvent(rows pgx.Rows, stream *string, body *pgtype.DriverBytes,
	before ...any) (footnote.Event, error) {
	var r store.Row
	var t pgtype.Timestamptz
	if err := rows.Scan(append(before, &r.Seq, &t, &r.Run, &r.Kind, body)...); err != nil {
		return footnote.Event{}, err
	}
	r.Stream, r.Time, r.TimeWrong, r.Body = *stream, t.Time.UTC(), t.InfinityModifier != pgtype.Finite, *body
	return s.damage.Event(r), nil
}

// heads reads heads and reports damaged ones.
func (s *Store) heads(ctx context.Context, doing, sql string, args ...any) ([]store.Stream, error) {
	heads, err := collect(ctx, s, doing, scanHead, sql, args...)
	for i, h := range heads {
		heads[i] = s.damage.Head(h)
	}
	return heads, err
}

// head reads one head. id is only for the error message.
func (s *Store) head(ctx context.Context, id, sql string, args ...any) (store.Stream, error) {
	heads, err := s.heads(ctx, "get "+id, sql, args...)
	if err == nil && len(heads) == 0 {
		err = store.ErrNoStream(id)
	}
	if err != nil {
		return store.Stream{}, err
	}
	return heads[0], nil
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, id string) (store.Stream, error) {
	return s.head(ctx, id, sqlGet, id)
}

// Find implements store.Store.
func (s *Store) Find(ctx context.Context, org, user, kind, clientID string) (store.Stream, error) {
	return s.head(ctx, clientID, sqlFind, org, user, kind, clientID)
}

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

// messages reads the events that a search reads, in one round trip.
func (s *Store) messages(ctx context.Context, ids []string, each func(store.Message) bool) error {
	if len(ids) == 0 {
		return nil
	}
	return s.do(ctx, "search messages", func(ctx context.Context, c *pgxpool.Conn) error {
		var batch pgx.Batch
		for _, id := range ids {
			batch.Queue(sqlMessages, id).Query(func(rows pgx.Rows) error {
				for rows.Next() {
					m := store.Message{Stream: id}
					if err := rows.Scan(&m.Seq, &m.Kind, (*pgtype.DriverBytes)(&m.Body)); err != nil {
						return err
					}
					if !each(m) {
						return context.Cause(ctx)
					}
				}
				return rows.Err()
			})
		}
		return c.SendBatch(ctx, &batch).Close()
	})
}

// list lists streams without a query.
func (s *Store) list(ctx context.Context, p store.Page) ([]store.Stream, string, error) {
	updated, id, err := store.From(p)
	if err != nil {
		return nil, "", err
	}
	if p.Before == "" {
		id = "\U0010FFFF" // sorts after all ids, even those of damaged heads
	}
	// With the stored times, even if those are wrong, because they define the order.
	heads, err := collect(ctx, s, "list", scanHead, sqlList, p.Org, p.User, p.Kind, cursorTime(updated), id,
		p.Limit+1)
	if err != nil {
		return nil, "", err
	}
	more := ""
	if len(heads) > p.Limit {
		heads = heads[:p.Limit:p.Limit]
		more = store.CursorOf(heads[p.Limit-1])
	}
	for i, h := range heads {
		heads[i] = s.damage.Head(h)
	}
	return heads, more, nil
}

// cursorTime returns the time of a cursor as the database holds it.
func cursorTime(micros int64) pgtype.Timestamptz {
	const (
		first = -210_866_803_200_000_000  // the first time that Postgres can hold, in 4713 BC
		last  = 9_000_000_000_000_000_000 // in the year 287,000
	)
	switch {
	case micros > last:
		return pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	case micros == math.MinInt64:
		return pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	}
	return pgtype.Timestamptz{Time: time.UnixMicro(max(micros, first)).UTC(), Valid: true}
}

// Unfinished implements store.Store.
func (s *Store) Unfinished(ctx context.Context, now time.Time, limit int) ([]store.Stream, error) {
	return s.heads(ctx, "list unfinished runs", sqlUnfinished, now, max(limit, 0))
}

// Events implements store.Store. It reads in pages and holds no connection while it yields their events.
func (s *Store) Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		after := after // the loop may run twice
		for {
			page, err := s.page(ctx, stream, after)
			if unreadable(err) {
				page, err = s.pageByRow(ctx, stream, after)
			}
			if err != nil {
				yield(footnote.Event{}, err)
				return
			}
			for _, ev := range page {
				if !yield(ev, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			after = page[len(page)-1].Seq
		}
	}
}

// page reads the next events.
func (s *Store) page(ctx context.Context, stream string, after int64) (page []footnote.Event, err error) {
	if !validText(stream) {
		return nil, store.ErrNoStream(stream)
	}
	last := int64(0)
	events := func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, sqlPage, stream, after)
		if err == nil {
			page, err = s.collect(rows, stream, max(after, 0))
		}
		return err
	}
	err = s.do(ctx, "read "+stream, func(ctx context.Context, c *pgxpool.Conn) error {
		if err := events(ctx, c); err != nil || len(page) > 0 {
			return err
		}
		if err := c.QueryRow(ctx, sqlLast, stream).Scan(&last); err != nil || last <= after {
			return err
		}
		return events(ctx, c) // others may have written them in between
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = store.ErrNoStream(stream)
	}
	if err == nil && len(page) == 0 { // the newest events may be missing
		page = s.damage.Gap(page, stream, max(after, 0), last+1)
	}
	return page, err
}

func (s *Store) collect(rows pgx.Rows, stream string, last int64) (page []footnote.Event, err error) {
	defer rows.Close()
	var body pgtype.DriverBytes // valid until the next row
	for rows.Next() {
		ev, err := s.scanEvent(rows, &stream, &body)
		if err != nil {
			return nil, err
		}
		page = append(s.damage.Gap(page, stream, last, ev.Seq), ev)
		last = ev.Seq
	}
	return page, rows.Err()
}

// mustExist returns an error if a stream does not exist.
func (s *Store) mustExist(ctx context.Context, stream string) error {
	_, found, err := value[int64](ctx, s, "look for "+stream, sqlLast, stream)
	if err == nil && !found {
		err = store.ErrNoStream(stream)
	}
	return err
}

// Blob implements store.Store.
func (s *Store) Blob(ctx context.Context, stream string, d footnote.Digest) (data []byte, err error) {
	data, found, err := value[[]byte](ctx, s, "read a blob of "+stream, sqlBlob, stream, d)
	if damaged(err) {
		return nil, s.damage.LostBlob(stream, d, err.Error())
	}
	if err == nil && !found {
		if err = s.mustExist(ctx, stream); err == nil {
			err = store.ErrNoBlob(d)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.damage.Blob(stream, d, data)
}

// Tail implements store.Store.
func (s *Store) Tail(ctx context.Context, after int64, limit int) (events []store.Positioned, err error) {
	limit = min(max(limit, 0), math.MaxInt32)
	err = s.do(ctx, "read the tail", func(ctx context.Context, c *pgxpool.Conn) error {
		events = nil
		rows, err := c.Query(ctx, sqlTail, after, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		var body pgtype.DriverBytes // valid until the next row
		for rows.Next() {
			var p store.Positioned
			var stream string
			if p.Event, err = s.scanEvent(rows, &stream, &body, &p.Position, &stream, &p.Org, &p.User); err != nil {
				return err
			}
			if p.Seq < 1 {
				p.Event = s.damage.Stray(p.Position, "its number is not a positive integer")
			}
			events = append(events, p)
		}
		return rows.Err()
	})
	if unreadable(err) {
		return s.tailByRow(ctx, after, limit)
	}
	return events, err
}

// Cursor implements store.Store.
func (s *Store) Cursor(ctx context.Context, name string) (position int64, err error) {
	position, _, err = value[int64](ctx, s, "read cursor "+name, sqlCursor, name)
	return position, err
}
