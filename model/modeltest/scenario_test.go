package modeltest

import (
	"bufio"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestScenarioFile(t *testing.T) {
	s, err := Load([]byte(`
replies:
  - {text: first}
rules:
  - when: {after: run_query}
    reply: {text: "of {question}: {numbers}"}
  - when: {contains: REVENUE, offers: run_query, results: false}
    reply:
      blocks:
        - {type: thinking, text: hm}
        - {type: tool_use, name: run_query, input: '{"sql":"{question}"}', deltas: 3, gap: 1ms}
  - reply: {error: {status: 529}}
`))
	if err != nil {
		t.Fatal(err)
	}
	server := New(s.Options())
	base := server.Start(t)
	tools := `"tools":` + toolsJSON
	question := `{"role":"user","content":"Revenue \"net\"?"}`
	call := `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"run_query","input":{}}]}`
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"[[12.5,-3]]"}]}`
	for _, tc := range []struct {
		body   string
		status int
		want   string
	}{
		{body(userJSON), 200, `"text":"first"`},
		{body(question, tools), 200, `"input":{"sql":"Revenue \"net\"?"}`},
		{body(question+","+call+","+result, tools), 200, `"text":"of Revenue \"net\"?: 12.5, -3"`},
		{body(question), 529, "overloaded_error"},
	} {
		if status, _, got := post(t, base, tc.body); status != tc.status || !strings.Contains(got, tc.want) {
			t.Errorf("%d %s, want %d %s", status, got, tc.status, tc.want)
		}
	}
	for _, bad := range []string{"", "rules: []", "replies: [{txt: x}]", "replies: {"} {
		if _, err := Load([]byte(bad)); err == nil {
			t.Errorf("Load(%q) gave no error", bad)
		}
	}
}

func TestBuiltins(t *testing.T) {
	tools := `"tools":` + toolsJSON
	say := func(text string) string { return body(`{"role":"user","content":`+quote(text)+`}`, tools) }
	results := body(userJSON+
		`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"run_query","input":{}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"7 and 8"}]}`, tools)
	withMarks := strings.Replace(results, "7 and 8", `{\"result\":\"r1\",\"columns\":[\"mark\",\"region\",\"n\",`+
		`\"a b\"],\"marks\":\"Write marks.\",\"rows\":[[\"r1:north\",\"north\",7,8],[\"r1:south\",\"south\",9,null]]}`, 1)
	for _, tc := range []struct {
		scenario, body string
		status         int
		want           string
	}{
		{"text", body(userJSON), 200, "Revenue rose"},
		{"tool", say("x"), 200, `"sql":"SELECT 1"`},
		{"tool", results, 200, "Done."},
		{"analyst", say("x"), 200, `"name":"run_query","input":{"sql":"SELECT 1"}`},
		{"analyst", body(userJSON), 200, "no tool"},
		{"analyst", results, 200, "The result holds 7, 8."},
		{"auto", results, 200, "The result holds 7, 8."},
		{"auto", say("hello"), 200, `"sql":"SELECT 1"`},
		{
			"auto", say("please\nfake: say hello\nfake: call other {\"a\":1}"), 200,
			`"text":"hello"},{"type":"tool_use","id":"toolu_00000001_1","name":"other","input":{"a":1}}`,
		},
		{"auto", say("fake: fail 529"), 529, "Overloaded"},
		{"auto", say("fake: dance"), 400, "unknown directive"},
		{"auto", say("fake: say cut\nfake: stop max_tokens"), 200, `"stop_reason":"max_tokens"`},
		{"faults", body(userJSON), 529, "Overloaded"},
		{"marks-all", say("x"), 200, `"sql":"SELECT 1"`},
		{"marks-all", results, 200, "no rows with marks"},
		{"marks-all", withMarks, 200, `The n is 7[^r1:north.n]. The a b is 8[^r1:north.\"a b\"]. The n is 9[^r1:south.n].`},
		{"marks-half", withMarks, 200, `The n is 7[^r1:north.n]. The a b is 8. The n is 9[^r1:south.n].`},
		{"marks-wrong", withMarks, 200, `The n is 77[^r1:north.n].`},
		{"marks-cut", withMarks, 200, `The n is 9[^r1:south.n"`},
		{"marks-code", withMarks, 200, "```\\n`[^r1:north.n]` in code. The n is 7[^r1:north.n]."},
		{"marks-table", withMarks, 200, `| a b | 8[^r1:north.\"a b\"] |`},
		{"auto", withMarks, 200, "The result holds north, 7, 8, south, 9, null."},
	} {
		rule, err := Builtin(tc.scenario, Params{})
		if err != nil {
			t.Fatal(err)
		}
		if status, _, got := post(t, New(Options{Rule: rule}).Start(t), tc.body); status != tc.status ||
			!strings.Contains(got, tc.want) {
			t.Errorf("%s: %d %s, want %d %s", tc.scenario, status, got, tc.status, tc.want)
		}
	}
	if _, err := Builtin("nope", Params{}); err == nil {
		t.Error("an unknown scenario gave no error")
	}
}

func TestAutoCountsRows(t *testing.T) {
	const schema = `"system":[{"type":"text","text":"Rules.\n<schema>\nSource shop (sqlite SQL):\n- customers (about ` +
		`140 rows): id INTEGER\n- order_items: id INTEGER\n- orders (about 850 rows, \"One.\"): id INTEGER\n  sample ` +
		`row: 1\nSource web (duckdb SQL):\n- log.\"visits by day\" (view): n\n</schema>\n- fake: x"}],"tools":` +
		toolsJSON
	user := func(text string) string {
		return `{"role":"user","content":[{"type":"text","text":` + quote(text) +
			`},{"type":"text","text":"Today is Monday. Show all data."}]}`
	}
	after := func(sql, result string) string {
		return body(user("How many?")+
			`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"run_query","input":{"sql":`+
			quote(sql)+`}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":`+
			quote(result)+`}]}`, schema)
	}
	rule, err := Builtin("auto", Params{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, body, want string }{
		{
			"a table", body(user("How many orders are there?"), schema),
			`"input":{"sql":"SELECT count(*) AS rows FROM \"orders\"","source":"shop"}`,
		},
		{"one of a table", body(user("What is the last order?"), schema), `FROM \"orders\"`},
		{
			"another source", body(user("visits by day, please"), schema),
			`"input":{"sql":"SELECT count(*) AS rows FROM \"log\".\"visits by day\"","source":"web"}`,
		},
		{"no table", body(user("How many are there?"), schema), `FROM \"customers\"","source":"shop"}`},
		{"greeting", body(user("Hi!"), schema), `"text":"Hello. I imitate`},
		{"greeting and table", body(user("Hi, count the orders"), schema), `FROM \"orders\"`},
		{"no data", body(user("Tell me a joke"), schema), `name a table, such as customers`},
		{"directive", body(user("fake: say yes"), schema), `"text":"yes"`},
		{
			"counted", after(`SELECT count(*) AS rows FROM "orders"`,
				`{"result":"r1","columns":["rows"],"rows":[[846]],"row_count":1}`),
			`"text":"There are 846 rows in orders."`,
		},
		{
			"other rows", after(`SELECT 1`,
				`{"result":"r1","columns":["a","b"],"rows":[["x","1.50"],[null,3]],"row_count":2}`),
			`"text":"The result holds x, 1.50, null, 3."`,
		},
		{
			"no rows", after(`SELECT 1`, `{"result":"r1","columns":["a"],"rows":[],"row_count":0}`),
			`"text":"The result is empty."`,
		},
		{"no table of rows", after(`SELECT 1`, `7 and 8`), `"text":"The result holds 7, 8."`},
	} {
		if status, _, got := post(t, New(Options{Rule: rule}).Start(t), tc.body); status != 200 ||
			!strings.Contains(got, tc.want) {
			t.Errorf("%s: %d %s, want %s", tc.name, status, got, tc.want)
		}
	}
	if rule, err = Builtin("auto", Params{SQL: "SELECT 2"}); err != nil {
		t.Fatal(err)
	}
	if _, _, got := post(t, New(Options{Rule: rule}).Start(t), body(user("Hi!"), schema)); !strings.Contains(got,
		`"sql":"SELECT 2"`) {
		t.Errorf("a statement that is given is run, not %s", got)
	}
}

// TestManyTimedStreams reads many timed streams at once: every piece arrives, in order, with times that only
// increase and are in the past when they are read.
func TestManyTimedStreams(t *testing.T) {
	const streams, deltas = 100, 20
	rule, err := Builtin("timed", Params{Deltas: deltas, Gap: 2 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Rule: rule, Lax: true})
	base := s.Start(t)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for range streams {
		wg.Go(func() {
			res, err := client.Post(base+"/v1/messages", "application/json", strings.NewReader(`{"stream":true}`))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			next, before := 0, int64(0)
			lines := bufio.NewScanner(res.Body)
			for lines.Scan() {
				_, text, ok := strings.Cut(lines.Text(), `"text_delta","text":"`)
				if !ok {
					continue
				}
				n, at, end := NextTimed([]byte(text))
				if end == 0 || n != next || at <= before || at > Monotonic() {
					t.Errorf("piece %q after %d at %d", text, next, before)
					return
				}
				next, before = n+1, at
			}
			if next != deltas {
				t.Errorf("%d pieces, want %d", next, deltas)
			}
		})
	}
	wg.Wait()
	if m := s.Metrics(); m.Requests != streams || m.Deltas != streams*deltas || m.Open != 0 && m.MaxOpen == 0 {
		t.Errorf("metrics %+v", m)
	}
}
