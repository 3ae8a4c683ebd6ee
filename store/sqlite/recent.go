package sqlite

import (
	"slices"
	"sync"
	"time"

	"github.com/footnotehq/footnote/store"
)

// Limits of the recent events in memory. The limits are larger for the last seconds: readers of the tail wait a little
// to read several events at once, and reading events back from the file costs more than writing them did.
const (
	recentEvents = 2048
	recentBytes  = 2 << 20 // encoded
	freshEvents  = 16_384
	freshBytes   = 32 << 20
	freshTime    = 10 * time.Second
)

// recent holds the newest committed events of all streams, so that readers of the tail, which are seldom far behind,
// need not read and decode them. The writer adds to it. Its methods may be called from several goroutines.
type recent struct {
	mu     sync.Mutex // guards below
	begun  bool
	from   int64 // every event after this position that still exists is here
	events []recentEvent
	bytes  int
}

type recentEvent struct {
	store.Positioned
	size int
}

// add adds the events of a committed append.
func (r *recent) add(p *pending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, ev := range p.events {
		if !r.begun {
			r.begun, r.from = true, p.positions[i]-1
		}
		r.events = append(r.events, recentEvent{
			store.Positioned{Event: ev, Position: p.positions[i], Org: p.head.org, User: p.head.user}, len(p.data[i]),
		})
		r.bytes += len(p.data[i])
	}
	r.trim(p.now)
}

// trim removes the oldest events while there are too many, or they are too large or too old. r.mu must be held.
func (r *recent) trim(now time.Time) {
	n := 0
	for len(r.events)-n > freshEvents || r.bytes > freshBytes ||
		(len(r.events)-n > recentEvents || r.bytes > recentBytes) && now.Sub(r.events[n].Time) > freshTime {
		r.from = r.events[n].Position
		r.bytes -= r.events[n].size
		r.events[n] = recentEvent{} // free it: the array stays for a while
		n++
	}
	r.events = r.events[n:]
}

// forget removes everything, after events were written without add.
func (r *recent) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun, r.events, r.bytes = false, nil, 0
}

// drop removes the events of a deleted stream.
func (r *recent) drop(stream string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = slices.DeleteFunc(r.events, func(ev recentEvent) bool {
		gone := ev.Stream == stream
		if gone {
			r.bytes -= ev.size
		}
		return gone
	})
}

// after returns up to limit events after a position. ok is false if some of them are not in memory.
func (r *recent) after(now time.Time, position int64, limit int) (events []store.Positioned, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trim(now)
	if !r.begun || position < r.from {
		return nil, false
	}
	first, _ := slices.BinarySearchFunc(r.events, position+1, func(ev recentEvent, at int64) int {
		return int(ev.Position - at)
	})
	for _, ev := range r.events[first:min(len(r.events), first+limit)] {
		events = append(events, ev.Positioned)
	}
	return events, true
}
