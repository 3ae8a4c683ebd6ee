package postgres

import (
	"context"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// This file works around damaged pages of the database. If a query fails, the store reads row by row, and returns a
// placeholder for an unreadable row. It also deletes row by row.

const (
	sqlRowPlace = `SELECT time, run, kind FROM footnote.events WHERE stream = (SELECT n FROM footnote.streams WHERE ` +
		`id = $1) AND seq = $2`
	sqlRowBody = `SELECT body FROM footnote.events WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) ` +
		`AND seq = $2`
	sqlLastRow = `SELECT last_value FROM footnote.positions` // the highest so far
	sqlNextRow = `SELECT position FROM footnote.events WHERE position > $1 ORDER BY position LIMIT 1`
	sqlNextSeq = `SELECT seq FROM footnote.events WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) AND ` +
		`seq > $2 ORDER BY seq LIMIT 1`
	sqlTailRow = `SELECT s.id, s.org_id, s.user_id, e.seq FROM footnote.events e JOIN footnote.streams s ON s.n = ` +
		`e.stream WHERE e.position = $1`
)

// pageRows is the number of events that pageByRow returns at once.
const pageRows = 256

// damaged reports whether err was caused by damaged data: a page with a wrong checksum, an incomplete value, or a
// broken index.
func damaged(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && len(e.Code) == 5 && e.Code[:2] == "XX"
}

// unreadable reports whether err concerns single rows, so that other rows may be readable.
func unreadable(err error) bool {
	_, bad := errors.AsType[pgx.ScanArgError](err)
	return bad || damaged(err)
}

// pageByRow is page for a database with damaged pages.
func (s *Store) pageByRow(ctx context.Context, stream string, after int64) (page []footnote.Event, err error) {
	head, err := s.Get(ctx, stream)
	if err != nil {
		return nil, err
	}
	last := max(after, 0)
	for range pageRows {
		seq, found, err := s.next(ctx, last, head.Last, sqlNextSeq, stream, last)
		if err != nil {
			return nil, err
		}
		if !found || seq > head.Last {
			return s.damage.Gap(page, stream, last, head.Last+1), nil
		}
		ev, err := s.row(ctx, stream, seq)
		if err != nil {
			return nil, err
		}
		page = append(s.damage.Gap(page, stream, last, seq), ev)
		last = seq
	}
	return page, nil
}

// next returns the number of the next existing row after a number. It skips a gap of any length at once. If the index
// is damaged there, it returns the next number, up to last.
func (s *Store) next(ctx context.Context, after, last int64, query string,
	args ...any) (n int64, found bool, err error) {
	n, found, err = value[int64](ctx, s, "read around damage", query, args...)
	if unreadable(err) {
		return after + 1, after < last, nil
	}
	return n, found, err
}

// row reads one event, or its readable columns.
func (s *Store) row(ctx context.Context, stream string, seq int64) (ev footnote.Event, err error) {
	err = s.do(ctx, "read "+stream, func(ctx context.Context, c *pgxpool.Conn) error {
		r := store.Row{Stream: stream, Seq: seq}
		var t pgtype.Timestamptz
		err := c.QueryRow(ctx, sqlRowPlace, stream, seq).Scan(&t, &r.Run, &r.Kind)
		if errors.Is(err, pgx.ErrNoRows) {
			ev = s.damage.Lost(stream, seq, store.MissingEvent)
			return nil
		}
		if err == nil {
			r.Time, r.TimeWrong = t.Time.UTC(), t.InfinityModifier != pgtype.Finite
			err = c.QueryRow(ctx, sqlRowBody, stream, seq).Scan(&r.Body)
		}
		switch {
		case unreadable(err):
			ev, err = s.damage.LostBody(r, err), nil
		case err == nil:
			ev = s.damage.Event(r)
		}
		return err
	})
	return ev, err
}

// tailByRow is Tail for a database with damaged pages. It returns a row without a readable stream as a stray event.
func (s *Store) tailByRow(ctx context.Context, after int64, limit int) (events []store.Positioned, err error) {
	last, _, err := value[int64](ctx, s, "read the tail", sqlLastRow)
	if err != nil {
		return nil, err
	}
	for position := after; len(events) < limit; {
		next, more, err := s.next(ctx, position, last, sqlNextRow, position)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		position = next
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
	case unreadable(err):
		p = store.Positioned{Position: position}
		p.Event = s.damage.Stray(position, err.Error())
		return p, true, nil
	case err != nil || !found:
		return p, false, err
	case seq < 1:
		p.Event = s.damage.Stray(position, "its number is not a positive integer")
		return p, true, nil
	}
	p.Event, err = s.row(ctx, p.Stream, seq)
	return p, true, err
}

// rowDeletions delete the rows of stream $1 whose keys begin with a number from $2 to $3.
var rowDeletions = []struct {
	what, sql string
	max       int64 // the highest such number
}{
	// A digest begins with 8 such digits.
	{"blobs", `DELETE FROM footnote.blobs WHERE stream = $1 AND digest >= 'sha256:' || lpad(to_hex($2::bigint), 8, '0')
		AND digest < 'sha256:' || lpad(to_hex($3::bigint), 8, '0') || 'g'`, math.MaxUint32},
	{"events", `DELETE FROM footnote.events WHERE stream = $1 AND seq BETWEEN $2 AND $3`, math.MaxInt64},
}

// removeByRow is a removal for a database with damaged pages. It deletes the rows that can be deleted, and reports
// those that remain.
func (s *Store) removeByRow(ctx context.Context, tx pgx.Tx, stream streamRow) error {
	// A scan of the whole table would fail on the damaged page each time; the index leads around it.
	for _, setting := range []string{"enable_seqscan", "enable_bitmapscan"} {
		if _, err := tx.Exec(ctx, "SELECT set_config($1, 'off', true)", setting); err != nil {
			return err
		}
	}
	for _, table := range rowDeletions {
		r := store.Removal{Damaged: damaged}
		left, err := r.Between(0, table.max, func(lo, hi int64) error {
			// Use a savepoint: a statement that fails on a damaged page must not end the transaction.
			return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, table.sql, stream.n, lo, hi)
				return err
			})
		})
		if err != nil {
			return err
		}
		if left != nil {
			s.damage.Left(stream.id, table.what, left)
		}
	}
	return nil
}
