// Package ledger keeps people within what they may use of the models in a day. What
// was used is a projection of the log; what is being used now is reserved here. A token
// counts as often as the multiplier of its tier says.
package ledger

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/usage"
)

// Usage is what people have used, by day and tier.
type Usage interface {
	User(ctx context.Context, p footnote.Principal) ([]usage.Day, error)
}

// Options of a ledger. Usage is required.
type Options struct {
	Usage       Usage
	Limit       int64            // weighted tokens of one user in one day (UTC); 0: none
	Multipliers map[string]int64 // by tier; a tier without one counts once
	Now         func() time.Time // default time.Now
}

// call is what a model call is taken to use, as long as it runs. It keeps calls that
// run side by side from passing a limit that one of them alone would reach.
const call = 2_000 // tokens, before the multiplier

// Ledger implements agent.Budget. Its methods may be called from several goroutines.
type Ledger struct {
	opts Options

	mu       sync.Mutex // guards below
	reserved map[user]int64
}

type user struct{ org, name string }

// New makes a ledger.
func New(o Options) *Ledger {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Ledger{opts: o, reserved: map[user]int64{}}
}

// Account is what a user has left today.
type Account struct {
	Limit, Used, Left int64 // weighted tokens; Left is never negative
	Resets            time.Time
}

// Today is the account of a user. The limit is 0 where there is none.
func (l *Ledger) Today(ctx context.Context, p footnote.Principal) (Account, error) {
	now := l.opts.Now().UTC()
	a := Account{Limit: l.opts.Limit, Resets: now.Truncate(24 * time.Hour).Add(24 * time.Hour)}
	if l.opts.Limit <= 0 {
		return a, nil
	}
	days, err := l.opts.Usage.User(ctx, p)
	if err != nil {
		return a, err
	}
	today := now.Format(time.DateOnly)
	for _, d := range days {
		if d.Date == today {
			a.Used += (d.Usage.Prompt() + d.Usage.Output) * l.multiplier(d.Tier)
		}
	}
	a.Left = max(0, a.Limit-a.Used)
	return a, nil
}

func (l *Ledger) multiplier(tier string) int64 { return max(1, l.opts.Multipliers[tier]) }

// Reserve is asked before a model is called. It refuses with BudgetExceeded when the
// limit is reached. Release ends the call, whose use the log says.
func (l *Ledger) Reserve(ctx context.Context, p footnote.Principal, tier string) (release func(), err error) {
	if l.opts.Limit <= 0 {
		return func() {}, nil
	}
	a, err := l.Today(ctx, p)
	if err != nil {
		return nil, err
	}
	who, need := user{p.Org, p.User}, call*l.multiplier(tier)
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.Used+l.reserved[who] >= a.Limit {
		return nil, &footnote.Error{
			Code: footnote.BudgetExceeded, RetryAfter: a.Resets.Sub(l.opts.Now()),
			Message: fmt.Sprintf("The limit of %d tokens a day is used up. It begins anew at %s UTC.", a.Limit, a.Resets.Format("15:04")),
		}
	}
	l.reserved[who] += need
	var once sync.Once
	return func() { once.Do(func() { l.release(who, need) }) }, nil
}

func (l *Ledger) release(who user, need int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reserved[who] -= need; l.reserved[who] <= 0 {
		delete(l.reserved, who)
	}
}
