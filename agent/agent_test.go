package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/history"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// faulty is a log whose appends fail while fail is set.
type faulty struct {
	store.Store
	fail atomic.Pointer[footnote.Error]
}

func (f *faulty) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	if err := f.fail.Load(); err != nil {
		return nil, err
	}
	return f.Store.Append(ctx, a)
}

var alice = footnote.Principal{Org: "acme", User: "alice"}

// rig is an engine over a temporary log.
type rig struct {
	t      *testing.T
	log    *faulty
	hub    *hub.Hub
	engine *agent.Engine
	model  *agenttest.Model
}

func newRig(t *testing.T, model *agenttest.Model, tools []tool.Tool,
	change ...func(*agent.Assistant, *agent.Options)) *rig {
	t.Helper()
	r := &rig{t: t, log: &faulty{Store: sqlitetest.New(t)}, hub: hub.New(), model: model}
	r.start(tools, change...)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r.engine.Drain(ctx)
	})
	return r
}

// start starts an engine over the existing log, as after a crash.
func (r *rig) start(tools []tool.Tool, change ...func(*agent.Assistant, *agent.Options)) {
	r.t.Helper()
	a := &agent.Assistant{Name: "analyst", ModelName: "scripted", Model: r.model, Tools: tools,
		Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
			system := json.RawMessage(`[{"type":"text","text":"You are a test."}]`)
			return agent.Opening{System: system, Sources: []string{"shop"}}, nil
		}}
	opts := agent.Options{Log: r.log, Hub: r.hub, Assistants: []*agent.Assistant{a}}
	for _, f := range change {
		f(a, &opts)
	}
	var err error
	if r.engine, err = agent.New(opts); err != nil {
		r.t.Fatal(err)
	}
}

// submit sends a turn that must be accepted.
func (r *rig) submit(t agent.Turn) agent.Ticket {
	r.t.Helper()
	t.Principal.Org, t.Principal.User = alice.Org, alice.User
	ticket, err := r.engine.Submit(context.Background(), t)
	if err != nil {
		r.t.Fatal(err)
	}
	return ticket
}

// readOne reads the run of tickets for the same message. Exactly one of them must have begun it.
func (r *rig) readOne(tickets <-chan agent.Ticket) {
	r.t.Helper()
	runs, begun := map[string]int{}, 0
	for ticket := range tickets {
		runs[ticket.Run]++
		if !ticket.Duplicate {
			begun++
			r.read(ticket)
		}
	}
	if len(runs) != 1 || begun != 1 {
		r.t.Errorf("%d tickets began the runs %v", begun, runs)
	}
}

// read follows a ticket until its run ends or parks, and returns the kinds of the
// events, and the last event.
func (r *rig) read(ticket agent.Ticket) (kinds []string, last footnote.Body) {
	r.t.Helper()
	reader := r.engine.Subscribe(ticket)
	defer reader.Close()
	for {
		batch, err := reader.Next(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		for _, entry := range batch {
			if entry.Event == nil {
				continue
			}
			last = entry.Event.Body
			kinds = append(kinds, footnote.KindOf(last))
			if _, parked := last.(footnote.RunParked); parked || footnote.Terminal(last) {
				return kinds, last
			}
		}
	}
}

// terminals counts the terminal events of a conversation.
func (r *rig) terminals(conversation string) int {
	n := 0
	for ev := range r.log.Events(context.Background(), conversation, 0) {
		if footnote.Terminal(ev.Body) {
			n++
		}
	}
	return n
}

func rows(name string) tool.Tool {
	return agenttest.NewTool(tool.Spec{
		Name:     name,
		ReadOnly: true,
	}, func(_ context.Context, c tool.Call) (tool.Output, error) {
		res := &footnote.Result{
			Columns: []footnote.Column{{Name: "n", Kind: footnote.KindInteger}},
			Rows:    [][]any{{int64(42)}},
		}
		return tool.Output{
			Content: `{"result":"` + c.ResultID + `","rows":[[42]]}`, Rows: res, SQL: "select 42", Source: "shop",
		}, nil
	})
}

func client(name string) tool.Tool {
	return agenttest.NewTool(tool.Spec{
		Name:     name,
		Side:     tool.Client,
		ReadOnly: true,
	}, func(context.Context, tool.Call) (tool.Output, error) {
		panic("a client tool was called on the server")
	})
}

func TestRunCallsToolAndAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		llm := agenttest.Script(agenttest.Call("toolu_1", "run_query", `{}`), agenttest.Say("There are 42 orders."))
		r := newRig(t, llm, []tool.Tool{rows("run_query")})
		kinds, last := r.read(r.submit(agent.Turn{Text: "How many orders?"}))
		want := "opened titled user_message run_started assistant_message tool_result assistant_message answered " +
			"run_finished"
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("events = %s\nwant     %s", got, want)
		}
		if f, ok := last.(footnote.RunFinished); !ok || f.Reason != model.EndTurn || f.Steps != 2 ||
			f.Usage.Input != 20 {
			t.Errorf("last = %+v", last)
		}
		second := llm.Requests()[1].Messages
		if got := string(second[len(second)-1].Content); !strings.Contains(got, `\"result\":\"r1\"`) {
			t.Errorf("the result was not sent back: %s", got)
		}
	})
}

// TestCallDescriptions checks the labels and families that are stored with calls, also for tools without them.
func TestCallDescriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		labelled := agenttest.NewTool(tool.Spec{
			Name: "run_query", Label: "Running a query", Family: tool.Query, ReadOnly: true,
		}, func(context.Context, tool.Call) (tool.Output, error) { return tool.Output{Content: "{}"}, nil })
		llm := agenttest.Script(agenttest.Call("a", "run_query", `{}`), agenttest.Call("b", "Read", `{}`),
			agenttest.Call("c", "nothing", `{}`), agenttest.Say("Done."))
		r := newRig(t, llm, []tool.Tool{labelled, rows("Read")})
		sub := r.submit(agent.Turn{Text: "Describe them."})
		r.read(sub)
		want := []map[string]footnote.CalledTool{
			{"run_query": {Label: "Running a query", Family: tool.Query}}, {"Read": {}}, nil, nil,
		}
		for i, m := range bodies[footnote.AssistantMessage](r, sub.Conversation) {
			if !maps.Equal(m.Tools, want[i]) {
				t.Errorf("message %d: %v, want %v", i, m.Tools, want[i])
			}
		}
	})
}

func TestReadOnlyToolsRunConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := agenttest.NewTool(tool.Spec{
			Name:     "slow",
			ReadOnly: true,
		}, func(ctx context.Context, c tool.Call) (tool.Output, error) {
			time.Sleep(3 * time.Second)
			return tool.Output{Content: "slow"}, nil
		})
		fast := agenttest.NewTool(tool.Spec{
			Name:     "fast",
			ReadOnly: true,
		}, func(context.Context, tool.Call) (tool.Output, error) {
			time.Sleep(time.Second)
			return tool.Output{Content: "fast"}, nil
		})
		model := agenttest.Script(agenttest.Calls(
			agenttest.CallBlock("a", "slow", `{}`), agenttest.CallBlock("b", "fast", `{}`),
			agenttest.CallBlock("c", "slow", `{}`)),
			agenttest.Say("done"))
		r := newRig(t, model, []tool.Tool{slow, fast})
		begun := time.Now()
		ticket := r.submit(agent.Turn{Text: "go"})
		r.read(ticket)
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("three calls took %s, want 3s", took)
		}
		var order []string
		for ev := range r.log.Events(t.Context(), ticket.Conversation, 0) {
			if res, ok := ev.Body.(footnote.ToolResult); ok {
				order = append(order, res.CallID)
			}
		}
		if got := strings.Join(order, ""); got != "abc" {
			t.Errorf("results in the order %s, want abc", got)
		}
	})
}

func TestMisbehavingTools(t *testing.T) {
	tools := []tool.Tool{
		agenttest.NewTool(tool.Spec{
			Name: "panics",
		}, func(context.Context, tool.Call) (tool.Output, error) { panic("boom") }),
		agenttest.NewTool(tool.Spec{
			Name:    "hangs",
			Timeout: time.Second,
		}, func(ctx context.Context, _ tool.Call) (tool.Output, error) {
			<-ctx.Done()
			return tool.Output{}, ctx.Err()
		}),
		agenttest.NewTool(tool.Spec{
			Name:    "deaf",
			Timeout: time.Second,
		}, func(context.Context, tool.Call) (tool.Output, error) {
			time.Sleep(6 * time.Second)
			return tool.Output{Content: "too late"}, nil
		}),
		agenttest.NewTool(tool.Spec{Name: "secret"}, nil),
	}
	for name, want := range map[string]string{
		"panics": "broke while it ran", "hangs": "longer than 1s", "deaf": "longer than 1s",
		"nosuch": "There is no tool named nosuch", "secret": "may not be used",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := agenttest.Script(agenttest.Call("toolu_1", name, `{}`), agenttest.Say("I could not."))
				r := newRig(t, model, tools, func(a *agent.Assistant, _ *agent.Options) {
					a.Policy = agent.Policy{Approve: []string{"*"}, Deny: []string{"sec*"}}
				})
				ticket := r.submit(agent.Turn{Text: "go"})
				_, last := r.read(ticket)
				if _, ok := last.(footnote.RunFinished); !ok {
					t.Fatalf("last = %+v", last)
				}
				var res footnote.ToolResult
				for ev := range r.log.Events(t.Context(), ticket.Conversation, 0) {
					if b, ok := ev.Body.(footnote.ToolResult); ok {
						res = b
					}
				}
				if !res.IsError || !strings.Contains(res.Content, want) {
					t.Errorf("result = %+v, want an error with %q", res, want)
				}
			})
		})
	}
}

func TestParkedRunResumesInNewProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools := []tool.Tool{rows("run_query"), client("browser_query"), client("draw")}
		model := agenttest.Script(agenttest.Calls(
			agenttest.CallBlock("a", "run_query", `{}`), agenttest.CallBlock("b", "browser_query", `{}`),
			agenttest.CallBlock("c", "draw", `{}`)),
			agenttest.Say("Both are 42."))
		r := newRig(t, model, tools)
		first := r.submit(agent.Turn{Text: "go"})
		_, last := r.read(first)
		if p, ok := last.(footnote.RunParked); !ok || strings.Join(p.Calls, " ") != "b c" {
			t.Fatalf("last = %+v", last)
		}
		synctest.Wait()
		old := r.engine
		r.hub = hub.New() // nothing but the log survives
		r.start(tools)
		defer old.Drain(t.Context())

		answer := func(id, content string) (agent.Ticket, error) {
			return r.engine.Submit(t.Context(), agent.Turn{Conversation: first.Conversation, Principal: alice,
				Answers: []tool.Answer{{CallID: id, Content: content}}})
		}
		one, err := answer("c", "drawn")
		if err != nil || one.Duplicate {
			t.Fatalf("first answer: %+v, %v", one, err)
		}
		r.engine.Subscribe(one).Close()
		again, err := answer("c", "drawn")
		if err != nil || !again.Duplicate {
			t.Fatalf("the same answer again: duplicate = %v, %v", again.Duplicate, err)
		}
		r.engine.Subscribe(again).Close()
		if _, err := answer("c", "something else"); footnote.CodeOf(err) != footnote.CallAnswered {
			t.Errorf("another answer: CodeOf(%v), want call_answered", err)
		}
		if _, err := answer("zzz", "x"); footnote.CodeOf(err) != footnote.CallUnknown {
			t.Errorf("an unknown call: CodeOf(%v), want call_unknown", err)
		}
		two, err := answer("b", "42")
		if err != nil {
			t.Fatal(err)
		}
		_, last = r.read(two)
		if _, ok := last.(footnote.RunFinished); !ok || r.terminals(first.Conversation) != 1 || two.Run != first.Run {
			t.Errorf("last = %+v, %d terminals, run %s then %s", last, r.terminals(first.Conversation), first.Run,
				two.Run)
		}
	})
}

func TestMessageEndsParkedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(agenttest.Call("a", "draw", `{}`), agenttest.Say("As you wish."))
		r := newRig(t, model, []tool.Tool{client("draw")})
		first := r.submit(agent.Turn{Text: "draw"})
		r.read(first)
		synctest.Wait()
		_, last := r.read(r.submit(agent.Turn{Conversation: first.Conversation, Text: "never mind"}))
		if _, ok := last.(footnote.RunFinished); !ok || r.terminals(first.Conversation) != 2 {
			t.Errorf("last = %+v, %d terminals", last, r.terminals(first.Conversation))
		}
		m := model.Requests()[1].Messages
		if got := string(m[2].Content); !strings.Contains(got, history.Unanswered) ||
			!strings.Contains(got, "never mind") {
			t.Errorf("sent %s", got)
		}
	})
}

func TestUnansweredCallTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(agenttest.Call("a", "draw", `{}`), agenttest.Say("Nobody drew."))
		r := newRig(t, model, []tool.Tool{client("draw")})
		ticket := r.submit(agent.Turn{Text: "draw"})
		r.read(ticket)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if n := r.terminals(ticket.Conversation); n != 1 {
			t.Errorf("%d terminal events, want 1", n)
		}
	})
}

func TestRunOutcomes(t *testing.T) {
	loopy := make([]agenttest.Reply, 0, 20)
	for i := range 20 {
		loopy = append(loopy, agenttest.Call(fmt.Sprintf("t%d", i), "run_query", `{}`))
	}
	again := &model.StepError{Code: footnote.ModelUnavailable, Message: "The model is overloaded.", Again: true}
	for name, c := range map[string]struct {
		script []agenttest.Reply
		want   string
	}{
		"refusal": {
			[]agenttest.Reply{{Stop: model.Refusal, Blocks: agenttest.Say("half").Blocks}}, "run_finished refusal",
		},
		"unknown stop": {
			[]agenttest.Reply{{Stop: "brand_new", Blocks: agenttest.Say("x").Blocks}}, "run_finished brand_new",
		},
		"max turns":             {append(loopy[:10:10], agenttest.Say("the best I have")), "run_finished max_turns"},
		"calls after max turns": {loopy, "run_finished max_turns"},
		"cut call": {
			[]agenttest.Reply{
				{Stop: model.MaxTokens, Blocks: loopy[0].Blocks}, agenttest.Say("x"),
			}, "run_finished end_turn",
		},
		"silence": {
			[]agenttest.Reply{loopy[0], {Stop: model.EndTurn}, agenttest.Say("x")}, "run_finished end_turn",
		},
		"pause": {
			[]agenttest.Reply{
				{Stop: model.PauseTurn, Blocks: agenttest.Say("hm").Blocks}, agenttest.Say("x"),
			}, "run_finished end_turn",
		},
		"broken then good": {
			[]agenttest.Reply{{Err: again}, {Err: again}, agenttest.Say("x")}, "run_finished end_turn",
		},
		"broken": {
			[]agenttest.Reply{{Err: again}, {Err: again}, {Err: again}}, "run_failed model_unavailable",
		},
		"broken in the text": {
			[]agenttest.Reply{
				{Err: again, Blocks: agenttest.Say("hal").Blocks}, agenttest.Say("x"),
			}, "run_failed model_unavailable",
		},
		"unclassified": {[]agenttest.Reply{{Err: errors.New("secret detail")}}, "run_failed internal_error"},
		"too slow":     {[]agenttest.Reply{{Hang: true}}, "run_failed agent_timeout"},
		"too dear": {
			[]agenttest.Reply{
				{Stop: model.ToolUse, Blocks: loopy[0].Blocks, Cost: footnote.Cost{MicroUSD: 600_000}},
			}, "run_failed budget_exceeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, agenttest.Script(c.script...), []tool.Tool{rows("run_query")})
				ticket := r.submit(agent.Turn{Text: "go"})
				kinds, last := r.read(ticket)
				got := kinds[len(kinds)-1]
				switch b := last.(type) {
				case footnote.RunFinished:
					got += " " + b.Reason
				case footnote.RunFailed:
					got += " " + string(b.Code)
					if strings.Contains(b.Message, "secret") {
						t.Errorf("the message leaks: %s", b.Message)
					}
				}
				if got != c.want || r.terminals(ticket.Conversation) != 1 {
					t.Errorf("ended %q with %d terminals, want %q", got, r.terminals(ticket.Conversation), c.want)
				}
			})
		})
	}
}

func TestStopCancelsModelAndTool(t *testing.T) {
	hang := agenttest.NewTool(tool.Spec{
		Name:     "hang",
		ReadOnly: true,
	}, func(ctx context.Context, _ tool.Call) (tool.Output, error) {
		<-ctx.Done()
		return tool.Output{}, ctx.Err()
	})
	for name, script := range map[string][]agenttest.Reply{
		"model": {{Hang: true}},
		"tool":  {agenttest.Call("a", "hang", `{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, agenttest.Script(script...), []tool.Tool{hang})
				ticket := r.submit(agent.Turn{Text: "go"})
				synctest.Wait()
				if err := r.engine.Stop(t.Context(), ticket.Conversation, "user"); err != nil {
					t.Fatal(err)
				}
				_, last := r.read(ticket)
				if b, ok := last.(footnote.RunStopped); !ok || b.By != "user" {
					t.Errorf("last = %+v", last)
				}
			})
		})
	}
}

// TestStorePermanentlyUnavailable checks that readers get a permanent error of the store at once. If the store
// recovers, the run continues, or ends if its only reader has left.
func TestStorePermanentlyUnavailable(t *testing.T) {
	for policy, want := range map[string]string{agent.Continue: "run_finished", agent.Cancel: "run_stopped"} {
		t.Run(policy, func(t *testing.T) { lostStore(t, policy, want) })
	}
}

func lostStore(t *testing.T, policy, want string) {
	synctest.Test(t, func(t *testing.T) {
		full := footnote.Errorf(footnote.StorageUnavailable, "the disk is gone")
		gate := make(chan struct{})
		model := agenttest.Script(agenttest.Reply{
			Wait:   gate,
			Blocks: agenttest.Say("x").Blocks,
			Stop:   model.EndTurn,
		}, agenttest.Say("x"), agenttest.Say("hello again"))
		r := newRig(t, model, nil)
		ticket := r.submit(agent.Turn{Text: "go", OnDisconnect: policy})
		synctest.Wait()
		r.log.fail.Store(full)
		close(gate)
		reader := r.engine.Subscribe(ticket)
		var err error
		for err == nil {
			_, err = reader.Next(t.Context())
		}
		reader.Close()
		if footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Errorf("CodeOf(%v), want storage_unavailable", err)
		}
		r.log.fail.Store(nil)
		time.Sleep(time.Minute)
		if got := r.kinds(ticket.Conversation, 0); !strings.HasSuffix(got, want) {
			t.Errorf("the log is %q; want %s at its end", got, want)
		}
		_, last := r.read(r.submit(agent.Turn{Conversation: ticket.Conversation, Text: "still there?"}))
		if _, ok := last.(footnote.RunFinished); !ok || r.terminals(ticket.Conversation) != 2 {
			t.Errorf("last = %+v, terminals = %d", last, r.terminals(ticket.Conversation))
		}
	})
}

// TestRepeatedMessageStartsNoRun sends a message again after its answer.
func TestRepeatedMessageStartsNoRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, agenttest.Script(agenttest.Say("Once.")), nil)
		ticket := r.submit(agent.Turn{ClientID: "c", MessageID: "m", Text: "How many?"})
		r.read(ticket)
		for name, turn := range map[string]agent.Turn{
			"the same message":       {Conversation: ticket.Conversation, MessageID: "m", Text: "How many?"},
			"the same first message": {ClientID: "c", MessageID: "m", Text: "How many?"},
			"only if it was sent":    {ClientID: "c", MessageID: "m", Repeated: true},
		} {
			again := r.submit(turn)
			if !again.Duplicate || again.Run != ticket.Run || again.Conversation != ticket.Conversation {
				t.Errorf("%s: got %+v, want %+v", name, again, ticket)
			}
			kinds := r.kinds(again.Conversation, again.After)
			if !strings.HasPrefix(kinds, "user_message run_started") {
				t.Errorf("%s: its events are %s", name, kinds)
			}
		}
		r.refused("a message that was never sent", ticket.Conversation, footnote.NotFound,
			agent.Turn{MessageID: "n", Repeated: true})
		for name, turn := range map[string]agent.Turn{
			"another message with its id":       {MessageID: "m", Text: "How much?"},
			"another first message with its id": {ClientID: "c", MessageID: "m", Text: "How much?"},
		} {
			conversation := ticket.Conversation
			if turn.ClientID != "" {
				conversation = ""
			}
			r.refused(name, conversation, footnote.Conflict, turn)
		}
		if n := len(r.model.Requests()); n != 1 {
			t.Errorf("the model was called %d times", n)
		}
	})
}

// TestConcurrentDuplicatesStartOneRun sends a message several times at once: one that opens a conversation, and one in
// an existing conversation.
func TestConcurrentDuplicatesStartOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, agenttest.Script(agenttest.Say("Once."), agenttest.Say("Twice.")), nil)
		for _, id := range []string{"first", "second"} {
			var wg sync.WaitGroup
			tickets := make(chan agent.Ticket, 8)
			for range cap(tickets) {
				wg.Go(func() { tickets <- r.submit(agent.Turn{ClientID: "c", MessageID: id, Text: "How many?"}) })
			}
			wg.Wait()
			close(tickets)
			r.readOne(tickets)
			synctest.Wait()
		}
	})
}

// TestBusyPolicies sends messages to a conversation that is still answering.
func TestBusyPolicies(t *testing.T) {
	for policy, want := range map[string]string{
		agent.Enqueue:   "run_finished run_finished run_finished",
		agent.Interrupt: "run_stopped run_stopped run_finished",
	} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				held := agenttest.Say("Done.")
				held.Wait = release
				r := newRig(t, agenttest.Script(held, held, held), nil)
				first := r.submit(agent.Turn{Text: "1"})
				synctest.Wait()
				var wg sync.WaitGroup
				for _, text := range []string{"2", "3"} {
					wg.Go(func() { r.submit(agent.Turn{Conversation: first.Conversation, Text: text, OnBusy: policy}) })
					synctest.Wait()
				}
				close(release)
				wg.Wait()
				synctest.Wait()
				var asked, ended []string
				for ev, err := range r.log.Events(t.Context(), first.Conversation, 0) {
					if err != nil {
						t.Fatal(err)
					}
					if m, ok := ev.Body.(footnote.UserMessage); ok {
						asked = append(asked, m.Text)
					} else if footnote.Terminal(ev.Body) {
						ended = append(ended, footnote.KindOf(ev.Body))
					}
				}
				if got := strings.Join(ended, " "); got != want || strings.Join(asked, "") != "123" {
					t.Errorf("the messages %v ended as %s, want %s", asked, got, want)
				}
			})
		})
	}
}

func TestOneRunPerConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, agenttest.Script(agenttest.Reply{Hang: true}), nil)
		ticket := r.submit(agent.Turn{Text: "go"})
		synctest.Wait()
		_, err := r.engine.Submit(t.Context(), agent.Turn{
			Conversation: ticket.Conversation,
			Principal:    alice,
			Text:         "and?",
		})
		if footnote.CodeOf(err) != footnote.Conflict {
			t.Errorf("CodeOf(%v), want conflict", err)
		}
		_, err = r.engine.Submit(t.Context(), agent.Turn{
			Conversation: ticket.Conversation,
			Principal:    footnote.Principal{Org: "acme", User: "bob"},
			Text:         "hi",
		})
		if footnote.CodeOf(err) != footnote.NotFound {
			t.Errorf("a foreign conversation: CodeOf(%v), want not_found", err)
		}
	})
}
