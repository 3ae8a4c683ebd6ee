package main

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

// listener is an audit sink that hands over what is written.
type listener chan []byte

func (l listener) Write(lines []byte) error {
	l <- bytes.Clone(lines)
	return nil
}

// TestWhatIsNoRunIsAudited checks that the audit has a line for each use of the model that is no run, and for a
// question that a limit refused before its run began.
func TestWhatIsNoRunIsAudited(t *testing.T) {
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
		t.Errorf("%d %s", w.Code, w.Body)
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
			got := fmt.Sprint(e.Type, " ", e.User, " ", e.Outcome, " ", e.SessionID, " ", outcomes, " ", e.Question, " -> ",
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
			if e.Type != "title" && (e.RequestID == "" || e.Door == "") {
				t.Errorf("where it came from: %s", line)
			}
			if e.User == "ada" && e.Metadata.Model != "claude-sonnet-5-5" {
				t.Errorf("its model: %s", line)
			}
		}
	}
}
