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
	_ "time/tzdata" // sessions are hours of cities, also on machines without time zones
)

// TradeStats are what closed trades add up to. Money is in one currency.
type TradeStats struct {
	Trades, Wins, Losses int // what ended at nothing is neither
	Net, Profit, Loss    float64
	Best, Worst          float64
	LongestWin           int // trades in a row, in the order in which they were closed
	LongestLoss          int
	Streak               int     // the last ones: positive of wins, negative of losses
	MaxDrawdown          float64 // the furthest that the sum of all trades fell from its highest
	DrawdownFrom         time.Time
	DrawdownTo           time.Time
	peak                 float64
	peakAt               time.Time
	places               int // digits after the point of the sums
}

// WinRate is the share of trades that won.
func (s TradeStats) WinRate() float64 { return share(float64(s.Wins), float64(s.Trades)) }

// ProfitFactor is what was won for each unit that was lost; ok is false when nothing
// was.
func (s TradeStats) ProfitFactor() (f float64, ok bool) {
	return share(s.Profit, -s.Loss), s.Loss < 0
}

func share(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Average is what a trade brought.
func (s TradeStats) Average() float64 {
	return s.round(share(s.Net, float64(s.Trades)), max(2, s.places))
}

// round keeps as many digits as the trades have: sums of fractions are a little off.
func (TradeStats) round(v float64, places int) float64 {
	scale := math.Pow10(places)
	return math.Round(v*scale) / scale
}

// places is how many digits after the point the results of trades have: two of dollars, and
// eight of some coins. Those behind are the computer's.
func places(trades []Trade) int {
	most := 0
	for _, t := range trades {
		_, digits, _ := strings.Cut(strconv.FormatFloat(t.PnL, 'f', -1, 64), ".")
		most = max(most, len(digits))
	}
	return min(most, 8)
}

// Stats adds up the closed ones of some trades. It reads them in the order in which they
// were closed, and changes nothing of the list.
func Stats(trades []Trade) TradeStats {
	all, _ := StatsBy(context.Background(), trades, func(Trade) []bool { return []bool{true} }) // nobody ends it
	return all[true]
}

// StatsBy is Stats of parts of the trades; each trade may be of several.
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

// The sessions in which a trade can begin.
const (
	Tokyo   = "Tokyo"
	London  = "London"
	Overlap = "London and New York"
	NewYork = "New York"
	Between = "between sessions"
)

// Sessions are all sessions, in the order of the day.
func Sessions() []string { return []string{Tokyo, London, Overlap, NewYork, Between} }

// city is a session's place and its hours of the day there.
type city struct {
	name     string
	loc      *time.Location
	from, to int
}

var cities = sync.OnceValue(func() []city {
	place := func(zone string) *time.Location {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			panic(err) // it is linked in
		}
		return loc
	}
	return []city{{Tokyo, place("Asia/Tokyo"), 9, 18}, {London, place("Europe/London"), 8, 17}, {NewYork, place("America/New_York"), 8, 17}}
})

// Session is in which session a moment lies: the hours from 8 to 17 in London and in New
// York and from 9 to 18 in Tokyo, each by the clocks of the city, from Monday to Friday
// there. What is in London and in New York is of neither; London comes before Tokyo.
func Session(t time.Time) string {
	in := map[string]bool{}
	for _, c := range cities() {
		local := t.In(c.loc)
		workday := local.Weekday() != time.Saturday && local.Weekday() != time.Sunday
		in[c.name] = workday && local.Hour() >= c.from && local.Hour() < c.to
	}
	switch {
	case in[London] && in[NewYork]:
		return Overlap
	case in[NewYork]:
		return NewYork
	case in[London]:
		return London
	case in[Tokyo]:
		return Tokyo
	}
	return Between
}

// Summary is what reactions have in common. Moves are in the symbol's price.
type Summary struct {
	N            int
	Mean, Median float64
	MeanAbs      float64
	Up           int // moves up
	// Surprises is how many releases were not as forecast, and Hits of how many the price
	// went where Direction expects it to.
	Surprises, Hits int
}

// Summarise adds up reactions. Direction says whether the symbol is expected to rise (1)
// or fall (-1) when a release is above its forecast.
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
