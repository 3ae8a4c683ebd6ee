package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/knowledge/suite"
	"github.com/footnotehq/footnote/model/modeltest"
)

// bench is a folder with a database, a context, a configuration and a suite, in which footnote test runs.
type bench struct {
	t   *testing.T
	dir string
	env []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	b.database("total")
	b.write("context/glossary.md", "Volume is the total of all orders.")
	b.write("context/model.yaml", `datasets:
- {name: orders, source: shop.orders}
- {name: people, source: shop.people}
relationships:
- {name: customer, from: orders, to: people, from_columns: [buyer], to_columns: [id]}
`)
	b.write("context/verified/volume.sql", `-- question: Booked volume
-- source: shop
-- author: Ann
-- date: 2026-11-02
SELECT sum(total) AS volume FROM orders`)
	b.write("footnote.yaml", `sources: {shop: `+filepath.Join(b.dir, "shop.db")+`}
context: `+filepath.Join(b.dir, "context")+`
data: `+filepath.Join(b.dir, "data")+`
tools:
  own:
    - {name: orders_of, description: Orders of a day., source: shop, sql: SELECT count(*) AS n FROM orders}
`)
	return b
}

// database writes 100 orders, with their amounts in a column of some name.
func (b *bench) database(amount string) {
	b.t.Helper()
	path := filepath.Join(b.dir, "shop.db")
	if err := os.RemoveAll(path); err != nil {
		b.t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		b.t.Fatal(err)
	}
	statements := []string{
		"CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)",
		"CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer INTEGER, payer INTEGER, " + amount + " REAL)",
	}
	for i := range 100 {
		statements = append(statements, fmt.Sprintf("INSERT INTO orders VALUES (%d, 1, 2, %d.5)", i+1, 1000+7*i))
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// replace changes a file.
func (b *bench) replace(name, old, new string) {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	if err != nil || !strings.Contains(string(data), old) {
		b.t.Fatalf("%s has no %q: %v", name, old, err)
	}
	b.write(name, strings.ReplaceAll(string(data), old, new))
}

// run runs footnote test on the suite, and returns its exit code and outputs.
func (b *bench) run(args ...string) (code int, out, errs string) {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"test", b.path("tests.yaml"), "--config", b.path("footnote.yaml")}, args...)
	code = run(b.t.Context(), args, streams{strings.NewReader(""), &stdout, &stderr}, b.env)
	return code, stdout.String(), stderr.String()
}

// report runs footnote test and returns its report.
func (b *bench) report(args ...string) (code int, r suite.Report) {
	b.t.Helper()
	code, out, errs := b.run(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		b.t.Fatalf("exit code %d: %v\n%s\n%s", code, err, out, errs)
	}
	return code, r
}

// withModel connects a scripted model. It calls the tool of verified queries for a question about volume, queries an
// order by its number, and repeats the first figure of a result.
func (b *bench) withModel() {
	fake := modeltest.New(modeltest.Options{Key: "test", Rule: func(r modeltest.Request) modeltest.Reply {
		question, _, _ := strings.Cut(r.LastUserText(), "\n")
		if results := r.Results(); len(results) > 0 {
			return modeltest.Say("It is " + lastFigure(results[0].Content) + ".")
		}
		if !strings.HasPrefix(question, "Order ") {
			return modeltest.Use("verified_query", `{"question":"`+question+`"}`)
		}
		n := strings.TrimPrefix(question, "Order ")
		return modeltest.Use("run_query", `{"sql":"SELECT id, total FROM orders WHERE id = `+n+`"}`)
	}})
	b.env = []string{
		"ANTHROPIC_BASE_URL=" + fake.Start(b.t), "ANTHROPIC_API_KEY=test", "FOOTNOTE_MODEL=claude-sonnet-5-5",
	}
}

// lastFigure returns the last cell of the first row of a result as the model reads it.
func lastFigure(content string) string {
	var table struct{ Rows [][]json.Number }
	if json.Unmarshal([]byte(content), &table) != nil || len(table.Rows) == 0 {
		return "unknown"
	}
	row := table.Rows[0]
	return row[len(row)-1].String()
}

// TestDemoSuite runs the twenty tests of the demo, in which the offline planner answers.
func TestDemoSuite(t *testing.T) {
	var stdout, stderr bytes.Buffer
	dir := t.TempDir()
	t.Chdir(dir)
	junit := filepath.Join(dir, "junit.xml")
	code := run(t.Context(), []string{"test", "--data", dir, "--junit", junit},
		streams{strings.NewReader(""), &stdout, &stderr}, nil)
	if code != exitDone || !strings.HasPrefix(stdout.String(), "demo: 20 passed of 20, by offline-planner (planner)") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout.String(), stderr.String())
	}
	data, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	var x struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal(data, &x); err != nil || x.Tests != 20 || x.Failures != 0 {
		t.Errorf("%v %+v", err, x)
	}
}

// TestHundredRecordings records a hundred tests and replays them without a key and without a server.
func TestHundredRecordings(t *testing.T) {
	b := newBench(t)
	text := "limits: {steps: 2, cost_usd: 1}\ntests:\n"
	for i := range 100 {
		text += fmt.Sprintf("  - question: Order %d\n    expect: {rows: [[%d.5]], columns: [total]}\n", i+1, 1000+7*i)
	}
	b.write("tests.yaml", text)
	b.withModel()
	code, r := b.report("--record")
	if code != exitDone || r.Count(suite.Passed) != 100 || r.Mode != app.ByModel || r.CostUSD == 0 {
		t.Fatalf("exit code %d: %s by %s (%s) for %v USD, %+v", code, r.Summary(), r.Model, r.Mode, r.CostUSD,
			r.Outcomes[0])
	}
	b.env = nil
	begun := time.Now()
	code, r = b.report()
	took := time.Since(begun)
	t.Logf("100 tests from recordings took %v", took)
	if code != exitDone || r.Count(suite.Passed) != 100 || r.Mode != app.ByRecordings ||
		r.Model != "claude-sonnet-5-5" || took > 10*time.Second || len(r.Notes) == 0 {
		t.Errorf("exit code %d: %s by %s (%s) in %v, %+v", code, r.Summary(), r.Model, r.Mode, took, r.Outcomes[0])
	}
}

// TestRegressions plants regressions, and checks that each makes a test fail or its recording stale, with the cause.
func TestRegressions(t *testing.T) {
	const tests = `tests:
  - name: verified
    question: Booked volume
    expect: {sql: "SELECT 1000.5 * 100 + 7 * 4950", badge: true}
  - name: order
    question: Order 17
    expect: {rows: [[17, 1112.5]]}
`
	for name, c := range map[string]struct {
		plant  func(b *bench)
		status string
		of     string // the test that notices
		want   string
		noted  bool // among what has changed since the recording
	}{
		"a column was renamed": {
			func(b *bench) { b.database("amount") }, suite.Stale, "order", "the schema of shop", true,
		},
		"a verified query was edited": {
			func(b *bench) { b.replace("context/verified/volume.sql", "sum(total)", "sum(total) / 2") }, suite.Stale,
			"verified", "verified/volume.sql", true,
		},
		"its join was changed": {
			func(b *bench) {
				b.replace("context/verified/volume.sql", "FROM orders",
					"FROM orders JOIN orders o USING (id) WHERE o.id > 1")
			}, suite.Stale, "verified", "verified/volume.sql", true,
		},
		"a join of the model was changed": {
			func(b *bench) { b.replace("context/model.yaml", "[buyer]", "[payer]") }, suite.Stale, "order",
			"model.yaml", true,
		},
		"it has expired": {
			func(b *bench) {
				b.replace("context/verified/volume.sql", "-- date: 2026-11-02",
					"-- date: 2020-01-01\n-- expires: 2020-01-02")
			}, suite.Stale, "verified", "the answer takes another number of steps", false,
		},
		"a tool's description was changed": {
			func(b *bench) { b.replace("footnote.yaml", "Orders of a day.", "Orders of any day.") }, suite.Stale,
			"order", "the tool orders_of", false,
		},
		"the glossary was changed": {
			func(b *bench) { b.replace("context/glossary.md", "all", "some") }, suite.Stale, "order", "glossary.md",
			true,
		},
		"a row was changed": {
			func(b *bench) {
				db, err := sql.Open("sqlite", "file:"+b.path("shop.db"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := db.Exec("UPDATE orders SET total = 1 WHERE id = 17"); err != nil || db.Close() != nil {
					t.Fatal(err)
				}
			}, suite.Stale, "order", "result 1, of run_query", false,
		},
		"the question was changed": {
			func(b *bench) { b.replace("tests.yaml", "Order 17", "Order 18") }, suite.Stale, "order", "no recording",
			false,
		},
		"the expected row was changed": {
			func(b *bench) { b.replace("tests.yaml", "1112.5", "1112.6") }, suite.Failed, "order",
			"row 1 has 1112.5 instead of 1112.6", false,
		},
	} {
		b := newBench(t)
		b.write("tests.yaml", tests)
		b.withModel()
		if code, r := b.report("--record"); code != exitDone {
			t.Fatalf("recording: %+v", r.Outcomes)
		}
		b.env = nil
		if code, r := b.report(); code != exitDone {
			t.Fatalf("replay: %+v", r.Outcomes)
		}
		c.plant(b)
		code, r := b.report()
		if code != exitFailed {
			t.Errorf("%s: exit code %d", name, code)
		}
		notes := strings.Join(r.Notes, "\n")
		if strings.Contains(notes, "Changed since the recording: "+c.want) != c.noted {
			t.Errorf("%s: the notes are %q", name, r.Notes)
		}
		for _, o := range r.Outcomes {
			if o.Name == c.of && (o.Status != c.status || !strings.Contains(strings.Join(o.Reasons, "; "), c.want)) {
				t.Errorf("%s: %s, %q; want %s, %q", name, o.Status, o.Reasons, c.status, c.want)
			}
		}
	}
}

// TestRegressionsWithPlanner plants regressions that the offline planner finds without any recording.
func TestRegressionsWithPlanner(t *testing.T) {
	b := newBench(t)
	b.write("tests.yaml", `tests:
  - {name: volume, question: Booked volume, expect: {rows: [[134700]], badge: true}}
  - {name: number, question: "How many orders are there?", expect: {rows: [[100]], badge: false}}
`)
	if code, out, errs := b.run(); code != exitDone || !strings.Contains(out, "2 passed of 2") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	b.replace("context/verified/volume.sql", "sum(total)", "sum(total) / 2")
	code, out, _ := b.run()
	if code != exitFailed ||
		!strings.Contains(out, "failed: volume\n  Booked volume\n  - result r1 is not the expected") ||
		!strings.Contains(out, "trend: 2/2 1/2\nnew failures: volume") {
		t.Errorf("an edited query: exit code %d\n%s", code, out)
	}
	b.replace("context/verified/volume.sql", "sum(total) / 2", "sum(total)")
	b.database("amount")
	if code, out, _ = b.run(); code != exitFailed || !strings.Contains(out, "1 passed, 1 failed") {
		t.Errorf("a renamed column: exit code %d\n%s", code, out)
	}
}

// TestIncompleteRecording checks that a model that cannot be reached leaves the recordings as they were, and that a
// cell cannot control the terminal.
func TestIncompleteRecording(t *testing.T) {
	b := newBench(t)
	b.write("tests.yaml", "tests:\n  - {question: Order 17, expect: {rows: [[17, \"\\e[2J\"]]}}")
	b.withModel()
	if code, out, _ := b.run("--record"); code != exitFailed || strings.Contains(out, "\x1b") ||
		!strings.Contains(out, "[2J") {
		t.Fatalf("exit code %d: %q", code, out)
	}
	before, err := os.ReadFile(b.path("tests.recordings"))
	if err != nil {
		t.Fatal(err)
	}
	b.env[0] = "ANTHROPIC_BASE_URL=http://127.0.0.1:1"
	code, out, errs := b.run("--record")
	if code != exitFailed || !strings.Contains(errs, "the recordings were not written") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
	if after, err := os.ReadFile(b.path("tests.recordings")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the recordings have changed: %v", err)
	}
}

// TestAgainst compares two contexts and two models.
func TestAgainst(t *testing.T) {
	b := newBench(t)
	b.write("tests.yaml", `tests:
  - {name: volume, question: Booked volume, expect: {rows: [[134700]], badge: true}}
  - {name: number, question: Order 17, expect: {rows: [[17, 1112.5]]}}
`)
	b.write("other/verified/volume.sql", "-- question: Booked volume\n-- source: shop\n-- author: Bob\n"+
		"-- date: 2026-11-03\nSELECT 1 AS volume")
	code, out, errs := b.run("--against", "context="+b.path("other"))
	if !strings.Contains(out, "volume   passed           failed") || !strings.Contains(out, "passed   1 of 2") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
	b.withModel()
	code, out, errs = b.run("--live", "-n", "2", "--against", "model=claude-haiku-4-5")
	if code != exitDone || !strings.Contains(out, "passed   4 of 4") || !strings.Contains(out, "claude-haiku-4-5") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
	if !strings.HasPrefix(errs, "asking claude-sonnet-5-5 4 questions, for about ") {
		t.Errorf("the estimate is %q", errs)
	}
}

// TestSuiteUsage checks what the command refuses.
func TestSuiteUsage(t *testing.T) {
	b := newBench(t)
	b.write("tests.yaml", "tests: []")
	for want, args := range map[string][]string{
		"a suite has 1 to 1000 tests": nil,
		"-n is 0":                     {"-n", "0"},
	} {
		if code, out, errs := b.run(args...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d\n%s\n%s", args, code, out, errs)
		}
	}
	b.write("tests.yaml", "tests:\n  - {question: Booked volume, expect: {rows: [[1]]}}")
	for want, args := range map[string][]string{
		"no model is configured": {"--live"}, "write NAME=VALUE": {"--against", "context"},
	} {
		if code, out, errs := b.run(args...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d\n%s\n%s", args, code, out, errs)
		}
	}
	b.write("tests.yaml", "tests:\n  - {question: Booked volume, expect: {sql: DROP TABLE bookings}}")
	if code, out, _ := b.run("--planner"); code != exitFailed || !strings.Contains(out, "cannot be read: DROP is not") {
		t.Errorf("a refused statement: exit code %d\n%s", code, out)
	}
	b.write("tests.recordings", "{}")
	if code, _, errs := b.run("--against", "context=x"); code != exitUsage || !strings.Contains(errs, "--live or") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := b.run(); code != exitFailed || !strings.Contains(errs, "record them again") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
