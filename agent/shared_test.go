package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
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

// common is a log in memory that several engines share.
type common struct {
	store.Store
	mu    sync.Mutex // guards stops
	stops []footnote.StopAsked
}

func (c *common) AskStop(_ context.Context, stream, run, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stops = append(c.stops, footnote.StopAsked{Stream: stream, Run: run, By: by})
	return nil
}

// StopsAsked returns the stop requests for all running runs, even for leases of other engines. An engine ignores
// those for runs that it does not drive.
func (c *common) StopsAsked(ctx context.Context, owner string) (asked []footnote.StopAsked, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.stops {
		head, err := c.Get(ctx, s.Stream)
		if err != nil {
			return nil, err
		}
		if head.Run == s.Run && (owner != "" || head.RunState == "parked") {
			asked = append(asked, s)
		}
	}
	return asked, nil
}

// mortal is the log as one server sees it. Once dead is set, the server can no longer use the log, like a process after
// kill -9.
type mortal struct {
	*common
	dead atomic.Bool
}

var errDead = errors.New("dead")

func (m *mortal) CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.common.CreateAppend(ctx, s, a)
}

func (m *mortal) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.common.Append(ctx, a)
}

func (m *mortal) Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error {
	if m.dead.Load() {
		return errDead
	}
	return m.common.Renew(ctx, stream, token, ttl)
}

func (m *mortal) Release(ctx context.Context, stream string, token int64) error {
	if m.dead.Load() {
		return errDead
	}
	return m.common.Release(ctx, stream, token)
}

func (m *mortal) Unfinished(ctx context.Context, now time.Time, limit int) ([]footnote.Stream, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.common.Unfinished(ctx, now, limit)
}

// replica starts one of several engines over a common log.
func replica(t *testing.T, c *common, model model.Model, tools ...tool.Tool) (*agent.Engine, *mortal) {
	t.Helper()
	m := &mortal{common: c}
	return engineOver(t, m, nil, model, tools...), m
}

// sharedLog is a log that several engines share.
type sharedLog interface {
	agent.Log
	agent.Shared
}

func engineOver(t *testing.T, log sharedLog, logger *slog.Logger, model model.Model, tools ...tool.Tool) *agent.Engine {
	t.Helper()
	e, err := agent.New(agent.Options{Log: log, Shared: log, Hub: hub.New(), Logger: logger,
		Assistants: []*agent.Assistant{{
			Name: "analyst", ModelName: "scripted", Model: model, Tools: tools,
			Policy: agent.Policy{Approve: []string{"*"}},
			Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
				return agent.Opening{System: json.RawMessage(`[]`)}, nil
			}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		e.Drain(ctx)
	})
	return e
}

// begun submits a question and returns its conversation.
func begun(t *testing.T, e *agent.Engine, how string) string {
	t.Helper()
	ticket, err := e.Submit(t.Context(), agent.Turn{Text: "go", Principal: alice, OnDisconnect: how})
	if err != nil {
		t.Fatal(err)
	}
	e.Subscribe(ticket).Close()
	return ticket.Conversation
}

// bodies returns the events of a conversation and their kinds.
func (c *common) bodies(t *testing.T, id string) (all []footnote.Event, kinds string) {
	t.Helper()
	for ev, err := range c.Events(t.Context(), id, 0) {
		if footnote.CodeOf(err) == footnote.NotFound {
			break // its first events are still being written
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
		kinds += footnote.KindOf(ev.Body) + " "
	}
	return all, kinds
}

// until waits, by the fake clock, for an event of a kind. It returns how long it waited.
func (c *common) until(t *testing.T, id, kind string) time.Duration {
	t.Helper()
	begun := time.Now()
	for {
		_, kinds := c.bodies(t, id)
		if strings.Contains(kinds, kind) {
			return time.Since(begun)
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("there is no %s: %s", kind, kinds)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestTakeoverDuringToolCalls lets the engine of a run die while its tools run. Within 10 s another engine must
// continue: it repeats read-only calls, and tells the model that the others may have run. What the dead engine still
// does has no effect.
func TestTakeoverDuringToolCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read, written atomic.Int32
		slow := func(name string, readOnly bool, n *atomic.Int32) tool.Tool {
			return agenttest.NewTool(tool.Spec{
				Name:     name,
				ReadOnly: readOnly,
				Timeout:  time.Minute,
			}, func(ctx context.Context, _ tool.Call) (tool.Output, error) {
				if n.Add(1) == 1 {
					time.Sleep(30 * time.Second) // long after the take-over
				}
				return tool.Output{Content: name + " done"}, nil
			})
		}
		tools := []tool.Tool{slow("look", true, &read), slow("change", false, &written)}
		calls := agenttest.Calls(agenttest.CallBlock("a", "look", `{}`), agenttest.CallBlock("b", "change", `{}`))
		for _, call := range []struct{ id, words string }{{"a", "look done"}, {"b", "may have run"}} {
			read.Store(0)
			written.Store(0)
			if call.id == "b" {
				read.Store(1) // read returns quickly; change hangs
			}
			c := &common{Store: sqlitetest.New(t)}
			first, log := replica(t, c, agenttest.Script(calls), tools...)
			id := begun(t, first, agent.Continue)
			time.Sleep(time.Second)
			log.dead.Store(true)
			second, _ := replica(t, c, agenttest.Script(agenttest.Say("done")), tools...)
			if took := c.until(t, id, "run_resumed"); took > 10*time.Second {
				t.Errorf("taken over after %v", took)
			}
			c.until(t, id, "run_finished")
			time.Sleep(time.Minute)
			events, kinds := c.bodies(t, id)
			if strings.Count(kinds, "tool_result") != 2 || strings.Count(kinds, "run_finished") != 1 ||
				strings.Contains(kinds, "run_stopped") {
				t.Errorf("the events are %s", kinds)
			}
			for _, ev := range events {
				if res, ok := ev.Body.(footnote.ToolResult); ok && res.CallID == call.id &&
					!strings.Contains(res.Content, call.words) {
					t.Errorf("the result of %s is %q; want %q", call.id, res.Content, call.words)
				}
			}
			if read.Load() != 2 || written.Load() > 1 || call.id == "b" && written.Load() != 1 {
				t.Errorf("%s: look ran %d times and change %d times", call.id, read.Load(), written.Load())
			}
			first.Drain(t.Context())
			second.Drain(t.Context())
		}
	})
}

// TestStopRequestBeforePark asks an engine to stop a run that another engine drives. The run parks before that engine
// reads the request.
func TestStopRequestBeforePark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		asks := agenttest.Reply{Wait: gate, Blocks: agenttest.Call("a", "page", `{}`).Blocks, Stop: model.ToolUse}
		c := &common{Store: sqlitetest.New(t)}
		first, log := replica(t, c, agenttest.Script(asks), client("page"))
		second, _ := replica(t, c, agenttest.Script(), client("page"))
		id := begun(t, first, agent.Continue)
		synctest.Wait()
		if err := second.Stop(t.Context(), id, "user"); err != nil {
			t.Fatal(err)
		}
		close(gate)
		c.until(t, id, "run_parked")
		log.dead.Store(true)
		if took := c.until(t, id, "run_stopped"); took > 3*time.Second {
			t.Errorf("stopped after %v", took)
		}
		if events, kinds := c.bodies(t, id); events[len(events)-1].Body.(footnote.RunStopped).By != "user" ||
			strings.Count(kinds, "tool_result") != 1 {
			t.Errorf("the events are %s", kinds)
		}
	})
}

// TestHandOver checks that a run that does not end while its server drains continues on another server if its readers
// may come back, and ends otherwise.
func TestHandOver(t *testing.T) {
	for how, end := range map[string]string{agent.Continue: "run_finished", agent.Cancel: "run_stopped"} {
		synctest.Test(t, func(t *testing.T) {
			c := &common{Store: sqlitetest.New(t)}
			first, _ := replica(t, c, agenttest.Script(agenttest.Reply{Hang: true}))
			replica(t, c, agenttest.Script(agenttest.Say("done")))
			id := begun(t, first, how)
			drain, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			first.Drain(drain)
			if took := c.until(t, id, end); took > 3*time.Second {
				t.Errorf("%s: it ended after %v", how, took)
			}
			time.Sleep(time.Minute)
			_, kinds := c.bodies(t, id)
			if resumed := strings.Contains(kinds, "run_resumed"); resumed != (how == agent.Continue) ||
				strings.Count(kinds, "run_finished")+strings.Count(kinds, "run_stopped") != 1 {
				t.Errorf("%s: the events are %s", how, kinds)
			}
		})
	}
}

// TestAnswerDuringLongCall posts the result of a call to an engine that does not drive the run, while another call is
// still running. The result must be accepted once that call has ended.
func TestAnswerDuringLongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := agenttest.NewTool(tool.Spec{
			Name:     "long",
			ReadOnly: true,
		}, func(context.Context, tool.Call) (tool.Output, error) {
			time.Sleep(25 * time.Second)
			return tool.Output{Content: "done"}, nil
		})
		c := &common{Store: sqlitetest.New(t)}
		calls := agenttest.Calls(agenttest.CallBlock("a", "long", `{}`), agenttest.CallBlock("b", "page", `{}`))
		first, _ := replica(t, c, agenttest.Script(calls), long, client("page"))
		second, _ := replica(t, c, agenttest.Script(agenttest.Say("done")), long, client("page"))
		id := begun(t, first, agent.Continue)
		c.until(t, id, "assistant_message")
		ticket, err := second.Submit(t.Context(), agent.Turn{
			Conversation: id,
			Principal:    alice,
			Answers:      []tool.Answer{{CallID: "b", Content: "42"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		second.Subscribe(ticket).Close()
		c.until(t, id, "run_finished")
	})
}
