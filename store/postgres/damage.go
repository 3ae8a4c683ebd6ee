package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// This file reads around damaged pages of the database: what a query cannot read in one go
// is read row by row, and a row that cannot be read becomes a stand-in.

const (
	sqlRowPlace = `SELECT time, run, kind FROM footnote.events WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) AND seq = $2`
	sqlRowBody  = `SELECT body FROM footnote.events WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) AND seq = $2`
	sqlLastRow  = `SELECT coalesce(max(position), 0) FROM footnote.events`
	sqlTailRow  = `SELECT s.id, s.org_id, s.user_id, e.seq FROM footnote.events e JOIN footnote.streams s ON s.n = e.stream WHERE e.position = $1`
)

// pageRows is how many events are read in one go of reading row by row.
const pageRows = 256

// damaged reports whether err says that something stored cannot be read: a page with a
// wrong checksum, a value of which a part is gone, an index that leads nowhere.
func damaged(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && len(e.Code) == 5 && e.Code[:2] == "XX"
}

// pageByRow is page where a page of the database is damaged.
func (s *Store) pageByRow(ctx context.Context, stream string, after int64) (page []footnote.Event, err error) {
	head, err := s.Get(ctx, stream)
	if err != nil {
		return nil, err
	}
	for seq := max(after, 0) + 1; seq <= head.Last && len(page) < pageRows; seq++ {
		ev, err := s.row(ctx, stream, seq)
		if err != nil {
			return nil, err
		}
		page = append(page, ev)
	}
	return page, nil
}

// row reads one event, or what of it can be read.
func (s *Store) row(ctx context.Context, stream string, seq int64) (ev footnote.Event, err error) {
	err = s.do(ctx, "read "+stream, func(ctx context.Context, c *pgxpool.Conn) error {
		ev = footnote.Event{Stream: stream, Seq: seq}
		var kind string
		var body pgtype.DriverBytes
		err := c.QueryRow(ctx, sqlRowPlace, stream, seq).Scan(&ev.Time, &ev.Run, &kind)
		if errors.Is(err, pgx.ErrNoRows) {
			ev = s.damage.Lost(stream, seq, store.MissingEvent)
			return nil
		}
		if err == nil {
			ev.Time = ev.Time.UTC()
			err = scanOne(ctx, c, &body, func() { ev.Body = s.damage.Body(stream, seq, kind, body) }, sqlRowBody, stream, seq)
		}
		if damaged(err) {
			lost := s.damage.Lost(stream, seq, err.Error())
			lost.Time, lost.Run = ev.Time, ev.Run
			lost.Body = footnote.Unreadable{Kind: kind, Reason: err.Error()}
			ev, err = lost, nil
		}
		return err
	})
	return ev, err
}

// scanOne reads the only column of the only row, and uses it while it is there.
func scanOne(ctx context.Context, c *pgxpool.Conn, to *pgtype.DriverBytes, use func(), query string, args ...any) error {
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(to); err != nil {
			return err
		}
		use()
	}
	return rows.Err()
}

// tailByRow is Tail where a page of the database is damaged. A row of which not even the
// stream can be read belongs to none.
func (s *Store) tailByRow(ctx context.Context, after int64, limit int) (events []store.Positioned, err error) {
	last := int64(0)
	err = s.do(ctx, "read the tail", func(ctx context.Context, c *pgxpool.Conn) error {
		return c.QueryRow(ctx, sqlLastRow).Scan(&last)
	})
	if err != nil {
		return nil, err
	}
	for position := after + 1; position <= last && len(events) < limit; position++ {
		p, found, err := s.tailRow(ctx, position)
		if err != nil {
			return nil, err
		}
		if found {
			events = append(events, p)
		}
	}
	return events, nil
}

func (s *Store) tailRow(ctx context.Context, position int64) (p store.Positioned, found bool, err error) {
	var seq int64
	err = s.do(ctx, "read the tail", func(ctx context.Context, c *pgxpool.Conn) error {
		p = store.Positioned{Position: position}
		err := c.QueryRow(ctx, sqlTailRow, position).Scan(&p.Stream, &p.Org, &p.User, &seq)
		if found = !errors.Is(err, pgx.ErrNoRows); !found {
			return nil
		}
		return err
	})
	switch {
	case damaged(err):
		p = store.Positioned{Position: position}
		p.Event = s.damage.Lost("", position, err.Error())
		p.Seq = 0
		return p, true, nil
	case err != nil || !found:
		return p, false, err
	}
	p.Event, err = s.row(ctx, p.Stream, seq)
	return p, true, err
}
