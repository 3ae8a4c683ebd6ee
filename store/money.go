package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
)

// Account identifies a balance. An empty field stands for all values.
type Account struct{ Org, User, Stream, Day string }

// AccountOf returns the account of a stored balance.
func AccountOf(t footnote.Tally) Account {
	return Account{Org: t.Org, User: t.User, Stream: t.Stream, Day: t.Day}
}

// AccountsOf returns the accounts that a call is charged to, by scope.
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

// DayOf returns the UTC day of a time.
func DayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Changes are the amounts that a transaction adds to balances.
type Changes map[Account]footnote.Balance

func (c Changes) add(accounts map[footnote.Scope]Account, b footnote.Balance) {
	for _, a := range accounts {
		sum := c[a]
		c[a] = footnote.Balance{Spent: sum.Spent.Add(b.Spent), Reserved: sum.Reserved.Add(b.Reserved)}
	}
}

// Reserve adds the amount of a reservation.
func (c Changes) Reserve(r footnote.Reservation) {
	c.add(AccountsOf(r.Org, r.User, r.Stream, r.Day), footnote.Balance{Reserved: r.Amount})
}

// Free subtracts the amount of a reservation.
func (c Changes) Free(r footnote.Reservation) {
	c.add(AccountsOf(r.Org, r.User, r.Stream, r.Day), footnote.Balance{Reserved: footnote.Amount{}.Sub(r.Amount)})
}

// Spend adds the amount spent, on the day of the event that records it.
func (c Changes) Spend(s footnote.Settle, now time.Time) {
	if s.Spent != (footnote.Amount{}) {
		c.add(AccountsOf(s.Org, s.User, s.Stream, DayOf(now)), footnote.Balance{Spent: s.Spent})
	}
}

// Import adds the usage that an imported event records. It counts each token once, because the log does not hold the
// weights of the tiers.
func (c Changes) Import(s Stream, ev footnote.Event) {
	u, cost := footnote.UsedBy(ev.Body)
	settle := footnote.Settle{
		Org: s.Org, User: s.User, Stream: s.ID,
		Spent: footnote.Amount{MicroUSD: cost.MicroUSD, Tokens: u.Prompt() + u.Output},
	}
	if b, ok := ev.Body.(footnote.Spent); ok {
		settle.Stream = b.Conversation
	}
	c.Spend(settle, ev.Time)
}

// Delete adds a deleted conversation's spending to its user's balance for deleted conversations.
func (c Changes) Delete(org, user string, b footnote.Balance) {
	if b.Spent != (footnote.Amount{}) {
		deleted := map[footnote.Scope]Account{"": {Org: org, User: user, Day: footnote.DayDeleted}}
		c.add(deleted, footnote.Balance{Spent: b.Spent})
	}
}

// Tallies returns the changes in the order in which all transactions lock the accounts.
func (c Changes) Tallies() []footnote.Tally {
	tallies := make([]footnote.Tally, 0, len(c))
	for a, b := range c {
		tallies = append(tallies, footnote.Tally{Org: a.Org, User: a.User, Stream: a.Stream, Day: a.Day, Balance: b})
	}
	slices.SortFunc(tallies, func(a, b footnote.Tally) int {
		return cmp.Or(cmp.Compare(a.Org, b.Org), cmp.Compare(a.User, b.User), cmp.Compare(a.Stream, b.Stream),
			cmp.Compare(a.Day, b.Day))
	})
	return tallies
}

// Settle takes the amount spent out of a reservation. It returns the rest of the reservation and whether to keep it.
func (c Changes) Settle(r footnote.Reservation, s footnote.Settle) (left footnote.Reservation, keep bool) {
	c.Free(r)
	if !s.Keep {
		return r, false
	}
	r.Amount = atLeast(footnote.Amount{}, r.Amount.Sub(s.Spent))
	r.Lost = lostOf(s.Lost, r.Amount)
	c.Reserve(r)
	return r, true
}

// lostOf returns how much of an amount is charged if nobody settles it.
func lostOf(lost, of footnote.Amount) footnote.Amount {
	return footnote.Amount{MicroUSD: min(lost.MicroUSD, of.MicroUSD), Tokens: min(lost.Tokens, of.Tokens)}
}

// atLeast returns the larger of two amounts, in each unit.
func atLeast(minimum, a footnote.Amount) footnote.Amount {
	return footnote.Amount{MicroUSD: max(minimum.MicroUSD, a.MicroUSD), Tokens: max(minimum.Tokens, a.Tokens)}
}

// Grant returns the reservation that the limits allow now, or an error if they leave too little. held is the existing
// reservation, which the balances include, or zero.
func Grant(r footnote.Reserve, held footnote.Reservation, balances map[footnote.Scope]footnote.Balance,
	now time.Time) (footnote.Reservation, error) {
	day := DayOf(now)
	before, after := AccountsOf(held.Org, held.User, held.Stream, held.Day), AccountsOf(r.Org, r.User, r.Stream, day)
	granted := atLeast(held.Amount, r.Max)
	for _, c := range r.Limits {
		b := balances[c.Scope]
		if before[c.Scope] == after[c.Scope] {
			b.Reserved = b.Reserved.Sub(held.Amount)
		}
		for _, u := range []unit{
			{"usd", 1e6, c.Max.MicroUSD, b.Spent.MicroUSD, b.Reserved.MicroUSD, r.Max.MicroUSD, r.Enough.MicroUSD,
				held.Amount.MicroUSD, &granted.MicroUSD},
			{"tokens", 1, c.Max.Tokens, b.Spent.Tokens, b.Reserved.Tokens, r.Max.Tokens, r.Enough.Tokens,
				held.Amount.Tokens, &granted.Tokens},
		} {
			if over := u.grant(); over != nil {
				over.Name = string(c.Scope)
				return footnote.Reservation{}, &footnote.Error{
					Code:    footnote.BudgetExceeded,
					Message: fmt.Sprintf("The limit of %v %s for each %s is reached.", over.Limit, u.name, c.Scope),
					Limit:   over,
				}
			}
		}
	}
	return footnote.Reservation{
		ID: r.ID, Org: r.Org, User: r.User, Stream: r.Stream, Run: r.Run, Day: day, Expires: Micros(now.Add(r.TTL)),
		Amount: granted,
		Lost:   lostOf(r.Lost, granted),
	}, nil
}

// unit is one unit of a limit, with the amounts requested in it.
type unit struct {
	name                   string
	scale                  float64
	limit, spent, reserved int64 // reserved by others
	max, enough, held      int64
	granted                *int64 // so far
}

// grant lowers the granted amount to what is left, or returns an error if less than enough is left.
func (u unit) grant() *footnote.OverLimit {
	left := max(0, u.limit-u.spent-u.reserved)
	if u.limit <= 0 || u.max <= 0 || left >= *u.granted {
		return nil
	}
	enough := max(1, min(u.enough, u.max))
	if got := max(left, u.held); got >= enough {
		*u.granted = min(*u.granted, got)
		return nil
	}
	unspent := max(0, u.limit-u.spent)
	over := &footnote.OverLimit{
		Unit: u.name, Limit: float64(u.limit) / u.scale, Left: float64(left) / u.scale,
		Reserved: float64(u.reserved) / u.scale,
		Passing:  unspent >= enough, TooSmall: u.limit < enough,
	}
	if !over.Passing { // what is reserved makes no difference
		over.Left = float64(unspent) / u.scale
	}
	return over
}

// CheckReserve returns an error if a request to reserve is invalid.
func CheckReserve(r footnote.Reserve) error {
	if err := checkIDs("id", r.ID, "org", r.Org, "user", r.User, "stream", r.Stream, "run", r.Run); err != nil {
		return err
	}
	if r.ID == "" || r.Org == "" || r.User == "" || negative(r.Max) || negative(r.Enough) || negative(r.Lost) {
		return footnote.Invalidf("A reservation needs an id, an org, a user and no negative amount.")
	}
	for _, c := range r.Limits {
		if _, ok := AccountsOf(r.Org, r.User, r.Stream, "")[c.Scope]; !ok {
			return footnote.Invalidf("There is no balance for the scope %q.", c.Scope)
		}
	}
	return CheckTTL(r.TTL)
}

func negative(a footnote.Amount) bool { return a.MicroUSD < 0 || a.Tokens < 0 }

// maxSettled is the maximum number of calls that one append settles.
const maxSettled = 1_000

func checkSettle(settled []footnote.Settle) error {
	if len(settled) > maxSettled {
		return footnote.Errorf(footnote.TooLarge, "At most %d calls can be settled at once; there are %d.", maxSettled,
			len(settled))
	}
	for _, s := range settled {
		if err := checkIDs("reservation", s.ID, "org", s.Org, "user", s.User, "stream", s.Stream); err != nil {
			return err
		}
		if s.Org == "" || s.User == "" || negative(s.Spent) || negative(s.Lost) || s.Held && s.ID == "" {
			return footnote.Invalidf("A settlement needs an org, a user and no negative amount.")
		}
	}
	return nil
}

// ErrSettled returns the error for a reservation that another process has settled.
func ErrSettled(id string) error {
	return footnote.Errorf(footnote.Conflict, "The reservation %.80q is settled already.", id)
}
