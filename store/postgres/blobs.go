package postgres

import (
	"context"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

const (
	sqlBlobSizes = `SELECT digest, octet_length(data)::bigint FROM footnote.blobs
		WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1)`
	sqlDropBlobs = `DELETE FROM footnote.blobs WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1)
		AND digest = ANY($2)`
	sqlHoldings = `SELECT s.id, sum(octet_length(b.data))::bigint, s.updated_at
		FROM footnote.streams s JOIN footnote.blobs b ON b.stream = s.n
		WHERE s.org_id = $1 AND s.kind = $2 GROUP BY s.n ORDER BY s.updated_at, s.id`
)

// Blobs implements store.Store.
func (s *Store) Blobs(ctx context.Context, stream string) (map[footnote.Digest]int64, error) {
	type blob struct {
		Digest footnote.Digest
		Size   int64
	}
	list, err := collect(ctx, s, "read the blobs of "+stream, scan[blob], sqlBlobSizes, stream)
	if err == nil && len(list) == 0 {
		err = s.mustExist(ctx, stream)
	}
	sizes := make(map[footnote.Digest]int64, len(list))
	for _, b := range list {
		sizes[b.Digest] = b.Size
	}
	return sizes, err
}

// DropBlobs implements store.Store. The bytes stay in the database's files until VACUUM frees their space and the
// database reuses it. DropBlobs reports a blob on a damaged page, which stays.
func (s *Store) DropBlobs(ctx context.Context, stream string, digests []footnote.Digest) error {
	r := store.Removal{Damaged: damaged}
	return r.Blobs(&s.damage, stream, digests, func(part []footnote.Digest) error {
		part = slices.DeleteFunc(slices.Clone(part), func(d footnote.Digest) bool { return !validText(d) })
		changed, err := s.exec(ctx, "drop blobs of "+stream, sqlDropBlobs, stream, part)
		if err == nil && changed == 0 {
			err = s.mustExist(ctx, stream)
		}
		return err
	})
}

// Holdings implements store.Store.
func (s *Store) Holdings(ctx context.Context, org, kind string) ([]footnote.Holding, error) {
	return collect(ctx, s, "add up the blobs of "+org, scan[footnote.Holding], sqlHoldings, org, kind)
}
