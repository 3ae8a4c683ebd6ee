package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// take appends one event that takes the lease, and returns the token.
func take(t testing.TB, s store.Store, id, owner string, ttl time.Duration) (int64, error) {
	t.Helper()
	after := get(t, s, id).Last
	events, err := s.Append(begin(t), store.Append{Stream: id, After: after, Run: owner, Bodies: say(owner),
		Take: &footnote.Take{Owner: owner, TTL: ttl}})
	if err != nil {
		return 0, err
	}
	return events[0].Seq, nil
}

// try appends one event under a token.
func try(t testing.TB, s store.Store, id string, token int64) error {
	t.Helper()
	_, err := s.Append(begin(t), store.Append{Stream: id, After: get(t, s, id).Last, Lease: token, Bodies: say("x")})
	return err
}

func testLease(t *testing.T, s store.Store) {
	create(t, s, "c", "d")
	wantCode(t, try(t, s, "c", 1), footnote.Conflict) // nobody holds a lease
	first, err := take(t, s, "c", "a", time.Hour)
	must(t, err)
	must(t, try(t, s, "c", first))
	must(t, try(t, s, "d", 0)) // the other stream has no lease
	wantCode(t, try(t, s, "d", first), footnote.Conflict)
	wantCode(t, try(t, s, "c", 0), footnote.Conflict)
	wantCode(t, try(t, s, "c", first+1), footnote.Conflict)
	_, err = take(t, s, "c", "b", time.Hour)
	wantCode(t, err, footnote.Conflict)

	again, err := take(t, s, "c", "a", time.Hour) // the same owner again
	must(t, err)
	if again <= first {
		t.Fatalf("token %d after %d", again, first)
	}
	wantCode(t, try(t, s, "c", first), footnote.Conflict)
	must(t, s.Release(begin(t), "c", first)) // not the current token: no effect
	wantCode(t, try(t, s, "c", 0), footnote.Conflict)
	must(t, s.Release(begin(t), "c", again))
	wantCode(t, try(t, s, "c", again), footnote.Conflict)
	must(t, try(t, s, "c", 0))
	must(t, s.Release(begin(t), "nobody", 1))

	third, err := take(t, s, "c", "b", time.Hour)
	must(t, err)
	_, err = s.Append(begin(t), store.Append{
		Stream: "c", After: third - 1, Lease: third, Release: true, Bodies: say("stale"),
	})
	wantCode(t, err, footnote.Conflict)
	must(t, try(t, s, "c", third)) // a refused append does not release the lease
	_, err = s.Append(begin(t), store.Append{
		Stream: "c", After: third + 1, Lease: third, Release: true, Bodies: say("end"),
	})
	must(t, err)
	must(t, try(t, s, "c", 0))

	// A refused append does not take the lease.
	_, err = s.Append(begin(t), store.Append{
		Stream: "d", After: 9, Bodies: say("x"), Take: &footnote.Take{Owner: "a", TTL: time.Hour},
	})
	wantCode(t, err, footnote.Conflict)
	must(t, try(t, s, "d", 0))

	// An append can take and release the lease at once, if it may take the lease.
	brief := store.Append{
		Stream: "d", After: get(t, s, "d").Last, Bodies: say("x"), Release: true,
		Take: &footnote.Take{Owner: "a", TTL: time.Hour},
	}
	_, err = s.Append(begin(t), brief)
	must(t, err)
	token, err := take(t, s, "d", "b", time.Hour)
	must(t, err)
	brief.After = token
	_, err = s.Append(begin(t), brief)
	wantCode(t, err, footnote.Conflict)

	events, err := s.CreateAppend(begin(t), conversation("e"), store.Append{
		Bodies: say("x"),
		Take:   &footnote.Take{Owner: "a", TTL: time.Hour},
	})
	must(t, err)
	equal(t, "token of a new stream", events[0].Seq, int64(1))
	wantCode(t, try(t, s, "e", 0), footnote.Conflict)
	must(t, try(t, s, "e", 1))
}

func testLeaseExpires(t *testing.T, s store.Store) {
	create(t, s, "c")
	old, err := take(t, s, "c", "a", 20*time.Millisecond)
	must(t, err)
	var token int64
	eventually(t, "the lease expires", func() bool {
		token, err = take(t, s, "c", "b", time.Hour)
		return err == nil
	})
	if token <= old {
		t.Fatalf("token %d after %d", token, old)
	}
	wantCode(t, try(t, s, "c", old), footnote.Conflict)
	wantCode(t, s.Renew(begin(t), "c", old, time.Hour), footnote.Conflict)
	must(t, try(t, s, "c", token))

	// An expired lease is invalid even if nobody has taken it.
	must(t, s.Renew(begin(t), "c", token, time.Millisecond))
	eventually(t, "the lease expires", func() bool { return isConflict(try(t, s, "c", token)) })
	must(t, try(t, s, "c", 0))
}

func testLeaseRenew(t *testing.T, s store.Store) {
	create(t, s, "c")
	token, err := take(t, s, "c", "a", time.Millisecond)
	must(t, err)
	eventually(t, "the lease expires", func() bool { return isConflict(try(t, s, "c", token)) })
	must(t, s.Renew(begin(t), "c", token, time.Hour)) // nobody took it
	must(t, try(t, s, "c", token))
	_, err = take(t, s, "c", "b", time.Hour)
	wantCode(t, err, footnote.Conflict)
	wantCode(t, s.Renew(begin(t), "c", token+1, time.Hour), footnote.Conflict)
	wantCode(t, s.Renew(begin(t), "nobody", token, time.Hour), footnote.Conflict)
	wantCode(t, s.Renew(begin(t), "c", token, -time.Second), footnote.InvalidRequest)
	must(t, s.Release(begin(t), "c", token))
	wantCode(t, s.Renew(begin(t), "c", token, time.Hour), footnote.Conflict)
}

// testLeaseRace lets many owners compete for one lease, which one at a time may hold.
func testLeaseRace(t *testing.T, s store.Store) {
	create(t, s, "c")
	ctx := begin(t)
	var holders, taken atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for got := 0; got < 5 && ctx.Err() == nil; {
				h, err := s.Get(ctx, "c")
				if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Append(ctx, store.Append{Stream: "c", After: h.Last, Bodies: say("mine"),
					Take: &footnote.Take{Owner: fmt.Sprint(i), TTL: time.Hour}})
				if isConflict(err) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) != 1 {
					t.Error("two owners hold the lease")
				}
				taken.Add(1)
				got++
				holders.Add(-1)
				if err := s.Release(ctx, "c", h.Last+1); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	equal(t, "taken", taken.Load(), int64(40))
	equal(t, "events", get(t, s, "c").Last, int64(40))
}
