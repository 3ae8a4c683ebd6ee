package agent

import (
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// availability measures for how long a shared log has been available. An engine takes over a
// run without a lease when the run's own engine must have died: it had long enough to renew
// the lease while the log was available. Time in which the log was away does not count, so
// an outage makes nobody lose a run. Time between two looks that a slow log answered does,
// so a slow log delays a recovery but cannot prevent it.
type availability struct {
	slow   time.Duration // the log may have been away during a look that took longer
	enough time.Duration // in which an engine that lives renews a lease

	mu        sync.Mutex               // guards below
	available time.Duration            // in all
	gap       time.Duration            // what that was when the log was last away
	checked   time.Time                // when the newest look ended; zero: the log was away
	since     map[string]time.Duration // by run without a lease: the part of available that counts begins there
}

// newAvailability presumes that the log was available until now: when the engines have been
// restarted, nobody waits for those that are gone.
func newAvailability(leaseTTL time.Duration) *availability {
	enough := 2 * leaseTTL
	return &availability{slow: leaseTTL / 3, enough: enough, gap: -enough}
}

// record records a look for unfinished runs.
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

// ownerless returns those of the streams found by the newest look whose engine had the time to renew its lease,
// and did not.
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
