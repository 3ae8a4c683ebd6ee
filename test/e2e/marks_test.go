package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/modeltest"
)

// marked is an answer with a mark that holds, a formula, a wrong mark, a mark in code, a footnote of Markdown, and an
// unfinished mark. readable is the same text without marks.
const (
	marked = "There are **846**[^r1.0.orders] orders, 100 %[^r1.0.orders/r1.0.orders] of all, and 12[^r1.0.orders] " +
		"more.\n\n| a | b |\n|---|---|\n| x | 846[^r1.0] |\n\n`[^r1.0]` and a note[^1].\n\nDone[^r1.0"
	readable = "There are **846** orders, 100 % of all, and 12 " +
		"more.\n\n| a | b |\n|---|---|\n| x | 846 |\n\n`[^r1.0]` and a note[^1].\n\nDone"
)

// TestNobodySeesMarks streams an answer with marks one byte at a time through each protocol, and looks for marks in
// everything that a client can read afterwards.
func TestNobodySeesMarks(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 100) // what the model read of results and earlier answers
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		if !r.HasTool("run_query") { // the title
			return modeltest.Say("Orders [^r1.0.orders]")
		}
		if len(r.Results()) == 0 {
			return modeltest.Blocks(modeltest.CallBlock("run_query", `{"sql":"SELECT count(*) AS orders FROM orders"}`))
		}
		sent <- string(r.Body)
		return modeltest.Blocks(modeltest.Block{Type: "text", Text: marked, Deltas: len(marked)})
	})
	p := serve(t, append(settings, keys)...)
	clean := func(what, body string) {
		t.Helper()
		body = strings.NewReplacer("`[^r1.0]`", "", "<code>[^r1.0]</code>", "").Replace(body)
		if at := strings.Index(body, "^r1"); at >= 0 {
			t.Errorf("%s shows a mark: %s", what, body[max(0, at-50):min(len(body), at+50)])
		}
	}
	for _, streamed := range []bool{false, true} {
		r := p.answered(t, question{key: adasKey, text: "How many orders?", stream: streamed})
		if !strings.HasSuffix(r.text, readable) {
			t.Errorf("streamed %v: %q, want %q", streamed, r.text, readable)
		}
		clean("openai", r.text)
		if read := <-sent; !strings.Contains(read, `\"rows\":[[\"r1.0\",846]]`) || !strings.Contains(read, "[^r1.0.orders]") {
			t.Errorf("the model is not asked for marks: %s", read)
		}
	}
	message := []map[string]any{{
		"role": "user", "id": "m1", "parts": []map[string]any{{"type": "text", "text": "How many orders?"}},
	}}
	for path, body := range map[string]map[string]any{
		"/api/ai":      {"id": "chat-1", "messages": message, "assistant": "analyst"},
		"/api/analyze": {"question": "How many orders?", "assistant": "analyst"},
		"/api/chat-v2": {"message": "How many orders?", "assistant": "analyst"},
	} {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.post(t.Context(), path, bytes.NewReader(data), adasKey, "")
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || !bytes.Contains(all, []byte("846")) {
			t.Errorf("%s: %d, %v, %s", path, res.StatusCode, err, all)
		}
		clean(path, string(all))
		<-sent
	}
	var list struct {
		Conversations []struct{ ID string }
	}
	_, body := p.get(t, "/api/conversations", adasKey)
	clean("the list of conversations", body)
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Conversations) != 5 {
		t.Fatalf("%v, %s", err, body)
	}
	id := list.Conversations[0].ID
	for _, c := range list.Conversations {
		for _, path := range []string{
			"", "/events", "/events?format=jsonl", "/events?view=seed", "/messages", "/export?format=html",
		} {
			status, body := p.get(t, "/api/conversations/"+c.ID+path, adasKey)
			if status != 200 || !strings.Contains(body, "order") && path != "" {
				t.Errorf("%s: %d %s", path, status, body)
			}
			clean(path, body)
		}
	}
	// The history has the marks again, and the footnotes say how they came about.
	again := p.answered(t, question{key: adasKey, text: "And again?", conversation: id})
	clean("the second answer", again.text)
	quoted, err := json.Marshal(marked)
	if err != nil {
		t.Fatal(err)
	}
	if read := <-sent; !strings.Contains(read, string(quoted)) {
		t.Errorf("the history lacks the marks: %s", read)
	}
	_, events := p.get(t, "/api/conversations/"+id+"/events", adasKey)
	for _, want := range []string{
		`"text":"846","result":"r1","row":0,"column":"orders","value":"846","confidence":1,"marked":true`,
		`"formula":"r1[0].orders / r1[0].orders","value":"1","confidence":1,"marked":true`,
		`the text says 12, but the cell is 846`,
	} {
		if !strings.Contains(events, want) {
			t.Errorf("the events lack %s: %s", want, events)
		}
	}
}

// TestMarkScenarios asks a model that marks all of its figures, or some, wrongly, halfway, in code or in a table.
func TestMarkScenarios(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		name, _, _ := strings.Cut(r.LastUserText(), "\n")
		if !r.HasTool("run_query") { // the title
			return modeltest.Say(name)
		}
		rule, err := modeltest.Builtin(name, modeltest.Params{SQL: "SELECT 'north' AS region, 846 AS orders, " +
			"121 AS returned UNION ALL SELECT 'south', 310, 35"})
		if err != nil {
			t.Error(err)
			return modeltest.Fail(400)
		}
		return rule(r)
	})
	p := serve(t, append(settings, keys, "FOOTNOTE_MARKS=on")...)
	const plain = "The orders is 846. The returned is 121. The orders is 310. The returned is 35."
	for _, tc := range []struct {
		scenario, text string
		marked         int
		broken         string // the reason of a mark that does not hold
	}{
		{"marks-all", plain, 4, ""},
		{"marks-half", plain, 2, ""},
		{
			"marks-wrong", "The orders is 7846. The returned is 7121. The orders is 7310. The returned is 735.", 0,
			"the text says 7846, but the cell is 846",
		},
		{"marks-cut", strings.TrimSuffix(plain, "."), 3, ""},
		{
			"marks-code", "```\nThe orders is 846[^r1:north.orders]. The returned is 121[^r1:north.returned]. The orders is " +
				"310[^r1:south.orders]. The returned is 35[^r1:south.returned].\n```\n`[^r1:north.orders]` in code. " + plain, 4, "",
		},
		{
			"marks-table", "| column | figure |\n|---|---|\n| orders | 846 |\n| returned | 121 |\n| orders | 310 |\n" +
				"| returned | 35 |\n", 4, "",
		},
	} {
		r := p.answered(t, question{key: adasKey, text: tc.scenario, stream: true})
		if !strings.HasSuffix(r.text, tc.text) {
			t.Errorf("%s: %q, want %q", tc.scenario, r.text, tc.text)
		}
		_, events := p.get(t, "/api/conversations/"+r.conversation+"/events", adasKey)
		if n := strings.Count(events, `"marked":true`); n != tc.marked || !strings.Contains(events, tc.broken) {
			t.Errorf("%s: %d marked footnotes, want %d, and %q: %s", tc.scenario, n, tc.marked, tc.broken, events)
		}
	}
	_, metrics := p.get(t, "/metrics", adasKey)
	// The unfinished mark is a wrong one.
	for _, want := range []string{`outcome="verified"} 17`, `outcome="wrong"} 5`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s: %v", want, regexp.MustCompile(`footnote_marks_total.*`).FindAllString(metrics, -1))
		}
	}
}
