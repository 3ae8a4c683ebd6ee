package market

import (
	"context"
	"math"
	"sync"
	"time"
)

// Replay is a Feed that plays what is stored: the candle of a symbol that ends last, again
// and again from its open over its extremes to its close. The time in it stands still at
// the end of the data, so that "today" is the day in which the data ends.
type Replay struct {
	Data Data
	// Clock is the clock by which it plays; nil: time.Now.
	Clock func() time.Time

	mu   sync.Mutex // guards below
	ends time.Time  // where the data ends; zero: it is not known, or there is none
	err  error      // why it is not
	next time.Time  // before which it is not looked for again
}

// lap is how long one bar is played.
const lap = time.Minute

func (r *Replay) clock() time.Time {
	if r.Clock == nil {
		return time.Now()
	}
	return r.Clock()
}

// keep is how long the end of the data is believed, and rest how long data that cannot be
// read is left alone: those who ask meanwhile do not wait for it one after the other.
const (
	keep = 5 * time.Second
	rest = time.Second
)

// Now implements Feed: where the data ends; while that cannot be read, where it did. Without
// any data it is the clock's.
func (r *Replay) Now(ctx context.Context) (time.Time, error) {
	r.mu.Lock()
	if now := r.clock(); now.Before(r.next) {
		defer r.mu.Unlock()
		return r.ends, r.err
	} else if !r.ends.IsZero() {
		r.next = now.Add(rest) // until this look is over it is what it was
	}
	r.mu.Unlock()
	symbols, err := r.Data.Symbols(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	switch {
	case err != nil && r.ends.IsZero():
		if ctx.Err() == nil { // or it is this caller's error alone
			r.err, r.next = err, now.Add(rest)
		}
		return time.Time{}, err
	case err != nil:
		r.next = now.Add(rest)
		return r.ends, nil
	}
	r.ends, r.err, r.next = time.Time{}, nil, time.Time{}
	for _, s := range symbols {
		if s.To.After(r.ends) {
			r.ends = s.To
		}
	}
	if r.ends.IsZero() {
		return now.UTC(), nil
	}
	r.next = now.Add(keep)
	return r.ends, nil
}

// Price implements Feed.
func (r *Replay) Price(ctx context.Context, symbol string) (Price, error) {
	symbols, err := r.Data.Symbols(ctx)
	if err != nil {
		return Price{}, err
	}
	for _, s := range symbols {
		if s.Symbol != symbol {
			continue
		}
		c, end, err := r.newest(ctx, s)
		if err != nil {
			return Price{}, err
		}
		if end.IsZero() {
			return Price{}, Down(PriceFeed, "there are no candles to replay.", nil)
		}
		return r.play(s, c, end), nil
	}
	return Price{}, Unknown(symbol, symbols)
}

// newest is the candle that ends last, and when it does: not always one of the shortest, as
// the longer ones may go on behind those. Nothing is played of a bar that is not over.
func (r *Replay) newest(ctx context.Context, s Symbol) (c Candle, end time.Time, err error) {
	for _, f := range s.Timeframes {
		list, err := r.Data.Candles(ctx, CandleQuery{Symbol: s.Symbol, Timeframe: f, Limit: 1})
		if err != nil {
			return c, end, err
		}
		if len(list) == 1 && !list[0].Partial && f.End(list[0].Time).After(end) {
			c, end = list[0], f.End(list[0].Time)
		}
		if !end.Before(s.To) {
			break
		}
	}
	return c, end, nil
}

// play is the price within a bar at this moment of the lap. Its time is the end of the bar,
// so that one whose symbol has no newer data is an old one.
func (r *Replay) play(s Symbol, c Candle, end time.Time) Price {
	at := float64(r.clock().UnixMilli()%lap.Milliseconds()) / float64(lap.Milliseconds())
	stops := [4]float64{c.Open, c.Low, c.High, c.Close}
	if c.Close < c.Open {
		stops = [4]float64{c.Open, c.High, c.Low, c.Close}
	}
	leg := min(int(at*3), 2)
	mid := stops[leg] + (stops[leg+1]-stops[leg])*(at*3-float64(leg))
	point := math.Pow10(-s.Digits)
	half := 0.0 // candles have no spread
	if s.Synthetic {
		half = point * 5
	}
	round := func(p float64) float64 { return math.Round(p/point) / math.Round(1/point) }
	return Price{Symbol: s.Symbol, Bid: round(mid - half), Ask: round(mid + half), Time: end, Synthetic: s.Synthetic, Replay: true}
}
