package store

import "github.com/footnotehq/footnote"

// Removal deletes what it can around the damaged pages of a database. A statement that fails for
// damage is tried again with half of its rows, until single rows are left that cannot be deleted.
type Removal struct {
	Damaged func(error) bool // reports whether a statement failed for damage

	failures int
}

// maxFailures bounds the statements that may fail. A damaged page holds fewer rows; a damaged
// index could make each of them fail.
const maxFailures = 2_000

// Between deletes the rows with numbers from lo to hi. left says why some could not be deleted; it
// is nil when all were. del must undo what it did when it fails.
func (r *Removal) Between(lo, hi int64, del func(lo, hi int64) error) (left, err error) {
	err = del(lo, hi)
	if !r.Damaged(err) {
		return nil, err
	}
	r.failures++
	if lo == hi || r.failures >= maxFailures {
		return err, nil
	}
	middle := lo + (hi-lo)/2
	for _, half := range [][2]int64{{lo, middle}, {middle + 1, hi}} {
		why, err := r.Between(half[0], half[1], del)
		if err != nil {
			return nil, err
		}
		if why != nil {
			left = why
		}
	}
	return left, nil
}

// Blobs drops blobs, and reports to d those that it has to leave.
func (r *Removal) Blobs(d *Damage, stream string, digests []footnote.Digest, drop func([]footnote.Digest) error) error {
	err := drop(digests)
	if !r.Damaged(err) {
		return err
	}
	for _, digest := range digests {
		err := drop([]footnote.Digest{digest})
		if r.Damaged(err) {
			_ = d.LostBlob(stream, digest, err.Error()) // reported, which is all that can be done
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
