package child

import (
	"context"
	"sync"
)

// DefaultChildren is how many children a pool allows unless told otherwise.
const DefaultChildren = 8

// Pool bounds the children that live at once. When it is full, starting one more
// ends the child that has been idle longest; when all are busy, it waits.
type Pool struct {
	max int

	mu       sync.Mutex // guards below; taken before a process's own
	procs    map[*process]struct{}
	starting int
	changed  chan struct{} // closed and replaced when a child ends or becomes idle
}

// NewPool makes a pool of at most n children; 0 means DefaultChildren.
func NewPool(n int) *Pool {
	if n <= 0 {
		n = DefaultChildren
	}
	return &Pool{max: n, procs: make(map[*process]struct{}), changed: make(chan struct{})}
}

// Len is how many children live or are being started.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.procs) + p.starting
}

// take reserves the place of one child, until ctx ends. The caller gives it back
// with started.
func (p *Pool) take(ctx context.Context) error {
	for {
		p.mu.Lock()
		if len(p.procs)+p.starting < p.max {
			p.starting++
			p.mu.Unlock()
			return nil
		}
		wait := p.changed
		if victim := p.idlest(); victim != nil && victim.retireIdle() {
			wait = victim.gone // its place is free once it has ended
		}
		p.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// idlest is the idle child whose last query is longest ago; p.mu must be held.
func (p *Pool) idlest() *process {
	var oldest *process
	for proc := range p.procs {
		if proc.idleSince().IsZero() {
			continue
		}
		if oldest == nil || proc.idleSince().Before(oldest.idleSince()) {
			oldest = proc
		}
	}
	return oldest
}

// started turns the reserved place into proc's, or gives it back when proc is nil.
func (p *Pool) started(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	if proc != nil && !proc.left { // it may have ended since it was open
		p.procs[proc] = struct{}{}
		return
	}
	p.wake()
}

func (p *Pool) ended(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	proc.left = true
	delete(p.procs, proc)
	p.wake()
}

func (p *Pool) idle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
}

// wake lets those who wait look again; p.mu must be held.
func (p *Pool) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}
