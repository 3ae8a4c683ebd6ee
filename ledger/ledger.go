// Package ledger enforces the limits of users and organisations: requests per minute, concurrent runs, tokens and
// money. Tokens are weighted by the multiplier of their tier.
//
// The store holds what was spent and reserved, and checks each reservation against all limits at once. The ledger
// decides which limits apply to a user, and writes the messages of refusals.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	money "github.com/footnotehq/footnote/internal/usd"
)

// Store is the part of a store.Store that the ledger uses.
type Store interface {
	Reserve(ctx context.Context, r footnote.Reserve) (footnote.Reservation, error)
	Unreserve(ctx context.Context, id string) error
	Balances(ctx context.Context, org, user, stream string) (map[footnote.Scope]footnote.Balance, time.Time, error)
	Running(ctx context.Context, org, user string) (int, error)
}

// Allowance holds the limits of a user. Money is in millionths of a US dollar; days are in UTC. 0 means unlimited.
type Allowance struct {
	Requests    int64 // per user and minute
	OrgRequests int64
	Runs        int64 // per user, concurrent
	OrgRuns     int64

	TokensPerDay    int64 // per user, weighted by tier
	OrgTokensPerDay int64

	PerRun                                                  int64 // 0: the limit of the assistant
	PerConversation, PerUser, PerUserDay, PerOrg, PerOrgDay int64
	PerDay                                                  int64 // of all users together
}

// Options configures a ledger. Store is required.
type Options struct {
	Store       Store
	Allow       func(footnote.Principal) Allowance // nil: no limits
	Multipliers map[string]int64                   // by tier; a tier without one counts once
	ToolPrices  map[string]int64                   // of one call, in millionths of a US dollar, by the tool's name
	Counter     Counter                            // of requests; nil: one in memory
	// Wait is how long a question waits for others to free reserved money; 0: not at all.
	Wait   time.Duration
	Logger *slog.Logger
}

// Ledger implements agent.Budget. Its methods may be called from several goroutines.
type Ledger struct {
	opts Options

	mu      sync.Mutex     // guards below
	runs    map[person]int // active in this process
	lines   map[string][]*waiter
	waiting int // waiters in all queues
}

// person identifies a user, or a whole organisation if user is empty.
type person struct{ org, user string }

var _ agent.Budget = (*Ledger)(nil)

// New returns a ledger.
func New(o Options) *Ledger {
	if o.Allow == nil {
		o.Allow = func(footnote.Principal) Allowance { return Allowance{} }
	}
	if o.Counter == nil {
		o.Counter = NewShare(1)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Ledger{opts: o, runs: map[person]int{}, lines: map[string][]*waiter{}}
}

// limits returns the limits of a call; conversation may be empty.
func (a Allowance) limits(conversation string) (out []footnote.SpendingLimit) {
	for _, c := range []footnote.SpendingLimit{
		{Scope: footnote.PerConversation, Max: footnote.Amount{MicroUSD: a.PerConversation}},
		{Scope: footnote.PerUserDay, Max: footnote.Amount{MicroUSD: a.PerUserDay, Tokens: a.TokensPerDay}},
		{Scope: footnote.PerUser, Max: footnote.Amount{MicroUSD: a.PerUser}},
		{Scope: footnote.PerOrgDay, Max: footnote.Amount{MicroUSD: a.PerOrgDay, Tokens: a.OrgTokensPerDay}},
		{Scope: footnote.PerOrg, Max: footnote.Amount{MicroUSD: a.PerOrg}},
		{Scope: footnote.PerDay, Max: footnote.Amount{MicroUSD: a.PerDay}},
	} {
		if c.Max != (footnote.Amount{}) && (c.Scope != footnote.PerConversation || conversation != "") {
			out = append(out, c)
		}
	}
	return out
}

// Admit implements agent.Budget. It refuses a run if a limit is used up. It ignores reservations, which may be freed
// before the first call.
func (l *Ledger) Admit(ctx context.Context, p footnote.Principal, conversation string) (done func(), err error) {
	a := l.opts.Allow(p)
	if limits := a.limits(conversation); len(limits) > 0 {
		left, err := l.left(ctx, p, conversation, limits, false)
		if err != nil {
			return nil, err
		}
		for _, o := range left {
			if o.Left <= 0 {
				return nil, refuse(&o)
			}
		}
	}
	return l.enter(ctx, p, a)
}

// enter counts a new run, or refuses it if too many are active.
func (l *Ledger) enter(ctx context.Context, p footnote.Principal, a Allowance) (done func(), err error) {
	entered := []person{{p.Org, p.User}, {org: p.Org}}
	var once sync.Once
	done = func() {
		once.Do(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, who := range entered {
				if l.runs[who]--; l.runs[who] <= 0 {
					delete(l.runs, who)
				}
			}
		})
	}
	l.mu.Lock()
	for _, who := range entered {
		l.runs[who]++
	}
	l.mu.Unlock()
	for _, limit := range []struct {
		name string
		who  person
		max  int64
	}{{"runs", entered[0], a.Runs}, {"org_runs", entered[1], a.OrgRuns}} {
		if limit.max <= 0 {
			continue
		}
		n, err := l.running(ctx, limit.who)
		if err == nil && n > limit.max {
			err = refuse(&footnote.OverLimit{Name: limit.name, Unit: "runs", Limit: float64(limit.max)})
		}
		if err != nil {
			done()
			return nil, err
		}
	}
	return done, nil
}

// running counts the active runs, including one that has just entered. It takes the larger count of this process and of
// the store, which also knows the runs of other servers.
func (l *Ledger) running(ctx context.Context, who person) (int64, error) {
	stored, err := l.opts.Store.Running(ctx, who.org, who.user)
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(max(l.runs[who], stored+1)), err
}

// Reserve implements agent.Budget. Without a limit it reserves nothing; spending is counted anyway.
func (l *Ledger) Reserve(ctx context.Context, p footnote.Principal, c agent.Spending) (agent.Reservation, error) {
	h := &reservation{l: l, p: p, stream: c.Conversation, weight: l.Weight(c.Tier), amount: c.Max}
	limits := l.opts.Allow(p).limits(c.Conversation)
	if len(limits) == 0 || c.Max.MicroUSD <= 0 && c.Max.Tokens <= 0 {
		return h, nil
	}
	weighted := func(a footnote.Amount) footnote.Amount {
		return footnote.Amount{MicroUSD: max(0, a.MicroUSD), Tokens: max(0, a.Tokens) * h.weight}
	}
	wish := footnote.Reserve{
		ID: c.ID, Org: p.Org, User: p.User, Stream: c.Conversation, Run: c.Run, Limits: limits, TTL: c.TTL,
		Max: weighted(c.Max), Enough: weighted(c.Enough), Lost: weighted(c.Lost),
	}
	try := func() (footnote.Reservation, error) { return l.opts.Store.Reserve(ctx, wish) }
	var r footnote.Reservation
	var err error
	if c.Wait && l.opts.Wait > 0 {
		r, err = l.reserveInLine(ctx, &wish, c.Paid, try)
	} else {
		r, err = try()
	}
	if err != nil {
		if c.Run == "" && ctx.Err() != nil { // the reservation may exist anyway
			h.id = c.ID
			h.Drop()
		}
		return nil, l.withMessage(ctx, p, err)
	}
	h.id, h.amount = r.ID, footnote.Amount{MicroUSD: r.Amount.MicroUSD, Tokens: r.Amount.Tokens / h.weight}
	return h, nil
}

// PerRun implements agent.Budget.
func (l *Ledger) PerRun(p footnote.Principal) int64 { return l.opts.Allow(p).PerRun }

// ToolPrice implements agent.Budget.
func (l *Ledger) ToolPrice(tool string) int64 { return l.opts.ToolPrices[tool] }

// Weight implements agent.Budget.
func (l *Ledger) Weight(tier string) int64 { return max(1, l.opts.Multipliers[tier]) }

// Left returns each limit that applies to a user, with the unspent amount.
func (l *Ledger) Left(ctx context.Context, p footnote.Principal) ([]footnote.OverLimit, error) {
	return l.left(ctx, p, "", l.opts.Allow(p).limits(""), true)
}

// left returns the unspent amount of each limit. With free, it leaves out reserved amounts.
func (l *Ledger) left(ctx context.Context, p footnote.Principal, conversation string, limits []footnote.SpendingLimit,
	free bool) (
	out []footnote.OverLimit, err error,
) {
	if len(limits) == 0 {
		return nil, nil
	}
	balances, now, err := l.opts.Store.Balances(ctx, p.Org, p.User, conversation)
	if err != nil {
		return nil, err
	}
	for _, c := range limits {
		used := balances[c.Scope].Spent
		if free {
			used = used.Add(balances[c.Scope].Reserved)
		}
		if c.Max.MicroUSD > 0 {
			out = append(out, named(footnote.OverLimit{
				Name: string(c.Scope), Unit: "usd", Limit: usd(c.Max.MicroUSD),
				Left: usd(max(0, c.Max.MicroUSD-used.MicroUSD)),
			}, now))
		}
		if c.Max.Tokens > 0 {
			out = append(out, named(footnote.OverLimit{
				Name: string(c.Scope), Unit: "tokens", Limit: float64(c.Max.Tokens),
				Left: float64(max(0, c.Max.Tokens-used.Tokens)),
			}, now))
		}
	}
	return out, nil
}

func usd(micro int64) float64 { return float64(micro) / 1e6 }

// names maps a scope and unit to the name of the setting.
var names = map[string]string{
	"conversation usd": "usd_per_conversation", "user usd": "usd_per_user", "user_day usd": "usd_per_user_day",
	"user_day tokens": "tokens_per_day",
	"org usd":         "usd_per_org", "org_day usd": "usd_per_org_day", "org_day tokens": "org_tokens_per_day",
	"day usd": "usd_per_day",
}

// named returns a limit of a scope with the name of its setting and the time at which it resets.
func named(o footnote.OverLimit, now time.Time) footnote.OverLimit {
	switch footnote.Scope(o.Name) {
	case footnote.PerUserDay, footnote.PerOrgDay, footnote.PerDay:
		o.Resets = now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	o.Name = names[o.Name+" "+o.Unit]
	return o
}

// withMessage returns a refusal of the store with a message for users.
func (l *Ledger) withMessage(ctx context.Context, p footnote.Principal, err error) error {
	e, ok := errors.AsType[*footnote.Error](err)
	if !ok || e.Code != footnote.BudgetExceeded || e.Limit == nil {
		return err
	}
	_, now, nerr := l.opts.Store.Balances(ctx, p.Org, p.User, "") // the clock that defines the day
	if nerr != nil {
		now = time.Now()
	}
	o := named(*e.Limit, now)
	return refuse(&o)
}

// runsRetry and reservedRetry are the delays after which a client may retry: when too many runs are active, and when
// money is reserved.
const (
	runsRetry     = 5 * time.Second
	reservedRetry = 10 * time.Second
)

// refuse returns the error for a limit that is reached.
func refuse(o *footnote.OverLimit) error {
	e := &footnote.Error{Code: footnote.BudgetExceeded, Limit: o}
	switch {
	case o.Name == "runs":
		e.Code, e.RetryAfter = footnote.RateLimited, runsRetry
		e.Message = fmt.Sprintf("At most %.0f of your questions are answered at once. Wait for one, or stop it.",
			o.Limit)
		return e
	case o.Name == "org_runs":
		e.Code, e.RetryAfter = footnote.RateLimited, runsRetry
		e.Message = fmt.Sprintf("At most %.0f questions of your organisation are answered at once.", o.Limit)
		return e
	case o.Passing:
		e.RetryAfter = reservedRetry
		e.Message = fmt.Sprintf(
			"The limit of %s is reserved for questions under way: %s of it, and the %s left does not pay for another "+
				"answer. Try again in a moment.",
			limitName(o), quantity(o, o.Reserved), quantity(o, o.Left))
		return e
	case o.TooSmall:
		e.Message = fmt.Sprintf(
			"The limit of %s is too small for this answer, even unused. The operator of this server can raise it: %s, "+
				"under limits in the configuration.",
			limitName(o), o.Name)
		return e
	case o.Left > 0:
		e.Message = fmt.Sprintf("What is left of the limit of %s (%s) does not pay for another answer.", limitName(o),
			quantity(o, o.Left))
	default:
		e.Message = fmt.Sprintf("The limit of %s is used up.", limitName(o))
	}
	if !o.Resets.IsZero() {
		e.Message += fmt.Sprintf(" It resets at %s UTC.", o.Resets.Format("15:04"))
		e.RetryAfter = max(time.Second, time.Until(o.Resets))
	}
	return e
}

// limitName returns a limit in words, such as "0.05 USD a day for you".
func limitName(o *footnote.OverLimit) string {
	if o.Name == "tokens_per_day" {
		return fmt.Sprintf("%.0f tokens a day", o.Limit)
	}
	return amount(o) + " " + whose[o.Name]
}

// quantity returns a part of a limit in words.
func quantity(o *footnote.OverLimit, n float64) string {
	if o.Unit == "usd" {
		return fmt.Sprintf("%.4f USD", n)
	}
	return fmt.Sprintf("%.0f %s", n, o.Unit)
}

func amount(o *footnote.OverLimit) string {
	if o.Unit == "usd" {
		return money.String(o.Limit)
	}
	return fmt.Sprintf("%.0f %s", o.Limit, o.Unit)
}

var whose = map[string]string{
	"usd_per_conversation": "for one conversation", "usd_per_user": "for you", "usd_per_user_day": "a day for you",
	"usd_per_org":     "for your organisation",
	"usd_per_org_day": "a day for your organisation", "org_tokens_per_day": "a day for your organisation",
	"usd_per_day": "a day for this server",
}

// reservation implements agent.Reservation.
type reservation struct {
	l      *Ledger
	id     string // of the reservation; empty: none
	p      footnote.Principal
	stream string
	weight int64
	amount footnote.Amount // with unweighted tokens
}

func (h *reservation) Amount() footnote.Amount { return h.amount }

func (h *reservation) Reserved() bool { return h.id != "" }

func (h *reservation) Settle(u footnote.Usage, c footnote.Cost, keep bool) []footnote.Settle {
	spent := footnote.Amount{MicroUSD: max(0, c.MicroUSD), Tokens: max(0, u.Prompt()+u.Output) * h.weight}
	if h.id == "" && spent == (footnote.Amount{}) {
		return nil
	}
	return []footnote.Settle{
		{ID: h.id, Org: h.p.Org, User: h.p.User, Stream: h.stream, Spent: spent, Keep: keep && h.id != ""},
	}
}

func (h *reservation) Freed() {
	if h.id != "" {
		h.l.wakeFirst()
	}
}

// dropTime limits the time to free a reservation.
const dropTime = 5 * time.Second

func (h *reservation) Drop() {
	if h.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dropTime)
	defer cancel()
	defer h.l.wakeFirst()
	if err := h.l.opts.Store.Unreserve(ctx, h.id); err != nil {
		h.l.opts.Logger.Warn(
			"cannot free a reservation; it expires later, and its estimate then counts as spent",
			"reservation", h.id, "err", err)
	}
}
