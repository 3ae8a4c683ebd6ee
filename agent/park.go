package agent

import (
	"context"
	"errors"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// park returns the open calls that the run itself must handle, in order. If there are none, and others wait for a
// client or a person, it parks the run. It checks the calls and closes the run under one lock, so that an answer
// reaches either this run or the parked one. With kept, the parked run keeps its reservation.
func (r *run) park(kept bool) (mine []plan, parked bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cause := context.Cause(r.ctx); cause != nil && !errors.Is(cause, ErrShutdown) {
		return nil, false, cause // a run that was stopped must not park
	}
	var waiting []string
	for _, c := range r.s.open() {
		if p := r.plan(c); p.wait {
			waiting = append(waiting, c.ID)
		} else {
			mine = append(mine, p)
		}
	}
	if len(mine) > 0 || len(waiting) == 0 {
		return mine, false, nil
	}
	body := footnote.RunParked{Calls: waiting, Deadline: r.e.opts.Now().Add(r.a.Limits.Park)}
	r.closed = true
	var bodies []footnote.Body
	var settle []footnote.Settle
	if !kept {
		bodies, settle = r.release()
	}
	bodies = append(bodies, body)
	r.apply(r.w.end(settle, bodies...), bodies)
	return nil, true, nil
}

// waiting returns the open calls that a client or a person must act on: all except those that a person has decided.
func (s *state) waiting() []openCall {
	var calls []openCall
	for _, c := range s.open() {
		if _, decided := s.approvals[c.ID]; !decided {
			calls = append(calls, c)
		}
	}
	return calls
}

// keepForPage keeps the reservation of a run that is about to park, if it waits only for calls that a page answers by
// itself. The run has paid for a step and needs the rest for its answer. It does not keep the reservation while it
// waits for a person, who may take long.
func (r *run) keepForPage() (kept bool, err error) {
	p := &r.budget
	if p.reservation == nil || !p.reservation.Reserved() || p.maybeSpent > 0 || !r.awaitsPage() {
		return false, nil
	}
	if err := r.w.flush(); err != nil { // the store must know what the run has spent
		return false, err
	}
	c := r.spending()
	c.Max = footnote.Amount{MicroUSD: 1, Tokens: 1} // extend the reservation only; Reserve never shrinks it
	c.Enough, c.Wait, c.TTL = c.Max, false, pageTTL
	h, err := r.reserve(c)
	if footnote.CodeOf(err) == footnote.BudgetExceeded {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p.reservation = h
	return true, nil
}

// pageTTL is how long a run keeps its reservation while a page runs its calls.
const pageTTL = 2 * time.Minute

// awaitsPage reports whether the run waits only for calls that a page answers by itself.
func (r *run) awaitsPage() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := r.s.open()
	for _, c := range open {
		p := r.plan(c)
		if !p.wait || p.approval || p.spec.Family == tool.Question {
			return false
		}
	}
	return len(open) > 0
}
