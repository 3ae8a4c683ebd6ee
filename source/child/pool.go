package child

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// DefaultChildren is the default limit on the children of a pool.
const DefaultChildren = 8

const (
	// idleSize is the memory of an idle engine. Its limit comes on top.
	idleSize = 96 << 20
	// maxWaiting limits how many starts wait for memory or a place in a pool.
	maxWaiting = 100
	retryDelay = 10 * time.Second // when to retry
)

// Need returns the memory that a child with the given limit reserves from its Budget.
func Need(limit int64) int64 { return limit + idleSize }

// Budget is the memory shared by the children of several pools and by callers of Reserve. Each child reserves its
// maximum before it starts. When that does not fit, idle children are ended, provided that together they free
// enough memory; otherwise the start waits. Those waiting for memory, or for a place in the same pool, are served
// first come, first served.
type Budget struct {
	bytes int64 // 0: no limit

	mu      sync.Mutex // guards below, and the pools; locked before a process's own mu
	used    int64
	queue   []*waiter // waiting reservations, in order of arrival
	pools   []*Pool
	changed chan struct{} // closed and replaced when a child ends or becomes idle
}

// waiter is a reservation that did not fit.
type waiter struct {
	pool *Pool // nil: it needs no place
	need int64
}

// NewBudget returns a budget of the given number of bytes; 0 means no limit.
func NewBudget(bytes int64) *Budget { return &Budget{bytes: bytes, changed: make(chan struct{})} }

// Pool limits how many children run at once. When it is full, a start ends the child that has been idle longest,
// or waits when all are busy.
type Pool struct {
	max    int
	budget *Budget

	procs    map[*process]struct{} // guarded by the budget's mu, like starting
	starting int
}

// NewPool returns a pool of at most n children with no limit on their total memory; 0 means DefaultChildren.
func NewPool(n int) *Pool { return NewBudget(0).Pool(n) }

// Pool returns a pool of at most n children that share the budget; 0 means DefaultChildren.
func (b *Budget) Pool(n int) *Pool {
	n = cmp.Or(max(n, 0), DefaultChildren)
	p := &Pool{max: n, budget: b, procs: make(map[*process]struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pools = append(b.pools, p)
	return p
}

// Reserve reserves memory for something other than a child, and waits for it until ctx ends. The caller must call
// release once. The error's code is RateLimited when too many are already waiting, and InvalidRequest when the
// whole budget is smaller than the request.
func (b *Budget) Reserve(ctx context.Context, bytes int64) (release func(), err error) {
	if err := b.acquire(ctx, nil, bytes); err != nil {
		return nil, err
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.used -= bytes
		b.wake()
	}, nil
}

// Len returns the number of children that run or are starting.
func (p *Pool) Len() int {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	return len(p.procs) + p.starting
}

// acquire reserves memory and, unless p is nil, a place for one child in p. It waits until ctx ends. The caller returns
// both with started.
func (b *Budget) acquire(ctx context.Context, p *Pool, need int64) error {
	if b.bytes > 0 && need > b.bytes {
		return footnote.Invalidf(
			"This needs %s of memory, and all child processes together may have %s. Raise limits.child_memory.",
			bytesText(need), bytesText(b.bytes))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &waiter{pool: p, need: need}
	if b.fits(w) {
		return nil
	}
	if len(b.queue) >= maxWaiting {
		return crowded(fmt.Errorf("%d starts wait for memory", len(b.queue)))
	}
	b.queue = append(b.queue, w)
	defer func() { // wake the next waiter, whether w was served or gave up
		b.queue = slices.DeleteFunc(b.queue, func(o *waiter) bool { return o == w })
		b.wake()
	}()
	for !b.fits(w) {
		wait := b.changed
		if victim := b.victim(w); victim != nil && victim.retireIdle() {
			wait = victim.gone // its place and memory are free once it has ended
		}
		b.mu.Unlock()
		select {
		case <-wait:
			b.mu.Lock()
		case <-ctx.Done():
			b.mu.Lock()
			return context.Cause(ctx)
		}
	}
	return nil
}

// fits makes a reservation if there is room for it and no earlier waiter wants the same; b.mu must be held.
func (b *Budget) fits(w *waiter) bool {
	if w.pool.full() || b.bytes > 0 && b.used+w.need > b.bytes || !b.isNext(w) {
		return false
	}
	b.used += w.need
	if w.pool != nil {
		w.pool.starting++
	}
	return true
}

// isNext reports whether no earlier waiter than w needs memory or a place in the same pool. One that waits for a
// place in another pool does not count, as it could not use the memory yet; b.mu must be held.
func (b *Budget) isNext(w *waiter) bool {
	for _, o := range b.queue {
		if o == w {
			break
		}
		if o.pool != nil && o.pool == w.pool || b.bytes > 0 && !o.pool.full() {
			return false
		}
	}
	return true
}

func (p *Pool) full() bool { return p != nil && len(p.procs)+p.starting >= p.max }

// victim returns the child to end so that w fits: the one idle for longest, taken from w's pool if that is full and
// otherwise from all pools. It returns nil when it is not w's turn, or when ending all idle children would not free
// enough; b.mu must be held.
func (b *Budget) victim(w *waiter) *process {
	if !b.isNext(w) {
		return nil
	}
	var oldest *process
	var since time.Time
	free := b.bytes - b.used
	for _, p := range b.pools {
		for proc := range p.procs {
			t := proc.idleSince()
			if t.IsZero() {
				continue
			}
			free += Need(proc.opts.Limits.Memory)
			if (p == w.pool || !w.pool.full()) && (oldest == nil || t.Before(since)) {
				oldest, since = proc, t
			}
		}
	}
	if b.bytes > 0 && free < w.need {
		return nil
	}
	return oldest
}

// started turns a reserved place into proc's, or returns the place and its memory when proc is nil.
func (p *Pool) started(proc *process, need int64) {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.starting--
	if proc != nil && !proc.left { // it may have ended since it was opened
		p.procs[proc] = struct{}{}
		return
	}
	p.budget.used -= need
	p.budget.wake()
}

func (p *Pool) ended(proc *process) {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	proc.left = true
	if _, ok := p.procs[proc]; ok {
		delete(p.procs, proc)
		p.budget.used -= Need(proc.opts.Limits.Memory)
	}
	p.budget.wake()
}

func (p *Pool) idle() {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.budget.wake()
}

// wake makes all waiters check again; b.mu must be held.
func (b *Budget) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// crowded returns the error for waiting too long for memory or a place.
func crowded(err error) error {
	return &footnote.Error{
		Code: footnote.RateLimited, RetryAfter: retryDelay, Err: err,
		Message: "The server is busy with other files and databases, and has no memory left for one more. Try again " +
			"in a moment.",
	}
}
