package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

func finalTool() tool.Tool {
	return agenttest.NewTool(tool.Spec{
		Name:     tool.FinalAnswer,
		Final:    true,
		ReadOnly: true,
	}, func(_ context.Context, c tool.Call) (tool.Output, error) {
		if strings.Contains(string(c.Input), "badchart") {
			return tool.Fail("There is no such chart."), nil
		}
		return tool.Output{Content: "Shown.", Chart: json.RawMessage(`{"type":"bar"}`)}, nil
	})
}

// pieces returns a model that streams the input of one tool call in pieces.
func pieces(name, input string, cuts ...int) model.Model {
	return modelFunc(func(_ context.Context, _ model.Request, live model.Live) (model.Reply, error) {
		live.Start(0, model.ToolUseBlock, "f", name)
		at := 0
		for _, cut := range append(cuts, len(input)) {
			if cut > at && cut <= len(input) {
				live.Delta(0, strictjson.AppendEscaped(nil, input[at:cut]))
				at = cut
			}
		}
		live.Stop(0)
		live.Flush()
		return model.Reply{Message: footnote.AssistantMessage{
			Model: "m", Blocks: []json.RawMessage{agenttest.CallBlock("f", name, input)}, StopReason: model.ToolUse,
		}}, nil
	})
}

func TestFinalAnswerEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		llm := agenttest.Script(agenttest.Call("a", "run_query", `{}`),
			agenttest.Calls(agenttest.CallBlock("f", tool.FinalAnswer, `{"answer":"There are 42.","chartType":"bar"}`),
				agenttest.CallBlock("g", "run_query", `{}`)))
		r := newRig(t, llm, []tool.Tool{rows("run_query"), finalTool()})
		ticket := r.submit(agent.Turn{Text: "How many?"})
		text, _, last := shown(t, r, ticket)
		if f, ok := last.(footnote.RunFinished); !ok || f.Reason != model.EndTurn || text != "There are 42." {
			t.Errorf("shown %q, last = %+v", text, last)
		}
		synctest.Wait()
		answered := bodies[footnote.Answered](r, ticket.Conversation)
		if len(answered) != 1 || answered[0].Text != "There are 42." || string(answered[0].Chart) != `{"type":"bar"}` {
			t.Errorf("answered = %+v", answered)
		}
		res, said := bodies[footnote.ToolResult](r, ticket.Conversation),
			bodies[footnote.AssistantMessage](r, ticket.Conversation)
		if len(res) != 3 || res[1].CallID != "f" || len(said) != 2 ||
			!strings.Contains(string(said[1].Blocks[0]), `"tool_use"`) {
			t.Errorf("the call stays a call with its result: %+v, %+v", res, said)
		}
		if got := agent.Shown(said[1].Blocks); len(got) != 2 || got[0].Kind != model.TextBlock ||
			got[0].Text != "There are 42." || got[1].Kind != model.ToolUseBlock {
			t.Errorf("shown blocks = %+v", got)
		}
	})
}

func TestRejectedFinalAnswerIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(agenttest.Call("f", tool.FinalAnswer, `{"answer":"42","chartType":"badchart"}`),
			agenttest.Call("g", tool.FinalAnswer, `{"answer":"43"}`))
		r := newRig(t, model, []tool.Tool{finalTool()})
		ticket := r.submit(agent.Turn{Text: "How many?"})
		r.read(ticket)
		synctest.Wait()
		if a := bodies[footnote.Answered](r, ticket.Conversation); len(a) != 1 || a[0].Text != "43" {
			t.Errorf("answered = %+v", a)
		}
	})
}

func TestRecoveryAfterFinalAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script()
		r := newRig(t, model, []tool.Tool{finalTool()})
		id := crashed(t, r, agent.Continue, 0, agenttest.CallBlock("f", tool.FinalAnswer, `{"answer":"42"}`))
		if err := r.engine.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if a := bodies[footnote.Answered](r, id); len(a) != 1 || a[0].Text != "42" || len(model.Requests()) != 0 {
			t.Errorf("answered = %+v after %d model calls", a, len(model.Requests()))
		}
	})
}

// TestAnswerReaderAtAnyCut cuts the input of a final call at random places. The text shown must be the answer, and
// every piece of it must be the inside of a JSON string.
func TestAnswerReaderAtAnyCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		answer := rapid.OneOf(rapid.String(),
			rapid.SampledFrom([]string{
				"a \"quoted\" \\ b", "é😀\u2028 </x>", "line\nline\ttab", "{\"answer\":\"no\"}", "\x00\x1f",
			})).Draw(rt, "answer")
		answer = strings.ToValidUTF8(answer, "?")
		quoted := string(strictjson.AppendString(nil, answer))
		if rapid.Bool().Draw(rt, "ascii") {
			quoted = ascii(answer)
		}
		before := rapid.SampledFrom([]string{
			"", `"thought":"the \"answer\": x",`, `"x":{"answer":"no"},`, `"x":["answer",{"answer":[1]}],`,
			`"n":1.5,"y":null,`, `"ans\u0077er":"no",`,
		}).Draw(rt, "before")
		after := rapid.SampledFrom([]string{"", `,"chartType":"bar"`, `,"x":{"answer":"no"}`}).Draw(rt, "after")
		input := "{" + before + `"answer" : ` + quoted + after + "}"
		if strings.Contains(before, `\u0077`) {
			input = "{" + `"answer":` + quoted + after + "}" // a key with escapes is not recognised
		}
		var cuts []int
		for i := range len(input) {
			if input[i] < 0x80 && rapid.IntRange(0, 3).Draw(rt, "cut") == 0 {
				cuts = append(cuts, i)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil, []tool.Tool{
				finalTool(),
			}, use(pieces(tool.FinalAnswer, input, cuts...)), func(a *agent.Assistant, _ *agent.Options) {
				a.Limits.Steps = 1
			})
			ticket := r.submit(agent.Turn{Text: "go"})
			text, _, _ := shown(t, r, ticket)
			text = string(strictjson.AppendUnescaped(nil, []byte(text)))
			if text != answer {
				rt.Errorf("%s cut at %v is shown as %q, want %q", input, cuts, text, answer)
			}
		})
	})
}

// ascii returns a JSON string in which everything but ASCII is escaped.
func ascii(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r > 0xFFFF:
			r -= 0x10000
			b.WriteString(`\u` + hex4(0xD800+r>>10) + `\u` + hex4(0xDC00+r&0x3FF))
		case r < ' ' || r == '"' || r == '\\' || r > '~':
			b.WriteString(`\u` + hex4(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

func hex4(r rune) string {
	const digits = "0123456789ABCDEF"
	return string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}

func TestAnswerReaderReplacesHalfSurrogate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, []tool.Tool{
			finalTool(),
		}, use(pieces(tool.FinalAnswer, `{"answer":"a\ud800b\udc00c\ud83d\ude00d\ud800\n"}`, 15, 23, 31)))
		text, _, _ := shown(t, r, r.submit(agent.Turn{Text: "go"}))
		text = string(strictjson.AppendUnescaped(nil, []byte(text)))
		if want := "a\uFFFDb\uFFFDc😀d\uFFFD\n"; text != want {
			t.Errorf("shown %q, want %q", text, want)
		}
	})
}

func TestNotesOutsideRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		model := agenttest.Script(agenttest.Call("a", "run_query", `{}`), agenttest.Say("42"),
			agenttest.Reply{
				Wait:   gate,
				Blocks: agenttest.Call("b", "run_query", `{}`).Blocks,
				Stop:   model.ToolUse,
			}, agenttest.Say("43"))
		r := newRig(t, model, []tool.Tool{rows("run_query")})
		ticket := r.submit(agent.Turn{Text: "go"})
		r.read(ticket)
		synctest.Wait()
		query := footnote.QueryRun{
			Result:   footnote.StoredResult{Source: "shop", SQL: "select 43"},
			Replaces: "r1",
			By:       "mallory",
		}
		note := func(b footnote.Body, rows *footnote.Result) (int64, footnote.Body) {
			t.Helper()
			seq, body, err := r.engine.Append(t.Context(), alice, ticket.Conversation, b, rows)
			if err != nil {
				t.Fatal(err)
			}
			if head := r.last(ticket.Conversation); head != seq {
				t.Errorf("the note is event %d, the last is %d", seq, head)
			}
			return seq, body
		}
		_, body := note(query, table(1))
		if q := body.(footnote.QueryRun); q.Result.ID != "r2" || q.By != "alice" || q.Result.RowCount != 1 ||
			len(q.Result.Chunks) != 1 {
			t.Errorf("stored %+v", q)
		}
		note(footnote.Titled{Title: "  Mine \n now "}, nil)
		if head, _ := r.log.Get(t.Context(), ticket.Conversation); head.Title != "Mine now" || head.RunState != "" {
			t.Errorf("head = %+v", head)
		}

		// During a run, the notes are stored between its events.
		second := r.submit(agent.Turn{Conversation: ticket.Conversation, Text: "again"})
		synctest.Wait()
		if s := sent(model, 2); !strings.Contains(s, "the user ran a query") || !strings.Contains(s, "select 43") {
			t.Errorf("the prompt does not mention the user's query: %s", s)
		}
		_, body = note(query, table(2))
		if q := body.(footnote.QueryRun); q.Result.ID != "r3" {
			t.Errorf("stored %+v", q)
		}
		answers := int64(0)
		for ev := range r.log.Events(t.Context(), ticket.Conversation, 0) {
			if _, ok := ev.Body.(footnote.Answered); ok {
				answers = ev.Seq
			}
			if _, ok := ev.Body.(footnote.QueryRun); ok && ev.Run != "" {
				t.Errorf("the note belongs to the run %s", ev.Run)
			}
		}
		note(footnote.Feedback{Seq: answers, Good: true, Words: "good"}, nil)
		close(gate)
		if _, last := r.read(second); footnote.KindOf(last) != "run_finished" {
			t.Errorf("last = %+v", last)
		}
		synctest.Wait()
		res := bodies[footnote.ToolResult](r, ticket.Conversation)
		if len(res) != 2 || res[1].Result.ID != "r4" {
			t.Errorf("results = %+v", res)
		}

		for name, c := range map[string]struct {
			who  footnote.Principal
			body footnote.Body
			rows *footnote.Result
			want footnote.Code
		}{
			"another user": {
				footnote.Principal{Org: "acme", User: "bob"}, footnote.Titled{Title: "x"}, nil, footnote.NotFound,
			},
			"no title": {alice, footnote.Titled{Title: " "}, nil, footnote.InvalidRequest},
			"a long title": {
				alice, footnote.Titled{Title: strings.Repeat("x", 201)}, nil, footnote.InvalidRequest,
			},
			"of no answer": {alice, footnote.Feedback{Seq: 1}, nil, footnote.InvalidRequest},
			"many words": {
				alice, footnote.Feedback{Seq: answers, Words: strings.Repeat("x", 2001)}, nil, footnote.InputTooLong,
			},
			"no rows":              {alice, query, nil, footnote.InvalidRequest},
			"an edit of no result": {alice, footnote.QueryRun{Replaces: "r99"}, table(1), footnote.InvalidRequest},
			"an event of a run":    {alice, footnote.Answered{Text: "x"}, nil, footnote.InvalidRequest},
		} {
			if _, _, err := r.engine.Append(t.Context(), c.who, ticket.Conversation, c.body,
				c.rows); footnote.CodeOf(err) != c.want {
				t.Errorf("%s: CodeOf(%v), want %s", name, err, c.want)
			}
		}
	})
}

// TestNumberOfNotesIsLimited checks that notes cannot make a conversation grow without limit.
func TestNumberOfNotesIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, agenttest.Script(agenttest.Say("42")), nil, func(a *agent.Assistant, _ *agent.Options) {
			a.Limits.Events = 10
		})
		ticket := r.submit(agent.Turn{Text: "how many?"})
		r.read(ticket)
		head, err := r.log.Get(t.Context(), ticket.Conversation)
		if err != nil {
			t.Fatal(err)
		}
		many := make([]footnote.Body, 1_009-head.Last)
		for i := range many {
			many[i] = footnote.Titled{Title: "Theirs"}
		}
		if _, err := r.log.Append(t.Context(), footnote.Append{
			Stream: head.ID,
			After:  head.Last,
			Bodies: many,
		}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []footnote.Code{"", footnote.TooLarge} {
			if _, _, err := r.engine.Append(t.Context(), alice, head.ID, footnote.Titled{
				Title: "Mine",
			}, nil); footnote.CodeOf(err) != want {
				t.Errorf("CodeOf(%v), want %q", err, want)
			}
		}
	})
}

func TestModelTitleAfterFirstAnswer(t *testing.T) {
	titles := func(a *agent.Assistant, _ *agent.Options) { a.Titles = true }
	for name, c := range map[string]struct {
		turn  agent.Turn
		third agenttest.Reply
		mine  string
		want  string
		calls int
	}{
		"a title": {
			agent.Turn{
				Text: "how many orders are there?",
			}, agenttest.Say("\"Number of orders\"\nmore"), "", "Number of orders", 2,
		},
		"not attended": {agent.Turn{Text: "how many?", Unattended: true}, agenttest.Say("x"), "", "how many?", 1},
		"a failed title": {
			agent.Turn{
				Text: "how many?",
			}, agenttest.Reply{Err: &model.StepError{Code: footnote.ModelUnavailable}}, "", "how many?", 2,
		},
		"an empty title":             {agent.Turn{Text: "how many?"}, agenttest.Say(" ** "), "", "how many?", 2},
		"a title chosen by the user": {agent.Turn{Text: "how many?"}, agenttest.Say("Theirs"), "Mine", "Mine", 2},
		"a slow answer":              {agent.Turn{Text: "how many?"}, agenttest.Reply{Hang: true}, "", "how many?", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				if !c.third.Hang {
					c.third.Wait = gate
				}
				model := agenttest.Script(agenttest.Say("42"), c.third, agenttest.Say("43"))
				r := newRig(t, model, nil, titles)
				ticket := r.submit(c.turn)
				r.read(ticket)
				synctest.Wait()
				if c.mine != "" {
					if _, _, err := r.engine.Append(t.Context(), alice, ticket.Conversation, footnote.Titled{
						Title: c.mine,
					}, nil); err != nil {
						t.Fatal(err)
					}
				}
				close(gate)
				synctest.Wait()
				head, err := r.log.Get(t.Context(), ticket.Conversation)
				if err != nil || head.Title != c.want || len(model.Requests()) != c.calls {
					t.Errorf("title %q after %d calls, %v; want %q after %d", head.Title, len(model.Requests()), err,
						c.want, c.calls)
				}
			})
		})
	}
}
