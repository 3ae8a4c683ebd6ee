package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

const (
	sqlBlobSizes = `SELECT digest, octet_length(data)::bigint FROM footnote.blobs
		WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1)`
	sqlDropBlobs = `DELETE FROM footnote.blobs WHERE stream = $1 AND digest = ANY($2)`
	sqlNumber    = `SELECT n FROM footnote.streams WHERE id = $1`
	sqlHoldings  = `SELECT s.id, sum(octet_length(b.data))::bigint, s.updated_at
		FROM footnote.streams s JOIN footnote.blobs b ON b.stream = s.n
		WHERE s.org_id = $1 AND s.kind = $2 GROUP BY s.n ORDER BY s.updated_at, s.id`
)

// Blobs implements store.Store.
func (s *Store) Blobs(ctx context.Context, stream string) (sizes map[footnote.Digest]int64, err error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if !validText(stream) {
		return nil, store.ErrNoStream(stream)
	}
	exists := true
	err = s.do(ctx, "read the blobs of "+stream, func(ctx context.Context, c *pgxpool.Conn) error {
		sizes = map[footnote.Digest]int64{}
		rows, err := c.Query(ctx, sqlBlobSizes, stream)
		if err != nil {
			return err
		}
		var d footnote.Digest
		var n int64
		if _, err := pgx.ForEachRow(rows, []any{&d, &n}, func() error {
			sizes[d] = n
			return nil
		}); err != nil || len(sizes) > 0 {
			return err
		}
		return c.QueryRow(ctx, sqlExists, stream).Scan(&exists)
	})
	if err == nil && !exists {
		err = store.ErrNoStream(stream)
	}
	return sizes, err
}

// DropBlobs implements store.Store. The bytes stay in the database's files until VACUUM frees their space and the
// database reuses it. DropBlobs reports a blob on a damaged page, which stays.
func (s *Store) DropBlobs(ctx context.Context, stream string, digests []footnote.Digest) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if !validText(stream) || !validText(digests...) {
		return store.ErrNoStream(stream)
	}
	r := store.Removal{Damaged: damaged}
	return r.Blobs(&s.damage, stream, digests, func(part []footnote.Digest) error { return s.drop(ctx, stream, part) })
}

func (s *Store) drop(ctx context.Context, stream string, digests []footnote.Digest) error {
	err := s.do(ctx, "drop blobs of "+stream, func(ctx context.Context, c *pgxpool.Conn) error {
		var n int64
		if err := c.QueryRow(ctx, sqlNumber, stream).Scan(&n); err != nil {
			return err
		}
		_, err := c.Exec(ctx, sqlDropBlobs, n, digests)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrNoStream(stream)
	}
	return err
}

// Holdings implements store.Store.
func (s *Store) Holdings(ctx context.Context, org, kind string) (list []footnote.Holding, err error) {
	if err := s.usable(ctx); err != nil || !validText(org, kind) {
		return nil, err
	}
	list, err = collect(ctx, s, "add up the blobs of "+org, pgx.RowToStructByPos[footnote.Holding], sqlHoldings, org,
		kind)
	for i := range list {
		list[i].Updated = list[i].Updated.UTC()
	}
	return list, err
}
