package open_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/footnotehq/footnote/market"
)

// anyCandles loads random candles of random time frames, in random order and repeatedly. It compares the bars
// of all time frames with bars computed from all candles at once, by the rules in docs/market.md.
func anyCandles(t *testing.T, s market.Store) {
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		name := fmt.Sprintf("S%d", n)
		stored := candlesOf{}
		for range rapid.IntRange(1, 4).Draw(r, "loads") {
			f := rapid.SampledFrom(market.Timeframes()).Draw(r, "time frame")
			var list []market.Candle
			for range rapid.IntRange(1, 12).Draw(r, "candles") {
				at := time.Date(2026, 2, 20, 0, 0, 0, 0,
					time.UTC).Add(time.Duration(rapid.IntRange(0, 20*1440).Draw(r, "minute")) * time.Minute)
				list = append(list, candle(r, f.Start(at)))
			}
			stored.add(f, list)
			with(t, s, func(l market.Load) error {
				if err := l.Symbol(t.Context(), market.Symbol{Symbol: name}); err != nil {
					return err
				}
				half := len(list) / 2 // a load may arrive in parts
				if err := l.Candles(t.Context(), name, f, list[:half]); err != nil {
					return err
				}
				return l.Candles(t.Context(), name, f, list[half:])
			})
		}
		for _, f := range market.Timeframes() {
			want := stored.bars(f)
			got, err := s.Candles(t.Context(), market.CandleQuery{Symbol: name, Timeframe: f})
			if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
				r.Fatalf("%s: %v, %v, want\n%v\nof %v", f, got, err, want, stored)
			}
			if len(want) == 0 {
				continue
			}
			from := want[rapid.IntRange(0, len(want)-1).Draw(r, "from")].Time
			limit := rapid.IntRange(1, 5).Draw(r, "limit")
			want = slices.DeleteFunc(want, func(c market.Candle) bool { return c.Time.Before(from) })
			got, err = s.Candles(t.Context(), market.CandleQuery{Symbol: name, Timeframe: f, From: from, Limit: limit})
			if want = want[max(0, len(want)-limit):]; err != nil || !reflect.DeepEqual(got, want) {
				r.Fatalf("%s, %d from %v: %v, %v, want\n%v", f, limit, from, got, err, want)
			}
		}
	})
}

// candle returns a random candle, possibly with negative prices and no volume.
func candle(r *rapid.T, at time.Time) market.Candle {
	p := rapid.SliceOfN(rapid.IntRange(-50, 50), 4, 4).Draw(r, "prices")
	c := market.Candle{
		Time: at, Open: float64(p[0]), Close: float64(p[1]), High: float64(slices.Max(p)), Low: float64(slices.Min(p)),
	}
	c.Volume = float64(rapid.IntRange(0, 9).Draw(r, "volume"))
	return c
}

// candlesOf holds the loaded candles by time frame and time.
type candlesOf map[market.Timeframe]map[time.Time]market.Candle

func (s candlesOf) add(f market.Timeframe, list []market.Candle) {
	if s[f] == nil {
		s[f] = map[time.Time]market.Candle{}
	}
	for _, c := range list {
		s[f][c.Time] = c
	}
}

// bars returns the bars of a time frame; those that end after the data are partial.
func (s candlesOf) bars(f market.Timeframe) []market.Candle {
	list := s.shown(f)
	for i := range list {
		list[i].Partial = f.End(list[i].Time).After(s.ends(f))
	}
	return list
}

// shorter returns the next shorter time frame that divides another; "" for the shortest.
func shorter(f market.Timeframe) market.Timeframe {
	switch f {
	case market.M1:
		return ""
	case market.MN1:
		return market.D1
	}
	return market.Timeframes()[f.Order()-1]
}

func (s candlesOf) shown(f market.Timeframe) []market.Candle {
	if f == "" {
		return nil
	}
	made := map[time.Time]market.Candle{}
	small := s.shown(shorter(f))
	for _, c := range small {
		at := f.Start(c.Time)
		b, there := made[at]
		if !there {
			b = market.Candle{Time: at, Open: c.Open, High: c.High, Low: c.Low}
		}
		b.High, b.Low, b.Close, b.Volume = max(b.High, c.High), min(b.Low, c.Low), c.Close, b.Volume+c.Volume
		made[at] = b
	}
	own := ordered(s[f])
	for i, c := range own {
		if !covered(f, small, own, i) {
			made[c.Time] = c
		}
	}
	return ordered(made)
}

// covered reports whether shorter bars cover a candle: they begin at or before its start and, unless it is the last
// candle, continue past its end. Bars that begin earlier must include one since the start of the previous candle; bars
// that continue must include one before the end of the next candle.
func covered(f market.Timeframe, small, own []market.Candle, i int) bool {
	begin, end := own[i].Time, f.End(own[i].Time)
	has := func(from, to time.Time) bool {
		return slices.ContainsFunc(small, func(c market.Candle) bool {
			return !c.Time.Before(from) && c.Time.Before(to)
		})
	}
	since, until := time.Time{}, time.Time{}
	if i > 0 {
		since = own[i-1].Time
	}
	last := i == len(own)-1
	if !last {
		until = f.End(own[i+1].Time)
	}
	return has(begin, end) && (has(begin, begin.Add(1)) || has(since, begin)) && (last || has(end, until))
}

func (s candlesOf) ends(f market.Timeframe) time.Time {
	own, small := s.shown(f), s.shown(shorter(f))
	if n := len(small); n > 0 && !small[n-1].Time.Before(own[len(own)-1].Time) {
		return s.ends(shorter(f))
	}
	return f.End(own[len(own)-1].Time)
}

func ordered(m map[time.Time]market.Candle) []market.Candle {
	var list []market.Candle
	for _, c := range m {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b market.Candle) int { return a.Time.Compare(b.Time) })
	return list
}
