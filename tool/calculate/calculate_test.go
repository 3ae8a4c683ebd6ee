//go:build cgo && !noduckdb

package calculate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/calculate"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{duckdb.Kind: duckdb.OpenEngine})
	os.Exit(m.Run())
}

func engine(t testing.TB) calculate.Engine {
	pool := child.NewPool(0)
	return func(tables []source.TableFile) source.Tables {
		return duckdb.OpenTables(tables, engines.Options{Pool: pool})
	}
}

// results maps ids to rows. Columns are named as in "month date, revenue decimal".
type results struct {
	stored []footnote.StoredResult
	rows   map[string][][]any
}

func (r *results) add(columns string, rows ...[]any) *footnote.StoredResult {
	s := footnote.StoredResult{ID: fmt.Sprintf("r%d", len(r.stored)+1), Source: "shop", RowCount: len(rows)}
	for c := range strings.SplitSeq(columns, ", ") {
		name, kind, _ := strings.Cut(c, " ")
		s.Columns = append(s.Columns, footnote.Column{Name: name, Kind: kind})
	}
	s.Chunks = []footnote.Chunk{{Rows: len(rows)}}
	if r.rows == nil {
		r.rows = map[string][][]any{}
	}
	r.rows[s.ID] = rows
	r.stored = append(r.stored, s)
	return &r.stored[len(r.stored)-1]
}

func (r *results) results() calculate.Results {
	return calculate.Results{
		Stored: r.stored,
		Rows:   func(_ context.Context, s footnote.StoredResult) ([][]any, error) { return r.rows[s.ID], nil },
	}
}

func (r *results) call(t *testing.T, sql string) tool.Output {
	t.Helper()
	in, err := json.Marshal(map[string]string{"sql": sql})
	if err != nil {
		t.Fatal(err)
	}
	out, err := calculate.New(engine(t)).Call(t.Context(), tool.Call{
		Name: "calculate", Input: in, ResultID: "r9", Results: r.stored, Rows: r.results().Rows,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestJoin joins results of two databases, and checks types, nulls and division.
func TestJoin(t *testing.T) {
	var r results
	r.add("month date, revenue decimal", []any{"2026-01-01", "1200.50"}, []any{"2026-02-01", "880.00"},
		[]any{"2026-03-01", nil})
	r.add("month date, visits integer", []any{"2026-01-01", int64(400)}, []any{"2026-02-01", int64(0)},
		[]any{"2026-03-01", int64(7)})
	out := r.call(t, "SELECT a.month, a.revenue / b.visits AS per_visit, b.visits // 3 AS thirds, b.visits / 3 AS third "+
		"FROM r1 a JOIN r2 b USING (month) ORDER BY month")
	if out.IsError {
		t.Fatal(out.Content)
	}
	want := [][]any{
		{"2026-01-01", 3.00125, int64(133), 400.0 / 3}, {"2026-02-01", nil, int64(0), 0.0},
		{"2026-03-01", nil, int64(2), 7.0 / 3},
	}
	if got := out.Rows.Rows; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("rows: %v, want %v", got, want)
	}
	if !slices.Equal(out.Parents, []string{"r1", "r2"}) || out.Source != "" {
		t.Errorf("parents %v, source %q", out.Parents, out.Source)
	}
	if !strings.Contains(out.Content, `"result":"r9"`) || !strings.Contains(out.Content, "3.00125") {
		t.Errorf("the model reads %s", out.Content)
	}
}

// TestExact checks that sums of decimals stay exact, and that large integers and texts keep their values.
func TestExact(t *testing.T) {
	var r results
	r.add("price decimal, n integer, seen timestamp, note text, ok boolean",
		[]any{"0.10", int64(9007199254740993), "2026-01-01T10:00:00Z", "a\x00b", true},
		[]any{"0.20", int64(1), "2026-01-01T12:30:00", "'; DROP TABLE r1; --", false})
	out := r.call(t, "SELECT sum(price) AS s, max(n) AS n, max(seen) - min(seen) AS took, max(note) AS note, "+
		"bool_and(ok) AS ok FROM r1")
	if out.IsError {
		t.Fatal(out.Content)
	}
	if got := fmt.Sprint(out.Rows.Rows[0]); !strings.HasPrefix(got, "[0.30 9007199254740993 02:30:00 ") {
		t.Errorf("row: %v", got)
	}
}

// TestRefused lists statements that must not run, with a part of the reason.
func TestRefused(t *testing.T) {
	var r results
	r.add("a integer", []any{int64(1)}, []any{int64(2)})
	cut := r.add("b integer", []any{int64(1)})
	cut.Truncated, cut.RowCount = true, 50
	other := r.add("c integer", []any{int64(3)})
	other.Source = "crm"
	for _, tt := range []struct{ sql, reason string }{
		{"SELECT sum(b) FROM r2", "r2 is incomplete"},
		{"SELECT * FROM r1 JOIN r2 ON a = b", "r2 is incomplete"},
		{"SELECT 1 + 1", "Name the results"},
		{"SELECT * FROM r7", "Name the results"},
		{"SELECT * FROM r1, r7", `no table "r7"`},
		{"SELECT * FROM read_csv('/etc/passwd'), r1", "not allowed"},
		{"SELECT * FROM '/etc/passwd', r1", "There is no table"},
		{"DROP TABLE r1", "not allowed"},
		{"INSERT INTO r1 VALUES (1)", "not allowed"},
		{"SELECT 1 FROM r1; SELECT 2 FROM r1", "Only one statement"},
		{"SET threads = 1 -- r1", "not allowed"},
		{"SELECT x FROM r1", "x"},
	} {
		out := r.call(t, tt.sql)
		if !out.IsError || !strings.Contains(out.Content, tt.reason) {
			t.Errorf("%s: %s, want %q", tt.sql, out.Content, tt.reason)
		}
	}
	// The incomplete result does not matter where the statement does not read it.
	if out := r.call(t, "SELECT sum(a) AS r2 FROM r1"); out.IsError || !slices.Equal(out.Parents, []string{"r1"}) {
		t.Errorf("%s, parents %v", out.Content, out.Parents)
	}
	var none results
	if out := none.call(t, "SELECT 1"); !strings.Contains(out.Content, "no results yet") {
		t.Error(out.Content)
	}
}

// TestOrigins checks which cells each row of a calculation names as its origin.
func TestOrigins(t *testing.T) {
	var r results
	r.add("month text, revenue integer", []any{"Jan", int64(10)}, []any{"Feb", int64(20)}, []any{"Mar", int64(30)})
	r.add("month text, visits integer", []any{"Feb", int64(4)}, []any{"Jan", int64(5)}, []any{"Jan", int64(6)})
	for _, tt := range []struct {
		sql                  string
		row                  int
		formula, reads, rows string // of the last column
	}{
		{
			"SELECT month, a.revenue / b.visits AS v FROM r1 a JOIN r2 b USING (month) ORDER BY revenue DESC, visits", 0,
			"a.revenue / b.visits", "[{r1 revenue} {r2 visits}]", "[{r1 [1] 1} {r2 [0] 1}]",
		},
		{
			"SELECT a.month, sum(visits) AS v FROM r1 AS a JOIN r2 USING (month) GROUP BY ALL ORDER BY 1", 1,
			"sum(visits)", "[{r2 visits}]", "[{r1 [0] 1} {r2 [1 2] 2}]",
		},
		{
			"SELECT sum(revenue) / count(*) FROM r1", 0, "sum(revenue) / count_star()", "[{r1 revenue}]",
			"[{r1 [0 1 2] 3}]",
		},
		{
			"SELECT r1.*, revenue * 2 FROM r1 LEFT JOIN r2 USING (month) WHERE month = 'Mar'", 0,
			"revenue * 2", "[{r1 revenue}]", "[{r1 [2] 1} {r2 [] 0}]",
		},
		{
			"SELECT (a.revenue - b.revenue) / (b.revenue + 1) FROM r1 a, r1 b WHERE a.month = 'Mar' AND b.month = 'Jan'", 0,
			"(a.revenue - b.revenue) / (b.revenue + 1)", "[{r1 revenue}]", "[{r1 [0 2] 2}]",
		},
		{"SELECT max(revenue) OVER () FROM r1", 0, "max(revenue) OVER ()", "[{r1 revenue}]", "[]"},
		{"SELECT x FROM (SELECT revenue AS x FROM r1)", 0, "x", "[]", "[]"},
	} {
		o, err := engine(t).Origins(t.Context(), r.results(), tt.sql, tt.row)
		if err != nil {
			t.Errorf("%s: %v", tt.sql, err)
			continue
		}
		last := o.Columns[len(o.Columns)-1]
		if last.Formula != tt.formula || fmt.Sprint(last.Reads) != tt.reads || fmt.Sprint(o.Rows) != tt.rows {
			t.Errorf("%s: %s %v %v", tt.sql, last.Formula, last.Reads, o.Rows)
		}
	}
}

// TestNamesAndOrder checks that columns keep their order and names, whatever they are.
func TestNamesAndOrder(t *testing.T) {
	var r results
	s := r.add("a text", []any{"x", int64(1), nil, 2.5, "-7.25", "2024-02-29", "1000-01-01T00:00:00.5", false})
	s.Columns = []footnote.Column{
		{Name: "z", Kind: "text"}, {Name: "total (€)", Kind: "integer"}, {Name: "Z", Kind: "text"},
		{Name: "", Kind: "number"}, {Name: `a"b`, Kind: "decimal"}, {Name: "a.b", Kind: "date"},
		{Name: "1", Kind: "timestamp"}, {Name: "select\n\x00", Kind: "boolean"},
	}
	out := r.call(t, "FROM r1")
	if out.IsError {
		t.Fatal(out.Content)
	}
	var names []string
	for _, c := range out.Rows.Columns {
		names = append(names, c.Name)
	}
	if got, want := fmt.Sprintf("%q", names), `["z" "total (€)" "Z_1" "C3" "a\"b" "a.b" "1" "select\n�"]`; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	const want = "[[x 1 <nil> 2.5 -7.25 2024-02-29 1000-01-01T00:00:00.5 false]]"
	if got := fmt.Sprint(out.Rows.Rows); got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
}

// TestTexts checks that no text changes on its way to the engine, and that a missing value is not a text.
func TestTexts(t *testing.T) {
	texts := []any{"", "N", `a "quoted" text`, "two\nlines", "carriage\rreturn\r\n", ",", "  spaces ", "\\N", "null", nil,
		"ü €", strings.Repeat("long ", 300_000)}
	var r results
	s := r.add("a text")
	for _, text := range texts {
		r.rows["r1"] = append(r.rows["r1"], []any{text})
	}
	s.RowCount, s.Chunks = len(texts), []footnote.Chunk{{Rows: len(texts)}}
	out := r.call(t, "SELECT a FROM r1 WHERE length(a) < 100 OR a IS NULL")
	if out.IsError {
		t.Fatal(out.Content)
	}
	if got, want := fmt.Sprintf("%q", out.Rows.Rows), fmt.Sprintf("%q", r.rows["r1"][:len(texts)-1]); got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
	out = r.call(t, "SELECT max(length(a)) AS n FROM r1")
	if got := fmt.Sprint(out.Rows); out.IsError || !strings.Contains(got, "1500000") {
		t.Errorf("a long text: %s %s", got, out.Content)
	}
}
