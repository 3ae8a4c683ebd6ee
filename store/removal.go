package store

import "github.com/footnotehq/footnote"

// Removal deletes rows around the damaged pages of a database. When a statement fails on damage, Removal retries it on
// each half of the rows, down to single rows.
type Removal struct {
	Damaged func(error) bool // reports whether an error was caused by damage

	failures int
}

// maxFailures limits the failing statements. A damaged page holds fewer rows, but a damaged index could make every
// statement fail.
const maxFailures = 2_000

// Between calls del to delete the rows numbered lo to hi. If some rows cannot be deleted for damage, left is the cause.
// When del fails, it must leave all rows in place.
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

// Blobs drops blobs, and reports to d those that it cannot drop for damage.
func (r *Removal) Blobs(d *Damage, stream string, digests []footnote.Digest, drop func([]footnote.Digest) error) error {
	err := drop(digests)
	if !r.Damaged(err) {
		return err
	}
	for _, digest := range digests {
		err := drop([]footnote.Digest{digest})
		if r.Damaged(err) {
			_ = d.LostBlob(stream, digest, err.Error()) // only reported: the others can still be dropped
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
