package agent

import (
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// Bounds of what is kept of conversations that were active a moment ago.
const (
	maxRecalled   = 256
	recallEvents  = 2_000  // of one conversation
	recalledTotal = 50_000 // events of all
)

// recall keeps the events of active conversations, so that the next message need not
// read them again. A log only grows: what is kept is always a true
// beginning, and what came after it is read. Its methods may be called from several
// goroutines.
type recall struct {
	ttl time.Duration // 0: nothing is kept
	now func() time.Time

	mu    sync.Mutex // guards below
	m     map[string]recalled
	total int
}

type recalled struct {
	events []footnote.Event
	until  time.Time
}

// put keeps events as they were read, which must not be changed any more.
func (c *recall) put(stream string, events []footnote.Event) {
	n := len(events)
	if c.ttl <= 0 || n == 0 || n > recallEvents {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(stream)
	now := c.now()
	for id, r := range c.m {
		if !r.until.After(now) {
			c.drop(id)
		}
	}
	for id := range c.m { // any: they are all fresh
		if len(c.m) < maxRecalled && c.total+n <= recalledTotal {
			break
		}
		c.drop(id)
	}
	put(&c.m, stream, recalled{events[:n:n], now.Add(c.ttl)})
	c.total += n
}

// drop forgets a stream. c.mu must be held.
func (c *recall) drop(stream string) {
	c.total -= len(c.m[stream].events)
	delete(c.m, stream)
}

// get is the beginning of a log, as far as it is kept.
func (c *recall) get(stream string) []footnote.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.m[stream]
	if ok && !r.until.After(c.now()) {
		c.drop(stream)
		return nil
	}
	return r.events
}
