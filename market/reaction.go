package market

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// ReactionQuery asks for the moves of a symbol after the newest Limit past releases of an event. A Limit of 0 means
// 24.
type ReactionQuery struct {
	Symbol   string
	Currency string // of the event; empty: any currency of the symbol
	Title    string
	After    time.Duration // time after the release; a minute to a day
	Limit    int
	Before   time.Time // zero: the market's time
}

// Reaction is the price move after an event.
type Reaction struct {
	Event Event
	// Timeframe is the time frame of the bars used: the shortest with a bar before the release. Before is the close
	// of the last bar that ended by the release. After is the close of the last bar that ended by the end of the
	// requested time. Neither is further from its moment than the length of a bar, or ten minutes if that is longer.
	Timeframe     Timeframe
	Before, After float64
	High, Low     float64 // between the two
}

// Move returns the price difference.
func (r Reaction) Move() float64 { return r.After - r.Before }

// gap is the longest period without trades before a release, or at the end of a reaction. Minutes without a trade are
// common; hours mean that the market is closed.
const gap = 10 * time.Minute

// maxReactions is the maximum number of releases per query.
const maxReactions = 100

// Check returns an error if the query is invalid.
func (q ReactionQuery) Check() error {
	switch {
	case q.After < time.Minute || q.After > 24*time.Hour:
		return bad("The time after the event must be a minute to a day.")
	case q.Limit < 0 || q.Limit > maxReactions:
		return bad("The limit must be 1 to %d.", maxReactions)
	case strings.TrimSpace(q.Title) == "":
		return bad("Name the event.")
	}
	return nil
}

// Find returns a symbol.
func Find(ctx context.Context, d Data, symbol string) (Symbol, error) {
	all, err := d.Symbols(ctx)
	if err != nil {
		return Symbol{}, err
	}
	if i := slices.IndexFunc(all, func(s Symbol) bool { return s.Symbol == symbol }); i >= 0 {
		return all[i], nil
	}
	return Symbol{}, Unknown(symbol, all)
}

func reactions(ctx context.Context, m Market, q ReactionQuery) ([]Reaction, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	s, err := Find(ctx, m, q.Symbol)
	if err != nil {
		return nil, err
	}
	find := EventQuery{Currencies: s.Currencies(), Title: q.Title, To: q.Before, Limit: q.Limit, Newest: true}
	if q.Currency != "" {
		find.Currencies = []string{q.Currency}
	}
	if find.To.IsZero() {
		if find.To, err = m.Now(ctx); err != nil {
			return nil, err
		}
	}
	find.Limit = cmp.Or(find.Limit, 24)
	events, err := m.Events(ctx, find)
	if err != nil {
		return nil, err
	}
	var list []Reaction
	for _, e := range events {
		r, ok, err := react(ctx, m, s, e, q.After)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, r)
		}
	}
	return list, nil
}

// react measures one reaction in the shortest bars available. ok is false if no bars cover the time from before the
// release to its end.
func react(ctx context.Context, d Data, s Symbol, e Event, after time.Duration) (r Reaction, ok bool, err error) {
	end := e.Time.Add(after)
	if end.After(s.To) {
		return r, false, nil // the end is still in the future
	}
	for _, f := range s.Timeframes {
		if f.Length() > after || f.Order() > H1.Order() {
			break
		}
		list, err := d.Candles(ctx, CandleQuery{
			Symbol: s.Symbol, Timeframe: f, From: e.Time.Add(-f.Length() - near(f)), To: end,
		})
		if err != nil {
			return r, false, err
		}
		if r, known, ok := measure(e, f, end, list); known {
			return r, ok, nil // longer candles would only hide that there were no trades
		}
	}
	return r, false, nil
}

// near returns how far a price of a reaction may be from its moment, for bars of a time frame.
func near(f Timeframe) time.Duration { return max(gap, f.Length()) }

// measure measures a reaction with some candles. known reports whether they contain the price before the release, and
// ok whether they also contain the price at the end.
func measure(e Event, f Timeframe, end time.Time, list []Candle) (r Reaction, known, ok bool) {
	r = Reaction{Event: e, Timeframe: f}
	moved := false
	var last time.Time
	for _, c := range list {
		switch over := f.End(c.Time); {
		case !over.After(e.Time):
			r.Before, known = c.Close, true
		case over.After(end) || c.Partial:
		default:
			if !moved {
				r.High, r.Low = c.High, c.Low
			}
			r.After, r.High, r.Low, moved, last = c.Close, max(r.High, c.High), min(r.Low, c.Low), true, over
		}
	}
	// If the bars end long before that time, because of a weekend, their last price is not the price at its end.
	return r, known, known && moved && end.Sub(last) < near(f)
}
