package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
)

// TestTheLogTellsWhatBecameOfStatements holds that the result of a call names its
// statements with their outcomes, also those that never ran.
func TestTheLogTellsWhatBecameOfStatements(t *testing.T) {
	run := agenttest.NewTool(agent.Spec{Name: "run_query", Side: agent.Server, ReadOnly: true}, func(ctx context.Context, c agent.Call) (agent.Output, error) {
		footnote.NoteStatement(ctx, footnote.Statement{SQL: "SELECT 2", Outcome: footnote.StatementRefused})
		return agent.Fail("no"), nil
	})
	quiet := agenttest.NewTool(agent.Spec{Name: "quiet", Side: agent.Server, ReadOnly: true}, func(context.Context, agent.Call) (agent.Output, error) {
		return agent.Output{Content: "1", Rows: &footnote.Result{Columns: []footnote.Column{{Name: "n"}}, Rows: [][]any{{int64(1)}}}, SQL: "SELECT 1", Source: "shop"}, nil
	})
	want := "t1: DROP TABLE x not_run 0;\nt2: SELECT 2 refused 0;\nt3: SELECT 1 executed 1;\nt4:\n"
	model := agenttest.Script(
		agenttest.Calls(agenttest.CallBlock("t1", "nobody", `{"sql":"DROP TABLE x"}`), agenttest.CallBlock("t2", "run_query", `{"sql":"SELECT 2"}`),
			agenttest.CallBlock("t3", "quiet", `{}`), agenttest.CallBlock("t4", "nobody", `{"query":"words"}`)),
		agenttest.Say("done"))
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, model, []agent.Tool{run, quiet})
		ticket := r.submit(agent.Turn{Text: "q"})
		r.read(ticket)
		if got := r.statements(ticket.Conversation); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// statements lists those of the calls of a conversation.
func (r *rig) statements(conversation string) string {
	var b strings.Builder
	for ev := range r.log.Events(context.Background(), conversation, 0) {
		res, ok := ev.Body.(footnote.ToolResult)
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "%s:", res.CallID)
		for _, s := range res.Statements {
			fmt.Fprintf(&b, " %s %s %d;", s.SQL, s.Outcome, s.RowCount)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestStatementsOfARunThatWasStopped holds that a statement which was running is told to
// be cancelled, and that one whose page never answered is, too.
func TestStatementsOfARunThatWasStopped(t *testing.T) {
	slow := agenttest.NewTool(agent.Spec{Name: "run_query", Side: agent.Server, ReadOnly: true}, func(ctx context.Context, c agent.Call) (agent.Output, error) {
		<-ctx.Done()
		footnote.NoteStatement(ctx, footnote.Statement{SQL: "SELECT 1", Outcome: footnote.StatementCancelled})
		return agent.Output{}, context.Cause(ctx)
	})
	for name, block := range map[string]string{"run_query": "SELECT 1", "in_page": "SELECT 1"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, agenttest.Script(agenttest.Call("t1", name, `{"sql":"`+block+`"}`)), []agent.Tool{slow, client("in_page")})
			ticket := r.submit(agent.Turn{Text: "q"})
			synctest.Wait()
			if err := r.engine.Stop(t.Context(), ticket.Conversation, "user"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got, want := r.statements(ticket.Conversation), "t1: SELECT 1 cancelled 0;\n"; got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		})
	}
}
