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
	"github.com/footnotehq/footnote/tool"
)

// TestLogHasStatementOutcomes checks that the result of a call lists its statements with their outcomes,
// including those that never ran.
func TestLogHasStatementOutcomes(t *testing.T) {
	run := agenttest.NewTool(tool.Spec{
		Name:     "run_query",
		Side:     tool.Server,
		ReadOnly: true,
	}, func(ctx context.Context, c tool.Call) (tool.Output, error) {
		footnote.NoteStatement(ctx, footnote.Statement{SQL: "SELECT 2", Outcome: footnote.StatementRefused})
		return tool.Fail("no"), nil
	})
	quiet := agenttest.NewTool(tool.Spec{
		Name:     "quiet",
		Side:     tool.Server,
		ReadOnly: true,
	}, func(context.Context, tool.Call) (tool.Output, error) {
		return tool.Output{
			Content: "1", Rows: &footnote.Result{Columns: []footnote.Column{{Name: "n"}}, Rows: [][]any{{int64(1)}}},
			SQL: "SELECT 1", Source: "shop",
		}, nil
	})
	want := "t1: DROP TABLE x not_run 0;\nt2: SELECT 2 refused 0;\nt3: SELECT 1 executed 1;\nt4:\n"
	model := agenttest.Script(
		agenttest.Calls(agenttest.CallBlock("t1", "nobody", `{"sql":"DROP TABLE x"}`),
			agenttest.CallBlock("t2", "run_query", `{"sql":"SELECT 2"}`),
			agenttest.CallBlock("t3", "quiet", `{}`), agenttest.CallBlock("t4", "nobody", `{"query":"words"}`)),
		agenttest.Say("done"))
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, model, []tool.Tool{run, quiet})
		ticket := r.submit(agent.Turn{Text: "q"})
		r.read(ticket)
		if got := r.statements(ticket.Conversation); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// statements lists the statements of a conversation's calls.
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

// TestStatementsOfStoppedRun checks that a statement counts as cancelled when it was still running, or when
// its page never answered.
func TestStatementsOfStoppedRun(t *testing.T) {
	slow := agenttest.NewTool(tool.Spec{
		Name:     "run_query",
		Side:     tool.Server,
		ReadOnly: true,
	}, func(ctx context.Context, c tool.Call) (tool.Output, error) {
		<-ctx.Done()
		footnote.NoteStatement(ctx, footnote.Statement{SQL: "SELECT 1", Outcome: footnote.StatementCancelled})
		return tool.Output{}, context.Cause(ctx)
	})
	for name, block := range map[string]string{"run_query": "SELECT 1", "in_page": "SELECT 1"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, agenttest.Script(agenttest.Call("t1", name, `{"sql":"`+block+`"}`)), []tool.Tool{
				slow, client("in_page"),
			})
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

// TestUnrunStatementsNameTheirSource checks that a statement is listed with the source that its call names, or
// with the only one.
func TestUnrunStatementsNameTheirSource(t *testing.T) {
	deaf := agenttest.NewTool(tool.Spec{
		Name:     "deaf",
		ReadOnly: true,
	}, func(ctx context.Context, _ tool.Call) (tool.Output, error) {
		<-ctx.Done()
		return tool.Output{}, context.Cause(ctx)
	})
	for _, c := range []struct {
		sources     []string
		input, want string
	}{
		{[]string{"shop"}, `{"sql":"S"}`, "shop"},
		{[]string{"shop", "crm"}, `{"sql":"S","source":"CRM"}`, "crm"},
		{[]string{"shop", "crm"}, `{"sql":"S"}`, ""},
		{[]string{"shop", "crm"}, `{"sql":"S","source":"none"}`, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			model := agenttest.Script(agenttest.Calls(agenttest.CallBlock("t1", "refused", c.input),
				agenttest.CallBlock("t2", "deaf", c.input)))
			refused := agenttest.NewTool(tool.Spec{Name: "refused", ReadOnly: true}, nil)
			r := newRig(t, model, []tool.Tool{refused, deaf}, func(a *agent.Assistant, o *agent.Options) {
				a.Policy.Deny = []string{"refused"}
				opening := a.Opening
				a.Opening = func(ctx context.Context, p footnote.Principal,
					names []string) (agent.Opening, error) {
					o, err := opening(ctx, p, names)
					o.Sources = c.sources
					return o, err
				}
			})
			ticket := r.submit(agent.Turn{Text: "q"})
			synctest.Wait()
			if err := r.engine.Stop(t.Context(), ticket.Conversation, "user"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			results := bodies[footnote.ToolResult](r, ticket.Conversation)
			if len(results) != 2 {
				t.Fatalf("%d results", len(results))
			}
			for _, res := range results {
				if len(res.Statements) != 1 || res.Statements[0].Source != c.want {
					t.Errorf("%s of %v: %s %+v, want the source %q", c.input, c.sources, res.Name, res.Statements,
						c.want)
				}
			}
		})
	}
}

// TestPageReportsStatementOutcomes checks that the log has the outcomes of statements as the page reports
// them, and that pages which report none keep working.
func TestPageReportsStatementOutcomes(t *testing.T) {
	type statement = footnote.Statement
	told := func(list ...statement) []statement { return append([]statement{}, list...) }
	for name, c := range map[string]struct {
		input  string
		answer tool.Answer
		want   string
	}{
		"refused by the page": {
			`{"sql":"DROP TABLE t"}`,
			tool.Answer{
				Content:    "no",
				IsError:    true,
				Statements: told(statement{SQL: "DROP TABLE t", Outcome: "refused"}),
			},
			"DROP TABLE t refused 0 [];",
		},
		"statistics that failed": {
			`{"table":"t","column":"x"}`,
			tool.Answer{
				Content:    "no",
				IsError:    true,
				Statements: told(statement{SQL: "SUMMARIZE t", Outcome: "failed"}),
			},
			"SUMMARIZE t failed 0 [];",
		},
		"a query that ran": {
			`{"sql":"SELECT 1"}`,
			tool.Answer{Rows: table(2), RowCount: 7, Statements: told(statement{SQL: "SELECT 1", Outcome: "executed"})},
			"SELECT 1 executed 7 [city n];",
		},
		"a transform that computed a query again": {
			`{"code":"rows"}`,
			tool.Answer{Rows: table(2), Statements: told(statement{SQL: "SELECT 1", Outcome: "executed", RowCount: 3})},
			"SELECT 1 executed 3 [];",
		},
		"no statement tried": {
			`{"sql":"SELECT 1"}`, tool.Answer{
				Content:    "no",
				IsError:    true,
				Statements: told(),
			}, "SELECT 1 not_run 0 [];",
		},
		"another statement than the call's": {
			`{"sql":"SELECT 1"}`,
			tool.Answer{
				Content:    "no",
				IsError:    true,
				Statements: told(statement{SQL: "SELECT 2", Outcome: "executed"}),
			},
			"SELECT 2 executed 0 []; SELECT 1 not_run 0 [];",
		},
		"an old page that failed": {
			`{"sql":"SELECT 1"}`, tool.Answer{Content: "no", IsError: true}, "SELECT 1 failed 0 [];",
		},
		"an old page with rows": {
			`{"sql":"SELECT 1"}`, tool.Answer{Rows: table(2)}, "SELECT 1 executed 2 [city n];",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			model := agenttest.Script(agenttest.Call("a", "in_page", c.input), agenttest.Say("ok"))
			r := newRig(t, model, []tool.Tool{client("in_page")})
			ticket := r.parked(agent.Turn{Text: "go"})
			c.answer.CallID = "a"
			r.must(ticket.Conversation, agent.Turn{Answers: []tool.Answer{c.answer}})
			again, err := r.post(ticket.Conversation, agent.Turn{Answers: []tool.Answer{c.answer}})
			if err != nil || !again.Duplicate {
				t.Errorf("%s: the same answer again: %+v, %v", name, again, err)
			}
			var got []string
			for _, st := range bodies[footnote.ToolResult](r, ticket.Conversation)[0].Statements {
				if st.Source != "client" || !st.InBrowser {
					t.Errorf("%s: %+v is not marked as the browser's", name, st)
				}
				got = append(got, fmt.Sprintf("%s %s %d %v;", st.SQL, st.Outcome, st.RowCount, st.Columns))
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("%s: got %s want %s", name, got, c.want)
			}
		})
	}
}
