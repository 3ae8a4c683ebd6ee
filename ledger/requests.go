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
	// Take counts one request under a key that allows up to perMinute requests per minute. It returns how many more are
	// allowed now, or, if it refuses this one, how long to wait before the next.
	Take(ctx context.Context, key string, perMinute int64) (left int64, wait time.Duration, err error)
}

// Request counts a request of a user. It returns RateLimited if there were too many.
func (l *Ledger) Request(ctx context.Context, p footnote.Principal) error {
	a := l.opts.Allow(p)
	for _, limit := range []struct {
		name, key, words string
		max              int64
	}{
		{"requests_per_minute", "user\x00" + p.Org + "\x00" + p.User, "requests in a minute", a.Requests},
		{"org_requests_per_minute", "org\x00" + p.Org, "requests of your organisation in a minute", a.OrgRequests},
	} {
		if limit.max <= 0 {
			continue
		}
		_, wait, err := l.opts.Counter.Take(ctx, limit.key, limit.max)
		if err != nil {
			return err
		}
		if wait > 0 {
			return &footnote.Error{
				Code: footnote.RateLimited, RetryAfter: wait,
				Message: fmt.Sprintf("At most %d %s are allowed.", limit.max, limit.words),
				Limit: &footnote.OverLimit{
					Name: limit.name, Unit: "requests", Limit: float64(limit.max), Resets: time.Now().Add(wait),
				},
			}
		}
	}
	return nil
}

// memory is a Counter in memory.
type memory struct {
	now   func() time.Time
	share int64 // the number of servers that divide a limit

	mu   sync.Mutex // guards below
	next map[string]time.Time
	full int // size at which expired keys are removed
}

// NewShare returns the counter of one of several servers, each of which allows its part of a limit.
func NewShare(servers int) *memory {
	return &memory{now: time.Now, share: int64(max(1, servers)), next: map[string]time.Time{}}
}

// sweepAt is the minimum number of keys at which expired ones are removed.
const sweepAt = 10_000

// Take implements Counter with the generic cell rate algorithm: a minute's requests may come at once, and then at an
// even rate.
func (m *memory) Take(_ context.Context, key string, perMinute int64) (left int64, wait time.Duration, err error) {
	perMinute = max(1, int64(math.Ceil(float64(perMinute)/float64(m.share))))
	each := time.Minute / time.Duration(perMinute)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	at := m.next[key] // the time at which a full minute's requests are allowed again
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

// sweep removes the keys that were not used for a minute, each time their number has doubled. m.mu must be held.
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
