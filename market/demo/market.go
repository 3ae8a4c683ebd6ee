// Package demo invents the demo's market: symbols, candles, releases, headlines and trades, the same ones each time.
package demo

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
	_ "time/tzdata"

	"github.com/footnotehq/footnote/market"
)

// Ends is the end of the demo's market data. It is in the middle of a trading day, so that the newest
// bars of all but the shortest time frames are partial, and some releases are still ahead.
var Ends = time.Date(2026, time.November, 19, 15, 42, 0, 0, time.UTC)

// The period covered by each time frame.
const (
	minuteDays = 60
	hourYears  = 3
)

// pair is one symbol of the demo, and the parameters of its price.
type pair struct {
	symbol market.Symbol
	price  float64 // mean price
	swing  float64 // amplitude, as a fraction
	day    float64 // daily volatility, as a fraction
	volume float64 // ticks in a busy minute
}

var pairs = []pair{
	{symbol("EURUSD", "Euro / US dollar", 5), 1.10, 0.05, 0.0045, 120},
	{symbol("GBPUSD", "Pound sterling / US dollar", 5), 1.28, 0.05, 0.0050, 100},
	{symbol("USDJPY", "US dollar / Japanese yen", 3), 149, 0.07, 0.0055, 110},
	{symbol("XAUUSD", "Gold / US dollar", 2), 2650, 0.18, 0.0090, 150},
}

func symbol(pair, name string, digits int) market.Symbol {
	return market.Symbol{Symbol: pair, Name: name, Base: pair[:3], Quote: pair[3:], Digits: digits, Synthetic: true}
}

// seed returns a random generator for one part of the market, independent of the other parts.
func seed(part string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(part)) // never fails
	return rand.New(rand.NewPCG(20_261_121, h.Sum64()))
}

func place(zone string) *time.Location {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		panic(err) // the time zones are linked in
	}
	return loc
}

// trading reports whether currencies trade in the hour that begins at t: from Sunday 17:00 to Friday 17:00 in New
// York, except at Christmas and New Year.
func trading(t time.Time, loc *time.Location) bool {
	local := t.In(loc)
	day, hour := local.Weekday(), local.Hour()
	switch {
	case day == time.Saturday, day == time.Sunday && hour < 17, day == time.Friday && hour >= 17:
		return false
	}
	_, month, date := t.Date()
	return !(month == time.December && date == 25 || month == time.January && date == 1)
}

// activity is the relative activity of each hour of the day, in UTC.
var activity = [24]float64{
	0.60, 0.65, 0.60, 0.50, 0.45, 0.55, 0.80, 1.10, 1.25, 1.15, 1.00, 0.95,
	1.15, 1.50, 1.60, 1.50, 1.15, 0.85, 0.70, 0.65, 0.50, 0.35, 0.40, 0.50,
}

// candles holds the bars of a pair: minutes of the last days, hours and days of the whole period. They are consistent
// with each other.
type candles struct {
	minutes, hours, days []market.Candle
}

// prices generates the bars of a pair. shocks maps minutes to price moves, as a fraction of the price.
func (p pair) prices(shocks map[int64]float64) candles {
	r, loc := seed("prices "+p.symbol.Symbol), place(inNewYork)
	from := time.Date(Ends.Year()-hourYears, Ends.Month(), Ends.Day(), 0, 0, 0, 0, time.UTC)
	fine := Ends.AddDate(0, 0, -minuteDays).Truncate(24 * time.Hour)
	var c candles
	phase := [3]float64{r.Float64() * 2 * math.Pi, r.Float64() * 2 * math.Pi, r.Float64() * 2 * math.Pi}
	x := math.Log(p.price) + p.swing*r.NormFloat64()/3
	last := p.round(math.Exp(x))
	calm := 1.0 // current volatility: it comes in spells
	for hour := from; hour.Before(Ends); hour = hour.Add(time.Hour) {
		if !trading(hour, loc) {
			continue
		}
		days := hour.Sub(from).Hours() / 24
		goal := math.Log(p.price) +
			p.swing*(0.6*math.Sin(days/400*2*math.Pi+phase[0])+0.3*math.Sin(days/97*2*math.Pi+phase[1])+
				0.1*math.Sin(days/29*2*math.Pi+phase[2]))
		calm = math.Exp(0.98*math.Log(calm) + 0.06*r.NormFloat64())
		sigma := p.day / math.Sqrt(1440) * activity[hour.Hour()] * calm
		step := 10 // minutes; coarse steps are enough where only hours are kept
		if !hour.Before(fine) {
			step = 1
		}
		var bar market.Candle
		for m := 0; m < 60; m += step {
			at := hour.Add(time.Duration(m) * time.Minute)
			if !at.Before(Ends) {
				break
			}
			shock := 0.0
			for i := range step {
				shock += shocks[at.Unix()+int64(i)*60]
			}
			one := p.walk(r, &x, goal, sigma, shock, last, float64(step))
			one.Time, last = at, one.Close
			bar = grow(bar, one, hour)
			if step == 1 {
				c.minutes = append(c.minutes, one)
			}
		}
		c.hours = append(c.hours, bar)
	}
	c.days = daily(c.hours)
	return c
}

// daily aggregates hours to days.
func daily(hours []market.Candle) []market.Candle {
	var days []market.Candle
	for _, h := range hours {
		day := h.Time.Truncate(24 * time.Hour)
		if n := len(days); n > 0 && days[n-1].Time.Equal(day) {
			days[n-1] = grow(days[n-1], h, day)
		} else {
			days = append(days, grow(market.Candle{}, h, day))
		}
	}
	return days
}

// walk generates one bar of a number of minutes, starting at a price.
func (p pair) walk(r *rand.Rand, x *float64, goal, sigma, shock, open, minutes float64) market.Candle {
	sigma *= math.Sqrt(minutes)
	*x += 0.00003*minutes*(goal-*x) + sigma*r.NormFloat64() + shock
	c := market.Candle{Open: open, Close: p.round(math.Exp(*x))}
	reach := p.price * sigma * 0.4
	c.High = p.round(max(c.Open, c.Close) + reach*r.ExpFloat64())
	c.Low = p.round(min(c.Open, c.Close) - reach*r.ExpFloat64())
	busy := sigma * math.Sqrt(1440*minutes) / p.day
	c.Volume = math.Round(p.volume * busy * (0.6 + 0.8*r.Float64() + 200*math.Abs(shock)))
	return c
}

// whole drops the last bar if the data ends within it: readers build it from shorter ones.
func whole(list []market.Candle, f market.Timeframe) []market.Candle {
	if n := len(list); n > 0 && f.End(list[n-1].Time).After(Ends) {
		return list[:n-1]
	}
	return list
}

func (p pair) round(price float64) float64 { return round(price, p.symbol.Digits) }

func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}

// grow adds a bar to a longer bar that begins at a given time.
func grow(c, next market.Candle, begin time.Time) market.Candle {
	if c.Time.IsZero() {
		next.Time = begin
		return next
	}
	c.High, c.Low, c.Close = max(c.High, next.High), min(c.Low, next.Low), next.Close
	c.Volume += next.Volume
	return c
}

// Load loads the demo's market: prices, calendar, headlines, positions of large traders, and a journal of
// trades that belongs to one user. All data is invented, and every row says so. Every run loads the same data.
func Load(ctx context.Context, l market.Load, org, user string) error {
	events := calendar()
	var journal []candles
	for _, p := range pairs {
		c := p.prices(shocks(p, events))
		journal = append(journal, c)
		if err := l.Symbol(ctx, p.symbol); err != nil {
			return err
		}
		for _, part := range []struct {
			tf   market.Timeframe
			list []market.Candle
		}{{market.M1, c.minutes}, {market.H1, whole(c.hours, market.H1)}, {market.D1, whole(c.days, market.D1)}} {
			if err := l.Candles(ctx, p.symbol.Symbol, part.tf, part.list); err != nil {
				return fmt.Errorf("%s of %s: %w", part.tf, p.symbol.Symbol, err)
			}
		}
		if err := l.COT(ctx, p.positions(c.days)); err != nil {
			return err
		}
	}
	if err := l.Events(ctx, events); err != nil {
		return err
	}
	if err := l.Headlines(ctx, headlines(events, journal)); err != nil {
		return err
	}
	return l.Trades(ctx, org, user, trades(journal))
}
