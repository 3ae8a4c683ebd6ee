package postgres

import (
	"slices"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
)

// TestStopsAsked asks one process to stop runs that other processes drive.
func TestStopsAsked(t *testing.T) {
	target := pgtest.Database(t)
	a, b := openAt(t, target, Options{}), openAt(t, target, Options{})
	ctx := t.Context()
	for _, id := range []string{"c1", "c2"} {
		must(t, a.Create(ctx, conversation(id)))
		must(t, second(a.Append(ctx,
			store.Append{Stream: id, Run: "run of " + id, Bodies: []footnote.Body{footnote.RunStarted{}},
				Take: &footnote.Take{Owner: "owner of " + id, TTL: time.Hour}})))
	}
	asked := func(owner string, want ...footnote.StopAsked) {
		t.Helper()
		got, err := a.StopsAsked(ctx, owner)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("asked of %s: %+v, %v; want %+v", owner, got, err, want)
		}
	}
	asked("owner of c1")
	for range 2 { // the second request has no effect
		must(t, b.AskStop(ctx, "c1", "run of c1", "user"))
	}
	must(t, b.AskStop(ctx, "c2", "a run before", "user"))
	must(t, b.AskStop(ctx, "no such", "no such", "user"))
	stop := footnote.StopAsked{Stream: "c1", Run: "run of c1", By: "user"}
	asked("owner of c1", stop)
	asked("owner of c2")
	// A process that takes over the run stops it, too. A request to stop a run that has ended is ignored.
	asked("")
	must(t, a.Release(ctx, "c1", 1))
	asked("owner of c1")
	asked("", stop)
	must(t, second(b.Append(ctx,
		store.Append{Stream: "c1", After: 1, Run: "run of c1", Bodies: []footnote.Body{footnote.RunResumed{}},
			Take: &footnote.Take{Owner: "heir", TTL: time.Hour}})))
	asked("heir", stop)
	must(t, second(b.Append(ctx, store.Append{
		Stream: "c1", After: 2, Lease: 2, Run: "run of c1", Bodies: []footnote.Body{footnote.RunStopped{By: "user"}},
		Release: true,
	})))
	asked("heir")
	if err := a.AskStop(ctx, "c1", "\x00", "user"); footnote.CodeOf(err) != footnote.NotFound {
		t.Errorf("an invalid run: %v", err)
	}
}

// TestNow checks that the store uses the clock of the database, not of this machine.
func TestNow(t *testing.T) {
	s := openAt(t, pgtest.Database(t), Options{})
	must(t, s.Create(t.Context(), conversation("c1")))
	s.setClock(time.Now().Add(24 * time.Hour)) // wrong by a day
	must(t, second(s.Append(t.Context(), store.Append{
		Stream: "c1",
		Bodies: []footnote.Body{footnote.Titled{Title: "One"}},
	})))
	head, err := s.Get(t.Context(), "c1")
	must(t, err)
	if d := s.Now().Sub(head.Updated); d < 0 || d > time.Hour {
		t.Errorf("after a write the clock is %v off", d)
	}
}
