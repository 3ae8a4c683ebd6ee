package postgres

import (
	"context"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

var _ store.Movable = (*Store)(nil)

const (
	sqlWalk    = `SELECT ` + headColumns + ` FROM footnote.streams WHERE id > $1 ORDER BY id LIMIT $2`
	sqlDigests = `SELECT digest FROM footnote.blobs WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) ` +
		`ORDER BY digest`

	sqlImportStream = `INSERT INTO footnote.streams (id, kind, org_id, user_id, client_id, assistant, title,
		last, run, run_state, deadline,
			created_at, updated_at, write_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT DO NOTHING RETURNING n`
	sqlLead = `SELECT CASE WHEN NOT current_setting('transaction_read_only')::bool THEN ` +
		`pg_try_advisory_lock($1) END`
	sqlImportBlob = `INSERT INTO footnote.blobs (stream, digest, data) VALUES ($1, $2, $3)`
)

// Limits of an import: its total time, and the events and bytes sent at once.
const (
	importTime  = 10 * time.Minute
	importPage  = 500
	importBytes = 4 << 20
)

// Walk implements store.Movable.
func (s *Store) Walk(ctx context.Context, after string, limit int) ([]store.Stream, error) {
	return s.heads(ctx, "walk", sqlWalk, after, max(limit, 0))
}

// Digests implements store.Movable.
func (s *Store) Digests(ctx context.Context, stream string) ([]footnote.Digest, error) {
	list, err := collect(ctx, s, "list the blobs of "+stream, pgx.RowTo[string], sqlDigests, stream)
	if err == nil && len(list) == 0 {
		err = s.mustExist(ctx, stream)
	}
	return list, err
}

// Import implements store.Movable. It holds the lock on positions from the first event to the commit, so that events
// become visible in order. It writes the blobs, which are large, before that.
func (s *Store) Import(ctx context.Context, st store.Stream, events iter.Seq2[footnote.Event, error],
	blobs iter.Seq2[store.Blob, error]) error {
	if err := store.CheckStream(st); err != nil {
		return err
	}
	if err := s.usable(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, importTime, errSlow)
	defer cancel()
	err := s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, c, readCommitted, func(tx pgx.Tx) error {
			var n int64
			err := tx.QueryRow(ctx, sqlImportStream, st.ID, st.Kind, st.Org, st.User, st.ClientID, st.Assistant,
				st.Title, st.Last, st.Run, st.RunState,
				timeOrNull(st.Deadline), st.Created, st.Updated, rand.Int64()).Scan(&n)
			if err == pgx.ErrNoRows { //nolint:errorlint // as pgx gives it
				return store.ErrTaken(st.ID)
			}
			if err != nil {
				return err
			}
			for b, err := range blobs {
				if err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, sqlImportBlob, n, b.Digest, notNil(b.Data)); err != nil {
					return err
				}
			}
			return importEvents(ctx, tx, n, st, events)
		})
	})
	return translate(ctx, "import "+st.ID, err)
}

func importEvents(ctx context.Context, tx pgx.Tx, n int64, st store.Stream,
	events iter.Seq2[footnote.Event, error]) error {
	if err := importUse(ctx, tx, st, events); err != nil { // accounts are locked before positions, as everywhere
		return err
	}
	var page []newEvent
	size := 0
	send := func() error {
		if len(page) == 0 {
			return nil
		}
		_, err := tx.Exec(ctx, sqlEvents, insertEvents(page)...)
		page, size = nil, 0
		return err
	}
	err := store.EachImported(st, events, func(ev footnote.Event, kind string, body []byte) error {
		page = append(page, newEvent{Stream: n, Seq: ev.Seq, Time: ev.Time, Run: ev.Run, Kind: kind,
			Body: store.CleanText(string(body))})
		if size += len(body); len(page) >= importPage || size >= importBytes {
			return send()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return send()
}

// importUse adds the usage that the events of a stream record to the balances.
func importUse(ctx context.Context, tx pgx.Tx, st store.Stream, events iter.Seq2[footnote.Event, error]) error {
	used := store.Changes{}
	for ev, err := range events {
		if err != nil {
			return err
		}
		used.Import(st, ev)
	}
	if len(used) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, sqlChange, columns(used.Tallies())...)
	return err
}

// DeleteAt implements store.Movable.
func (s *Store) DeleteAt(ctx context.Context, id string, last int64) error {
	return s.delete(ctx, id, &last)
}

// Lead makes this process the only server that does a task, until it calls release or loses the connection. ok is false
// if another server leads; Lead does not wait for it. No server leads while the store is read-only: other servers would
// not see a lock on a standby, and the task could not record its work.
func (s *Store) Lead(ctx context.Context, task string) (release func(), ok bool, err error) {
	if err := s.usable(ctx); err != nil {
		return nil, false, err
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte("footnote/" + task)) // never fails
	key := int64(h.Sum64())
	limited, cancel := context.WithTimeoutCause(ctx, callTime, errSlow)
	defer cancel()
	c, err := s.pool.Acquire(limited)
	if err != nil {
		return nil, false, translate(ctx, "lead "+task, err)
	}
	var locked *bool // NULL when the store is read-only
	err = c.QueryRow(limited, sqlLead, key).Scan(&locked)
	if err == nil && locked == nil {
		err = pgconn.ErrReadOnlyConnection
	}
	if err != nil || !*locked {
		c.Release()
		return nil, false, translate(ctx, "lead "+task, err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		defer cancel()
		if _, err := c.Exec(ctx, "SELECT pg_advisory_unlock($1)", key); err != nil {
			_ = c.Conn().Close(ctx) // the lock ends with it
		}
		c.Release()
	}, true, nil
}
