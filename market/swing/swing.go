// Package swing finds where a price turned, and the levels at which it did so more than
// once. It is arithmetic over candles: the same candles give the same swings, and every
// price it names is one that a candle has.
package swing

import (
	"cmp"
	"math"
	"slices"

	"github.com/footnotehq/footnote/market"
)

// Swing is a bar whose high or low the bars around it do not pass.
type Swing struct {
	Bar   int // index of the candle
	High  bool
	Price float64 // its high, or its low
}

// Find returns the swings in the order of time. A bar is a swing high when its high is
// above those of the wing bars before it and not below those of the wing bars after it;
// a swing low likewise. So the first of equals counts, and the first and last wing bars
// are none: nobody knows yet what comes after them. A bar may be both; its high is first.
func Find(bars []market.Candle, wing int) []Swing {
	var list []Swing
	for i := wing; wing > 0 && i < len(bars)-wing; i++ {
		high, low := true, true
		for k := 1; k <= wing; k++ {
			high = high && bars[i].High > bars[i-k].High && bars[i].High >= bars[i+k].High
			low = low && bars[i].Low < bars[i-k].Low && bars[i].Low <= bars[i+k].Low
		}
		if high {
			list = append(list, Swing{i, true, bars[i].High})
		}
		if low {
			list = append(list, Swing{i, false, bars[i].Low})
		}
	}
	return list
}

// Turns leaves of swings those at which the direction changed: highs and lows take
// turns, and of several highs in a row the highest is left, of lows the lowest; of
// equals the first. The second swing of one bar is left out, as the order of the two
// within the bar is not known.
func Turns(list []Swing) []Swing {
	var turns []Swing
	for _, s := range list {
		n := len(turns)
		switch {
		case n > 0 && turns[n-1].Bar == s.Bar:
		case n == 0 || turns[n-1].High != s.High:
			turns = append(turns, s)
		case s.High && s.Price > turns[n-1].Price || !s.High && s.Price < turns[n-1].Price:
			turns[n-1] = s
		}
	}
	return turns
}

// Level is a price around which there were swings: the price of that one of them which
// is nearest to their mean, the newest of equals.
type Level struct {
	Price   float64
	At      Swing   // the one with that price
	Touches []Swing // all of them, in the order of time
}

// Levels puts swings together that are no further than apart from the lowest of them,
// and returns the levels they make, the lowest first. Highs and lows count alike: what
// was resistance may have become support.
func Levels(list []Swing, apart float64) []Level {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b Swing) int { return cmp.Compare(a.Price, b.Price) })
	var levels []Level
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].Price-sorted[0].Price <= apart {
			n++
		}
		levels = append(levels, level(sorted[:n]))
		sorted = sorted[n:]
	}
	return levels
}

func level(list []Swing) Level {
	touches := slices.Clone(list)
	slices.SortStableFunc(touches, func(a, b Swing) int { return cmp.Compare(a.Bar, b.Bar) })
	mean := 0.0
	for _, s := range touches {
		mean += s.Price / float64(len(touches))
	}
	at := touches[0]
	for _, s := range touches {
		if math.Abs(s.Price-mean) <= math.Abs(at.Price-mean) {
			at = s
		}
	}
	return Level{Price: at.Price, At: at, Touches: touches}
}

// Beyond are the levels more than gap below a price, or above it, the nearest first.
func Beyond(levels []Level, price, gap float64, above bool) []Level {
	far := func(l Level) float64 {
		if above {
			return l.Price - price
		}
		return price - l.Price
	}
	list := slices.DeleteFunc(slices.Clone(levels), func(l Level) bool { return !(far(l) > gap) })
	slices.SortStableFunc(list, func(a, b Level) int { return cmp.Compare(far(a), far(b)) })
	return list
}

// MeanRange is how far a bar goes from its low to its high, on average.
func MeanRange(bars []market.Candle) float64 {
	sum := 0.0
	for _, b := range bars {
		sum += b.High - b.Low
	}
	return sum / float64(max(1, len(bars)))
}
