package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
)

// Account names what is added up: the fields that are empty stand for all.
type Account struct{ Org, User, Stream, Day string }

// AccountsOf are the accounts that a call counts in, by scope.
func AccountsOf(org, user, stream, day string) map[footnote.Scope]Account {
	accounts := map[footnote.Scope]Account{
		footnote.PerUser:    {Org: org, User: user},
		footnote.PerUserDay: {Org: org, User: user, Day: day},
		footnote.PerOrg:     {Org: org},
		footnote.PerOrgDay:  {Org: org, Day: day},
		footnote.PerDay:     {Day: day},
	}
	if stream != "" {
		accounts[footnote.PerConversation] = Account{Org: org, User: user, Stream: stream}
	}
	return accounts
}

// DayOf is the day that a time is in.
func DayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Changes are what a transaction adds to balances.
type Changes map[Account]footnote.Balance

func (c Changes) add(accounts map[footnote.Scope]Account, b footnote.Balance) {
	for _, a := range accounts {
		sum := c[a]
		c[a] = footnote.Balance{Spent: sum.Spent.Add(b.Spent), Reserved: sum.Reserved.Add(b.Reserved)}
	}
}

// Reserve adds what was granted.
func (c Changes) Reserve(r footnote.Reservation) {
	c.add(AccountsOf(r.Org, r.User, r.Stream, r.Day), footnote.Balance{Reserved: r.Amount})
}

// Free takes away what was reserved.
func (c Changes) Free(r footnote.Reservation) {
	c.add(AccountsOf(r.Org, r.User, r.Stream, r.Day), footnote.Balance{Reserved: footnote.Amount{}.Sub(r.Amount)})
}

// Spend adds what was used, on the day of the event that says so.
func (c Changes) Spend(s footnote.Settle, now time.Time) {
	if s.Spent != (footnote.Amount{}) {
		c.add(AccountsOf(s.Org, s.User, s.Stream, DayOf(now)), footnote.Balance{Spent: s.Spent})
	}
}

// Import adds what the events of a stream say was used that comes from elsewhere,
// each token once: what its tier counts is not in the log.
func (c Changes) Import(s Stream, ev footnote.Event) {
	u, cost := footnote.UsedBy(ev.Body)
	settle := footnote.Settle{Org: s.Org, User: s.User, Stream: s.ID, Spent: footnote.Amount{MicroUSD: cost.MicroUSD, Tokens: u.Prompt() + u.Output}}
	if b, ok := ev.Body.(footnote.Spent); ok {
		settle.Stream = b.Conversation
	}
	c.Spend(settle, ev.Time)
}

// Delete moves what a conversation has used to what its user's deleted ones have.
func (c Changes) Delete(org, user string, b footnote.Balance) {
	if b.Spent != (footnote.Amount{}) {
		c.add(map[footnote.Scope]Account{"": {Org: org, User: user, Day: footnote.DayDeleted}}, footnote.Balance{Spent: b.Spent})
	}
}

// Accounts are the accounts that change, in the order in which all transactions
// lock them.
func (c Changes) Accounts() []Account { return slices.SortedFunc(maps.Keys(c), Account.compare) }

func (a Account) compare(b Account) int {
	return cmp.Or(cmp.Compare(a.Org, b.Org), cmp.Compare(a.User, b.User), cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Day, b.Day))
}

// Grant is how much of what a call asks for the ceilings allow.
func Grant(r footnote.Reserve, balances map[footnote.Scope]footnote.Balance) (footnote.Amount, error) {
	granted := r.Most
	for _, c := range r.Ceilings {
		b := balances[c.Scope]
		used := b.Spent.Add(b.Reserved)
		for _, unit := range []struct {
			name          string
			ceiling, used int64
			asked         int64
			granted       *int64
			scale         float64
		}{
			{"usd", c.Most.MicroUSD, used.MicroUSD, r.Most.MicroUSD, &granted.MicroUSD, 1e6},
			{"tokens", c.Most.Tokens, used.Tokens, r.Most.Tokens, &granted.Tokens, 1},
		} {
			left := max(0, unit.ceiling-unit.used)
			if unit.ceiling <= 0 || unit.asked <= 0 || left >= unit.asked {
				continue
			}
			if left == 0 || r.Whole {
				return footnote.Amount{}, errOver(c.Scope, unit.name, float64(unit.ceiling)/unit.scale, float64(left)/unit.scale)
			}
			*unit.granted = min(*unit.granted, left)
		}
	}
	return granted, nil
}

func errOver(scope footnote.Scope, unit string, limit, left float64) error {
	return &footnote.Error{
		Code: footnote.BudgetExceeded, Message: fmt.Sprintf("The limit of %v %s for each %s is reached.", limit, unit, scope),
		Limit: &footnote.OverLimit{Name: string(scope), Unit: unit, Limit: limit, Left: left},
	}
}

// Granted is the reservation that a call gets at a time.
func Granted(r footnote.Reserve, amount footnote.Amount, now time.Time) footnote.Reservation {
	return footnote.Reservation{
		ID: r.ID, Org: r.Org, User: r.User, Stream: r.Stream, Run: r.Run, Day: DayOf(now), Amount: amount, Expires: Micros(now.Add(r.TTL)),
	}
}

// CheckReserve says what is wrong with a wish to reserve.
func CheckReserve(r footnote.Reserve) error {
	for _, f := range []struct{ name, value string }{{"id", r.ID}, {"org", r.Org}, {"user", r.User}, {"stream", r.Stream}, {"run", r.Run}} {
		if err := checkID(f.name, f.value); err != nil {
			return err
		}
	}
	if r.ID == "" || r.Org == "" || r.User == "" || r.Most.MicroUSD < 0 || r.Most.Tokens < 0 {
		return footnote.Errorf(footnote.InvalidRequest, "A reservation needs an id, an org, a user and an amount that is not negative.")
	}
	for _, c := range r.Ceilings {
		if _, ok := AccountsOf(r.Org, r.User, r.Stream, "")[c.Scope]; !ok {
			return footnote.Errorf(footnote.InvalidRequest, "Nothing is added up for %q here.", c.Scope)
		}
	}
	return CheckTTL(r.TTL)
}

// mostSettled bounds the calls that one append settles.
const mostSettled = 1_000

func checkSettle(settled []footnote.Settle) error {
	if len(settled) > mostSettled {
		return footnote.Errorf(footnote.TooLarge, "At most %d calls can be settled at once, not %d.", mostSettled, len(settled))
	}
	for _, s := range settled {
		for _, f := range []struct{ name, value string }{{"reservation", s.ID}, {"org", s.Org}, {"user", s.User}, {"stream", s.Stream}} {
			if err := checkID(f.name, f.value); err != nil {
				return err
			}
		}
		if s.Org == "" || s.User == "" || s.Spent.MicroUSD < 0 || s.Spent.Tokens < 0 || s.Held && s.ID == "" {
			return footnote.Errorf(footnote.InvalidRequest, "What is settled needs an org, a user and an amount that is not negative.")
		}
	}
	return nil
}

// ErrSettled is the error for a reservation that somebody else has settled.
func ErrSettled(id string) error {
	return footnote.Errorf(footnote.Conflict, "The reservation %.80q is settled.", id)
}
