package httpapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
)

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := tally{perUser: 1}
		enter := func(ctx context.Context, p footnote.Principal) (func(), error) {
			done, err := ts.request(ownerOf(p))
			if err != nil {
				t.Fatal(err)
			}
			leave, err := ts.slot(ctx, ownerOf(p))
			if err != nil {
				done()
				return nil, err
			}
			return func() { leave(); done() }, nil
		}
		leave := make([]func(), slotsPerUser)
		for i := range leave {
			var err error
			if leave[i], err = enter(t.Context(), ada); err != nil {
				t.Fatal(err)
			}
		}
		if l, err := enter(t.Context(), bob); err != nil {
			t.Error("bob waits for ada:", err)
		} else {
			l()
		}
		begun := time.Now()
		if _, err := enter(t.Context(), ada); footnote.CodeOf(err) != footnote.RateLimited ||
			time.Since(begun) != slotWait {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if _, err := enter(ctx, ada); !errors.Is(err, gone) {
			t.Errorf("a client that left: %v", err)
		}
		go func() { time.Sleep(time.Second); leave[0]() }()
		last, err := enter(t.Context(), ada)
		if err != nil {
			t.Fatal("a place that became free was not given:", err)
		}
		last()
		for _, l := range leave[1:] {
			l()
		}
		if len(ts.users) != 0 {
			t.Errorf("%d users are still known", len(ts.users))
		}
	})
}
