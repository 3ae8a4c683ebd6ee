package store

import (
	"context"
	"iter"

	"github.com/footnotehq/footnote"
)

// Movable is a Store whose streams can be taken elsewhere and removed by rule: the
// stores on disk. Package storetest has its contract, too.
type Movable interface {
	Store
	// Walk returns the heads of all streams of all users with ids after the given one,
	// in the order of ids, at most limit of them.
	Walk(ctx context.Context, after string, limit int) ([]Stream, error)
	// Digests lists the blobs of a stream.
	Digests(ctx context.Context, stream string) ([]footnote.Digest, error)
	// Import makes a stream as it was elsewhere, with its times, events and blobs: all or
	// nothing, and nobody sees it before. An ID, or what Create says, that is taken is
	// a Conflict. Both sequences may be read twice. Nobody has its lease. An event that is
	// Missing is not stored, and stands for all missing events before it.
	Import(ctx context.Context, s Stream, events iter.Seq2[footnote.Event, error], blobs iter.Seq2[Blob, error]) error
	// DeleteAt is Delete for a stream whose last event still is that one; otherwise it
	// is a Conflict, and nothing is deleted.
	DeleteAt(ctx context.Context, id string, last int64) error
}

// Blob is a blob with its name.
type Blob struct {
	Digest footnote.Digest
	Data   []byte
}
