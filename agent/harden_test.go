package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
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
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// modelFunc is a function as a model.
type modelFunc func(ctx context.Context, req model.Request, live model.Live) (model.Reply, error)

func (f modelFunc) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	return f(ctx, req, live)
}

func use(m model.Model) func(*agent.Assistant, *agent.Options) {
	return func(a *agent.Assistant, _ *agent.Options) { a.Model = m }
}

func say(text string) model.Reply {
	return model.Reply{
		Message: footnote.AssistantMessage{Model: "m", Blocks: agenttest.Say(text).Blocks, StopReason: model.EndTurn},
	}
}

// bodies returns the events of one kind in a conversation.
func bodies[B footnote.Body](r *rig, conversation string) (found []B) {
	for ev := range r.log.Events(context.Background(), conversation, 0) {
		if b, ok := ev.Body.(B); ok {
			found = append(found, b)
		}
	}
	return found
}

// shown follows a ticket to the end of its run and returns the text that was shown.
func shown(t *testing.T, r *rig, ticket agent.Ticket) (text string, ops []footnote.DeltaOp, last footnote.Body) {
	t.Helper()
	reader := r.engine.Subscribe(ticket)
	defer reader.Close()
	for {
		batch, err := reader.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch {
			switch {
			case e.Event == nil:
				ops = append(ops, e.Delta.Op)
				if e.Delta.Kind == model.TextBlock {
					text += string(e.Delta.Escaped)
				}
			default:
				last = e.Event.Body
				if _, parked := last.(footnote.RunParked); parked || footnote.Terminal(last) {
					return text, ops, last
				}
			}
		}
	}
}

func TestInvalidModelReports(t *testing.T) {
	for name, report := range map[string]func(model.Live){
		"delta without start": func(l model.Live) { l.Delta(3, []byte("x")); l.Stop(3); l.Stop(-1) },
		"never stopped":       func(l model.Live) { l.Start(0, model.ThinkingBlock, "", ""); l.Delta(0, []byte("x")) },
		"started twice": func(l model.Live) {
			l.Start(0, model.ThinkingBlock, "", "")
			l.Start(0, model.ThinkingBlock, "", "")
			l.Stop(0)
			l.Stop(0)
		},
		"unknown kind": func(l model.Live) { l.Start(0, "hologram", "", ""); l.Delta(0, []byte("x")) },
		"all left open": func(l model.Live) {
			l.Start(5, model.TextBlock, "", "")
			l.Start(-1, model.ToolUseBlock, "", "")
		},
		"delta after stop": func(l model.Live) {
			l.Start(0, model.TextBlock, "", "")
			l.Stop(0)
			l.Delta(0, []byte("x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kept model.Live
				r := newRig(t, nil, nil,
					use(modelFunc(func(_ context.Context, _ model.Request, l model.Live) (model.Reply, error) {
						kept = l
						report(l)
						l.Flush()
						return say("done"), nil
					})))
				_, _, last := shown(t, r, r.submit(agent.Turn{Text: "go"}))
				if _, ok := last.(footnote.RunFinished); !ok {
					t.Errorf("last = %+v", last)
				}
				synctest.Wait()
				kept.Start(0, model.TextBlock, "", "") // after its call, which must not block anybody
			})
		})
	}
}

// TestUsageOfCallThatFailsEarly checks that the usage of a call that fails before its first text is counted, even if it
// costs nothing.
func TestUsageOfCallThatFailsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := footnote.Usage{Input: 900}
		r := newRig(t, nil, nil, use(modelFunc(func(context.Context, model.Request, model.Live) (model.Reply, error) {
			return model.Reply{}, &model.StepError{Code: footnote.ModelUnavailable, Message: "Gone.", Usage: used}
		})))
		ticket := r.submit(agent.Turn{Text: "go"})
		if _, last := r.read(ticket); last == nil {
			t.Fatal("it does not end")
		}
		if failed := bodies[footnote.StepFailed](r, ticket.Conversation); len(failed) != 1 || failed[0].Usage != used {
			t.Errorf("failed steps: %+v", failed)
		}
	})
}

func TestModelPanicFailsOnlyItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := newRig(t, nil, nil,
			use(modelFunc(func(_ context.Context, _ model.Request, l model.Live) (model.Reply, error) {
				if calls++; calls > 1 {
					return say("better"), nil
				}
				l.Start(0, model.TextBlock, "", "")
				l.Delta(0, []byte("half a wo"))
				panic("secret detail")
			})))
		ticket := r.submit(agent.Turn{Text: "go"})
		text, _, last := shown(t, r, ticket)
		f, ok := last.(footnote.RunFailed)
		if !ok || f.Code != footnote.Internal || strings.Contains(f.Message, "secret") || text != "half a wo" {
			t.Errorf("last = %+v, shown %q", last, text)
		}
		if n := len(bodies[footnote.StepFailed](r, ticket.Conversation)); n != 1 {
			t.Errorf("%d failed steps, want 1", n)
		}
		_, last = r.read(r.submit(agent.Turn{Conversation: ticket.Conversation, Text: "again"}))
		if _, ok := last.(footnote.RunFinished); !ok || r.terminals(ticket.Conversation) != 2 {
			t.Errorf("last = %+v, %d terminals", last, r.terminals(ticket.Conversation))
		}
	})
}

func TestStepRetryShowsNoTextTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		begun := time.Now()
		r := newRig(t, nil, nil,
			use(modelFunc(func(_ context.Context, _ model.Request, l model.Live) (model.Reply, error) {
				calls++
				l.Start(0, model.ThinkingBlock, "", "")
				l.Delta(0, []byte("hm"))
				if calls == 1 {
					return model.Reply{},
						&model.StepError{Code: footnote.RateLimited, Message: "Slow down.", Again: true,
							RetryAfter: 7 * time.Second,
							Cost:       footnote.Cost{MicroUSD: 5}}
				}
				l.Stop(0)
				l.Start(1, model.TextBlock, "", "")
				l.Delta(1, []byte("once"))
				l.Stop(1)
				return say("once"), nil
			})))
		ticket := r.submit(agent.Turn{Text: "go"})
		text, ops, last := shown(t, r, ticket)
		f, ok := last.(footnote.RunFinished)
		if !ok || text != "once" || f.Cost.MicroUSD != 5 {
			t.Errorf("last = %+v, shown %q", last, text)
		}
		want := []footnote.DeltaOp{
			footnote.BlockStarted, footnote.BlockGrew, footnote.BlockEnded, footnote.StepBroke, footnote.StepRetrying,
		}
		if len(ops) < 5 || fmt.Sprint(ops[:5]) != fmt.Sprint(want) {
			t.Errorf("operations %v, want first %v", ops, want)
		}
		if took := time.Since(begun); took < 7*time.Second {
			t.Errorf("the upstream asked for 7s, the run waited %s", took)
		}
		if failed := bodies[footnote.StepFailed](r, ticket.Conversation); len(failed) != 1 || failed[0].Attempt != 1 {
			t.Errorf("failed steps: %+v", failed)
		}
	})
}

// TestResultsAreBounded checks that a text that is too long is cut, and that a chart that is not JSON is dropped.
func TestResultsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		echo := agenttest.NewTool(tool.Spec{
			Name:     "echo",
			ReadOnly: true,
		}, func(_ context.Context, c tool.Call) (tool.Output, error) {
			return tool.Output{
				Content: string(c.Input) + strings.Repeat("é", 1<<20), Chart: json.RawMessage(`{broken`),
			}, nil
		})
		model := agenttest.Script(agenttest.Call("a", "echo", `{}`), agenttest.Say("ok"))
		r := newRig(t, model, []tool.Tool{echo})
		ticket := r.submit(agent.Turn{Text: "go"})
		if _, last := r.read(ticket); footnote.KindOf(last) != "run_finished" {
			t.Fatalf("last = %+v", last)
		}
		results := bodies[footnote.ToolResult](r, ticket.Conversation)
		if !strings.HasPrefix(results[0].Content, `{}é`) || len(results[0].Content) > 1<<20 || results[0].Chart != nil {
			t.Errorf("result of %d bytes, chart %s", len(results[0].Content), results[0].Chart)
		}
	})
}

func TestClientCannotAnswerServerCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		write := agenttest.NewTool(tool.Spec{Name: "write"}, func(context.Context, tool.Call) (tool.Output, error) {
			ran++
			return tool.Output{Content: "written"}, nil
		})
		model := agenttest.Script(agenttest.Calls(agenttest.CallBlock("a", "write", `{}`),
			agenttest.CallBlock("b", "draw", `{}`)), agenttest.Say("ok"))
		r := newRig(t, model, []tool.Tool{write, client("draw")})
		ticket := r.submit(agent.Turn{Text: "go"})
		r.read(ticket)
		synctest.Wait()
		post := func(turn agent.Turn) (agent.Ticket, error) {
			turn.Conversation, turn.Principal = ticket.Conversation, alice
			got, err := r.engine.Submit(t.Context(), turn)
			if err == nil {
				t.Cleanup(r.engine.Subscribe(got).Close)
			}
			return got, err
		}
		refused := func(what string, want footnote.Code, turn agent.Turn) {
			t.Helper()
			if _, err := post(turn); footnote.CodeOf(err) != want {
				t.Errorf("%s: CodeOf(%v), want %s", what, err, want)
			}
		}
		refused("a forged result", footnote.CallUnknown, agent.Turn{
			Answers: []tool.Answer{{CallID: "a", Content: "forged"}},
		})
		refused("two different answers at once", footnote.CallAnswered, agent.Turn{
			Answers: []tool.Answer{{CallID: "b", Content: "1"}, {CallID: "b", Content: "2"}},
		})
		refused("yes and no at once", footnote.CallAnswered, agent.Turn{
			Approvals: []agent.Approval{{CallID: "a", Approved: true}, {CallID: "a"}},
		})
		if _, err := post(agent.Turn{
			Answers: []tool.Answer{{CallID: "b", Content: "1"}, {CallID: "b", Content: "1"}},
		}); err != nil {
			t.Fatal(err)
		}
		go1, err := post(agent.Turn{Approvals: []agent.Approval{{CallID: "a", Approved: true, Reason: "fine"}}})
		if err != nil || go1.Duplicate {
			t.Fatalf("first turn: %+v, %v", go1, err)
		}
		synctest.Wait()
		if ran != 1 || r.terminals(ticket.Conversation) != 1 ||
			len(bodies[footnote.ToolResult](r, ticket.Conversation)) != 2 {
			t.Errorf("the tool ran %d times, %d terminals, results %+v", ran, r.terminals(ticket.Conversation),
				bodies[footnote.ToolResult](r, ticket.Conversation))
		}
		again, err := post(agent.Turn{Approvals: []agent.Approval{{CallID: "a", Approved: true}}})
		if err != nil || !again.Duplicate {
			t.Errorf("the same decision again: %+v, %v", again, err)
		}
	})
}

// parks returns a model that calls a client tool once and then answers.
func parks() *agenttest.Model {
	return agenttest.Script(agenttest.Call("a", "draw", `{}`), agenttest.Say("ok"))
}

func TestConcurrentAnswersCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []json.RawMessage
		for i := range 8 {
			calls = append(calls, agenttest.CallBlock(fmt.Sprintf("c%d", i), "draw", `{}`))
		}
		r := newRig(t, agenttest.Script(agenttest.Calls(calls...), agenttest.Say("ok")), []tool.Tool{client("draw")},
			func(a *agent.Assistant, _ *agent.Options) { a.Policy.Approve = []string{"*"} })
		ticket := r.submit(agent.Turn{Text: "go"})
		r.read(ticket)
		var wg sync.WaitGroup
		var fresh atomic.Int32
		for i := range 32 {
			wg.Go(func() {
				got, err := r.engine.Submit(t.Context(), agent.Turn{Conversation: ticket.Conversation, Principal: alice,
					Answers: []tool.Answer{{CallID: fmt.Sprintf("c%d", i%8), Content: "drawn"}}})
				if err != nil {
					t.Errorf("answer %d: %v", i, err)
					return
				}
				if !got.Duplicate {
					fresh.Add(1)
				}
				r.engine.Subscribe(got).Close()
			})
		}
		wg.Wait()
		synctest.Wait()
		if n := len(bodies[footnote.ToolResult](r, ticket.Conversation)); n != 8 || fresh.Load() != 8 ||
			r.terminals(ticket.Conversation) != 1 {
			t.Errorf("%d results, %d fresh, %d terminals; want 8, 8, 1", n, fresh.Load(),
				r.terminals(ticket.Conversation))
		}
	})
}

// TestStopEndsParkingRun stops a run while it is parking. The stop must not be lost.
func TestStopEndsParkingRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, parks(), []tool.Tool{client("draw")})
		ticket := r.submit(agent.Turn{Text: "draw"})
		r.read(ticket) // the park is visible, its run may not be over yet
		if err := r.engine.Stop(t.Context(), ticket.Conversation, "user"); err != nil {
			t.Fatal(err)
		}
		if got := bodies[footnote.RunStopped](r, ticket.Conversation); len(got) != 1 || got[0].By != "user" {
			t.Errorf("stopped: %+v", got)
		}
		for range 2 {
			if err := r.engine.Stop(t.Context(), ticket.Conversation, "user"); err != nil {
				t.Errorf("stopped again: %v", err)
			}
		}
		if err := r.engine.Stop(t.Context(), "conv_none", "user"); err != nil {
			t.Errorf("a conversation that does not exist: %v", err)
		}
	})
}

func TestNothingStartsAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := false
		write := agenttest.NewTool(tool.Spec{Name: "write"}, func(context.Context, tool.Call) (tool.Output, error) {
			ran = true
			return tool.Output{}, nil
		})
		var r *rig
		stop := agenttest.NewTool(tool.Spec{Name: "stop"}, func(_ context.Context, c tool.Call) (tool.Output, error) {
			return tool.Output{Content: "stopped"}, r.engine.Stop(context.Background(), c.Conversation, "user")
		})
		model := agenttest.Script(agenttest.Calls(agenttest.CallBlock("a", "stop", `{}`),
			agenttest.CallBlock("b", "write", `{}`)), agenttest.Say("no"))
		r = newRig(t, model, []tool.Tool{
			stop, write,
		}, func(a *agent.Assistant, _ *agent.Options) { a.Policy.Approve = []string{"*"} })
		ticket := r.submit(agent.Turn{Text: "go"})
		_, last := r.read(ticket)
		if footnote.KindOf(last) != "run_stopped" || ran || len(model.Requests()) != 1 {
			t.Errorf("last = %+v, written: %t, %d model calls", last, ran, len(model.Requests()))
		}
	})
}

func TestStopDoesNotWaitForDeafTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := agenttest.NewTool(tool.Spec{
			Name:     "deaf",
			ReadOnly: true,
		}, func(context.Context, tool.Call) (tool.Output, error) {
			time.Sleep(4 * time.Second)
			return tool.Output{}, nil
		})
		r := newRig(t, agenttest.Script(agenttest.Call("a", "deaf", `{}`)), []tool.Tool{deaf})
		ticket := r.submit(agent.Turn{Text: "go"})
		synctest.Wait()
		begun := time.Now()
		if err := r.engine.Stop(t.Context(), ticket.Conversation, "user"); err != nil {
			t.Fatal(err)
		}
		if _, last := r.read(ticket); footnote.KindOf(last) != "run_stopped" || time.Since(begun) > time.Second {
			t.Errorf("last = %+v after %s", last, time.Since(begun))
		}
	})
}

func TestRepeatedFirstMessageOpensOneConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, agenttest.Script(agenttest.Reply{Hang: true}), nil)
		var conflicts atomic.Int32
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				ticket, err := r.engine.Submit(t.Context(), agent.Turn{
					ClientID:  "chat-1",
					Text:      "go",
					Principal: alice,
				})
				switch {
				case err == nil:
					r.engine.Subscribe(ticket).Close()
				case footnote.CodeOf(err) == footnote.Conflict:
					conflicts.Add(1)
				default:
					t.Errorf("CodeOf(%v), want conflict", err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		page, _, err := r.log.List(t.Context(), store.Page{Org: "acme", User: "alice", Limit: 10})
		if err != nil || len(page) != 1 || conflicts.Load() != 9 {
			t.Errorf("%d conversations, %d conflicts, %v", len(page), conflicts.Load(), err)
		}
	})
}

func TestInvalidTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, agenttest.Script(), nil)
		for name, c := range map[string]struct {
			turn agent.Turn
			want footnote.Code
		}{
			"empty":             {agent.Turn{Text: " \n"}, footnote.InvalidRequest},
			"too long":          {agent.Turn{Text: strings.Repeat("é", 10_001)}, footnote.InputTooLong},
			"too much history":  {agent.Turn{Text: "x", History: make([]footnote.TextTurn, 5_001)}, footnote.TooLarge},
			"unknown assistant": {agent.Turn{Text: "x", Assistant: "nobody"}, footnote.ModelNotFound},
			"bad id":            {agent.Turn{Text: "x", ClientID: "a\nb"}, footnote.InvalidRequest},
			"no conversation":   {agent.Turn{Text: "x", Conversation: "conv_none"}, footnote.NotFound},
			"nothing to answer": {
				agent.Turn{ClientID: "none", Answers: []tool.Answer{{CallID: "a"}}}, footnote.NotFound,
			},
		} {
			c.turn.Principal = alice
			if _, err := r.engine.Submit(t.Context(), c.turn); footnote.CodeOf(err) != c.want {
				t.Errorf("%s: CodeOf(%v), want %s", name, err, c.want)
			}
		}
	})
}

// failing is a log that accepts a number of appends and rejects the next.
type failing struct {
	store.Store
	left atomic.Int32
	err  atomic.Pointer[footnote.Error]
}

func (f *failing) refuse() error {
	if f.left.Add(-1) < 0 {
		if err := f.err.Load(); err != nil {
			return err
		}
	}
	return nil
}

func (f *failing) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	if err := f.refuse(); err != nil {
		return nil, err
	}
	return f.Store.Append(ctx, a)
}

func (f *failing) CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error) {
	if err := f.refuse(); err != nil {
		return nil, err
	}
	return f.Store.CreateAppend(ctx, s, a)
}

func (f *failing) Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error] {
	return f.Store.Events(ctx, stream, after)
}

// TestStoreFailureAtAnyAppend lets the store fail at each append of a run. The reader must get the error, must not have
// seen events that were not stored, and the conversation must remain usable.
func TestStoreFailureAtAnyAppend(t *testing.T) {
	for appends := range 5 {
		t.Run(fmt.Sprintf("after %d", appends), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &failing{Store: sqlitetest.New(t)}
				log.left.Store(int32(appends))
				log.err.Store(footnote.Errorf(footnote.StorageUnavailable, "the disk is full"))
				model := modelFunc(func(_ context.Context, req model.Request, _ model.Live) (model.Reply, error) {
					time.Sleep(time.Second) // so that each step has appends of its own
					if len(req.Messages) > 1 {
						return say("42"), nil
					}
					return model.Reply{
						Message: footnote.AssistantMessage{
							Blocks:     agenttest.Call("a", "run_query", `{}`).Blocks,
							StopReason: model.ToolUse,
						},
					}, nil
				})
				slow := agenttest.NewTool(tool.Spec{
					Name:     "run_query",
					ReadOnly: true,
				}, func(context.Context, tool.Call) (tool.Output, error) {
					time.Sleep(time.Second)
					return tool.Output{Content: "42"}, nil
				})
				r := newRig(t, nil, []tool.Tool{
					slow,
				}, use(model), func(_ *agent.Assistant, o *agent.Options) { o.Log = log })
				ticket := r.submit(agent.Turn{Text: "go", ClientID: "chat"})
				reader := r.engine.Subscribe(ticket)
				seen, ended := int64(0), false
				var err error
				for err == nil && !ended {
					var batch hub.Batch
					batch, err = reader.Next(t.Context())
					for _, e := range batch {
						if e.Event != nil {
							seen, ended = e.Event.Seq, footnote.Terminal(e.Event.Body)
						}
					}
				}
				reader.Close()
				synctest.Wait()
				if head, err := log.Get(t.Context(), ticket.Conversation); seen > head.Last ||
					err == nil && seen < head.Last {
					t.Errorf("shown up to %d, stored up to %d (%v)", seen, head.Last, err)
				}
				if !ended && footnote.CodeOf(err) != footnote.StorageUnavailable {
					t.Errorf("CodeOf(%v), want storage_unavailable", err)
				}
				if ended != (appends >= 4) {
					t.Errorf("ended = %t after %d appends", ended, appends)
				}
				log.err.Store(nil)
				time.Sleep(time.Minute) // the run continues
				again := r.submit(agent.Turn{Text: "still there?", ClientID: "chat"})
				if _, last := r.read(again); footnote.KindOf(last) != "run_finished" {
					t.Errorf("last = %+v", last)
				}
				started, terminals := 0, 0
				for ev := range log.Events(t.Context(), again.Conversation, 0) {
					if _, ok := ev.Body.(footnote.RunStarted); ok {
						started++
					}
					if footnote.Terminal(ev.Body) {
						terminals++
					}
				}
				if started != terminals {
					t.Errorf("%d runs started, %d ended", started, terminals)
				}
			})
		})
	}
}

func TestUnstoredAnswerCanBeSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, parks(), []tool.Tool{client("draw")})
		ticket := r.submit(agent.Turn{Text: "draw"})
		r.read(ticket)
		synctest.Wait()
		r.log.fail.Store(footnote.Errorf(footnote.StorageUnavailable, "the disk is full"))
		answer := agent.Turn{
			Conversation: ticket.Conversation,
			Principal:    alice,
			Answers:      []tool.Answer{{CallID: "a", Content: "drawn"}},
		}
		if _, err := r.engine.Submit(t.Context(), answer); footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Fatalf("CodeOf(%v), want storage_unavailable", err)
		}
		r.log.fail.Store(nil)
		again := r.submit(answer)
		if _, last := r.read(again); again.Duplicate || footnote.KindOf(last) != "run_finished" {
			t.Errorf("duplicate = %t, last = %+v", again.Duplicate, last)
		}
	})
}

func TestLostLeaseEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, agenttest.Script(agenttest.Reply{Hang: true}), nil)
		ticket := r.submit(agent.Turn{Text: "go", OnDisconnect: agent.Continue})
		synctest.Wait()
		head, err := r.log.Get(t.Context(), ticket.Conversation)
		if err != nil {
			t.Fatal(err)
		}
		// Another engine takes over, as after a long pause of this one.
		if err := r.log.Release(t.Context(), head.ID, 1); err != nil {
			t.Fatal(err)
		}
		_, err = r.log.Append(t.Context(),
			footnote.Append{Stream: head.ID, After: head.Last, Run: head.Run,
				Take:   &footnote.Take{Owner: "other", TTL: time.Hour},
				Bodies: []footnote.Body{footnote.RunResumed{Attempt: 1, Reason: "recovered"}}})
		if err != nil {
			t.Fatal(err)
		}
		reader := r.engine.Subscribe(ticket)
		for err == nil {
			_, err = reader.Next(t.Context())
		}
		reader.Close()
		if footnote.CodeOf(err) != footnote.Conflict {
			t.Errorf("CodeOf(%v), want conflict", err)
		}
		time.Sleep(time.Minute) // this engine must not close the run of the other
		now, err := r.log.Get(t.Context(), ticket.Conversation)
		if err != nil || now.Last != head.Last+1 || now.RunState != "running" {
			t.Errorf("head = %+v, %v", now, err)
		}
	})
}

func TestRevokedKeyEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone, unreachable atomic.Bool
		r := newRig(t, agenttest.Script(agenttest.Reply{Hang: true}, agenttest.Reply{Hang: true}), nil,
			func(_ *agent.Assistant, o *agent.Options) {
				o.Standing = func(_ context.Context, key string) error {
					switch {
					case unreachable.Load():
						return footnote.Errorf(footnote.StorageUnavailable, "The store is unavailable.")
					case key == "key1" && gone.Load():
						return footnote.Errorf(footnote.Unauthorized, "The API key was revoked.")
					}
					return nil
				}
			})
		mine := r.submit(agent.Turn{Text: "go", Key: "key1", OnDisconnect: agent.Continue})
		other := r.submit(agent.Turn{Text: "go", OnDisconnect: agent.Continue})
		unreachable.Store(true)
		time.Sleep(time.Minute)
		unreachable.Store(false)
		gone.Store(true)
		time.Sleep(3 * time.Second)
		if _, last := r.read(mine); !stoppedBy(last, "revoked") {
			t.Errorf("the run ended with %+v", last)
		}
		head, err := r.log.Get(t.Context(), other.Conversation)
		if err != nil || head.RunState != "running" {
			t.Errorf("the run without a key: %+v, %v", head, err)
		}
	})
}

// TestRevokedKeyPreventsResume checks that a parked run whose key was revoked does not resume at its deadline: the
// model is not called for it.
func TestRevokedKeyPreventsResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		model := agenttest.Script(agenttest.Call("a", "draw", `{}`), agenttest.Say("Nobody drew."))
		r := newRig(t, model, []tool.Tool{client("draw")}, func(_ *agent.Assistant, o *agent.Options) {
			o.Standing = func(context.Context, string) error {
				if gone.Load() {
					return footnote.Errorf(footnote.Unauthorized, "The API key was revoked.")
				}
				return nil
			}
		})
		ticket := r.submit(agent.Turn{Text: "go", Key: "key1", OnDisconnect: agent.Continue})
		synctest.Wait()
		head, err := r.log.Get(t.Context(), ticket.Conversation)
		if err != nil || head.RunState != "parked" {
			t.Fatalf("want a parked run: %+v, %v", head, err)
		}
		gone.Store(true)
		time.Sleep(time.Until(head.Deadline) + time.Minute)
		synctest.Wait()
		var last footnote.Body
		for ev := range r.log.Events(t.Context(), ticket.Conversation, 0) {
			last = ev.Body
		}
		if !stoppedBy(last, "revoked") {
			t.Errorf("the run ended with %+v", last)
		}
		if n := len(model.Requests()); n != 1 {
			t.Errorf("the model was called %d times", n)
		}
	})
}

// reads is a log that counts calls of Events.
type reads struct {
	agent.Log
	n atomic.Int64
}

func (r *reads) Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error] {
	r.n.Add(1)
	return r.Log.Events(ctx, stream, after)
}

// TestRevokedKeyEndsParkedRun checks that a parked run ends within seconds after its key was revoked, whichever engine
// began it. A parked run of another key keeps waiting, and its log is not read repeatedly.
func TestRevokedKeyEndsParkedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := agenttest.Script(agenttest.Call("a", "draw", `{}`), agenttest.Call("a", "draw", `{}`),
			agenttest.Say("Drawn."))
		var log *faulty
		var counted *reads
		standing := func(_ *agent.Assistant, o *agent.Options) {
			log = o.Log.(*faulty)
			counted = &reads{Log: log}
			o.Log = counted
			o.Standing = func(ctx context.Context, id string) error {
				k, err := log.Key(ctx, id)
				if err == nil && !k.Revoked.IsZero() {
					err = footnote.Errorf(footnote.Unauthorized, "The API key was revoked.")
				}
				return err
			}
		}
		r := newRig(t, script, []tool.Tool{client("draw")}, standing)
		for _, id := range []string{"key1", "key2"} {
			if err := log.AddKey(t.Context(), store.Key{ID: id, Principal: alice}); err != nil {
				t.Fatal(err)
			}
		}
		lost := r.submit(agent.Turn{Text: "go", Key: "key1", OnDisconnect: agent.Continue})
		synctest.Wait()
		kept := r.submit(agent.Turn{Text: "go", Key: "key2", OnDisconnect: agent.Continue})
		synctest.Wait()
		if err := log.RevokeKey(t.Context(), "key1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		var end []footnote.Body
		for ev := range log.Events(t.Context(), lost.Conversation, 0) {
			end = append(end, ev.Body)
		}
		end = end[len(end)-2:]
		if res, ok := end[0].(footnote.ToolResult); !ok || !res.IsError || !stoppedBy(end[1], "revoked") {
			t.Errorf("the run ended with %+v", end)
		}
		if head, err := log.Get(t.Context(), kept.Conversation); err != nil || head.RunState != "parked" {
			t.Errorf("the run of the other key: %+v, %v", head, err)
		}
		before := counted.n.Load()
		time.Sleep(time.Minute)
		if n := counted.n.Load() - before; n != 0 {
			t.Errorf("in a minute it was read %d times", n)
		}
		if err := log.RevokeKey(t.Context(), "key2"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if head, err := log.Get(t.Context(), kept.Conversation); err != nil || head.RunState != "" {
			t.Errorf("when its key is revoked, too: %+v, %v", head, err)
		}
	})
}

func stoppedBy(b footnote.Body, by string) bool {
	s, ok := b.(footnote.RunStopped)
	return ok && s.By == by
}

// crashed creates the log of a killed process: a run with calls that have no result, and no lease.
func crashed(t *testing.T, r *rig, policy string, recoveries int, calls ...json.RawMessage) string {
	t.Helper()
	bodies := []footnote.Body{
		footnote.Opened{
			Assistant: "analyst", Model: "scripted", System: footnote.DigestOf([]byte(`[]`)),
			Tools: footnote.DigestOf([]byte(`[]`)),
		},
		footnote.UserMessage{Text: "go"},
		footnote.RunStarted{
			Protocol: "test", OnDisconnect: policy, RequestID: "req_1", Roles: []string{"finance"},
			Attributes: map[string]string{"region": "EU"}, MaxTokens: 77,
		},
		footnote.AssistantMessage{Step: 1, Blocks: calls, StopReason: model.ToolUse},
	}
	for n := range recoveries {
		bodies = append(bodies, footnote.RunResumed{Attempt: n + 1, Reason: "recovered"})
	}
	_, err := r.log.CreateAppend(t.Context(), footnote.Stream{
		ID: "conv_crashed", Kind: "conversation", Org: alice.Org, User: alice.User, Assistant: "analyst",
	},
		footnote.Append{
			Run:    "run_1",
			Bodies: bodies,
			Blobs:  map[footnote.Digest][]byte{footnote.DigestOf([]byte(`[]`)): []byte(`[]`)},
		})
	if err != nil {
		t.Fatal(err)
	}
	return "conv_crashed"
}

func TestRecovery(t *testing.T) {
	for name, c := range map[string]struct {
		policy     string
		recoveries int
		want       string
	}{
		"cancel":                   {agent.Cancel, 0, "run_stopped"},
		"continue":                 {agent.Continue, 0, "run_finished"},
		"it crashes every process": {agent.Continue, 3, "run_stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran []string
				newTool := func(name string, readOnly bool) tool.Tool {
					return agenttest.NewTool(tool.Spec{
						Name:     name,
						ReadOnly: readOnly,
					}, func(_ context.Context, c tool.Call) (tool.Output, error) {
						if p := c.Principal; p.User != alice.User || !slices.Equal(p.Roles, []string{"finance"}) ||
							p.Attributes["region"] != "EU" {
							t.Errorf("the call of %s is made for %+v", name, p)
						}
						ran = append(ran, name)
						return tool.Output{Content: "ran " + name}, nil
					})
				}
				model := agenttest.Script(agenttest.Say("ok"))
				r := newRig(t, model, []tool.Tool{newTool("read", true), newTool("write", false)},
					func(a *agent.Assistant, _ *agent.Options) { a.Policy.Approve = []string{"*"} })
				id := crashed(t, r, c.policy, c.recoveries, agenttest.CallBlock("a", "read", `{}`),
					agenttest.CallBlock("b", "write", `{}`))
				for range 2 {
					if err := r.engine.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				var last footnote.Body
				for ev := range r.log.Events(t.Context(), id, 0) {
					last = ev.Body
				}
				results := bodies[footnote.ToolResult](r, id)
				if footnote.KindOf(last) != c.want || r.terminals(id) != 1 || len(results) != 2 {
					t.Fatalf("last = %+v, results %+v", last, results)
				}
				for _, req := range model.Requests() {
					if req.MaxTokens != 77 || !slices.Equal(req.Principal.Roles, []string{"finance"}) {
						t.Errorf("the model is asked for %d tokens by %+v", req.MaxTokens, req.Principal)
					}
				}
				if stopped, ok := last.(footnote.RunStopped); ok && (stopped.By != "interrupted" || ran != nil) {
					t.Errorf("stopped by %s, ran %v", stopped.By, ran)
				}
				if c.want == "run_finished" &&
					(strings.Join(ran, " ") != "read" || !strings.Contains(results[1].Content, "may have run")) {
					t.Errorf("ran %v, results %+v", ran, results)
				}
			})
		})
	}
}

// TestRecoveredRunKeepsItsTurn checks that the properties of a turn are stored when a run starts and survive a park.
func TestRecoveredRunKeepsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.Script(agenttest.Call("a", "draw", `{}`), agenttest.Say("ok"))
		r := newRig(t, model, []tool.Tool{client("draw")})
		ticket := r.submit(agent.Turn{
			Text:      "draw",
			MaxTokens: 55,
			Principal: footnote.Principal{Org: alice.Org, User: alice.User, Roles: []string{"finance"}},
		})
		r.read(ticket)
		started := bodies[footnote.RunStarted](r, ticket.Conversation)
		if len(started) != 1 || started[0].MaxTokens != 55 || !slices.Equal(started[0].Roles, []string{"finance"}) {
			t.Errorf("started = %+v", started)
		}
		r.read(r.submit(agent.Turn{
			Conversation: ticket.Conversation,
			Answers:      []tool.Answer{{CallID: "a", Content: "drawn"}},
		}))
		for n, req := range model.Requests() {
			if req.MaxTokens != 55 {
				t.Errorf("call %d of the model: %d tokens", n+1, req.MaxTokens)
			}
		}
	})
}

func TestActiveTimeExcludesParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		model := modelFunc(func(ctx context.Context, _ model.Request, _ model.Live) (model.Reply, error) {
			if first {
				first = false
				time.Sleep(3 * time.Minute)
				return model.Reply{
					Message: footnote.AssistantMessage{
						Blocks:     agenttest.Call("a", "draw", `{}`).Blocks,
						StopReason: model.ToolUse,
					},
				}, nil
			}
			<-ctx.Done()
			return model.Reply{}, context.Cause(ctx)
		})
		r := newRig(t, nil, []tool.Tool{client("draw")}, use(model))
		ticket := r.submit(agent.Turn{Text: "draw"})
		r.read(ticket)
		time.Sleep(4 * time.Minute) // waiting for the client does not count
		begun := time.Now()
		answered := r.submit(agent.Turn{
			Conversation: ticket.Conversation,
			Answers:      []tool.Answer{{CallID: "a", Content: "drawn"}},
		})
		_, last := r.read(answered)
		f, ok := last.(footnote.RunFailed)
		if took := time.Since(begun); !ok || f.Code != footnote.AgentTimeout || took != time.Minute ||
			f.Millis != 240_000 {
			t.Errorf("last = %+v after %s", last, took)
		}
	})
}

func TestNonconformingModelServers(t *testing.T) {
	dup := agenttest.CallBlock("call_0", "run_query", `{}`)
	for name, c := range map[string]struct {
		script []agenttest.Reply
		ids    string
	}{
		"ids numbered anew": {
			[]agenttest.Reply{agenttest.Calls(dup), agenttest.Calls(dup), agenttest.Say("ok")}, "call_0 call_0_2",
		},
		"one id for all": {
			[]agenttest.Reply{agenttest.Calls(dup, dup, dup), agenttest.Say("ok")}, "call_0 call_0_2 call_0_3",
		},
		"ids that collide": {[]agenttest.Reply{
			agenttest.Calls(dup, agenttest.CallBlock("call_0_2", "run_query", `{}`), dup), agenttest.Say("ok"),
		},
			"call_0 call_0_2 call_0_3"},
		"no id": {
			[]agenttest.Reply{agenttest.Calls(agenttest.CallBlock("", "run_query", `{}`)), agenttest.Say("ok")}, "_2",
		},
		"end_turn": {
			[]agenttest.Reply{{Blocks: []json.RawMessage{dup}, Stop: model.EndTurn}, agenttest.Say("ok")}, "call_0",
		},
		"invalid JSON": {
			[]agenttest.Reply{
				{Blocks: []json.RawMessage{json.RawMessage(`{"type"`), dup}, Stop: model.ToolUse}, agenttest.Say("ok"),
			}, "call_0",
		},
		"cut, and again": {
			[]agenttest.Reply{
				{
					Blocks: []json.RawMessage{dup},
					Stop:   model.MaxTokens,
				}, {Blocks: []json.RawMessage{dup}, Stop: model.MaxTokens}, agenttest.Say("ok"),
			}, "call_0 call_0_2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, agenttest.Script(c.script...), []tool.Tool{rows("run_query")})
				ticket := r.submit(agent.Turn{Text: "go"})
				reader := r.engine.Subscribe(ticket)
				defer reader.Close()
				var ids, results []string
				for over := false; !over; {
					batch, err := reader.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range batch {
						if e.Event == nil {
							if e.Delta.Op == footnote.BlockStarted && e.Delta.Kind == model.ToolUseBlock {
								ids = append(ids, e.Delta.ID)
							}
							continue
						}
						if res, ok := e.Event.Body.(footnote.ToolResult); ok {
							results = append(results, res.CallID)
						}
						over = footnote.Terminal(e.Event.Body)
					}
				}
				if got := strings.Join(ids, " "); got != c.ids || strings.Join(results, " ") != got {
					t.Errorf("shown %q, answered %q, want %q", got, results, c.ids)
				}
				if r.terminals(ticket.Conversation) != 1 {
					t.Errorf("%d terminals", r.terminals(ticket.Conversation))
				}
			})
		})
	}
}

// TestTextAfterPausedTurnIsStreamed checks that the text after a paused turn is streamed.
func TestTextAfterPausedTurnIsStreamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		calls := 0
		r := newRig(t, nil, nil,
			use(modelFunc(func(_ context.Context, _ model.Request, l model.Live) (model.Reply, error) {
				if calls++; calls == 1 {
					reply := say("one ")
					reply.Message.StopReason = model.PauseTurn
					return reply, nil
				}
				l.Start(0, model.TextBlock, "", "")
				l.Delta(0, []byte("two"))
				l.Flush()
				<-gate
				return say("two"), nil
			})))
		reader := r.engine.Subscribe(r.submit(agent.Turn{Text: "go"}))
		defer reader.Close()
		synctest.Wait()
		batch, err := reader.Next(t.Context())
		if err != nil || string(batch[len(batch)-1].Delta.Escaped) != "two" {
			t.Errorf("last entry %+v, %v", batch[len(batch)-1], err)
		}
		close(gate)
	})
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := newRig(t, agenttest.Script(agenttest.Reply{
			Wait:   gate,
			Blocks: agenttest.Say("ok").Blocks,
			Stop:   model.EndTurn,
		}, agenttest.Reply{Hang: true}), nil)
		one := r.submit(agent.Turn{Text: "go"})
		synctest.Wait()
		two := r.submit(agent.Turn{Text: "go"})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { r.engine.Drain(ctx) })
		}
		synctest.Wait()
		_, err := r.engine.Submit(t.Context(), agent.Turn{Text: "late", Principal: alice})
		if footnote.CodeOf(err) != footnote.ModelUnavailable {
			t.Errorf("CodeOf(%v), want model_unavailable", err)
		}
		if _, _, err := r.engine.Complete(t.Context(), alice,
			"late"); footnote.CodeOf(err) != footnote.ModelUnavailable {
			t.Errorf("Complete: CodeOf(%v), want model_unavailable", err)
		}
		close(gate)
		wg.Wait()
		if _, last := r.read(one); footnote.KindOf(last) != "run_finished" {
			t.Errorf("the run that could finish: %+v", last)
		}
		if _, last := r.read(two); last != (footnote.RunStopped{By: "shutdown", Millis: 10_000}) {
			t.Errorf("the run that could not finish: %+v", last)
		}
		r.engine.Drain(ctx)
	})
}

// TestRepeatedStartAndStop starts and stops engines while turns arrive. Every run that began must end.
func TestRepeatedStartAndStop(t *testing.T) {
	log := sqlitetest.New(t)
	for range 30 {
		h := hub.New()
		a := &agent.Assistant{Name: "analyst", ModelName: "m",
			Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
				return agent.Opening{System: json.RawMessage(`[]`)}, nil
			}, Model: modelFunc(func(ctx context.Context, _ model.Request, l model.Live) (model.Reply, error) {
				l.Start(0, model.TextBlock, "", "")
				l.Delta(0, []byte("ok"))
				return say("ok"), ctx.Err()
			})}
		e, err := agent.New(agent.Options{Log: log, Hub: h, Assistants: []*agent.Assistant{a}})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					ticket, err := e.Submit(t.Context(), agent.Turn{Text: "go", Principal: alice})
					if err != nil {
						return
					}
					_ = e.Stop(t.Context(), ticket.Conversation, "user")
					e.Subscribe(ticket).Close()
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		e.Drain(ctx)
		cancel()
		wg.Wait()
		h.Close()
	}
	heads, err := log.Unfinished(t.Context(), time.Now().Add(time.Hour), 1000)
	if err != nil || len(heads) != 0 {
		t.Errorf("%d runs have not ended, %v", len(heads), err)
	}
}

func TestComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		mode := "say"
		r := newRig(t, nil, nil,
			use(modelFunc(func(ctx context.Context, req model.Request, _ model.Live) (model.Reply, error) {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				switch mode {
				case "panic":
					panic("secret")
				case "hang":
					<-ctx.Done()
					return model.Reply{}, context.Cause(ctx)
				}
				time.Sleep(time.Second)
				return say("title of " + string(req.Messages[0].Content)), nil
			})))
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				if text, _, err := r.engine.Complete(t.Context(), alice, "hello"); err != nil ||
					!strings.Contains(text, "hello") {
					t.Errorf("Complete: %q, %v", text, err)
				}
			})
		}
		wg.Wait()
		if most.Load() != 4 {
			t.Errorf("%d calls side by side, want 4", most.Load())
		}
		code := func(what string, want footnote.Code, prompt string) {
			t.Helper()
			if _, _, err := r.engine.Complete(t.Context(), alice, prompt); footnote.CodeOf(err) != want ||
				strings.Contains(footnote.MessageOf(err), "secret") {
				t.Errorf("%s: CodeOf(%v), want %s", what, err, want)
			}
		}
		code("too long", footnote.InputTooLong, strings.Repeat("x", 100_001))
		mode = "panic"
		code("panic", footnote.Internal, "x")
		mode = "hang"
		code("too slow", footnote.AgentTimeout, "x")
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("the client left")
		cancel(left)
		if _, _, err := r.engine.Complete(ctx, alice, "x"); !errors.Is(err, left) {
			t.Errorf("err = %v, want %v", err, left)
		}
		ended := make(chan error)
		go func() { _, _, err := r.engine.Complete(t.Context(), alice, "x"); ended <- err }()
		synctest.Wait()
		now2, cancel2 := context.WithCancel(t.Context())
		cancel2()
		go r.engine.Drain(now2)
		if err := <-ended; footnote.CodeOf(err) != footnote.ModelUnavailable {
			t.Errorf("CodeOf(%v), want model_unavailable", err)
		}
	})
}

func TestInvalidAssistants(t *testing.T) {
	opening := func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
		return agent.Opening{}, nil
	}
	newTool := func(name, schema string) tool.Tool {
		return agenttest.NewTool(tool.Spec{Name: name, InputSchema: json.RawMessage(schema)}, nil)
	}
	for name, a := range map[string]*agent.Assistant{
		"no model":   {Name: "a", Opening: opening},
		"no opening": {Name: "a", Model: agenttest.Script()},
		"no name":    {Model: agenttest.Script(), Opening: opening},
		"bad glob": {
			Name: "a", Model: agenttest.Script(), Opening: opening, Policy: agent.Policy{Deny: []string{"[a"}},
		},
		"two tools": {
			Name: "a", Model: agenttest.Script(), Opening: opening,
			Tools: []tool.Tool{newTool("t", `{}`), newTool("t", `{}`)},
		},
		"bad tool name": {
			Name: "a", Model: agenttest.Script(), Opening: opening, Tools: []tool.Tool{newTool("t t", `{}`)},
		},
		"broken schema": {
			Name: "a", Model: agenttest.Script(), Opening: opening, Tools: []tool.Tool{newTool("t", `{`)},
		},
		"its own double": {Name: "a", Aliases: []string{"a"}, Model: agenttest.Script(), Opening: opening},
	} {
		if _, err := agent.New(agent.Options{
			Log:        sqlitetest.New(t),
			Hub:        hub.New(),
			Assistants: []*agent.Assistant{a},
		}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPolicy(t *testing.T) {
	read := func(name string) tool.Spec { return tool.Spec{Name: name, ReadOnly: true} }
	for _, c := range []struct {
		policy agent.Policy
		spec   tool.Spec
		want   string
	}{
		{agent.Policy{}, read("q"), agent.Allow},
		{agent.Policy{}, tool.Spec{Name: "w"}, agent.Ask},
		{agent.Policy{}, tool.Spec{Name: "w", Side: tool.Client, ReadOnly: true}, agent.Allow},
		{agent.Policy{Approve: []string{"w*"}}, tool.Spec{Name: "write"}, agent.Allow},
		{agent.Policy{Approve: []string{"w*"}}, read("q"), agent.Ask},
		{agent.Policy{Offer: []string{"run_*"}}, read("run_query"), agent.Allow},
		{agent.Policy{Offer: []string{"run_*"}}, read("query"), agent.Unlisted},
		{
			agent.Policy{
				Approve: []string{"*"},
				Offer:   []string{"*"},
				Deny:    []string{"run_*"},
			}, read("run_query"), agent.Deny,
		},
		{agent.Policy{Approve: []string{"run_query"}, Deny: []string{"*"}}, read("run_query"), agent.Deny},
	} {
		if got := c.policy.Verdict(c.spec); got != c.want {
			t.Errorf("%+v says %q of %s, want %q", c.policy, got, c.spec.Name, c.want)
		}
	}
}
