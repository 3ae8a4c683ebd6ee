package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/tool"
)

// post sends a turn for a conversation; the ticket's reader is closed.
func (r *rig) post(conversation string, t agent.Turn) (agent.Ticket, error) {
	r.t.Helper()
	t.Conversation, t.Principal = conversation, alice
	ticket, err := r.engine.Submit(context.Background(), t)
	if err == nil {
		r.engine.Subscribe(ticket).Close()
	}
	return ticket, err
}

// must is post for a turn that must be accepted and not be a duplicate.
func (r *rig) must(conversation string, t agent.Turn) {
	r.t.Helper()
	if ticket, err := r.post(conversation, t); err != nil || ticket.Duplicate {
		r.t.Fatalf("duplicate %v, %v", ticket.Duplicate, err)
	}
	synctest.Wait()
}

// refused checks that a turn is refused with a code and stores nothing.
func (r *rig) refused(what, conversation string, want footnote.Code, t agent.Turn) {
	r.t.Helper()
	before := r.last(conversation)
	if conversation == "" && t.Edit != 0 {
		t.ClientID = "nowhere"
	}
	if _, err := r.post(conversation, t); footnote.CodeOf(err) != want {
		r.t.Errorf("%s: CodeOf(%v), want %s", what, err, want)
	}
	synctest.Wait()
	if after := r.last(conversation); after != before && want != footnote.CallClosed {
		r.t.Errorf("%s: events up to %d were written", what, after)
	}
}

func (r *rig) last(conversation string) int64 {
	if conversation == "" {
		return 0
	}
	head, err := r.log.Get(context.Background(), conversation)
	if err != nil {
		r.t.Fatal(err)
	}
	return head.Last
}

// kinds returns the kinds of a conversation's events after a sequence.
func (r *rig) kinds(conversation string, after int64) string {
	var kinds []string
	for ev := range r.log.Events(context.Background(), conversation, after) {
		kinds = append(kinds, footnote.KindOf(ev.Body))
	}
	return strings.Join(kinds, " ")
}

// parked submits a message whose run parks.
func (r *rig) parked(t agent.Turn) agent.Ticket {
	r.t.Helper()
	ticket := r.submit(t)
	if _, last := r.read(ticket); footnote.KindOf(last) != "run_parked" {
		r.t.Fatalf("last = %+v", last)
	}
	synctest.Wait()
	return ticket
}

// restart replaces the engine by a new one over the same log, as a new process would.
func (r *rig) restart(tools []tool.Tool, change ...func(*agent.Assistant, *agent.Options)) {
	old := r.engine
	r.hub = hub.New()
	r.start(tools, change...)
	r.t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		old.Drain(now)
	})
}

func answer(id, content string) agent.Turn {
	return agent.Turn{Answers: []tool.Answer{{CallID: id, Content: content}}}
}

func approve(id string, yes bool, reason string) agent.Turn {
	return agent.Turn{Approvals: []agent.Approval{{CallID: id, Approved: yes, Reason: reason}}}
}

// counted returns a tool that is not read-only and records the inputs of its calls.
func counted(name string, calls *[]string) tool.Tool {
	return agenttest.NewTool(tool.Spec{Name: name}, func(_ context.Context, c tool.Call) (tool.Output, error) {
		*calls = append(*calls, string(c.Input))
		return tool.Output{Content: name + " done"}, nil
	})
}

func TestApprovedCallRunsOnceWithStoredInput(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []string
				tools := []tool.Tool{counted("Bash", &calls)}
				model := agenttest.Script(agenttest.Call("a", "Bash", `{"run":"make"}`), agenttest.Say("It is built."))
				r := newRig(t, model, tools)
				ticket := r.parked(agent.Turn{Text: "build it"})
				if len(calls) != 0 {
					t.Fatal("it ran before it was approved")
				}
				if restart {
					r.restart(tools)
				}
				r.refused("an invented call", ticket.Conversation, footnote.CallUnknown, approve("zzz", true, ""))
				r.refused("an output for it", ticket.Conversation, footnote.CallUnknown, answer("a", "built"))
				r.must(ticket.Conversation, approve("a", true, "go on"))
				if fmt.Sprint(calls) != `[{"run":"make"}]` || r.terminals(ticket.Conversation) != 1 {
					t.Errorf("calls %v, %d terminals", calls, r.terminals(ticket.Conversation))
				}
				if again, err := r.post(ticket.Conversation, approve("a", true, "")); err != nil || !again.Duplicate ||
					again.Run != ticket.Run {
					t.Errorf("the same again: %+v, %v; the run was %s", again, err, ticket.Run)
				}
				r.refused("no after yes", ticket.Conversation, footnote.CallAnswered, approve("a", false, ""))
				given := bodies[footnote.ApprovalGiven](r, ticket.Conversation)
				if len(given) != 1 || given[0].User != "alice" || given[0].Reason != "go on" {
					t.Errorf("given = %+v", given)
				}
			})
		})
	}
}

func TestDeniedCallTellsModelReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		model := agenttest.Script(agenttest.Call("a", "Bash", `{}`), agenttest.Say("Then not."))
		r := newRig(t, model, []tool.Tool{counted("Bash", &calls)})
		ticket := r.parked(agent.Turn{Text: "go"})
		r.must(ticket.Conversation, approve("a", false, "too risky"))
		res := bodies[footnote.ToolResult](r, ticket.Conversation)
		if len(calls) != 0 || len(res) != 1 || res[0].Content != "The user declined: too risky" || !res[0].IsError ||
			res[0].By != "user" {
			t.Errorf("calls %v, results %+v", calls, res)
		}
	})
}

func TestAlwaysApprovalScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		tools := []tool.Tool{counted("Bash", &calls), counted("Write", &calls)}
		model := agenttest.Script(
			agenttest.Calls(agenttest.CallBlock("a", "Bash", `{"n":1}`), agenttest.CallBlock("b", "Bash", `{"n":2}`)),
			agenttest.Call("c", "Bash", `{"n":3}`), agenttest.Say("one"),
			agenttest.Call("d", "Bash", `{"n":4}`), agenttest.Call("e", "Write", `{"n":5}`), agenttest.Say("two"),
			agenttest.Call("f", "Bash", `{"n":6}`), agenttest.Say("three"))
		r := newRig(t, model, tools)
		ticket := r.parked(agent.Turn{Text: "go"})
		r.must(ticket.Conversation, agent.Turn{
			Approvals: []agent.Approval{{CallID: "a", Approved: true, Always: true}},
		})
		if len(calls) != 3 || r.terminals(ticket.Conversation) != 1 {
			t.Fatalf("calls %v, %s", calls, r.kinds(ticket.Conversation, 0))
		}
		r.restart(tools)
		next := r.parked(agent.Turn{Conversation: ticket.Conversation, Text: "and now"})
		if fmt.Sprint(calls[3:]) != `[{"n":4}]` {
			t.Fatalf("another tool must still ask: %v", calls)
		}
		r.must(next.Conversation, approve("e", true, ""))
		// Rewinding a message also revokes the approvals given after it.
		r.refusedRewinds(ticket.Conversation)
		first := r.messages(ticket.Conversation)[0]
		edited := r.parked(agent.Turn{Conversation: ticket.Conversation, Edit: first, Text: "anew"})
		if len(calls) != 5 {
			t.Errorf("calls %v", calls)
		}
		r.must(edited.Conversation, approve("f", true, ""))
	})
}

// refusedRewinds checks that only messages can be edited.
func (r *rig) refusedRewinds(conversation string) {
	r.t.Helper()
	for _, seq := range []int64{-1, 1, 4, 1000} {
		r.refused(fmt.Sprintf("an edit of event %d", seq), conversation, footnote.InvalidRequest, agent.Turn{
			Edit: seq,
			Text: "x",
		})
	}
}

// messages returns the sequences of the user's messages.
func (r *rig) messages(conversation string) (seqs []int64) {
	for ev := range r.log.Events(context.Background(), conversation, 0) {
		if m, ok := ev.Body.(footnote.UserMessage); ok && m.Text != "" {
			seqs = append(seqs, ev.Seq)
		}
	}
	return seqs
}

func TestUnattendedRunNeverParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		question := agenttest.NewTool(tool.Spec{
			Name: "ask_user", Side: tool.Client, Family: tool.Question, ReadOnly: true,
		}, nil)
		var calls []string
		model := agenttest.Script(agenttest.Calls(
			agenttest.CallBlock("a", "ask_user", `{}`), agenttest.CallBlock("b", "draw", `{}`),
			agenttest.CallBlock("c", "Bash", `{}`)), agenttest.Say("ok"))
		r := newRig(t, model, []tool.Tool{question, client("draw"), counted("Bash", &calls)})
		ticket := r.submit(agent.Turn{Text: "go", Unattended: true})
		if _, last := r.read(ticket); footnote.KindOf(last) != "run_finished" || len(calls) != 0 {
			t.Fatalf("last = %+v, calls %v", last, calls)
		}
		if asked := bodies[footnote.ApprovalAsked](r, ticket.Conversation); asked != nil {
			t.Errorf("an approval was requested: %+v", asked)
		}
		for i, want := range []string{"assumed", "no page is open", "no one can do so"} {
			if res := bodies[footnote.ToolResult](r, ticket.Conversation)[i]; !res.IsError ||
				!strings.Contains(res.Content, want) {
				t.Errorf("result %d = %+v, want %q", i, res, want)
			}
		}
	})
}

func TestCallClosesAtDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(agenttest.Calls(agenttest.CallBlock("a", "draw", `{}`),
			agenttest.CallBlock("b", "draw", `{}`)), agenttest.Say("One is there."))
		r := newRig(t, model, []tool.Tool{
			client("draw"),
		}, func(a *agent.Assistant, _ *agent.Options) { a.Limits.Park = time.Minute })
		ticket := r.parked(agent.Turn{Text: "draw two"})
		time.Sleep(30 * time.Second)
		r.must(ticket.Conversation, answer("b", "drawn"))
		time.Sleep(30*time.Second - time.Millisecond)
		if n := r.terminals(ticket.Conversation); n != 0 {
			t.Fatalf("%d terminals before the deadline", n)
		}
		time.Sleep(time.Millisecond) // the deadline has passed; no engine has checked it yet
		r.refused("a late answer", ticket.Conversation, footnote.CallClosed, answer("a", "drawn"))
		synctest.Wait()
		r.refused("a later answer", ticket.Conversation, footnote.CallClosed, answer("a", "drawn"))
		if again, err := r.post(ticket.Conversation, answer("b", "drawn")); err != nil || !again.Duplicate {
			t.Errorf("the answer that came in time: %+v, %v", again, err)
		}
		res := bodies[footnote.ToolResult](r, ticket.Conversation)
		if len(res) != 2 || !strings.Contains(res[1].Content, "not answered in time") ||
			r.terminals(ticket.Conversation) != 1 {
			t.Errorf("results %+v, %s", res, r.kinds(ticket.Conversation, 0))
		}
	})
}

func TestApprovalClosesAtDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		model := agenttest.Script(agenttest.Call("a", "Bash", `{}`), agenttest.Say("Nobody was there."))
		r := newRig(t, model, []tool.Tool{counted("Bash", &calls)})
		ticket := r.parked(agent.Turn{Text: "go"})
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		r.refused("a late yes", ticket.Conversation, footnote.CallClosed, approve("a", true, ""))
		if len(calls) != 0 || r.terminals(ticket.Conversation) != 1 {
			t.Errorf("calls %v, %d terminals", calls, r.terminals(ticket.Conversation))
		}
	})
}

// table returns a result with n rows.
func table(n int) *footnote.Result {
	res := &footnote.Result{
		Columns: []footnote.Column{{Name: "city", Kind: footnote.KindText}, {Name: "n", Kind: footnote.KindInteger}},
	}
	for i := range n {
		res.Rows = append(res.Rows, []any{fmt.Sprintf("city %d", i), int64(i)})
	}
	return res
}

func TestClientRowsReadLikeServerRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := func(id string) json.RawMessage { return agenttest.CallBlock(id, "run_query", `{"sql":"select 1"}`) }
		model := agenttest.Script(agenttest.Calls(call("a"), call("b"), call("c"), call("d")), agenttest.Say("ok"))
		r := newRig(t, model, []tool.Tool{client("run_query")})
		ticket := r.parked(agent.Turn{Text: "go"})
		long := strings.Repeat("x", 60_000)
		r.must(ticket.Conversation, agent.Turn{Answers: []tool.Answer{
			{CallID: "a", Content: "ignored", Rows: table(1000), RowCount: 5},
			{CallID: "b", Rows: table(0), RowCount: 200_000, SQL: "select 2"},
			{CallID: "c", Content: long},
			{CallID: "d", Content: "no such column", IsError: true, Rows: table(1)},
		}})
		res := bodies[footnote.ToolResult](r, ticket.Conversation)
		var got [4]struct {
			Result    string  `json:"result"`
			Rows      [][]any `json:"rows"`
			RowCount  int     `json:"row_count"`
			Truncated bool    `json:"truncated"`
			Note      string  `json:"note"`
		}
		for i := range 2 {
			if err := json.Unmarshal([]byte(res[i].Content), &got[i]); err != nil {
				t.Fatalf("%s: %v", res[i].Content, err)
			}
		}
		if g := got[0]; g.Result != "r1" || len(g.Rows) != 200 || g.RowCount != 1000 || !g.Truncated ||
			!strings.Contains(g.Note, "first 200 of 1000") {
			t.Errorf("a was read as %d rows of %d, truncated %v, %q", len(g.Rows), g.RowCount, g.Truncated, g.Note)
		}
		if g := got[1]; g.Result != "r2" || len(g.Rows) != 0 || g.RowCount != 200_000 || !g.Truncated ||
			!strings.Contains(g.Note, "private") {
			t.Errorf("b was read as %+v", g)
		}
		if s := res[0].Result; s.SQL != "select 1" || s.RowCount != 1000 || s.Kept() != 1000 || s.Truncated {
			t.Errorf("a is stored as %+v", s)
		}
		if s := res[1].Result; s.SQL != "select 2" || s.RowCount != 200_000 || s.Kept() != 0 || !s.Truncated ||
			len(s.Columns) != 2 {
			t.Errorf("b is stored as %+v", s)
		}
		if c := res[2].Content; len(c) > 50_200 || !strings.Contains(c, "truncated") {
			t.Errorf("c has %d bytes, and ends in %q", len(c), c[len(c)-80:])
		}
		if d := res[3]; d.Result != nil || d.Content != "no such column" || !d.IsError {
			t.Errorf("d = %+v", d)
		}
		// The same rows again are the same answer; others are not.
		if again, err := r.post(ticket.Conversation, agent.Turn{
			Answers: []tool.Answer{{CallID: "b", Rows: table(0), RowCount: 200_000, SQL: "select 2"}},
		}); err != nil || !again.Duplicate {
			t.Errorf("the same rows: %+v, %v", again, err)
		}
		r.refused("other rows", ticket.Conversation, footnote.CallAnswered, agent.Turn{
			Answers: []tool.Answer{{CallID: "b", Rows: table(1), RowCount: 200_000, SQL: "select 2"}},
		})
	})
}

func TestAnswerLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(agenttest.Call("a", "draw", `{}`), agenttest.Say("ok"))
		r := newRig(t, model, []tool.Tool{client("draw")})
		ticket := r.parked(agent.Turn{Text: "go"})
		ragged := table(2)
		ragged.Rows[1] = ragged.Rows[1][:1]
		wide := &footnote.Result{Columns: make([]footnote.Column, 2001)}
		fat := &footnote.Result{Columns: []footnote.Column{{Name: "x"}}, Rows: [][]any{{strings.Repeat("x", 6<<20)}}}
		many := make([]tool.Answer, 101)
		tried := func(n int, st footnote.Statement) agent.Turn {
			return agent.Turn{
				Answers: []tool.Answer{{CallID: "a", Statements: slices.Repeat([]footnote.Statement{st}, n)}},
			}
		}
		for name, c := range map[string]struct {
			turn agent.Turn
			want footnote.Code
		}{
			"too many rows": {
				agent.Turn{Answers: []tool.Answer{{CallID: "a", Rows: table(10_001)}}}, footnote.TooLarge,
			},
			"too many columns": {agent.Turn{Answers: []tool.Answer{{CallID: "a", Rows: wide}}}, footnote.TooLarge},
			"too many bytes":   {agent.Turn{Answers: []tool.Answer{{CallID: "a", Rows: fat}}}, footnote.TooLarge},
			"ragged": {
				agent.Turn{Answers: []tool.Answer{{CallID: "a", Rows: ragged}}}, footnote.InvalidRequest,
			},
			"a negative count": {
				agent.Turn{
					Answers: []tool.Answer{{CallID: "a", Rows: table(1), RowCount: -1}},
				}, footnote.InvalidRequest,
			},
			"too many words":   {answer("a", strings.Repeat("x", 1<<20+1)), footnote.TooLarge},
			"too many answers": {agent.Turn{Answers: many}, footnote.TooLarge},
			"a statement too far": {
				agent.Turn{Answers: []tool.Answer{{CallID: "a", SQL: strings.Repeat("x", 100_001)}}}, footnote.TooLarge,
			},
			"too many statements": {tried(51, footnote.Statement{SQL: "x", Outcome: "failed"}), footnote.TooLarge},
			"a statement that is too long": {
				tried(1, footnote.Statement{SQL: strings.Repeat("x", 100_001), Outcome: "failed"}), footnote.TooLarge,
			},
			"too many bytes of statements": {
				tried(5, footnote.Statement{SQL: strings.Repeat("x", 90_000), Outcome: "failed"}), footnote.TooLarge,
			},
			"an unknown outcome": {
				tried(1, footnote.Statement{SQL: "x", Outcome: "best"}), footnote.InvalidRequest,
			},
			"an outcome of the server": {
				tried(1, footnote.Statement{SQL: "x", Outcome: "cached"}), footnote.InvalidRequest,
			},
			"no outcome":   {tried(1, footnote.Statement{SQL: "x"}), footnote.InvalidRequest},
			"no statement": {tried(1, footnote.Statement{Outcome: "failed"}), footnote.InvalidRequest},
			"a statement's negative rows": {
				tried(1, footnote.Statement{SQL: "x", Outcome: "executed", RowCount: -1}), footnote.InvalidRequest,
			},
			"a message, too": {
				agent.Turn{Text: "hi", Answers: []tool.Answer{{CallID: "a", Content: "x"}}}, footnote.InvalidRequest,
			},
			"an edit, too": {
				agent.Turn{Edit: 2, Answers: []tool.Answer{{CallID: "a", Content: "x"}}}, footnote.InvalidRequest,
			},
		} {
			r.refused(name, ticket.Conversation, c.want, c.turn)
		}
		r.must(ticket.Conversation, answer("a", "drawn"))
		if r.terminals(ticket.Conversation) != 1 {
			t.Errorf("want one end of the run in the log: %s", r.kinds(ticket.Conversation, 0))
		}
	})
}

func TestRecoveryRefusesCallsThatMayHaveRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		tools := []tool.Tool{counted("Bash", &calls)}
		model := agenttest.Script(agenttest.Call("b", "Bash", `{"n":2}`), agenttest.Say("Checked."))
		r := newRig(t, model, tools)
		ticket := crashed(t, r, agent.Continue, 0, agenttest.CallBlock("a", "Bash", `{"n":1}`))
		r.restart(tools, func(a *agent.Assistant, _ *agent.Options) { a.Policy.Approve = []string{"*"} })
		if err := r.engine.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		res := bodies[footnote.ToolResult](r, ticket)
		if len(res) != 2 || !strings.Contains(res[0].Content, "may have run") || res[1].Content != "Bash done" ||
			fmt.Sprint(calls) != `[{"n":2}]` {
			t.Errorf("calls %v, results %+v", calls, res)
		}
	})
}

// TestInterruptedApprovedCallIsNotRepeated kills the process after a call was approved. The call may have run: the
// model is told so, and the call never runs again, however often the process dies.
func TestInterruptedApprovedCallIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		tools := []tool.Tool{counted("Bash", &calls)}
		model := agenttest.Script(agenttest.Say("I shall look."))
		r := newRig(t, model, tools)
		id := crashed(t, r, agent.Continue, 0, agenttest.CallBlock("a", "Bash", `{}`),
			agenttest.CallBlock("b", "Bash", `{}`))
		_, err := r.log.Append(t.Context(), footnote.Append{Stream: id, After: 4, Run: "run_1", Bodies: []footnote.Body{
			footnote.ApprovalAsked{
				ApprovalID: "appr_a",
				CallID:     "a",
			}, footnote.ApprovalAsked{ApprovalID: "appr_b", CallID: "b"},
			footnote.RunParked{Calls: []string{"a", "b"}, Deadline: time.Now().Add(time.Minute)},
			footnote.ApprovalGiven{
				ApprovalID: "appr_a",
				CallID:     "a",
				Approved:   true,
			}, footnote.ApprovalGiven{ApprovalID: "appr_b", CallID: "b"},
			footnote.RunResumed{Attempt: 1, Reason: "answered"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.engine.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		res := bodies[footnote.ToolResult](r, id)
		if len(res) != 2 || !strings.Contains(res[0].Content, "may have run") ||
			!strings.Contains(res[1].Content, "declined") || calls != nil || r.terminals(id) != 1 {
			t.Errorf("calls %v, results %+v", calls, res)
		}
	})
}

func TestBrowserCallNeedingApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		draw := agenttest.NewTool(tool.Spec{Name: "draw", Side: tool.Client}, nil)
		model := agenttest.Script(agenttest.Calls(agenttest.CallBlock("a", "draw", `{}`),
			agenttest.CallBlock("b", "Bash", `{}`), agenttest.CallBlock("c", "draw", `{}`)), agenttest.Say("ok"))
		r := newRig(t, model, []tool.Tool{draw, counted("Bash", &calls)})
		ticket := r.parked(agent.Turn{Text: "go"})
		r.refused("an answer before the approval", ticket.Conversation, footnote.Conflict, answer("a", "drawn"))
		r.must(ticket.Conversation, agent.Turn{
			Approvals: []agent.Approval{{CallID: "a", Approved: true, Always: true}},
		})
		if calls != nil || len(bodies[footnote.ApprovalGiven](r, ticket.Conversation)) != 2 {
			t.Fatalf("always holds for one tool only: %v, %s", calls, r.kinds(ticket.Conversation, 0))
		}
		r.must(ticket.Conversation, answer("c", "drawn, too"))
		r.must(ticket.Conversation, approve("b", false, ""))
		r.refused("an answer to a denied call", ticket.Conversation, footnote.CallClosed, answer("b", "done"))
		r.must(ticket.Conversation, answer("a", "drawn"))
		if r.terminals(ticket.Conversation) != 1 || len(bodies[footnote.ToolResult](r, ticket.Conversation)) != 3 {
			t.Errorf("want one end of the run and 3 results in the log: %s", r.kinds(ticket.Conversation, 0))
		}
	})
}
