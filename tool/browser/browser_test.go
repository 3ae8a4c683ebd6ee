package browser_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/ask"
	"github.com/footnotehq/footnote/tool/browser"
	"github.com/footnotehq/footnote/tool/chart"
	"github.com/footnotehq/footnote/tool/schema"
)

func TestInputs(t *testing.T) {
	var specs []tool.Spec
	for _, tool := range append(browser.New(), ask.New()) {
		specs = append(specs, tool.Spec())
	}
	validate, err := schema.Validator(specs)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, input string
		ok          bool
	}{
		{"run_query", `{"thought":"t","sql":"select 1"}`, true},
		{"run_query", `{"sql":"select 1"}`, false}, // the thought is required
		{"run_query", `{"thought":"t","sql":""}`, false},
		{"get_column_stats", `{"thought":"t","column":"a"}`, true},
		{"get_column_stats", `{"thought":"t"}`, false},
		{"get_value_distribution", `{"thought":"t","column":"a","limit":10}`, true},
		{"get_value_distribution", `{"thought":"t","column":"a","limit":1000}`, false},
		{"transform_data", `{"thought":"t","code":"return data","sourceStep":0}`, true},
		{"transform_data", `{"thought":"t","code":"return data"}`, false},
		{"transform_data", `{"thought":"t","code":"return data","sourceStep":-1}`, false},
		{"transform_data", `{"code":"return data","sourceStep":0}`, false},
		{"final_answer", `{"answer":"42","chartType":"bar","xAxis":"a","yAxis":"b"}`, true},
		{"final_answer", `{"answer":"42","chartType":"radar"}`, false},
		{"final_answer", `{"chartType":"bar"}`, false},
		{"ask_user", `{"question":"Which year?"}`, true},
		{"ask_user", `{"question":"Which year?","options":["2024","2025"]}`, true},
		{"ask_user", `{"question":""}`, false},
		{"ask_user", `{"question":"Which?","options":["1","2","3","4","5","6","7"]}`, false},
		{"ask_user", `{"question":"Which?","options":["` + strings.Repeat("x", 201) + `"]}`, false},
	} {
		if err := validate(c.name, []byte(c.input)); (err == nil) != c.ok {
			t.Errorf("%s %.80s: %v", c.name, c.input, err)
		}
	}
}

func TestFinalAnswerUsesResultWithAxes(t *testing.T) {
	columns := func(names ...string) (cs []footnote.Column) {
		for _, n := range names {
			cs = append(cs, footnote.Column{Name: n, Kind: footnote.KindNumber})
		}
		return cs
	}
	results := []footnote.StoredResult{
		{ID: "r1", Columns: columns("city", "revenue"), RowCount: 3},
		{ID: "r2", Columns: columns("City", "revenue", "n"), RowCount: 3},
		{ID: "r3", Columns: columns("n"), RowCount: 1},
	}
	tools := browser.New()
	final := tools[len(tools)-1]
	for _, c := range []struct {
		input   string
		results []footnote.StoredResult
		want    string
	}{
		{
			`{"answer":"x","chartType":"bar","xAxis":"city","yAxis":"revenue"}`, results,
			`{"result":"r2","type":"bar","x":"City","y":["revenue"]}`,
		},
		{
			`{"answer":"x","chartType":"bar","xAxis":"city","yAxis":"nothing"}`, results,
			`{"result":"r3","type":"table"}`,
		},
		{`{"answer":"x","chartType":"line"}`, results, `{"result":"r3","type":"table"}`},
		{`{"answer":"x","chartType":"table"}`, results[:1], `{"result":"r1","type":"table"}`},
		{`{"answer":"x","chartType":"bar"}`, nil, ``},
		{`{"answer":"x","chartType":"bar"}`, []footnote.StoredResult{{ID: "r1"}}, ``},
	} {
		out, err := final.Call(context.Background(), tool.Call{Input: json.RawMessage(c.input), Results: c.results})
		if err != nil || out.IsError || string(out.Chart) != c.want {
			t.Errorf("%s: chart %s, %+v, %v; want %s", c.input, out.Chart, out, err, c.want)
		}
		if out.Chart != nil {
			if _, err := chart.Parse(out.Chart); err != nil {
				t.Error(err)
			}
		}
	}
	for _, input := range []string{`{"answer":" "}`, `[]`} {
		if out, err := final.Call(context.Background(), tool.Call{Input: json.RawMessage(input)}); err != nil ||
			!out.IsError {
			t.Errorf("%s: %+v, %v", input, out, err)
		}
	}
}
