package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/tool"
)

// database is a tool whose statements behave as their text says.
func database(ctx context.Context, c tool.Call) (tool.Output, error) {
	var in struct{ SQL string }
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return tool.Output{}, err
	}
	rows := &footnote.Result{Columns: []footnote.Column{{Name: "n"}}, Rows: [][]any{{int64(1)}}}
	out := tool.Output{Content: "1", Rows: rows, SQL: in.SQL, Source: "shop"}
	how, silent := strings.CutPrefix(in.SQL, "silent ")
	ended := func(footnote.Statement) {}
	if !silent {
		ended = footnote.BeginStatement(ctx, footnote.Statement{SQL: in.SQL})
	}
	switch how {
	case "ignores its context":
		time.Sleep(10 * time.Second)
		ended(footnote.Statement{SQL: in.SQL, Outcome: footnote.StatementExecuted})
		return out, nil
	case "waits":
		<-ctx.Done()
		outcome := footnote.StatementCancelled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			outcome = footnote.StatementTimedOut
		}
		ended(footnote.Statement{SQL: in.SQL, Outcome: outcome})
		return tool.Output{}, context.Cause(ctx)
	case "panics":
		panic("a driver's mistake")
	case "is refused":
		out := tool.Fail("no")
		out.Fault = footnote.FaultRefused
		return out, nil
	case "breaks":
		return tool.Output{}, errors.New("unreachable")
	case "is cached":
		out.CacheHit = true
		ended(footnote.Statement{SQL: in.SQL, Outcome: footnote.StatementCached})
		return out, nil
	}
	ended(footnote.Statement{SQL: in.SQL, Outcome: footnote.StatementExecuted})
	return out, nil
}

// databases are tools that run on the server or in the page, with and without an approval.
func databases() []tool.Tool {
	return []tool.Tool{
		agenttest.NewTool(tool.Spec{
			Name: "read", ReadOnly: true, Timeout: time.Second,
			Aliases: map[string]map[string]string{"read_query": {"query": "sql"}},
		}, database),
		agenttest.NewTool(tool.Spec{Name: "write"}, database),
		client("in_page"),
		agenttest.NewTool(tool.Spec{Name: "page_write", Side: tool.Client}, database),
	}
}

// calling returns a message of the model with one call per entry, written as "tool: statement".
func calling(calls ...string) agenttest.Reply {
	var blocks []json.RawMessage
	for i, c := range calls {
		tool, sql, _ := strings.Cut(c, ": ")
		key := "sql"
		if tool == "read_query" {
			key = "query"
		}
		blocks = append(blocks, agenttest.CallBlock(fmt.Sprint("c", i+1), tool, fmt.Sprintf(`{%q:%q}`, key, sql)))
	}
	return agenttest.Calls(blocks...)
}

// TestStatementOutcomes covers the ways in which a call gets a result without running, or runs without a result. It
// checks the outcomes of the statements in the audit.
func TestStatementOutcomes(t *testing.T) {
	type act = func(r *rig, conversation string)
	stop := func(r *rig, id string) {
		if err := r.engine.Stop(r.t.Context(), id, "user"); err != nil {
			r.t.Fatal(err)
		}
	}
	goOn := func(r *rig, id string) { r.must(id, agent.Turn{Text: "more"}) }
	deadline := func(*rig, string) { time.Sleep(10 * time.Minute) } // Limits.Park is five
	approve := func(calls ...string) act {
		return func(r *rig, id string) {
			var list []agent.Approval
			for _, c := range calls {
				list = append(list, agent.Approval{CallID: c, Approved: true})
			}
			r.must(id, agent.Turn{Approvals: list})
		}
	}
	decline := func(r *rig, id string) { r.must(id, agent.Turn{Approvals: []agent.Approval{{CallID: "c1"}}}) }
	answer := func(a tool.Answer) act {
		a.CallID = "c1"
		return func(r *rig, id string) { r.must(id, agent.Turn{Answers: []tool.Answer{a}}) }
	}
	for name, c := range map[string]struct {
		calls  []string
		change func(*agent.Assistant, *agent.Options)
		acts   []act
		want   string
	}{
		"runs":                  {calls: []string{"read: runs"}, want: "runs executed"},
		"not recorded":          {calls: []string{"read: silent runs"}, want: "silent runs executed"},
		"cached":                {calls: []string{"read: is cached"}, want: "is cached cached"},
		"cached, not recorded":  {calls: []string{"read: silent is cached"}, want: "silent is cached cached"},
		"refused, not recorded": {calls: []string{"read: silent is refused"}, want: "silent is refused refused"},
		"no such tool":          {calls: []string{"nobody: x"}, want: "x not_run"},
		"not valid": {
			calls: []string{"read: x"},
			change: func(_ *agent.Assistant, o *agent.Options) {
				o.Validate = func(string, []byte) error { return errors.New("no") }
			},
			want: "x not_run",
		},
		"denied": {
			calls:  []string{"read: x"},
			change: func(a *agent.Assistant, _ *agent.Options) { a.Policy.Deny = []string{"read"} },
			want:   "x not_run",
		},

		// The tool does not answer.
		"ignores its context": {
			calls: []string{"read: ignores its context"},
			want:  "ignores its context timed_out",
		},
		"ignores it, noted nowhere": {
			calls: []string{"read: silent ignores its context"},
			want:  "silent ignores its context timed_out",
		},
		"under an alias": {
			calls: []string{"read_query: ignores its context"},
			want:  "ignores its context timed_out",
		},
		"times out":                   {calls: []string{"read: waits"}, want: "waits timed_out"},
		"times out, without a record": {calls: []string{"read: silent waits"}, want: "silent waits timed_out"},
		"panics":                      {calls: []string{"read: panics"}, want: "panics failed"},
		"panics, not recorded":        {calls: []string{"read: silent panics"}, want: "silent panics failed"},
		"breaks the run":              {calls: []string{"read: breaks"}, want: "breaks failed"},
		"breaks, without a record":    {calls: []string{"read: silent breaks"}, want: "silent breaks failed"},
		"beside others": {
			calls: []string{"read: runs", "read: ignores its context", "read: is cached"},
			want:  "runs executed, ignores its context timed_out, is cached cached",
		},
		"beside a call that breaks": {
			calls: []string{"read: runs", "read: breaks", "write: x"},
			want:  "runs executed, breaks failed, x not_run",
		},
		"after a call that needs approval": {
			calls: []string{"write: x", "read: runs"},
			acts:  []act{approve("c1")},
			want:  "runs executed, x executed",
		},

		// A person decides, or does not.
		"approved":                 {calls: []string{"write: x"}, acts: []act{approve("c1")}, want: "x executed"},
		"declined":                 {calls: []string{"write: x"}, acts: []act{decline}, want: "x not_run"},
		"stopped, not approved":    {calls: []string{"write: x"}, acts: []act{stop}, want: "x not_run"},
		"superseded, not approved": {calls: []string{"write: x"}, acts: []act{goOn}, want: "x not_run"},
		"too late to approve":      {calls: []string{"write: x"}, acts: []act{deadline}, want: "x not_run"},
		"page, not approved":       {calls: []string{"page_write: x"}, acts: []act{stop}, want: "x not_run"},
		"page, declined":           {calls: []string{"page_write: x"}, acts: []act{decline}, want: "x not_run"},
		"page, approved, stopped": {
			calls: []string{"page_write: x"},
			acts:  []act{approve("c1"), stop},
			want:  "x cancelled",
		},
		"one approved, then stopped": {
			calls: []string{"write: x", "write: y"},
			acts:  []act{approve("c1"), stop},
			want:  "x not_run, y not_run",
		},
		"one approved, then superseded": {
			calls: []string{"write: x", "write: y"},
			acts:  []act{approve("c1"), goOn},
			want:  "x not_run, y not_run",
		},
		"one approved in time": {
			calls: []string{"write: x", "write: y"},
			acts:  []act{approve("c1"), deadline},
			want:  "y not_run, x executed",
		},

		// The page answers, or does not.
		"page, stopped":    {calls: []string{"in_page: x"}, acts: []act{stop}, want: "x cancelled"},
		"page, superseded": {calls: []string{"in_page: x"}, acts: []act{goOn}, want: "x cancelled"},
		"page, too late":   {calls: []string{"in_page: x"}, acts: []act{deadline}, want: "x timed_out"},
		"page, an error": {
			calls: []string{"in_page: x"},
			acts:  []act{answer(tool.Answer{Content: "no", IsError: true})},
			want:  "x failed",
		},
		"page, tried others": {
			calls: []string{"in_page: x"},
			acts: []act{
				answer(tool.Answer{
					Content:    "no",
					IsError:    true,
					Statements: []footnote.Statement{{SQL: "y", Outcome: "failed"}},
				}),
			},
			want: "y failed, x not_run",
		},

		// The run ends meanwhile.
		"stopped": {calls: []string{"read: waits"}, acts: []act{stop}, want: "waits cancelled"},
		"stopped, noted nowhere": {
			calls: []string{"read: silent waits"},
			acts:  []act{stop},
			want:  "silent waits cancelled",
		},
		"stopped, the tool does not notice": {
			calls: []string{"read: ignores its context"},
			acts:  []act{stop},
			want:  "ignores its context cancelled",
		},
		"stopped while queued": {
			calls:  []string{"read: waits", "read: x"},
			change: func(a *agent.Assistant, _ *agent.Options) { a.Limits.Parallel = 1 },
			acts:   []act{stop}, want: "waits cancelled, x not_run",
		},
		"the run's time is over": {
			calls:  []string{"read: silent ignores its context"},
			change: func(a *agent.Assistant, _ *agent.Options) { a.Limits.Run = 500 * time.Millisecond },
			want:   "silent ignores its context timed_out",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				change := c.change
				if change == nil {
					change = func(*agent.Assistant, *agent.Options) {}
				}
				r := newRig(t, agenttest.Script(calling(c.calls...), agenttest.Say("one"), agenttest.Say("two")),
					databases(), change)
				ticket := r.submit(agent.Turn{Text: "q", OnDisconnect: agent.Continue})
				synctest.Wait()
				for _, f := range c.acts {
					f(r, ticket.Conversation)
					synctest.Wait()
				}
				time.Sleep(20 * time.Second) // every abandoned tool has ended
				synctest.Wait()
				if got := audited(t, r, ticket); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		})
	}
}

// audited returns the statements of a run with their outcomes, as the audit has them.
func audited(t *testing.T, r *rig, ticket agent.Ticket) string {
	t.Helper()
	var events []footnote.Event
	for ev, err := range r.log.Events(context.Background(), ticket.Conversation, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Run == ticket.Run {
			events = append(events, ev)
		}
	}
	e := audit.Describe(events, false)
	if e.Outcome == "" || len(e.Queries) != len(e.Results) {
		t.Errorf("the run ended %q, with %d statements and %d outcomes", e.Outcome, len(e.Queries), len(e.Results))
	}
	var list []string
	for i, q := range e.Queries {
		list = append(list, q+" "+e.Results[i].Outcome)
	}
	return strings.Join(list, ", ")
}

// TestStatementOutcomesAfterCrash does the same for the calls of a killed process. Calls that it may have made count as
// cancelled, unless another process repeats them.
func TestStatementOutcomesAfterCrash(t *testing.T) {
	asked := footnote.ApprovalAsked{ApprovalID: "appr_c1", CallID: "c1"}
	given := func(approved bool) footnote.ApprovalGiven {
		return footnote.ApprovalGiven{ApprovalID: "appr_c1", CallID: "c1", Approved: approved}
	}
	stop := func(r *rig, id string) {
		if err := r.engine.Stop(r.t.Context(), id, "user"); err != nil {
			r.t.Fatal(err)
		}
	}
	deadline := func(*rig, string) { time.Sleep(10 * time.Minute) } // Limits.Park is five
	for name, c := range map[string]struct {
		policy string
		call   string
		log    []footnote.Body // after the call
		deny   string
		act    func(*rig, string)
		want   string
	}{
		"given up":                 {policy: agent.Cancel, call: "read: x", want: "x cancelled"},
		"given up, under an alias": {policy: agent.Cancel, call: "read_query: x", want: "x cancelled"},
		"given up, asked for": {
			policy: agent.Cancel, call: "write: x", log: []footnote.Body{asked}, want: "x not_run",
		},
		"given up, declined": {
			policy: agent.Cancel, call: "write: x", log: []footnote.Body{asked, given(false)}, want: "x not_run",
		},
		"given up, approved": {
			policy: agent.Cancel, call: "write: x", log: []footnote.Body{asked, given(true)}, want: "x cancelled",
		},
		"made again": {policy: agent.Continue, call: "read: runs", want: "runs executed"},
		"made again, and stopped": {
			policy: agent.Continue, call: "read: waits", act: stop, want: "waits cancelled",
		},
		"not made again": {
			policy: agent.Continue, call: "write: x", log: []footnote.Body{asked, given(true)}, want: "x cancelled",
		},
		"no longer allowed": {policy: agent.Continue, call: "read: x", deny: "read", want: "x cancelled"},
		"no longer allowed, asked for": {
			policy: agent.Continue, call: "write: x", log: []footnote.Body{asked}, deny: "write", want: "x not_run",
		},
		"declined": {
			policy: agent.Continue, call: "write: x", log: []footnote.Body{asked, given(false)}, want: "x not_run",
		},
		"never approved": {
			policy: agent.Continue, call: "write: x", log: []footnote.Body{asked}, act: deadline, want: "x not_run",
		},
		"never asked for, and stopped": {policy: agent.Continue, call: "write: x", act: stop, want: "x not_run"},
		"in a page, stopped":           {policy: agent.Continue, call: "in_page: x", act: stop, want: "x cancelled"},
		"in a page, unanswered": {
			policy: agent.Continue, call: "in_page: x", act: deadline, want: "x timed_out",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, agenttest.Script(agenttest.Say("one")), databases(),
					func(a *agent.Assistant, _ *agent.Options) {
						if c.deny != "" {
							a.Policy.Deny = []string{c.deny}
						}
					})
				id := crashed(t, r, c.policy, 0, calling(c.call).Blocks...)
				if c.log != nil {
					at := footnote.Append{Stream: id, After: r.last(id), Run: "run_1", Bodies: c.log}
					if _, err := r.log.Append(t.Context(), at); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.engine.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if c.act != nil {
					c.act(r, id)
				}
				synctest.Wait()
				if got := audited(t, r, agent.Ticket{Conversation: id, Run: "run_1"}); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		})
	}
}

// TestLogLinesHaveIDs checks that each line about a run has the ids of its conversation, its run and its request.
func TestLogLinesHaveIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		spec := func(name string) tool.Spec {
			return tool.Spec{Name: name, InputSchema: json.RawMessage(`{}`), Side: tool.Server, ReadOnly: true}
		}
		model := agenttest.Script(agenttest.Call("a", "echo", `{}`), agenttest.Call("b", "panics", `{}`), agenttest.Say("42"))
		tools := []tool.Tool{
			agenttest.NewTool(spec("echo"), func(context.Context, tool.Call) (tool.Output, error) {
				return tool.Output{Content: "1", CacheHit: true}, nil
			}),
			agenttest.NewTool(spec("panics"), func(context.Context, tool.Call) (tool.Output, error) {
				panic("broken")
			}),
		}
		r := newRig(t, model, tools, func(_ *agent.Assistant, o *agent.Options) {
			o.Logger = slog.New(slog.NewTextHandler(&out, nil))
		})
		ticket := r.submit(agent.Turn{Text: "how many?", RequestID: "req_1"})
		r.read(ticket)
		synctest.Wait()
		ids := "conversation=" + ticket.Conversation + " run=" + ticket.Run + " request=req_1"
		for line := range strings.Lines(out.String()) {
			if !strings.Contains(line, ids) {
				t.Errorf("without its ids: %s", line)
			}
		}
		for _, want := range []string{"cache_hit=true", "tool panicked", "run ended"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log has no %q:\n%s", want, &out)
			}
		}
	})
}
