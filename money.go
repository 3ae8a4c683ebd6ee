package footnote

import "time"

// Amount is what calls use: money, in millionths of a US dollar, and tokens, each
// counted as often as its tier says.
type Amount struct {
	MicroUSD int64
	Tokens   int64
}

// Add returns the sum of two amounts.
func (a Amount) Add(b Amount) Amount { return Amount{a.MicroUSD + b.MicroUSD, a.Tokens + b.Tokens} }

// Sub returns what is left of a without b.
func (a Amount) Sub(b Amount) Amount { return Amount{a.MicroUSD - b.MicroUSD, a.Tokens - b.Tokens} }

// Scope is whose use is added up, and over what time. Days are those of UTC, by the
// clock of the store.
type Scope string

// The scopes in which a store adds up what is spent.
const (
	PerConversation Scope = "conversation"
	PerUser         Scope = "user"
	PerUserDay      Scope = "user_day"
	PerOrg          Scope = "org"
	PerOrgDay       Scope = "org_day"
	PerDay          Scope = "day" // of everybody
)

// Balance is what has been spent in a scope, and what is reserved for calls that
// still run.
type Balance struct {
	Spent, Reserved Amount
}

// Ceiling is the most that may be spent in a scope. Zero fields are no limit.
type Ceiling struct {
	Scope Scope
	Most  Amount
}

// Reserve sets apart what a call, or a whole run, may use before it is made.
type Reserve struct {
	// ID names the reservation. One that exists grows to Most where there is room, never
	// shrinks, and expires TTL from now.
	ID     string
	Org    string
	User   string
	Stream string // the conversation; empty for a call that belongs to none
	Run    string
	// Most is what the reservation is to hold. Less is granted when less is left of a
	// ceiling, so that the call can be made smaller, but never less than Enough.
	Most, Enough Amount
	// Lost is what the call under way is taken to have used if its process dies.
	Lost     Amount
	Ceilings []Ceiling
	TTL      time.Duration // after which nobody can be making the call any more
}

// Reservation is what was set apart for a call.
type Reservation struct {
	ID      string
	Org     string
	User    string
	Stream  string
	Run     string
	Day     string // in which it was made: 2006-01-02
	Amount  Amount
	Lost    Amount // what counts as used when nobody settles it
	Expires time.Time
}

// Settle counts what a call has used, together with the events that say so, and ends
// its reservation unless Keep is set.
type Settle struct {
	ID     string // of the reservation; empty: nothing was reserved
	Org    string
	User   string
	Stream string // the conversation; empty for a call that belongs to none
	Spent  Amount
	// Keep leaves what was not spent in the reservation, for the next call of its run.
	Keep bool
	// Lost is what counts as used from then on if nobody settles what was kept: the price
	// of the calls that are still under way.
	Lost Amount
	// Held says that the reservation must still be there; otherwise the append is a
	// Conflict. It is for those who settle what somebody else has reserved.
	Held bool
}

// OverLimit says which limit refused something, and what is left of it.
type OverLimit struct {
	Name  string // as it is configured, such as usd_per_user_day
	Unit  string // "requests", "runs", "tokens" or "usd"
	Limit float64
	Left  float64
	// Reserved is what is set apart for calls under way, when something was refused.
	Reserved float64
	// Passing is set when there would be enough without what is reserved: some of it may
	// be free in a moment.
	Passing bool
	Resets  time.Time // zero: not by itself
}

// Tally is a balance as a store keeps it. The fields of its account that are empty
// stand for all; a day is 2006-01-02, or DayDeleted.
type Tally struct {
	Org, User, Stream, Day string
	Balance
}

// DayDeleted is the day of the tallies that say what a user's conversations had used
// that have been deleted since.
const DayDeleted = "deleted"

// UsedBy is what an event says was used.
func UsedBy(b Body) (Usage, Cost) {
	switch b := b.(type) {
	case AssistantMessage:
		return b.Usage, b.Cost
	case StepFailed:
		return b.Usage, b.Cost
	case ToolResult:
		return Usage{}, b.Cost
	case Titled:
		return b.Usage, b.Cost
	case Segmented:
		return b.Usage, b.Cost
	case Spent:
		return b.Usage, b.Cost
	default:
		return Usage{}, Cost{}
	}
}
