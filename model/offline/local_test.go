package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/localschema"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

// page acts as the browser with a file of sales. It has the results of its tools, and the number of cells that it sends
// back.
type page struct {
	t        *testing.T
	cells    int
	messages []model.Message
	calls    []string // of the last question
	tools    json.RawMessage
}

func newPage(t *testing.T, cells int) *page {
	return &page{
		t:     t,
		cells: cells,
		tools: json.RawMessage(
			`[{"name":"run_query"},{"name":"get_column_stats"},{"name":"get_value_distribution"},` +
				`{"name":"final_answer"}]`),
	}
}

func salesSchema() string {
	return localschema.Schema{Tables: []localschema.Table{{Name: "sales", Rows: new(int64(200_000)),
		Columns: []localschema.Column{
			{Name: "id", Type: "BIGINT"}, {Name: "region", Type: "VARCHAR"}, {Name: "customer", Type: "VARCHAR"},
			{Name: "amount", Type: "DOUBLE"}, {Name: "sold at", Type: "DATE"},
		}}}}.Text()
}

func (p *page) say(role string, blocks ...any) {
	p.messages = append(p.messages, model.Message{Role: role, Content: marshal(blocks)})
}

type silent struct{}

func (silent) Start(int, string, string, string)          {}
func (silent) Delta(int, []byte)                          {}
func (silent) Stop(int)                                   {}
func (silent) Flush()                                     {}
func (silent) Retrying(int, footnote.Code, time.Duration) {}

// ask asks a question, runs the tools, and returns the final answer.
func (p *page) ask(question string, context_ ...string) (final map[string]any) {
	p.t.Helper()
	blocks := []any{map[string]any{"type": "text", "text": question}}
	for _, c := range context_ {
		blocks = append(blocks, map[string]any{"type": "text", "text": c})
	}
	p.say("user", blocks...)
	p.calls = nil
	l := Local{Now: func() time.Time { return time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC) }}
	for range 9 {
		r, err := l.Step(context.Background(), model.Request{Messages: p.messages, Tools: p.tools}, silent{})
		if err != nil {
			p.t.Fatal(err)
		}
		var b struct {
			Type, Text, ID, Name string
			Input                map[string]any
		}
		if err := json.Unmarshal(r.Message.Blocks[0], &b); err != nil {
			p.t.Fatal(err)
		}
		p.say("assistant", r.Message.Blocks[0])
		if b.Type == "text" {
			return map[string]any{"answer": b.Text}
		}
		if b.Name == tool.FinalAnswer {
			p.say("user", map[string]any{"type": "tool_result", "tool_use_id": b.ID, "content": "Shown."})
			return b.Input
		}
		if b.Input["thought"] == nil {
			p.t.Errorf("%s has no thought", b.Name)
		}
		p.calls = append(p.calls, fmt.Sprintf("%s %v%v", b.Name, b.Input["column"], b.Input["sql"]))
		p.say("user", map[string]any{"type": "tool_result", "tool_use_id": b.ID, "content": p.run(b.Name, b.Input)})
	}
	p.t.Fatalf("%q has no end: %v", question, p.calls)
	return nil
}

func (p *page) run(name string, in map[string]any) string {
	sql, _ := in["sql"].(string)
	cols, rows := []string{"number_of_sales"}, [][]any{{int64(200_000)}}
	switch {
	case name == "get_value_distribution" && in["column"] == "region":
		cols, rows = []string{"value", "count"}, [][]any{{"North", int64(120_000)}, {"South", int64(80_000)}}
	case name == "get_value_distribution":
		cols = []string{"value", "count"}
		for i := range 100 {
			if rows = append(rows, []any{fmt.Sprintf("Kanarie%d", i), int64(1)}); i == 0 {
				rows = rows[1:]
			}
		}
	case name == "get_column_stats":
		cols, rows = []string{
			"rows", "nulls", "distinct", "min", "max", "avg",
		}, [][]any{{int64(200_000), int64(0), int64(365), "2025-01-01", "2025-12-31", nil}}
	case strings.Contains(strings.ToLower(sql), "group by"):
		cols, rows = []string{"region", "total_amount"}, [][]any{{"North", 300.5}, {"South", 200.25}, {"West", 100.25}}
	}
	rcols := make([]footnote.Column, len(cols))
	for i, c := range cols {
		rcols[i].Name = c
	}
	shown := rows[:min(len(rows), p.cells/len(cols))]
	return reply.Table{
		ID:     fmt.Sprintf("r%d", len(p.messages)),
		Result: footnote.Result{Columns: rcols, Rows: shown},
		Count:  len(rows),
	}.JSON()
}

func TestLocal(t *testing.T) {
	p := newPage(t, 50)
	got := p.ask("How many sales are there?", salesSchema())
	if !strings.Contains(got["answer"].(string), "200,000") || len(p.calls) != 1 ||
		!strings.Contains(p.calls[0], "COUNT(*)") {
		t.Errorf("%v by %v", got, p.calls)
	}
	got = p.ask("total amount by region")
	if !strings.Contains(got["answer"].(string), "North") || got["chartType"] != "bar" || got["xAxis"] != "region" ||
		got["yAxis"] != "total_amount" {
		t.Errorf("%v by %v", got, p.calls)
	}
	if len(p.calls) != 1 || !strings.Contains(p.calls[0], "SUM(") || !strings.Contains(p.calls[0], "GROUP BY") {
		t.Errorf("calls %v", p.calls)
	}
	p.ask("How many sales in North?")
	if len(p.calls) != 2 || !strings.HasPrefix(p.calls[0], "get_value_distribution region") ||
		!strings.Contains(p.calls[1], "'North'") {
		t.Errorf("a value was looked up by %v", p.calls)
	}
	p.ask("How many sales in South?")
	if len(p.calls) != 1 || !strings.Contains(p.calls[0], "'South'") {
		t.Errorf("a known value was looked up again: %v", p.calls)
	}
	p.ask("total amount last month")
	if len(p.calls) != 2 || !strings.HasPrefix(p.calls[0], "get_column_stats sold at") ||
		!strings.Contains(p.calls[1], "2025-1") {
		t.Errorf("last month of the data was found by %v", p.calls)
	}
	got = p.ask("How many sales of frobnicators?")
	if !strings.Contains(got["answer"].(string), "frobnicators") || strings.Contains(fmt.Sprint(p.calls), "run_query") {
		t.Errorf("%v by %v", got, p.calls)
	}
}

// TestLocalAsksPinnedTable checks that a question goes to the table that was named with @.
func TestLocalAsksPinnedTable(t *testing.T) {
	table := func(name string) localschema.Table {
		return localschema.Table{
			Name:    name,
			Rows:    new(int64(30)),
			Columns: []localschema.Column{{Name: "region", Type: "VARCHAR"}, {Name: "amount", Type: "DOUBLE"}},
		}
	}
	both := localschema.Schema{Tables: []localschema.Table{table("sales"), table("returns")}}.Text()
	for _, name := range []string{"sales", "returns"} {
		p := newPage(t, 50)
		p.ask("How many?", both, "The user means this table: "+name+".")
		if len(p.calls) != 1 || !strings.Contains(p.calls[0], `FROM "`+name) {
			t.Errorf("with %s named the planner asks %v", name, p.calls)
		}
		p = newPage(t, 50) // in one piece, as the app sends it
		p.ask("total amount by region", both+"\nThe user means this table: "+name+".")
		if len(p.calls) != 1 || !strings.Contains(p.calls[0], `FROM "`+name) {
			t.Errorf("with %s named the planner asks %v", name, p.calls)
		}
	}
}

// TestEqualAndSmallFigures checks that none of several equal figures is called the highest, and that small figures are
// not shown as 0.
func TestEqualAndSmallFigures(t *testing.T) {
	for _, c := range []struct {
		figures []string
		limit   int
		count   int
		want    string
	}{
		{[]string{"3", "3"}, 0, 2, "All have the same total amount, **3**."},
		{[]string{"3", "3"}, 2, 2, "These all have the same total amount, **3**."},
		{[]string{"3", "3"}, 0, 5, "These all have the same total amount, **3**."},
		{[]string{"3", "2"}, 0, 2, "North has the highest total amount, **3**; South the lowest, **2**."},
		{
			[]string{
				"3", "3", "1",
			}, 0, 3, "North and South have the highest total amount, **3** each; East the lowest, **1**.",
		},
		{
			[]string{
				"3", "1", "1",
			}, 0, 3, "North has the highest total amount, **3**; South and East the lowest, **1** each.",
		},
		{[]string{"3", "3", "1"}, 3, 3, "North and South have the highest total amount, **3** each."},
		{
			[]string{
				"3", "3", "3", "3", "1",
			}, 0, 5, "North, South, East and others have the highest total amount, **3** each; Far off the lowest, " +
				"**1**.",
		},
		{[]string{"3"}, 1, 1, "**North**: total amount 3."},
		{[]string{"3", "3"}, 1, 2, "North and South have the highest total amount, **3** each."},
		{
			[]string{
				"0.000000002", "0.000000001",
			}, 0, 2, "North has the highest total amount, **2e-9**; South the lowest, **1e-9**.",
		},
	} {
		res := Result{ID: "r1", Columns: []string{"region", "total_amount"}, Count: c.count}
		for i, f := range c.figures {
			res.Rows = append(res.Rows, []any{[]string{"North", "South", "East", "West", "Far off"}[i], json.Number(f)})
		}
		w, order := &Writer{}, 0
		if c.limit > 0 {
			order = -1
		}
		w.writeGroups(&plan{
			kind: kindAggregate, order: order, limit: c.limit, dims: []dim{{name: "region"}},
			measures: []measure{{name: "total amount"}},
		}, res)
		if got, _, _ := strings.Cut(w.b.String(), "\n"); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestRowsWithoutValueAreNotCalledNone checks that a group of rows without a value is not called "none".
func TestRowsWithoutValueAreNotCalledNone(t *testing.T) {
	res := Result{
		ID: "r1", Columns: []string{"city", "trips"}, Count: 2,
		Rows: [][]any{{nil, json.Number("39")}, {"Oslo", json.Number("17")}},
	}
	pl := &plan{kind: kindAggregate, dims: []dim{{name: "city"}}, measures: []measure{{name: "number of trips"}}}
	w := &Writer{}
	w.writeGroups(pl, res)
	if got, _, _ := strings.Cut(w.b.String(),
		"\n"); got != "Rows without city have the highest number of trips, **39**; Oslo the lowest, **17**." {
		t.Error(got)
	}
}

// TestLocalWithoutCells checks that the planner still runs the query if the browser sends no cells, says so, and does
// not look for values again.
func TestLocalWithoutCells(t *testing.T) {
	p := newPage(t, 0)
	got := p.ask("total amount by region", salesSchema())
	words := got["answer"].(string)
	if !strings.Contains(words, "No values were sent") || got["chartType"] != "bar" || got["xAxis"] != "region" {
		t.Errorf("%v by %v", got, p.calls)
	}
	got = p.ask("total amount last month")
	if !strings.Contains(got["answer"].(string), "“last month” counts from today, 2026-11-21") {
		t.Errorf("%v by %v", got, p.calls)
	}
	p.ask("total amount of this year")
	if !strings.Contains(fmt.Sprint(p.calls), "2026") {
		t.Errorf("this year is today's where no date is shown: %v", p.calls)
	}
	got = p.ask("How many sales in North?")
	if !strings.Contains(got["answer"].(string), "cells stay in your browser") || len(p.calls) != 0 {
		t.Errorf("%v by %v: lookups show nothing", got, p.calls)
	}
	if strings.Contains(fmt.Sprint(p.messages), "Kanarie") {
		t.Error("the planner was shown a value")
	}
}

func TestLocalWithoutAFile(t *testing.T) {
	if got := newPage(t, 50).ask("How many sales?"); !strings.Contains(got["answer"].(string), "No file is open") {
		t.Error(got)
	}
	p := newPage(t, 50)
	got := p.ask("SELECT region FROM sales", salesSchema())
	if !strings.Contains(p.calls[0], "SELECT region FROM sales") {
		t.Error(got, p.calls)
	}
	p.tools = json.RawMessage(`[]`)
	if got := p.ask("title please"); got["answer"] == "" {
		t.Error(got)
	}
}
