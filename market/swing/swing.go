// Package swing finds the prices at which the direction turned, and the levels at which it did so more than once. It
// is pure arithmetic over candles: the same candles give the same swings, and every price it returns is the price of
// a candle.
package swing

import (
	"cmp"
	"math"
	"slices"

	"github.com/footnotehq/footnote/market"
)

// Swing is a bar whose high or low is an extreme among the bars around it.
type Swing struct {
	Bar   int // index of the candle
	High  bool
	Price float64 // its high or its low
}

// Find returns the swings in time order. A bar is a swing high if its high is above those of the wing bars before it
// and not below those of the wing bars after it; a swing low is the reverse. So the first of equal bars counts. The
// first and last wing bars never count, because their neighbours are unknown. A bar may be both; its high comes
// first.
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

// Turns returns the swings at which the direction changed: highs and lows alternate. Of consecutive highs it keeps
// the highest, of lows the lowest, and of equals the first. It omits the second swing of a bar, because the order of
// the two within the bar is unknown.
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

// Level is a price with swings around it: the price of the swing closest to their mean, the newest of equals.
type Level struct {
	Price   float64
	At      Swing   // the swing with that price
	Touches []Swing // all swings in time order
}

// Levels groups swings that are at most apart from the lowest of their group, and returns the resulting
// levels, lowest first. Highs and lows count alike: a resistance may have become a support.
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

// Beyond returns the levels more than gap below a price, or above it, nearest first.
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

// MeanRange returns the mean difference between the high and the low of a bar.
func MeanRange(bars []market.Candle) float64 {
	sum := 0.0
	for _, b := range bars {
		sum += b.High - b.Low
	}
	return sum / float64(max(1, len(bars)))
}
