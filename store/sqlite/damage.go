package sqlite

import (
	"context"
	"database/sql"
	"errors"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// This file reads around damaged pages of the data file: what a query cannot read in one
// go is read row by row, and a row that cannot be read becomes a stand-in.

const (
	sqlRowPlace = `SELECT time, run, kind FROM events WHERE stream = (SELECT n FROM streams WHERE id = ?) AND seq = ?`
	sqlRowBody  = `SELECT body FROM events WHERE stream = (SELECT n FROM streams WHERE id = ?) AND seq = ?`
	sqlLastRow  = `SELECT max(position) FROM events`
	sqlTailRow  = `SELECT s.id, s.org, s.user, e.seq FROM events e CROSS JOIN streams s ON s.n = e.stream WHERE e.position = ?`
)

// damaged reports whether err says that a page of the file is malformed.
func damaged(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_CORRUPT
}

// pageByRow is page where a page of the file is malformed.
func (s *Store) pageByRow(ctx context.Context, page []footnote.Event, stream string, after int64) (_ []footnote.Event, more bool, err error) {
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
