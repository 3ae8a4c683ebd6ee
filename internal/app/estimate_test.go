package app

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
)

// until ends a stream once it has shown a text.
type until struct {
	*httptest.ResponseRecorder
	text string
	end  func()
}

func (u until) Write(data []byte) (int, error) {
	n, err := u.ResponseRecorder.Write(data)
	if strings.Contains(u.Body.String(), u.text) {
		u.end()
	}
	return n, err
}

// follow reads the events of a conversation until one of a kind.
func (g *rig) follow(conversation, kind string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 30*time.Second)
	defer cancel()
	r := g.request("GET", "/api/conversations/"+conversation+"/events", nil).WithContext(ctx)
	r.Header.Set("Accept", "text/event-stream")
	w := until{httptest.NewRecorder(), kind, cancel}
	g.api.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), kind) {
		g.t.Fatalf("no %s: %s", kind, w.Body)
	}
}

// TestEstimateAsksOrRefuses checks that a statement that would read too much waits for a person, with the reason, and
// that it is refused where nobody can approve it.
func TestEstimateAsksOrRefuses(t *testing.T) {
	g := newRig(t, t.TempDir(), func(c *config.Config) { c.Limits.Estimate.Rows = 10 })
	const reason = "reads all of "
	export := func(conversation, result string) *httptest.ResponseRecorder {
		return g.do(g.request("GET", "/api/results/"+conversation+"."+result+"/export", nil))
	}
	asked := func(question string, approve bool) (answer string, results []footnote.ToolResult) {
		t.Helper()
		var opened taken
		g.call("POST", "/api/conversations", map[string]any{"text": question}, 202, &opened)
		g.follow(opened.Conversation, "run_parked")
		var ask footnote.ApprovalAsked
		for _, ev := range g.events(opened.Conversation) {
			if ev.Kind == "approval_asked" && json.Unmarshal(ev.Body, &ask) != nil {
				t.Fatalf("%s", ev.Body)
			}
		}
		if !strings.Contains(ask.Reason, reason) || !strings.Contains(ask.Reason, "the limit is 10 rows") {
			t.Fatalf("the reason is %q", ask.Reason)
		}
		messages := g.do(g.request("GET", "/api/conversations/"+opened.Conversation+"/messages", nil)).Body.String()
		if !strings.Contains(messages, reason) {
			t.Errorf("the page does not tell the reason: %s", messages)
		}
		given := []map[string]any{{
			"call_id": ask.CallID, "approval_id": ask.ApprovalID, "approved": approve, "always": true,
		}}
		g.call("POST", "/api/conversations/"+opened.Conversation+"/turns", map[string]any{"approvals": given}, 202,
			nil)
		for _, ev := range g.settle(opened.Conversation) {
			var a footnote.Answered
			if ev.Kind == "answered" && json.Unmarshal(ev.Body, &a) == nil {
				answer = a.Text
			}
		}
		results = g.results(opened.Conversation)
		if last := results[len(results)-1]; approve {
			w := export(opened.Conversation, last.Result.ID)
			if w.Code != 200 || !strings.Contains(w.Body.String(), "\n") {
				t.Errorf("all rows of an approved statement: %d %s", w.Code, w.Body)
			}
		}
		return answer, results
	}
	// The approval holds for this call only, although the page sent always.
	for _, question := range []string{"How many orders are there?", "How many customers are there?"} {
		answer, results := asked(question, true)
		last := results[len(results)-1]
		if last.IsError || len(last.Statements) == 0 || !strings.Contains(last.Statements[0].Estimate, reason) {
			t.Errorf("approved: %q, %+v", answer, last)
		}
	}
	if _, results := asked("How many products are there?", false); !results[len(results)-1].IsError {
		t.Errorf("declined: %+v", results)
	}
	w := g.do(g.request("POST", "/v1/chat/completions", map[string]any{
		"model":    "claude-da/analyst",
		"messages": []map[string]any{{"role": "user", "content": "How many products are there?"}},
	}))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "expects this statement to read about 41") {
		t.Errorf("openai: %d %s", w.Code, w.Body)
	}
	w = g.do(g.request("POST", "/api/sources/shop/query", map[string]any{"sql": "SELECT count(*) FROM orders"}))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), reason) {
		t.Errorf("a person's statement: %d %s", w.Code, w.Body)
	}
	g.call("POST", "/api/sources/shop/query", map[string]any{"sql": "SELECT * FROM orders WHERE id = 1"}, 200, nil)
}

// TestEstimates checks the estimates of every engine that runs here.
func TestEstimates(t *testing.T) {
	needsDuckDB(t)
	addresses, _ := fourDatabases(t, ordersOf(100_000))
	for name, address := range addresses {
		t.Run(name, func(t *testing.T) {
			engine, err := Databases().Find(address)
			if err != nil {
				t.Fatal(err)
			}
			src, err := engine.Open(t.Context(), name, address, engines.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			for _, test := range []struct {
				sql         string
				args        []any
				least, most int64
				why         string
			}{
				{"SELECT sum(total) FROM orders", nil, 90_000, 110_000, "reads all of orders"},
				{"SELECT sum(total) FROM orders WHERE total > $1", []any{5.0}, 90_000, 110_000, "reads all of "},
				{
					"SELECT c.name, sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.name",
					nil, 90_000, 230_000, "",
				},
				// DuckDB expects that few pairs fit.
				{"SELECT count(*) FROM orders a, orders b WHERE a.total < b.total", nil, 3_000_000, 11_000_000_000, ""},
				{"SELECT 1", nil, 0, 1, ""},
				{"SELECT * FROM missing", nil, -1, -1, ""},
				{"DELETE FROM orders", nil, -1, -1, ""},
			} {
				e, err := source.EstimateOf(t.Context(), src, source.Query{SQL: test.sql, Args: test.args})
				if err != nil || e.Rows < test.least || e.Rows > test.most || !strings.Contains(e.Why, test.why) {
					t.Errorf("%s: %+v, %v", test.sql, e, err)
				}
			}
		})
	}
}
