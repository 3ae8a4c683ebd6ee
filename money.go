package footnote

import "time"

// Amount is the price of calls: money, in millionths of a US dollar, and tokens, each weighted by its tier.
type Amount struct {
	MicroUSD, Tokens int64
}

// Add returns the sum of two amounts.
func (a Amount) Add(b Amount) Amount { return Amount{a.MicroUSD + b.MicroUSD, a.Tokens + b.Tokens} }

// Sub returns a minus b.
func (a Amount) Sub(b Amount) Amount { return Amount{a.MicroUSD - b.MicroUSD, a.Tokens - b.Tokens} }

// Scope defines whose spending is added up, and over what period. Days are UTC, by the clock of the store.
type Scope string

// The scopes in which a store adds up spending.
const (
	PerConversation Scope = "conversation"
	PerUser         Scope = "user"
	PerUserDay      Scope = "user_day"
	PerOrg          Scope = "org"
	PerOrgDay       Scope = "org_day"
	PerDay          Scope = "day" // all users together
)

// Balance holds the amount spent in a scope, and the amount reserved for calls that are still running.
type Balance struct {
	Spent, Reserved Amount
}

// SpendingLimit is the spending limit of a scope. A zero field means unlimited.
type SpendingLimit struct {
	Scope Scope
	Max   Amount
}

// Reserve reserves in advance what a call, or a whole run, may use.
type Reserve struct {
	// ID names the reservation. An existing one grows to Max if there is room, never shrinks, and expires TTL from
	// now.
	ID        string
	Org, User string
	Stream    string // the conversation; empty for a call outside any
	Run       string
	// Max is the amount to reserve. If a limit has less left, the store grants less, so that the call can be made
	// smaller, but never less than Enough.
	Max, Enough Amount
	// Lost is the amount charged for the current call if its process dies.
	Lost   Amount
	Limits []SpendingLimit
	TTL    time.Duration // after which the call cannot still be running
}

// Reservation is the amount reserved for a call.
type Reservation struct {
	ID, Org, User, Stream, Run string
	Day                        string // day of the reservation: 2006-01-02
	Amount                     Amount
	Lost                       Amount // charged if the reservation is never settled
	Expires                    time.Time
}

// Settle charges what a call has used, in the same append as the events that record it, and ends the reservation
// unless Keep is set.
type Settle struct {
	ID        string // of the reservation; empty: nothing was reserved
	Org, User string
	Stream    string // the conversation; empty for a call outside any
	Spent     Amount
	// Keep leaves the unspent amount in the reservation, for the next call of the run.
	Keep bool
	// Lost is the amount charged from then on if the kept reservation is never settled: the price of the calls still
	// running.
	Lost Amount
	// Held requires that the reservation still exists; otherwise the append is a Conflict. Set it to settle a
	// reservation that another process made.
	Held bool
}

// OverLimit describes the limit that rejected a request, and what is left of it.
type OverLimit struct {
	Name        string // the configuration key, such as usd_per_user_day
	Unit        string // "requests", "runs", "tokens" or "usd"
	Limit, Left float64
	// Reserved is the amount that was reserved for running calls at the time of the rejection.
	Reserved float64
	// Passing is set when the request would fit if nothing were reserved: part of the reservation may be released
	// soon.
	Passing bool
	// TooSmall is set when the request would not fit if nothing were spent or reserved.
	TooSmall bool
	Resets   time.Time // zero: does not reset by itself
}

// Tally is a balance as a store keeps it. An empty account field stands for all values; Day is 2006-01-02 or
// DayDeleted.
type Tally struct {
	Org, User, Stream, Day string
	Balance
}

// DayDeleted is the day of the tallies that hold a user's spending in conversations deleted since.
const DayDeleted = "deleted"

// UsedBy returns the usage and cost that an event records.
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
