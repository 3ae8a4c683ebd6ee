// Package market is what a chart assistant can read of a market: candles, a price,
// the calendar, headlines, positions of large traders, and a person's own trades.
//
// It can only be read. Nothing here places an order, and nothing that implements
// Market could be asked to. Data comes in by a Load, which the command footnote
// market import uses and no tool is given.
package market

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
)

// Data is what is stored of a market. Whatever cannot be read now is an error with
// the code footnote.MarketUnavailable, never an empty list. Implementations may be
// used by several goroutines.
type Data interface {
	// Symbols are the symbols there are, in the order of their names.
	Symbols(ctx context.Context) ([]Symbol, error)
	// Candles are the newest of a time frame in a range, in the order of time. They are
	// computed from what is stored; a bar in which nothing was traded does not exist.
	Candles(ctx context.Context, q CandleQuery) ([]Candle, error)
	// Events are the calendar, in the order of time.
	Events(ctx context.Context, q EventQuery) ([]Event, error)
	// Headlines are the newest, the newest first.
	Headlines(ctx context.Context, q HeadlineQuery) ([]Headline, error)
	// COT are the newest reports on the positions of large traders, in the order of time.
	COT(ctx context.Context, q COTQuery) ([]COTReport, error)
	// Trades are the newest of one user, in the order in which they were closed. A query
	// that names no user gets InvalidRequest.
	Trades(ctx context.Context, q TradeQuery) ([]Trade, error)
}

// Feed knows the price.
type Feed interface {
	// Price is the newest. When the feed is away the error is MarketUnavailable; one
	// that only says nothing new gives an old price with its time.
	Price(ctx context.Context, symbol string) (Price, error)
	// Now is the time in this market: the clock's, or that of a replay. Where it is not
	// known the error is MarketUnavailable: another time would be a guess.
	Now(ctx context.Context) (time.Time, error)
}

// Market is all of it.
type Market interface {
	Data
	Feed
	// EventReactions are how a symbol moved after past events, in the order of time.
	EventReactions(ctx context.Context, q ReactionQuery) ([]Reaction, error)
}

// New makes a Market of its two halves.
func New(d Data, f Feed) Market { return joined{d, f} }

type joined struct {
	Data
	Feed
}

func (j joined) EventReactions(ctx context.Context, q ReactionQuery) ([]Reaction, error) {
	return reactions(ctx, j, q)
}

// Symbol is something that has a price.
type Symbol struct {
	Symbol     string
	Name       string
	Base       string // currency, or metal, that is bought
	Quote      string // currency in which it is paid
	Digits     int    // of a price, after the point
	From, To   time.Time
	Timeframes []Timeframe // that can be computed of what is stored
	Synthetic  bool        // the data is invented
}

// Currencies are those whose events and news concern a symbol.
func (s Symbol) Currencies() []string {
	var list []string
	for _, c := range []string{s.Base, s.Quote} {
		if c != "" {
			list = append(list, c)
		}
	}
	return list
}

// Candle is a bar. Its time is its beginning.
type Candle struct {
	Time                           time.Time
	Open, High, Low, Close, Volume float64
	// Partial says that the data ends before the bar does: more may be traded in it.
	Partial bool
}

// CandleQuery asks for the newest Limit candles that begin in [From, To). A zero time
// is no bound, and a Limit of 0 is MaxCandles.
type CandleQuery struct {
	Symbol    string
	Timeframe Timeframe
	From, To  time.Time
	Limit     int
}

// MaxCandles is how many candles one query can give.
const MaxCandles = 100_000

// Check refuses what cannot be asked.
func (q CandleQuery) Check() error {
	if q.Timeframe.Order() < 0 {
		return footnote.Errorf(footnote.InvalidRequest, "There is no time frame %q. They are %s.", clip(string(q.Timeframe)), listed())
	}
	if q.Limit < 0 || q.Limit > MaxCandles {
		return footnote.Errorf(footnote.InvalidRequest, "The limit must be 1 to %d.", MaxCandles)
	}
	if err := plain(q.Symbol); err != nil {
		return err
	}
	return checkRange(q.From, q.To)
}

// plain refuses what no text has: a database would call it an error of its own.
func plain(texts ...string) error {
	for _, s := range texts {
		if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
			return footnote.Errorf(footnote.InvalidRequest, "What is asked for is no text: %q.", clip(s))
		}
	}
	return nil
}

func checkRange(from, to time.Time) error {
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		return footnote.Errorf(footnote.InvalidRequest, "The range ends before it begins.")
	}
	return nil
}

// Price is what the feed said last.
type Price struct {
	Symbol    string
	Bid, Ask  float64
	Time      time.Time
	Synthetic bool
	Replay    bool // stored candles, played again
}

// Spread is how far bid and ask are apart; ok is false where nobody knows, as candles have
// none.
func (p Price) Spread() (v float64, ok bool) { return p.Ask - p.Bid, !p.Replay || p.Synthetic }

// Event is a release of the calendar. What is not known yet is nil.
type Event struct {
	ID        int64
	Time      time.Time
	Currency  string
	Title     string
	Impact    string // low, medium or high
	Actual    *float64
	Forecast  *float64
	Previous  *float64
	Unit      string // of the numbers, such as %
	Synthetic bool
}

// EventQuery asks for the events in [From, To). Empty fields are no bound; a Limit of 0
// is 1000. Where there are more, they are the first ones.
type EventQuery struct {
	Currencies []string
	Title      string // exactly, but for the case of letters
	Impact     string // at least
	From, To   time.Time
	Limit      int
	Newest     bool // the last Limit of them instead
}

// CalendarEnd is the time of the last event that is known for currencies, or of all where
// none are named; zero when there is none. Behind it a calendar without events says nothing.
func CalendarEnd(ctx context.Context, d Data, currencies []string) (time.Time, error) {
	last, err := d.Events(ctx, EventQuery{Currencies: currencies, Newest: true, Limit: 1})
	if err != nil || len(last) == 0 {
		return time.Time{}, err
	}
	return last[0].Time, nil
}

// Headline is a line of news.
type Headline struct {
	ID         int64
	Time       time.Time
	Source     string
	Title      string
	URL        string
	Currencies []string
	Synthetic  bool
}

// HeadlineQuery asks for headlines in [From, To). A Limit of 0 is 20.
type HeadlineQuery struct {
	Currencies []string // that concern one of them; empty: all
	From, To   time.Time
	Limit      int
}

// COTReport is what large traders held on a Tuesday, as the commission publishes it on
// the Friday after.
type COTReport struct {
	Symbol             string
	Date               time.Time // of the positions
	Published          time.Time
	NonCommercialLong  int64
	NonCommercialShort int64
	CommercialLong     int64
	CommercialShort    int64
	OpenInterest       int64
	Synthetic          bool
}

// Net is what speculators hold: bought less sold.
func (r COTReport) Net() int64 { return r.NonCommercialLong - r.NonCommercialShort }

// Change is how the net changed in a week; ok is false where the report before is not that
// of the week before, which was a day earlier or later if there was a holiday.
func (r COTReport) Change(before COTReport) (n int64, ok bool) {
	return r.Net() - before.Net(), r.Date.Sub(before.Date) <= 8*24*time.Hour
}

// COTQuery asks for reports that were published before To. A Limit of 0 is 26.
type COTQuery struct {
	Symbol string
	To     time.Time
	Limit  int
}

// Trade is one entry of a person's journal.
type Trade struct {
	ID        string
	Symbol    string
	Side      string // long or short
	Size      float64
	Opened    time.Time
	Closed    time.Time // zero: open still
	Entry     float64
	Exit      float64 // 0 while it is open
	Stop      float64 // 0: none
	Target    float64 // 0: none
	PnL       float64 // in Currency
	Currency  string  // empty: not known
	Notes     string
	Synthetic bool
}

// TradeQuery asks for trades of one user that were closed in [From, To). A Limit of 0
// is MaxTrades.
type TradeQuery struct {
	Org, User string // required: whose they are
	Symbol    string
	From, To  time.Time
	Limit     int
	Open      bool // also those that are not closed
}

// MaxTrades is how many trades one query can give.
const MaxTrades = 100_000

// Check refuses a query that would show somebody else's trades.
func (q TradeQuery) Check() (limit int, err error) {
	if q.Org == "" || q.User == "" {
		return 0, footnote.Errorf(footnote.InvalidRequest, "It is not known whose trades are meant.")
	}
	if err := plain(q.Org, q.User, q.Symbol); err != nil {
		return 0, err
	}
	return bounded(q.Limit, MaxTrades, MaxTrades, q.From, q.To)
}

// Check refuses what cannot be asked, and says how many there may be.
func (q EventQuery) Check() (limit int, err error) {
	if q.Impact != "" && ImpactLevel(q.Impact) == 0 {
		return 0, footnote.Errorf(footnote.InvalidRequest, "The impact must be low, medium or high.")
	}
	if err := plain(append([]string{q.Title}, q.Currencies...)...); err != nil {
		return 0, err
	}
	return bounded(q.Limit, 1000, 10_000, q.From, q.To)
}

// Check is that of EventQuery.
func (q HeadlineQuery) Check() (limit int, err error) {
	if err := plain(q.Currencies...); err != nil {
		return 0, err
	}
	return bounded(q.Limit, 20, 1000, q.From, q.To)
}

// Check is that of EventQuery.
func (q COTQuery) Check() (limit int, err error) {
	if err := plain(q.Symbol); err != nil {
		return 0, err
	}
	return bounded(q.Limit, 26, 1000, time.Time{}, q.To)
}

func bounded(limit, normal, most int, from, to time.Time) (int, error) {
	if limit == 0 {
		limit = normal
	}
	if limit < 1 || limit > most {
		return 0, footnote.Errorf(footnote.InvalidRequest, "The limit must be 1 to %d.", most)
	}
	return limit, checkRange(from, to)
}

// impacts are the words of an event's impact, by level.
var impacts = []string{"", "low", "medium", "high"}

// ImpactLevel is 1 for low, 2 for medium, 3 for high and 0 for anything else.
func ImpactLevel(name string) int {
	return max(0, slices.Index(impacts, name))
}

// ImpactName is the word of a level.
func ImpactName(level int) string { return impacts[max(0, min(level, len(impacts)-1))] }

// The parts of a market that can be away.
const (
	Database  = "market database"
	PriceFeed = "price feed"
)

// Down is the error of a part that is away. Its words may be shown.
func Down(part, why string, err error) error {
	return &footnote.Error{Code: footnote.MarketUnavailable, Message: fmt.Sprintf("The %s is down: %s", part, why), Err: err}
}

// Failed gives the error of a part a code. What has one keeps it, and a caller that
// has left is told why it left.
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

// Unknown is the error of a symbol that is not there.
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

// Store is a Data that can be loaded.
type Store interface {
	Data
	// Begin starts a load. One runs at a time: another one waits until it has ended, for
	// LoadWait at most.
	Begin(ctx context.Context) (Load, error)
	// Forget deletes the trades of a user, and returns how many there were.
	Forget(ctx context.Context, org, user string) (trades int, err error)
	Close() error
}

// LoadWait is how long a load waits for another one.
const LoadWait = 10 * time.Minute

// Occupied is the error of a load that has waited as long.
func Occupied(err error) error {
	return Down(Database, fmt.Sprintf("another load has held it for %s.", LoadWait), err)
}

// Load adds data, all of it or none: nothing can be read before Commit has returned.
// What is there already is replaced by what is added.
type Load interface {
	Symbol(ctx context.Context, s Symbol) error
	// Candles of a symbol that is there. Their times are beginnings of bars.
	Candles(ctx context.Context, symbol string, tf Timeframe, list []Candle) error
	Events(ctx context.Context, list []Event) error
	Headlines(ctx context.Context, list []Headline) error
	COT(ctx context.Context, list []COTReport) error
	Trades(ctx context.Context, org, user string, list []Trade) error
	Commit(ctx context.Context) error
	// Rollback forgets the load. After Commit it does nothing.
	Rollback() error
}
