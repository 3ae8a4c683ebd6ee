package chart_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/chart"
	"github.com/footnotehq/footnote/tool/internal/tooltest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func columns(pairs ...string) []footnote.Column {
	var out []footnote.Column
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, footnote.Column{Name: pairs[i], Kind: pairs[i+1]})
	}
	return out
}

var stored = []footnote.StoredResult{
	{
		ID:       "r1",
		RowCount: 18,
		Columns:  columns("month", "text", "Revenue", "number", "orders", "integer", "status", "text"),
	},
	{ID: "r2", RowCount: 10_001, Columns: columns("x", "integer", "y", "decimal", "z", "")},
	{ID: "r3", RowCount: 0, Columns: columns("x", "text", "n", "integer")},
	{ID: "r4", RowCount: 10_000, Truncated: true, Columns: columns("x", "text", "n", "integer", "m", "integer")},
	{ID: "r5", RowCount: 3, Columns: columns("x", "text", "when", "date")},
}

func call(t *testing.T, input string, results []footnote.StoredResult) tool.Output {
	t.Helper()
	tl := chart.New()
	c := tooltest.Call(t, tl, input)
	c.Results = results
	if err := tooltest.CheckInput(tl, c.Input); err != nil {
		return tool.Fail("schema: " + err.Error())
	}
	out, err := tl.Call(t.Context(), c)
	if err != nil {
		t.Fatalf("show_chart(%s) = %v", input, err)
	}
	return out
}

func TestCall(t *testing.T) {
	for _, c := range []struct{ input, chart string }{
		{`{"result":"r1","type":"line","x":"MONTH","y":"revenue","title":" Revenue <by> month "}`,
			`{"result":"r1","type":"line","x":"month","y":["Revenue"],"title":"Revenue <by> month"}`},
		{`{"thought":"t","result":"r1","type":"bar","x":"month","y":["orders","Revenue"],"sort":"-y"}`,
			`{"result":"r1","type":"bar","x":"month","y":["orders","Revenue"],"sort":"-y"}`},
		{`{"result":"r1","type":"area","x":"month","y":["orders"],"series":"status"}`,
			`{"result":"r1","type":"area","x":"month","y":["orders"],"series":"status"}`},
		{`{"result":"r1","type":"pie","x":"status","y":"orders","series":null}`,
			`{"result":"r1","type":"pie","x":"status","y":["orders"]}`},
		{
			`{"result":"r1","type":"histogram","x":"Revenue","y":null}`,
			`{"result":"r1","type":"histogram","x":"Revenue"}`,
		},
		{`{"result":"r2","type":"table"}`, `{"result":"r2","type":"table"}`},
		{`{"result":"r4","type":"bar","x":"x","y":"n"}`, `{"result":"r4","type":"bar","x":"x","y":["n"]}`},
	} {
		out := call(t, c.input, stored)
		if out.IsError || string(out.Chart) != c.chart || !json.Valid([]byte(out.Content)) {
			t.Errorf("show_chart(%s) = %s, chart %s, want %s", c.input, out.Content, out.Chart, c.chart)
			continue
		}
		s, err := chart.Parse(out.Chart)
		if err != nil {
			t.Errorf("Parse(%s) = %v", out.Chart, err)
		}
		if again, _ := json.Marshal(s); !bytes.Equal(unescaped(again), out.Chart) {
			t.Errorf("Parse(%s) gives %s", out.Chart, again)
		}
		if strings.Contains(c.input, "r4") != strings.Contains(out.Content, "incomplete") {
			t.Errorf("show_chart(%s): %s", c.input, out.Content)
		}
	}
}

func unescaped(data []byte) []byte {
	data = bytes.ReplaceAll(data, []byte(`\u003c`), []byte("<"))
	return bytes.ReplaceAll(data, []byte(`\u003e`), []byte(">"))
}

func TestInvalidCharts(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{`{"result":"r9","type":"table"}`, `There is no result "r9". The latest results are: r1, r2, r3, r4, r5.`},
		{`{"result":"r1","type":"donut","x":"month","y":"orders"}`, `"type" must be one of "bar", "line"`},
		{`{"result":"r1","type":"bar","x":"month"}`, "A bar chart needs x and y."},
		{`{"result":"r1","type":"bar","x":"month","y":[]}`, "A bar chart needs x and y."},
		{`{"result":"r1","type":"bar","x":"month","y":["orders",""]}`, "A y column has no name."},
		{`{"result":"r1","type":"bar","x":"month","y":["orders","ORDERS"]}`, `Column "orders" is in y twice.`},
		{
			`{"result":"r1","type":"bar","x":"month","y":"order"}`,
			`Result r1 has no column "order". Did you mean orders?`,
		},
		{`{"result":"r1","type":"bar","x":"zebra","y":"orders"}`, `Its columns are: month, Revenue, orders, status.`},
		{
			`{"result":"r1","type":"bar","x":"month","y":"status"}`,
			`Column "status" is text, and a bar chart can only measure numbers. Numeric columns of r1: Revenue, ` +
				`orders.`,
		},
		{
			`{"result":"r5","type":"line","x":"x","y":"when"}`,
			`Column "when" is date, and a line chart can only measure numbers. Numeric columns of r5: none.`,
		},
		{`{"result":"r1","type":"histogram","x":"month"}`, `Column "month" is text`},
		{`{"result":"r1","type":"histogram","x":"orders","y":"Revenue"}`, "A histogram needs x"},
		{`{"result":"r1","type":"pie","x":"status","y":["orders","Revenue"]}`, "A pie needs x"},
		{`{"result":"r1","type":"line","x":"month","y":["orders","Revenue"],"series":"status"}`, "not both"},
		{`{"result":"r2","type":"scatter","x":"x","y":"y"}`, "The chart would have 10001 marks; at most 10000"},
		{`{"result":"r4","type":"bar","x":"x","y":["n","m"]}`, "The chart would have 20000 marks"},
		{`{"result":"r4","type":"pie","x":"x","y":"n"}`, "A pie of 10000 slices cannot be read"},
		{`{"result":"r3","type":"bar","x":"x","y":"n"}`, "Result r3 has no rows"},
		{`{"result":"r1","type":"bar","x":"month","y":"orders","color":"red"}`, `"color" is not a parameter.`},
	} {
		out := call(t, c.input, stored)
		if !out.IsError || !strings.Contains(out.Content, c.want) || out.Chart != nil {
			t.Errorf("show_chart(%s) = %q, want a failure with %q", c.input, out.Content, c.want)
		}
	}
	if out := call(t, `{"result":"r1","type":"table"}`, nil); !strings.Contains(out.Content, "Call run_query first") {
		t.Errorf("without results: %q", out.Content)
	}
}

// drawings returns charts with their rows. Both renderings of each are compared with golden files.
func drawings() map[string]struct {
	spec chart.Spec
	data footnote.Result
} {
	months := footnote.Result{Columns: columns("month", "text", "revenue", "decimal", "orders", "integer")}
	for i := range 18 {
		months.Rows = append(months.Rows, []any{
			fmt.Sprintf("%d-%02d", 2025+(i+4)/12, (i+4)%12+1), fmt.Sprintf("%d.50", 4000+i*i*40), int64(20 + i*3),
		})
	}
	status := footnote.Result{Columns: columns("status", "text", "n", "integer"), Rows: [][]any{
		{"delivered", int64(744)},
		{"returned", int64(38)}, {"cancelled", int64(38)}, {nil, int64(1)}, {"shipped", nil}}}
	days := footnote.Result{Columns: columns("day", "date", "kind", "text", "n", "number")}
	for i := range 6 {
		days.Rows = append(days.Rows, []any{
			fmt.Sprintf("2026-03-%02d", 27+i%3), []string{"a", "b"}[i/3], float64(i*i) - 4.5,
		})
	}
	points := footnote.Result{Columns: columns("price", "number", "sold", "integer")}
	for i := range 40 {
		points.Rows = append(points.Rows, []any{float64(i) + 0.5, int64(100 - 2*i + i*7%11)})
	}
	hostile := footnote.Result{Columns: columns("a.b[0]", "text", "__proto__", "number"), Rows: [][]any{
		{"\x1b[2J\u202e</script> 日本語 and a long name", 1.0},
		{strings.Repeat("é", 500), -2.5}, {"datum.x; alert(1)", 0.00001}}}
	years := footnote.Result{
		Columns: columns("year", "integer", "n", ""),
		Rows:    [][]any{{int64(2024), int64(10)}, {int64(2025), int64(30)}, {int64(2026), int64(20)}},
	}
	return map[string]struct {
		spec chart.Spec
		data footnote.Result
	}{
		"line": {
			chart.Spec{Result: "r1", Type: chart.Line, X: "month", Y: []string{"revenue"}, Title: "Revenue by month"},
			months,
		},
		"bars": {chart.Spec{Result: "r1", Type: chart.Bar, X: "month", Y: []string{"revenue", "orders"}}, months},
		"ranking": {
			chart.Spec{Result: "r1", Type: chart.Bar, X: "status", Y: []string{"n"}, Sort: chart.ByYDesc}, status,
		},
		"pie": {chart.Spec{Result: "r1", Type: chart.Pie, X: "status", Y: []string{"n"}}, status},
		"series": {
			chart.Spec{Result: "r1", Type: chart.Area, X: "day", Y: []string{"n"}, Series: "kind", Sort: chart.ByXDesc},
			days,
		},
		"scatter":   {chart.Spec{Result: "r1", Type: chart.Scatter, X: "price", Y: []string{"sold"}}, points},
		"histogram": {chart.Spec{Result: "r1", Type: chart.Histogram, X: "sold"}, points},
		"table":     {chart.Spec{Result: "r1", Type: chart.Table}, months},
		"hostile": {
			chart.Spec{Result: "r1", Type: chart.Bar, X: "a.b[0]", Y: []string{"__proto__"}, Title: "\x1b]0;x\a"},
			hostile,
		},
		"years": {chart.Spec{Result: "r1", Type: chart.Line, X: "year", Y: []string{"n"}}, years},
	}
}

func TestTerminal(t *testing.T) {
	for name, d := range drawings() {
		got := chart.Terminal(d.spec, d.data, 72)
		golden(t, name+".txt", got)
		for _, w := range []int{-5, 0, 30, 31, 200, 1 << 30} {
			out := chart.Terminal(d.spec, d.data, w)
			for line := range strings.Lines(out) {
				line = strings.TrimSuffix(line, "\n")
				if n := utf8.RuneCountInString(line); n > min(max(w, 30), 500) {
					t.Errorf("%s at %d: a line of %d characters: %s", name, w, n, line)
				}
				for _, r := range line {
					if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
						t.Errorf("%s at %d: control character %U", name, w, r)
					}
				}
			}
		}
	}
}

func TestTerminalOfExtremes(t *testing.T) {
	cols := columns("x", "number", "y", "number")
	for _, rows := range [][][]any{
		nil,
		{{nil, nil}},
		{{1.0, 0.0}},
		{{-math.MaxFloat64, math.MaxFloat64}, {math.MaxFloat64, -math.MaxFloat64}},
		{{math.NaN(), math.Inf(1)}, {1.0, 1.0}},
		{{1.0}},
		{{"a", "b"}, {"c", "d"}},
	} {
		for _, kind := range []string{
			chart.Bar, chart.Line, chart.Area, chart.Scatter, chart.Pie, chart.Histogram, chart.Table, "nonsense",
		} {
			s := chart.Spec{Result: "r1", Type: kind, X: "x", Y: []string{"y"}}
			if kind == chart.Histogram {
				s.Y = nil
			}
			if len(rows) == 1 && len(rows[0]) == 1 && kind == chart.Table {
				continue // a Result must have rows as long as its columns
			}
			if out := chart.Terminal(s, footnote.Result{Columns: cols, Rows: rows}, 60); !strings.HasSuffix(out, "\n") {
				t.Errorf("%s of %v: %q", kind, rows, out)
			}
		}
	}
}

func TestSchema(t *testing.T) {
	golden(t, "show_chart.schema.json", string(chart.New().Spec().InputSchema)+"\n")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

// A drawing in a terminal names the currency that the column names.
func TestTerminalHasCurrency(t *testing.T) {
	res := footnote.Result{
		Columns: []footnote.Column{{Name: "city", Kind: footnote.KindText}, {Name: "fee_chf", Kind: footnote.KindNumber}},
		Rows:    [][]any{{"Bern", 1219.5}, {"Chur", -3.0}, {"Zug", 4.0}},
	}
	for _, kind := range []string{"bar", "line"} {
		got := chart.Terminal(chart.Spec{Type: kind, X: "city", Y: []string{"fee_chf"}}, res, 80)
		for _, want := range []string{"CHF 1,219.5", "-CHF 3"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", kind, want, got)
			}
		}
	}
}
