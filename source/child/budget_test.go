package child

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// TestPoolsShareBudget checks that pools share their memory: a start ends an idle child of another pool, and
// waits while all children are busy.
func TestPoolsShareBudget(t *testing.T) {
	limits := source.Limits{Memory: 64 << 20}
	budget := NewBudget(2 * Need(limits.Memory))
	one, other := budget.Pool(4), budget.Pool(4)
	a, b := newFake(t, Options{Pool: one, Limits: limits}), newFake(t, Options{Pool: one, Limits: limits})
	c := newFake(t, Options{Pool: other, Limits: limits})
	for _, s := range []*Client{a, b, c} {
		if _, _, err := ask(t, s, "rows 1"); err != nil {
			t.Fatal(err)
		}
	}
	if a.PID() != 0 || b.PID() == 0 || c.PID() == 0 {
		t.Errorf("the idlest of the other pool was not the one to go: pids %d %d %d", a.PID(), b.PID(), c.PID())
	}
	for _, s := range []*Client{b, c} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if budget.used != 0 {
		t.Errorf("%d bytes are still reserved", budget.used)
	}
}

// TestReserve checks who gets memory and which errors the others get.
func TestReserve(t *testing.T) {
	budget := NewBudget(100)
	release, err := budget.Reserve(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := budget.Reserve(t.Context(), 101); footnote.CodeOf(err) != footnote.InvalidRequest ||
		!strings.Contains(footnote.MessageOf(err), "limits.child_memory") {
		t.Errorf("more than all: %v", err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := budget.Reserve(ctx, 60); !errors.Is(err, gone) {
		t.Errorf("a caller that left: %v", err)
	}
	got := make(chan error)
	for range maxWaiting {
		go func() {
			give, err := budget.Reserve(t.Context(), 60)
			if err == nil {
				give()
			}
			got <- err
		}()
	}
	for budget.waitingForTest() < maxWaiting {
		select {
		case err := <-got:
			t.Fatalf("one did not wait: %v", err)
		default:
		}
	}
	if _, err := budget.Reserve(t.Context(), 60); footnote.CodeOf(err) != footnote.RateLimited {
		t.Errorf("one more than may wait: %v", err)
	}
	release()
	for range maxWaiting {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	if budget.used != 0 || len(budget.queue) != 0 {
		t.Errorf("%d bytes are reserved, %d wait", budget.used, len(budget.queue))
	}
}

func (b *Budget) waitingForTest() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// TestReserveInOrder checks that a later, smaller request does not overtake an earlier, larger one, and that a
// cancelled request no longer blocks the others.
func TestReserveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := NewBudget(100)
		var got []string
		var mu sync.Mutex
		releases := map[string]func(){}
		ask := func(ctx context.Context, name string, bytes int64) {
			go func() {
				release, err := budget.Reserve(ctx, bytes)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					got, releases[name] = append(got, name), release
				}
			}()
			synctest.Wait()
		}
		want := func(names ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(got, names) {
				t.Fatalf("%q have memory, want %q", got, names)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		ask(t.Context(), "first", 40)
		ask(ctx, "large", 80)
		ask(t.Context(), "small", 10)
		ask(t.Context(), "smaller", 5)
		want("first")
		leave()
		want("first", "small", "smaller")
		ask(t.Context(), "large again", 80)
		ask(t.Context(), "late", 10)
		want("first", "small", "smaller")
		releases["first"]()
		want("first", "small", "smaller", "large again")
		releases["small"]()
		want("first", "small", "smaller", "large again", "late")
		for _, name := range []string{"smaller", "large again", "late"} {
			releases[name]()
		}
		if budget.used != 0 || len(budget.queue) != 0 {
			t.Errorf("%d bytes are reserved, %d wait", budget.used, len(budget.queue))
		}
	})
}

// TestFullPoolDoesNotBlockOthers checks that a start waiting for a place in its pool does not block others from the
// memory in the meantime.
func TestFullPoolDoesNotBlockOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, bytes := range []int64{0, 100} {
			budget := NewBudget(bytes)
			one, other := budget.Pool(1), budget.Pool(1)
			if err := budget.acquire(t.Context(), one, 10); err != nil {
				t.Fatal(err)
			}
			taken := make(chan error, 1)
			go func() { taken <- budget.acquire(t.Context(), one, 10) }()
			synctest.Wait()
			if err := budget.acquire(t.Context(), other, 10); err != nil {
				t.Fatal(err)
			}
			release, err := budget.Reserve(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			release()
			one.started(nil, 10)
			if err := <-taken; err != nil {
				t.Fatal(err)
			}
			one.started(nil, 10)
			other.started(nil, 10)
			if budget.used != 0 || len(budget.queue) != 0 {
				t.Errorf("%d bytes are reserved, %d wait", budget.used, len(budget.queue))
			}
		}
	})
}

// TestIdleChildrenEndOnlyIfEnough checks that idle children are ended only if they free enough memory together.
func TestIdleChildrenEndOnlyIfEnough(t *testing.T) {
	limits := source.Limits{Memory: 64 << 20}
	need := Need(limits.Memory)
	budget := NewBudget(4 * need)
	pool := budget.Pool(4)
	a, b := newFake(t, Options{Pool: pool, Limits: limits}), newFake(t, Options{Pool: pool, Limits: limits})
	for _, s := range []*Client{a, b} {
		if _, _, err := ask(t, s, "rows 1"); err != nil {
			t.Fatal(err)
		}
	}
	release, err := budget.Reserve(t.Context(), need)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		release, err := budget.Reserve(t.Context(), 4*need)
		if err == nil {
			release()
		}
		got <- err
	}()
	for budget.waitingForTest() == 0 {
		runtime.Gosched()
	}
	budget.mu.Lock() // by now, the waiter has looked for children to end
	for proc := range pool.procs {
		if proc.idleSince().IsZero() {
			t.Errorf("child %d was ended although that does not free enough memory", proc.cmd.Process.Pid)
		}
	}
	if len(pool.procs) != 2 {
		t.Errorf("%d children live, want 2", len(pool.procs))
	}
	budget.mu.Unlock()
	release()
	if err := <-got; err != nil {
		t.Error(err)
	}
	if a.PID() != 0 || b.PID() != 0 {
		t.Errorf("children run although all memory is reserved: %d, %d", a.PID(), b.PID())
	}
}

// TestLargeResult checks that the result of a call may be larger than a frame.
func TestLargeResult(t *testing.T) {
	c := newFake(t, Options{})
	var got string
	if err := c.Call(t.Context(), "large", maxFrame+1, &got); err != nil || len(got) != maxFrame+1 {
		t.Errorf("%d bytes: %v", len(got), err)
	}
	if err := c.Call(t.Context(), "large", maxResult+1, &got); err == nil {
		t.Error("a result without a bound")
	}
	if _, _, err := ask(t, c, "rows 1"); err != nil {
		t.Errorf("after it: %v", err)
	}
}
