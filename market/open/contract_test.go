// Package open_test tests the contract of market.Store with each database that Footnote has. The expected candles were
// calculated by hand.
package open_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/open"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func TestStore(t *testing.T) {
	places := map[string]func(testing.TB) string{
		"sqlite":   func(tb testing.TB) string { return filepath.Join(tb.TempDir(), "folder", "market.db") },
		"postgres": pgtest.Database,
	}
	tests := map[string]func(*testing.T, market.Store){
		"aggregates":        aggregates,
		"weeks and months":  weeksAndMonths,
		"weekend":           weekend,
		"summer time":       summerTime,
		"several series":    severalSeries,
		"noon":              noon,
		"holes":             holes,
		"any candles":       anyCandles,
		"partial":           partial,
		"ranges and limits": ranges,
		"all or nothing":    atomic,
		"again":             again,
		"refused":           refused,
		"unknown":           unknown,
		"calendar":          calendar,
		"headlines":         headlines,
		"positions":         positions,
		"trades":            trades,
		"reactions":         reactions,
		"at once":           atOnce,
		"ended":             ended,
		"before 1970":       before1970,
	}
	for database, place := range places {
		for name, test := range tests {
			t.Run(database+"/"+name, func(t *testing.T) {
				t.Parallel()
				s, err := open.Store(t.Context(), place(t))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
				test(t, s)
			})
		}
	}
}

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

func bar(when string, open, high, low, last, volume float64) market.Candle {
	return market.Candle{Time: at(when), Open: open, High: high, Low: low, Close: last, Volume: volume}
}

// load adds candles of EURUSD, and creates the symbol if it does not exist.
func load(t *testing.T, s market.Store, tf market.Timeframe, list ...market.Candle) {
	t.Helper()
	with(t, s, func(l market.Load) error {
		if err := l.Symbol(t.Context(), market.Symbol{
			Symbol: "EURUSD", Name: "Euro", Base: "EUR", Quote: "USD", Digits: 5, Synthetic: true,
		}); err != nil {
			return err
		}
		return l.Candles(t.Context(), "EURUSD", tf, list)
	})
}

// with runs one load.
func with(t *testing.T, s market.Store, f func(market.Load) error) {
	t.Helper()
	l, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := f(l); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Rollback(); err != nil {
		t.Fatalf("roll back a committed load: %v", err)
	}
}

// want compares the candles of a query.
func want(t *testing.T, s market.Store, q market.CandleQuery, list ...market.Candle) {
	t.Helper()
	if q.Symbol == "" {
		q.Symbol = "EURUSD"
	}
	got, err := s.Candles(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 && len(list) == 0 {
		return
	}
	if !reflect.DeepEqual(got, list) {
		t.Errorf("%s from %v to %v, %d:\n%v, want\n%v", q.Timeframe, q.From, q.To, q.Limit, got, list)
	}
}

func part(c market.Candle) market.Candle {
	c.Partial = true
	return c
}

// aggregates builds longer bars from minutes: first open, last close, extremes, sum. Missing minutes do not matter.
func aggregates(t *testing.T, s market.Store) {
	load(t, s, market.M1,
		bar("2026-11-19 10:00", 1.10, 1.12, 1.09, 1.11, 10), bar("2026-11-19 10:01", 1.11, 1.15, 1.11, 1.14, 20),
		bar("2026-11-19 10:04", 1.14, 1.14, 1.08, 1.09, 30),
		bar("2026-11-19 10:07", 1.20, 1.21, 1.19, 1.20, 1), bar("2026-11-19 10:31", 1.30, 1.31, 1.25, 1.25, 2),
		bar("2026-11-19 12:59", 1.40, 1.45, 1.40, 1.41, 3))
	want(t, s, market.CandleQuery{Timeframe: market.M5},
		bar("2026-11-19 10:00", 1.10, 1.15, 1.08, 1.09, 60), bar("2026-11-19 10:05", 1.20, 1.21, 1.19, 1.20, 1),
		bar("2026-11-19 10:30", 1.30, 1.31, 1.25, 1.25, 2), bar("2026-11-19 12:55", 1.40, 1.45, 1.40, 1.41, 3))
	want(t, s, market.CandleQuery{Timeframe: market.M15},
		bar("2026-11-19 10:00", 1.10, 1.21, 1.08, 1.20, 61), bar("2026-11-19 10:30", 1.30, 1.31, 1.25, 1.25, 2),
		bar("2026-11-19 12:45", 1.40, 1.45, 1.40, 1.41, 3))
	want(t, s, market.CandleQuery{Timeframe: market.M30},
		bar("2026-11-19 10:00", 1.10, 1.21, 1.08, 1.20, 61), bar("2026-11-19 10:30", 1.30, 1.31, 1.25, 1.25, 2),
		bar("2026-11-19 12:30", 1.40, 1.45, 1.40, 1.41, 3))
	want(t, s, market.CandleQuery{Timeframe: market.H1},
		bar("2026-11-19 10:00", 1.10, 1.31, 1.08, 1.25, 63), bar("2026-11-19 12:00", 1.40, 1.45, 1.40, 1.41, 3))
	want(t, s, market.CandleQuery{Timeframe: market.H4},
		bar("2026-11-19 08:00", 1.10, 1.31, 1.08, 1.25, 63), part(bar("2026-11-19 12:00", 1.40, 1.45, 1.40, 1.41, 3)))
	want(t, s, market.CandleQuery{Timeframe: market.D1}, part(bar("2026-11-19 00:00", 1.10, 1.45, 1.08, 1.41, 66)))
	list, err := s.Symbols(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if m := list[0]; m.Symbol != "EURUSD" || m.Digits != 5 || !m.Synthetic || !m.From.Equal(at("2026-11-19 10:00")) ||
		!m.To.Equal(at("2026-11-19 13:00")) || len(m.Timeframes) != 9 {
		t.Errorf("the symbol is %+v", m)
	}
}

// weeksAndMonths builds weeks, which begin on Monday, and months from days.
func weeksAndMonths(t *testing.T, s market.Store) {
	load(t, s, market.D1,
		bar("2026-02-27 00:00", 1.0, 1.2, 0.9, 1.1, 1),  // a Friday
		bar("2026-03-01 00:00", 1.1, 1.3, 1.1, 1.25, 1), // a Sunday of the same week
		bar("2026-03-02 00:00", 1.25, 1.26, 1.2, 1.21, 1), bar("2026-03-31 00:00", 1.3, 1.5, 1.3, 1.4, 2))
	want(t, s, market.CandleQuery{Timeframe: market.W1},
		bar("2026-02-23 00:00", 1.0, 1.3, 0.9, 1.25, 2), bar("2026-03-02 00:00", 1.25, 1.26, 1.2, 1.21, 1),
		part(bar("2026-03-30 00:00", 1.3, 1.5, 1.3, 1.4, 2)))
	want(t, s, market.CandleQuery{Timeframe: market.MN1},
		bar("2026-02-01 00:00", 1.0, 1.2, 0.9, 1.1, 1), bar("2026-03-01 00:00", 1.1, 1.5, 1.1, 1.4, 4))
	want(t, s, market.CandleQuery{Timeframe: market.H1}) // longer bars are never split
}

// weekend checks that there are no bars for times without trades.
func weekend(t *testing.T, s market.Store) {
	load(t, s, market.H1, bar("2026-11-13 21:00", 1.1, 1.1, 1.1, 1.1, 1),
		bar("2026-11-15 22:00", 1.2, 1.2, 1.2, 1.2, 1), bar("2026-11-16 00:00", 1.3, 1.3, 1.3, 1.3, 1))
	want(t, s, market.CandleQuery{Timeframe: market.H4},
		bar("2026-11-13 20:00", 1.1, 1.1, 1.1, 1.1, 1), bar("2026-11-15 20:00", 1.2, 1.2, 1.2, 1.2, 1),
		part(bar("2026-11-16 00:00", 1.3, 1.3, 1.3, 1.3, 1)))
	want(t, s, market.CandleQuery{Timeframe: market.D1},
		bar("2026-11-13 00:00", 1.1, 1.1, 1.1, 1.1, 1), bar("2026-11-15 00:00", 1.2, 1.2, 1.2, 1.2, 1),
		part(bar("2026-11-16 00:00", 1.3, 1.3, 1.3, 1.3, 1)))
	want(t, s, market.CandleQuery{Timeframe: market.H1, From: at("2026-11-14 00:00"), To: at("2026-11-15 00:00")})
	want(t, s, market.CandleQuery{
		Timeframe: market.H1,
		To:        at("2026-11-15 00:00"),
		Limit:     1,
	}, bar("2026-11-13 21:00", 1.1, 1.1, 1.1, 1.1, 1))
}

// summerTime checks that bars stay aligned to UTC when London and New York change their clocks.
func summerTime(t *testing.T, s market.Store) {
	var list []market.Candle
	for _, day := range []string{"2026-03-29 ", "2026-10-25 ", "2026-11-01 "} {
		for _, hour := range []string{"00:00", "01:00", "02:00", "03:00", "04:00"} {
			list = append(list, bar(day+hour, 1, 1, 1, 1, 1))
		}
	}
	load(t, s, market.H1, list...)
	want(t, s, market.CandleQuery{Timeframe: market.H4},
		bar("2026-03-29 00:00", 1, 1, 1, 1, 4), bar("2026-03-29 04:00", 1, 1, 1, 1, 1),
		bar("2026-10-25 00:00", 1, 1, 1, 1, 4),
		bar("2026-10-25 04:00", 1, 1, 1, 1, 1), bar("2026-11-01 00:00", 1, 1, 1, 1, 4),
		part(bar("2026-11-01 04:00", 1, 1, 1, 1, 1)))
}

// severalSeries uses the shortest candles that cover a time, and longer ones elsewhere; a bar covered by two is one
// bar.
func severalSeries(t *testing.T, s market.Store) {
	load(t, s, market.H1, bar("2026-11-19 08:00", 1.0, 1.5, 0.5, 1.1, 100),
		bar("2026-11-19 09:00", 1.1, 1.2, 1.0, 1.2, 100))
	load(t, s, market.M1, bar("2026-11-19 09:30", 9, 9, 9, 9, 9), // within a stored hour: not counted
		bar("2026-11-19 10:00", 1.2, 1.6, 1.2, 1.3, 7), bar("2026-11-19 11:15", 1.3, 1.3, 0.4, 0.6, 8),
		bar("2026-11-20 01:00", 0.6, 0.7, 0.6, 0.7, 1))
	want(t, s, market.CandleQuery{
		Timeframe: market.H1,
		To:        at("2026-11-19 11:00"),
	}, bar("2026-11-19 08:00", 1.0, 1.5, 0.5, 1.1, 100), bar("2026-11-19 09:00", 1.1, 1.2, 1.0, 1.2, 100),
		bar("2026-11-19 10:00", 1.2, 1.6, 1.2, 1.3, 7))
	want(t, s, market.CandleQuery{Timeframe: market.H4},
		bar("2026-11-19 08:00", 1.0, 1.6, 0.4, 0.6, 215), part(bar("2026-11-20 00:00", 0.6, 0.7, 0.6, 0.7, 1)))
	want(t, s, market.CandleQuery{Timeframe: market.D1},
		bar("2026-11-19 00:00", 1.0, 1.6, 0.4, 0.6, 215), part(bar("2026-11-20 00:00", 0.6, 0.7, 0.6, 0.7, 1)))
	want(t, s, market.CandleQuery{
		Timeframe: market.M5,
		Limit:     1,
		To:        at("2026-11-19 09:35"),
	}, bar("2026-11-19 09:30", 9, 9, 9, 9, 9))
}

// noon loads a day at noon, and later the minutes of its afternoon. The day combines both and is partial until the
// minutes reach its end. Once the minutes continue past it, the day consists of the minutes, also if the next day was
// loaded.
func noon(t *testing.T, s market.Store) {
	load(t, s, market.D1, bar("2026-11-18 00:00", 1.0, 1.3, 0.9, 1.2, 1000),
		bar("2026-11-19 00:00", 1.2, 1.25, 1.15, 1.2, 400))
	want(t, s, market.CandleQuery{Timeframe: market.D1, Limit: 1}, bar("2026-11-19 00:00", 1.2, 1.25, 1.15, 1.2, 400))
	load(t, s, market.M1, bar("2026-11-18 23:59", 1.2, 1.2, 1.2, 1.2, 1),
		bar("2026-11-19 00:00", 1.2, 1.25, 1.15, 1.2, 400), bar("2026-11-19 15:41", 1.2, 1.6, 1.2, 1.5, 50))
	first, second := bar("2026-11-18 00:00", 1.0, 1.3, 0.9, 1.2, 1000),
		bar("2026-11-19 00:00", 1.2, 1.6, 1.15, 1.5, 450)
	want(t, s, market.CandleQuery{Timeframe: market.D1}, first, part(second))
	want(t, s, market.CandleQuery{Timeframe: market.W1}, part(bar("2026-11-16 00:00", 1.0, 1.6, 0.9, 1.5, 1450)))
	if list, err := s.Symbols(t.Context()); err != nil || !list[0].To.Equal(at("2026-11-19 15:42")) {
		t.Errorf("the data ends at %v, %v", list[0].To, err)
	}
	// The day is loaded again after its end, but its minutes still end within the day. It is unknown which of the two
	// is complete.
	load(t, s, market.D1, bar("2026-11-19 00:00", 1.2, 1.7, 1.1, 1.6, 900))
	want(t, s, market.CandleQuery{Timeframe: market.D1, Limit: 1}, part(second))
	// The next day has begun, so this one is complete.
	load(t, s, market.D1, bar("2026-11-20 00:00", 1.6, 1.6, 1.6, 1.6, 1))
	want(t, s, market.CandleQuery{Timeframe: market.D1},
		first, bar("2026-11-19 00:00", 1.2, 1.7, 1.1, 1.6, 900), bar("2026-11-20 00:00", 1.6, 1.6, 1.6, 1.6, 1))
	// The minutes continue past the day, so they are complete, regardless of the order of exports.
	load(t, s, market.M1, bar("2026-11-19 23:59", 1.5, 1.8, 1.5, 1.6, 600),
		bar("2026-11-20 00:00", 1.6, 1.9, 1.6, 1.7, 2))
	want(t, s, market.CandleQuery{Timeframe: market.D1},
		first, bar("2026-11-19 00:00", 1.2, 1.8, 1.15, 1.6, 1050), part(bar("2026-11-20 00:00", 1.6, 1.9, 1.6, 1.7, 2)))
	want(t, s, market.CandleQuery{Timeframe: market.MN1}, part(bar("2026-11-01 00:00", 1.0, 1.9, 0.9, 1.7, 2052)))
}

// holes checks that longer candles fill gaps, including those next to shorter ones, and that shorter candles fill
// gaps between longer ones.
func holes(t *testing.T, s market.Store) {
	day := func(date string, v float64) market.Candle { return bar(date+" 00:00", v, v, v, v, v) }
	load(t, s, market.M1, bar("2026-11-02 00:00", 10, 10, 10, 10, 1), bar("2026-11-03 00:00", 20, 20, 20, 20, 1),
		bar("2026-11-04 11:00", 30, 30, 30, 30, 1),
		bar("2026-11-06 09:00", 40, 40, 40, 40, 1), bar("2026-11-07 00:05", 50, 50, 50, 50, 1),
		bar("2026-11-08 00:00", 60, 60, 60, 60, 1), bar("2026-11-12 00:00", 70, 70, 70, 70, 1))
	load(t, s, market.D1, day("2026-11-02", 2), day("2026-11-03", 3), day("2026-11-04", 4), day("2026-11-05", 5),
		day("2026-11-06", 6), day("2026-11-07", 7), day("2026-11-11", 11), day("2026-11-12", 12))
	minute := func(date string, v float64) market.Candle { return bar(date+" 00:00", v, v, v, v, 1) }
	want(t, s, market.CandleQuery{Timeframe: market.D1},
		minute("2026-11-02", 10), minute("2026-11-03", 20), day("2026-11-04", 4), day("2026-11-05", 5),
		day("2026-11-06", 6),
		minute("2026-11-07", 50), minute("2026-11-08", 60), day("2026-11-11", 11), part(minute("2026-11-12", 70)))
}

// partial checks that exactly those bars are marked partial whose end the data does not reach.
func partial(t *testing.T, s market.Store) {
	load(t, s, market.M1, bar("2026-11-19 10:00", 1, 1, 1, 1, 1), bar("2026-11-19 10:14", 1, 1, 1, 1, 1))
	want(t, s, market.CandleQuery{Timeframe: market.M1, Limit: 1}, bar("2026-11-19 10:14", 1, 1, 1, 1, 1))
	want(t, s, market.CandleQuery{Timeframe: market.M15}, bar("2026-11-19 10:00", 1, 1, 1, 1, 2))
	want(t, s, market.CandleQuery{Timeframe: market.M30}, part(bar("2026-11-19 10:00", 1, 1, 1, 1, 2)))
}

// ranges checks that ranges are half open, and that the newest bars are returned if there are more.
func ranges(t *testing.T, s market.Store) {
	var list []market.Candle
	for i := range 300 {
		list = append(list, market.Candle{
			Time: at("2026-11-02 00:00").Add(time.Duration(i) * time.Hour), Open: float64(i), High: float64(i),
			Low: float64(i), Close: float64(i), Volume: 1,
		})
	}
	load(t, s, market.H1, list...)
	want(t, s, market.CandleQuery{Timeframe: market.H1, From: list[3].Time, To: list[6].Time}, list[3:6]...)
	want(t, s, market.CandleQuery{
		Timeframe: market.H1,
		From:      list[3].Time.Add(1),
		To:        list[6].Time.Add(1),
	}, list[4:7]...)
	want(t, s, market.CandleQuery{Timeframe: market.H1, From: list[3].Time, Limit: 2}, list[298:]...)
	want(t, s, market.CandleQuery{Timeframe: market.H1, To: list[6].Time, Limit: 2}, list[4:6]...)
	want(t, s, market.CandleQuery{Timeframe: market.H1}, list...)
	want(t, s, market.CandleQuery{Timeframe: market.H1, To: list[0].Time})
	want(t, s, market.CandleQuery{Timeframe: market.H1, From: list[299].Time.Add(time.Hour)})
	// The four-hour bar begins before the range, so it is not in it.
	got, err := s.Candles(t.Context(), market.CandleQuery{
		Symbol: "EURUSD", Timeframe: market.H4, From: list[1].Time, To: list[9].Time,
	})
	if err != nil || len(got) != 2 || got[0].Open != 4 || got[1].Close != 11 {
		t.Errorf("two of four hours: %v, %v", got, err)
	}
}

// atomic checks that nothing of a load is visible before its commit, or after a rollback.
func atomic(t *testing.T, s market.Store) {
	load(t, s, market.H1, bar("2026-11-19 10:00", 1, 1, 1, 1, 1))
	l, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		l.Symbol(t.Context(), market.Symbol{Symbol: "USDJPY"}),
		l.Candles(t.Context(), "EURUSD", market.H1, []market.Candle{bar("2026-11-19 11:00", 2, 2, 2, 2, 2)}),
		l.Events(t.Context(), []market.Event{
			{Time: at("2026-11-19 10:00"), Currency: "USD", Title: "x", Impact: "low"},
		}),
		l.Trades(t.Context(), "acme", "ada", []market.Trade{
			{ID: "1", Opened: at("2026-11-19 10:00"), Closed: at("2026-11-19 11:00")},
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	nothing := func(when string) {
		t.Helper()
		want(t, s, market.CandleQuery{Timeframe: market.H1}, bar("2026-11-19 10:00", 1, 1, 1, 1, 1))
		symbols, err1 := s.Symbols(t.Context())
		events, err2 := s.Events(t.Context(), market.EventQuery{})
		trades, err3 := s.Trades(t.Context(), market.TradeQuery{Org: "acme", User: "ada"})
		if len(symbols) != 1 || len(events)+len(trades) != 0 || err1 != nil || err2 != nil || err3 != nil {
			t.Errorf("%s there are %v, %v, %v; %v, %v, %v", when, symbols, events, trades, err1, err2, err3)
		}
	}
	nothing("during a load")
	if err := l.Rollback(); err != nil {
		t.Fatal(err)
	}
	nothing("after a load that was given up")
}

// again replaces existing candles, also in the prebuilt longer bars.
func again(t *testing.T, s market.Store) {
	load(t, s, market.M1, bar("2026-11-19 10:00", 1, 1, 1, 1, 1), bar("2026-11-19 10:01", 1, 5, 1, 2, 1))
	want(t, s, market.CandleQuery{Timeframe: market.H1}, part(bar("2026-11-19 10:00", 1, 5, 1, 2, 2)))
	load(t, s, market.M1, bar("2026-11-19 10:01", 1, 3, 1, 3, 4), bar("2026-11-19 09:59", 7, 7, 7, 7, 1))
	want(t, s, market.CandleQuery{Timeframe: market.H1},
		bar("2026-11-19 09:00", 7, 7, 7, 7, 1), part(bar("2026-11-19 10:00", 1, 3, 1, 3, 5)))
	want(t, s, market.CandleQuery{Timeframe: market.D1}, part(bar("2026-11-19 00:00", 7, 7, 1, 3, 6)))
	with(t, s, func(l market.Load) error { // twice in one load: the last one wins
		return l.Candles(t.Context(), "EURUSD", market.M1, []market.Candle{
			bar("2026-11-19 10:02", 1, 1, 1, 1, 1), bar("2026-11-19 10:02", 2, 2, 2, 2, 2),
		})
	})
	want(t, s, market.CandleQuery{Timeframe: market.M1, Limit: 1}, bar("2026-11-19 10:02", 2, 2, 2, 2, 2))
}

// refused loads invalid candles.
func refused(t *testing.T, s market.Store) {
	load(t, s, market.H1, bar("2026-11-19 10:00", 1, 1, 1, 1, 1))
	for name, c := range map[string]market.Candle{
		"the high": bar("2026-11-19 11:00", 1, 0.9, 0.8, 1, 1), "the low": bar("2026-11-19 11:00", 1, 2, 1.5, 2, 1),
		"volume":       bar("2026-11-19 11:00", 1, 1, 1, 1, -1),
		"NaN":          bar("2026-11-19 11:00", 1, 1, math.NaN(), 1, 1),
		"infinity":     bar("2026-11-19 11:00", 1, math.Inf(1), 1, 1, 1),
		"no beginning": bar("2026-11-19 11:01", 1, 1, 1, 1, 1),
		"the year":     {Time: time.Date(60000, 1, 1, 0, 0, 0, 0, time.UTC), Open: 1, High: 1, Low: 1, Close: 1},
	} {
		l, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Candles(t.Context(), "EURUSD", market.H1, []market.Candle{
			c,
		}); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
		if err := l.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	l, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Rollback()
	if err := l.Symbol(t.Context(), market.Symbol{Symbol: "eur usd"}); footnote.CodeOf(err) != footnote.InvalidRequest {
		t.Errorf("a symbol in lower case: %v", err)
	}
	if err := l.Candles(t.Context(), "NONE", market.H1, []market.Candle{
		bar("2026-11-19 11:00", 1, 1, 1, 1, 1),
	}); footnote.CodeOf(err) != footnote.NotFound {
		t.Errorf("candles of an unknown symbol: %v", err)
	}
}

// unknown checks that the error lists the known symbols.
func unknown(t *testing.T, s market.Store) {
	load(t, s, market.H1)
	for _, q := range []market.CandleQuery{
		{
			Symbol:    "EURUSD",
			Timeframe: "2h",
		},
		{
			Symbol:    "EURUSD",
			Timeframe: market.H1,
			Limit:     market.MaxCandles + 1,
		},
		{Symbol: "EURUSD", Timeframe: market.H1, Limit: -1},
		{Symbol: "EURUSD", Timeframe: market.H1, From: at("2026-11-19 10:00"), To: at("2026-11-19 10:00")},
	} {
		if _, err := s.Candles(t.Context(), q); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for _, symbol := range []string{"", "NONE", "eurusd", "'; DROP TABLE candles; --"} {
		if _, err := s.Candles(t.Context(), market.CandleQuery{
			Symbol:    symbol,
			Timeframe: market.H1,
		}); footnote.CodeOf(err) != footnote.NotFound || !strings.Contains(footnote.MessageOf(err), "EURUSD") {
			t.Errorf("%q: %v", symbol, err)
		}
	}
	want(t, s, market.CandleQuery{Timeframe: market.H1}) // a symbol without candles returns none
	// Invalid text is the caller's mistake, not an unavailable database.
	for _, no := range []string{"\x00", "\xff"} {
		_, err1 := s.Candles(t.Context(), market.CandleQuery{Symbol: no, Timeframe: market.H1})
		_, err2 := s.Events(t.Context(), market.EventQuery{Title: no})
		_, err3 := s.Events(t.Context(), market.EventQuery{Currencies: []string{no}})
		_, err4 := s.Headlines(t.Context(), market.HeadlineQuery{Currencies: []string{no}})
		_, err5 := s.COT(t.Context(), market.COTQuery{Symbol: no})
		_, err6 := s.Trades(t.Context(), market.TradeQuery{Org: "acme", User: "ada", Symbol: no})
		for i, err := range []error{err1, err2, err3, err4, err5, err6} {
			if footnote.CodeOf(err) != footnote.InvalidRequest {
				t.Errorf("%d, %q: %v", i, no, err)
			}
		}
	}
	if list, err := s.COT(t.Context(), market.COTQuery{Symbol: "NONE"}); footnote.CodeOf(err) != footnote.NotFound {
		t.Errorf("positions of an unknown symbol: %v, %v", list, err)
	}
}

func calendar(t *testing.T, s market.Store) {
	day := at("2026-11-19 00:00")
	list := []market.Event{
		{
			Time: day.Add(time.Hour), Currency: "EUR", Title: "A'b", Impact: "low", Actual: new(1.5),
			Forecast: new(0.0), Unit: "%",
		},
		{
			Time: day.Add(2 * time.Hour), Currency: "USD", Title: "CPI y/y", Impact: "high", Previous: new(-2.0),
			Synthetic: true,
		},
		{Time: day.Add(3 * time.Hour), Currency: "JPY", Title: "CPI y/y", Impact: "medium"},
	}
	with(t, s, func(l market.Load) error { return l.Events(t.Context(), list) })
	with(t, s, func(l market.Load) error { return l.Events(t.Context(), list[1:2]) }) // again, without duplicates
	check := func(q market.EventQuery, titles ...int) {
		t.Helper()
		got, err := s.Events(t.Context(), q)
		if err != nil || len(got) != len(titles) {
			t.Fatalf("%+v: %v, %v", q, got, err)
		}
		for i, n := range titles {
			if got[i].ID == 0 {
				t.Errorf("%+v has no id", got[i])
			}
			got[i].ID = 0
			if !reflect.DeepEqual(got[i], list[n]) {
				t.Errorf("%+v: %+v, want %+v", q, got[i], list[n])
			}
		}
	}
	check(market.EventQuery{}, 0, 1, 2)
	check(market.EventQuery{Currencies: []string{"EUR", "USD"}}, 0, 1)
	check(market.EventQuery{Title: "cpi Y/Y"}, 1, 2)
	check(market.EventQuery{Impact: "medium"}, 1, 2)
	check(market.EventQuery{From: day.Add(2 * time.Hour), To: day.Add(3 * time.Hour)}, 1)
	check(market.EventQuery{Limit: 2}, 0, 1)
	check(market.EventQuery{Limit: 2, Newest: true}, 1, 2)
	if _, err := s.Events(t.Context(), market.EventQuery{
		Impact: "huge",
	}); footnote.CodeOf(err) != footnote.InvalidRequest {
		t.Error(err)
	}
}

func headlines(t *testing.T, s market.Store) {
	day := at("2026-11-19 00:00")
	list := []market.Headline{
		{
			Time: day, Source: "a", Title: "one", URL: "https://example.org/1", Currencies: []string{"EUR", "USD"},
			Synthetic: true,
		},
		{Time: day.Add(time.Hour), Source: "a", Title: "two", Currencies: []string{"USD"}},
		{Time: day.Add(2 * time.Hour), Source: "a", Title: "three", Currencies: []string{"EURX"}},
	}
	with(t, s, func(l market.Load) error { return l.Headlines(t.Context(), list) })
	with(t, s, func(l market.Load) error { return l.Headlines(t.Context(), list) })
	check := func(q market.HeadlineQuery, titles ...string) {
		t.Helper()
		got, err := s.Headlines(t.Context(), q)
		if err != nil || len(got) != len(titles) {
			t.Fatalf("%+v: %v, %v", q, got, err)
		}
		for i, title := range titles {
			if got[i].Title != title {
				t.Errorf("%+v: %q, want %q", q, got[i].Title, title)
			}
		}
	}
	check(market.HeadlineQuery{}, "three", "two", "one")
	check(market.HeadlineQuery{Currencies: []string{"EUR"}}, "one")
	check(market.HeadlineQuery{Currencies: []string{"EUR", "USD"}, Limit: 1}, "two")
	check(market.HeadlineQuery{From: day, To: day.Add(time.Hour)}, "one")
	got, err := s.Headlines(t.Context(), market.HeadlineQuery{To: day.Add(1)})
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	got[0].ID = 0
	if !reflect.DeepEqual(got[0], list[0]) {
		t.Errorf("%+v, want %+v", got[0], list[0])
	}
}

func positions(t *testing.T, s market.Store) {
	load(t, s, market.H1)
	var list []market.COTReport
	for i := range 30 {
		d := at("2026-01-06 00:00").AddDate(0, 0, 7*i)
		list = append(list, market.COTReport{
			Symbol: "EURUSD", Date: d, Published: d.AddDate(0, 0, 3), NonCommercialLong: int64(i),
			NonCommercialShort: 5, CommercialLong: 1 << 40, CommercialShort: 2, OpenInterest: 3, Synthetic: true,
		})
	}
	with(t, s, func(l market.Load) error { return l.COT(t.Context(), list) })
	with(t, s, func(l market.Load) error { return l.COT(t.Context(), list[:3]) })
	if got, err := s.COT(t.Context(), market.COTQuery{Symbol: "EURUSD"}); err != nil ||
		!reflect.DeepEqual(got, list[4:]) {
		t.Errorf("reports: %v, %v", got, err)
	}
	// The newest known report is the newest published one.
	if got, err := s.COT(t.Context(), market.COTQuery{Symbol: "EURUSD", To: list[9].Published, Limit: 1}); err != nil ||
		!reflect.DeepEqual(got, list[8:9]) {
		t.Errorf("newest report before its publication: %v, %v", got, err)
	}
}

// trades checks that trades belong to one user of one organisation.
func trades(t *testing.T, s market.Store) {
	day := at("2026-11-19 00:00")
	list := []market.Trade{
		{
			ID: "1", Symbol: "EURUSD", Side: "long", Size: 0.5, Opened: day, Closed: day.Add(time.Hour), Entry: 1.1,
			Exit: 1.2, Stop: 1, Target: 1.3, PnL: -10.25, Currency: "USD", Notes: "a\nb", Synthetic: true,
		},
		{
			ID: "2", Symbol: "USDJPY", Side: "short", Size: 1, Opened: day, Closed: day.Add(2 * time.Hour), PnL: 5,
			Currency: "USD",
		},
		{ID: "3", Symbol: "EURUSD", Side: "long", Size: 1, Opened: day},
	}
	with(t, s, func(l market.Load) error { return l.Trades(t.Context(), "acme", "ada", list) })
	with(t, s, func(l market.Load) error { return l.Trades(t.Context(), "acme", "ada", list[:1]) })
	with(t, s, func(l market.Load) error {
		return l.Trades(t.Context(), "acme", "bob", []market.Trade{
			{ID: "1", Symbol: "EURUSD", Side: "long", Opened: day, Closed: day, PnL: 1e6},
		})
	})
	check := func(q market.TradeQuery, ids ...int) {
		t.Helper()
		got, err := s.Trades(t.Context(), q)
		if err != nil || len(got) != len(ids) {
			t.Fatalf("%+v: %v, %v", q, got, err)
		}
		for i, n := range ids {
			if !reflect.DeepEqual(got[i], list[n]) {
				t.Errorf("%+v: %+v, want %+v", q, got[i], list[n])
			}
		}
	}
	ada := market.TradeQuery{Org: "acme", User: "ada"}
	check(ada, 0, 1)
	check(market.TradeQuery{Org: "acme", User: "ada", Open: true}, 0, 1, 2)
	check(market.TradeQuery{Org: "acme", User: "ada", Symbol: "EURUSD"}, 0)
	check(market.TradeQuery{Org: "acme", User: "ada", From: day.Add(time.Hour), To: day.Add(2 * time.Hour)}, 0)
	check(market.TradeQuery{Org: "acme", User: "ada", Limit: 1}, 1)
	check(market.TradeQuery{Org: "ACME", User: "ada"})
	check(market.TradeQuery{Org: "acme", User: "eve"})
	check(market.TradeQuery{Org: "other", User: "ada"})
	for _, q := range []market.TradeQuery{{}, {Org: "acme"}, {User: "ada"}} {
		if got, err := s.Trades(t.Context(), q); footnote.CodeOf(err) != footnote.InvalidRequest || len(got) != 0 {
			t.Errorf("%+v: %v, %v", q, got, err)
		}
	}
	for _, want := range []int{3, 0} {
		if n, err := s.Forget(t.Context(), "acme", "ada"); err != nil || n != want {
			t.Errorf("forgot %d trades of %d: %v", n, want, err)
		}
	}
	check(market.TradeQuery{Org: "acme", User: "ada", Open: true})
	if got, err := s.Trades(t.Context(), market.TradeQuery{Org: "acme", User: "bob"}); err != nil || len(got) != 1 {
		t.Errorf("bob's: %v, %v", got, err)
	}
}

// clock is a feed that only provides the time.
type clock time.Time

func (c clock) Now(context.Context) (time.Time, error) { return time.Time(c), nil }
func (clock) Price(context.Context, string) (market.Price, error) {
	return market.Price{}, market.Down(market.PriceFeed, "there is none.", nil)
}

// reactions checks that reactions use the shortest candles available at that time: from the close of the last one
// that ended by the release to that of the last one that ended by the end.
func reactions(t *testing.T, s market.Store) {
	load(t, s, market.H1, bar("2026-11-18 12:00", 2, 2, 2, 2, 1), bar("2026-11-18 13:00", 2, 4, 1, 3, 1),
		bar("2026-11-18 14:00", 3, 3, 3, 3, 1))
	load(t, s, market.M1, bar("2026-11-19 13:28", 1.5, 1.5, 1.5, 1.5, 1),
		bar("2026-11-19 13:29", 1.5, 1.6, 1.4, 1.6, 1), bar("2026-11-19 13:30", 1.6, 1.9, 1.6, 1.8, 1),
		bar("2026-11-19 13:31", 1.8, 1.8, 1.2, 1.3, 1), bar("2026-11-19 13:32", 1.3, 9, 1.3, 9, 1))
	with(t, s, func(l market.Load) error {
		return l.Events(t.Context(), []market.Event{
			{Time: at("2026-11-18 13:00"), Currency: "USD", Title: "CPI", Impact: "high"},
			{Time: at("2026-11-19 13:30"), Currency: "USD", Title: "CPI", Impact: "high"},
			{Time: at("2026-11-20 13:30"), Currency: "USD", Title: "CPI", Impact: "high"},
			{Time: at("2026-11-19 13:30"), Currency: "JPY", Title: "CPI", Impact: "high"},
		})
	})
	m := market.New(s, clock(at("2026-11-19 20:00")))
	got, err := m.EventReactions(t.Context(), market.ReactionQuery{
		Symbol: "EURUSD",
		Title:  "cpi",
		After:  2 * time.Minute,
	})
	if err != nil || len(got) != 1 || got[0].Before != 1.6 || got[0].After != 1.3 || got[0].High != 1.9 ||
		got[0].Low != 1.2 || got[0].Timeframe != market.M1 {
		t.Errorf("after two minutes: %+v, %v", got, err)
	}
	got, err = m.EventReactions(t.Context(), market.ReactionQuery{Symbol: "EURUSD", Title: "CPI", After: time.Hour})
	if err != nil || len(got) != 1 || got[0].Before != 2 || got[0].After != 3 || got[0].Timeframe != market.H1 {
		t.Errorf("after an hour: %+v, %v", got, err)
	}
}

// atOnce reads during a load: it sees either the old or the new data.
func atOnce(t *testing.T, s market.Store) {
	load(t, s, market.H1, bar("2026-11-19 10:00", 1, 1, 1, 1, 0))
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				list, err := s.Candles(t.Context(), market.CandleQuery{Symbol: "EURUSD", Timeframe: market.H1})
				if err != nil || len(list) < 1 || list[0].Volume != list[len(list)-1].Volume {
					t.Errorf("half a load: %v, %v", list, err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 10 {
		v := float64(i)
		load(t, s, market.H1, bar("2026-11-19 10:00", 1, 1, 1, 1, v), bar("2026-11-19 11:00", 1, 1, 1, 1, v),
			bar("2026-11-19 12:00", 1, 1, 1, 1, v))
	}
	close(stop)
	readers.Wait()
}

// ended checks the error of a call that was cancelled, or exceeded its deadline.
func ended(t *testing.T, s market.Store) {
	load(t, s, market.H1, bar("2026-11-19 10:00", 1, 1, 1, 1, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := s.Candles(ctx, market.CandleQuery{Symbol: "EURUSD", Timeframe: market.H1}); err == nil ||
		footnote.CodeOf(err) == footnote.MarketUnavailable {
		t.Errorf("the caller left: %v, %v", list, err)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if list, err := s.Candles(ctx, market.CandleQuery{
		Symbol:    "EURUSD",
		Timeframe: market.H1,
	}); footnote.CodeOf(err) != footnote.MarketUnavailable {
		t.Errorf("the time is over: %v, %v", list, err)
	}
}

// before1970 uses times that are negative in Unix seconds.
func before1970(t *testing.T, s market.Store) {
	load(t, s, market.H1, bar("1969-12-28 22:00", 1, 1, 1, 1, 1), bar("1969-12-29 01:00", 2, 2, 2, 2, 1),
		bar("1969-12-31 23:00", 3, 3, 3, 3, 1), bar("1970-01-01 00:00", 4, 4, 4, 4, 1))
	want(t, s, market.CandleQuery{Timeframe: market.H4},
		bar("1969-12-28 20:00", 1, 1, 1, 1, 1), bar("1969-12-29 00:00", 2, 2, 2, 2, 1),
		bar("1969-12-31 20:00", 3, 3, 3, 3, 1), part(bar("1970-01-01 00:00", 4, 4, 4, 4, 1)))
	want(t, s, market.CandleQuery{Timeframe: market.W1},
		bar("1969-12-22 00:00", 1, 1, 1, 1, 1), part(bar("1969-12-29 00:00", 2, 4, 2, 4, 3)))
	want(t, s, market.CandleQuery{Timeframe: market.MN1},
		bar("1969-12-01 00:00", 1, 3, 1, 3, 3), part(bar("1970-01-01 00:00", 4, 4, 4, 4, 1)))
}
