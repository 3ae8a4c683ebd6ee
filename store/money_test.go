package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/postgres"
)

// dollar is one US dollar in the unit of amounts.
const dollar = 1_000_000

// request returns a request to reserve for ann's conversation c.
func request(id string, most footnote.Amount, limits ...footnote.SpendingLimit) footnote.Reserve {
	return footnote.Reserve{
		ID: id, Org: "acme", User: "ann", Stream: "c", Run: "run1", Max: most, Limits: limits, TTL: time.Hour,
	}
}

func usd(n int64) footnote.Amount { return footnote.Amount{MicroUSD: n} }

// settled returns an append that settles a call of ann.
func settled(id string, after int64, spent footnote.Amount) store.Append {
	return store.Append{Stream: "c", After: after, Run: "run1", Bodies: say("used"),
		Settle: []footnote.Settle{{ID: id, Org: "acme", User: "ann", Stream: "c", Spent: spent}}}
}

func balances(t testing.TB, s store.Store, org, user, stream string) map[footnote.Scope]footnote.Balance {
	t.Helper()
	b, now, err := s.Balances(begin(t), org, user, stream)
	must(t, err)
	if d := time.Since(now); d < -time.Hour || d > time.Hour {
		t.Fatalf("the clock of the store says %v", now)
	}
	return b
}

// checkBalances checks the balance of ann's conversation c in all scopes.
func checkBalances(t testing.TB, s store.Store, want footnote.Balance) {
	t.Helper()
	got := balances(t, s, "acme", "ann", "c")
	if len(got) != 6 {
		t.Fatalf("%d scopes", len(got))
	}
	for scope, b := range got {
		equal(t, string(scope), b, want)
	}
}

func testReserve(t *testing.T, s store.Store) {
	create(t, s, "c")
	checkBalances(t, s, footnote.Balance{})
	r, err := s.Reserve(begin(t), request("r1", footnote.Amount{MicroUSD: 300, Tokens: 20}))
	must(t, err)
	equal(t, "amount", r.Amount, footnote.Amount{MicroUSD: 300, Tokens: 20})
	again, err := s.Reserve(begin(t), request("r1", usd(5)))
	must(t, err)
	equal(t, "it does not shrink", again.Amount, r.Amount)
	r = again
	checkBalances(t, s, footnote.Balance{Reserved: r.Amount})
	open, err := s.Reserved(begin(t), "c")
	must(t, err)
	equal(t, "reserved", open, []footnote.Reservation{r})

	_, err = s.Append(begin(t), settled("r1", 7, usd(100))) // refused: the stream has no event 7
	wantCode(t, err, footnote.Conflict)
	checkBalances(t, s, footnote.Balance{Reserved: r.Amount})
	_, err = s.Append(begin(t), settled("r1", 0, footnote.Amount{MicroUSD: 100, Tokens: 9}))
	must(t, err)
	checkBalances(t, s, footnote.Balance{Spent: footnote.Amount{MicroUSD: 100, Tokens: 9}})
	_, err = s.Append(begin(t), settled("", 1, usd(11))) // nothing was reserved
	must(t, err)
	checkBalances(t, s, footnote.Balance{Spent: footnote.Amount{MicroUSD: 111, Tokens: 9}})

	// Another process can settle a reservation only once.
	late := settled("r1", 2, usd(300))
	late.Settle[0].Held = true
	_, err = s.Append(begin(t), late)
	wantCode(t, err, footnote.Conflict)
	_, err = s.CreateAppend(begin(t), conversation("d"), store.Append{Bodies: say("x"), Settle: late.Settle})
	wantCode(t, err, footnote.Conflict)
	_, err = s.Get(begin(t), "d")
	wantCode(t, err, footnote.NotFound)

	must(t, s.Unreserve(begin(t), "r1"))
	_, err = s.Reserve(begin(t), request("r2", usd(50)))
	must(t, err)
	must(t, s.Unreserve(begin(t), "r2"))
	must(t, s.Unreserve(begin(t), "r2"))
	checkBalances(t, s, footnote.Balance{Spent: footnote.Amount{MicroUSD: 111, Tokens: 9}})

	// The first append of a stream also settles.
	_, err = s.CreateAppend(begin(t), store.Stream{
		ID: "e", Kind: "account", Org: "acme", User: "bob",
	}, store.Append{Bodies: say("x"),
		Settle: []footnote.Settle{{Org: "acme", User: "bob", Spent: usd(1_000)}}})
	must(t, err)
	bob := balances(t, s, "acme", "bob", "")
	equal(t, "bob", []any{
		len(bob), bob[footnote.PerUser].Spent, bob[footnote.PerOrg].Spent,
	}, []any{5, usd(1_000), footnote.Amount{MicroUSD: 1_111, Tokens: 9}})

	must(t, s.Delete(begin(t), "c"))
	left := balances(t, s, "acme", "ann", "c")
	equal(t, "after the conversation is deleted", []any{
		left[footnote.PerConversation], left[footnote.PerUserDay].Spent.MicroUSD,
	},
		[]any{footnote.Balance{}, int64(111)})
	tally(t, s, map[string]footnote.Amount{
		"": {MicroUSD: 1_111, Tokens: 9}, "acme": {MicroUSD: 1_111, Tokens: 9}, "acme/ann": {MicroUSD: 111, Tokens: 9},
		"acme/bob":         usd(1_000),
		"acme/ann deleted": {MicroUSD: 111, Tokens: 9},
	})
}

// tally checks the list of all balances by owner. A balance of a day must equal that of all days.
func tally(t testing.TB, s store.Store, want map[string]footnote.Amount) {
	t.Helper()
	for _, page := range []int{1, 2, 100} {
		got := map[string]footnote.Amount{}
		var last footnote.Tally
		for {
			list, err := s.Tallies(begin(t), last, page)
			must(t, err)
			for _, last = range list {
				name := last.Org
				if last.User != "" {
					name += "/" + last.User
				}
				if last.Stream != "" {
					name += "/" + last.Stream
				}
				if last.Day == footnote.DayDeleted {
					name += " deleted"
				}
				if before, twice := got[name]; twice && before != last.Spent {
					t.Errorf("%s: %+v and %+v", name, before, last.Spent)
				}
				got[name] = last.Spent
			}
			if len(list) < page {
				break
			}
		}
		equal(t, fmt.Sprint("balances, in pages of ", page), got, want)
	}
}

func testCeilings(t *testing.T, s store.Store) {
	create(t, s, "c")
	_, err := s.Append(begin(t), settled("", 0, footnote.Amount{MicroUSD: 40, Tokens: 10}))
	must(t, err)
	for i, c := range []struct {
		most    footnote.Amount
		whole   bool
		limit   footnote.SpendingLimit
		want    footnote.Amount
		refused string
	}{
		{most: usd(100), want: usd(100)},
		{most: usd(60), limit: footnote.SpendingLimit{Scope: footnote.PerConversation, Max: usd(100)}, want: usd(60)},
		{most: usd(100), limit: footnote.SpendingLimit{Scope: footnote.PerUserDay, Max: usd(100)}, want: usd(60)},
		{most: usd(100), limit: footnote.SpendingLimit{Scope: footnote.PerOrg, Max: usd(40)}, refused: "usd"},
		{most: usd(100), limit: footnote.SpendingLimit{Scope: footnote.PerDay, Max: usd(30)}, refused: "usd"},
		{
			most: usd(100), whole: true, limit: footnote.SpendingLimit{Scope: footnote.PerOrgDay, Max: usd(100)},
			refused: "usd",
		},
		{
			most: usd(60), whole: true, limit: footnote.SpendingLimit{Scope: footnote.PerOrgDay, Max: usd(100)},
			want: usd(60),
		},
		// costs nothing
		{
			most:  footnote.Amount{Tokens: 5},
			limit: footnote.SpendingLimit{Scope: footnote.PerUser, Max: usd(1)},
			want:  footnote.Amount{Tokens: 5},
		},
		{
			most:  footnote.Amount{MicroUSD: 5, Tokens: 5},
			limit: footnote.SpendingLimit{Scope: footnote.PerUser, Max: footnote.Amount{Tokens: 12}},
			want:  footnote.Amount{MicroUSD: 5, Tokens: 2},
		},
		{
			most:    footnote.Amount{MicroUSD: 5, Tokens: 5},
			limit:   footnote.SpendingLimit{Scope: footnote.PerUser, Max: footnote.Amount{Tokens: 10}},
			refused: "tokens",
		},
	} {
		w := request(fmt.Sprint("r", i), c.most)
		if c.whole {
			w.Enough = c.most
		}
		if c.limit.Scope != "" {
			w.Limits = []footnote.SpendingLimit{{Scope: footnote.PerUser, Max: usd(dollar)}, c.limit}
			if c.limit.Scope == footnote.PerUser {
				w.Limits = w.Limits[1:]
			}
		}
		r, err := s.Reserve(begin(t), w)
		if c.refused != "" {
			wantCode(t, err, footnote.BudgetExceeded)
			if e, ok := err.(*footnote.Error); !ok || e.Limit == nil || e.Limit.Unit != c.refused ||
				e.Limit.Name != string(c.limit.Scope) {
				t.Fatalf("%d: %#v", i, err)
			}
			continue
		}
		must(t, err)
		equal(t, fmt.Sprint("grant ", i), r.Amount, c.want)
		must(t, s.Unreserve(begin(t), r.ID))
	}
	for _, bad := range []footnote.Reserve{
		{},
		{
			ID:  "r",
			Org: "acme",
			TTL: time.Hour,
		},
		{ID: "r", Org: "acme", User: "ann"},
		{ID: "r\x00", Org: "acme", User: "ann", TTL: time.Hour},
		{ID: "r", Org: "acme", User: "ann", TTL: time.Hour, Max: usd(-1)},
		{ID: "r", Org: "acme", User: "ann", TTL: time.Hour, Enough: usd(-1)},
		{ID: "r", Org: "acme", User: "ann", TTL: time.Hour, Lost: usd(-1)},
		{
			ID: "r", Org: "acme", User: "ann", TTL: time.Hour,
			Limits: []footnote.SpendingLimit{{Scope: footnote.PerConversation}},
		},
	} {
		_, err := s.Reserve(begin(t), bad)
		wantCode(t, err, footnote.InvalidRequest)
	}
	for _, bad := range []footnote.Settle{
		{},
		{
			Org:   "acme",
			User:  "ann",
			Spent: usd(-1),
		},
		{Org: "acme", User: "ann", Lost: usd(-1)},
		{Org: "acme", User: "ann", Held: true},
	} {
		_, err := s.Append(begin(t), store.Append{
			Stream: "c", After: 1, Bodies: say("x"), Settle: []footnote.Settle{bad},
		})
		wantCode(t, err, footnote.InvalidRequest)
	}
}

// testGrowing follows the reservation of a run: it grows for the next call, is kept when a call is settled, and ends
// with the run.
func testGrowing(t *testing.T, s store.Store) {
	create(t, s, "c")
	cent := footnote.SpendingLimit{Scope: footnote.PerUserDay, Max: usd(100)}
	reserve := func(id string, most, enough, lost int64) (footnote.Reservation, error) {
		w := request(id, usd(most), cent)
		w.Enough, w.Lost = usd(enough), usd(lost)
		return s.Reserve(begin(t), w)
	}
	refused := func(id string, most, enough int64, want footnote.OverLimit) {
		t.Helper()
		_, err := reserve(id, most, enough, 0)
		wantCode(t, err, footnote.BudgetExceeded)
		e, ok := errors.AsType[*footnote.Error](err)
		if !ok || e.Limit == nil {
			t.Fatalf("want an error with its limit: %v", err)
		}
		want.Name, want.Unit, want.Limit = string(footnote.PerUserDay), "usd", 0.0001
		equal(t, "refusal", *e.Limit, want)
	}
	keep := func(after, spent int64) {
		t.Helper()
		a := settled("run", after, usd(spent))
		a.Settle[0].Keep = true
		_, err := s.Append(begin(t), a)
		must(t, err)
	}
	r, err := reserve("run", 60, 40, 70)
	must(t, err)
	equal(t, "granted and lost", []footnote.Amount{r.Amount, r.Lost}, []footnote.Amount{usd(60), usd(60)})
	_, err = reserve("other", 60, 20, 0) // gets the rest
	must(t, err)
	refused("third", 50, 10, footnote.OverLimit{Reserved: 0.0001, Passing: true})
	refused("third", 200, 101, footnote.OverLimit{Left: 0.0001, Reserved: 0.0001, TooSmall: true})

	keep(0, 15)
	open, err := s.Reserved(begin(t), "c")
	must(t, err)
	equal(t, "reservations", len(open), 2)
	for _, r := range open {
		if r.ID == "run" {
			equal(t, "remaining reservation", []footnote.Amount{r.Amount, r.Lost}, []footnote.Amount{usd(45), {}})
		}
	}
	checkBalances(t, s, footnote.Balance{Spent: usd(15), Reserved: usd(85)})
	for n, c := range []struct{ lost, want int64 }{{30, 30}, {50, 45}, {0, 0}} { // up to the reserved amount
		a := settled("run", int64(n+1), footnote.Amount{})
		a.Settle[0].Keep, a.Settle[0].Lost = true, usd(c.lost)
		_, err = s.Append(begin(t), a)
		must(t, err)
		open, err = s.Reserved(begin(t), "c")
		must(t, err)
		i := slices.IndexFunc(open, func(r footnote.Reservation) bool { return r.ID == "run" })
		equal(t, "lost amount after settling", open[i].Lost, usd(c.want))
	}
	r, err = reserve("run", 80, 45, 5) // no room to grow, but it holds enough
	must(t, err)
	equal(t, "held and lost", []footnote.Amount{r.Amount, r.Lost}, []footnote.Amount{usd(45), usd(5)})
	refused("run", 80, 46, footnote.OverLimit{Left: 0.000045, Reserved: 0.00004, Passing: true})
	must(t, s.Unreserve(begin(t), "other"))
	r, err = reserve("run", 80, 46, 5)
	must(t, err)
	equal(t, "grown", r.Amount, usd(80))
	keep(4, 90) // more than it has reserved
	checkBalances(t, s, footnote.Balance{Spent: usd(105)})
	refused("run", 10, 1, footnote.OverLimit{})
	_, err = s.Append(begin(t), settled("run", 5, footnote.Amount{}))
	must(t, err)
	open, err = s.Reserved(begin(t), "c")
	must(t, err)
	equal(t, "reservations of a run that is over", len(open), 0)
	checkBalances(t, s, footnote.Balance{Spent: usd(105)})

	// One append can hold the last step and the end of a run.
	w := request("both", usd(50))
	_, err = s.Reserve(begin(t), w)
	must(t, err)
	a := settled("both", 6, usd(20))
	a.Settle[0].Keep = true
	a.Settle = append(a.Settle, footnote.Settle{ID: "both", Org: "acme", User: "ann", Stream: "c"})
	_, err = s.Append(begin(t), a)
	must(t, err)
	checkBalances(t, s, footnote.Balance{Spent: usd(125)})
}

// testGrowRace lets concurrent runs of several steps share one dollar. They must not spend more, and nothing may stay
// reserved.
func testGrowRace(t *testing.T, s store.Store) {
	const each, enough = 60_000, 20_000
	limit := footnote.SpendingLimit{Scope: footnote.PerUserDay, Max: usd(dollar)}
	var wg sync.WaitGroup
	var spent, begun atomic.Int64
	for i := range 60 {
		wg.Go(func() {
			st := conversation(fmt.Sprint("c", i))
			if err := s.Create(begin(t), st); err != nil {
				t.Error(err)
				return
			}
			w := request("r"+st.ID, usd(each), limit)
			w.Stream, w.Enough = st.ID, usd(enough)
			for step := range int64(3) {
				r, err := s.Reserve(begin(t), w)
				if err != nil {
					if step > 0 || footnote.CodeOf(err) != footnote.BudgetExceeded {
						t.Errorf("step %d: %v", step, err)
					}
					return
				}
				begun.Add(1)
				use := r.Amount.MicroUSD / (3 - step)
				_, err = s.Append(begin(t),
					store.Append{Stream: st.ID, After: step, Bodies: say("used"), Settle: []footnote.Settle{
						{ID: r.ID, Org: st.Org, User: st.User, Stream: st.ID, Spent: usd(use), Keep: step < 2}}})
				if err != nil {
					t.Error(err)
				}
				spent.Add(use)
				w.Enough = usd(1) // it already holds that
			}
		})
	}
	wg.Wait()
	if spent.Load() > dollar || begun.Load() < 16 {
		t.Errorf("%d of a dollar were spent in %d steps", spent.Load(), begun.Load())
	}
	equal(t, "balance", balances(t, s, "acme", "ann", "")[footnote.PerUserDay], footnote.Balance{
		Spent: usd(spent.Load()),
	})
}

func testOverdue(t *testing.T, s store.Store) {
	create(t, s, "c")
	for i, ttl := range []time.Duration{time.Hour, time.Microsecond, time.Hour} {
		w := request(fmt.Sprint("r", i), usd(10))
		w.TTL = ttl
		_, err := s.Reserve(begin(t), w)
		must(t, err)
	}
	var late []footnote.Reservation
	eventually(t, "a reservation expires", func() bool {
		var err error
		late, err = s.Overdue(begin(t), 10)
		must(t, err)
		return len(late) > 0
	})
	equal(t, "overdue", []any{len(late), late[0].ID, late[0].Stream, late[0].Amount}, []any{1, "r1", "c", usd(10)})
	none, err := s.Overdue(begin(t), 0)
	must(t, err)
	equal(t, "no more than asked for", len(none), 0)
	must(t, s.Expire(begin(t), "r0"))
	must(t, s.Expire(begin(t), "none"))
	checkBalances(t, s, footnote.Balance{Reserved: usd(30)})
	w := request("r3", usd(10))
	w.TTL = time.Microsecond
	_, err = s.Reserve(begin(t), w)
	must(t, err)
	eventually(t, "it does not expire", func() bool {
		must(t, s.Expire(begin(t), "r3"))
		all, err := s.Reserved(begin(t), "c")
		must(t, err)
		return len(all) == 3
	})
	a := settled("r1", 0, late[0].Amount)
	a.Settle[0].Held = true
	_, err = s.Append(begin(t), a)
	must(t, err)
	late, err = s.Overdue(begin(t), 10)
	must(t, err)
	equal(t, "after it was settled", len(late), 0)
	checkBalances(t, s, footnote.Balance{Spent: usd(10), Reserved: usd(20)})
}

func testReserveRace(t *testing.T, s store.Store) { reserveRace(t, s) }

// TestReserveTogether lets calls of several processes share one dollar.
func TestReserveTogether(t *testing.T) {
	url := pgtest.Database(t)
	var stores []store.Store
	for range 3 {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		must(t, err)
		defer s.Close()
		stores = append(stores, s)
	}
	reserveRace(t, stores...)
}

// reserveRace lets many calls compete for one dollar, through stores of one log. No more than a dollar may be granted,
// and the balances must equal what the calls have spent.
func reserveRace(t *testing.T, stores ...store.Store) {
	const calls, each = 200, 30_000 // 33 calls and a third fit
	limit := footnote.SpendingLimit{Scope: footnote.PerUserDay, Max: usd(dollar)}
	var mu sync.Mutex // guards granted, refused
	var granted, refused int64
	var wg sync.WaitGroup
	for i := range calls {
		s := stores[i%len(stores)]
		wg.Go(func() {
			id := fmt.Sprint("c", i)
			st := conversation(id)
			if err := s.Create(begin(t), st); err != nil {
				t.Error(err)
				return
			}
			w := request("r"+id, usd(each), limit)
			w.Stream = id
			r, err := s.Reserve(begin(t), w)
			if err != nil {
				if footnote.CodeOf(err) != footnote.BudgetExceeded {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				refused++
				return
			}
			_, err = s.Append(begin(t), store.Append{Stream: id, Bodies: say("used"),
				Settle: []footnote.Settle{{ID: r.ID, Org: st.Org, User: st.User, Stream: id, Spent: r.Amount}}})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			granted += r.Amount.MicroUSD
		})
	}
	wg.Wait()
	if granted != dollar || refused != calls-34 {
		t.Errorf("%d were granted and %d calls refused", granted, refused)
	}
	for _, s := range stores {
		b := balances(t, s, "acme", "ann", "")
		equal(t, "spent", b[footnote.PerUserDay], footnote.Balance{Spent: usd(dollar)})
		equal(t, "spent by all", b[footnote.PerDay], footnote.Balance{Spent: usd(dollar)})
	}
}

func testRunning(t *testing.T, s store.Store) {
	create(t, s, "a", "b", "c")
	must(t, s.Create(begin(t), store.Stream{ID: "d", Kind: store.Conversation, Org: "acme", User: "bob"}))
	for _, id := range []string{"a", "b", "d"} {
		write(t, s, id, 0, footnote.RunStarted{})
	}
	write(t, s, "b", 1, footnote.RunFinished{Reason: "end_turn"})
	for _, c := range []struct {
		org, user string
		want      int
	}{{"acme", "ann", 1}, {"acme", "", 2}, {"acme", "cy", 0}, {"other", "", 0}} {
		n, err := s.Running(begin(t), c.org, c.user)
		must(t, err)
		equal(t, fmt.Sprint("runs of ", c.org, c.user), n, c.want)
	}
}

// testReservedAfterReopen closes a store between reserve and settle, as a process that dies does.
func testReservedAfterReopen(t *testing.T, open func() store.Movable) {
	s := open()
	create(t, s, "c")
	r, err := s.Reserve(begin(t), request("r1", usd(70)))
	must(t, err)
	_, err = s.Append(begin(t), settled("", 0, usd(5)))
	must(t, err)
	must(t, s.Close())
	s = open()
	checkBalances(t, s, footnote.Balance{Spent: usd(5), Reserved: usd(70)})
	left, err := s.Reserved(begin(t), "c")
	must(t, err)
	equal(t, "reserved", left, []footnote.Reservation{r})
	must(t, s.Close())
}
