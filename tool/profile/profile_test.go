package profile_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/tooltest"
	"github.com/footnotehq/footnote/tool/profile"
)

const hostile = `x"]; DROP TABLE t; -- ` + "`" + `'`

// rows are the rows of the table in every dialect; see table.
var rows = []string{
	"(1, 10, 1.5, 12.25, 'apple', true, '2024-02-28', 'a')",
	"(2, 20, 2.5, 12.25, 'pear', true, '2024-02-29', 'b')",
	"(3, 30, NULL, 0.50, '', false, '2024-03-01', 'c')",
	"(4, 40, -4.0, NULL, 'apple', NULL, '2025-03-01', NULL)",
	"(5, NULL, 100.0, 100.00, NULL, false, NULL, 'e')",
}

func table(date string) []string {
	quoted := strings.ReplaceAll(hostile, `"`, `""`)
	return []string{
		fmt.Sprintf(`CREATE TABLE "my ""table""" (id INTEGER, n INTEGER, r DOUBLE, d DECIMAL(9,2), s TEXT, b `+
			`BOOLEAN, day %s, "%s" TEXT)`, date, quoted),
		`INSERT INTO "my ""table""" VALUES ` + strings.Join(rows, ", "),
		`CREATE TABLE t (many INTEGER, small DOUBLE, moment TIMESTAMP, empty INTEGER)`,
		`INSERT INTO t WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300)
		 SELECT i, i * 0.001 - 0.1, CASE WHEN i % 3 = 0 THEN '2024-01-15 10:00:00' ELSE '2024-0' || (1 + i % 7) || '-' || (10 + i % 19) || ' 12:00:00' END, NULL FROM c`,
	}
}

func call(t *testing.T, src *tooltest.Source, name string, input map[string]any) tool.Output {
	t.Helper()
	tool := tooltest.Named(t, profile.New(profile.Options{Sources: tooltest.Sources{"db": src}}), name)
	c := tooltest.Call(t, tool, input, "db")
	if err := tooltest.CheckInput(tool, c.Input); err != nil {
		t.Fatalf("%s does not accept %s: %v", name, c.Input, err)
	}
	out, err := tool.Call(t.Context(), c)
	if err != nil {
		t.Fatalf("%s(%v) = %v", name, input, err)
	}
	if !out.IsError {
		if !json.Valid([]byte(out.Content)) || out.Rows == nil || out.SQL == "" || out.Source != "db" {
			t.Errorf("%s(%v) = %+v, want JSON, rows, SQL and source", name, input, out)
		}
		if _, _, err := source.Collect(t.Context(), src, source.Query{SQL: out.SQL}); err != nil {
			t.Errorf("the SQL of %s(%v) cannot be run again: %v", name, input, err)
		}
	}
	return out
}

// testStats checks for the same numbers in every dialect.
func testStats(t *testing.T, src *tooltest.Source) {
	for _, c := range []struct {
		column string
		want   map[string]any
	}{
		{
			"n", map[string]any{
				"rows": 5.0, "nulls": 1.0, "distinct": 4.0, "min": 10.0, "max": 40.0, "mean": 25.0, "median": 25.0,
				"stddev": 12.909944487358056,
			},
		},
		{
			"R", map[string]any{
				"rows": 5.0, "nulls": 1.0, "distinct": 4.0, "min": -4.0, "max": 100.0, "mean": 25.0, "median": 2.0,
				"stddev": math.Sqrt(7524.5 / 3),
			},
		},
		{"id", map[string]any{"nulls": 0.0, "median": 3.0, "stddev": math.Sqrt(2.5)}},
		{"d", map[string]any{"rows": 5.0, "nulls": 1.0, "distinct": 3.0, "median": 12.25, "mean": 31.25}},
		{
			"s", map[string]any{
				"rows": 5.0, "nulls": 1.0, "distinct": 3.0, "min": "", "max": "pear", "empty": 1.0, "min_length": 0.0,
				"max_length": 5.0, "mean_length": 3.5,
			},
		},
		{"b", map[string]any{"rows": 5.0, "nulls": 1.0, "true": 2.0, "false": 2.0}},
		{
			"day", map[string]any{
				"rows": 5.0, "nulls": 1.0, "distinct": 4.0, "min": "2024-02-28", "max": "2025-03-01", "days": 367.0,
			},
		},
		{hostile, map[string]any{"rows": 5.0, "nulls": 1.0, "distinct": 4.0, "min": "a", "max": "e"}},
	} {
		out := call(t, src, "get_column_stats", map[string]any{"table": `MY "table"`, "column": c.column})
		if out.IsError {
			t.Errorf("%s: %s", c.column, out.Content)
			continue
		}
		var got struct{ Stats map[string]any }
		if err := json.Unmarshal([]byte(out.Content), &got); err != nil {
			t.Fatal(err)
		}
		for name, want := range c.want {
			v := got.Stats[name]
			if s, ok := v.(string); ok && c.column == "d" { // decimals are exact, so they are strings
				var f float64
				fmt.Sscan(s, &f)
				v = f
			}
			f, isNumber := v.(float64)
			w, wantNumber := want.(float64)
			if isNumber && wantNumber && math.Abs(f-w) < 1e-9*max(1, math.Abs(w)) {
				continue
			}
			if !reflect.DeepEqual(v, want) {
				t.Errorf("%s: %s = %v, want %v", c.column, name, v, want)
			}
		}
	}
}

// testDistribution checks for the same distribution in every dialect.
func testDistribution(t *testing.T, src *tooltest.Source) {
	for _, c := range []struct {
		table, column string
		limit         int
		want          string
	}{
		{`my "table"`, "s", 2, `"columns":["value","count","share"],"rows":[["apple",2,0.4],`},
		{`my "table"`, "s", 2, `"of_rows":5,"of_values":4}`},
		{`my "table"`, "n", 0, `"of_rows":5,"of_values":5}`},
		{`my "table"`, hostile, 0, `"of_rows":5,"of_values":5}`},
		{
			"t", "many", 3, `"columns":["from","to","count","share"],"rows":[[0,100,99,0.33],[100,200,100,` +
				`0.3333333333333333],[200,300,100,0.3333333333333333],[300,400,1,0.0033333333333333335]]`,
		},
		{"t", "small", 4, `"rows":[[-0.1,0,99,`},
		{"t", "moment", 10, `"columns":["month","count","share"],"rows":[["2024-01",`},
		{"t", "empty", 10, `"rows":[[null,300,1]],"of_rows":300,"of_values":1`},
	} {
		in := map[string]any{"table": c.table, "column": c.column}
		if c.limit > 0 {
			in["limit"] = c.limit
		}
		out := call(t, src, "get_value_distribution", in)
		if out.IsError || !strings.Contains(out.Content, c.want) {
			t.Errorf("%s: %s, want %s in it", c.column, out.Content, c.want)
		}
	}
}

func TestSQLite(t *testing.T) {
	src := tooltest.SQLite(t, table("DATE")...)
	t.Run("Stats", func(t *testing.T) { testStats(t, src) })
	t.Run("Distribution", func(t *testing.T) { testDistribution(t, src) })
}

// TestShop checks that every column of the shop has statistics and a distribution, and that the histogram counts
// every row.
func TestShop(t *testing.T) {
	src := tooltest.Shop(t)
	for _, table := range src.Tables {
		for _, column := range table.Columns {
			in := map[string]any{"table": table.Name, "column": column.Name}
			for _, name := range []string{"get_column_stats", "get_value_distribution"} {
				if out := call(t, src, name, in); out.IsError {
					t.Errorf("%s(%v): %s", name, in, out.Content)
				}
			}
		}
	}
	out := call(t, src, "get_value_distribution", map[string]any{"table": "orders", "column": "total", "limit": 20})
	var total int64
	share := 0.0
	for _, row := range out.Rows.Rows {
		total += row[2].(int64)
		share += row[3].(float64)
	}
	if total != 846 || math.Abs(share-1) > 1e-9 || len(out.Rows.Rows) < 5 {
		t.Errorf("%d buckets with %d orders, share %v; want all 846 in several", len(out.Rows.Rows), total, share)
	}
}

// TestHistogramOfNumbersOnEdges checks numbers that lie on a bucket's edge. 0.57 * 1000 is 569.9999999999999, which
// without rounding falls into the bucket below.
func TestHistogramOfNumbersOnEdges(t *testing.T) {
	src := tooltest.SQLite(t, `CREATE TABLE e (x REAL)`,
		`INSERT INTO e WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 99) SELECT i / 100.0 `+
			`FROM c`)
	out := call(t, src, "get_value_distribution", map[string]any{"column": "x", "limit": 100})
	if len(out.Rows.Rows) != 99 {
		t.Errorf("%d buckets, want 99", len(out.Rows.Rows))
	}
	for _, row := range out.Rows.Rows {
		if row[2] != int64(1) {
			t.Errorf("bucket %v, want one number in it", row)
		}
	}
}

func TestSQLiteTextInANumericColumn(t *testing.T) {
	src := tooltest.SQLite(t, `CREATE TABLE m (x INTEGER)`, `INSERT INTO m VALUES (1), (3), ('n/a'), (x'00'), (NULL)`)
	out := call(t, src, "get_column_stats", map[string]any{"column": "x"}) // the only table
	for _, want := range []string{
		`"rows":5`, `"nulls":1`, `"not_numeric":2`, `"distinct":2`, `"max":3`, `"mean":2`, `"median":2`,
	} {
		if !strings.Contains(out.Content, want) {
			t.Errorf("content = %s, want %s in it", out.Content, want)
		}
	}
}

func TestFewOrNoValues(t *testing.T) {
	src := tooltest.SQLite(t, `CREATE TABLE none (x INTEGER, y TEXT)`, `CREATE TABLE one (x REAL)`,
		`INSERT INTO one VALUES (7.5)`)
	out := call(t, src, "get_column_stats", map[string]any{"table": "none", "column": "x"})
	if !strings.Contains(out.Content, `"rows":0`) || !strings.Contains(out.Content, `"median":null,"stddev":null`) {
		t.Errorf("an empty table: %s", out.Content)
	}
	out = call(t, src, "get_value_distribution", map[string]any{"table": "none", "column": "y"})
	if !strings.Contains(out.Content, `"rows":[]`) {
		t.Errorf("an empty table: %s", out.Content)
	}
	out = call(t, src, "get_column_stats", map[string]any{"table": "one", "column": "x"})
	if !strings.Contains(out.Content, `"median":7.5,"stddev":null`) {
		t.Errorf("one value: %s", out.Content)
	}
}

// TestNamesAreLookedUp checks that names in an input are looked up and never written into a statement.
func TestNamesAreLookedUp(t *testing.T) {
	src := tooltest.SQLite(t, table("DATE")...)
	for _, in := range []map[string]any{
		{"table": `t"; DROP TABLE t; --`, "column": "many"},
		{"table": "t", "column": `many") FROM t; DROP TABLE t; --`},
		{"table": "t", "column": "1"},
		{"table": "sqlite_schema", "column": "sql"},
		{"column": "many"},
		{"table": "t", "column": "many", "source": "elsewhere"},
	} {
		for _, name := range []string{"get_column_stats", "get_value_distribution"} {
			src.Queries = nil
			out := call(t, src, name, in)
			if !out.IsError || len(src.Queries) > 0 {
				t.Errorf("%s(%v) = %s after %q, want a failure and no query", name, in, out.Content, src.Queries)
			}
		}
	}
	out := call(t, src, "get_column_stats", map[string]any{"table": "t", "column": "smal"})
	if want := `Table t has no column named "smal". Did you mean small?`; out.Content != want {
		t.Errorf("content = %q, want %q", out.Content, want)
	}
}

func TestErrors(t *testing.T) {
	src := tooltest.SQLite(t, table("DATE")...)
	for _, name := range []string{"get_column_stats", "get_value_distribution"} {
		in := map[string]any{"table": "t", "column": "many"}
		src.Broken = &source.Error{Kind: source.Limited, Reason: "the query took longer than 30s"}
		if out := call(t, src, name, in); !out.IsError ||
			!strings.Contains(out.Content, "ran into a limit: the query took longer") {
			t.Errorf("%s = %+v, want the limit in words", name, out)
		}
		src.Broken = footnote.Errorf(footnote.DatabaseUnavailable, "The database is unavailable.")
		tool := tooltest.Named(t, profile.New(profile.Options{Sources: tooltest.Sources{"db": src}}), name)
		if _, err := tool.Call(t.Context(),
			tooltest.Call(t, tool, in, "db")); footnote.CodeOf(err) != footnote.DatabaseUnavailable {
			t.Errorf("%s = %v, want %s", name, err, footnote.DatabaseUnavailable)
		}
	}
}

func TestSchemas(t *testing.T) {
	want := map[string]string{
		"get_column_stats": `{"type":"object","properties":{"thought":{"type":"string","description":"Why the ` +
			`statistics are needed, in one short sentence. The user sees ` +
			`it."},"column":{"type":"string","description":"Name of the ` +
			`column."},"table":{"type":"string","description":"Name of the table or view. It may be left out when ` +
			`the source has only one."},"source":{"type":"string","description":"Name of the source that has the ` +
			`table. Required when the conversation has several ` +
			`sources."}},"required":["column"],"additionalProperties":false}`,
		"get_value_distribution": `{"type":"object","properties":{"thought":{"type":"string","description":"Why the ` +
			`distribution is needed, in one short sentence. The user sees ` +
			`it."},"column":{"type":"string","description":"Name of the ` +
			`column."},"table":{"type":"string","description":"Name of the table or view. It may be left out when ` +
			`the source has only one."},"limit":{"type":"integer","description":"How many values or buckets to ` +
			`return. Default 10.","minimum":1,"maximum":100},"source":{"type":"string","description":"Name of the ` +
			`source that has the table. Required when the conversation has several ` +
			`sources."}},"required":["column"],"additionalProperties":false}`,
	}
	for _, tool := range profile.New(profile.Options{}) {
		if s := tool.Spec(); string(s.InputSchema) != want[s.Name] {
			t.Errorf("%s: %s", s.Name, s.InputSchema)
		}
	}
}
