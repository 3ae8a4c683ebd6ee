package suite_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge/suite"
)

func TestParse(t *testing.T) {
	s, err := suite.Parse([]byte(`
limits: {cost_usd: 0.1, steps: 5}
tests:
  - question: |
      How many
      orders?
    expect: {sql: SELECT count(*) FROM orders, tolerance: 1%}
  - name: march
    question: Revenue in March 2026
    as: {org: acme, user: ann, roles: [board], attributes: {region: north}}
    limits: {steps: 9, seconds: 2.5}
    expect: {rows: [[2026-03-01, 12.5, null]], columns: [month, revenue, note], order: true, tolerance: 0.5, badge: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.Tests[0], s.Tests[1]
	if a.Name != "How many orders?" || a.Question != "How many\norders?" ||
		a.Expect.Tolerance.Share != 0.01 || a.Limits.Steps != 5 {
		t.Errorf("%+v", a)
	}
	if b.As.Org != "acme" || b.As.User != "ann" || b.As.Roles[0] != "board" || b.As.Attributes["region"] != "north" {
		t.Errorf("%+v", b.As)
	}
	if b.Limits != (suite.Limits{CostUSD: 0.1, Seconds: 2.5, Steps: 9}) || !*b.Expect.Badge || !b.Expect.Order ||
		b.Expect.Tolerance.Amount != 0.5 {
		t.Errorf("%+v", b)
	}
}

func TestFaultySuites(t *testing.T) {
	test := func(expect string) string { return "tests:\n  - question: q\n    expect: " + expect }
	for want, text := range map[string]string{
		"a suite has 1 to 1000 tests":         "tests: []",
		"line 1: field test not found":        "test: []",
		"more than one YAML document":         test("{sql: x}") + "\n---\n" + test("{sql: y}"),
		"test 1: it needs a question":         "tests:\n  - expect: {sql: x}",
		"exactly one of rows, sql":            test("{}"),
		"test 1: expect needs exactly one":    test("{sql: x, verified: y}"),
		"row 2 of expect has 2 cells":         test("{rows: [[1], [1, 2]]}"),
		"row 1 of expect has 1 cells":         test("{rows: [[1]], columns: [a, b]}"),
		`line 3: the tolerance "few" must be`: test("{sql: x, tolerance: few}"),
		`line 3: the tolerance "-1" must be`:  test("{sql: x, tolerance: -1}"),
		"parameters, which only verified":     test("{sql: x, parameters: {a: b}}"),
		"a source, which only sql":            test("{verified: x, source: shop}"),
		"must not be negative":                test("{sql: x}") + "\n    limits: {steps: -1}",
		"is taken by an earlier test":         test("{sql: x}") + "\n  - question: q\n    expect: {sql: x}",
	} {
		if _, err := suite.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func table(columns string, rows ...[]any) footnote.Result {
	r := footnote.Result{Rows: rows}
	for name := range strings.FieldsSeq(columns) {
		r.Columns = append(r.Columns, footnote.Column{Name: name})
	}
	return r
}

// TestNames checks the name of a test that has none: one line, and no half of a character.
func TestNames(t *testing.T) {
	s, err := suite.Parse([]byte("tests:\n  - question: x" + strings.Repeat("ä", 60) + "\n    expect: {sql: x}"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "x" + strings.Repeat("ä", 49); s.Tests[0].Name != want {
		t.Errorf("the name is %q, want %q", s.Tests[0].Name, want)
	}
}

func TestCompare(t *testing.T) {
	type row = []any
	month := table("month revenue", row{"2026-01", 10.5}, row{"2026-02", 20.0})
	for name, c := range map[string]struct {
		want, got footnote.Result
		order     bool
		tolerance suite.Tolerance
		differ    string
	}{
		"equal":            {want: month, got: month, order: true},
		"other names":      {want: month, got: table("m r", row{"2026-01", 10.5}, row{"2026-02", 20})},
		"other order":      {want: month, got: table("m r", row{"2026-02", 20.0}, row{"2026-01", 10.5})},
		"columns swapped":  {want: month, got: table("r m", row{10.5, "2026-01"}, row{20.0, "2026-02"})},
		"further columns":  {want: month, got: table("n m r", row{1, "2026-01", 10.5}, row{2, "2026-02", 20.0})},
		"decimals":         {want: month, got: table("m r", row{"2026-01", "10.50"}, row{"2026-02", "20.00"})},
		"rounding of sums": {want: month, got: table("m r", row{"2026-01", 10.5000000001}, row{"2026-02", 20.0})},
		"empty":            {want: table("n"), got: table("m")},
		"null":             {want: table("n", row{nil}), got: table("n", row{nil})},
		"midnight":         {want: table("n", row{"2026-01-01"}), got: table("n", row{"2026-01-01T00:00:00"})},
		"a boolean":        {want: table("n", row{true}), got: table("n", row{int64(1)})},
		"in order": {
			want: month, got: table("m r", row{"2026-02", 20.0}, row{"2026-01", 10.5}), order: true,
			differ: "no column has the values of month",
		},
		"fewer rows": {want: month, got: table("m r", row{"2026-01", 10.5}), differ: "it has 1 rows instead of 2"},
		"more rows":  {want: table("n", row{1}), got: table("n", row{1}, row{1}), differ: "it has 2 rows instead of 1"},
		"wrong number": {
			want: month, got: table("month revenue", row{"2026-01", 10.5}, row{"2026-02", 21.0}),
			differ: "no column has the values of revenue: row 2 has 21 instead of 20",
		},
		"wrong rows": {
			want: month, got: table("m r", row{"2026-02", 10.5}, row{"2026-01", 20.0}),
			differ: "no set of columns",
		},
		"null is not zero": {want: table("n", row{nil}), got: table("n", row{0}), differ: "no column has"},
		"text is not null": {want: table("n", row{""}), got: table("n", row{nil}), differ: "no column has"},
		"leading zeros":    {want: table("n", row{"007"}), got: table("n", row{"7"}), differ: "no column has"},
		"used twice": {
			want: table("a b", row{1, 1}), got: table("a c", row{1, 2}), differ: "no set of columns",
		},
		"one column for two": {want: table("a b", row{1, 1}), got: table("a", row{1}), differ: "no set of columns"},
		"an amount": {
			want: table("n", row{100}), got: table("n", row{100.4}), tolerance: suite.Tolerance{Amount: 0.5},
		},
		"too far": {
			want: table("n", row{100}), got: table("n", row{100.6}), tolerance: suite.Tolerance{Amount: 0.5},
			differ: "row 1 has 100.6 instead of 100",
		},
		"a share": {want: table("n", row{1000}), got: table("n", row{1009}), tolerance: suite.Tolerance{Share: 0.01}},
	} {
		got := suite.Compare(c.want, c.got, c.order, c.tolerance)
		if (got == "") != (c.differ == "") || !strings.Contains(got, c.differ) {
			t.Errorf("%s: %q, want %q", name, got, c.differ)
		}
	}
}

func report() *suite.Report {
	return &suite.Report{
		Suite: "shop", Time: time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC), Mode: "planner", Model: "offline-planner",
		Millis: 1500, CostUSD: 0.25, Notes: []string{"Not all was tested."},
		Outcomes: []suite.Outcome{
			{Name: "a", Question: "A?", Status: suite.Passed, Millis: 20},
			{Name: "b", Question: "B <b>?", Status: suite.Failed, Reasons: []string{"it has 1 rows instead of 2", "x"}},
			{Name: "c", Question: "C?", Status: suite.Stale, Reasons: []string{"changed: glossary"}, Attempt: 2},
			{Name: "d", Question: "D?", Status: suite.Broken, Reasons: []string{"no database"}},
		},
	}
}

func TestReports(t *testing.T) {
	r := report()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const want = `failed: b
  B <b>?
  - it has 1 rows instead of 2
  - x
stale: c (attempt 2)
  C?
  - changed: glossary
broken: d
  D?
  - no database
shop: 1 passed, 1 failed, 1 stale, 1 broken of 4, by offline-planner (planner), in 1.5 s, for 0.2500 USD
Not all was tested.
`
	if b.String() != want || r.OK() {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back suite.Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || len(back.Outcomes) != 4 || back.Outcomes[2].Attempt != 2 {
		t.Errorf("%v %s", err, b.String())
	}
	b.Reset()
	if err := r.WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var x struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Type    string `xml:"type,attr"`
				Message string `xml:"message,attr"`
			} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(b.Bytes(), &x); err != nil {
		t.Fatal(err)
	}
	if x.Tests != 4 || x.Failures != 2 || x.Errors != 1 || x.Cases[0].Failure != nil ||
		x.Cases[2].Failure.Type != "stale" || x.Cases[2].Failure.Message != "changed: glossary" {
		t.Errorf("%+v\n%s", x, b.String())
	}
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	if past, err := suite.History(path, "shop"); err != nil || past != nil {
		t.Errorf("%v %v", past, err)
	}
	r := report()
	if suite.Trend(nil, r.Past()) != "" {
		t.Error("a first run has a trend")
	}
	if err := suite.Append(path, r.Past()); err != nil {
		t.Fatal(err)
	}
	other := report()
	other.Suite = "other"
	if err := suite.Append(path, other.Past()); err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	} else if _, err = f.WriteString("half a li\n"); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	r.Outcomes[0].Status, r.Outcomes[1].Status = suite.Failed, suite.Passed
	past, err := suite.History(path, "shop")
	if err != nil || len(past) != 1 {
		t.Fatalf("%v %v", past, err)
	}
	if got, want := suite.Trend(past, r.Past()), "trend: 1/4 1/4\nnew failures: a\nfixed: b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Model = "claude"
	if got := suite.Trend(past, r.Past()); got != "" {
		t.Errorf("another model has the trend %q", got)
	}
	twice := &suite.Report{Outcomes: []suite.Outcome{
		{Name: "a", Status: suite.Failed}, {Name: "a", Status: suite.Passed},
	}}
	if got := twice.Past().Tests["a"]; got != suite.Failed {
		t.Errorf("of two attempts: %s", got)
	}
}
