package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/modeltest"
)

// TestStatementsCountTowardsLimits checks that the cost of a statement counts like that of an answer, survives a kill
// -9, and that once the daily limit is reached every protocol rejects requests before the model is called.
func TestStatementsCountTowardsLimits(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, func(modeltest.Request) modeltest.Reply {
		return modeltest.Say("SELECT count(*) AS orders FROM orders")
	})
	settings = append(settings, "FOOTNOTE_DATA="+t.TempDir(), "FOOTNOTE_LOG_OUTPUT=file")
	p := serve(t, settings...)
	statement := map[string]any{"question": "How many orders are there?"}
	if status, body := p.sendJSON(t, "/api/generate-sql", statement); status != http.StatusOK {
		t.Fatalf("generate-sql: %d %s", status, body)
	}
	p.kill()
	p = serve(t, append(settings, "FOOTNOTE_TOKENS_PER_DAY=1")...)
	if _, body := p.get(t, "/api/usage", ""); strings.Contains(body, `"used_today":0`) ||
		!strings.Contains(body, `"left_tokens":0`) {
		t.Errorf("after a restart: %s", body)
	}
	calls := fake.Metrics().Requests
	for path, body := range map[string]any{
		"/api/generate-sql":  statement,
		"/api/conversations": map[string]any{"text": "How many?"},
		"/api/ai": map[string]any{
			"id": "a",
			"messages": []any{
				map[string]any{
					"id":    "m",
					"role":  "user",
					"parts": []any{map[string]any{"type": "text", "text": "How many?"}},
				},
			},
		},
		"/api/analyze": map[string]any{"question": "How many?"},
		"/v1/chat/completions": map[string]any{
			"model":    "analyst",
			"messages": []any{map[string]any{"role": "user", "content": "How many?"}},
		},
	} {
		if status, got := p.sendJSON(t, path, body); status != http.StatusTooManyRequests ||
			!strings.Contains(got, "limit of 1 tokens a day") {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	if n := fake.Metrics().Requests - calls; n != 0 {
		t.Errorf("the model was called %d times", n)
	}
}
