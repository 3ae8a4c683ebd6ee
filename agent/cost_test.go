package agent_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/tool"
)

// TestCostNeedsAnApprovalOfItsOwn checks that a person who approved a call because of its tool is asked again when the
// call turns out to be costly, and that the first decision, sent again, does not count as the second.
func TestCostNeedsAnApprovalOfItsOwn(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				query := func(ctx context.Context, _ tool.Call) (tool.Output, error) {
					c := footnote.ClearanceOf(ctx)
					if !c.Given {
						c.Ask("It reads too much.")
						return tool.Fail("too much"), nil
					}
					ran++
					return tool.Output{Content: "rows"}, nil
				}
				tools := []tool.Tool{agenttest.NewTool(tool.Spec{Name: "query", ReadOnly: true}, query)}
				ask := func(a *agent.Assistant, _ *agent.Options) { a.Policy = agent.Policy{Ask: []string{"query"}} }
				r := newRig(t, agenttest.Script(agenttest.Call("a", "query", `{}`), agenttest.Say("Done.")), tools, ask)
				ticket := r.parked(agent.Turn{Text: "go"})
				first := approve("a", true, "")
				first.Approvals[0].ID = "appr_a"
				r.must(ticket.Conversation, first)
				synctest.Wait()
				if restart {
					r.restart(tools, ask)
				}
				if again, err := r.post(ticket.Conversation, first); err != nil || !again.Duplicate {
					t.Errorf("the first decision again: %+v, %v", again, err)
				}
				asked := bodies[footnote.ApprovalAsked](r, ticket.Conversation)
				if ran != 0 || len(asked) != 2 || asked[1].Reason == "" || asked[1].ApprovalID == asked[0].ApprovalID {
					t.Fatalf("it ran %d times; asked = %+v", ran, asked)
				}
				unnamed := approve("a", true, "")
				if _, err := r.post(ticket.Conversation, unnamed); footnote.CodeOf(err) != footnote.Conflict {
					t.Errorf("a decision that does not name its question: %v", err)
				}
				unnamed.Approvals[0].ID = asked[1].ApprovalID
				r.must(ticket.Conversation, unnamed)
				given := bodies[footnote.ApprovalGiven](r, ticket.Conversation)
				if ran != 1 || len(given) != 2 || given[1].ApprovalID != asked[1].ApprovalID {
					t.Errorf("it ran %d times; given = %+v", ran, given)
				}
			})
		})
	}
}
