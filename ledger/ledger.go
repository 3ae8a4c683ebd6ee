// Package ledger keeps people within what they may use: requests, runs at once,
// tokens and money. A token counts as often as the multiplier of its tier says.
//
// What was spent and what is reserved are rows of the store, where a reservation is
// checked against all limits at once; here is only which limits hold for whom, and
// in which words they refuse.
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

// Store is what the ledger needs of a store; its contract is store.Store's.
type Store interface {
	Reserve(ctx context.Context, r footnote.Reserve) (footnote.Reservation, error)
	Unreserve(ctx context.Context, id string) error
	Balances(ctx context.Context, org, user, stream string) (map[footnote.Scope]footnote.Balance, time.Time, error)
	Running(ctx context.Context, org, user string) (int, error)
}

// Allowance is what somebody may use. Money is in millionths of a US dollar; days are
// those of UTC. A field that is 0 is no limit.
type Allowance struct {
	Requests    int64 // of a user in a minute
	OrgRequests int64
	Runs        int64 // of a user at once
	OrgRuns     int64

	TokensPerDay    int64 // of a user, each as often as its tier counts
	OrgTokensPerDay int64

	PerRun          int64 // 0: that of the assistant
	PerConversation int64
	PerUser         int64
	PerUserDay      int64
	PerOrg          int64
	PerOrgDay       int64
	PerDay          int64 // of everybody
}

// Options of a ledger. Store is required.
type Options struct {
	Store       Store
	Allow       func(footnote.Principal) Allowance // nil: there are no limits
	Multipliers map[string]int64                   // by tier; a tier without one counts once
	ToolPrices  map[string]int64                   // of one call, in millionths of a US dollar, by the tool's name
	Counter     Counter                            // of requests; nil: one in memory
	// how long a question waits for money that others have reserved; 0: not at all
	Wait   time.Duration
	Logger *slog.Logger
}

// Ledger implements agent.Budget. Its methods may be called from several goroutines.
type Ledger struct {
	opts Options

	mu      sync.Mutex     // guards below
	runs    map[person]int // that go on in this process
	lines   map[string][]*waiter
	waiting int // in all lines
}

// person is a user, or a whole org when its name is empty.
type person struct{ org, user string }

var _ agent.Budget = (*Ledger)(nil)

// New makes a ledger.
func New(o Options) *Ledger {
	if o.Allow == nil {
		o.Allow = func(footnote.Principal) Allowance { return Allowance{} }
	}
	if o.Counter == nil {
		o.Counter = newMemory()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Ledger{opts: o, runs: map[person]int{}, lines: map[string][]*waiter{}}
}

// ceilings are the limits of a call that belongs to a conversation, or to none.
func (a Allowance) ceilings(conversation string) (out []footnote.Ceiling) {
	for _, c := range []footnote.Ceiling{
		{Scope: footnote.PerConversation, Most: footnote.Amount{MicroUSD: a.PerConversation}},
		{Scope: footnote.PerUserDay, Most: footnote.Amount{MicroUSD: a.PerUserDay, Tokens: a.TokensPerDay}},
		{Scope: footnote.PerUser, Most: footnote.Amount{MicroUSD: a.PerUser}},
		{Scope: footnote.PerOrgDay, Most: footnote.Amount{MicroUSD: a.PerOrgDay, Tokens: a.OrgTokensPerDay}},
		{Scope: footnote.PerOrg, Most: footnote.Amount{MicroUSD: a.PerOrg}},
		{Scope: footnote.PerDay, Most: footnote.Amount{MicroUSD: a.PerDay}},
	} {
		if c.Most != (footnote.Amount{}) && (c.Scope != footnote.PerConversation || conversation != "") {
			out = append(out, c)
		}
	}
	return out
}

// Admit implements agent.Budget. It refuses when all is spent: what is only reserved may
// be free again before the first call.
func (l *Ledger) Admit(ctx context.Context, p footnote.Principal, conversation string) (done func(), err error) {
	a := l.opts.Allow(p)
	if ceilings := a.ceilings(conversation); len(ceilings) > 0 {
		left, err := l.left(ctx, p, conversation, ceilings, false)
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

// enter counts a run that begins, unless there are as many as there may be.
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
		most int64
	}{{"runs", entered[0], a.Runs}, {"org_runs", entered[1], a.OrgRuns}} {
		if limit.most <= 0 {
			continue
		}
		n, err := l.running(ctx, limit.who)
		if err == nil && n > limit.most {
			err = refuse(&footnote.OverLimit{Name: limit.name, Unit: "runs", Limit: float64(limit.most)})
		}
		if err != nil {
			done()
			return nil, err
		}
	}
	return done, nil
}

// running is how many runs go on with one that has just entered: here, and in the
// store, which also has those of other servers.
func (l *Ledger) running(ctx context.Context, who person) (int64, error) {
	stored, err := l.opts.Store.Running(ctx, who.org, who.user)
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(max(l.runs[who], stored+1)), err
}

// Reserve implements agent.Budget. Without a limit nothing is reserved: what is spent
// is counted all the same.
func (l *Ledger) Reserve(ctx context.Context, p footnote.Principal, c agent.Spending) (agent.Reservation, error) {
	h := &reservation{l: l, p: p, stream: c.Conversation, weight: l.Weight(c.Tier), amount: c.Max}
	ceilings := l.opts.Allow(p).ceilings(c.Conversation)
	if len(ceilings) == 0 || c.Max.MicroUSD <= 0 && c.Max.Tokens <= 0 {
		return h, nil
	}
	weighted := func(a footnote.Amount) footnote.Amount {
		return footnote.Amount{MicroUSD: max(0, a.MicroUSD), Tokens: max(0, a.Tokens) * h.weight}
	}
	wish := footnote.Reserve{
		ID: c.ID, Org: p.Org, User: p.User, Stream: c.Conversation, Run: c.Run, Ceilings: ceilings, TTL: c.TTL,
		Most: weighted(c.Max), Enough: weighted(c.Enough), Lost: weighted(c.Lost),
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
		if c.Run == "" && ctx.Err() != nil { // it may have been made all the same
			h.id = c.ID
			h.Drop()
		}
		return nil, l.worded(ctx, p, err)
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

// Left is what somebody may use and what is left of it, of every limit that holds.
func (l *Ledger) Left(ctx context.Context, p footnote.Principal) ([]footnote.OverLimit, error) {
	return l.left(ctx, p, "", l.opts.Allow(p).ceilings(""), true)
}

// left is what is left of ceilings, and of that what is not reserved.
func (l *Ledger) left(ctx context.Context, p footnote.Principal, conversation string, ceilings []footnote.Ceiling,
	free bool) (
	out []footnote.OverLimit, err error,
) {
	if len(ceilings) == 0 {
		return nil, nil
	}
	balances, now, err := l.opts.Store.Balances(ctx, p.Org, p.User, conversation)
	if err != nil {
		return nil, err
	}
	for _, c := range ceilings {
		used := balances[c.Scope].Spent
		if free {
			used = used.Add(balances[c.Scope].Reserved)
		}
		if c.Most.MicroUSD > 0 {
			out = append(out, named(footnote.OverLimit{
				Name: string(c.Scope), Unit: "usd", Limit: usd(c.Most.MicroUSD),
				Left: usd(max(0, c.Most.MicroUSD-used.MicroUSD)),
			}, now))
		}
		if c.Most.Tokens > 0 {
			out = append(out, named(footnote.OverLimit{
				Name: string(c.Scope), Unit: "tokens", Limit: float64(c.Most.Tokens),
				Left: float64(max(0, c.Most.Tokens-used.Tokens)),
			}, now))
		}
	}
	return out, nil
}

func usd(micro int64) float64 { return float64(micro) / 1e6 }

// names are the limits as they are configured, by their scope and unit.
var names = map[string]string{
	"conversation usd": "usd_per_conversation", "user usd": "usd_per_user", "user_day usd": "usd_per_user_day",
	"user_day tokens": "tokens_per_day",
	"org usd":         "usd_per_org", "org_day usd": "usd_per_org_day", "org_day tokens": "org_tokens_per_day",
	"day usd": "usd_per_day",
}

// named is a limit of a scope under its own name, with the time when it begins anew.
func named(o footnote.OverLimit, now time.Time) footnote.OverLimit {
	switch footnote.Scope(o.Name) {
	case footnote.PerUserDay, footnote.PerOrgDay, footnote.PerDay:
		o.Resets = now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	o.Name = names[o.Name+" "+o.Unit]
	return o
}

// worded is a refusal of the store in words for people.
func (l *Ledger) worded(ctx context.Context, p footnote.Principal, err error) error {
	e, ok := errors.AsType[*footnote.Error](err)
	if !ok || e.Code != footnote.BudgetExceeded || e.Limit == nil {
		return err
	}
	_, now, nerr := l.opts.Store.Balances(ctx, p.Org, p.User, "") // the clock that says which day it is
	if nerr != nil {
		now = time.Now()
	}
	o := named(*e.Limit, now)
	return refuse(&o)
}

// runsRetry is when another run may be tried, and reservedRetry when money may be free again.
const (
	runsRetry     = 5 * time.Second
	reservedRetry = 10 * time.Second
)

// refuse is the error of a limit that is reached.
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
			"The limit of %s is too small for this answer, even unused. Whoever runs this server can raise it: %s, "+
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

// limitName is a limit in words, such as "0.05 USD a day for you".
func limitName(o *footnote.OverLimit) string {
	if o.Name == "tokens_per_day" {
		return fmt.Sprintf("%.0f tokens a day", o.Limit)
	}
	return amount(o) + " " + whose[o.Name]
}

// quantity is a part of a limit in words.
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
	id     string // of the reservation; empty: there is none
	p      footnote.Principal
	stream string
	weight int64
	amount footnote.Amount // tokens each counted once
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

// dropTime bounds giving back a reservation.
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
			"a reservation was not given back; it stays reserved until it expires, and its estimate counts then",
			"reservation", h.id, "err", err)
	}
}
