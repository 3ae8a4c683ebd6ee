package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// This file works around damaged pages of the data file. If a query fails, the store reads row by row, and returns a
// placeholder for an unreadable row. Deletion does the same, and leaves rows that SQLite cannot delete without a
// stream, where no query finds them.

const (
	sqlRowPlace = `SELECT time, run, kind FROM events WHERE stream = (SELECT n FROM streams WHERE id = ?) AND seq = ?`
	sqlRowBody  = `SELECT body FROM events WHERE stream = (SELECT n FROM streams WHERE id = ?) AND seq = ?`
	sqlLastRow  = `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'` // the highest so far
	sqlNextRow  = `SELECT min(position) FROM events WHERE position > ?`
	sqlNextSeq  = `SELECT min(seq) FROM events WHERE stream = (SELECT n FROM streams WHERE id = ?) AND seq > ? AND ` +
		`seq <= ?`
	sqlTailRow = `SELECT s.id, s.org, s.user, e.seq FROM events e CROSS JOIN streams s ON s.n = e.stream
		WHERE e.position = ?`
)

// damaged reports whether err was caused by a malformed page of the file.
func damaged(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_CORRUPT
}

// badRow is the error for a row with a value of the wrong type.
type badRow struct{ error }

// unreadable reports whether err concerns single rows, so that other rows may be readable.
func unreadable(err error) bool {
	_, bad := errors.AsType[badRow](err)
	return bad || damaged(err)
}

// pageByRow is page for a file with malformed pages.
func (s *Store) pageByRow(ctx context.Context, page []footnote.Event, stream string, after int64) (
	_ []footnote.Event, more bool, err error,
) {
	head, err := s.Get(ctx, stream)
	if err != nil {
		return page, false, err
	}
	last := max(after, 0)
	for range pageEvents {
		next, err := s.next(ctx, last, head.Last, sqlNextSeq, stream, last, head.Last)
		if err != nil {
			return page, false, err
		}
		if next.null {
			return s.damage.Gap(page, stream, last, head.Last+1), false, nil
		}
		ev, err := s.row(ctx, stream, next.n)
		if err != nil {
			return page, false, err
		}
		page = append(s.damage.Gap(page, stream, last, next.n), ev)
		last = next.n
	}
	return page, true, nil
}

// next returns the number of the next existing row after a number, or NULL. It skips a gap of any length at once. If
// the index is damaged there, or holds something other than an integer, it returns the next number, up to last.
func (s *Store) next(ctx context.Context, after, last int64, query string, args ...any) (n number, err error) {
	err = s.read.QueryRowContext(ctx, query, args...).Scan(&n)
	if damaged(err) || err == nil && n.wrong && !n.null {
		return number{n: after + 1, null: after >= last}, nil
	}
	return n, err
}

// row reads one event, or its readable columns.
func (s *Store) row(ctx context.Context, stream string, seq int64) (footnote.Event, error) {
	r := store.Row{Stream: stream, Seq: seq}
	var micros number
	err := s.read.QueryRowContext(ctx, sqlRowPlace, stream, seq).Scan(&micros, anyText{&r.Run}, anyText{&r.Kind})
	if errors.Is(err, sql.ErrNoRows) {
		return s.damage.Lost(stream, seq, store.MissingEvent), nil
	}
	if err == nil {
		r.Time, r.TimeWrong = timeOf(micros.n), micros.wrong
		err = s.read.QueryRowContext(ctx, sqlRowBody, stream, seq).Scan(&r.Body)
	}
	if damaged(err) {
		return s.damage.LostBody(r, err), nil
	}
	if err != nil {
		return footnote.Event{}, err
	}
	return s.damage.Event(r), nil
}

// tailByRow is tail for a file with malformed pages. It returns a row without a readable stream as a stray event.
func (s *Store) tailByRow(ctx context.Context, after int64, limit int) ([]store.Positioned, error) {
	var last int64
	if err := s.read.QueryRowContext(ctx, sqlLastRow).Scan(&last); err != nil {
		return nil, err
	}
	var events []store.Positioned
	for position := after; len(events) < limit; {
		next, err := s.next(ctx, position, last, sqlNextRow, position)
		if err != nil {
			return nil, err
		}
		if next.null {
			break
		}
		position = next.n
		p := store.Positioned{Position: position}
		var seq number
		err = s.read.QueryRowContext(ctx, sqlTailRow, position).
			Scan(anyText{&p.Stream}, anyText{&p.Org}, anyText{&p.User}, &seq)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			continue
		case damaged(err):
			p.Event = s.damage.Stray(position, err.Error())
		case err != nil:
			return nil, err
		case seq.wrong || seq.n < 1:
			p.Event = s.damage.Stray(position, "its number is not a positive integer")
		default:
			if p.Event, err = s.row(ctx, p.Stream, seq.n); err != nil {
				return nil, err
			}
		}
		events = append(events, p)
	}
	return events, nil
}

// rowDeletions delete the rows of stream ?1 numbered ?2 to ?3.
var rowDeletions = []struct{ what, sql string }{
	{"blobs", `DELETE FROM blobs WHERE n IN (
		SELECT r.blob FROM blob_refs r WHERE r.stream = ?1 AND r.blob BETWEEN ?2 AND ?3
		AND NOT EXISTS (SELECT 1 FROM blob_refs o WHERE o.blob = r.blob AND o.stream <> r.stream))`},
	{"references to blobs", `DELETE FROM blob_refs WHERE stream = ?1 AND blob BETWEEN ?2 AND ?3`},
	{"events", `DELETE FROM events WHERE stream = ?1 AND seq BETWEEN ?2 AND ?3`},
}

// removeByRow is remove for a file with malformed pages. It deletes the rows that can be deleted, then the stream, and
// reports the rows that remain.
func (s *Store) removeByRow(ctx context.Context, id string, at *int64) error {
	for {
		h, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		if at != nil && h.Last != *at {
			return store.ErrMoved(id, *at, h.Last)
		}
		for _, table := range rowDeletions {
			r := store.Removal{Damaged: damaged}
			left, err := r.Between(0, math.MaxInt64, func(lo, hi int64) error {
				return s.removeRows(ctx, id, table.sql, lo, hi)
			})
			if err != nil {
				return err
			}
			if left != nil {
				s.damage.Left(id, table.what, left)
			}
		}
		err = s.removeHead(ctx, id, h.Last)
		if at != nil || footnote.CodeOf(err) != footnote.Conflict {
			return err
		} // otherwise the stream got a new event meanwhile
	}
}

// removeRows deletes the rows numbered lo to hi. Each statement runs in its own transaction: after one fails on a
// malformed page, SQLite fails all others of the same transaction.
func (s *Store) removeRows(ctx context.Context, id, statement string, lo, hi int64) error {
	return s.do(ctx, "delete "+id, &request{exec: func(ctx context.Context, w *writer) error {
		h, _, err := w.readHead(ctx, id)
		if err == nil {
			_, err = w.conn.ExecContext(ctx, statement, h.n, lo, hi)
		}
		return err
	}})
}
