// Package market defines the market data that a chart assistant can read: candles, a price, the calendar, headlines,
// positions of large traders, and a person's own trades.
//
// The interface Market is read-only: it has no method that places an order. Only a Load adds data; the command
// `footnote market import` uses one, and tools have no access to it.
package market

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
)

// Data is the stored data of a market. For data that cannot be read now, the methods return an error with the
// code footnote.MarketUnavailable, never an empty list. Implementations are safe for concurrent use.
type Data interface {
	// Symbols returns the symbols in the order of their names.
	Symbols(ctx context.Context) ([]Symbol, error)
	// Candles returns the newest candles of a time frame in a range, in time order. They are computed from the stored
	// ones; a period without trades has no bar.
	Candles(ctx context.Context, q CandleQuery) ([]Candle, error)
	// Events returns events of the calendar in time order.
	Events(ctx context.Context, q EventQuery) ([]Event, error)
	// Headlines returns the newest headlines, newest first.
	Headlines(ctx context.Context, q HeadlineQuery) ([]Headline, error)
	// COT returns the newest reports on the positions of large traders, in time order.
	COT(ctx context.Context, q COTQuery) ([]COTReport, error)
	// Trades returns the newest trades of one user, in the order in which they were closed. A query without a user
	// returns InvalidRequest.
	Trades(ctx context.Context, q TradeQuery) ([]Trade, error)
}

// Feed provides the current price.
type Feed interface {
	// Price returns the newest price. If the feed is down, it returns MarketUnavailable; if the feed only has nothing
	// new, it returns the old price with its time.
	Price(ctx context.Context, symbol string) (Price, error)
	// Now returns the time in this market: the clock's, or that of a replay. If the time is unknown, it returns
	// MarketUnavailable rather than a guess.
	Now(ctx context.Context) (time.Time, error)
}

// Market combines data and feed.
type Market interface {
	Data
	Feed
	// EventReactions returns the moves of a symbol after past events, in time order.
	EventReactions(ctx context.Context, q ReactionQuery) ([]Reaction, error)
}

// New returns a Market of data and a feed.
func New(d Data, f Feed) Market { return joined{d, f} }

type joined struct {
	Data
	Feed
}

func (j joined) EventReactions(ctx context.Context, q ReactionQuery) ([]Reaction, error) {
	return reactions(ctx, j, q)
}

// Symbol is an instrument with a price.
type Symbol struct {
	Symbol, Name string
	Base         string // currency or metal that is bought
	Quote        string // currency of the price
	Digits       int    // decimal places of a price
	From, To     time.Time
	Timeframes   []Timeframe // that can be computed from the stored data
	Synthetic    bool        // the data is invented
}

// Currencies returns the currencies whose events and news concern a symbol.
func (s Symbol) Currencies() []string {
	return slices.DeleteFunc([]string{s.Base, s.Quote}, func(c string) bool { return c == "" })
}

// Candle is a bar. Time is its start.
type Candle struct {
	Time                           time.Time
	Open, High, Low, Close, Volume float64
	// Partial is set when the data ends before the bar does: more trades may follow.
	Partial bool
}

// CandleQuery selects the newest Limit candles that begin in [From, To). A zero time means unbounded, a Limit of 0
// means MaxCandles.
type CandleQuery struct {
	Symbol    string
	Timeframe Timeframe
	From, To  time.Time
	Limit     int
}

// MaxCandles is the maximum number of candles per query.
const MaxCandles = 100_000

// Check returns an error if the query is invalid.
func (q CandleQuery) Check() error {
	if q.Timeframe.Order() < 0 {
		return bad("There is no time frame %q. They are %s.", clip(string(q.Timeframe)), join(TimeframeNames()))
	}
	_, err := bounded(q.Limit, MaxCandles, MaxCandles, q.From, q.To, q.Symbol)
	return err
}

// Price is the newest price of a feed.
type Price struct {
	Symbol    string
	Bid, Ask  float64
	Time      time.Time
	Synthetic bool
	Replay    bool // replayed from stored candles
}

// Spread returns the difference between ask and bid. ok is false if it is unknown, since candles have no spread.
func (p Price) Spread() (v float64, ok bool) { return p.Ask - p.Bid, !p.Replay || p.Synthetic }

// Event is a release of the calendar. Values that are not known yet are nil.
type Event struct {
	ID                         int64
	Time                       time.Time
	Currency, Title            string
	Impact                     string // low, medium or high
	Actual, Forecast, Previous *float64
	Unit                       string // of the values, such as %
	Synthetic                  bool
}

// EventQuery selects the events in [From, To). An empty field means any; a Limit of 0 means 1000. If there are more,
// the query returns the first ones.
type EventQuery struct {
	Currencies []string
	Title      string // exact, ignoring case
	Impact     string // minimum
	From, To   time.Time
	Limit      int
	Newest     bool // return the last Limit events instead
}

// CalendarEnd returns the time of the last known event for the currencies, or for any currency if the list is empty. It
// returns zero if there is no event. After that time, the absence of events means nothing.
func CalendarEnd(ctx context.Context, d Data, currencies []string) (time.Time, error) {
	last, err := d.Events(ctx, EventQuery{Currencies: currencies, Newest: true, Limit: 1})
	if err != nil || len(last) == 0 {
		return time.Time{}, err
	}
	return last[0].Time, nil
}

// Headline is one line of news.
type Headline struct {
	ID                 int64
	Time               time.Time
	Source, Title, URL string
	Currencies         []string
	Synthetic          bool
}

// HeadlineQuery selects headlines in [From, To). A Limit of 0 means 20.
type HeadlineQuery struct {
	Currencies []string // concerning one of them; empty: all
	From, To   time.Time
	Limit      int
}

// COTReport holds the positions of large traders on a Tuesday. The commission publishes it on the following Friday.
type COTReport struct {
	Symbol                                string
	Date                                  time.Time // of the positions
	Published                             time.Time
	NonCommercialLong, NonCommercialShort int64
	CommercialLong, CommercialShort       int64
	OpenInterest                          int64
	Synthetic                             bool
}

// Net returns the speculators' net position: long minus short.
func (r COTReport) Net() int64 { return r.NonCommercialLong - r.NonCommercialShort }

// Change returns the change of the net position within a week. ok is false if the report before is not the previous
// week's, whose date may be a day off because of a holiday.
func (r COTReport) Change(before COTReport) (n int64, ok bool) {
	return r.Net() - before.Net(), r.Date.Sub(before.Date) <= 8*24*time.Hour
}

// COTQuery selects reports published before To. A Limit of 0 means 26.
type COTQuery struct {
	Symbol string
	To     time.Time
	Limit  int
}

// Trade is one entry of a person's journal.
type Trade struct {
	ID, Symbol string
	Side       string // long or short
	Size       float64
	Opened     time.Time
	Closed     time.Time // zero: still open
	Entry      float64
	Exit       float64 // 0 while it is open
	Stop       float64 // 0: none
	Target     float64 // 0: none
	PnL        float64 // in Currency
	Currency   string  // empty: unknown
	Notes      string
	Synthetic  bool
}

// TradeQuery selects trades of one user that were closed in [From, To). A Limit of 0 means MaxTrades.
type TradeQuery struct {
	Org, User string // required: the owner
	Symbol    string
	From, To  time.Time
	Limit     int
	Open      bool // include open trades
}

// MaxTrades is the maximum number of trades per query.
const MaxTrades = 100_000

// Check rejects a query that could return another user's trades.
func (q TradeQuery) Check() (limit int, err error) {
	if q.Org == "" || q.User == "" {
		return 0, bad("The owner of the trades is missing.")
	}
	return bounded(q.Limit, MaxTrades, MaxTrades, q.From, q.To, q.Org, q.User, q.Symbol)
}

// Check returns the effective limit, or an error if the query is invalid.
func (q EventQuery) Check() (limit int, err error) {
	if q.Impact != "" && ImpactLevel(q.Impact) == 0 {
		return 0, bad("The impact must be low, medium or high.")
	}
	return bounded(q.Limit, 1000, 10_000, q.From, q.To, append([]string{q.Title}, q.Currencies...)...)
}

// Check does the same as that of EventQuery.
func (q HeadlineQuery) Check() (limit int, err error) {
	return bounded(q.Limit, 20, 1000, q.From, q.To, q.Currencies...)
}

// Check does the same as that of EventQuery.
func (q COTQuery) Check() (limit int, err error) {
	return bounded(q.Limit, 26, 1000, time.Time{}, q.To, q.Symbol)
}

// bounded returns the limit of a query, or an error if the limit, the range or one of the texts is invalid. Bytes that
// are not valid text would be an error of the database.
func bounded(limit, normal, maximum int, from, to time.Time, texts ...string) (int, error) {
	for _, s := range texts {
		if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
			return 0, bad("The query is not valid text: %q.", clip(s))
		}
	}
	limit = cmp.Or(limit, normal)
	if limit < 1 || limit > maximum {
		return 0, bad("The limit must be 1 to %d.", maximum)
	}
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		return 0, bad("The range ends before it begins.")
	}
	return limit, nil
}

// impacts lists the names of an event's impact by level.
var impacts = []string{"", "low", "medium", "high"}

// ImpactLevel returns 1 for low, 2 for medium, 3 for high and 0 for anything else.
func ImpactLevel(name string) int { return max(0, slices.Index(impacts, name)) }

// ImpactName returns the name of a level.
func ImpactName(level int) string { return impacts[max(0, min(level, len(impacts)-1))] }

// The parts of a market that can be unavailable.
const (
	Database  = "market database"
	PriceFeed = "price feed"
)

// Down returns the error of an unavailable part. Its text may be shown to users.
func Down(part, why string, err error) error {
	return &footnote.Error{
		Code: footnote.MarketUnavailable, Message: fmt.Sprintf("The %s is down: %s", part, why), Err: err,
	}
}

// Failed adds a code to the error of a part. An error that has a code keeps it. If the caller was cancelled, Failed
// returns the cause of that.
func Failed(ctx context.Context, part, doing string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*footnote.Error](err); ok {
		return err
	}
	err = fmt.Errorf("%s: %w", doing, err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Down(part, "it did not answer in time.", err)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
	return Down(part, "it cannot be read.", err)
}

// Unknown returns the error for a symbol that does not exist.
func Unknown(symbol string, known []Symbol) error {
	names := make([]string, 0, len(known))
	for _, s := range known {
		names = append(names, s.Symbol)
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	return footnote.Errorf(footnote.NotFound, "There is no symbol %q. The symbols are: %s.", clip(symbol), join(names))
}

// Store is a Data that accepts new data.
type Store interface {
	Data
	// Begin starts a load. Loads run one at a time: Begin waits for another load, up to LoadWait.
	Begin(ctx context.Context) (Load, error)
	// Forget deletes the trades of a user and returns how many there were.
	Forget(ctx context.Context, org, user string) (trades int, err error)
	Close() error
}

// LoadWait limits how long a load waits for another one.
const LoadWait = 10 * time.Minute

// LoadBusy returns the error of a load that waited too long.
func LoadBusy(err error) error {
	return Down(Database, fmt.Sprintf("another load has held it for %s.", LoadWait), err)
}

// Load adds data atomically: readers see nothing of it until Commit returns. New data replaces existing data.
type Load interface {
	Symbol(ctx context.Context, s Symbol) error
	// Candles adds candles of an existing symbol. Their times are starts of bars.
	Candles(ctx context.Context, symbol string, tf Timeframe, list []Candle) error
	Events(ctx context.Context, list []Event) error
	Headlines(ctx context.Context, list []Headline) error
	COT(ctx context.Context, list []COTReport) error
	Trades(ctx context.Context, org, user string, list []Trade) error
	Commit(ctx context.Context) error
	// Rollback discards the load. After Commit it has no effect.
	Rollback() error
}
