package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote/store"
)

const (
	keyColumns  = `id, hash, org_id, user_id, grants, created_at, expires_at, revoked_at`
	sqlKey      = `SELECT ` + keyColumns + ` FROM footnote.keys WHERE id = $1`
	sqlListKeys = `SELECT ` + keyColumns +
		` FROM footnote.keys WHERE id > $1 AND ($2 = '' OR org_id = $2) ORDER BY id LIMIT $3`
	// Succeeds if an earlier attempt has added the same key.
	sqlAddKey = `INSERT INTO footnote.keys AS k (id, hash, org_id, user_id, grants, expires_at) VALUES ($1, $2, $3,
		$4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET id = k.id WHERE k.hash = $2`
	sqlRevokeKey = `UPDATE footnote.keys SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE id = $1`
	// There are few keys, because people create them by hand.
	sqlWithdrawn = `SELECT ` + headColumns + ` FROM footnote.streams
		WHERE run_state <> '' AND run_state = 'parked' AND (org_id, user_id) IN (SELECT org_id, user_id
			FROM footnote.keys WHERE revoked_at IS NOT NULL OR expires_at <= $1)
		ORDER BY updated_at, id LIMIT $2`
)

func scanKey(row pgx.CollectableRow) (k store.Key, err error) {
	var hash []byte
	var grants string
	var expires, revoked *time.Time
	if err := row.Scan(&k.ID, &hash, &k.Org, &k.User, &grants, &k.Created, &expires, &revoked); err != nil {
		return k, err
	}
	copy(k.Hash[:], hash)
	k.Created = k.Created.UTC()
	if expires != nil {
		k.Expires = expires.UTC()
	}
	if revoked != nil {
		k.Revoked = revoked.UTC()
	}
	err = store.DecodeGrants(grants, &k.Principal)
	return k, err
}

// Key implements store.Keys.
func (s *Store) Key(ctx context.Context, id string) (store.Key, error) {
	keys, err := collect(ctx, s, "get the key "+id, scanKey, sqlKey, id)
	if err == nil && len(keys) == 0 {
		err = store.ErrNoKey(id)
	}
	if err != nil {
		return store.Key{}, err
	}
	return keys[0], nil
}

// ListKeys implements store.Keys.
func (s *Store) ListKeys(ctx context.Context, org, after string, limit int) ([]store.Key, error) {
	if err := store.CheckKeys(org, after, limit); err != nil {
		return nil, err
	}
	return collect(ctx, s, "list keys", scanKey, sqlListKeys, after, org, limit)
}

// AddKey implements store.Keys.
func (s *Store) AddKey(ctx context.Context, k store.Key) error {
	if err := store.CheckKey(k); err != nil {
		return err
	}
	grants, err := store.EncodeGrants(k.Principal)
	if err != nil {
		return err
	}
	n, err := s.exec(ctx, "add a key", sqlAddKey, k.ID, k.Hash[:], k.Org, k.User, grants, timeOrNull(k.Expires))
	if err == nil && n == 0 {
		return store.ErrTaken(k.ID)
	}
	return err
}

// RevokeKey implements store.Keys.
func (s *Store) RevokeKey(ctx context.Context, id string) error {
	n, err := s.exec(ctx, "revoke the key "+id, sqlRevokeKey, id)
	if err == nil && n == 0 {
		return store.ErrNoKey(id)
	}
	return err
}

// Withdrawn implements store.Keys.
func (s *Store) Withdrawn(ctx context.Context, now time.Time, limit int) ([]store.Stream, error) {
	return s.heads(ctx, "list parked runs of revoked keys", sqlWithdrawn, now, max(limit, 0))
}
