// Package lease is the table of leases of a store that one process owns: the
// in-memory store, and the ones on a disk that is locked for this process. Such
// leases need not be written down, because they end with the process.
package lease

import (
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// Table holds the leases of streams. The zero value is ready for use; its
// methods may be called from several goroutines.
type Table struct {
	mu     sync.Mutex // guards below
	leases map[string]held
	sweep  int // size at which the expired ones are thrown out
}

type held struct {
	token   int64
	owner   string
	expires time.Time
}

// sweepAt is the smallest table that is swept.
const sweepAt = 1024

// Allows reports whether an append is right about the stream's lease: it takes
// one that no other owner has, or holds the current, unexpired one, or holds none
// and nobody else does either.
func (t *Table) Allows(a footnote.Append, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.leases[a.Stream]
	current := ok && now.Before(l.expires)
	switch {
	case a.Take != nil:
		return !current || l.owner == a.Take.Owner
	case a.Lease != 0:
		return current && l.token == a.Lease
	default:
		return !current
	}
}

// Apply takes and gives back leases as an append says that Allows let through
// and that is written now. The caller lets no other append of the stream in
// between.
func (t *Table) Apply(a footnote.Append, now time.Time) {
	if a.Take == nil && !a.Release {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.Release {
		delete(t.leases, a.Stream)
		return
	}
	if t.leases == nil {
		t.leases = make(map[string]held)
	}
	t.expire(now)
	t.leases[a.Stream] = held{token: a.After + 1, owner: a.Take.Owner, expires: now.Add(a.Take.TTL)}
}

// expire throws out the leases that nobody gave back, each time the table has
// doubled. t.mu must be held.
func (t *Table) expire(now time.Time) {
	if len(t.leases) < max(t.sweep, sweepAt) {
		return
	}
	for id, l := range t.leases {
		if !now.Before(l.expires) {
			delete(t.leases, id)
		}
	}
	t.sweep = 2 * len(t.leases)
}

// Renew extends a lease, also one that has expired when nobody took it since.
// It reports false when token is not the current one.
func (t *Table) Renew(stream string, token int64, ttl time.Duration, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.leases[stream]
	if !ok || l.token != token {
		return false
	}
	l.expires = now.Add(ttl)
	t.leases[stream] = l
	return true
}

// Release gives a lease back when token is the current one.
func (t *Table) Release(stream string, token int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l, ok := t.leases[stream]; ok && l.token == token {
		delete(t.leases, stream)
	}
}

// Drop forgets the lease of a stream, whoever has it.
func (t *Table) Drop(stream string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.leases, stream)
}

// Held reports whether somebody has an unexpired lease of a stream.
func (t *Table) Held(stream string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.leases[stream]
	return ok && now.Before(l.expires)
}
