package postgres

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

const headColumns = `id, kind, org_id, user_id, client_id, assistant, title, last, run, run_state, deadline, created_at, updated_at`

const (
	sqlGet  = `SELECT ` + headColumns + ` FROM footnote.streams WHERE id = $1`
	sqlFind = `SELECT ` + headColumns + ` FROM footnote.streams
		WHERE org_id = $1 AND user_id = $2 AND kind = $3 AND client_id = $4 AND client_id <> ''`
	sqlList = `SELECT ` + headColumns + ` FROM footnote.streams
		WHERE org_id = $1 AND user_id = $2 AND ($3 = '' OR kind = $3) AND (updated_at, id) < ($4, $5) AND strpos(title_fold, $6) > 0
		ORDER BY updated_at DESC, id DESC LIMIT $7`
	sqlUnfinished = `SELECT ` + headColumns + ` FROM footnote.streams
		WHERE run_state <> '' AND (run_state = 'running' AND (lease_expires IS NULL OR lease_expires <= $1) OR run_state = 'parked' AND deadline < $1)
		ORDER BY updated_at, id LIMIT $2`

	// A page ends after 256 events, or with the one that makes it 1 MB long. The
	// length of a body is known without reading it.
	sqlPage = `SELECT seq, time, run, kind, body FROM (
			SELECT seq, time, run, kind, body, sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS before
			FROM footnote.events WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) AND seq > $2 ORDER BY seq LIMIT 256
		) page WHERE before < 1048576 ORDER BY seq`

	sqlExists = `SELECT EXISTS (SELECT 1 FROM footnote.streams WHERE id = $1)`
	sqlBlob   = `SELECT data FROM footnote.blobs WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) AND digest = $2`
	sqlTail   = `SELECT e.position, s.id, s.org_id, s.user_id, e.seq, e.time, e.run, e.kind, e.body
		FROM (SELECT * FROM footnote.events WHERE position > $1 ORDER BY position LIMIT $2) e
		JOIN footnote.streams s ON s.n = e.stream ORDER BY e.position`
	sqlCursor = `SELECT position FROM footnote.cursors WHERE name = $1`
)

// text reports whether the database can hold a string. One that it cannot is not
// in it.
func text(values ...string) bool {
	for _, v := range values {
		if strings.IndexByte(v, 0) >= 0 || !utf8.ValidString(v) {
			return false
		}
	}
	return true
}

func scanHead(row pgx.CollectableRow) (h store.Stream, err error) {
	var deadline *time.Time
	err = row.Scan(&h.ID, &h.Kind, &h.Org, &h.User, &h.ClientID, &h.Assistant, &h.Title, &h.Last, &h.Run, &h.RunState,
		&deadline, &h.Created, &h.Updated)
	if deadline != nil {
		h.Deadline = deadline.UTC()
	}
	h.Created, h.Updated = h.Created.UTC(), h.Updated.UTC()
	return h, err
}

// heads reads heads.
func (s *Store) heads(ctx context.Context, doing, sql string, args ...any) (heads []store.Stream, err error) {
	err = s.do(ctx, doing, func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		heads, err = pgx.CollectRows(rows, scanHead)
		return err
	})
	return heads, err
}

// head reads one head; id is for the words of the error.
func (s *Store) head(ctx context.Context, id, sql string, args ...string) (store.Stream, error) {
	if err := s.usable(ctx); err != nil {
		return store.Stream{}, err
	}
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = arg
	}
	if !text(args...) {
		return store.Stream{}, store.ErrNoStream(id)
	}
	heads, err := s.heads(ctx, "get "+id, sql, values...)
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
	updated, id, err := store.From(p)
	if err != nil {
		return nil, "", err
	}
	if err := s.usable(ctx); err != nil {
		return nil, "", err
	}
	query := store.Fold(p.Query)
	if !text(query) {
		return nil, "", nil
	}
	heads, err := s.heads(ctx, "list", sqlList, p.Org, p.User, p.Kind, moment(updated), id, query, p.Limit+1)
	if err != nil || len(heads) <= p.Limit {
		return heads, "", err
	}
	return heads[:p.Limit:p.Limit], store.CursorOf(heads[p.Limit-1]), nil
}

// moment is a time of a cursor, within what the database can hold.
func moment(micros int64) time.Time {
	const last = 9_000_000_000_000_000_000 // in the year 287,000
	return time.UnixMicro(min(max(micros, 0), last)).UTC()
}

// Unfinished implements store.Store.
func (s *Store) Unfinished(ctx context.Context, now time.Time, limit int) ([]store.Stream, error) {
	return s.heads(ctx, "list unfinished runs", sqlUnfinished, now, max(limit, 0))
}

// Events implements store.Store. It reads in pages and holds no connection while
// the caller works on one.
func (s *Store) Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		after := after // the loop may run twice
		for {
			page, err := s.page(ctx, stream, after)
			if damaged(err) {
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
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if !text(stream) {
		return nil, store.ErrNoStream(stream)
	}
	exists := true
	err = s.do(ctx, "read "+stream, func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, sqlPage, stream, after)
		if err != nil {
			return err
		}
		if page, err = s.collect(rows, stream, max(after, 0)); err != nil || len(page) > 0 {
			return err
		}
		return c.QueryRow(ctx, sqlExists, stream).Scan(&exists)
	})
	if err == nil && !exists {
		err = store.ErrNoStream(stream)
	}
	return page, err
}

func (s *Store) collect(rows pgx.Rows, stream string, last int64) (page []footnote.Event, err error) {
	defer rows.Close()
	var kind string
	var body pgtype.DriverBytes // the row's own, good until the next one
	for rows.Next() {
		ev := footnote.Event{Stream: stream}
		if err := rows.Scan(&ev.Seq, &ev.Time, &ev.Run, &kind, &body); err != nil {
			return nil, err
		}
		ev.Time = ev.Time.UTC()
		ev.Body = s.damage.Body(stream, ev.Seq, kind, body)
		page = append(s.damage.Gap(page, stream, last, ev.Seq), ev)
		last = ev.Seq
	}
	return page, rows.Err()
}

// Blob implements store.Store.
func (s *Store) Blob(ctx context.Context, stream string, d footnote.Digest) (data []byte, err error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if !text(stream) {
		return nil, store.ErrNoStream(stream)
	}
	if !text(d) {
		return nil, store.ErrNoBlob(d)
	}
	exists := true
	err = s.do(ctx, "read a blob of "+stream, func(ctx context.Context, c *pgxpool.Conn) error {
		err := c.QueryRow(ctx, sqlBlob, stream, d).Scan(&data)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := c.QueryRow(ctx, sqlExists, stream).Scan(&exists); err != nil {
			return err
		}
		return store.ErrNoBlob(d)
	})
	switch {
	case !exists:
		return nil, store.ErrNoStream(stream)
	case damaged(err):
		return nil, s.damage.LostBlob(stream, d, err.Error())
	case err != nil:
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
		var kind string
		var body pgtype.DriverBytes // the row's own, good until the next one
		for rows.Next() {
			var p store.Positioned
			if err := rows.Scan(&p.Position, &p.Stream, &p.Org, &p.User, &p.Seq, &p.Time, &p.Run, &kind, &body); err != nil {
				return err
			}
			p.Time = p.Time.UTC()
			p.Body = s.damage.Body(p.Stream, p.Seq, kind, body)
			events = append(events, p)
		}
		return rows.Err()
	})
	if damaged(err) {
		return s.tailByRow(ctx, after, limit)
	}
	return events, err
}

// Cursor implements store.Store.
func (s *Store) Cursor(ctx context.Context, name string) (position int64, err error) {
	if err := s.usable(ctx); err != nil || !text(name) {
		return 0, err
	}
	err = s.do(ctx, "read cursor "+name, func(ctx context.Context, c *pgxpool.Conn) error {
		err := c.QueryRow(ctx, sqlCursor, name).Scan(&position)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return position, err
}
