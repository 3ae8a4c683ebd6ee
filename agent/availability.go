package agent

import (
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// availability measures for how long a shared log has been available. A run without a lease is taken over once the log
// has been available long enough for a live engine to renew the lease: its engine must then have died. Time during
// which the log was unavailable does not count, so that no engine loses its runs because of an outage. Time between two
// checks that a slow log answered does count, so that a slow log delays a recovery but cannot prevent it.
type availability struct {
	slow   time.Duration // the log may have been unavailable during a check that took longer
	enough time.Duration // a living engine renews its leases within this time

	mu        sync.Mutex               // guards below
	available time.Duration            // total
	gap       time.Duration            // the value of available when the log was last unavailable
	checked   time.Time                // when the newest check ended; zero: the log was unavailable
	since     map[string]time.Duration // by run without a lease: the value of available from which time counts
}

// newAvailability assumes that the log was available until now, so that after a restart runs are recovered at once.
func newAvailability(leaseTTL time.Duration) *availability {
	enough := 2 * leaseTTL
	return &availability{slow: leaseTTL / 3, enough: enough, gap: -enough}
}

// record records a check for unfinished runs.
func (a *availability) record(begun time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if err != nil {
		a.checked, a.gap = time.Time{}, a.available
		return
	}
	if !a.checked.IsZero() {
		a.available += min(begun.Sub(a.checked), maxRecoverPause)
	}
	if a.checked = now; now.Sub(begun) > a.slow {
		a.gap = a.available
	}
}

// ownerless returns the streams, among those found by the newest check, whose engine had time to renew its lease and
// did not.
func (a *availability) ownerless(found []footnote.Stream) (ownerless []footnote.Stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	since := map[string]time.Duration{}
	for _, head := range found {
		if head.RunState != "running" {
			ownerless = append(ownerless, head)
			continue
		}
		begin, known := a.since[head.Run]
		if !known {
			begin = max(a.gap, a.available-a.enough)
		}
		if since[head.Run] = begin; a.available-begin >= a.enough {
			ownerless = append(ownerless, head)
		}
	}
	a.since = since
	return ownerless
}
