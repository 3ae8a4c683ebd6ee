package group

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

func all(int) bool { return true }

// items are the items of a batch, which it finishes.
func items(batch []*Request[int]) (got []int) {
	for _, r := range batch {
		got = append(got, r.Item)
		r.Finish(nil)
	}
	return got
}

// TestBatchesKeepWritesApart checks that Next holds back writes that must not share a batch, and that none is lost when
// the queue is closed.
func TestBatchesKeepWritesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](16)
		done := make(chan error)
		for _, n := range []int{2, 3, 4, 6} {
			go func() {
				_, err := q.Do(t.Context(), n)
				done <- err
			}()
		}
		even := func(n int) bool { return n%2 == 0 }
		synctest.Wait() // all four are in the queue
		var got []int
		for len(got) < 3 {
			got = append(got, items(q.Next(2, even))...)
		}
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, []int{2, 4, 6}) {
			t.Errorf("even: %v", got)
		}
		q.Close()
		if rest := items(q.Next(2, all)); !slices.Equal(rest, []int{3}) {
			t.Errorf("held back: %v", rest)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if rest := q.Next(2, all); rest != nil {
			t.Errorf("a closed queue has %d more", len(rest))
		}
	})
}

// TestAbandonedWrites checks that a write is dropped if its caller leaves before the writer takes it, and is finished
// if the caller leaves afterwards.
func TestAbandonedWrites(t *testing.T) {
	q := New[int](16)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	errs := make(chan error, 1)
	go func() {
		_, err := q.Do(ctx, 1)
		errs <- err
	}()
	batch := q.Next(10, all)
	cancel(gone)
	batch[0].Finish(nil)
	if err := <-errs; err != nil {
		t.Errorf("a write that was taken: %v", err)
	}
	if _, err := q.Do(ctx, 2); !errors.Is(err, gone) {
		t.Errorf("a caller who was gone: %v", err)
	}
	q.Close()
	q.Close()
	if ok, err := q.Do(t.Context(), 3); ok || err != nil {
		t.Errorf("a closed queue: %v, %v", ok, err)
	}
	if rest := items(q.Next(10, all)); rest != nil {
		t.Errorf("left: %v", rest)
	}
}

// TestIdle checks that Next returns an empty batch if all waiting writes were abandoned, so that the writer can do its
// idle work.
func TestIdle(t *testing.T) { synctest.Test(t, testIdle) }

func testIdle(t *testing.T) {
	q := New[int](16)
	if !q.Idle() {
		t.Error("an empty queue is not idle")
	}
	same := func() func(int) bool { // each write only once, as for streams
		seen := map[int]bool{}
		return func(n int) bool {
			defer func() { seen[n] = true }()
			return !seen[n]
		}
	}
	next := func() []*Request[int] {
		t.Helper()
		got := make(chan []*Request[int], 1)
		go func() { got <- q.Next(10, same()) }()
		synctest.Wait()
		select {
		case batch := <-got:
			return batch
		default:
			t.Fatal("Next waits, but the queue was not idle")
			return nil
		}
	}
	send := func(ctx context.Context, n int) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := q.Do(ctx, n)
			done <- err
		}()
		synctest.Wait()
		return done
	}
	abandon := func(n int) {
		ctx, cancel := context.WithCancel(t.Context())
		done := send(ctx, n)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("an abandoned write: %v", err)
		}
	}

	abandon(1)
	if q.Idle() {
		t.Fatal("idle with a write that was not read yet")
	}
	if batch := next(); batch == nil || len(batch) > 0 {
		t.Errorf("an abandoned write gave %v", batch)
	}
	if !q.Idle() {
		t.Error("not idle after the abandoned write")
	}

	abandon(2)
	done := send(t.Context(), 2) // does not go together with the abandoned one
	var got []int
	for !q.Idle() {
		got = append(got, items(next())...)
	}
	if !slices.Equal(got, []int{2}) {
		t.Errorf("after the abandoned write: %v", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}

	abandon(3)
	q.Close()
	if batch := next(); batch == nil || len(batch) > 0 {
		t.Errorf("an abandoned write before the end gave %v", batch)
	}
	if batch := next(); batch != nil {
		t.Errorf("a closed queue gave %v", batch)
	}
}
