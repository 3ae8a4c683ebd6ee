package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/markettest"
	"github.com/footnotehq/footnote/market/sqlite"
)

// TestDoctorChecksMarket checks a loaded market, a missing one, and a file that is not a database.
func TestDoctorChecksMarket(t *testing.T) {
	var c config.Config
	c.Market.Store = config.Secret(markettest.Small(t))
	examine := func() (got doctor.Report) {
		got.Hosts = func(string) []string { return nil }
		check(t.Context(), c, &got)
		return got
	}
	loaded := doctor.Check{What: "market", State: "ok", Detail: "1 symbol"}
	if got := examine().Checks; len(got) != 1 || got[0] != loaded {
		t.Errorf("a loaded market: %v", got)
	}
	missing := filepath.Join(t.TempDir(), "market.db")
	c.Market.Store = config.Secret(missing)
	if got := examine().Checks; len(got) != 1 || got[0].State != "warn" ||
		!strings.Contains(got[0].Detail, "market import") {
		t.Errorf("a missing market: %v", got)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the check created the file")
	}
	if err := os.WriteFile(missing, []byte("this is no database, only some text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := examine(); len(got.Checks) != 1 || !got.Failed() {
		t.Errorf("no database: %v", got.Checks)
	}
}

// TestMarketReopensAfterFailure checks that a database that is unavailable at first is reported, and is read once it is
// there.
func TestMarketReopensAfterFailure(t *testing.T) {
	folder := t.TempDir()
	there := false
	l := newLazyMarket(func(ctx context.Context) (market.Store, error) {
		if !there {
			return nil, market.Down(market.Database, "its disk is full.", nil)
		}
		return sqlite.Open(ctx, filepath.Join(folder, "market.db"))
	})
	if _, err := l.Symbols(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "The market database is down: its disk is full.") {
		t.Fatal(err)
	}
	there = true
	l.mu.Lock()
	l.next = time.Time{} // the pause is over
	l.mu.Unlock()
	if list, err := l.Symbols(t.Context()); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Symbols(t.Context()); err == nil {
		t.Fatal("a closed market answers")
	}
}

// TestCandleCheck checks a market without candles, one that is down, and one into which candles are loaded meanwhile.
func TestCandleCheck(t *testing.T) {
	ctx := t.Context()
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "market.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	load := func(add func(market.Load) error) {
		t.Helper()
		l, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(add(l), l.Commit(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	c := newCandleCheck(s)
	if c.any(ctx) {
		t.Error("an empty market has candles")
	}
	load(func(l market.Load) error {
		return l.Symbol(ctx, market.Symbol{Symbol: "EURUSD", Base: "EUR", Quote: "USD"})
	})
	if c.any(ctx) {
		t.Error("a symbol without candles has candles")
	}
	load(func(l market.Load) error {
		return l.Candles(ctx, "EURUSD", market.H1, []market.Candle{
			{Time: markettest.Begins, Open: 1.1, High: 1.2, Low: 1, Close: 1.1},
		})
	})
	if !c.any(ctx) {
		t.Error("loaded candles are not found")
	}
	down := newLazyMarket(func(context.Context) (market.Store, error) {
		return nil, market.Down(market.Database, "its disk is full.", nil)
	})
	defer down.close()
	if !newCandleCheck(down).any(ctx) {
		t.Error("a market that is down counts as empty")
	}
}
