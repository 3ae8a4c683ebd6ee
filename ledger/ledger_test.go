package ledger_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/ledger"
	"github.com/footnotehq/footnote/usage"
)

type days []usage.Day

func (d days) User(_ context.Context, p footnote.Principal) ([]usage.Day, error) {
	if p.User != "ada" {
		return nil, nil
	}
	return d, nil
}

var (
	ada = footnote.Principal{Org: "acme", User: "ada"}
	bob = footnote.Principal{Org: "acme", User: "bob"}
)

func TestLedger(t *testing.T) {
	now := time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)
	l := ledger.New(ledger.Options{
		Limit: 20_000, Multipliers: map[string]int64{"pro": 5}, Now: func() time.Time { return now },
		Usage: days{
			{Date: "2026-11-20", Usage: footnote.Usage{Input: 1_000_000}},
			{Date: "2026-11-21", Tier: "pro", Usage: footnote.Usage{Input: 500, CacheRead: 200, CacheWrite5m: 100, Output: 200}},
			{Date: "2026-11-21", Usage: footnote.Usage{Input: 1_000}},
		},
	})
	a, err := l.Today(t.Context(), ada)
	if err != nil || a.Used != 6_000 || a.Left != 14_000 || !a.Resets.Equal(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)) {
		t.Fatalf("%+v, %v", a, err)
	}
	one, err := l.Reserve(t.Context(), ada, "pro") // 10,000 while it runs
	if err != nil {
		t.Fatal(err)
	}
	two, err := l.Reserve(t.Context(), ada, "pro")
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Reserve(t.Context(), ada, "")
	if footnote.CodeOf(err) != footnote.BudgetExceeded || !strings.Contains(err.Error(), "20000") {
		t.Errorf("beside two calls: %v", err)
	}
	if _, err := l.Reserve(t.Context(), bob, "pro"); err != nil {
		t.Errorf("bob has not used anything: %v", err)
	}
	one()
	one() // only the first time counts
	if a, _ = l.Today(t.Context(), ada); a.Used != 6_000 {
		t.Errorf("what is reserved is taken to be used: %+v", a)
	}
	if three, err := l.Reserve(t.Context(), ada, ""); err != nil {
		t.Errorf("beside one call: %v", err)
	} else {
		three()
	}
	two()
	now = now.Add(2 * time.Hour)
	if a, _ = l.Today(t.Context(), ada); a.Used != 0 || a.Left != 20_000 {
		t.Errorf("on the next day: %+v", a)
	}
}

func TestNoLimit(t *testing.T) {
	l := ledger.New(ledger.Options{})
	release, err := l.Reserve(t.Context(), ada, "pro")
	if err != nil {
		t.Fatal(err)
	}
	release()
	if a, err := l.Today(t.Context(), ada); err != nil || a.Limit != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}
