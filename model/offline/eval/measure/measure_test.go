package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/offline/evalset"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/sqlite"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{sqlite.Kind: sqlite.OpenEngine, duckdb.Kind: duckdb.OpenEngine})
	os.Exit(m.Run())
}

// scriptedModel runs the SQL that it has for a question and replies with the result. Without SQL it declines.
type scriptedModel struct {
	sql func(source, question string) string
	say func(result string) string
}

func (p scriptedModel) Step(_ context.Context, req model.Request, _ model.Live) (model.Reply, error) {
	var blocks []struct {
		Type, Text string
		Content    json.RawMessage
	}
	last := req.Messages[len(req.Messages)-1]
	if err := json.Unmarshal(last.Content, &blocks); err != nil {
		return model.Reply{}, err
	}
	if blocks[0].Type == "tool_result" {
		return reply(map[string]any{"type": "text", "text": p.say(string(blocks[0].Content))}, model.EndTurn), nil
	}
	sql := p.sql(req.Sources[0], blocks[0].Text)
	if sql == "" {
		return reply(map[string]any{"type": "text", "text": "That cannot be answered from this data."}, model.EndTurn),
			nil
	}
	call := map[string]any{
		"type": "tool_use", "id": "call_1", "name": "run_query", "input": map[string]string{"sql": sql},
	}
	return reply(call, model.ToolUse), nil
}

func reply(block any, stop string) model.Reply {
	data, err := json.Marshal(block)
	if err != nil {
		panic(err) // a map of strings
	}
	return model.Reply{
		Message: footnote.AssistantMessage{Model: "pupil", Blocks: []json.RawMessage{data}, StopReason: stop},
	}
}

// median matches a median over a column.
var median = regexp.MustCompile(`MEDIAN\(("[^"]*"|\w+)\)`)

// goldSQL returns the SQL of the right answer in the frozen set.
func goldSQL(source, question string) string { return goldOf(evalset.Frozen, source, question) }

// goldOf returns the SQL of the right answer in a set. Gold is written for floating-point columns, but files with money
// are loaded as DECIMAL, and DuckDB truncates the median of decimals to their scale.
func goldOf(set evalset.Set, source, question string) string {
	for _, q := range set.Questions() {
		if q.Source == source && q.Question == question {
			return median.ReplaceAllString(q.Gold, "MEDIAN(CAST($1 AS DOUBLE))")
		}
	}
	for _, p := range set.Pairs() {
		if p.Source == source && p.Second == question {
			return p.Gold
		}
	}
	return ""
}

func run(t *testing.T, p scriptedModel, o Options) Report {
	t.Helper()
	if p.say == nil {
		p.say = func(result string) string { return result }
	}
	o.Model, o.Dir = func(Sources) model.Model { return p }, t.TempDir()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Gold SQL that runs through the tools, the gates and the loader of untidy files must always be judged right. Otherwise
// the measurement or one of these parts is wrong.
func TestGoldIsRight(t *testing.T) {
	for _, set := range []evalset.Set{evalset.Frozen, evalset.Heldout, evalset.Blind} {
		r := run(t, scriptedModel{
			sql: func(source, question string) string { return goldOf(set, source, question) },
		}, Options{Set: set})
		for _, a := range r.Answers {
			if !a.Good() {
				t.Errorf("%s is %s: %s\n%s\nanswer %s\nright  %s", a.ID, a.Outcome, a.Why, a.SQL, a.Table, a.GoldTable)
			}
		}
		if want := len(set.Questions()) + len(set.Pairs()); len(r.Answers) != want && len(r.Left) == 0 {
			t.Errorf("%d answers, want %d", len(r.Answers), want)
		}
	}
}

func TestUnrelatedTableIsWrong(t *testing.T) {
	r := run(t, scriptedModel{sql: func(string, string) string { return "SELECT 'x' AS a, -7 AS b" }},
		Options{Source: "saas"})
	for _, a := range r.Answers {
		if a.Outcome != Wrong || a.Good() {
			t.Errorf("%s is %s, want wrong", a.ID, a.Outcome)
		}
	}
	for _, g := range r.Goals() {
		if g.Met != (g.Name == "latency") {
			t.Errorf("goal %s: met is %v: %s", g.Name, g.Met, g.Text)
		}
	}
}

func TestAnswerWithoutFiguresIsDeclined(t *testing.T) {
	r := run(t, scriptedModel{sql: func(string, string) string { return "" }}, Options{Source: "clinic"})
	for _, a := range r.Answers {
		if a.Outcome != Declined || a.Good() == a.Answerable {
			t.Errorf("%s is %s, want declined", a.ID, a.Outcome)
		}
	}
	for _, g := range r.Goals() {
		if g.Met != (g.Name != "right") {
			t.Errorf("goal %s: met is %v: %s", g.Name, g.Met, g.Text)
		}
	}
}

func TestOutcomes(t *testing.T) {
	const number, why = "clinic-001", "clinic-050"
	fixed := func(sql string) func(string, string) string { return func(string, string) string { return sql } }
	text := func(s string) func(string) string { return func(string) string { return s } }
	for _, tt := range []struct {
		name, id string
		model    scriptedModel
		want     string
	}{
		{"the number is missing", number, scriptedModel{sql: goldSQL, say: text("There are some.")}, Unsaid},
		{"another number", number, scriptedModel{sql: goldSQL, say: text("There are 7.")}, Unsaid},
		{"the query fails", number, scriptedModel{sql: fixed("SELECT nothing FROM nowhere")}, Failed},
		{"a write is refused", "clinic-052", scriptedModel{sql: fixed("DELETE FROM appointments")}, Wrong},
		{
			"figures presented as a cause", why, scriptedModel{
				sql: fixed("SELECT 1"),
				say: text("It went up because of 1."),
			}, Wrong,
		},
		{
			"figures, not presented as a cause", why, scriptedModel{
				sql: fixed("SELECT 1"),
				say: text("It was 1. That does not say why."),
			}, Declined,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a := run(t, tt.model, Options{ID: tt.id}).Answers[0]; a.Outcome != tt.want {
				t.Errorf("%s is %s (%s), want %s", tt.id, a.Outcome, a.Why, tt.want)
			}
		})
	}
}

func TestRunFailsForUnknownID(t *testing.T) {
	_, err := Run(t.Context(), Options{
		ID:    "none",
		Dir:   t.TempDir(),
		Model: func(Sources) model.Model { return scriptedModel{} },
	})
	if err == nil {
		t.Error("Run with an unknown id = nil, want an error")
	}
}

func TestWriteReport(t *testing.T) {
	r := Report{Answers: []Answer{
		{ID: "a-1", Source: "a", Kind: "count", Answerable: true, Outcome: Right, Millis: 10, First: true},
		{
			ID: "a-2", Source: "a", Kind: "sum", Answerable: true, Outcome: Wrong, Why: "the answer has 2 rows, not 1",
			SQL: "SELECT\n1", Gold: "SELECT 2", Millis: 900,
		},
		{ID: "b-1", Source: "b", Kind: "unanswerable_why", Outcome: Declined, Millis: 30},
	}}
	var b bytes.Buffer
	if err := r.Write(&b, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"a-2 (sum): WRONG: the answer has 2 rows, not 1", "gold      SELECT 2",
		"p50 30.0, p95 900.0 over all; first of each source: p50 10.0",
		"MISSED  1 of 2 answerable questions are right (50.0 %), want at least 80 %",
		"MISSED  1 of 3 answers are confidently wrong (33.3 %), want at most 3 %",
		"met     1 of 1 unanswerable questions are declined (100.0 %)", "MISSED  p95 of the answers is 900 ms",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report does not have %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "a-1 (") || r.Met() {
		t.Errorf("a right answer has details, or the goals are met:\n%s", b.String())
	}
}
