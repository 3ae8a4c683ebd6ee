package agent

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/history"
)

// Budget keeps people within what they may use. Before a call is made, the most it
// can use is reserved; the events that say what it has used settle that.
type Budget interface {
	// Admit says whether a person may begin a run, in a conversation that has an id
	// already or is new. done is called when the run is over, or did not begin. The
	// error's code is BudgetExceeded or RateLimited. Nothing is reserved by it.
	Admit(ctx context.Context, p footnote.Principal, conversation string) (done func(), err error)
	// Reserve sets apart what a call, or a run, may use. It may wait for what others have
	// reserved and do not use. The error's code is BudgetExceeded when too little is left.
	Reserve(ctx context.Context, p footnote.Principal, c Spending) (Hold, error)
	// PerRun is the money for one question, in millionths of a US dollar; 0: that of
	// the assistant.
	PerRun(p footnote.Principal) int64
	// ToolPrice is what one call of a tool costs, in millionths of a US dollar.
	ToolPrice(tool string) int64
	// Weight is how often a token of a tier counts.
	Weight(tier string) int64
}

// Spending is what is about to be used: by one call, or by a run up to its last answer.
type Spending struct {
	ID           string // of the reservation; one that exists grows, and is not made twice
	Conversation string // empty: the call belongs to none
	Run          string // empty: it is a side job
	Tier         string
	// Tokens are each counted once here.
	Most   footnote.Amount
	Enough footnote.Amount // less than that is of no use
	Lost   footnote.Amount // what counts as used if the process dies
	Wait   bool            // for what others have reserved
	Paid   bool            // the run has used something: it goes before others that wait
	TTL    time.Duration
}

// Hold is what was reserved. What was used is settled with the events that say so. The
// reservation ends with a settlement that does not keep it, or is dropped.
type Hold interface {
	// Amount is what may be used; no more than was asked for.
	Amount() footnote.Amount
	// Reserved reports whether there is a reservation, which has to end.
	Reserved() bool
	// Settle gives what is to be appended.
	Settle(u footnote.Usage, c footnote.Cost, keep bool) []footnote.Settle
	// Freed is called when the settlement that ends the reservation is stored.
	Freed()
	// Drop gives back what was reserved for a call that has used nothing.
	Drop()
}

// Pricer is a Model that knows how much a call can use.
type Pricer interface {
	// Most is all that a call can use.
	Most(req Request) (tokens int64, cost footnote.Cost)
	// Least is what must be left for a call to be made at all, with a prompt grown by so
	// many bytes and an answer of req.MaxTokens.
	Least(req Request, grown int) (tokens int64, cost footnote.Cost)
}

// unknownTokens is what a call is taken to use of which nobody knows.
const unknownTokens = 2_000

// most is how much a call can use, within what it may cost.
func (a *Assistant) most(req *Request) footnote.Amount {
	p, ok := a.Model.(Pricer)
	if !ok {
		return footnote.Amount{MicroUSD: req.MaxCost, Tokens: unknownTokens}
	}
	tokens, cost := p.Most(*req)
	return footnote.Amount{MicroUSD: min(cost.MicroUSD, req.MaxCost), Tokens: tokens}
}

// What a run needs at least: a step with a short answer, and after it the closing call,
// which reads what the step and its tools have brought, and answers without tools.
const (
	leastAnswer   = 300   // tokens of a step, or of a call that stands alone
	closingAnswer = 600   // tokens
	closingGrowth = 3_000 // bytes
	frugalResult  = 500   // characters of a tool's result, when there is no money for all of it
)

// least is what a call needs to be made at all; zero where nobody knows.
func (a *Assistant) least(req Request, answer, grown int) footnote.Amount {
	p, ok := a.Model.(Pricer)
	if !ok {
		return footnote.Amount{}
	}
	if req.MaxTokens == 0 || req.MaxTokens > answer {
		req.MaxTokens = answer
	}
	tokens, cost := p.Least(req, grown)
	return footnote.Amount{MicroUSD: cost.MicroUSD, Tokens: tokens}
}

// graceTTL is how long a reservation outlives the last moment at which its call can
// be running: what was said must be stored.
const graceTTL = 30 * time.Second

// permit lets a call go only to models that its principal may use.
func (e *Engine) permit(req *Request) {
	if _, all := e.opts.Access.(everything); !all {
		p := req.Principal
		req.Permits = func(model string) bool { return e.opts.Access.Model(p, model) }
	}
}

// reserve sets apart what a call that stands alone can use, and keeps it within that.
func (e *Engine) reserve(ctx context.Context, a *Assistant, req *Request, c Spending) (Hold, error) {
	e.permit(req)
	c.ID, c.Most, c.Enough = "res_"+rand.Text(), a.most(req), a.least(*req, leastAnswer, 0)
	c.Lost = c.Enough
	h, err := e.opts.Budget.Reserve(ctx, req.Principal, c)
	if err != nil {
		return nil, err
	}
	got := h.Amount()
	if got.MicroUSD < c.Most.MicroUSD {
		req.MaxCost = max(1, got.MicroUSD)
	}
	if got.Tokens < c.Most.Tokens {
		req.shorten(leastAnswer + got.Tokens - c.Enough.Tokens)
	}
	return h, nil
}

// shorten lowers the output limit.
func (req *Request) shorten(tokens int64) {
	if tokens = max(1, tokens); req.MaxTokens == 0 || int64(req.MaxTokens) > tokens {
		req.MaxTokens = int(tokens)
	}
}

// purse is what a run has reserved. It lasts from before the first call of the run to its
// end, so that a run whose first step was paid has the money for an answer.
type purse struct {
	hold    Hold  // nil: nothing yet
	adopted bool  // there may be a reservation that hold does not know of
	calling bool  // it is reserved for a model call that has used nothing yet
	short   bool  // less was left than that call could use
	closing bool  // that call has to be the last one
	back    int64 // kept for the closing call, in millionths of a US dollar

	mu       sync.Mutex // guards below and hold while tools run side by side; locked before that of the run
	promised int64      // to tools that are being called
	unsure   int64      // the price of calls that broke: they may have been made
}

func reservationOf(run string) string { return "res_" + run }

// paid reports whether the run has used anything.
func (r *run) paid() bool { return r.s.steps > 0 || r.s.cost != footnote.Cost{} }

// spending is the reservation of the run, as its next call wants it.
func (r *run) spending() Spending {
	return Spending{
		ID: reservationOf(r.id), Conversation: r.stream, Run: r.id, Tier: r.s.opened.Tier, Wait: true, Paid: r.paid(),
		TTL: max(0, r.a.Limits.Run-r.spent) + graceTTL,
	}
}

// afford sets apart what the next model call can use, beside what the closing call needs,
// and keeps the call within it. When there is no money for both, the call is the closing
// one; when there is not even enough for that, it reads less.
func (r *run) afford(req *Request) error {
	r.e.permit(req)
	if r.purse.hold != nil && r.purse.hold.Reserved() {
		if err := r.w.flush(); err != nil { // the store has to know what the run has spent
			return err
		}
	}
	err := r.reserveStep(req)
	if footnote.CodeOf(err) == footnote.BudgetExceeded && r.paid() && r.ctx.Err() == nil {
		req.Messages, req.NoTools, r.purse.closing = r.frugal(), true, true
		err = r.reserveStep(req)
	}
	return err
}

// reserveStep is afford for one attempt.
func (r *run) reserveStep(req *Request) error {
	left := r.left()
	req.MaxCost = max(1, left)
	closed := *req
	closed.NoTools = true
	var back footnote.Amount // for the closing call
	if !req.NoTools {
		back = r.a.least(closed, closingAnswer, closingGrowth)
	}
	step, most := r.a.least(*req, leastAnswer, 0), r.a.most(req)
	c := r.spending()
	c.Enough, c.Lost, c.Most = step.Add(back), step, most
	if c.Paid {
		c.Enough = r.a.least(closed, leastAnswer, 0)
	}
	if back != (footnote.Amount{}) {
		// The closing call reads again what this one says: input costs a third of output at most.
		c.Most = footnote.Amount{MicroUSD: most.MicroUSD + (most.MicroUSD+2)/3, Tokens: 2 * most.Tokens}.Add(back)
	}
	if c.Enough.MicroUSD > left {
		return footnote.Errorf(footnote.BudgetExceeded, "What is left of the money for this question does not pay for an answer.")
	}
	c.Most.MicroUSD = min(c.Most.MicroUSD, max(1, left))
	h, err := r.e.opts.Budget.Reserve(r.ctx, r.turn.Principal, c)
	if err != nil {
		r.purse.adopted = r.purse.adopted || footnote.CodeOf(err) != footnote.BudgetExceeded // it may have been made
		return dayOver{err}
	}
	p, got := &r.purse, h.Amount()
	p.hold, p.calling, p.short = h, true, got.MicroUSD < c.Most.MicroUSD || got.Tokens < c.Most.Tokens
	if got.MicroUSD >= c.Most.MicroUSD {
		got.MicroUSD = max(1, left)
	}
	scarce := got.Tokens < c.Most.Tokens
	if need := step.Add(back); !req.NoTools && (got.MicroUSD < need.MicroUSD || scarce && got.Tokens < need.Tokens) {
		req.NoTools, p.closing = true, true
		step, back = r.a.least(closed, leastAnswer, 0), footnote.Amount{}
	}
	p.back = back.MicroUSD
	spare := got.Sub(step).Sub(back)
	if back == (footnote.Amount{}) {
		req.MaxCost = got.MicroUSD
	} else {
		req.MaxCost = step.MicroUSD + spare.MicroUSD*3/4
		spare.Tokens /= 2
	}
	req.MaxCost = max(1, req.MaxCost)
	if scarce {
		req.shorten(leastAnswer + spare.Tokens)
	}
	return nil
}

// frugal is the history with the beginnings of what the tools of this run have brought.
func (r *run) frugal() []Message {
	events := slices.Clone(r.events())
	for i, ev := range events {
		if t, ok := ev.Body.(footnote.ToolResult); ok && ev.Run == r.id {
			t.Content = beginning(t.Content, frugalResult)
			events[i].Body = t
		}
	}
	messages, _ := history.Repaired(events)
	return messages
}

// used settles what a model call of the run has used.
func (p *purse) used(u footnote.Usage, c footnote.Cost) []footnote.Settle {
	p.calling = false
	return p.hold.Settle(u, c, true)
}

// release ends the reservation of the run, of which no call is under way any more. Calls of
// tools that broke may have been made: their price counts, with an event that says so.
func (r *run) release() (bodies []footnote.Body, settle []footnote.Settle) {
	p := &r.purse
	cost := footnote.Cost{MicroUSD: p.unsure}
	if p.unsure > 0 {
		bodies = append(bodies, footnote.StepFailed{
			Step: r.s.steps + 1, Attempt: 1, Code: footnote.Internal, Cost: cost, Lost: true,
		})
	}
	if p.hold != nil {
		settle = p.hold.Settle(footnote.Usage{}, cost, false)
	}
	if p.adopted && (p.hold == nil || !p.hold.Reserved()) {
		p := r.turn.Principal
		settle = append(settle, footnote.Settle{ID: reservationOf(r.id), Org: p.Org, User: p.User, Stream: r.stream})
	}
	p.calling, p.unsure = false, 0
	return bodies, settle
}

// lost are the events for the calls of a run that died with their process, and their
// settlement. Nobody knows what they have used: that is estimated. The reservation of a
// run that goes on is kept for it.
func (e *Engine) lost(ctx context.Context, stream string, s *state, goesOn bool) (
	bodies []footnote.Body, settle []footnote.Settle, err error,
) {
	reserved, err := e.opts.Log.Reserved(ctx, stream)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range reserved {
		if r.Run != s.run || s.run == "" {
			continue // a side job, of which somebody may be at work
		}
		u, spent := lostUse(r, e.opts.Budget.Weight(s.opened.Tier))
		spent.Keep = goesOn && r.ID == reservationOf(s.run)
		if settle = append(settle, spent); r.Lost != (footnote.Amount{}) {
			bodies = append(bodies, footnote.StepFailed{
				Step: s.steps + 1, Attempt: 1, Code: footnote.ModelUnavailable, Usage: u, Cost: footnote.Cost{MicroUSD: r.Lost.MicroUSD}, Lost: true,
			})
		}
	}
	return bodies, settle, nil
}

// lostUse is what a call is taken to have used whose process died.
func lostUse(r footnote.Reservation, weight int64) (footnote.Usage, footnote.Settle) {
	tokens := r.Lost.Tokens / max(1, weight)
	amount := footnote.Amount{MicroUSD: r.Lost.MicroUSD, Tokens: tokens * max(1, weight)}
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
		b := footnote.Spent{Usage: u, Cost: footnote.Cost{MicroUSD: r.Lost.MicroUSD}, Lost: true, Conversation: r.Stream}
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
	return noHold(c.Most), nil
}
func (noBudget) PerRun(footnote.Principal) int64 { return 0 }
func (noBudget) ToolPrice(string) int64          { return 0 }
func (noBudget) Weight(string) int64             { return 1 }

type noHold footnote.Amount

func (h noHold) Amount() footnote.Amount                                    { return footnote.Amount(h) }
func (noHold) Reserved() bool                                               { return false }
func (noHold) Settle(footnote.Usage, footnote.Cost, bool) []footnote.Settle { return nil }
func (noHold) Freed()                                                       {}
func (noHold) Drop()                                                        {}

// dayOver is why a run ends whose user has nothing left.
type dayOver struct{ error }

func (d dayOver) Unwrap() error { return d.error }
