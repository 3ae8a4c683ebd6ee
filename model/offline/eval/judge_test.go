package eval_test

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/offline/evalset"
)

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

// measureScripted measures a scripted model, which by default says its result.
func measureScripted(t *testing.T, p scriptedModel, o options) report {
	t.Helper()
	if p.say == nil {
		p.say = func(result string) string { return result }
	}
	o.model = func(openSources) model.Model { return p }
	return measureSet(t, o)
}

// Gold SQL that runs through the tools, the gates and the loader of untidy files must always be judged right. Otherwise
// the measurement or one of these parts is wrong.
func TestGoldIsRight(t *testing.T) {
	for _, set := range []evalset.Set{evalset.Frozen, evalset.Heldout, evalset.Blind, evalset.Unseen} {
		t.Run(cmp.Or(string(set), "frozen"), func(t *testing.T) {
			r := measureScripted(t, scriptedModel{
				sql: func(source, question string) string { return goldOf(set, source, question) },
			}, options{set: set})
			for _, a := range r.answers {
				if !a.good() {
					t.Errorf("%s is %s: %s\n%s\nanswer %s\nright  %s", a.id, a.outcome, a.why, a.sql, a.table,
						a.goldTable)
				}
			}
			if want := len(set.Questions()) + len(set.Pairs()); len(r.answers) != want && len(r.left) == 0 {
				t.Errorf("%d answers, want %d", len(r.answers), want)
			}
		})
	}
}

func TestUnrelatedTableIsWrong(t *testing.T) {
	r := measureScripted(t, scriptedModel{sql: func(string, string) string { return "SELECT 'x' AS a, -7 AS b" }},
		options{source: "saas"})
	for _, a := range r.answers {
		if a.outcome != wrong || a.good() {
			t.Errorf("%s is %s, want wrong", a.id, a.outcome)
		}
	}
	for _, g := range r.goals() {
		if g.met != (g.name == "latency") {
			t.Errorf("goal %s: met is %v: %s", g.name, g.met, g.text)
		}
	}
}

func TestAnswerWithoutFiguresIsDeclined(t *testing.T) {
	r := measureScripted(t, scriptedModel{sql: func(string, string) string { return "" }}, options{source: "clinic"})
	for _, a := range r.answers {
		if a.outcome != declined || a.good() == a.answerable {
			t.Errorf("%s is %s, want declined", a.id, a.outcome)
		}
	}
	for _, g := range r.goals() {
		if g.met != (g.name != "right") {
			t.Errorf("goal %s: met is %v: %s", g.name, g.met, g.text)
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
		{"the number is missing", number, scriptedModel{sql: goldSQL, say: text("There are some.")}, unsaid},
		{"another number", number, scriptedModel{sql: goldSQL, say: text("There are 7.")}, unsaid},
		{"the query fails", number, scriptedModel{sql: fixed("SELECT nothing FROM nowhere")}, failed},
		{"a write is refused", "clinic-052", scriptedModel{sql: fixed("DELETE FROM appointments")}, wrong},
		{
			"figures presented as a cause", why, scriptedModel{
				sql: fixed("SELECT 1"),
				say: text("It went up because of 1."),
			}, wrong,
		},
		{
			"figures, not presented as a cause", why, scriptedModel{
				sql: fixed("SELECT 1"),
				say: text("It was 1. That does not say why."),
			}, declined,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a := measureScripted(t, tt.model, options{id: tt.id}).answers[0]; a.outcome != tt.want {
				t.Errorf("%s is %s (%s), want %s", tt.id, a.outcome, a.why, tt.want)
			}
		})
	}
}

func TestUnknownIDIsAnError(t *testing.T) {
	if _, err := (options{id: "none"}).tasks(); err == nil {
		t.Error("tasks with an unknown id = nil, want an error")
	}
}

func TestWriteReport(t *testing.T) {
	r := report{answers: []answer{
		{id: "a-1", source: "a", kind: "count", answerable: true, outcome: right, millis: 10, first: true},
		{
			id: "a-2", source: "a", kind: "sum", answerable: true, outcome: wrong, why: "the answer has 2 rows, not 1",
			sql: "SELECT\n1", gold: "SELECT 2", millis: 900,
		},
		{id: "b-1", source: "b", kind: "unanswerable_why", outcome: declined, millis: 30},
	}}
	got := r.text(true)
	for _, want := range []string{
		"a-2 (sum): WRONG: the answer has 2 rows, not 1", "gold      SELECT 2",
		"p50 30.0, p95 900.0 over all; first of each source: p50 10.0",
		"MISSED  1 of 2 answerable questions are right (50.0 %), want at least 80 %",
		"MISSED  1 of 3 answers are confidently wrong (33.3 %), want at most 3 %",
		"met     1 of 1 unanswerable questions are declined (100.0 %)", "MISSED  p95 of the answers is 900 ms",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report does not have %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "a-1 (") {
		t.Errorf("a right answer has details:\n%s", got)
	}
}
