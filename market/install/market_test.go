package install

import (
	"context"
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
	scope := doctor.Scope{Hosts: func(string) []string { return nil }}
	if got := check(t.Context(), c, scope); len(got) != 1 || got[0] != (doctor.OK("market", "1 symbol")) {
		t.Errorf("a loaded market: %v", got)
	}
	missing := filepath.Join(t.TempDir(), "market.db")
	c.Market.Store = config.Secret(missing)
	if got := check(t.Context(), c, scope); len(got) != 1 || got[0].State != "warn" ||
		!strings.Contains(got[0].Detail, "market import") {
		t.Errorf("a missing market: %v", got)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the check created the file")
	}
	if err := os.WriteFile(missing, []byte("this is no database, only some text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := check(t.Context(), c, scope); len(got) != 1 || !got[0].Failed() {
		t.Errorf("no database: %v", got)
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
