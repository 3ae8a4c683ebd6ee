package market_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/footnotehq/footnote/market"
)

func utc(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

// stats summarises all trades of a list as one group.
func stats(trades []market.Trade) market.TradeStats {
	all, _ := market.StatsBy(context.Background(), trades, func(market.Trade) []bool { return []bool{true} })
	return all[true]
}

// TestStats summarises eight trades with results calculated by hand: 10, 20, -5.5, 0, -30.1, -4.4, 50 and 0.01, in
// the order in which they were closed.
func TestStats(t *testing.T) {
	var list []market.Trade
	for i, pnl := range []float64{10, 20, -5.5, 0, -30.1, -4.4, 50, 0.01} {
		at := utc("2026-11-02 10:00").AddDate(0, 0, i)
		list = append(list, market.Trade{PnL: pnl, Opened: at.Add(-time.Hour), Closed: at})
	}
	list = append(list, market.Trade{PnL: 1000, Opened: utc("2026-11-01 10:00")}) // still open
	list[0], list[6] = list[6], list[0]                                           // the order of the list is irrelevant
	s := stats(list)
	f, ok := s.ProfitFactor()
	if s.Trades != 8 || s.Wins != 4 || s.Losses != 3 || s.WinRate() != 0.5 || s.Net != 40.01 || s.Profit != 80.01 ||
		s.Loss != -40 || math.Abs(f-2.00025) > 1e-12 || !ok {
		t.Errorf("sums are %+v", s)
	}
	if s.Best != 50 || s.Worst != -30.1 || s.LongestWin != 2 || s.LongestLoss != 2 || s.Streak != 2 {
		t.Errorf("streaks are %+v", s)
	}
	// From 30 after the second trade to -10 after the sixth.
	if s.MaxDrawdown != 40 || !s.DrawdownFrom.Equal(utc("2026-11-03 10:00")) ||
		!s.DrawdownTo.Equal(utc("2026-11-07 10:00")) {
		t.Errorf("the drawdown is %v from %v to %v", s.MaxDrawdown, s.DrawdownFrom, s.DrawdownTo)
	}
	if _, ok := stats(nil).ProfitFactor(); ok {
		t.Error("a profit factor without losses")
	}
}

// TestSessions uses dates around the clock changes, which differ between the cities.
func TestSessions(t *testing.T) {
	for at, want := range map[string]string{
		"2026-01-14 03:00": market.Tokyo, "2026-01-14 08:00": market.London, // before Tokyo closes at 9
		"2026-01-14 12:59": market.London, "2026-01-14 13:00": market.Overlap, "2026-01-14 17:00": market.NewYork,
		"2026-01-14 22:00": market.Between,
		"2026-07-15 07:00": market.London, "2026-07-15 12:00": market.Overlap, "2026-07-15 16:00": market.NewYork,
		"2026-07-15 21:00": market.Between,
		"2026-03-18 12:00": market.Overlap, // New York is already on summer time, London is not
		"2026-03-04 12:00": market.London,
		"2026-10-28 12:30": market.Overlap, "2026-11-04 12:30": market.London, // the reverse
		"2026-11-21 10:00": market.Between, // a Saturday
		"2026-11-22 23:30": market.Between, "2026-11-23 00:00": market.Tokyo,
	} {
		if got := market.Session(utc(at)); got != want {
			t.Errorf("%s is in %s, want %s", at, got, want)
		}
	}
}

// TestSummarise compares with a mean, a median and a hit rate calculated by hand.
func TestSummarise(t *testing.T) {
	r := func(actual, before, after float64) market.Reaction {
		return market.Reaction{Event: market.Event{Actual: &actual, Forecast: new(2.0)}, Before: before, After: after}
	}
	list := []market.Reaction{r(3, 10, 14), r(1, 10, 9), r(2, 10, 12), r(3, 10, 7)}
	if s := market.Summarise(list, 1); s.N != 4 || s.Mean != 0.5 || s.Median != 0.5 || s.MeanAbs != 2.5 || s.Up != 2 ||
		s.Surprises != 3 || s.Hits != 2 {
		t.Errorf("Summarise: %+v", s)
	}
	if s := market.Summarise(list[:3], -1); s.Median != 2 || s.Hits != 0 {
		t.Errorf("Summarise: %+v", s)
	}
}

// TestTimeframes compares with bar starts read from a calendar.
func TestTimeframes(t *testing.T) {
	at := time.Date(2026, 3, 1, 23, 59, 59, 0, time.FixedZone("", 2*3600)) // a Sunday: 21:59:59 UTC
	for f, want := range map[market.Timeframe][2]string{
		market.M1: {"2026-03-01 21:59", "2026-03-01 22:00"}, market.M5: {"2026-03-01 21:55", "2026-03-01 22:00"},
		market.M15: {"2026-03-01 21:45", "2026-03-01 22:00"},
		market.M30: {"2026-03-01 21:30", "2026-03-01 22:00"}, market.H1: {"2026-03-01 21:00", "2026-03-01 22:00"},
		market.H4: {"2026-03-01 20:00", "2026-03-02 00:00"},
		market.D1: {"2026-03-01 00:00", "2026-03-02 00:00"}, market.W1: {"2026-02-23 00:00", "2026-03-02 00:00"},
		market.MN1: {"2026-03-01 00:00", "2026-04-01 00:00"},
	} {
		if start := f.Start(at); !start.Equal(utc(want[0])) || !f.End(start).Equal(utc(want[1])) {
			t.Errorf("%s of %s is %s to %s", f, at, start, f.End(start))
		}
	}
	if start := market.W1.Start(utc("1969-12-31 10:00")); !start.Equal(utc("1969-12-29 00:00")) {
		t.Errorf("the last week of 1969 begins at %s", start)
	}
}

// TestRandomStats compares sums of random trades with exact ones.
func TestRandomStats(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		digits := rapid.IntRange(0, 8).Draw(r, "digits")
		unit := new(big.Rat).SetFrac64(1, int64(math.Pow10(digits)))
		var list []market.Trade
		var pnl []*big.Rat
		for i := range rapid.IntRange(1, 60).Draw(r, "trades") {
			v := new(big.Rat).Mul(unit, big.NewRat(rapid.Int64Range(-5_000_000, 5_000_000).Draw(r, "units"), 1))
			if rapid.IntRange(0, 5).Draw(r, "nothing") == 0 {
				v = new(big.Rat)
			}
			pnl = append(pnl, v)
			at := utc("2026-11-02 10:00").Add(time.Duration(i) * time.Minute)
			f, _ := v.Float64()
			list = append(list, market.Trade{PnL: f, Opened: at, Closed: at.Add(time.Hour)})
		}
		want := exact(pnl)
		got := stats(rapid.Permutation(list).Draw(r, "order"))
		names := []string{"net", "profit", "loss", "drawdown"}
		for i, v := range []float64{got.Net, got.Profit, got.Loss, got.MaxDrawdown} {
			if f, _ := want.sums[i].Float64(); v != f {
				r.Errorf("%s is %v, want %s", names[i], v, want.sums[i].FloatString(9))
			}
		}
		if counts := [6]int{
			got.Trades, got.Wins, got.Losses, got.LongestWin, got.LongestLoss, got.Streak,
		}; counts != want.counts {
			r.Errorf("%v, want %v", counts, want.counts)
		}
	})
}

// sums holds the exact sums of results in time order. It checks every possible drawdown.
type sums struct {
	sums   [4]*big.Rat // net, profit, loss, the largest drawdown
	counts [6]int      // trades, wins, losses, the longest streaks of both, the last streak
}

func exact(pnl []*big.Rat) sums {
	s := sums{sums: [4]*big.Rat{new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat)}}
	s.counts[0] = len(pnl)
	signs := ""
	for i, v := range pnl {
		s.sums[0].Add(s.sums[0], v)
		switch v.Sign() {
		case 1:
			s.sums[1].Add(s.sums[1], v)
		case -1:
			s.sums[2].Add(s.sums[2], v)
		}
		signs += string("-0+"[v.Sign()+1])
		fall := new(big.Rat)
		for j := i; j >= 0; j-- { // the loss from before trade j to after trade i
			if fall.Sub(fall, pnl[j]); fall.Cmp(s.sums[3]) > 0 {
				s.sums[3].Set(fall)
			}
		}
	}
	s.counts[1], s.counts[2] = strings.Count(signs, "+"), strings.Count(signs, "-")
	for n := 1; n <= len(pnl); n++ {
		if strings.Contains(signs, strings.Repeat("+", n)) {
			s.counts[3] = n
		}
		if strings.Contains(signs, strings.Repeat("-", n)) {
			s.counts[4] = n
		}
		if strings.HasSuffix(signs, strings.Repeat("+", n)) {
			s.counts[5] = n
		} else if strings.HasSuffix(signs, strings.Repeat("-", n)) {
			s.counts[5] = -n
		}
	}
	return s
}

// TestRandomSummaries compares the summary of random reactions with a simple count.
func TestRandomSummaries(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		moves := rapid.SliceOfN(rapid.IntRange(-20, 20), 1, 40).Draw(r, "moves")
		surprises := rapid.SliceOfN(rapid.IntRange(-2, 2), len(moves), len(moves)).Draw(r, "surprises")
		var list []market.Reaction
		sum, size, up, surprised, hits := 0, 0, 0, 0, 0
		for i, m := range moves {
			list = append(list, market.Reaction{
				Before: 100,
				After:  float64(100 + m),
				Event:  market.Event{Forecast: new(5.0), Actual: new(float64(5 + surprises[i]))},
			})
			sum, size = sum+m, size+max(m, -m)
			if m > 0 {
				up++
			}
			if surprises[i] != 0 {
				surprised++
			}
			if surprises[i] > 0 && m < 0 || surprises[i] < 0 && m > 0 { // for the quote currency
				hits++
			}
		}
		n := float64(len(moves))
		below, above := 0, 0
		s := market.Summarise(list, -1)
		for _, m := range moves {
			if float64(m) < s.Median {
				below++
			}
			if float64(m) > s.Median {
				above++
			}
		}
		if s.N != len(moves) || math.Abs(s.Mean-float64(sum)/n) > 1e-9 || math.Abs(s.MeanAbs-float64(size)/n) > 1e-9 ||
			s.Up != up || s.Surprises != surprised || s.Hits != hits ||
			2*below > len(moves) || 2*above > len(moves) {
			r.Errorf("%+v of %v and %v", s, moves, surprises)
		}
	})
}

// TestStatsStopWhenCancelled checks that a cancelled call stops adding up.
func TestStatsStopWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller left")
	list := make([]market.Trade, 50_000)
	for i := range list {
		list[i] = market.Trade{Opened: utc("2026-11-02 10:00"), Closed: utc("2026-11-02 11:00")}
	}
	asked := 0
	_, err := market.StatsBy(ctx, list, func(market.Trade) []int {
		if asked++; asked == 10 {
			cancel(gone)
		}
		return nil
	})
	if !errors.Is(err, gone) || asked > 1000 {
		t.Errorf("%v after %d trades", err, asked)
	}
}
