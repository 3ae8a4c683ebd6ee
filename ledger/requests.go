package ledger

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// Counter counts requests. Its methods may be called from several goroutines.
type Counter interface {
	// Take counts one request under a key, of which most may come in a minute. It
	// gives how many may follow at once, or, when this one is refused, how long to
	// wait for the next.
	Take(ctx context.Context, key string, most int64) (left int64, wait time.Duration, err error)
}

// Request counts a request of somebody. It refuses with RateLimited.
func (l *Ledger) Request(ctx context.Context, p footnote.Principal) error {
	a := l.opts.Allow(p)
	for _, limit := range []struct {
		name, key, words string
		most             int64
	}{
		{"requests_per_minute", "user\x00" + p.Org + "\x00" + p.User, "requests in a minute", a.Requests},
		{"org_requests_per_minute", "org\x00" + p.Org, "requests of your organisation in a minute", a.OrgRequests},
	} {
		if limit.most <= 0 {
			continue
		}
		_, wait, err := l.opts.Counter.Take(ctx, limit.key, limit.most)
		if err != nil {
			return err
		}
		if wait > 0 {
			return &footnote.Error{
				Code: footnote.RateLimited, RetryAfter: wait,
				Message: fmt.Sprintf("At most %d %s are answered.", limit.most, limit.words),
				Limit: &footnote.OverLimit{
					Name: limit.name, Unit: "requests", Limit: float64(limit.most), Resets: time.Now().Add(wait),
				},
			}
		}
	}
	return nil
}

// memory is a Counter of this process.
type memory struct {
	now   func() time.Time
	share int64 // of a limit: one part of so many

	mu   sync.Mutex // guards below
	next map[string]time.Time
	full int // size at which what is over is thrown out
}

// newMemory makes a counter.
func newMemory() *memory { return NewShare(1) }

// NewShare makes the counter of one of several servers, which each let through their
// part of a limit.
func NewShare(servers int) *memory {
	return &memory{now: time.Now, share: int64(max(1, servers)), next: map[string]time.Time{}}
}

// sweepAt is the smallest number of keys that is swept.
const sweepAt = 10_000

// Take implements Counter, by the cell rate algorithm: what may come in a minute may
// come at once, and then one after the other.
func (m *memory) Take(_ context.Context, key string, most int64) (left int64, wait time.Duration, err error) {
	most = max(1, int64(math.Ceil(float64(most)/float64(m.share))))
	each := time.Minute / time.Duration(most)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	at := m.next[key] // when a whole minute's requests may come again
	if at.Before(now) {
		at = now
	}
	if wait := at.Add(each).Sub(now.Add(time.Minute)); wait > 0 {
		return 0, wait, nil
	}
	m.next[key] = at.Add(each)
	m.sweep(now)
	return int64(now.Add(time.Minute).Sub(m.next[key]) / each), 0, nil
}

// sweep throws out the keys that nobody has used for a minute, each time there are
// twice as many. m.mu must be held.
func (m *memory) sweep(now time.Time) {
	if len(m.next) < max(m.full, sweepAt) {
		return
	}
	for key, at := range m.next {
		if at.Before(now) {
			delete(m.next, key)
		}
	}
	m.full = 2 * len(m.next)
}
