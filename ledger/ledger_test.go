package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/ledger"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

var (
	ada = footnote.Principal{Org: "acme", User: "ada"}
	bob = footnote.Principal{Org: "acme", User: "bob"}
)

// call is a model call of 1,000 tokens and a cent.
func call(id, tier string) agent.Spending {
	return agent.Spending{ID: id, Tier: tier, Max: footnote.Amount{Tokens: 1_000, MicroUSD: 10_000}, TTL: time.Hour}
}

// allow gives everybody the same.
func allow(a ledger.Allowance) func(footnote.Principal) ledger.Allowance {
	return func(footnote.Principal) ledger.Allowance { return a }
}

func TestDay(t *testing.T) {
	now := time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)
	log := sqlitetest.NewAt(t, func() time.Time { return now })
	l := ledger.New(ledger.Options{
		Store:       log,
		Multipliers: map[string]int64{"pro": 5},
		Allow:       allow(ledger.Allowance{TokensPerDay: 10_000}),
	})
	hold := func(p footnote.Principal, c agent.Spending) agent.Reservation {
		t.Helper()
		h, err := l.Reserve(t.Context(), p, c)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	left := func(want float64) {
		t.Helper()
		all, err := l.Left(t.Context(), ada)
		if err != nil || len(all) != 1 || all[0].Name != "tokens_per_day" || all[0].Left != want {
			t.Fatalf("left: %+v, %v; want %v", all, err, want)
		}
	}
	left(10_000)
	one, two := hold(ada, call("1", "pro")), hold(ada, call("2", "pro")) // 10,000 while they run
	_, err := l.Reserve(t.Context(), ada, call("3", ""))
	if e, ok := errors.AsType[*footnote.Error](err); !ok || e.Code != footnote.BudgetExceeded ||
		!strings.Contains(e.Message, "10000 tokens a day is reserved for questions under way") ||
		e.RetryAfter > time.Minute {
		t.Errorf("beside two calls: %v", err)
	}
	done, err := l.Admit(t.Context(), ada, "")
	if err != nil {
		t.Fatalf("not admitted, though nothing is spent: %v", err)
	}
	done()
	hold(bob, call("4", "pro"))
	one.Drop()
	one.Drop() // only the first time counts
	left(5_000)
	settled := two.Settle(footnote.Usage{
		Input: 500, CacheRead: 200, CacheWrite5m: 100, Output: 200,
	}, footnote.Cost{MicroUSD: 7}, false)
	if len(settled) != 1 || settled[0].Spent != (footnote.Amount{MicroUSD: 7, Tokens: 5_000}) {
		t.Fatalf("settled: %+v", settled)
	}
	if _, err := log.CreateAppend(t.Context(), store.Stream{ID: "a", Kind: "account", Org: "acme", User: "ada"},
		store.Append{Bodies: []footnote.Body{footnote.Spent{}}, Settle: settled}); err != nil {
		t.Fatal(err)
	}
	left(5_000)
	now = now.Add(2 * time.Hour)
	left(10_000)
}

// spend settles the reservation "1" of ada's conversation c.
func spend(t *testing.T, log store.Store, spent footnote.Amount) {
	t.Helper()
	_, err := log.CreateAppend(t.Context(), store.Stream{ID: "c", Kind: store.Conversation, Org: "acme", User: "ada"},
		store.Append{
			Bodies: []footnote.Body{footnote.Spent{}},
			Settle: []footnote.Settle{{ID: "1", Org: "acme", User: "ada", Stream: "c", Spent: spent}},
		})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEveryLimit checks that each limit refuses under its own name and reports what is left.
func TestEveryLimit(t *testing.T) {
	const cent = 10_000
	for name, a := range map[string]ledger.Allowance{
		"usd_per_conversation": {PerConversation: cent}, "usd_per_user": {PerUser: cent},
		"usd_per_user_day": {PerUserDay: cent},
		"usd_per_org":      {PerOrg: cent}, "usd_per_org_day": {PerOrgDay: cent}, "usd_per_day": {PerDay: cent},
		"tokens_per_day": {TokensPerDay: 1_000}, "org_tokens_per_day": {OrgTokensPerDay: 1_000},
	} {
		log := sqlitetest.New(t)
		l := ledger.New(ledger.Options{Store: log, Allow: allow(a)})
		c := call("1", "")
		c.Conversation = "c"
		if _, err := l.Reserve(t.Context(), ada, c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		spend(t, log, footnote.Amount{MicroUSD: cent, Tokens: 1_000})
		c.ID = "2"
		_, err := l.Reserve(t.Context(), ada, c)
		e, ok := err.(*footnote.Error)
		if !ok || e.Code != footnote.BudgetExceeded || e.Limit == nil || e.Limit.Name != name || e.Limit.Left != 0 ||
			strings.Contains(e.Message, "!") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if day := strings.Contains(name, "day"); day != (e.RetryAfter > 0) || day == e.Limit.Resets.IsZero() {
			t.Errorf("%s: retry after %v, resets %v", name, e.RetryAfter, e.Limit.Resets)
		}
		if _, err := l.Admit(t.Context(), ada, "c"); footnote.CodeOf(err) != footnote.BudgetExceeded {
			t.Errorf("%s admits: %v", name, err)
		}
	}
}

func TestNoLimit(t *testing.T) {
	log := sqlitetest.New(t)
	l := ledger.New(ledger.Options{Store: log})
	h, err := l.Reserve(t.Context(), ada, call("1", "pro"))
	if err != nil {
		t.Fatal(err)
	}
	if b, _, err := log.Balances(t.Context(), "acme", "ada", ""); err != nil ||
		b[footnote.PerUser] != (footnote.Balance{}) {
		t.Errorf("something is reserved: %+v, %v", b, err)
	}
	if s := h.Settle(footnote.Usage{Output: 3}, footnote.Cost{}, true); len(s) != 1 || s[0].ID != "" ||
		s[0].Spent.Tokens != 3 {
		t.Errorf("settled %+v, want 3 tokens outside a reservation", s)
	}
	if left, err := l.Left(t.Context(), ada); err != nil || len(left) != 0 {
		t.Errorf("limits without a setting: %+v, %v", left, err)
	}
}

func TestRuns(t *testing.T) {
	log := sqlitetest.New(t)
	l := ledger.New(ledger.Options{Store: log, Allow: allow(ledger.Allowance{Runs: 2, OrgRuns: 3})})
	enter := func(p footnote.Principal) func() {
		t.Helper()
		done, err := l.Admit(t.Context(), p, "")
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	refused := func(p footnote.Principal, name string) {
		t.Helper()
		_, err := l.Admit(t.Context(), p, "")
		if e, ok := err.(*footnote.Error); !ok || e.Code != footnote.RateLimited || e.Limit.Name != name ||
			e.RetryAfter <= 0 {
			t.Fatalf("%s: %v", name, err)
		}
	}
	first, second := enter(ada), enter(ada)
	refused(ada, "runs")
	third := enter(bob)
	refused(bob, "org_runs")
	for _, done := range []func(){first, second, third, third} {
		done()
	}
	for _, id := range []string{"c", "d"} { // of another server
		enter(ada)()
		if _, err := log.CreateAppend(t.Context(), store.Stream{
			ID: id, Kind: store.Conversation, Org: "acme", User: "ada",
		},
			store.Append{Run: "r", Bodies: []footnote.Body{footnote.RunStarted{}}}); err != nil {
			t.Fatal(err)
		}
	}
	refused(ada, "runs")
}

func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ledger.New(ledger.Options{
			Store: sqlitetest.New(t),
			Allow: allow(ledger.Allowance{Requests: 6, OrgRequests: 8}),
		})
		let := func(p footnote.Principal) (n int) {
			for range 20 {
				err := l.Request(t.Context(), p)
				if err == nil {
					n++
				} else if e := err.(*footnote.Error); e.Code != footnote.RateLimited || e.RetryAfter <= 0 ||
					e.RetryAfter > time.Minute {
					t.Fatal(err)
				}
			}
			return n
		}
		if a, b := let(ada), let(bob); a != 6 || b != 2 {
			t.Errorf("%d and %d were let through", a, b)
		}
		time.Sleep(10 * time.Second)
		if n := let(ada); n != 1 {
			t.Errorf("%d after ten seconds", n)
		}
		time.Sleep(2 * time.Minute)
		if n := let(ada); n != 6 {
			t.Errorf("%d after two minutes", n)
		}
	})
}

// TestCounterShare checks that each of three servers without a common counter admits a third of the requests.
func TestCounterShare(t *testing.T) {
	m := ledger.NewShare(3)
	n := 0
	for range 20 {
		if _, wait, err := m.Take(t.Context(), "k", 9); err == nil && wait == 0 {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d of 9 were let through by one of three", n)
	}
}
