package store

import (
	"context"
	"iter"

	"github.com/footnotehq/footnote"
)

// Movable is a Store whose streams can be exported, imported and deleted by retention rules.
type Movable interface {
	Store
	// Walk returns up to limit heads of the streams of all users with ids after the given one, in the order of ids.
	Walk(ctx context.Context, after string, limit int) ([]Stream, error)
	// Digests lists the blobs of a stream.
	Digests(ctx context.Context, stream string) ([]footnote.Digest, error)
	// Import creates a stream with the given times, events and blobs in one transaction. It returns a Conflict in the
	// same cases as Create. It may read both sequences twice. The new stream has no lease. Import does not store a
	// Missing event, which stands for all missing events before it.
	Import(ctx context.Context, s Stream, events iter.Seq2[footnote.Event, error], blobs iter.Seq2[Blob, error]) error
	// DeleteAt deletes a stream if its last event is last. Otherwise it returns a Conflict and deletes nothing.
	DeleteAt(ctx context.Context, id string, last int64) error
}

// Walk yields the heads that walk, such as Movable.Walk, returns in pages.
func Walk(ctx context.Context, walk func(ctx context.Context, after string, limit int) ([]Stream, error)) iter.Seq2[
	Stream, error] {
	const page = 500
	return func(yield func(Stream, error) bool) {
		for after := ""; ; {
			heads, err := walk(ctx, after, page)
			if err != nil {
				yield(Stream{}, err)
				return
			}
			for _, head := range heads {
				if after = head.ID; !yield(head, nil) {
					return
				}
			}
			if len(heads) < page {
				return
			}
		}
	}
}

// Blob is a blob with its digest.
type Blob struct {
	Digest footnote.Digest
	Data   []byte
}
