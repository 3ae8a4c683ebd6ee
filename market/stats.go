package market

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // sessions are defined in local time, also on machines without time zone data
)

// TradeStats summarises closed trades. Money is in one currency.
type TradeStats struct {
	Trades, Wins, Losses int // a result of zero is neither a win nor a loss
	Net, Profit, Loss    float64
	Best, Worst          float64
	LongestWin           int // consecutive trades, in closing order
	LongestLoss          int
	Streak               int     // the current streak: positive for wins, negative for losses
	MaxDrawdown          float64 // largest fall of the cumulative result from its peak
	DrawdownFrom         time.Time
	DrawdownTo           time.Time
	peak                 float64
	peakAt               time.Time
	places               int // decimal places of the sums
}

// WinRate returns the fraction of trades that won.
func (s TradeStats) WinRate() float64 { return share(float64(s.Wins), float64(s.Trades)) }

// ProfitFactor returns the profit per unit of loss; ok is false if there was no loss.
func (s TradeStats) ProfitFactor() (f float64, ok bool) {
	return share(s.Profit, -s.Loss), s.Loss < 0
}

func share(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Average returns the mean result of a trade.
func (s TradeStats) Average() float64 {
	return s.round(share(s.Net, float64(s.Trades)), max(2, s.places))
}

// round rounds to the decimal places of the trades: sums of fractions are slightly off.
func (TradeStats) round(v float64, places int) float64 {
	scale := math.Pow10(places)
	return math.Round(v*scale) / scale
}

// places returns the decimal places of the results of trades: two for dollars, eight for some coins. Further digits
// are floating-point noise.
func places(trades []Trade) int {
	most := 0
	for _, t := range trades {
		_, digits, _ := strings.Cut(strconv.FormatFloat(t.PnL, 'f', -1, 64), ".")
		most = max(most, len(digits))
	}
	return min(most, 8)
}

// StatsBy summarises the closed trades of each group, in the order in which they were closed. A trade may belong to
// several groups. StatsBy does not modify the list.
func StatsBy[K comparable](ctx context.Context, trades []Trade, parts func(Trade) []K) (map[K]TradeStats, error) {
	list := closed(trades)
	digits := places(list)
	sums := map[K]TradeStats{}
	for i, t := range list {
		if i%1000 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for _, k := range parts(t) {
			s := sums[k]
			s.places = digits
			s.add(t)
			sums[k] = s
		}
	}
	return sums, nil
}

func closed(trades []Trade) []Trade {
	list := slices.DeleteFunc(slices.Clone(trades), func(t Trade) bool { return t.Closed.IsZero() })
	slices.SortStableFunc(list, func(a, b Trade) int {
		return cmp.Or(a.Closed.Compare(b.Closed), a.Opened.Compare(b.Opened), cmp.Compare(a.ID, b.ID))
	})
	return list
}

func (s *TradeStats) add(t Trade) {
	if s.Trades == 0 {
		s.Best, s.Worst, s.peakAt = t.PnL, t.PnL, t.Opened
	}
	s.Trades++
	s.Best, s.Worst = max(s.Best, t.PnL), min(s.Worst, t.PnL)
	s.Net = s.round(s.Net+t.PnL, s.places)
	switch {
	case t.PnL > 0:
		s.Wins++
		s.Profit = s.round(s.Profit+t.PnL, s.places)
		s.Streak = max(s.Streak, 0) + 1
	case t.PnL < 0:
		s.Losses++
		s.Loss = s.round(s.Loss+t.PnL, s.places)
		s.Streak = min(s.Streak, 0) - 1
	default:
		s.Streak = 0
	}
	s.LongestWin, s.LongestLoss = max(s.LongestWin, s.Streak), max(s.LongestLoss, -s.Streak)
	if s.Net > s.peak {
		s.peak, s.peakAt = s.Net, t.Closed
	}
	if fall := s.round(s.peak-s.Net, s.places); fall > s.MaxDrawdown {
		s.MaxDrawdown, s.DrawdownFrom, s.DrawdownTo = fall, s.peakAt, t.Closed
	}
}

// The sessions in which a trade can start.
const (
	Tokyo   = "Tokyo"
	London  = "London"
	Overlap = "London and New York"
	NewYork = "New York"
	Between = "between sessions"
)

// Sessions returns all sessions in the order of the day.
func Sessions() []string { return []string{Tokyo, London, Overlap, NewYork, Between} }

// city is the city of a session, with its local hours.
type city struct {
	name     string
	loc      *time.Location
	from, to int
}

var cities = sync.OnceValue(func() []city {
	place := func(zone string) *time.Location {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			panic(err) // the time zones are linked in
		}
		return loc
	}
	return []city{
		{Tokyo, place("Asia/Tokyo"), 9, 18},
		{London, place("Europe/London"), 8, 17}, {NewYork, place("America/New_York"), 8, 17},
	}
})

// Session returns the session of a moment: 8 to 17 in London and in New York and 9 to 18 in Tokyo, in each city's
// local time, from Monday to Friday there. The overlap of London and New York belongs to neither; London takes
// precedence over Tokyo.
func Session(t time.Time) string {
	session := Between
	for _, c := range cities() { // in order of precedence, the lowest first
		local := t.In(c.loc)
		workday := local.Weekday() != time.Saturday && local.Weekday() != time.Sunday
		switch {
		case !workday || local.Hour() < c.from || local.Hour() >= c.to:
		case c.name == NewYork && session == London:
			session = Overlap
		default:
			session = c.name
		}
	}
	return session
}

// Summary summarises reactions. Moves are in the symbol's price.
type Summary struct {
	N            int
	Mean, Median float64
	MeanAbs      float64
	Up           int // number of moves up
	// Surprises counts the releases that differed from the forecast, and Hits those after which the price moved in
	// the direction that Direction predicts.
	Surprises, Hits int
}

// Summarise summarises reactions. direction is 1 if the symbol should rise, and -1 if it should fall, when a release
// is above its forecast.
func Summarise(list []Reaction, direction int) Summary {
	s := Summary{N: len(list)}
	moves := make([]float64, 0, len(list))
	for _, r := range list {
		m := r.Move()
		moves = append(moves, m)
		s.Mean += m / float64(len(list))
		s.MeanAbs += math.Abs(m) / float64(len(list))
		if m > 0 {
			s.Up++
		}
		e := r.Event
		if e.Actual == nil || e.Forecast == nil || *e.Actual == *e.Forecast {
			continue
		}
		s.Surprises++
		if (*e.Actual-*e.Forecast)*m*float64(direction) > 0 {
			s.Hits++
		}
	}
	slices.Sort(moves)
	if n := len(moves); n > 0 {
		s.Median = (moves[(n-1)/2] + moves[n/2]) / 2
	}
	return s
}
