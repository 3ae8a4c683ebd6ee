// Package lease keeps the leases of a store that belongs to one process. Such leases need not be stored, because they
// end with the process.
package lease

import (
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// Table holds the leases of streams. The zero value is ready for use; its methods may be called from several
// goroutines.
type Table struct {
	mu     sync.Mutex // guards below
	leases map[string]held
	sweep  int // size at which expired leases are removed
}

type held struct {
	token   int64
	owner   string
	expires time.Time
}

// sweepAt is the minimum size at which expired leases are removed.
const sweepAt = 1024

// Allows reports whether the lease of its stream allows an append; see the function Allows.
func (t *Table) Allows(a footnote.Append, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.leases[a.Stream]
	return Allows(a, ok && now.Before(l.expires), l.token, l.owner)
}

// Allows reports whether the lease of a stream allows an append. held means that an unexpired lease exists. An append
// may take a free lease or one of the same owner, write under the current token, or write without a token to a stream
// that has no lease.
func Allows(a footnote.Append, held bool, token int64, owner string) bool {
	switch {
	case a.Take != nil:
		return !held || owner == a.Take.Owner
	case a.Lease != 0:
		return held && token == a.Lease
	default:
		return !held
	}
}

// Apply takes or returns the lease for an append that Allows accepted and that has been written. The caller must not
// let another append of the stream in between.
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

// expire removes expired leases each time the table has doubled. t.mu must be held.
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

// Renew extends the lease if token is the current one, even if it has expired since. It reports whether it did.
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

// Release returns a lease if token is the current one.
func (t *Table) Release(stream string, token int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l, ok := t.leases[stream]; ok && l.token == token {
		delete(t.leases, stream)
	}
}

// Drop removes the lease of a stream, no matter who holds it.
func (t *Table) Drop(stream string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.leases, stream)
}

// Held reports whether a stream has an unexpired lease.
func (t *Table) Held(stream string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.leases[stream]
	return ok && now.Before(l.expires)
}
