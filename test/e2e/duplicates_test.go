package e2e

import (
	"context"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

var messageOf = regexp.MustCompile(`"messageId":"(msg_run_\w+)"`)

// TestDuplicatePosts checks that a message posted several times at once, as by a double click, becomes one question,
// and that each post gets its answer.
func TestDuplicatePosts(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, func(modeltest.Request) modeltest.Reply { return modeltest.Say("Hello.") })
	p := serve(t, settings...)
	for _, message := range []string{"opens the chat", "goes on with it"} {
		var all sync.WaitGroup
		var mu sync.Mutex // guards runs
		runs := map[string]int{}
		for range 8 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				status, body, err := p.exchange(ctx, "/api/ai", map[string]any{"id": "twins", "messages": []any{
					map[string]any{
						"id":    message,
						"role":  "user",
						"parts": []any{map[string]any{"type": "text", "text": message}},
					},
				}})
				run := messageOf.FindStringSubmatch(body)
				if err != nil || status != http.StatusOK || run == nil {
					t.Errorf("%s: %d %.200s, %v", message, status, body, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				runs[run[1]]++
			})
		}
		all.Wait()
		if len(runs) != 1 {
			t.Errorf("%s: the runs are %v", message, runs)
		}
	}
}
