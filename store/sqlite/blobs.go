package sqlite

import (
	"context"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

const (
	sqlBlobSizes = `SELECT b.digest, length(b.data) FROM blob_refs r JOIN blobs b ON b.n = r.blob
		WHERE r.stream = (SELECT n FROM streams WHERE id = ?)`
	sqlHoldings = `SELECT s.id, sum(length(b.data)), s.updated FROM streams s JOIN blob_refs r ON r.stream = s.n
		JOIN blobs b ON b.n = r.blob
		WHERE s.org = ? AND s.kind = ? GROUP BY s.n ORDER BY s.updated, s.id`
	sqlDropRef  = `DELETE FROM blob_refs WHERE stream = ? AND blob = (SELECT n FROM blobs WHERE digest = ?)`
	sqlDropBlob = `DELETE FROM blobs WHERE digest = ? AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.blob = blobs.n)`
)

// Blobs implements store.Store.
func (s *Store) Blobs(ctx context.Context, stream string) (map[footnote.Digest]int64, error) {
	sizes := map[footnote.Digest]int64{}
	scan := func(scan func(...any) error) (n int64, err error) {
		var d footnote.Digest
		err = scan(&d, &n)
		sizes[d] = n
		return n, err
	}
	rows, err := s.read.QueryContext(ctx, sqlBlobSizes, stream)
	_, err = collect(ctx, s, "read the blobs of "+stream, rows, err, scan)
	if err == nil && len(sizes) == 0 {
		err = s.mustExist(ctx, stream)
	}
	return sizes, err
}

// DropBlobs implements store.Store. It overwrites the blobs in the file and returns the space. It reports a blob on a
// malformed page, which stays.
func (s *Store) DropBlobs(ctx context.Context, stream string, digests []footnote.Digest) error {
	r := store.Removal{Damaged: damaged}
	return r.Blobs(&s.damage, stream, digests, func(part []footnote.Digest) error { return s.drop(ctx, stream, part) })
}

func (s *Store) drop(ctx context.Context, stream string, digests []footnote.Digest) error {
	return s.do(ctx, "drop blobs of "+stream, &request{
		exec: func(ctx context.Context, w *writer) error {
			h, _, err := w.readHead(ctx, stream)
			if err != nil {
				return err
			}
			for _, d := range digests {
				if _, err := w.stmts.dropRef.ExecContext(ctx, h.n, d); err != nil {
					return err
				}
				if _, err := w.stmts.dropBlob.ExecContext(ctx, d); err != nil {
					return err
				}
			}
			return nil
		},
		done: func() { s.writer.deleted, s.writer.spare = true, true }, // runs in the writer's goroutine
	})
}

// Holdings implements store.Store.
func (s *Store) Holdings(ctx context.Context, org, kind string) ([]footnote.Holding, error) {
	rows, err := s.read.QueryContext(ctx, sqlHoldings, org, kind)
	scan := func(scan func(...any) error) (h footnote.Holding, err error) {
		var micros int64
		err = scan(&h.Stream, &h.Bytes, &micros)
		h.Updated = timeOf(micros)
		return h, err
	}
	return collect(ctx, s, "add up the blobs of "+org, rows, err, scan)
}
