package drawing

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/footnotehq/footnote/market"
)

// Crossing holds the closes on the other side of a line than the last close before the line was placed.
type Crossing struct {
	Above  bool // whether these closes are above the line
	Closes int
	First  time.Time // start of the candle with the first of these closes
}

// IsLine reports whether closes can cross d.
func (d *Drawing) IsLine() bool { return d.IsLevel() || d.Type == Trendline }

// Crossed returns the crossing of a line by the candles that have ended. ok is false if d is not a line, or if the
// candles do not reach back to the time when it was placed. The web app computes the same, with the same test cases.
func Crossed(d *Drawing, timeframe market.Timeframe, candles []market.Candle, now time.Time) (c Crossing, ok bool) {
	price := priceAt(d, axis{timeframe, candles})
	if price == nil || len(candles) == 0 || d.Placed.Before(timeframe.End(candles[0].Time)) {
		return c, false
	}
	side := 0 // of the closes before the line was placed
	for i, candle := range candles {
		end := timeframe.End(candle.Time)
		if end.After(now) {
			break
		}
		line := price(i)
		if math.IsNaN(line) {
			continue
		}
		switch gap := cmp.Compare(candle.Close, line); {
		case !end.After(d.Placed) || side == 0:
			side = cmp.Or(gap, side)
		case gap == -side:
			if c.Closes == 0 {
				c.Above, c.First = gap > 0, candle.Time
			}
			c.Closes++
		}
	}
	return c, true
}

// priceAt returns a function that returns the price of a line at a candle, or NaN where the line does not reach. It
// returns nil if d is not a line, or if the candles do not reach back to the points of a trendline.
func priceAt(d *Drawing, x axis) func(i int) float64 {
	within := func(from, to float64, price func(i float64) float64) func(int) float64 {
		return func(i int) float64 {
			if at := float64(i); at >= from && at <= to {
				return price(at)
			}
			return math.NaN()
		}
	}
	switch {
	case len(x.candles) == 0:
		return nil
	case d.IsLevel():
		from := math.Inf(-1)
		if d.Type == HorizontalRay {
			from = x.index(d.Anchors[0].Time)
		}
		return within(from, math.Inf(1), func(float64) float64 { return d.Level() })
	case d.Type != Trendline || slices.ContainsFunc(d.Anchors, x.before):
		return nil
	}
	a, b := d.Anchors[0], d.Anchors[1]
	p, q := x.index(a.Time), x.index(b.Time)
	if p == q {
		return nil
	}
	from, to := min(p, q), max(p, q)
	switch d.Extend {
	case "extended":
		from, to = math.Inf(-1), math.Inf(1)
	case "ray":
		to = math.Inf(1)
	}
	return within(from, to, func(i float64) float64 { return a.Price + (b.Price-a.Price)*(i-p)/(q-p) })
}

// axis is the horizontal axis of a chart. It counts candles, so that weekends take no space.
type axis struct {
	timeframe market.Timeframe
	candles   []market.Candle
}

// before reports whether an anchor lies before the first candle.
func (x axis) before(a Anchor) bool { return a.Time < x.candles[0].Time.Unix() }

// index returns the position of a time: 0 before the first candle; after the last one, the positions continue at the
// pace of the timeframe.
func (x axis) index(unix int64) float64 {
	i, exact := slices.BinarySearchFunc(x.candles, unix, func(c market.Candle, t int64) int {
		return cmp.Compare(c.Time.Unix(), t)
	})
	if exact || i == 0 {
		return float64(i)
	}
	before := x.candles[i-1].Time
	next := before.Add(min(x.timeframe.Length(), 30*24*time.Hour)) // the chart draws months with 30 days
	if i < len(x.candles) {
		next = x.candles[i].Time
	}
	return float64(i-1) + float64(unix-before.Unix())/next.Sub(before).Seconds()
}
