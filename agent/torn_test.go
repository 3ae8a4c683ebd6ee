package agent_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

// repairs is a Metrics that counts repairs of torn logs.
type repairs struct{ runs, things int }

func (r *repairs) HistoryRepaired(n int)                                              { r.runs++; r.things += n }
func (*repairs) RunFailed(footnote.Code)                                              {}
func (*repairs) StepFailed(footnote.Code)                                             {}
func (*repairs) ConversationGrew(int, int64)                                          {}
func (*repairs) RunEnded(string, string, time.Duration)                               {}
func (*repairs) StepEnded(string, footnote.Usage, footnote.Cost, time.Duration, bool) {}
func (*repairs) ToolEnded(string, string, time.Duration)                              {}

// TestTornLogIsReported removes the result of a call and the text of a block from a log. The model must read the rest,
// and one error per run must be logged.
func TestTornLogIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		told := &repairs{}
		llm := agenttest.Script(agenttest.Say("one"), agenttest.Call("b", "run_query", `{}`), agenttest.Say("two"))
		r := newRig(t, llm, []tool.Tool{rows("run_query")}, func(_ *agent.Assistant, o *agent.Options) {
			o.Metrics, o.Logger = told, slog.New(slog.NewTextHandler(&said, nil))
		})
		one := r.submit(agent.Turn{Text: "first"})
		r.read(one)
		synctest.Wait()
		if told.runs != 0 {
			t.Errorf("repairs of an intact log: %+v", told)
		}
		head, err := r.log.Get(t.Context(), one.Conversation)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.log.Append(t.Context(),
			footnote.Append{Stream: head.ID, After: head.Last, Run: "run_torn", Bodies: []footnote.Body{
				footnote.UserMessage{Text: "lost"},
				footnote.AssistantMessage{
					Step: 1, Model: "m", StopReason: model.ToolUse,
					Blocks: []json.RawMessage{agenttest.CallBlock("x", "run_query", `{}`)},
				},
			}}); err != nil {
			t.Fatal(err)
		}
		r.must(one.Conversation, agent.Turn{Text: "second"})
		if told.runs != 1 || told.things != 1 || strings.Count(said.String(), "is torn") != 1 ||
			!strings.Contains(said.String(), one.Conversation) {
			t.Errorf("told %+v, and said %s", told, &said)
		}
		for _, want := range []string{"first", "one", "lost", "tool_use", "tool_result", "second"} {
			if !strings.Contains(sent(llm, 1), want) {
				t.Errorf("%s is not sent: %s", want, sent(llm, 1))
			}
		}
		paired(t, llm.Requests()[2])
	})
}
