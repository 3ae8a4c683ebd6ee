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

// This file works around damaged pages of the data file. What a query cannot read in one go is
// read row by row, and a row that cannot be read becomes a stand-in. Deletion does the same, and
// leaves rows that SQLite cannot delete without a stream, where nobody finds them.

const (
	sqlRowPlace = `SELECT time, run, kind FROM events WHERE stream = (SELECT n FROM streams WHERE id = ?) AND seq = ?`
	sqlRowBody  = `SELECT body FROM events WHERE stream = (SELECT n FROM streams WHERE id = ?) AND seq = ?`
	sqlLastRow  = `SELECT max(position) FROM events`
	sqlTailRow  = `SELECT s.id, s.org, s.user, e.seq FROM events e CROSS JOIN streams s ON s.n = e.stream
		WHERE e.position = ?`
)

// damaged reports whether err says that a page of the file is malformed.
func damaged(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_CORRUPT
}

// pageByRow is page where a page of the file is malformed.
func (s *Store) pageByRow(ctx context.Context, page []footnote.Event, stream string, after int64) (
	_ []footnote.Event, more bool, err error,
) {
	head, err := s.Get(ctx, stream)
	if err != nil {
		return page, false, err
	}
	for seq := max(after, 0) + 1; seq <= head.Last; seq++ {
		if len(page) == pageEvents {
			return page, true, nil
		}
		ev, err := s.row(ctx, stream, seq)
		if err != nil {
			return page, false, err
		}
		page = append(page, ev)
	}
	return page, false, nil
}

// row reads one event, or what of it can be read.
func (s *Store) row(ctx context.Context, stream string, seq int64) (footnote.Event, error) {
	ev := footnote.Event{Stream: stream, Seq: seq}
	var micros int64
	var kind string
	var body []byte
	err := s.read.QueryRowContext(ctx, sqlRowPlace, stream, seq).Scan(&micros, &ev.Run, &kind)
	if errors.Is(err, sql.ErrNoRows) {
		return s.damage.Lost(stream, seq, store.MissingEvent), nil
	}
	if err == nil {
		ev.Time = timeOf(micros)
		err = s.read.QueryRowContext(ctx, sqlRowBody, stream, seq).Scan(&body)
	}
	if damaged(err) {
		lost := s.damage.Lost(stream, seq, err.Error())
		lost.Time, lost.Run = ev.Time, ev.Run
		lost.Body = footnote.Unreadable{Kind: kind, Reason: err.Error()}
		return lost, nil
	}
	if err != nil {
		return ev, err
	}
	ev.Body = s.damage.Body(stream, seq, kind, body)
	return ev, nil
}

// tailByRow is tail where a page of the file is malformed. A row of which not even the
// stream can be read belongs to none.
func (s *Store) tailByRow(ctx context.Context, after int64, limit int) ([]store.Positioned, error) {
	var last sql.NullInt64
	if err := s.read.QueryRowContext(ctx, sqlLastRow).Scan(&last); err != nil {
		return nil, err
	}
	var events []store.Positioned
	for position := after + 1; position <= last.Int64 && len(events) < limit; position++ {
		p := store.Positioned{Position: position}
		var seq int64
		err := s.read.QueryRowContext(ctx, sqlTailRow, position).Scan(&p.Stream, &p.Org, &p.User, &seq)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			continue
		case damaged(err):
			p.Event = s.damage.Lost("", position, err.Error())
			p.Seq = 0
		case err != nil:
			return nil, err
		default:
			if p.Event, err = s.row(ctx, p.Stream, seq); err != nil {
				return nil, err
			}
		}
		events = append(events, p)
	}
	return events, nil
}

// rowDeletions delete rows of stream ?1: those with numbers from ?2 to ?3.
var rowDeletions = []struct{ what, sql string }{
	{"blobs", `DELETE FROM blobs WHERE n IN (
		SELECT r.blob FROM blob_refs r WHERE r.stream = ?1 AND r.blob BETWEEN ?2 AND ?3
		AND NOT EXISTS (SELECT 1 FROM blob_refs o WHERE o.blob = r.blob AND o.stream <> r.stream))`},
	{"references to blobs", `DELETE FROM blob_refs WHERE stream = ?1 AND blob BETWEEN ?2 AND ?3`},
	{"events", `DELETE FROM events WHERE stream = ?1 AND seq BETWEEN ?2 AND ?3`},
}

// maxFailures bounds the statements that may fail while the rows of one table are deleted. A
// malformed page holds fewer rows; a damaged index could make each of them fail.
const maxFailures = 2_000

// removeByRow is remove where a page of the file is malformed. It deletes the rows that can be
// deleted, then the stream, and reports the rows that it has to leave.
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
			d := rowDeletion{s: s, stream: id, sql: table.sql}
			if err := d.between(ctx, 0, math.MaxInt64); err != nil {
				return err
			}
			if d.left != nil {
				s.damage.Left(id, table.what, d.left)
			}
		}
		err = s.removeHead(ctx, id, h.Last)
		if at != nil || footnote.CodeOf(err) != footnote.Conflict {
			return err
		} // else the stream went on meanwhile
	}
}

// rowDeletion deletes the rows of a stream in one table.
type rowDeletion struct {
	s           *Store
	stream, sql string
	failures    int
	left        error // why rows could not be deleted, nil when all were
}

// between deletes the rows with numbers from lo to hi. Each statement is a transaction of its
// own: after one has met a malformed page, SQLite fails all others of its transaction.
func (d *rowDeletion) between(ctx context.Context, lo, hi int64) error {
	if d.failures >= maxFailures {
		return nil
	}
	err := d.s.do(ctx, "delete "+d.stream, &request{exec: func(ctx context.Context, w *writer) error {
		var h head
		var last int64
		err := w.stmts.selectHead.QueryRowContext(ctx, d.stream).Scan(&h.n, &h.org, &h.user, &last)
		if errors.Is(err, sql.ErrNoRows) {
			return store.ErrNoStream(d.stream)
		}
		if err == nil {
			_, err = w.conn.ExecContext(ctx, d.sql, h.n, lo, hi)
		}
		return err
	}})
	if !damaged(err) {
		return err
	}
	d.failures++
	if lo == hi || d.failures >= maxFailures {
		d.left = err
		return nil
	}
	middle := lo + (hi-lo)/2
	if err := d.between(ctx, lo, middle); err != nil {
		return err
	}
	return d.between(ctx, middle+1, hi)
}
