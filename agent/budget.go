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

// Budget keeps people within their limits. Before a call is made, the most it can use is
// reserved; the events that record what it has used settle the reservation.
type Budget interface {
	// Admit returns an error when a person may not begin a run, with the code
	// BudgetExceeded or RateLimited. conversation is empty for a new one. done is called
	// when the run is over, or did not begin. Admit reserves nothing.
	Admit(ctx context.Context, p footnote.Principal, conversation string) (done func(), err error)
	// Reserve reserves what a call or a run may use. It may wait until others free what they
	// have reserved. The error's code is BudgetExceeded when too little is left.
	Reserve(ctx context.Context, p footnote.Principal, c Spending) (Reservation, error)
	// PerRun is the limit for one question, in millionths of a US dollar; 0: the
	// assistant's limit.
	PerRun(p footnote.Principal) int64
	// ToolPrice is what one call of a tool costs, in millionths of a US dollar.
	ToolPrice(tool string) int64
	// Weight is the factor by which tokens of a tier count.
	Weight(tier string) int64
}

// Spending describes a reservation: for one call, or for a run up to its last answer.
type Spending struct {
	ID           string // of the reservation; if it exists, it is enlarged
	Conversation string // empty: the call belongs to none
	Run          string // empty: the call belongs to none
	Tier         string
	// Tokens are not weighted here.
	Max    footnote.Amount
	Enough footnote.Amount // the least that is of use
	Lost   footnote.Amount // what counts as used if the process dies
	Wait   bool            // until others free what they have reserved
	Paid   bool            // the run has paid for a step: it goes to the front of a line
	TTL    time.Duration
}

// Reservation is a reservation. It is settled together with the events that record what was used. It
// ends with a settlement that does not keep it, or when it is dropped.
type Reservation interface {
	// Amount is what may be used. It is at most what was asked for.
	Amount() footnote.Amount
	// Reserved reports whether the store has a reservation, which has to end.
	Reserved() bool
	// Settle returns the settlement to append with the events of a call. With keep, the rest
	// stays reserved.
	Settle(u footnote.Usage, c footnote.Cost, keep bool) []footnote.Settle
	// Freed is called when the settlement that ends the reservation is stored.
	Freed()
	// Drop frees the reservation of a call that has used nothing.
	Drop()
}

// Pricer is a Model that can tell what a call may use.
type Pricer interface {
	// MaxUse is the most that a call can use.
	MaxUse(req model.Request) (tokens int64, cost footnote.Cost)
	// MinUse is what a call needs with an answer of req.MaxTokens, when its prompt has grown
	// by a number of bytes.
	MinUse(req model.Request, grown int) (tokens int64, cost footnote.Cost)
}

// unknownTokens is the estimate for a call of a model that is no Pricer.
const unknownTokens = 2_000

// maxUse is the most that a call can use within req.MaxCost.
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
	leastAnswer   = 300   // tokens of a step, or of a call that stands alone
	closingAnswer = 600   // tokens
	closingGrowth = 3_000 // bytes
	shortResult   = 500   // characters of a tool's result, when the whole result costs too much
)

// minUse is the least that a call needs, or zero when the model is no Pricer.
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

// graceTTL is how long a reservation outlives its call: the answer must still be stored.
const graceTTL = 30 * time.Second

// permit restricts a call to the models that its principal may use.
func (e *Engine) permit(req *model.Request) {
	if _, all := e.opts.Access.(everything); !all {
		p := req.Principal
		req.Permits = func(model string) bool { return e.opts.Access.Model(p, model) }
	}
}

// reserve reserves what a call outside a run can use, and limits the call to that.
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

// budget is the money that a run has reserved, from before its first call to its end: a run
// that has paid for a step can also pay for an answer.
type budget struct {
	reservation Reservation // nil: nothing yet
	unknown     bool        // there may be a reservation that hold does not know of
	calling     bool        // it is reserved for a model call that has used nothing yet
	short       bool        // it is less than that call could use
	closing     bool        // that call has to be the last one
	closingCost int64       // reserved for the closing call, in millionths of a US dollar

	mu         sync.Mutex // guards below and hold while tools run side by side; locked before that of the run
	promised   int64      // the prices of tools that are being called
	maybeSpent int64      // the prices of calls that broke: they may have been made
}

// newReservation returns the id of a reservation outside the one of a run. All retries use one id, because an
// attempt whose response was lost may have made the reservation.
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

// afford reserves what the next model call can use and what the closing call needs, and limits
// the call to its part. When the money does not suffice for both, the call becomes the closing
// one; when it does not suffice for that either, the call reads shortened results.
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

// need is what a model call of the run needs.
type need struct {
	step      footnote.Amount // at least
	closing   footnote.Amount // for the closing call after it; zero when it is the closing call itself
	asClosing footnote.Amount // at least, if it becomes the closing call
	max       footnote.Amount // with the closing call
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
		// The closing call reads again what this one says: input costs a third of output at most.
		n.max = footnote.Amount{
			MicroUSD: n.max.MicroUSD + (n.max.MicroUSD+2)/3, Tokens: 2 * n.max.Tokens,
		}.Add(n.closing)
	}
	return n
}

// reserveStep is one attempt of afford.
func (r *run) reserveStep(req *model.Request) error {
	if r.budget.reservation != nil && r.budget.reservation.Reserved() {
		if err := r.w.flush(); err != nil { // the store has to know what the run has spent
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
			"What is left of the money for this question does not pay for an answer.")
	}
	c.Max.MicroUSD = min(c.Max.MicroUSD, max(1, left))
	h, err := r.reserve(c)
	if err != nil {
		r.budget.unknown = r.budget.unknown || footnote.CodeOf(err) != footnote.BudgetExceeded // it may have been made
		return dayOver{err}
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

// divide limits a call to its part of what was granted. When that is too little for a closing
// call after it, the call becomes the closing one. Tokens are limited only when they are scarce.
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

// shortHistory is the history with only the beginnings of the results of this run.
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

// used is the settlement of a model call of the run.
func (p *budget) used(u footnote.Usage, c footnote.Cost) []footnote.Settle {
	p.calling = false
	return p.reservation.Settle(u, c, true)
}

// release ends the reservation of the run when none of its calls is under way any more. Calls
// of tools that broke may have been made: their price counts, and an event records it.
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

// maxOverdue is how many reservations one settleOverdue settles.
const maxOverdue = 100

// settleOverdue settles the reservations that have expired and that no recovery of a run has
// settled: those of calls outside runs, and of conversations that were deleted.
func (e *Engine) settleOverdue(ctx context.Context) error {
	overdue, err := e.opts.Log.Overdue(ctx, maxOverdue)
	if err != nil {
		return err
	}
	for _, r := range overdue {
		if r.Lost == (footnote.Amount{}) { // such as that of a run whose page has not answered
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
		// After a conflict another engine was quicker, or the next call of this function settles it.
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

// dayOver is the error of a run whose user has reached a limit.
type dayOver struct{ error }

func (d dayOver) Unwrap() error { return d.error }
