package market

import (
	"context"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// ReactionQuery asks how a symbol moved after the newest Limit past releases of an
// event. A Limit of 0 is 24.
type ReactionQuery struct {
	Symbol   string
	Currency string // of the event; empty: any of the symbol's
	Title    string
	After    time.Duration // from the release; a minute to a day
	Limit    int
	Before   time.Time // zero: the time in the market
}

// Reaction is what a price did after an event.
type Reaction struct {
	Event Event
	// Timeframe is that of the bars the prices are from: the shortest of which there is one
	// before the release. Before is the close of the last bar that ended by the release, After that
	// of the last bar that ended by the end of the time that is asked for. Neither is
	// further from its moment than a bar is long, or ten minutes.
	Timeframe     Timeframe
	Before, After float64
	High, Low     float64 // between the two
}

// Move is how far the price went.
func (r Reaction) Move() float64 { return r.After - r.Before }

// gap is how long nothing may have been traded before a release, or at the end of a
// reaction: minutes without a trade are common, hours are a market that is closed.
const gap = 10 * time.Minute

// mostReactions is how many releases one query looks at.
const mostReactions = 100

// Check refuses what cannot be asked.
func (q ReactionQuery) Check() error {
	switch {
	case q.After < time.Minute || q.After > 24*time.Hour:
		return footnote.Errorf(footnote.InvalidRequest, "The time after the event must be a minute to a day.")
	case q.Limit < 0 || q.Limit > mostReactions:
		return footnote.Errorf(footnote.InvalidRequest, "The limit must be 1 to %d.", mostReactions)
	case strings.TrimSpace(q.Title) == "":
		return footnote.Errorf(footnote.InvalidRequest, "Say which event is meant.")
	}
	return nil
}

// Find returns a symbol.
func Find(ctx context.Context, d Data, symbol string) (Symbol, error) {
	all, err := d.Symbols(ctx)
	if err != nil {
		return Symbol{}, err
	}
	for _, s := range all {
		if s.Symbol == symbol {
			return s, nil
		}
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
	if find.Limit == 0 {
		find.Limit = 24
	}
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

// react measures one reaction in the shortest bars there are; ok is false when there
// are none that reach from before the release to the end of the time.
func react(ctx context.Context, d Data, s Symbol, e Event, after time.Duration) (r Reaction, ok bool, err error) {
	end := e.Time.Add(after)
	if end.After(s.To) {
		return r, false, nil // nobody knows yet
	}
	for _, f := range s.Timeframes {
		if f.Length() > after || f.Order() > H1.Order() {
			break
		}
		list, err := d.Candles(ctx, CandleQuery{Symbol: s.Symbol, Timeframe: f, From: e.Time.Add(-f.Length() - near(f)), To: end})
		if err != nil {
			return r, false, err
		}
		if r, known, ok := measure(e, f, end, list); known {
			return r, ok, nil // longer candles would only hide that nothing was traded
		}
	}
	return r, false, nil
}

// near is how far from its moment a price of a reaction may be, in bars of a time frame.
func near(f Timeframe) time.Duration { return max(gap, f.Length()) }

// measure measures a reaction in some candles. Known is whether they have the price before
// the release, and ok whether that at the end, too.
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
	// Where the bars end long before the time does, because of a weekend, this is not what
	// the price did in that time.
	return r, known, known && moved && end.Sub(last) < near(f)
}
