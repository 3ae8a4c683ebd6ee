package agent

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/footnotehq/footnote"
)

// Budget keeps people within what they may use. Before a call is made, the most it
// can use is reserved; the events that say what it has used settle that.
type Budget interface {
	// Admit says whether a person may begin a run, in a conversation that has an id
	// already or is new. done is called when the run is over, or did not begin. The
	// error's code is BudgetExceeded or RateLimited. Nothing is reserved by it.
	Admit(ctx context.Context, p footnote.Principal, conversation string) (done func(), err error)
	// Reserve sets apart what a call may use. The error's code is BudgetExceeded when
	// nothing is left.
	Reserve(ctx context.Context, p footnote.Principal, c Spending) (Hold, error)
	// PerRun is the money for one question, in millionths of a US dollar; 0: that of
	// the assistant.
	PerRun(p footnote.Principal) int64
	// ToolPrice is what one call of a tool costs, in millionths of a US dollar.
	ToolPrice(tool string) int64
	// Weight is how often a token of a tier counts.
	Weight(tier string) int64
}

// Spending is a call that is about to be made.
type Spending struct {
	ID           string // of the reservation; unique
	Conversation string // empty: the call belongs to none
	Run          string // empty: it is a side job
	Tier         string
	MicroUSD     int64 // at most
	Tokens       int64 // at most, each counted once
	Whole        bool  // it cannot be made smaller
	TTL          time.Duration
}

// Hold is what was reserved for a call. Either its settlement is appended with the
// events that say what was used, or it is dropped.
type Hold interface {
	// MicroUSD is what the call may cost; no more than was asked for.
	MicroUSD() int64
	// Settle gives what is to be appended.
	Settle(u footnote.Usage, c footnote.Cost) []footnote.Settle
	// Drop gives back what was reserved for a call that has used nothing.
	Drop()
}

// Pricer is a Model that knows how much a call can use at most.
type Pricer interface {
	Most(req Request) (tokens int64, cost footnote.Cost)
}

// unknownTokens is what a call is taken to use of which nobody knows.
const unknownTokens = 2_000

// most is how much a call can use, within what it may cost.
func (a *Assistant) most(req *Request) (tokens, microUSD int64) {
	p, ok := a.Model.(Pricer)
	if !ok {
		return unknownTokens, req.MaxCost
	}
	tokens, cost := p.Most(*req)
	return tokens, min(cost.MicroUSD, req.MaxCost)
}

// graceTTL is how long a reservation outlives the last moment at which its call can
// be running: the clocks of servers differ, and what was said must be stored.
const graceTTL = 2 * time.Minute

// reserve sets apart what a model call can use, and keeps the call within it.
func (e *Engine) reserve(ctx context.Context, a *Assistant, req *Request, c Spending) (Hold, error) {
	c.ID = "res_" + rand.Text()
	if _, all := e.opts.Access.(everything); !all {
		p := req.Principal
		req.Permits = func(model string) bool { return e.opts.Access.Model(p, model) }
	}
	c.Tokens, c.MicroUSD = a.most(req)
	h, err := e.opts.Budget.Reserve(ctx, req.Principal, c)
	if err != nil {
		return nil, err
	}
	if got := h.MicroUSD(); got < c.MicroUSD {
		req.MaxCost = max(1, got)
	}
	return h, nil
}

// settledFirst reserves. When too little is left, it does so again once the calls that
// the run has made before are settled: their events may still wait to be written.
func (r *run) settledFirst(reserve func() (h Hold, short bool, err error)) (Hold, error) {
	h, short, err := reserve()
	if !short && footnote.CodeOf(err) != footnote.BudgetExceeded {
		return h, err
	}
	if h != nil {
		h.Drop()
	}
	if err := r.w.flush(); err != nil {
		return nil, err
	}
	h, _, err = reserve()
	return h, err
}

// lost are the events for the calls of a run that died with their process, and their
// settlement. Nobody knows what they have used: it is taken to be what was reserved.
func (e *Engine) lost(ctx context.Context, stream string, s *state) (bodies []footnote.Body, settle []footnote.Settle, err error) {
	reserved, err := e.opts.Log.Reserved(ctx, stream)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range reserved {
		if r.Run != s.run || s.run == "" {
			continue // a side job, of which somebody may be at work
		}
		u, spent := lostUse(r, e.opts.Budget.Weight(s.opened.Tier))
		bodies = append(bodies, footnote.StepFailed{
			Step: s.steps + 1, Attempt: 1, Code: footnote.ModelUnavailable, Usage: u, Cost: footnote.Cost{MicroUSD: r.Amount.MicroUSD}, Lost: true,
		})
		settle = append(settle, spent)
	}
	return bodies, settle, nil
}

// lostUse is what a call is taken to have used whose process died.
func lostUse(r footnote.Reservation, weight int64) (footnote.Usage, footnote.Settle) {
	tokens := r.Amount.Tokens / max(1, weight)
	amount := footnote.Amount{MicroUSD: r.Amount.MicroUSD, Tokens: tokens * max(1, weight)}
	return footnote.Usage{Output: tokens, Estimated: true},
		footnote.Settle{ID: r.ID, Org: r.Org, User: r.User, Stream: r.Stream, Spent: amount, Held: true}
}

// mostOverdue is how many reservations are settled in one look.
const mostOverdue = 100

// settleOverdue counts what was reserved for calls that nobody can be making any
// more and that no recovery of a run has settled: side jobs of a process that died,
// and calls of conversations that are gone.
func (e *Engine) settleOverdue(ctx context.Context) error {
	overdue, err := e.opts.Log.Overdue(ctx, mostOverdue)
	if err != nil {
		return err
	}
	for _, r := range overdue {
		u, settle := lostUse(r, 1)
		b := footnote.Spent{Usage: u, Cost: footnote.Cost{MicroUSD: r.Amount.MicroUSD}, Lost: true, Conversation: r.Stream}
		err := e.account(ctx, footnote.Principal{Org: r.Org, User: r.User}, b, []footnote.Settle{settle})
		if err != nil && footnote.CodeOf(err) != footnote.Conflict { // another engine was quicker, or the account has moved on: the next look
			return err
		}
	}
	return nil
}

type noBudget struct{}

func (noBudget) Admit(context.Context, footnote.Principal, string) (func(), error) {
	return func() {}, nil
}

func (noBudget) Reserve(_ context.Context, _ footnote.Principal, c Spending) (Hold, error) {
	return noHold(c.MicroUSD), nil
}
func (noBudget) PerRun(footnote.Principal) int64 { return 0 }
func (noBudget) ToolPrice(string) int64          { return 0 }
func (noBudget) Weight(string) int64             { return 1 }

type noHold int64

func (h noHold) MicroUSD() int64                                      { return int64(h) }
func (noHold) Settle(footnote.Usage, footnote.Cost) []footnote.Settle { return nil }
func (noHold) Drop()                                                  {}

// dayOver is why a run ends whose user has nothing left.
type dayOver struct{ error }

func (d dayOver) Unwrap() error { return d.error }
