// Package bars decides from which stored candles the bars of a time frame are built. The decisions are the same for
// every database; the databases do the aggregation.
//
// For each symbol and time frame there are the candles as loaded, and the bars built from all loaded
// candles. Bars are built when data is loaded, from the shortest time frame to the longest: each time
// frame is built from the bars of the next shorter one, plus those of its own loaded candles that the
// shorter bars do not cover. A query therefore reads only the rows that it returns.
//
// Shorter bars cover a candle if they begin at or before its start and continue past its end. They do not
// cover it if they begin or end within it, for example if an export of minutes begins at noon: then the candle
// counts, which contains the whole day. The exception is the last candle of its time frame. It may have been
// incomplete when it was loaded, so shorter bars that end within it take precedence.
package bars

import (
	"cmp"
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
	Made      bool  // built rather than loaded
	First     int64 // starts of the first and the last bar, in Unix seconds
	Last      int64
}

// end returns the end of the last bar.
func (s Series) end() int64 { return after(s.Timeframe, s.Last) }

func after(f market.Timeframe, start int64) int64 { return f.End(time.Unix(start, 0)).Unix() }

func start(f market.Timeframe, at int64) int64 { return f.Start(time.Unix(at, 0)).Unix() }

// of finds a series; its ID is 0 if there is none.
func of(all []Series, f market.Timeframe, made bool) Series {
	for _, s := range all {
		if s.Timeframe == f && s.Made == made {
			return s
		}
	}
	return Series{}
}

// shown returns the series that queries of a time frame read.
func shown(all []Series, f market.Timeframe) (s Series, ok bool) {
	if s = of(all, f, true); s.ID == 0 {
		s = of(all, f, false)
	}
	return s, s.ID != 0
}

// shorter returns the time frame from which another is built; "" for the shortest.
func shorter(f market.Timeframe) market.Timeframe {
	all := market.Timeframes()
	for i := f.Order() - 1; i >= 0; i-- {
		if all[i].Divides(f) {
			return all[i]
		}
	}
	return ""
}

// Span is a range of time, from the start of a bar to the end of one.
type Span struct{ From, To int64 }

// Join returns the range that covers both; an empty range is ignored.
func (s Span) Join(o Span) Span {
	switch {
	case s.From >= s.To:
		return o
	case o.From >= o.To:
		return s
	}
	return Span{min(s.From, o.From), max(s.To, o.To)}
}

// whole extends a range to whole bars.
func (s Span) whole(f market.Timeframe) Span {
	if s.From >= s.To {
		return Span{}
	}
	return Span{start(f, s.From), after(f, start(f, s.To-1))}
}

// Changes holds the ranges in which candles were loaded, by symbol id.
type Changes map[int64]map[market.Timeframe]Span

// Add records candles to be loaded, and returns the series they form. It returns an error for an invalid candle.
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

// Tables is the part of a database that Make uses: the candles of one symbol, within a load.
type Tables interface {
	// Around extends a range to the last bar of a series before it and the first bar after it.
	Around(ctx context.Context, in Series, s Span) (Span, error)
	// Make rebuilds the built bars of a time frame in a range. It uses the bars of a shorter series, and the bars of
	// the loaded series, if any, that the shorter ones do not cover. It returns the series of the built bars.
	Make(ctx context.Context, f market.Timeframe, shorter, loaded Series, s Span) (Series, error)
}

// Make rebuilds the bars affected by loaded candles. all lists the series of the symbol, and changed the loaded
// ranges.
func Make(ctx context.Context, db Tables, all []Series, changed map[market.Timeframe]Span) error {
	for _, f := range market.Timeframes() {
		below, ok := shown(all, shorter(f))
		if !ok {
			continue // queries read the loaded bars
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

// ends returns the end of the data of a time frame: within its last bar, if shorter bars end there.
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
	Series, From, To int64
	Limit            int
}

// Read answers a query. fetch returns the bars of a window, newest first. Bars that end after the data are partial.
func Read(all []Series, q market.CandleQuery, fetch func(Window) ([]Bar, error)) ([]market.Candle, error) {
	s, ok := shown(all, q.Timeframe)
	if !ok {
		return nil, nil
	}
	w := Window{Series: s.ID, From: s.First, To: s.end(), Limit: cmp.Or(q.Limit, market.MaxCandles)}
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
		out[len(list)-1-i] = market.Candle{Time: time.Unix(b.Time, 0).UTC(), Open: b.Open, High: b.High, Low: b.Low,
			Close: b.Close, Volume: b.Volume, Partial: after(q.Timeframe, b.Time) > end}
	}
	return out, nil
}

// ceil rounds up to a whole second.
func ceil(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }

// Describe fills in the properties of a symbol that follow from its series.
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
