// Package bars decides of which stored candles the bars of a time frame are made. What it
// decides is the same for every database; the databases add up.
//
// Of a symbol and a time frame there are the candles as they were loaded, and the bars that
// are made of all that was. They are made when data is loaded, from the shortest time
// frame to the longest: each is made of the bars of the next shorter one, and where
// candles of its own were loaded, of those that the shorter ones do not cover. So a query
// reads the rows that it shows and no others.
//
// Shorter bars cover a candle when they begin by its beginning and go on behind it. They
// do not when they begin or end within it, as where an export of minutes begins at noon:
// then the candle counts, which has the whole day. But when it is the last of its kind
// nobody knows whether it was complete when it was loaded, and it gives way to shorter ones
// that end within it.
package bars

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/footnotehq/footnote/market"
)

// Series is the bars of one symbol and time frame.
type Series struct {
	ID        int64
	Timeframe market.Timeframe
	Made      bool  // or it was loaded
	First     int64 // the beginnings of its first and its last bar, in Unix seconds
	Last      int64
}

// end is the end of the last bar.
func (s Series) end() int64 { return after(s.Timeframe, s.Last) }

func after(f market.Timeframe, start int64) int64 { return f.End(time.Unix(start, 0)).Unix() }

func start(f market.Timeframe, at int64) int64 { return f.Start(time.Unix(at, 0)).Unix() }

// of finds a series; its ID is 0 where there is none.
func of(all []Series, f market.Timeframe, made bool) Series {
	for _, s := range all {
		if s.Timeframe == f && s.Made == made {
			return s
		}
	}
	return Series{}
}

// shown is the series whose bars are those of a time frame.
func shown(all []Series, f market.Timeframe) (s Series, ok bool) {
	if s = of(all, f, true); s.ID == 0 {
		s = of(all, f, false)
	}
	return s, s.ID != 0
}

// shorter is the time frame of whose bars those of another are made; "" for the shortest.
func shorter(f market.Timeframe) market.Timeframe {
	all := market.Timeframes()
	for i := f.Order() - 1; i >= 0; i-- {
		if all[i].Divides(f) {
			return all[i]
		}
	}
	return ""
}

// Span is a range of time, from the beginning of a bar to the end of one.
type Span struct{ From, To int64 }

// Join is the range that holds two; an empty one is none.
func (s Span) Join(o Span) Span {
	switch {
	case s.From >= s.To:
		return o
	case o.From >= o.To:
		return s
	}
	return Span{min(s.From, o.From), max(s.To, o.To)}
}

// whole is a range in whole bars.
func (s Span) whole(f market.Timeframe) Span {
	if s.From >= s.To {
		return Span{}
	}
	return Span{start(f, s.From), after(f, start(f, s.To-1))}
}

// Changes are the ranges in which candles were loaded, of symbols by their ids.
type Changes map[int64]map[market.Timeframe]Span

// Add notes candles that are to be loaded, and returns the series they make; or says which
// of them cannot be.
func (c Changes) Add(symbol int64, f market.Timeframe, list []market.Candle) (Series, error) {
	s := Series{Timeframe: f, First: math.MaxInt64, Last: math.MinInt64}
	for _, k := range list {
		if err := k.Check(f); err != nil {
			return s, err
		}
		s.First, s.Last = min(s.First, k.Time.Unix()), max(s.Last, k.Time.Unix())
	}
	if c[symbol] == nil {
		c[symbol] = map[market.Timeframe]Span{}
	}
	c[symbol][f] = c[symbol][f].Join(Span{s.First, s.end()})
	return s, nil
}

// Tables is what Make needs of a database: the candles of one symbol, within a load.
type Tables interface {
	// Around widens a range by the last bar of a series before it and the first behind it.
	Around(ctx context.Context, in Series, s Span) (Span, error)
	// Make replaces the bars of a time frame that are made, in a range: first by those of a
	// shorter series, and then by those of the loaded one, if there is any, which the
	// shorter ones do not cover. It returns the series of what is made.
	Make(ctx context.Context, f market.Timeframe, shorter, loaded Series, s Span) (Series, error)
}

// Make makes anew what candles that were loaded have changed, given all series of their
// symbol and the ranges of what was loaded.
func Make(ctx context.Context, db Tables, all []Series, changed map[market.Timeframe]Span) error {
	for _, f := range market.Timeframes() {
		below, ok := shown(all, shorter(f))
		if !ok {
			continue // what was loaded is what is shown
		}
		s := changed[f].Join(changed[below.Timeframe].whole(f))
		if s == (Span{}) {
			continue
		}
		loaded, made := of(all, f, false), of(all, f, true)
		if loaded.ID != 0 {
			if made.ID == 0 {
				s = Span{below.First, below.end()}.whole(f).Join(Span{loaded.First, loaded.end()})
			}
			var err error
			if s, err = db.Around(ctx, loaded, s); err != nil { // whether these are covered may have changed, too
				return err
			}
		}
		now, err := db.Make(ctx, f, below, loaded, s)
		if err != nil {
			return err
		}
		all = append(slices.DeleteFunc(slices.Clone(all), func(o Series) bool { return o.ID == now.ID }), now)
		changed[f] = s
	}
	return nil
}

// ends is where the data of a time frame does: within its last bar, when there are
// shorter ones in that.
func ends(all []Series, f market.Timeframe) int64 {
	s, ok := shown(all, f)
	if !ok {
		return 0
	}
	if below, ok := shown(all, shorter(f)); ok && below.Last >= s.Last {
		return ends(all, below.Timeframe)
	}
	return s.end()
}

// Bar is a row.
type Bar struct {
	Time                           int64
	Open, High, Low, Close, Volume float64
}

// Window is what a query reads: the newest Limit bars of a series that begin in [From, To).
type Window struct {
	Series   int64
	From, To int64
	Limit    int
}

// Read answers a query: fetch gives the bars of a window, the newest first. Those that end
// after the data does are partial.
func Read(all []Series, q market.CandleQuery, fetch func(Window) ([]Bar, error)) ([]market.Candle, error) {
	s, ok := shown(all, q.Timeframe)
	if !ok {
		return nil, nil
	}
	w := Window{Series: s.ID, From: s.First, To: s.end(), Limit: q.Limit}
	if w.Limit == 0 {
		w.Limit = market.MaxCandles
	}
	if !q.From.IsZero() {
		w.From = ceil(q.From)
	}
	if !q.To.IsZero() {
		w.To = ceil(q.To)
	}
	list, err := fetch(w)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	end := ends(all, q.Timeframe)
	out := make([]market.Candle, len(list))
	for i, b := range list {
		out[len(list)-1-i] = market.Candle{Time: time.Unix(b.Time, 0).UTC(), Open: b.Open, High: b.High, Low: b.Low, Close: b.Close, Volume: b.Volume,
			Partial: after(q.Timeframe, b.Time) > end}
	}
	return out, nil
}

// ceil is the first whole second that is not before a moment.
func ceil(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// Describe sets what a symbol's series say of it.
func Describe(m *market.Symbol, all []Series) {
	for _, f := range market.Timeframes() {
		if _, ok := shown(all, f); !ok {
			continue
		}
		m.Timeframes = append(m.Timeframes, f)
		if end := time.Unix(ends(all, f), 0).UTC(); end.After(m.To) {
			m.To = end
		}
	}
	for _, s := range all {
		if begin := time.Unix(s.First, 0).UTC(); !s.Made && (m.From.IsZero() || begin.Before(m.From)) {
			m.From = begin
		}
	}
}
