package postgres

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

const (
	sqlRenew = `UPDATE footnote.streams SET lease_expires = clock_timestamp() + $3 * interval '1 microsecond'
		WHERE id = $1 AND lease_token = $2 AND $2 <> 0`
	sqlRelease = `UPDATE footnote.streams SET lease_token = 0, lease_owner = '', lease_expires = NULL
		WHERE id = $1 AND lease_token = $2 AND $2 <> 0`
	sqlSetCursor = `INSERT INTO footnote.cursors (name, position) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET ` +
		`position = excluded.position`
)

// Renew implements store.Store. It does not wait for the disk: if a crash of the database loses the renewal, the lease
// ends early and the next append fails.
func (s *Store) Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error {
	if err := store.CheckTTL(ttl); err != nil {
		return err
	}
	changed, err := s.changeLease(ctx, "renew the lease of "+stream, stream, sqlRenew, stream, token,
		ttl.Microseconds())
	if err == nil && !changed {
		return store.ErrHeld(stream)
	}
	return err
}

// Release implements store.Store. It does not wait for the disk.
func (s *Store) Release(ctx context.Context, stream string, token int64) error {
	_, err := s.changeLease(ctx, "release "+stream, stream, sqlRelease, stream, token)
	return err
}

func (s *Store) changeLease(ctx context.Context, doing, stream, sql string, args ...any) (changed bool, err error) {
	if err := s.usable(ctx); err != nil || !validText(stream) {
		return false, err
	}
	err = s.do(ctx, doing, func(ctx context.Context, c *pgxpool.Conn) error {
		b := &pgx.Batch{} // an implicit transaction
		b.Queue("SELECT set_config('synchronous_commit', 'off', true)")
		b.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
			changed = tag.RowsAffected() > 0
			return nil
		})
		return c.SendBatch(ctx, b).Close()
	})
	return changed, err
}

// SetCursor implements store.Store.
func (s *Store) SetCursor(ctx context.Context, name string, position int64) error {
	if err := store.CheckCursor(name, position); err != nil {
		return err
	}
	_, err := s.exec(ctx, "set cursor "+name, sqlSetCursor, name, position)
	return err
}

// deleteTime limits a Delete on the server: a long conversation has many rows.
const deleteTime = 2 * time.Minute

// Delete implements store.Store. The deleted bytes stay in the database's files until VACUUM frees their space and the
// database reuses it.
func (s *Store) Delete(ctx context.Context, id string) error { return s.delete(ctx, id, nil) }

// delete deletes a stream; if at is set, only if that is its last event.
func (s *Store) delete(ctx context.Context, id string, at *int64) error {
	if !validText(id) {
		return store.ErrNoStream(id)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, deleteTime, errSlow)
	defer cancel()
	err := s.deleteWith(ctx, id, at, removeAll)
	if damaged(err) {
		return s.deleteWith(ctx, id, at, s.removeByRow)
	}
	return err
}

// deleteWith deletes a stream, and calls remove for its rows in the other tables.
func (s *Store) deleteWith(ctx context.Context, id string, at *int64, remove removal) error {
	again := false // after a first attempt, whose commit may have succeeded
	err := s.do(ctx, "delete "+id, func(_ context.Context, c *pgxpool.Conn) error {
		err := pgx.BeginTxFunc(ctx, c, readCommitted, func(tx pgx.Tx) error {
			return deleteIn(ctx, tx, id, at, remove)
		})
		if errors.Is(err, pgx.ErrNoRows) && again {
			return nil
		}
		again = true
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrNoStream(id)
	}
	return err
}

// A removal deletes the rows of a stream in the tables of blobs and events.
type removal func(ctx context.Context, tx pgx.Tx, stream streamRow) error

// streamRow names a stream by its id and by its number in the other tables.
type streamRow struct {
	id      string
	n, last int64
}

func deleteIn(ctx context.Context, tx pgx.Tx, id string, at *int64, remove removal) error {
	timeout := strconv.FormatInt(deleteTime.Milliseconds(), 10)
	if _, err := tx.Exec(ctx, "SELECT set_config('statement_timeout', $1, true)", timeout); err != nil {
		return err
	}
	stream := streamRow{id: id}
	var org, user string
	err := tx.QueryRow(ctx, "SELECT n, last, org_id, user_id FROM footnote.streams WHERE id = $1 FOR UPDATE", id).
		Scan(&stream.n, &stream.last, &org, &user)
	if err != nil {
		return err
	}
	if at != nil && stream.last != *at {
		return store.ErrMoved(id, *at, stream.last)
	}
	if _, err := tx.Exec(ctx, sqlMoveSpending, org, user, id, footnote.DayDeleted); err != nil {
		return err
	}
	if err := remove(ctx, tx, stream); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "DELETE FROM footnote.streams WHERE n = $1", stream.n)
	return err
}

func removeAll(ctx context.Context, tx pgx.Tx, stream streamRow) error {
	if _, err := tx.Exec(ctx, "DELETE FROM footnote.blobs WHERE stream = $1", stream.n); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "DELETE FROM footnote.events WHERE stream = $1", stream.n)
	return err
}
