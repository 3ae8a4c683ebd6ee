package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/source/duckdb"
)

// escape starts a terminal escape sequence, which only belongs on a terminal.
const escape = "\x1b"

func TestHelp(t *testing.T) {
	t.Parallel()
	all := command(t, nil, "", "--help")
	if none := command(t, nil, ""); all.code != 0 || none.code != 0 || none.stdout != all.stdout || all.stderr != "" {
		t.Errorf("without arguments the help is shown: %+v", none)
	}
	for name, example := range map[string]string{
		"serve": "footnote serve --source shop=shop.db\n", "demo": "footnote demo\n",
		"ask":    `footnote ask --continue "only 2024"` + "\n",
		"query":  `footnote query --source shop.db "select count(*) from orders"` + "\n",
		"verify": "footnote verify conv_ABC --json\n",
		"doctor": "footnote doctor --source shop.db\n", "fake-model": "--scenario analyst",
		"seed-demo": "footnote seed-demo shop.db\n", "version": "Print the version.",
	} {
		if !strings.Contains(all.stdout, "\n  "+name+" ") {
			t.Errorf("the help does not list %s", name)
		}
		o := command(t, nil, "", name, "--help")
		if o.code != 0 || !strings.Contains(o.stdout, example) ||
			!strings.HasPrefix(o.stdout, "Usage: footnote "+name) {
			t.Errorf("%s --help: exit code %d\n%s", name, o.code, o.stdout)
		}
	}
	for _, args := range [][]string{
		{"bogus"},
		{"ask"},
		{"query"},
		{"query", "--batch", "select 1"},
		{"serve", "--nope"},
		{"ask", " "},
		{"verify", "a", "b"},
	} {
		o := command(t, nil, "", args...)
		if o.code != 2 || o.stdout != "" || !strings.HasPrefix(o.stderr, "footnote: ") {
			t.Errorf("%v: exit code %d, %q %q; want 2", args, o.code, o.stdout, o.stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if o := command(t, nil, "", "version"); o.code != 0 || !strings.HasPrefix(o.stdout, "footnote ") ||
		strings.Count(o.stdout, "\n") != 1 {
		t.Errorf("footnote version: %+v", o)
	}
}

func TestSeedDemo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shop.db")
	for range 2 { // also over an existing file
		if o := command(t, nil, "", "seed-demo", path); o.code != 0 || o.stdout != path+"\n" {
			t.Errorf("footnote seed-demo: %+v", o)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(shopDB)
	if err != nil || string(got) != string(want) {
		t.Errorf("the bytes differ from those of another run: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if o := command(t, nil, "", "seed-demo", "/nowhere/shop.db"); o.code != 1 {
		t.Errorf("footnote seed-demo into a missing folder: %+v", o)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	data := "FOOTNOTE_DATA=" + t.TempDir()
	configured := "FOOTNOTE_SOURCES=shop=" + shopDB + ",other=/nowhere.db"
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"--source", shopDB, "select count(*) as n from orders"}, 0, "n\n───\n846\n", "1 row in"},
		{[]string{"--source", "shop", "select count(*) as n from orders"}, 0, "846", ""},
		{[]string{"--source", "mine=" + shopDB, "select count(*) as n from orders"}, 0, "846", ""},
		{[]string{"--source", "sqlite:" + shopDB + "?mode=ro", "select count(*) as n from orders"}, 0, "846", ""},
		{[]string{"--source", "shop", "--json", "select id, city from customers limit 2"}, 0,
			`{"columns":[{"name":"id","kind":"integer"},{"name":"city","kind":"text"}],"rows":[[1,"Graz"],[2,` +
				`"Amsterdam"]],"row_count":2,"truncated":false,"ms":`, ""},
		{
			[]string{
				"--source", "shop", "--json", "select id from customers where id < 0",
			}, 0, `,"outcome":"executed","reason":""}`, "",
		},
		{[]string{"--source", "shop", "delete from orders"}, 3, "", "DELETE is not allowed"},
		{
			[]string{
				"--source", "shop", "--json", "delete from orders",
			}, 3, `"outcome":"refused","reason":"DELETE is not allowed`, "DELETE is not allowed",
		},
		{
			[]string{
				"--source", "shop", "--json", "delete from orders",
			}, 3, `{"columns":[],"rows":[],"row_count":0,"truncated":false,"ms":`, "",
		},
		{
			[]string{
				"--source", "shop", "--json", "select nope from orders",
			}, 1, `"outcome":"failed","reason":"no such column: nope`, "nope",
		},
		{
			[]string{
				"--source", "nowhere.db", "--json", "select 1",
			}, 1, `"outcome":"failed","reason":"database nowhere: `, "not there",
		},
		{[]string{"--source", "shop", "select 1; select 2"}, 3, "", "refused"},
		{[]string{"--source", "shop", "select load_extension('x')"}, 3, "", "refused"},
		{[]string{"--source", "shop", "select nope from orders"}, 1, "", "nope"},
		{
			[]string{
				"--source", "shop", "--set", "limits.query_time=300ms",
				"with recursive t(n) as (select 1 union all select n+1 from t) select count(*) from t",
			}, 4, "", "longer than",
		},
		{
			[]string{
				"--source", "shop", "--set", "limits.query_rows=3", "--json", "select id from orders",
			}, 4, `"outcome":"limited","reason":"the result was cut after 3 rows`, "cut after 3 rows",
		},
		{[]string{"--source", "nowhere", "select 1"}, 1, "", "not there"},
		{[]string{"select 1"}, 2, "", "exactly one source"},
	} {
		o := command(t, []string{data, configured}, "", append([]string{"query"}, c.args...)...)
		if o.code != c.code || !strings.Contains(o.stdout, c.stdout) || !strings.Contains(o.stderr, c.stderr) ||
			strings.Contains(o.stderr, escape) {
			t.Errorf("%v: exit code %d, %q %q; want %d %q %q", c.args, o.code, o.stdout, o.stderr, c.code, c.stdout,
				c.stderr)
		}
	}
}

func TestQueryBatch(t *testing.T) {
	t.Parallel()
	settings := []string{"FOOTNOTE_DATA=" + t.TempDir(), "FOOTNOTE_LIMITS_QUERY_ROWS=100"}
	in := `{"id":1,"sql":"select 1 union all select 2"}
{"id":"two","sql":"drop table orders"}

{"id":{"n":3},"sql":"select * from orders"}
{"sql":"select nope from orders"}
{"id":5,"sql":""}
`
	o := command(t, settings, in, "query", "--source", shopDB, "--batch")
	if o.code != 0 || o.stderr != "" {
		t.Errorf("exit code %d, %q", o.code, o.stderr)
	}
	type line struct {
		ID      json.RawMessage
		Outcome string
		Reason  *string
		Rows    *int
		Ms      *int64
	}
	var lines []line
	for text := range strings.Lines(o.stdout) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil || l.Reason == nil || l.Rows == nil || l.Ms == nil {
			t.Fatalf("line %q: %v", text, err)
		}
		lines = append(lines, l)
	}
	want := []struct {
		id, outcome string
		rows        int
	}{
		{"1", "executed", 2},
		{`"two"`, "refused", 0},
		{`{"n":3}`, "limited", 100},
		{"null", "failed", 0},
		{"5", "refused", 0},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines: %s", len(lines), o.stdout)
	}
	for i, w := range want {
		if l := lines[i]; string(l.ID) != w.id || l.Outcome != w.outcome || *l.Rows != w.rows ||
			(*l.Reason == "") != (w.outcome == "executed") {
			t.Errorf("line %d: %s %s %d %q; want %+v", i+1, l.ID, l.Outcome, *l.Rows, *l.Reason, w)
		}
	}
	for _, broken := range []string{"select 1\n", `{"id":1}` + "\n", `{"id":1,"sql":"select 1"} {}` + "\n"} {
		if o := command(t, settings, broken, "query", "--source", shopDB, "--batch"); o.code != 2 ||
			!strings.Contains(o.stderr, "line 1") {
			t.Errorf("%q: exit code %d, %q; want 2", broken, o.code, o.stderr)
		}
	}
	if o := command(t, settings, "", "query", "--source", shopDB, "--batch"); o.code != 0 || o.stdout != "" {
		t.Errorf("no input: %+v", o)
	}
}

// askedJSON is the output of ask --json.
type askedJSON struct {
	Answer    string
	SQL       []string
	Columns   []struct{ Name, Kind string }
	Rows      [][]any
	Chart     json.RawMessage
	Footnotes []struct {
		Start, End   int
		Text, Result string
	}
	Usage        map[string]any
	Conversation string `json:"conversation_id"`
}

func askJSON(t *testing.T, settings []string, args ...string) askedJSON {
	t.Helper()
	o := command(t, settings, "", append([]string{"ask", "--json"}, args...)...)
	var keys map[string]json.RawMessage
	var a askedJSON
	if o.code != 0 || strings.Count(o.stdout, "\n") != 1 || json.Unmarshal([]byte(o.stdout), &keys) != nil ||
		json.Unmarshal([]byte(o.stdout), &a) != nil {
		t.Fatalf("%v: exit code %d, %q %q", args, o.code, o.stdout, o.stderr)
	}
	for _, k := range []string{"answer", "sql", "columns", "rows", "chart", "footnotes", "usage", "conversation_id"} {
		if keys[k] == nil {
			t.Errorf("%s is missing: %s", k, o.stdout)
		}
	}
	return a
}

func TestAsk(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, auto(t))
	settings = append(settings, "FOOTNOTE_DATA="+t.TempDir())
	o := command(t, settings, "", "ask", "How", "many", "orders?")
	if o.code != 0 || strings.Contains(o.stdout+o.stderr, escape) || o.stderr != "" {
		t.Errorf("exit code %d, %q", o.code, o.stderr)
	}
	for _, part := range []string{
		"Looking at the data.\n", "SELECT count(*) AS orders FROM orders\n", "The result holds 1, 846, 1.\n",
		"orders\n──────\n   846\n", "[1] 846 = r1[0].orders\n", "footnote verify conv_",
	} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("the output lacks %q:\n%s", part, o.stdout)
		}
	}
	a := askJSON(t, settings, "--continue", "And again?")
	if len(a.SQL) != 1 || len(a.Rows) != 1 || fmt.Sprint(a.Rows[0][0]) != "846" || a.Columns[0].Name != "orders" ||
		string(a.Chart) != "null" ||
		a.Usage["model"] != "claude-sonnet-5-5" || !strings.Contains(o.stdout, a.Conversation) {
		t.Errorf("answer: %+v", a)
	}
	if last := fake.Requests()[fake.Metrics().Requests-1]; len(last.Messages) < 6 {
		t.Errorf("the history of the continued conversation has %d messages", len(last.Messages))
	}
	for _, f := range a.Footnotes {
		if a.Answer[f.Start:f.End] != f.Text {
			t.Errorf("the footnote %+v is not at its place in %q", f, a.Answer)
		}
	}
	for question, code := range map[string]int{"fake: fail 401": 1, strings.Repeat("x", 10_001): 4} {
		if o := command(t, settings, "", "ask", question); o.code != code || o.stderr == "" ||
			strings.Contains(o.stderr, modelKey) {
			t.Errorf("%.20q: exit code %d, want %d: %q", question, o.code, code, o.stderr)
		}
	}
	if o := command(t, []string{"FOOTNOTE_DATA=" + t.TempDir()}, "", "ask", "--continue", "What?"); o.code != 2 {
		t.Errorf("nothing to continue: %+v", o)
	}
}

// TestAskOutcomes checks that the exit code is 0 only if there is an answer, and that --json always prints an
// object that agrees with it.
func TestAskOutcomes(t *testing.T) {
	t.Parallel()
	sqls := map[string][]string{ // the statements that the model tries, in order
		"recovers": {"SELECT nope FROM orders", "SELECT count(*) AS n FROM orders"},
		"fails":    {"SELECT nope FROM orders", "SELECT nope2 FROM orders"},
		"refused":  {"SELECT nope FROM orders", "DELETE FROM orders"},
		"limited":  {"WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM t) SELECT count(*) FROM t"},
		"partly":   {"SELECT count(*) AS n FROM orders", "SELECT nope FROM orders"},
		"turns":    {"SELECT 1 AS a", "SELECT 2 AS a", "SELECT 3 AS a", "SELECT 4 AS a"},
	}
	auto := auto(t)
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		tries := sqls[r.Messages[0].Content[0].Text]
		if tries == nil {
			return auto(r)
		}
		if n := len(r.Messages) / 2; n < len(tries) && r.Choice != "none" {
			in, _ := json.Marshal(map[string]string{"sql": tries[n]})
			return modeltest.Use("run_query", string(in))
		}
		return modeltest.Say("That is all.")
	})
	settings = append(settings, "FOOTNOTE_DATA="+t.TempDir(), "FOOTNOTE_LIMITS_QUERY_TIME=1s", "FOOTNOTE_MAX_TURNS=3")
	offline := append(settings[:len(settings):len(settings)], "FOOTNOTE_MODEL=offline")
	for _, c := range []struct {
		settings []string
		question string
		code     int
		outcome  string
		reason   string
	}{
		{settings, "recovers", 0, "answered", ""},
		{settings, "partly", 0, "answered", ""},
		{settings, "fails", 1, "failed", "nope2"},
		{settings, "refused", 3, "refused", "DELETE is not allowed"},
		{settings, "limited", 4, "limited", "longer than"},
		{settings, "turns", 4, "limited", "max_turns"},
		{settings, "fake: fail 401", 1, "failed", "refused our key"},
		{settings, strings.Repeat("x", 10_001), 4, "limited", "10000"},
		{offline, "SELECT nope FROM orders", 1, "failed", "nope"},
		{offline, "SELECT load_extension('x') FROM orders", 3, "refused", "load_extension"},
		{offline, sqls["limited"][0], 4, "limited", "longer than"},
		{offline, "drop table orders", 0, "answered", ""}, // declined in words
	} {
		o := command(t, c.settings, "", "ask", "--json", c.question)
		var a struct {
			Outcome, Reason string
			Conversation    string `json:"conversation_id"`
		}
		if err := json.Unmarshal([]byte(o.stdout), &a); err != nil || o.code != c.code || a.Outcome != c.outcome ||
			!strings.Contains(a.Reason, c.reason) || (a.Reason == "") != (c.code == 0) {
			t.Errorf("%.60q: exit code %d, %v\n%s%s; want %d %s %q", c.question, o.code, err, o.stdout, o.stderr,
				c.code, c.outcome, c.reason)
		}
		if (o.stderr == "") != (c.code == 0) || strings.Count(o.stderr, "\n") > 1 {
			t.Errorf("%.60q: it says %q", c.question, o.stderr)
		}
	}
	if o := command(t, settings, "", "ask", "turns"); o.code != 4 || !strings.Contains(o.stdout, "That is all.") {
		t.Errorf("an answer that was cut short is shown: %+v", o)
	}
}

// TestAskOffline asks the built-in planner, about the demo shop and about a file.
func TestAskOffline(t *testing.T) {
	t.Parallel()
	settings := []string{"FOOTNOTE_DATA=" + t.TempDir()}
	a := askJSON(t, settings, "How many orders are there?")
	if !strings.Contains(a.Answer, "846") || len(a.Footnotes) == 0 || a.Footnotes[0].Text != "846" {
		t.Errorf("answer: %+v", a)
	}
	o := command(t, settings, "", "ask", "total order amount by month")
	if o.code != 0 || !strings.Contains(o.stdout, "SELECT") || !strings.Contains(o.stdout, "──") {
		t.Errorf("footnote ask: %+v", o)
	}
	if !duckdb.Available {
		return
	}
	file := filepath.Join(t.TempDir(), "sales.csv")
	if err := os.WriteFile(file, []byte("city,amount\nRome,10\nOslo,5\nRome,7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := askJSON(t, settings, "--source", file, "total amount by city")
	if len(b.Rows) != 2 || !strings.Contains(b.Answer, "17") {
		t.Errorf("follow-up: %+v", b)
	}
	dirty := filepath.Join(t.TempDir(), "dirty.csv")
	if err := os.WriteFile(dirty, []byte("city;city;amount\nRome;a;1.000,50\nOslo;b;5,25\nTotal;;1.005,75\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	notes := "`1 totals row left out`; `a second \"city\" is now called city_2`"
	if c := askJSON(t, settings, "--source", dirty, "total amount"); !strings.Contains(c.Answer, "1,005.75") ||
		!strings.Contains(c.Answer, notes) {
		t.Errorf("answer with notes: %+v", c)
	}
	if o := command(t, settings, "", "doctor", "--source", dirty); !strings.Contains(o.stdout,
		"table dirty: read as ; separated; 1 totals row left out; a second") {
		t.Errorf("doctor: %s", o.stdout)
	}
	o = command(t, settings, "", "ask", "--source", file, "total amount by city")
	if o.code != 0 || !strings.Contains(o.stdout, "█") {
		t.Errorf("there is no chart:\n%s%s", o.stdout, o.stderr)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	data := t.TempDir()
	settings = append(settings, "FOOTNOTE_DATA="+data)
	p := serve(t, settings...)
	id := p.answered(t, question{text: "How many orders?"}).conversation
	// While the server runs, and afterwards.
	for range 2 {
		o := command(t, settings, "", "verify", id, "--json")
		var v struct {
			Conversation string `json:"conversation_id"`
			Answers      []struct {
				Footnotes  []struct{ Text string }
				Unresolved []struct{ Text string }
				Problems   []any
			}
		}
		if err := json.Unmarshal([]byte(o.stdout),
			&v); err != nil || o.code != 0 || v.Conversation != id || len(v.Answers) != 1 ||
			len(v.Answers[0].Problems) != 0 || v.Answers[0].Footnotes[0].Text != "846" ||
			len(v.Answers[0].Unresolved) != 2 {
			t.Errorf("%v: %+v", err, o)
		}
		p.signal(t, syscall.SIGTERM)
		p.wait(t, 10*time.Second)
		p = serve(t, settings...)
	}
	if o := command(t, settings, "", "verify", id); o.code != 0 ||
		!strings.Contains(o.stdout, "ok  846 = r1[0].orders") {
		t.Errorf("footnote verify: %+v", o)
	}
	for _, missing := range []string{"conv_NOBODY", "../x", ""} {
		if o := command(t, settings, "", "verify", missing); o.code != 1 {
			t.Errorf("%q: %+v", missing, o)
		}
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	settings = append(settings, "FOOTNOTE_DATA="+t.TempDir(), keys, "FOOTNOTE_SOURCES=shop="+shopDB)
	o := command(t, settings, "", "doctor", "--online")
	for _, part := range []string{
		"model          ok", "4 tables", "read-only: every way to write was refused", "confined: ", "MB free",
		"cache          ok", "in memory, up to 64 MB", "conversations are kept forever",
	} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("the table lacks %q:\n%s", part, o.stdout)
		}
	}
	if o.code != 0 || strings.Contains(o.stdout, "FAIL") || strings.Contains(o.stdout, modelKey) ||
		strings.Contains(o.stdout, adasKey) {
		t.Errorf("exit code %d\n%s", o.code, o.stdout)
	}
	picky := modeltest.New(modeltest.Options{Key: "sk-another-key"})
	for wrong, want := range map[string]string{
		"ANTHROPIC_BASE_URL=" + picky.Start(t):  "refused our key",
		"ANTHROPIC_BASE_URL=http://127.0.0.1:1": "cannot be reached",
		"FOOTNOTE_SOURCES=bad=/nowhere.db":      "not there", "FOOTNOTE_DATA=" + shopDB: "not a directory",
		"FOOTNOTE_MODEL=claude-of-yesteryear": "unknown or retired",
		"FOOTNOTE_MAX_TURNS=0":                "max_turns",
	} {
		code := 1
		if want == "max_turns" {
			code = 2 // a setting is invalid
		}
		if o := command(t, append(settings[:len(settings):len(settings)], wrong), "", "doctor",
			"--online"); o.code != code || !strings.Contains(o.stdout, want) || !strings.Contains(o.stdout, "FAIL") {
			t.Errorf("%s: exit code %d\n%s", wrong, o.code, o.stdout)
		}
	}
	o = command(t, append(settings[:len(settings):len(settings)], "FOOTNOTE_RETENTION=acme=90d",
		"FOOTNOTE_REDIS=unix:///nowhere.sock"), "", "doctor")
	for _, part := range []string{"acme 90 days, all others forever", "Redis does not answer"} {
		if o.code != 0 || !strings.Contains(o.stdout, part) {
			t.Errorf("exit code %d; the table lacks %q:\n%s", o.code, part, o.stdout)
		}
	}
	if o := command(t, []string{"FOOTNOTE_DATA=" + t.TempDir()}, "", "doctor"); o.code != 0 ||
		!strings.Contains(o.stdout, "offline planner") {
		t.Errorf("nothing is configured: %+v", o)
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	p := launch(t, []string{"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + t.TempDir()}, "demo")
	if r := p.answered(t, question{text: "How many orders are there?"}); !strings.Contains(r.text, "846") {
		t.Errorf("the answer is %q", r.text)
	}
	if hint := p.stderr.String(); !strings.Contains(hint, "curl") || !strings.Contains(hint, p.url) {
		t.Errorf("it says %s", hint)
	}
	p.signal(t, syscall.SIGINT)
	if code := p.wait(t, 10*time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestFakeModel(t *testing.T) {
	t.Parallel()
	fake := launch(t, nil, "fake-model", "--listen", "127.0.0.1:0", "--scenario", "analyst", "--sql",
		"SELECT count(*) AS n FROM orders", "--key", modelKey)
	p := serve(t, upstream(fake.url)...)
	if r := p.answered(t, question{text: "How many orders?"}); !strings.Contains(r.text, "846") {
		t.Errorf("the answer is %q", r.text)
	}
	p.signal(t, syscall.SIGTERM)
	p.wait(t, 10*time.Second)
	fake.signal(t, syscall.SIGTERM)
	if code := fake.wait(t, 5*time.Second); code != 0 ||
		!strings.Contains(fake.stderr.String(), `"requests":2,"refusals":0`) {
		t.Errorf("exit code %d, %s", code, fake.stderr)
	}
	scenario := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(scenario, []byte("rules:\n  - reply: {text: \"You said: {question}\"}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	fake = launch(t, nil, "fake-model", "--listen", "127.0.0.1:0", "--scenario", scenario)
	p = serve(t, upstream(fake.url)...)
	if r := p.answered(t, question{text: "Hello"}); !strings.HasPrefix(r.text, "You said: Hello") {
		t.Errorf("the answer is %q", r.text)
	}
	for _, wrong := range []string{"nope", filepath.Join(t.TempDir(), "nowhere.yaml")} {
		if o := command(t, nil, "", "fake-model", "--scenario", wrong); o.code != 2 {
			t.Errorf("footnote fake-model with a wrong scenario: %+v", o)
		}
	}
}

// TestOfflineForced checks that FOOTNOTE_MODEL=offline needs no upstream, whatever else is set.
func TestOfflineForced(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, auto(t))
	p := serve(t, append(settings, "FOOTNOTE_MODEL=offline")...)
	if r := p.answered(t, question{text: "How many orders are there?"}); r.status != http.StatusOK ||
		!strings.Contains(r.text, "846") {
		t.Errorf("the answer is %q", r.text)
	}
	if n := fake.Metrics().Requests; n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}
