package market

import (
	"context"
	"math"
	"sync"
	"time"
)

// Replay is a Feed that replays stored data: it repeats the candle of a symbol that ends last, from its open through
// its extremes to its close. Its time stands still at the end of the data, so "today" is the day on which the data
// ends.
type Replay struct {
	Data Data
	// Clock drives the replay; nil: time.Now.
	Clock func() time.Time

	mu   sync.Mutex // guards below
	ends time.Time  // end of the data; zero: unknown, or no data
	err  error      // why the end is unknown
	next time.Time  // time of the next look at the data
}

// lap is the time to play one bar.
const lap = time.Minute

func (r *Replay) clock() time.Time {
	if r.Clock == nil {
		return time.Now()
	}
	return r.Clock()
}

// keep is how long the known end of the data stays valid, and rest is the pause after data could not be read, so that
// callers do not wait for it one after another.
const (
	keep = 5 * time.Second
	rest = time.Second
)

// Now implements Feed. It returns the end of the data, or the last known end while the data cannot be read. Without
// any data it returns the clock's time.
func (r *Replay) Now(ctx context.Context) (time.Time, error) {
	r.mu.Lock()
	if now := r.clock(); now.Before(r.next) {
		defer r.mu.Unlock()
		return r.ends, r.err
	} else if !r.ends.IsZero() {
		r.next = now.Add(rest) // until this read ends, callers get the old value
	}
	r.mu.Unlock()
	symbols, err := r.Data.Symbols(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	switch {
	case err != nil && r.ends.IsZero():
		if ctx.Err() == nil { // otherwise the error is this caller's alone
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
	s, err := Find(ctx, r.Data, symbol)
	if err != nil {
		return Price{}, err
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

// newest returns the candle that ends last, and its end. It is not always one of the shortest time frame,
// because longer ones may continue after those. It never returns a bar that has not ended.
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

// play returns the price within a bar at this moment of the lap. The time of the price is the end of the bar, so that
// the price of a symbol without newer data is old.
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
	return Price{
		Symbol: s.Symbol, Bid: round(mid - half), Ask: round(mid + half), Time: end, Synthetic: s.Synthetic,
		Replay: true,
	}
}
