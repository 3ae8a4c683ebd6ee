package sqlite

import (
	"context"
	"fmt"
	"iter"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

var _ store.Movable = (*Store)(nil)

const (
	sqlDigests = `SELECT b.digest FROM blob_refs r JOIN blobs b ON b.n = r.blob WHERE r.stream = (SELECT n FROM ` +
		`streams WHERE id = ?) ORDER BY b.digest`

	sqlImportStream = `INSERT INTO streams (n, id, kind, org, user, client_id, assistant, created, updated,
			title, last, run, run_state, deadline)
			VALUES (` + nextStream + `, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlImportEvent = `INSERT INTO events (stream, seq, time, run, kind, body) VALUES (?, ?, ?, ?, ?, ?)`
)

// Walk implements store.Movable.
func (s *Store) Walk(ctx context.Context, after string, limit int) ([]store.Stream, error) {
	return s.heads(ctx, "walk", limit, nil, s.reads.walk, after, limit)
}

// Digests implements store.Movable.
func (s *Store) Digests(ctx context.Context, stream string) ([]footnote.Digest, error) {
	rows, err := s.read.QueryContext(ctx, sqlDigests, stream)
	scan := func(scan func(...any) error) (d footnote.Digest, err error) {
		err = scan(&d)
		return d, err
	}
	list, err := collect(ctx, s, "list the blobs of "+stream, rows, err, scan)
	if err == nil && len(list) == 0 {
		err = s.mustExist(ctx, stream)
	}
	return list, err
}

// Import implements store.Movable.
func (s *Store) Import(ctx context.Context, st store.Stream, events iter.Seq2[footnote.Event, error],
	blobs iter.Seq2[store.Blob, error]) error {
	if err := store.CheckStream(st); err != nil {
		return err
	}
	return s.do(ctx, "import "+st.ID, &request{
		exec: func(ctx context.Context, w *writer) error {
			res, err := w.conn.ExecContext(ctx, sqlImportStream, st.ID, st.Kind, st.Org, st.User, st.ClientID,
				st.Assistant, micro(st.Created), micro(st.Updated), st.Title, st.Last, st.Run, st.RunState,
				micro(st.Deadline))
			if unique(err) {
				return store.ErrTaken(st.ID)
			}
			if err != nil {
				return err
			}
			n, err := res.LastInsertId()
			if err == nil {
				err = w.importEvents(ctx, n, st, events)
			}
			if err == nil {
				err = w.importBlobs(ctx, n, blobs)
			}
			if err != nil {
				// Hide the kind of the error: rows were written, so the transaction must be rolled back.
				return fmt.Errorf("import %s: %v", st.ID, err) //nolint:errorlint // not a refusal
			}
			return nil
		},
		done: s.recent.forget,
	})
}

func (w *writer) importEvents(ctx context.Context, n int64, st store.Stream,
	events iter.Seq2[footnote.Event, error]) error {
	stmt, err := w.conn.PrepareContext(ctx, sqlImportEvent)
	if err != nil {
		return err
	}
	defer stmt.Close()
	return store.EachImported(st, events, func(ev footnote.Event, kind string, body []byte) error {
		if _, err := stmt.ExecContext(ctx, n, ev.Seq, micro(ev.Time), ev.Run, kind, string(body)); err != nil {
			return err
		}
		w.changes.Import(st, ev)
		return nil
	})
}

func (w *writer) importBlobs(ctx context.Context, n int64, blobs iter.Seq2[store.Blob, error]) error {
	for b, err := range blobs {
		if err != nil {
			return err
		}
		if _, err := w.stmts.insertBlob.ExecContext(ctx, b.Digest, notNil(b.Data)); err != nil {
			return err
		}
		if _, err := w.stmts.insertRef.ExecContext(ctx, n, b.Digest); err != nil {
			return err
		}
	}
	return nil
}

// DeleteAt implements store.Movable.
func (s *Store) DeleteAt(ctx context.Context, id string, last int64) error {
	return s.remove(ctx, id, &last)
}
