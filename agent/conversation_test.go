package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
)

// TestIdleConversationsAreReleased checks that messages queue in order of arrival, that too many are refused, and that
// unused conversations are dropped from memory.
func TestIdleConversationsAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{conversations: map[string]*conversation{}}
		leave, err := e.queue(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var order []int
		for i := range maxQueued {
			wg.Go(func() {
				next, err := e.queue(t.Context(), "c")
				if err != nil {
					t.Error(err)
					return
				}
				unlock, err := e.lock(t.Context(), "c")
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				unlock()
				next()
			})
			synctest.Wait()
		}
		if _, err := e.queue(t.Context(), "c"); footnote.CodeOf(err) != footnote.RateLimited {
			t.Errorf("one too many: %v", err)
		}
		impatient, cancel := context.WithTimeoutCause(t.Context(), time.Second, errRunTime)
		defer cancel()
		unlock, err := e.lock(impatient, "c")
		if err != nil {
			t.Fatalf("a message in line must not keep others from the conversation: %v", err)
		}
		if _, err := e.lock(impatient, "c"); !errors.Is(err, errRunTime) {
			t.Errorf("a second turn at once: %v", err)
		}
		unlock()
		leave()
		wg.Wait()
		if !slices.IsSorted(order) || len(order) != maxQueued || len(e.conversations) != 0 {
			t.Errorf("order %v; kept %v", order, e.conversations)
		}
	})
}
