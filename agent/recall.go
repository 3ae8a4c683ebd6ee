package agent

import (
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// Limits of the recall cache.
const (
	maxRecalled   = 256    // conversations
	recallEvents  = 2_000  // of one conversation
	recalledTotal = 50_000 // events of all
)

// recall caches the events of active conversations, so that the next message need not read them again. A log only
// grows, so cached events are always its first ones, and only later events must be read. Its methods may be called
// concurrently.
type recall struct {
	ttl time.Duration // 0: nothing is cached
	now func() time.Time

	mu    sync.Mutex // guards below
	m     map[string]recalled
	total int
}

type recalled struct {
	events []footnote.Event
	until  time.Time
}

// put caches events. The caller must not change them any more.
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
	for id := range c.m { // in any order, because all are fresh
		if len(c.m) < maxRecalled && c.total+n <= recalledTotal {
			break
		}
		c.drop(id)
	}
	put(&c.m, stream, recalled{events[:n:n], now.Add(c.ttl)})
	c.total += n
}

// drop removes a stream. c.mu must be held.
func (c *recall) drop(stream string) {
	c.total -= len(c.m[stream].events)
	delete(c.m, stream)
}

// get returns the cached first events of a log.
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
