package audit_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// callOf returns a message that calls a tool with a statement.
func callOf(id, tool, sql string) footnote.AssistantMessage {
	input, _ := json.Marshal(map[string]string{"sql": sql})
	block, _ := json.Marshal(map[string]any{
		"type": "tool_use", "id": id, "name": tool, "input": json.RawMessage(input),
	})
	return footnote.AssistantMessage{Blocks: []json.RawMessage{block}}
}

// TestStatementOutcomes checks that the outcome of each statement is at the statement's index, also for logs
// of older versions.
func TestStatementOutcomes(t *testing.T) {
	with := func(outcome string) footnote.ToolResult {
		return footnote.ToolResult{
			Statements: []footnote.Statement{{SQL: "S", Outcome: outcome, Tables: []string{"a", "b"}}},
		}
	}
	stored := &footnote.StoredResult{SQL: "S", RowCount: 2, Columns: []footnote.Column{{Name: "n"}}}
	for name, tc := range map[string]struct {
		result footnote.ToolResult
		want   string // outcome and table
	}{
		"timed out":                     {with(footnote.StatementTimedOut), "timed_out a, b"},
		"refused":                       {with(footnote.StatementRefused), "refused a, b"},
		"of an older program":           {footnote.ToolResult{Result: stored}, "executed "},
		"of an older program, cached":   {footnote.ToolResult{Result: stored, CacheHit: true}, "cached "},
		"of an older program, refused":  {footnote.ToolResult{IsError: true, Fault: footnote.FaultRefused}, "refused "},
		"of an older program, failed":   {footnote.ToolResult{IsError: true, Fault: footnote.FaultFailed}, "failed "},
		"of an older program, no tool":  {footnote.ToolResult{IsError: true}, "not_run "},
		"of an older program, no end":   {footnote.ToolResult{IsError: true, By: "recovery"}, "cancelled "},
		"of an older program, in pages": {footnote.ToolResult{Result: stored, By: "client"}, "executed "},
	} {
		tc.result.CallID = "c"
		e := audit.Describe([]footnote.Event{{Body: callOf("c", "any", "S")}, {Body: tc.result}}, false)
		if len(e.Queries) != 1 || len(e.Results) != 1 || e.Queries[0] != "S" ||
			e.Results[0].Outcome+" "+e.Results[0].Table != tc.want {
			t.Errorf("%s: %q, %+v; want %s", name, e.Queries, e.Results, tc.want)
		}
	}
}

// TestOneLinePerRun generates random logs with several conversations, whose runs park, end in every way or do not
// end, and reads them in pieces. Each ended run and each statement of a person must have one line, and each statement
// one outcome.
func TestOneLinePerRun(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		log, out := sqlitetest.New(t), &sink{}
		var want []string
		asked := 0
		type chat struct {
			last int64
			run  string
		}
		chats := map[string]*chat{}
		opts := audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}}
		for n := range 120 {
			id := fmt.Sprintf("conv_%d", r.IntN(5))
			c := chats[id]
			if c == nil {
				c = &chat{}
				chats[id] = c
			}
			var bodies []footnote.Body
			if c.run == "" {
				c.run = fmt.Sprintf("run_%d", n)
				bodies = append(bodies, footnote.UserMessage{Text: "q"}, footnote.RunStarted{Protocol: "app"})
			}
			switch r.IntN(7) {
			case 0:
				bodies = append(bodies, callOf(fmt.Sprint("c", n), "run_query", "S"),
					footnote.ToolResult{CallID: fmt.Sprint("c", n), Statements: []footnote.Statement{
						{
							SQL:     "S",
							Outcome: footnote.StatementRefused,
						},
						{SQL: "T", Outcome: footnote.StatementExecuted},
					}[:r.IntN(3)]})
			case 1:
				bodies = append(bodies, footnote.RunParked{}, footnote.RunResumed{})
			case 2:
				bodies = append(bodies, footnote.StepFailed{Partial: "p"})
			case 3:
				bodies = append(bodies, footnote.Answered{Text: "a"}, footnote.RunFinished{})
			case 4:
				bodies = append(bodies, footnote.RunFailed{Code: footnote.BudgetExceeded})
			case 5:
				bodies = append(bodies, footnote.RunStopped{By: "interrupted"})
			}
			run := c.run
			if len(bodies) > 0 && footnote.Terminal(bodies[len(bodies)-1]) {
				want, c.run = append(want, c.run), ""
			}
			add := func(run string, bodies ...footnote.Body) {
				a := footnote.Append{Stream: id, After: c.last, Run: run, Bodies: bodies}
				var err error
				if c.last == 0 {
					_, err = log.CreateAppend(t.Context(), footnote.Stream{
						ID: id, Kind: "conversation", Org: "o", User: "u",
					}, a)
				} else {
					_, err = log.Append(t.Context(), a)
				}
				if err != nil {
					t.Fatal(err)
				}
				c.last += int64(len(bodies))
			}
			if len(bodies) > 0 {
				add(run, bodies...)
			}
			if r.IntN(10) == 0 && c.last > 0 {
				add("", footnote.QueryRun{Result: footnote.StoredResult{SQL: "S"}, Tables: []string{"t"}})
				asked++
			}
			if r.IntN(8) == 0 {
				once(t, opts)
			}
		}
		once(t, opts)
		var got []string
		for _, e := range entries(t, out.text()) {
			if len(e.Queries) != len(e.Results) {
				t.Errorf("seed %d: %s has %d statements and %d outcomes", seed, e.RunID, len(e.Queries), len(e.Results))
			}
			if e.Type == "query" {
				asked--
				continue
			}
			if e.Question != "q" {
				t.Errorf("seed %d: %s has no question: it is not whole", seed, e.RunID)
			}
			got = append(got, e.RunID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || asked != 0 {
			t.Errorf("seed %d: lines of %s; want %s; %d statements of people are missing", seed, got, want, asked)
		}
	}
}

// TestVerboseIsBounded checks how much of a run's calls a line contains.
func TestVerboseIsBounded(t *testing.T) {
	log, out := sqlitetest.New(t), &sink{}
	bodies := []footnote.Body{footnote.UserMessage{Text: "q"}}
	for i := range 100 {
		id := fmt.Sprint("c", i)
		bodies = append(bodies, callOf(id, "Bash", strings.Repeat("é", 20_000)), footnote.ToolResult{
			CallID:  id,
			Name:    "Bash",
			Content: strings.Repeat("y", 50_000),
		})
	}
	put(t, log, "run_1", append(bodies, footnote.RunFinished{})...)
	once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}, Verbose: true})
	e := entries(t, out.text())[0]
	size := 0
	for _, c := range e.Calls {
		if len(c.Input) > 16<<10 || len(c.Output) > 16<<10 || !c.Cut {
			t.Errorf("%d and %d bytes, cut: %v", len(c.Input), len(c.Output), c.Cut)
		}
		size += len(c.Input) + len(c.Output)
	}
	if size > 512<<10 || len(e.Calls) != 100 || e.Calls[0].Output == "" {
		t.Errorf("%d calls with %d bytes", len(e.Calls), size)
	}
}
