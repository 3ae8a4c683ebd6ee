package demo

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/sqlite"
)

// kept is a load that records its input.
type kept struct {
	symbols []market.Symbol
	candles map[string]map[market.Timeframe][]market.Candle
	events  []market.Event
	news    []market.Headline
	cot     map[string][]market.COTReport
	trades  []market.Trade
	whose   string
}

func (k *kept) Symbol(_ context.Context, s market.Symbol) error {
	k.symbols = append(k.symbols, s)
	return nil
}
func (k *kept) Candles(_ context.Context, symbol string, tf market.Timeframe, list []market.Candle) error {
	if k.candles[symbol] == nil {
		k.candles[symbol] = map[market.Timeframe][]market.Candle{}
	}
	k.candles[symbol][tf] = list
	return nil
}
func (k *kept) Events(_ context.Context, list []market.Event) error {
	k.events = list
	return nil
}
func (k *kept) Headlines(_ context.Context, list []market.Headline) error {
	k.news = list
	return nil
}
func (k *kept) COT(_ context.Context, list []market.COTReport) error {
	k.cot[list[0].Symbol] = list
	return nil
}
func (k *kept) Trades(_ context.Context, org, user string, list []market.Trade) error {
	k.trades, k.whose = list, org+"/"+user
	return nil
}
func (*kept) Commit(context.Context) error { return nil }
func (*kept) Rollback() error              { return nil }

func invent(t *testing.T) *kept {
	t.Helper()
	k := &kept{candles: map[string]map[market.Timeframe][]market.Candle{}, cot: map[string][]market.COTReport{}}
	if err := Load(t.Context(), k, "local", "ann"); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestMarket checks that the data is the same each time, is complete, and marks every row as invented.
func TestMarket(t *testing.T) {
	k := invent(t)
	if !reflect.DeepEqual(k, invent(t)) {
		t.Error("two runs differ")
	}
	if len(k.symbols) != 4 || len(k.trades) != 300 || k.whose != "local/ann" || len(k.cot) != 4 ||
		len(k.cot["EURUSD"]) < 140 || len(k.events) < 600 || len(k.news) < 50 {
		t.Errorf("%d symbols, %d trades of %s, %d reports, %d events, %d headlines", len(k.symbols), len(k.trades),
			k.whose, len(k.cot["EURUSD"]), len(k.events), len(k.news))
	}
	for _, s := range k.symbols {
		if !s.Synthetic {
			t.Errorf("%s is not marked", s.Symbol)
		}
		c := k.candles[s.Symbol]
		if n := len(c[market.M1]); n < 42*1440*9/10 || c[market.M1][0].Time.After(Ends.AddDate(0, 0, -59)) {
			t.Errorf("%s has %d minutes from %s", s.Symbol, n, c[market.M1][0].Time)
		}
		if n := len(c[market.H1]); n < 3*250*24 || c[market.H1][0].Time.After(Ends.AddDate(-3, 0, 3)) {
			t.Errorf("%s has %d hours from %s", s.Symbol, n, c[market.H1][0].Time)
		}
		checkBars(t, s, c)
	}
	ahead := 0
	for _, e := range k.events {
		if !e.Synthetic || (e.Actual == nil) != !e.Time.Before(Ends) {
			t.Errorf("event: %+v", e)
		}
		if e.Time.After(Ends) && e.Time.Before(Ends.Add(24*time.Hour)) {
			ahead++
		}
	}
	if ahead == 0 {
		t.Error("the calendar has no future events")
	}
	for _, h := range k.news {
		if !h.Synthetic || !strings.Contains(h.Source, "synthetic") || h.Time.After(Ends) {
			t.Errorf("headline: %+v", h)
		}
	}
	last := 0
	for _, tr := range k.trades {
		if !tr.Synthetic || tr.Closed.After(Ends) || tr.Closed.Before(tr.Opened) {
			t.Errorf("trade: %+v", tr)
		}
		if tr.Closed.Month() == time.October && tr.Closed.Year() == 2026 {
			last++
		}
	}
	if last < 5 {
		t.Errorf("%d trades in the last month", last)
	}
}

// checkBars checks that bars are valid and in order, and that none are on a weekend.
func checkBars(t *testing.T, s market.Symbol, c map[market.Timeframe][]market.Candle) {
	t.Helper()
	loc := place(inNewYork)
	for f, list := range c {
		for i, b := range list {
			if err := b.Check(f); err != nil {
				t.Fatalf("%s %s %s: %v", s.Symbol, f, b.Time, err)
			}
			if i > 0 && !list[i-1].Time.Before(b.Time) || f.End(b.Time).After(Ends) {
				t.Fatalf("%s %s: %s is out of order or not complete", s.Symbol, f, b.Time)
			}
			local := b.Time.In(loc)
			if f != market.D1 &&
				(local.Weekday() == time.Saturday || local.Weekday() == time.Friday && local.Hour() >= 17 ||
					local.Weekday() == time.Sunday && local.Hour() < 17) {
				t.Fatalf("%s %s: %s is on a weekend", s.Symbol, f, b.Time)
			}
		}
	}
}

// TestMarketAgrees computes hours and days from the minutes in the database, and compares them with the loaded ones.
func TestMarketAgrees(t *testing.T) {
	k := invent(t)
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "market.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		l.Symbol(t.Context(), k.symbols[0]),
		l.Candles(t.Context(), "EURUSD", market.M1, k.candles["EURUSD"][market.M1]), l.Commit(t.Context()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []market.Timeframe{market.H1, market.D1} {
		got, err := s.Candles(t.Context(), market.CandleQuery{
			Symbol:    "EURUSD",
			Timeframe: f,
			From:      Ends.AddDate(0, 0, -50).Truncate(24 * time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		loaded := k.candles["EURUSD"][f]
		if !got[len(got)-1].Partial {
			t.Errorf("the last of %s is complete", f)
		}
		got = got[:len(got)-1]
		if want := loaded[len(loaded)-len(got):]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the %d computed bars differ from the loaded ones", f, len(got))
		}
	}
}
