package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/footnotehq/footnote/store"
)

const (
	keyColumns  = `id, hash, org, user, grants, created, expires, revoked`
	sqlKey      = `SELECT ` + keyColumns + ` FROM keys WHERE id = ?`
	sqlListKeys = `SELECT ` + keyColumns + ` FROM keys WHERE id > ?1 AND (?2 = '' OR org = ?2) ORDER BY id LIMIT ?3`
	sqlAddKey   = `INSERT INTO keys (` + keyColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)
		ON CONFLICT (id) DO UPDATE SET id = id WHERE hash = ?2`
	sqlRevokeKey = `UPDATE keys SET revoked = CASE revoked WHEN 0 THEN ? ELSE revoked END WHERE id = ?`
	sqlWithdrawn = `SELECT ` + headColumns + ` FROM streams INDEXED BY streams_unfinished
		WHERE run_state <> '' AND run_state = 'parked' AND (org, user) IN (SELECT org, user FROM keys
			WHERE revoked > 0 OR expires BETWEEN 1 AND ?)
		ORDER BY updated, id`
)

func scanKey(scan func(...any) error) (k store.Key, err error) {
	var hash []byte
	var grants string
	var created, expires, revoked int64
	if err := scan(&k.ID, &hash, &k.Org, &k.User, &grants, &created, &expires, &revoked); err != nil {
		return k, err
	}
	copy(k.Hash[:], hash)
	k.Created, k.Expires, k.Revoked = timeOf(created), timeOf(expires), timeOf(revoked)
	err = store.DecodeGrants(grants, &k.Principal)
	return k, err
}

// Key implements store.Keys.
func (s *Store) Key(ctx context.Context, id string) (store.Key, error) {
	k, err := scanKey(s.reads.key.QueryRowContext(ctx, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Key{}, store.ErrNoKey(id)
	}
	return k, s.failed(ctx, "get the key "+id, err)
}

// ListKeys implements store.Keys.
func (s *Store) ListKeys(ctx context.Context, org, after string, limit int) ([]store.Key, error) {
	if err := store.CheckKeys(org, after, limit); err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, sqlListKeys, after, org, limit)
	return collect(ctx, s, "list keys", rows, err, scanKey)
}

// AddKey implements store.Keys. It also works on a store that was opened by OpenReader, because operators add keys
// while a server uses the file.
func (s *Store) AddKey(ctx context.Context, k store.Key) error {
	if err := store.CheckKey(k); err != nil {
		return err
	}
	grants, err := store.EncodeGrants(k.Principal)
	if err != nil {
		return err
	}
	n, err := s.changeKeys(ctx, sqlAddKey, k.ID, k.Hash[:], k.Org, k.User, grants, micro(s.now()), micro(k.Expires))
	if err == nil && n == 0 {
		return store.ErrTaken(k.ID)
	}
	return translate(ctx, "add a key", err)
}

// RevokeKey implements store.Keys. It also works on a store that was opened by OpenReader.
func (s *Store) RevokeKey(ctx context.Context, id string) error {
	n, err := s.changeKeys(ctx, sqlRevokeKey, micro(s.now()), id)
	if err == nil && n == 0 {
		return store.ErrNoKey(id)
	}
	return translate(ctx, "revoke the key "+id, err)
}

// changeKeys runs one statement over a temporary connection. SQLite's locks order it with the writes of this process or
// of the one that owns the file. Keys change too seldom to keep a connection.
func (s *Store) changeKeys(ctx context.Context, statement string, args ...any) (int64, error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	db, err := sql.Open("sqlite", dsn(s.path, writePragmas)+"&mode=rw") // never a new file
	if err != nil {
		return 0, err
	}
	defer db.Close()
	res, err := db.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// changeTime is how long a change of the keys may take.
const changeTime = 30 * time.Second

// Withdrawn implements store.Keys.
func (s *Store) Withdrawn(ctx context.Context, now time.Time, limit int) ([]store.Stream, error) {
	return s.heads(ctx, "list parked runs of revoked keys", limit, nil, s.reads.withdrawn, now.UnixMicro())
}
