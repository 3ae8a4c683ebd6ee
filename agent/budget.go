package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/history"
)

// Budget enforces limits on money, tokens and requests. The engine reserves the most that a call can use before it
// makes the call. The events that record the usage settle the reservation.
type Budget interface {
	// Admit returns an error with the code BudgetExceeded or RateLimited when a user may not begin a run. conversation
	// is empty for a new one. The engine calls done when the run is over, or did not begin. Admit reserves nothing.
	Admit(ctx context.Context, p footnote.Principal, conversation string) (done func(), err error)
	// Reserve reserves what a call or a run may use. It may wait until others free what they
	// have reserved. The error's code is BudgetExceeded when too little is left.
	Reserve(ctx context.Context, p footnote.Principal, c Spending) (Reservation, error)
	// PerRun returns the limit for one question, in millionths of a US dollar; 0: the assistant's limit.
	PerRun(p footnote.Principal) int64
	// ToolPrice returns the price of one call of a tool, in millionths of a US dollar.
	ToolPrice(tool string) int64
	// Weight returns the factor by which tokens of a tier count.
	Weight(tier string) int64
}

// Spending describes a reservation: for one call, or for a run up to its last answer.
type Spending struct {
	ID           string // of the reservation; an existing one is enlarged
	Conversation string // empty: the call belongs to no conversation
	Run          string // empty: the call belongs to no run
	Tier         string
	// The amounts have tokens without the weight of the tier.
	Max    footnote.Amount
	Enough footnote.Amount // the smallest useful amount
	Lost   footnote.Amount // what counts as used if the process dies
	Wait   bool            // wait until others free their reservations
	Paid   bool            // the run has paid for a step, so it goes to the front of the queue
	TTL    time.Duration
}

// Reservation is an amount of money and tokens set aside. The events that record the usage settle it. It ends with a
// settlement that does not keep it, or with Drop.
type Reservation interface {
	// Amount returns the amount that may be used, which is at most Spending.Max.
	Amount() footnote.Amount
	// Reserved reports whether the store has a reservation that must be ended.
	Reserved() bool
	// Settle returns the settlement to append with the events of a call. With keep, the rest
	// stays reserved.
	Settle(u footnote.Usage, c footnote.Cost, keep bool) []footnote.Settle
	// Freed must be called when the settlement that ends the reservation is stored.
	Freed()
	// Drop ends the reservation of a call that has used nothing.
	Drop()
}

// Pricer is implemented by models that can estimate the usage of a call.
type Pricer interface {
	// MaxUse returns the most that a call can use.
	MaxUse(req model.Request) (tokens int64, cost footnote.Cost)
	// MinUse estimates a call with an answer of req.MaxTokens tokens, whose prompt grows by a number of bytes.
	MinUse(req model.Request, grown int) (tokens int64, cost footnote.Cost)
}

// unknownTokens is the estimate for a call of a model that does not implement Pricer.
const unknownTokens = 2_000

// maxUse returns the most that a call can use within req.MaxCost.
func (a *Assistant) maxUse(req *model.Request) footnote.Amount {
	p, ok := a.Model.(Pricer)
	if !ok {
		return footnote.Amount{MicroUSD: req.MaxCost, Tokens: unknownTokens}
	}
	tokens, cost := p.MaxUse(*req)
	return footnote.Amount{MicroUSD: min(cost.MicroUSD, req.MaxCost), Tokens: tokens}
}

// A run needs at least a step with a short answer, and then the closing call, which reads the
// results of the step and answers without tools.
const (
	leastAnswer   = 300   // tokens of a step, or of a side call
	closingAnswer = 600   // tokens
	closingGrowth = 3_000 // bytes
	shortResult   = 500   // characters of a tool's result, when the whole result costs too much
)

// minUse returns the least that a call needs, or zero if the model does not implement Pricer.
func (a *Assistant) minUse(req model.Request, answer, grown int) footnote.Amount {
	p, ok := a.Model.(Pricer)
	if !ok {
		return footnote.Amount{}
	}
	if req.MaxTokens == 0 || req.MaxTokens > answer {
		req.MaxTokens = answer
	}
	tokens, cost := p.MinUse(req, grown)
	return footnote.Amount{MicroUSD: cost.MicroUSD, Tokens: tokens}
}

// graceTTL is how long a reservation outlives its call, because the answer must still be stored.
const graceTTL = 30 * time.Second

// permit restricts a call to the models that its principal may use.
func (e *Engine) permit(req *model.Request) {
	p := req.Principal
	req.Permits = func(model string) bool { return e.opts.Access.Model(p, model) }
}

// reserve reserves the most that a side call can use, and limits the call to the granted amount.
func (e *Engine) reserve(ctx context.Context, a *Assistant, req *model.Request, c Spending) (Reservation, error) {
	e.permit(req)
	c.ID, c.Max, c.Enough = cmp.Or(c.ID, newReservation()), a.maxUse(req), a.minUse(*req, leastAnswer, 0)
	c.Lost = c.Enough
	h, err := e.opts.Budget.Reserve(ctx, req.Principal, c)
	if err != nil {
		return nil, err
	}
	got := h.Amount()
	if got.MicroUSD < c.Max.MicroUSD {
		req.MaxCost = max(1, got.MicroUSD)
	}
	if got.Tokens < c.Max.Tokens {
		shorten(req, leastAnswer+got.Tokens-c.Enough.Tokens)
	}
	return h, nil
}

// shorten lowers the output limit of a call.
func shorten(req *model.Request, tokens int64) {
	if tokens = max(1, tokens); req.MaxTokens == 0 || int64(req.MaxTokens) > tokens {
		req.MaxTokens = int(tokens)
	}
}

// budget holds the reservation of a run, which lasts from before its first call to its end, so that a run that has paid
// for a step can also pay for an answer.
type budget struct {
	reservation Reservation // nil: none yet
	unknown     bool        // the store may have a reservation that the field reservation does not know
	calling     bool        // the reservation includes a model call that has used nothing yet
	short       bool        // the reservation is smaller than the most that this call could use
	closing     bool        // this call must be the last one
	closingCost int64       // reserved for the closing call, in millionths of a US dollar

	mu         sync.Mutex // guards below and reservation while tools run concurrently; locked before run.mu
	promised   int64      // the prices of calls under way
	maybeSpent int64      // the prices of calls that broke and may have been made
}

// newReservation returns the id of a new reservation outside a run. All retries use one id, because an attempt whose
// response was lost may have made the reservation.
func newReservation() string { return "res_" + rand.Text() }

func reservationOf(run string) string { return "res_" + run }

// paid reports whether the run has paid for anything.
func (r *run) paid() bool { return r.s.steps > 0 || r.s.cost != footnote.Cost{} }

// spending describes the reservation of the run, without amounts.
func (r *run) spending() Spending {
	return Spending{
		ID: reservationOf(r.id), Conversation: r.stream, Run: r.id, Tier: r.s.opened.Tier, Wait: true, Paid: r.paid(),
		TTL: max(0, r.a.Limits.Run-r.spent) + graceTTL,
	}
}

// afford reserves what the next model call can use and what the closing call needs, and limits the call to its part. If
// the money is too little for both, the call becomes the closing call. If it is too little even for that, the call
// reads shortened results.
func (r *run) afford(req *model.Request) error {
	r.e.permit(req)
	r.budget.closing = false
	err := r.reserveStep(req)
	if footnote.CodeOf(err) == footnote.BudgetExceeded && r.paid() && r.ctx.Err() == nil {
		req.Messages, req.NoTools, r.budget.closing = r.shortHistory(), true, true
		err = r.reserveStep(req)
	}
	return err
}

// need holds what to reserve for one model call of the run.
type need struct {
	step      footnote.Amount // the least that the step needs
	closing   footnote.Amount // for the closing call after the step; zero if the step is the closing call
	asClosing footnote.Amount // the least that the step needs as the closing call
	max       footnote.Amount // the most that the step and the closing call can use
}

func (r *run) need(req *model.Request) need {
	closed := *req
	closed.NoTools = true
	n := need{
		step:      r.a.minUse(*req, leastAnswer, 0),
		asClosing: r.a.minUse(closed, leastAnswer, 0),
		max:       r.a.maxUse(req),
	}
	if req.NoTools {
		return n
	}
	if n.closing = r.a.minUse(closed, closingAnswer, closingGrowth); n.closing != (footnote.Amount{}) {
		// The output of this call is input of the closing call: input costs at most a third of output.
		n.max = footnote.Amount{
			MicroUSD: n.max.MicroUSD + (n.max.MicroUSD+2)/3, Tokens: 2 * n.max.Tokens,
		}.Add(n.closing)
	}
	return n
}

// reserveStep is one attempt of afford.
func (r *run) reserveStep(req *model.Request) error {
	if r.budget.reservation != nil && r.budget.reservation.Reserved() {
		if err := r.w.flush(); err != nil { // the store must know what the run has spent
			return err
		}
	}
	left := r.left()
	req.MaxCost = max(1, left)
	n := r.need(req)
	c := r.spending()
	c.Enough, c.Lost, c.Max = n.step.Add(n.closing), n.step, n.max
	if c.Paid {
		c.Enough = n.asClosing
	}
	if c.Enough.MicroUSD > left {
		return footnote.Errorf(footnote.BudgetExceeded,
			"The rest of the budget of this question does not cover an answer.")
	}
	c.Max.MicroUSD = min(c.Max.MicroUSD, max(1, left))
	h, err := r.reserve(c)
	if err != nil {
		r.budget.unknown = r.budget.unknown || footnote.CodeOf(err) != footnote.BudgetExceeded // it may have been made
		return limitReached{err}
	}
	got := h.Amount()
	scarce := got.Tokens < c.Max.Tokens
	r.budget.reservation, r.budget.calling, r.budget.short = h, true, scarce || got.MicroUSD < c.Max.MicroUSD
	if got.MicroUSD >= c.Max.MicroUSD {
		got.MicroUSD = max(1, left)
	}
	r.budget.divide(req, n, got, scarce)
	return nil
}

// divide limits a call to its part of the granted amount. If nothing is left for a closing call, the call becomes the
// closing call. Tokens are limited only when they are scarce.
func (p *budget) divide(req *model.Request, n need, got footnote.Amount, scarce bool) {
	both := n.step.Add(n.closing)
	if !req.NoTools && (got.MicroUSD < both.MicroUSD || scarce && got.Tokens < both.Tokens) {
		req.NoTools, p.closing = true, true
		n.step, n.closing = n.asClosing, footnote.Amount{}
	}
	p.closingCost = n.closing.MicroUSD
	spare := got.Sub(n.step).Sub(n.closing)
	if n.closing == (footnote.Amount{}) {
		req.MaxCost = got.MicroUSD
	} else {
		req.MaxCost = n.step.MicroUSD + spare.MicroUSD*3/4
		spare.Tokens /= 2
	}
	req.MaxCost = max(1, req.MaxCost)
	if scarce {
		shorten(req, leastAnswer+spare.Tokens)
	}
}

// shortHistory returns the history with shortened results of this run.
func (r *run) shortHistory() []model.Message {
	events := slices.Clone(r.events())
	for i, ev := range events {
		if t, ok := ev.Body.(footnote.ToolResult); ok && ev.Run == r.id {
			t.Content = beginning(t.Content, shortResult)
			events[i].Body = t
		}
	}
	messages, _ := history.Repaired(events)
	return messages
}

// used returns the settlement of a model call of the run.
func (p *budget) used(u footnote.Usage, c footnote.Cost) []footnote.Settle {
	p.calling = false
	return p.reservation.Settle(u, c, true)
}

// release ends the reservation of the run when none of its calls is under way any more. Tool calls that broke may have
// been made, so their price counts, and an event records it.
func (r *run) release() (bodies []footnote.Body, settle []footnote.Settle) {
	p := &r.budget
	cost := footnote.Cost{MicroUSD: p.maybeSpent}
	if p.maybeSpent > 0 {
		bodies = append(bodies, footnote.StepFailed{
			Step: r.s.steps + 1, Attempt: 1, Code: footnote.Internal, Cost: cost, Lost: true,
		})
	}
	if p.reservation != nil {
		settle = p.reservation.Settle(footnote.Usage{}, cost, false)
	}
	if p.unknown && (p.reservation == nil || !p.reservation.Reserved()) {
		p := r.turn.Principal
		settle = append(settle, footnote.Settle{ID: reservationOf(r.id), Org: p.Org, User: p.User, Stream: r.stream})
	}
	p.calling, p.maybeSpent = false, 0
	return bodies, settle
}

// maxOverdue limits the reservations settled by one call of settleOverdue.
const maxOverdue = 100

// settleOverdue settles expired reservations that belong to no run to recover: those of side calls and of deleted
// conversations.
func (e *Engine) settleOverdue(ctx context.Context) error {
	overdue, err := e.opts.Log.Overdue(ctx, maxOverdue)
	if err != nil {
		return err
	}
	for _, r := range overdue {
		if r.Lost == (footnote.Amount{}) { // such as the reservation of a run whose page has not answered
			if err := e.opts.Log.Expire(ctx, r.ID); err != nil {
				return err
			}
			continue
		}
		u, settle := estimatedUse(r, 1)
		b := footnote.Spent{
			Usage: u, Cost: footnote.Cost{MicroUSD: r.Lost.MicroUSD}, Lost: true, Conversation: r.Stream,
		}
		err := e.account(ctx, footnote.Principal{Org: r.Org, User: r.User}, b, []footnote.Settle{settle})
		// After a conflict, another engine was quicker, or the next call settles the reservation.
		if err != nil && footnote.CodeOf(err) != footnote.Conflict {
			return err
		}
	}
	return nil
}

type noBudget struct{}

func (noBudget) Admit(context.Context, footnote.Principal, string) (func(), error) {
	return func() {}, nil
}

func (noBudget) Reserve(_ context.Context, _ footnote.Principal, c Spending) (Reservation, error) {
	return noReservation(c.Max), nil
}

func (noBudget) PerRun(footnote.Principal) int64 { return 0 }

func (noBudget) ToolPrice(string) int64 { return 0 }

func (noBudget) Weight(string) int64 { return 1 }

type noReservation footnote.Amount

func (h noReservation) Amount() footnote.Amount { return footnote.Amount(h) }

func (noReservation) Reserved() bool { return false }

func (noReservation) Settle(footnote.Usage, footnote.Cost, bool) []footnote.Settle { return nil }

func (noReservation) Freed() {}

func (noReservation) Drop() {}

// limitReached wraps the error of a run whose user, and not whose question, has reached a limit.
type limitReached struct{ error }

func (d limitReached) Unwrap() error { return d.error }
