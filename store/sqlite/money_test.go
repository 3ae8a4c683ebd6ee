package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// TestBalancesOfOneTransaction checks that a transaction adds up all of its settlements, and that a reservation in it
// sees the earlier ones.
func TestBalancesOfOneTransaction(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	const n = 5
	for i := range n {
		must(t, s.Create(ctx, store.Stream{ID: fmt.Sprint("c", i), Kind: "k", Org: "o", User: "u"}))
	}
	writing, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.do(ctx, "wait",
			&request{exec: func(context.Context, *writer) error { close(writing); <-goOn; return nil }})
	})
	<-writing
	for i := range n { // they queue in this order, for one transaction
		wg.Go(func() {
			id := fmt.Sprint("c", i)
			_, err := s.Append(ctx, store.Append{Stream: id, Bodies: []footnote.Body{footnote.Titled{Title: id}},
				Settle: []footnote.Settle{
					{Org: "o", User: "u", Stream: id, Spent: footnote.Amount{MicroUSD: 10, Tokens: 1}},
				}})
			if err != nil {
				t.Error(err)
			}
		})
		for s.queue.Len() <= i {
			runtime.Gosched()
		}
	}
	var made footnote.Reservation
	wg.Go(func() {
		var err error
		made, err = s.Reserve(ctx,
			footnote.Reserve{ID: "r", Org: "o", User: "u", Stream: "c0", Max: footnote.Amount{MicroUSD: 100},
				TTL:    time.Minute,
				Limits: []footnote.SpendingLimit{{Scope: footnote.PerUser, Max: footnote.Amount{MicroUSD: 80}}}})
		if err != nil {
			t.Error(err)
		}
	})
	for s.queue.Len() <= n {
		runtime.Gosched()
	}
	close(goOn)
	wg.Wait()
	if made.Amount.MicroUSD != 30 {
		t.Errorf("%d of the 30 that were left were reserved", made.Amount.MicroUSD)
	}
	b, _, err := s.Balances(ctx, "o", "u", "c0")
	must(t, err)
	for scope, want := range map[footnote.Scope]int64{
		footnote.PerUser:         50,
		footnote.PerOrgDay:       50,
		footnote.PerConversation: 10,
	} {
		if got := b[scope]; got.Spent.MicroUSD != want || got.Reserved.MicroUSD != 30 {
			t.Errorf("%s: %+v, want %d spent and 30 reserved", scope, got, want)
		}
	}
}
