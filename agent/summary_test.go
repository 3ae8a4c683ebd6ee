package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// paired checks that every call in a request is followed directly by its result, and that the roles alternate,
// beginning with the user's.
func paired(t *testing.T, req model.Request) {
	t.Helper()
	var open []string
	for i, m := range req.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			t.Errorf("message %d has role %s", i, m.Role)
		}
		var blocks []struct{ Type, ID, ToolUseID string }
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(m.Content), "tool_use_id", "ToolUseID")),
			&blocks); err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			switch {
			case b.Type == "tool_use":
				open = append(open, b.ID)
			case b.Type == "tool_result" && len(open) > 0 && open[0] == b.ToolUseID:
				open = open[1:]
			case b.Type == "tool_result":
				t.Errorf("message %d answers %s; open are %v", i, b.ToolUseID, open)
			}
		}
		if m.Role == "user" && len(open) > 0 {
			t.Errorf("message %d leaves %v open", i, open)
		}
	}
}

func TestLongHistoryIsSummarised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var script []agenttest.Reply
		for i := range 3 {
			script = append(script, agenttest.Call("a", "run_query", `{}`),
				agenttest.Say(fmt.Sprintf("answer %d", i+1)))
		}
		script = append(script, agenttest.Say("THE SUMMARY"), agenttest.Say("answer 4"), agenttest.Say("answer 5"),
			agenttest.Say("answer 1b"))
		model := agenttest.Script(script...)
		r := newRig(t, model, []tool.Tool{
			rows("run_query"),
		}, func(a *agent.Assistant, _ *agent.Options) { a.Limits.History, a.Summaries = 12, true })
		one := r.submit(agent.Turn{Text: "question 1", Context: "The schema is s."})
		r.read(one)
		synctest.Wait()
		for i := 2; i <= 5; i++ {
			r.must(one.Conversation, agent.Turn{Text: fmt.Sprintf("question %d", i)})
		}
		segments := bodies[footnote.Segmented](r, one.Conversation)
		if len(segments) != 1 || segments[0].FromSeq != r.messages(one.Conversation)[2] ||
			segments[0].Usage.Output == 0 {
			t.Fatalf("the segments are %+v", segments)
		}
		if asked := sent(model, 6); !strings.Contains(asked, "question 1") || !strings.Contains(asked, "answer 2") ||
			!strings.Contains(asked, "calls run_query") || strings.Contains(asked, "question 3") {
			t.Errorf("text to summarise: %s", asked)
		}
		for n := 7; n <= 8; n++ {
			got := sent(model, n)
			for _, want := range []string{
				"THE SUMMARY", "The schema is s.", "Today is", "question 3", "answer 3", "question 4",
			} {
				if strings.Count(got, want) != 1 {
					t.Errorf("call %d has %q %d times:\n%s", n, want, strings.Count(got, want), got)
				}
			}
			if strings.Contains(got, "question 2") || !strings.Contains(got, "tool_use") {
				t.Errorf("call %d: %s", n, got)
			}
			paired(t, model.Requests()[n])
		}
		var ends []footnote.RunFinished
		if ends = bodies[footnote.RunFinished](r, one.Conversation); ends[3].Usage.Output != 10 {
			t.Errorf("the run with the summary used %+v", ends[3].Usage)
		}
		// Rewinding the summarised messages also removes the summary.
		r.must(one.Conversation, agent.Turn{Edit: r.messages(one.Conversation)[0], Text: "question 1b"})
		if got := sent(model, 9); strings.Contains(got, "SUMMARY") || !strings.Contains(got, "question 1b") {
			t.Errorf("after an edit: %s", got)
		}
	})
}

func TestFailedSummarySendsWholeHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(agenttest.Say("one"), agenttest.Say("two"), agenttest.Reply{
			Err: footnote.Errorf(footnote.ModelUnavailable, "Away."),
		}, agenttest.Say("three"))
		r := newRig(t, model, nil, func(a *agent.Assistant, _ *agent.Options) {
			a.Limits.History, a.Summaries = 4, true
		})
		one := r.submit(agent.Turn{Text: "first"})
		r.read(one)
		synctest.Wait()
		r.must(one.Conversation, agent.Turn{Text: "second"})
		r.must(one.Conversation, agent.Turn{Text: "third"})
		if got := sent(model, 3); !strings.Contains(got, "first") ||
			len(bodies[footnote.Segmented](r, one.Conversation)) != 0 {
			t.Errorf("sent was %s", got)
		}
	})
}

// TestHistoryIsBoundedWhenSummariesFail checks that a history is cut at twice its limit even if each summary fails, and
// that the model then reads the end of the transcript.
func TestHistoryIsBoundedWhenSummariesFail(t *testing.T) {
	for name, failure := range map[string]agenttest.Reply{
		"the model is away": {Err: footnote.Errorf(footnote.ModelUnavailable, "Away.")},
		"it says nothing":   agenttest.Say(""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := []agenttest.Reply{agenttest.Say("answer 1"), agenttest.Say("answer 2")}
				for i := 3; i <= 6; i++ { // from the third question on, the history has more than 4 messages
					script = append(script, failure, agenttest.Say(fmt.Sprintf("answer %d", i)))
				}
				model := agenttest.Script(script...)
				r := newRig(t, model, nil, func(a *agent.Assistant, _ *agent.Options) {
					a.Limits.History, a.Summaries = 4, true
				})
				one := r.submit(agent.Turn{Text: "question 1"})
				r.read(one)
				synctest.Wait()
				for i := 2; i <= 5; i++ {
					r.must(one.Conversation, agent.Turn{Text: fmt.Sprintf("question %d", i)})
				}
				segments := bodies[footnote.Segmented](r, one.Conversation)
				if len(segments) != 1 || segments[0].Usage != (footnote.Usage{}) ||
					!strings.Contains(segments[0].Summary, "user: question 1\n") {
					t.Fatalf("the segments are %+v", segments)
				}
				last := model.Requests()[len(model.Requests())-1]
				if len(last.Messages) > 4 || !strings.Contains(sent(model, len(model.Requests())-1), "question 5") {
					t.Errorf("%d messages are sent", len(last.Messages))
				}
				paired(t, last)
			})
		})
	}
}

func TestHistoryIsShortenedWithoutModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(agenttest.Say("one"), agenttest.Say("two"), agenttest.Say("three"))
		r := newRig(t, model, nil, func(a *agent.Assistant, _ *agent.Options) { a.Limits.History = 4 })
		one := r.submit(agent.Turn{Text: "first"})
		r.read(one)
		synctest.Wait()
		r.must(one.Conversation, agent.Turn{Text: "second"})
		r.must(one.Conversation, agent.Turn{Text: "third"})
		if got := bodies[footnote.Segmented](r, one.Conversation); len(got) != 1 ||
			!strings.Contains(got[0].Summary, "user: first\n") || !strings.Contains(got[0].Summary, "assistant: one") {
			t.Errorf("the segments are %+v", got)
		}
		paired(t, model.Requests()[2])
	})
}

// TestRecalledEventsMatchLog checks that a cached conversation equals its log, also after rewinds and after the cache
// has expired.
func TestRecalledEventsMatchLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(agenttest.Say("one"), agenttest.Say("two"), agenttest.Say("three"),
			agenttest.Say("four"))
		r := newRig(t, model, nil, func(_ *agent.Assistant, o *agent.Options) { o.Recall = time.Minute })
		one := r.submit(agent.Turn{Text: "first"})
		r.read(one)
		synctest.Wait()
		r.must(one.Conversation, agent.Turn{Text: "second"})
		r.must(one.Conversation, agent.Turn{Regenerate: true})
		if got := sent(model, 2); strings.Contains(got, "two") || !strings.Contains(got, "one") {
			t.Errorf("asked again: %s", got)
		}
		time.Sleep(2 * time.Minute) // the cache has expired
		r.must(one.Conversation, agent.Turn{Text: "fourth"})
		if got := sent(model, 3); !strings.Contains(got, "three") || strings.Contains(got, "two") {
			t.Errorf("sent was %s", got)
		}
	})
}

// perMessage is a model whose calls cost 100 per message of the request. It calls a tool whenever tools are offered.
type perMessage struct{ asked []string }

func (*perMessage) MaxUse(req model.Request) (int64, footnote.Cost) {
	return 10, footnote.Cost{MicroUSD: int64(100*len(req.Messages) + 50)}
}

func (*perMessage) MinUse(req model.Request, grown int) (int64, footnote.Cost) {
	return 10, footnote.Cost{MicroUSD: int64(100*len(req.Messages) + grown/300)}
}

func (m *perMessage) Step(_ context.Context, req model.Request, _ model.Live) (model.Reply, error) {
	m.asked = append(m.asked, fmt.Sprintf("%d", len(req.Messages)))
	if req.NoTools || len(m.asked) > 2 {
		return say("A summary, or an answer."), nil
	}
	m.asked[len(m.asked)-1] += " with tools"
	return model.Reply{Message: footnote.AssistantMessage{
		Blocks: agenttest.Call("c", "run_query", `{}`).Blocks, StopReason: model.ToolUse,
	}}, nil
}

// TestReservationUsesSummarisedHistory asks a question that is too expensive with its whole history but not with the
// summary. It must be answered with tools, also if a call was lost with its process.
func TestReservationUsesSummarisedHistory(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost a call: %t", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, llm := sqlitetest.New(t), &perMessage{}
				longHistory(t, log, lost)
				r := &rig{t: t, hub: hub.New()}
				r.start([]tool.Tool{rows("run_query")}, func(a *agent.Assistant, o *agent.Options) {
					a.Model, a.Summaries, a.Limits.MicroUSD, a.Limits.History = llm, true, 3_000, 4
					o.Log = log
				})
				defer r.engine.Drain(context.Background())
				if err := r.engine.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				var last footnote.Body
				for ev := range log.Events(t.Context(), "conv_x", 0) {
					last = ev.Body
				}
				end, ok := last.(footnote.RunFinished)
				if asked := strings.Join(llm.asked, ", "); !ok || end.Reason != model.EndTurn ||
					asked != "1, 1 with tools, 3" {
					t.Errorf("asked with messages %s; ended with %T %+v", asked, last, last)
				}
			})
		})
	}
}

// longHistory stores a conversation of ten answered questions and one whose process died. With lost, it died during a
// model call.
func longHistory(t *testing.T, log store.Store, lost bool) {
	t.Helper()
	empty := footnote.DigestOf([]byte("[]"))
	bodies := []footnote.Body{footnote.Opened{Assistant: "analyst", Model: "m", System: empty, Tools: empty}}
	for i := range 10 {
		bodies = append(bodies, footnote.UserMessage{Text: fmt.Sprint("question ", i)},
			footnote.AssistantMessage{Step: 1, Blocks: agenttest.Say("An answer.").Blocks, StopReason: model.EndTurn})
	}
	head := footnote.Stream{ID: "conv_x", Kind: "conversation", Org: alice.Org, User: alice.User, Assistant: "analyst"}
	_, err := log.CreateAppend(t.Context(), head, footnote.Append{
		Stream: head.ID, Bodies: bodies, Blobs: map[footnote.Digest][]byte{empty: []byte("[]")},
	})
	if err != nil {
		t.Fatal(err)
	}
	begun := []footnote.Body{footnote.UserMessage{Text: "go"}, footnote.RunStarted{OnDisconnect: agent.Continue}}
	if lost {
		begun = append(begun, footnote.StepFailed{
			Step: 1, Attempt: 1, Code: footnote.ModelUnavailable, Cost: footnote.Cost{MicroUSD: 5}, Lost: true,
		})
	}
	_, err = log.Append(t.Context(), footnote.Append{
		Stream: head.ID, After: int64(len(bodies)), Run: "run_x", Bodies: begun,
	})
	if err != nil {
		t.Fatal(err)
	}
}
