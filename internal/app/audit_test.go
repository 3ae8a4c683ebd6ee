package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/model/modeltest"
)

// listener is an audit sink that passes on every line it receives.
type listener chan []byte

func (l listener) Write(lines []byte) error {
	l <- bytes.Clone(lines)
	return nil
}

// TestSideCallsAreAudited checks that the audit has a line for each use of the model outside a run, and for a
// question that a limit refused before its run began.
func TestSideCallsAreAudited(t *testing.T) {
	fake := modeltest.New(modeltest.Options{Key: "test", Replies: []modeltest.Reply{
		modeltest.Say("SELECT count(*) FROM ordres"), modeltest.Say("SELECT count(*) AS n FROM orders"),
		modeltest.Say("DROP TABLE orders"), modeltest.Say("DELETE FROM orders"),
		modeltest.Say(`{"title":"Orders of ours"}`),
		modeltest.Say("There are some."), modeltest.Say("Orders so far"),
	}})
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, fake.Start(t), "test", "claude-sonnet-5-5"
		c.Limits.Users = map[string]config.Allowance{"acme/bob": {Runs: 1}}
	})
	statement := func(question string, status int) {
		g.call("POST", "/api/generate-sql", map[string]any{"question": question}, status, nil)
	}
	statement("How many orders?", 200)
	statement("Drop them", 400)
	job := "### Task:\nGenerate a concise, 3-5 word title.\n<chat_history>\nUSER: hi\n</chat_history>"
	g.call("POST", "/v1/chat/completions", map[string]any{
		"model": "analyst", "messages": []any{map[string]any{"role": "user", "content": job}},
	}, 200, nil)
	id := g.ask("Are there orders?")
	done, err := g.app.ledger.Admit(t.Context(), footnote.Principal{Org: "acme", User: "bob"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer done() // bob's only run
	r := g.request("POST", "/api/conversations", map[string]any{"text": "One more?"})
	r.Header.Set("Authorization", "Bearer "+bobsKey)
	if w := g.do(r); w.Code != 429 {
		t.Errorf("side call over the limit: %d %s", w.Code, w.Body)
	}

	lines := make(listener, 100)
	follow, err := g.app.auditTo(map[string]audit.Sink{"test": lines})
	if err != nil {
		t.Fatal(err)
	}
	defer runJobs(t.Context(), func(ctx context.Context) { follow.Run(ctx, auditGrace) })()
	want := map[string]bool{
		"generate_sql ada finished  [failed executed] How many orders? -> SELECT count(*) AS n FROM orders": true,
		"generate_sql ada failed  [refused refused] Drop them -> ":                                          true,
		"side_job ada finished  [] " + job + ` -> {"title":"Orders of ours"}`:                               true,
		"audit ada finished " + id + " [] Are there orders? -> There are some.":                             true,
		"title ada finished " + id + " []  -> Orders so far":                                                true,
		"audit bob refused  [] One more? -> ":                                                               true,
	}
	for len(want) > 0 {
		for line := range bytes.Lines(<-lines) {
			var e audit.Entry
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			outcomes := []string{}
			for _, s := range e.Results {
				outcomes = append(outcomes, s.Outcome)
			}
			got := fmt.Sprint(e.Type, " ", e.User, " ", e.Outcome, " ", e.SessionID, " ", outcomes, " ", e.Question,
				" -> ",
				strings.TrimSpace(e.Response))
			if !want[got] {
				t.Fatalf("an unexpected line: %s\n%s", got, line)
			}
			delete(want, got)
			if paid := e.Metadata.CostUSD != nil && *e.Metadata.CostUSD > 0; paid != (e.User == "ada") {
				t.Errorf("its cost: %s", line)
			}
			if e.Org != "acme" || e.Timestamp == "" || len(e.Queries) != len(e.Results) {
				t.Errorf("its fields: %s", line)
			}
			if e.Type != "title" && (e.RequestID == "" || e.Protocol == "") {
				t.Errorf("where it came from: %s", line)
			}
			if e.User == "ada" && e.Metadata.Model != "claude-sonnet-5-5" {
				t.Errorf("its model: %s", line)
			}
		}
	}
}

// TestStatementsOfPeopleAreAudited checks that the audit has one line for each statement that a person ran or tried,
// with and without a conversation, however it ended.
func TestStatementsOfPeopleAreAudited(t *testing.T) {
	g := newRig(t, t.TempDir())
	id := g.ask("revenue by category")
	lines := make(listener, 100)
	follow, err := g.app.auditTo(map[string]audit.Sink{"test": lines})
	if err != nil {
		t.Fatal(err)
	}
	const shop = "/api/sources/shop/query"
	here := "/api/conversations/" + id + "/queries"
	want := map[string]bool{}
	for _, c := range []struct {
		address string
		body    map[string]any
		status  int
		want    string // outcome and error of the line, outcome of the statement, tables, and whether a browser ran it
	}{
		{
			shop, map[string]any{
				"sql":          "SELECT 1 FROM orders",
				"conversation": id,
			}, 200, "finished  executed orders false",
		},
		{shop, map[string]any{"sql": "SELECT 2 FROM orders LIMIT 1"}, 200, "finished  executed orders false"},
		{shop, map[string]any{"sql": "DELETE FROM orders"}, 400, "failed invalid_request refused  false"},
		{
			shop, map[string]any{
				"sql":          "DELETE FROM products",
				"conversation": id,
			}, 400, "failed invalid_request refused  false",
		},
		{
			shop, map[string]any{
				"sql":          "SELECT nothing FROM orders",
				"conversation": id,
			}, 400, "failed invalid_request failed  false",
		},
		{
			shop, map[string]any{
				"sql":          "SELECT 3",
				"conversation": id,
				"replaces":     "r99",
			}, 400, "failed invalid_request executed  false",
		},
		{
			shop, map[string]any{
				"sql":          "SELECT 4",
				"conversation": "conv_nowhere",
			}, 404, "failed not_found not_run  false",
		},
		{"/api/sources/nothing/query", map[string]any{"sql": "SELECT 5"}, 404, "failed not_found not_run  false"},
		{here, map[string]any{"sql": "SELECT 6", "replaces": "r1", "row_count": 7}, 200, "finished  executed  true"},
		{here, map[string]any{"sql": "SELECT 7", "replaces": "r99"}, 400, "failed invalid_request executed  true"},
		{
			"/api/conversations/conv_nowhere/queries", map[string]any{
				"sql":      "SELECT 8",
				"replaces": "r1",
			}, 404, "failed not_found executed  true",
		},
	} {
		if c.status == 200 {
			g.call("POST", c.address, c.body, c.status, nil)
		} else {
			g.refused(g.request("POST", c.address, c.body), c.status,
				map[int]string{400: "invalid_request", 404: "not_found"}[c.status])
		}
		want[fmt.Sprint(c.body["sql"], ": ", c.want)] = true
	}
	defer runJobs(t.Context(), func(ctx context.Context) { follow.Run(ctx, auditGrace) })()
	for len(want) > 0 {
		for line := range bytes.Lines(<-lines) {
			var e audit.Entry
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			if e.Type != "query" {
				continue
			}
			if len(e.Queries) != 1 || len(e.Results) != 1 || e.User != "ada" || e.Org != "acme" {
				t.Fatalf("audit line: %s", line)
			}
			res := e.Results[0]
			got := fmt.Sprintf("%s: %s %s %s %s %t", e.Queries[0], e.Outcome, e.Error, res.Outcome, res.Table,
				res.InBrowser)
			if !want[got] {
				t.Fatalf("an unexpected line: %s\n%s", got, line)
			}
			delete(want, got)
		}
	}
}
