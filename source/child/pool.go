package child

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// DefaultChildren is how many children a pool allows unless told otherwise.
const DefaultChildren = 8

const (
	// idleSize is what an engine holds with nothing to do. Its limit comes on top.
	idleSize = 96 << 20
	// maxWaiting is how many starts wait for memory or a place in a pool.
	maxWaiting = 100
	crowdRetry = 10 * time.Second // when to try again
)

// Need is the memory that a child with a limit reserves of its Budget.
func Need(limit int64) int64 { return limit + idleSize }

// Budget is memory that the children of several pools share, and whatever else
// reserves some of it. Each child reserves what it may use before it starts. Where it
// does not fit, children that nobody uses end if their memory is enough together;
// otherwise it waits. Who waits for memory, or for a place in the same pool, is served
// in the order of asking.
type Budget struct {
	bytes int64 // 0: no limit

	mu      sync.Mutex // guards below, and the pools; taken before a process's own
	used    int64
	line    []*waiter // those who wait, in the order in which they came
	pools   []*Pool
	changed chan struct{} // closed and replaced when a child ends or becomes idle
}

// waiter is a reservation that did not fit.
type waiter struct {
	pool *Pool // nil: it needs no place
	need int64
}

// NewBudget makes a budget of some bytes; 0 is no limit.
func NewBudget(bytes int64) *Budget {
	return &Budget{bytes: bytes, changed: make(chan struct{})}
}

// Pool bounds the children that live at once. When it is full, starting one more
// ends the child that has been idle longest; when all are busy, it waits.
type Pool struct {
	max    int
	budget *Budget

	procs    map[*process]struct{} // guarded by the budget's mu, as is starting
	starting int
}

// NewPool makes a pool of at most n children, whose memory has no common limit; 0
// means DefaultChildren.
func NewPool(n int) *Pool { return NewBudget(0).Pool(n) }

// Pool makes a pool of at most n children, which share the budget; 0 means
// DefaultChildren.
func (b *Budget) Pool(n int) *Pool {
	if n <= 0 {
		n = DefaultChildren
	}
	p := &Pool{max: n, budget: b, procs: make(map[*process]struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pools = append(b.pools, p)
	return p
}

// Reserve takes memory for something that is no child, until ctx ends. The caller
// gives it back with release, once. The error's code is RateLimited when too many
// wait already, and InvalidRequest when the budget is smaller than that.
func (b *Budget) Reserve(ctx context.Context, bytes int64) (release func(), err error) {
	if err := b.take(ctx, nil, bytes); err != nil {
		return nil, err
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.used -= bytes
		b.wake()
	}, nil
}

// Len is how many children live or are being started.
func (p *Pool) Len() int {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	return len(p.procs) + p.starting
}

// take reserves memory, and the place of one child in a pool unless that is nil, until
// ctx ends. The caller gives both back with started.
func (b *Budget) take(ctx context.Context, p *Pool, need int64) error {
	if b.bytes > 0 && need > b.bytes {
		return footnote.Errorf(footnote.InvalidRequest, "This needs %s of memory, and all child processes together may have %s. Raise limits.child_memory.",
			bytesText(need), bytesText(b.bytes))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &waiter{pool: p, need: need}
	if b.fits(w) {
		return nil
	}
	if len(b.line) >= maxWaiting {
		return Crowded(fmt.Errorf("%d starts wait for memory", len(b.line)))
	}
	b.line = append(b.line, w)
	defer func() { // whether it was served or left, others may be next
		b.line = slices.DeleteFunc(b.line, func(o *waiter) bool { return o == w })
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

// fits makes a reservation if there is room for it and nobody before it waits for the
// same; b.mu must be held.
func (b *Budget) fits(w *waiter) bool {
	if w.pool.full() || b.bytes > 0 && b.used+w.need > b.bytes || !b.next(w) {
		return false
	}
	b.used += w.need
	if w.pool != nil {
		w.pool.starting++
	}
	return true
}

// next reports whether nobody who came before w waits for memory, or for a place in
// the same pool. Whoever waits for a place in another pool could not use the memory
// yet; b.mu must be held.
func (b *Budget) next(w *waiter) bool {
	for _, o := range b.line {
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

// victim is the child that should end for w: the idle one whose last query is longest
// ago, of w's pool where that is full, otherwise of all. It is nil where it is not w's
// turn, or all idle children together would not make room; b.mu must be held.
func (b *Budget) victim(w *waiter) *process {
	if !b.next(w) {
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

// started turns a reserved place into proc's, or gives place and memory back when proc
// is nil.
func (p *Pool) started(proc *process, need int64) {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.starting--
	if proc != nil && !proc.left { // it may have ended since it was open
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

// wake lets those who wait look again; b.mu must be held.
func (b *Budget) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Crowded is the error of what waited too long for memory or a place.
func Crowded(err error) error {
	return &footnote.Error{
		Code: footnote.RateLimited, RetryAfter: crowdRetry, Err: err,
		Message: "The server is busy with other files and databases, and has no memory left for one more. Try again in a moment.",
	}
}
