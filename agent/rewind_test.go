package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/history"
	"github.com/footnotehq/footnote/tool"
)

// sent returns the history of the model's nth call as one text.
func sent(m *agenttest.Model, n int) string {
	var b strings.Builder
	for _, msg := range m.Requests()[n].Messages {
		fmt.Fprintf(&b, "%s %s\n", msg.Role, msg.Content)
	}
	return b.String()
}

func TestEditReplacesLaterMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(
			agenttest.Call("a", "run_query", `{}`), agenttest.Say("first"),
			agenttest.Call("a", "run_query", `{}`), agenttest.Say("second"),
			agenttest.Call("a", "run_query", `{}`), agenttest.Say("third"),
			agenttest.Say("fourth"))
		var tables [][]string
		r := newRig(t, model, []tool.Tool{rows("run_query")}, func(_ *agent.Assistant, o *agent.Options) {
			o.Resolve = func(d agent.Draft) agent.Resolved {
				ids := []string{d.Question}
				for _, t := range d.Tables {
					ids = append(ids, t.ID)
				}
				tables = append(tables, ids)
				return agent.Resolved{}
			}
		})
		one := r.submit(agent.Turn{Text: "one", Context: "The schema is s."})
		r.read(one)
		synctest.Wait()
		r.must(one.Conversation, agent.Turn{Text: "two"})
		r.refused("a first message that is an edit", "", footnote.NotFound, agent.Turn{Edit: 3, Text: "x"})
		r.refusedRewinds(one.Conversation)
		r.refused("an empty edit", one.Conversation, footnote.InvalidRequest, agent.Turn{
			Edit:    3,
			Text:    " ",
			Context: "x",
		})
		r.refused("words with a repetition", one.Conversation, footnote.InvalidRequest, agent.Turn{
			Regenerate: true,
			Text:       "x",
		})

		at := r.last(one.Conversation)
		r.must(one.Conversation, agent.Turn{Edit: r.messages(one.Conversation)[0], Text: "eins"})
		if got, want := r.kinds(one.Conversation, at),
			"rewound user_message run_started assistant_message tool_result assistant_message answered "+
				"run_finished"; got != want {
			t.Errorf("events %s\nwant   %s", got, want)
		}
		for _, gone := range []string{"first", "two", "second", `"one"`} {
			if strings.Contains(sent(model, 5), gone) {
				t.Errorf("%s is still sent:\n%s", gone, sent(model, 5))
			}
		}
		if s := sent(model, 4); !strings.Contains(s, "The schema is s.") || strings.Count(s, "Today is") != 1 {
			t.Errorf("the edited message lacks its context, or has not one date: %s", s)
		}
		if want := [][]string{{"one", "r1"}, {"two", "r1", "r2"}, {"eins", "r3"}}; !reflect.DeepEqual(tables, want) {
			t.Errorf("footnotes look at %v, want %v", tables, want)
		}
		r.refused("an edit of a message that was taken back", one.Conversation, footnote.InvalidRequest, agent.Turn{
			Edit: r.messages(one.Conversation)[1],
			Text: "x",
		})
		ids := map[string]bool{}
		for _, res := range bodies[footnote.ToolResult](r, one.Conversation) {
			if ids[res.CallID] {
				t.Errorf("the call id %s is used twice", res.CallID)
			}
			ids[res.CallID] = true
		}

		r.must(one.Conversation, agent.Turn{Regenerate: true})
		if s := sent(model, 6); strings.Contains(s, "third") || !strings.Contains(s, "eins") ||
			strings.Count(s, "Today is") != 1 {
			t.Errorf("asked again: %s", s)
		}
	})
}

func TestRewindDuringRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		model := agenttest.Script(agenttest.Reply{
			Wait:   gate,
			Blocks: agenttest.Call("a", "draw", `{}`).Blocks,
			Stop:   model.ToolUse,
		}, agenttest.Say("ok"))
		r := newRig(t, model, []tool.Tool{client("draw")})
		ticket := r.submit(agent.Turn{Text: "draw"})
		synctest.Wait()
		for _, turn := range []agent.Turn{{Regenerate: true}, {Edit: 3, Text: "x"}} {
			r.refused("while it runs", ticket.Conversation, footnote.Conflict, turn)
		}
		close(gate)
		r.read(ticket)
		synctest.Wait()
		r.must(ticket.Conversation, agent.Turn{Regenerate: true})
		res := bodies[footnote.ToolResult](r, ticket.Conversation)
		if len(res) != 1 || res[0].Content != history.Unanswered || r.terminals(ticket.Conversation) != 2 {
			t.Errorf("results %+v, %s", res, r.kinds(ticket.Conversation, 0))
		}
		r.refused("an answer to what was taken back", ticket.Conversation, footnote.CallClosed, answer("a", "drawn"))
	})
}

// TestRewoundHistory edits and regenerates messages at random places. The history sent to the model must be that of a
// conversation that only ever had the remaining messages.
func TestRewoundHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 8).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			var replies []agenttest.Reply
			for i := range steps {
				replies = append(replies, agenttest.Call(fmt.Sprint("t", i), "run_query", `{}`),
					agenttest.Say(fmt.Sprint("answer ", i)))
			}
			model := agenttest.Script(replies...)
			r := newRig(t, model, []tool.Tool{rows("run_query")})
			conversation := ""
			var stands []string // the messages that were not rewound
			var seqs []int64
			for i, step := range steps {
				text := fmt.Sprintf("message %d.", i)
				turn := agent.Turn{Text: text}
				switch n := len(stands); {
				case step < 2 && n > 0: // edit one of the last two
					at := max(0, n-1-step)
					turn.Edit = seqs[at]
					stands, seqs = stands[:at], seqs[:at]
				case step == 2 && n > 0:
					turn = agent.Turn{Regenerate: true}
					text = stands[n-1]
					stands, seqs = stands[:n-1], seqs[:n-1]
				}
				turn.Conversation, turn.Principal = conversation, alice
				ticket, err := r.engine.Submit(t.Context(), turn)
				if err != nil {
					rt.Fatal(err)
				}
				conversation = ticket.Conversation
				r.read(ticket)
				synctest.Wait()
				all := r.messages(conversation)
				stands, seqs = append(stands, text), append(seqs, all[len(all)-1])
				got := sent(model, len(model.Requests())-1)
				for _, m := range stands {
					if strings.Count(got, m) != 1 {
						rt.Fatalf("step %d: %q is sent %d times, %v stand:\n%s", i, m, strings.Count(got, m), stands,
							got)
					}
				}
				if n := strings.Count(got, `"text":"message`); n != len(stands) {
					rt.Fatalf("step %d: %d messages are sent, %v stand:\n%s", i, n, stands, got)
				}
			}
			var ids []string
			for _, res := range bodies[footnote.ToolResult](r, conversation) {
				ids = append(ids, res.Result.ID)
			}
			if compact := slices.Compact(slices.Sorted(slices.Values(ids))); len(compact) != len(ids) ||
				len(ids) != len(steps) {
				rt.Fatalf("the results are %v", ids)
			}
		})
	})
}

func TestStandingOmitsRewoundEvents(t *testing.T) {
	events := []footnote.Event{
		{
			Seq:  1,
			Body: footnote.UserMessage{Text: "a"},
		},
		{Seq: 2, Body: footnote.Answered{Text: "b"}},
		{Seq: 3, Body: footnote.Rewound{ToSeq: 1}},
		{Seq: 4, Body: footnote.Answered{Text: "c"}},
	}
	if got := history.Standing(events); len(got) != 2 || got[0].Seq != 1 || got[1].Seq != 4 {
		t.Errorf("standing = %+v", got)
	}
	if got := history.Standing(events[:2]); len(got) != 2 {
		t.Errorf("standing = %+v", got)
	}
}

// TestSourcesAreFixedAndTierIsNot checks that a later message cannot change the sources of a conversation, but can
// change its tier: from that message on, its model answers and its weight counts.
func TestSourcesAreFixedAndTierIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(agenttest.Say("one"), agenttest.Say("two"), agenttest.Say("three"),
			agenttest.Say("four"))
		budget := weighted{"pro": 5}
		tiers := []agent.Tier{
			{Name: "pro", Model: "big", Effort: "high", Multiplier: 5},
			{Name: "low", Model: "small", Effort: footnote.EffortOff},
		}
		r := newRig(t, model, nil, func(a *agent.Assistant, o *agent.Options) {
			o.Budget = budget
			a.Tiers = tiers
			a.Opening = func(_ context.Context, _ footnote.Principal,
				asked []string) (agent.Opening, error) {
				if slices.Contains(asked, "secret") {
					return agent.Opening{}, footnote.Invalidf("There is no source secret.")
				}
				return agent.Opening{System: json.RawMessage(`[]`), Sources: asked}, nil
			}
		})
		r.refused("a foreign source", "", footnote.InvalidRequest, agent.Turn{Text: "x", Sources: []string{"secret"}})
		r.refused("an unknown tier", "", footnote.InvalidRequest, agent.Turn{Text: "x", Tier: "huge"})
		ticket := r.submit(agent.Turn{Text: "go", Sources: []string{"shop"}, Tier: "low"})
		r.read(ticket)
		synctest.Wait()
		id := ticket.Conversation
		r.must(id, agent.Turn{Text: "and", Sources: []string{"other"}, Tier: "pro"})
		r.refused("an unknown tier later", id, footnote.InvalidRequest, agent.Turn{Text: "x", Tier: "huge"})
		r.restart(nil, func(a *agent.Assistant, o *agent.Options) { o.Budget, a.Tiers = budget, tiers })
		r.must(id, agent.Turn{Text: "and then"})
		r.must(id, agent.Turn{Text: "and last", Effort: "max"})
		want := []struct {
			model, effort string
			weight        int64
		}{{"small", footnote.EffortOff, 0}, {"big", "high", 5}, {"big", "high", 5}, {"big", "max", 5}}
		starts := bodies[footnote.RunStarted](r, id)
		for i, req := range model.Requests() {
			if w := want[i]; req.Model != w.model || req.Effort != w.effort || starts[i].Weight != w.weight ||
				!slices.Equal(req.Sources, []string{"shop"}) {
				t.Errorf("call %d asks %s with effort %q and weight %d about %v", i, req.Model, req.Effort,
					starts[i].Weight, req.Sources)
			}
		}
		if c := starts[2].Choice; len(model.Requests()) != len(want) || c != nil {
			t.Errorf("%d calls; the third message chose %+v", len(model.Requests()), c)
		}
		if o := bodies[footnote.Opened](r, id); len(o) != 1 || o[0].Tier != "low" || o[0].Model != "small" {
			t.Errorf("opened = %+v", o)
		}
	})
}
