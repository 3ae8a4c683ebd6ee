package agent_test

import (
	"context"
	"slices"
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

// recorder is a log that records which events were appended together.
type recorder struct {
	agent.Log
	appends []string
}

func (l *recorder) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	var kinds []string
	for _, b := range a.Bodies {
		kinds = append(kinds, footnote.KindOf(b))
	}
	l.appends = append(l.appends, strings.Join(kinds, " "))
	return l.Log.Append(ctx, a)
}

// TestEventsWrittenTogether checks that a quick call is appended together with its result, that a slow one is appended
// and shown while it runs, and that one that changes something is appended before it runs.
func TestEventsWrittenTogether(t *testing.T) {
	for name, test := range map[string]struct {
		takes    time.Duration
		readOnly bool
		want     []string
	}{
		"quick": {0, true, []string{"assistant_message tool_result", "assistant_message answered run_finished"}},
		"slow": {
			time.Minute, true, []string{"assistant_message", "tool_result", "assistant_message answered run_finished"},
		},
		"changes": {0, false, []string{"assistant_message", "tool_result", "assistant_message answered run_finished"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log recorder
				written := 0 // appends when the tool began, and had begun for a while
				tl := agenttest.NewTool(tool.Spec{
					Name:     "look",
					ReadOnly: test.readOnly,
				}, func(context.Context, tool.Call) (tool.Output, error) {
					time.Sleep(test.takes / 2)
					synctest.Wait()
					written = len(log.appends)
					time.Sleep(test.takes / 2)
					return tool.Output{Content: "42"}, nil
				})
				model := modelFunc(func(_ context.Context, req model.Request, _ model.Live) (model.Reply, error) {
					time.Sleep(time.Second) // what came before is written by then
					if len(req.Messages) > 1 {
						return say("It is 42."), nil
					}
					return model.Reply{
						Message: footnote.AssistantMessage{
							Blocks:     agenttest.Call("c1", "look", `{}`).Blocks,
							StopReason: model.ToolUse,
						},
					}, nil
				})
				r := newRig(t, nil, []tool.Tool{tl}, use(model), func(a *agent.Assistant, o *agent.Options) {
					log.Log = o.Log
					o.Log = &log
					a.Policy.Approve, a.Limits.Tool = []string{"*"}, time.Hour
				})
				ticket := r.submit(agent.Turn{Text: "How many?"})
				r.read(ticket)
				synctest.Wait()
				if results := bodies[footnote.ToolResult](r, ticket.Conversation); len(results) != 1 ||
					results[0].Content != "42" {
					t.Errorf("results %+v", results)
				}
				if !slices.Equal(log.appends, test.want) || written != len(test.want)-2 {
					t.Errorf("%d appends before the call, %q in all; want %q", written, log.appends, test.want)
				}
			})
		})
	}
}
