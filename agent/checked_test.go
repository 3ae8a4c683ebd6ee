package agent_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// pen is a Checked client tool.
type pen struct {
	checked  []string // ids of the checked calls, each with those before it: "b<a"
	accepted []string
	mu       sync.Mutex        // guards effects: servers share a pen
	effects  map[string]string // inputs of the calls that took effect, by call id
	fail     error
	accepts  func() // called when an answer has been accepted, before it is stored
}

func (*pen) Spec() tool.Spec {
	return tool.Spec{Name: "draw", Side: tool.Client, ReadOnly: true, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (*pen) Call(context.Context, tool.Call) (tool.Output, error) {
	panic("a client's tool was called")
}

func (p *pen) Check(_ context.Context, c tool.Call, before []tool.Call) (string, error) {
	ids := c.ID
	for _, b := range before {
		ids += "<" + b.ID
	}
	p.checked = append(p.checked, ids)
	if strings.Contains(string(c.Input), "wrong") {
		return "That is not on the chart.", nil
	}
	return "", nil
}

func (p *pen) Accept(_ context.Context, c tool.Call, a tool.Answer) (tool.Output, error) {
	p.accepted = append(p.accepted, c.ID+" "+a.Content+" "+c.Run+" "+string(c.Where))
	if p.fail != nil {
		return tool.Output{}, p.fail
	}
	if a.Content == "refused" {
		return tool.Fail("It was not drawn."), nil
	}
	p.mu.Lock()
	if p.effects == nil {
		p.effects = map[string]string{}
	}
	p.effects[c.ID] = string(c.Input)
	p.mu.Unlock()
	if p.accepts != nil {
		p.accepts()
	}
	return tool.Output{Content: `{"ok":true,"n":1}`, Detail: json.RawMessage(`{"kind":"drawing"}`)}, nil
}

func (p *pen) Withdraw(_ context.Context, c tool.Call) error {
	if string(c.Where) != "" && !strings.Contains(string(c.Where), "symbol") {
		panic("a call is withdrawn from nowhere")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.effects, c.ID)
	return nil
}

// applied returns the effects that were not withdrawn.
func (p *pen) applied() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.effects)
}

// TestStoredAnswerWins posts opposite answers to one call at two servers at once. The tool accepts the success, but the
// failure is stored, so that the effect of the success must be undone.
func TestStoredAnswerWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := &common{Store: sqlitetest.New(t)}, &pen{}
		first, _ := replica(t, c, agenttest.Script(agenttest.Call("a", "draw", `{}`)), p)
		second, _ := replica(t, c, agenttest.Script(agenttest.Say("Then not.")), p)
		id := begun(t, first, agent.Continue)
		c.until(t, id, "run_parked")
		p.accepts = func() {
			ticket, err := second.Submit(t.Context(), agent.Turn{
				Conversation: id,
				Principal:    alice,
				Answers:      []tool.Answer{{CallID: "a", Content: "The chart is closed.", IsError: true}},
			})
			if err != nil {
				t.Fatal(err)
			}
			second.Subscribe(ticket).Close()
		}
		_, err := first.Submit(t.Context(), agent.Turn{
			Conversation: id,
			Principal:    alice,
			Answers:      answer("a", "ok").Answers,
		})
		if footnote.CodeOf(err) != footnote.CallAnswered {
			t.Errorf("the answer that was not stored: %v", err)
		}
		c.until(t, id, "run_finished")
		if len(p.applied()) != 0 {
			t.Errorf("the call has an error, and the effects %v", p.applied())
		}
	})
}

// TestEffectOfLostAnswerIsUndone lets a server die between the effect of an answer and its result. The client never
// returns, or returns with another answer.
func TestEffectOfLostAnswerIsUndone(t *testing.T) {
	for what, end := range map[string]func(t *testing.T, e *agent.Engine, id string){
		"the call times out": func(*testing.T, *agent.Engine, string) { time.Sleep(10 * time.Minute) },
		"the user sends a message": func(t *testing.T, e *agent.Engine, id string) {
			ticket, err := e.Submit(t.Context(), agent.Turn{Conversation: id, Principal: alice, Text: "never mind"})
			if err != nil {
				t.Fatal(err)
			}
			e.Subscribe(ticket).Close()
		},
		"the client reports a failure": func(t *testing.T, e *agent.Engine, id string) {
			ticket, err := e.Submit(t.Context(), agent.Turn{
				Conversation: id,
				Principal:    alice,
				Answers:      []tool.Answer{{CallID: "a", Content: "The chart is closed.", IsError: true}},
			})
			if err != nil {
				t.Fatal(err)
			}
			e.Subscribe(ticket).Close()
		},
		"the tool rejects the new answer": func(t *testing.T, e *agent.Engine, id string) {
			ticket, err := e.Submit(t.Context(), agent.Turn{
				Conversation: id,
				Principal:    alice,
				Answers:      answer("a", "refused").Answers,
			})
			if err != nil {
				t.Fatal(err)
			}
			e.Subscribe(ticket).Close()
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := &common{Store: sqlitetest.New(t)}, &pen{}
				first, log := replica(t, c, agenttest.Script(agenttest.Call("a", "draw", `{}`)), p)
				second, _ := replica(t, c, agenttest.Script(agenttest.Say("Then not.")), p)
				id := begun(t, first, agent.Continue)
				c.until(t, id, "run_parked")
				p.accepts = func() { log.dead.Store(true) }
				if _, err := first.Submit(t.Context(), agent.Turn{
					Conversation: id,
					Principal:    alice,
					Answers:      answer("a", "ok").Answers,
				}); err == nil {
					t.Fatal("a dead server has stored the answer")
				}
				if len(p.applied()) != 1 {
					t.Fatal("the crash came before the effect")
				}
				end(t, second, id)
				c.until(t, id, "tool_result")
				synctest.Wait()
				if len(p.applied()) != 0 {
					t.Errorf("the call has an error, and the effects %v", p.applied())
				}
			})
		})
	}
}

func TestCallsAreCheckedBeforeParking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pen{}
		model := agenttest.Script(
			agenttest.Calls(agenttest.CallBlock("a", "draw", `{}`), agenttest.CallBlock("b", "draw", `{"at":"wrong"}`),
				agenttest.CallBlock("c", "draw", `{}`)),
			agenttest.Say("Drawn."),
		)
		r := newRig(t, model, []tool.Tool{p})
		ticket := r.parked(agent.Turn{Text: "draw"})
		if got := strings.Join(p.checked, " "); got != "a b<a c<a" {
			t.Errorf("checked %s", got)
		}
		if parked := bodies[footnote.RunParked](r, ticket.Conversation); strings.Join(parked[0].Calls, " ") != "a c" {
			t.Errorf("the client is to answer %v", parked[0].Calls)
		}
		refused := bodies[footnote.ToolResult](r, ticket.Conversation)
		if len(refused) != 1 || !refused[0].IsError || refused[0].Content != "That is not on the chart." ||
			refused[0].By != "server" {
			t.Errorf("refused calls: %+v", refused)
		}
		r.refused("an answer to a call that was refused", ticket.Conversation, footnote.CallClosed, answer("b", "ok"))
		r.must(ticket.Conversation, answer("a", "ok"))
		r.must(ticket.Conversation, agent.Turn{
			Answers: []tool.Answer{{CallID: "c", Content: "The chart is closed.", IsError: true}},
		})
		if len(p.applied()) != 1 || p.applied()["a"] != `{}` {
			t.Errorf("effects %v", p.applied())
		}
		results := bodies[footnote.ToolResult](r, ticket.Conversation)
		if got := results[1]; got.Content != `{"ok":true,"n":1}` || string(got.Detail) != `{"kind":"drawing"}` ||
			got.By != "client" {
			t.Errorf("result of the accepted call: %+v", got)
		}
		if got := results[2]; got.Content != "The chart is closed." || !got.IsError {
			t.Errorf("result of the failed call: %+v", got)
		}
		if again, err := r.post(ticket.Conversation, answer("a", "ok")); err != nil || !again.Duplicate {
			t.Errorf("the same answer again: %+v, %v", again, err)
		}
	})
}

// TestLostEffectIsRepeated checks that an answer is acknowledged only when its effect and its result exist, and that
// the client may send it again until then.
func TestLostEffectIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pen{fail: footnote.Errorf(footnote.StorageUnavailable, "The drawings cannot be stored.")}
		model := agenttest.Script(agenttest.Call("a", "draw", `{}`), agenttest.Say("Drawn."))
		r := newRig(t, model, []tool.Tool{p})
		ticket := r.parked(agent.Turn{Text: "draw"})
		r.refused("an answer without its effect", ticket.Conversation, footnote.StorageUnavailable, answer("a", "ok"))
		p.fail = nil
		r.log.fail.Store(footnote.Errorf(footnote.StorageUnavailable, "The disk is full."))
		r.refused("an answer that is not stored", ticket.Conversation, footnote.StorageUnavailable, answer("a", "ok"))
		r.log.fail.Store(nil)
		if len(p.applied()) != 1 {
			t.Fatal("the crash came before the effect")
		}
		r.restart([]tool.Tool{p}) // between the effect and the result
		r.must(ticket.Conversation, answer("a", "ok"))
		if n := len(bodies[footnote.ToolResult](r, ticket.Conversation)); len(p.accepted) != 3 || n != 1 ||
			r.terminals(ticket.Conversation) != 1 {
			t.Errorf("accepted %v, %d results", p.accepted, n)
		}
	})
}

// place is a Setting that records the places it describes.
type place struct{ told []string }

func (*place) Check(where json.RawMessage) (json.RawMessage, error) {
	if !strings.Contains(string(where), "symbol") {
		return nil, footnote.Invalidf("There is no symbol.")
	}
	return where, nil
}

func (p *place) Describe(_ context.Context, _ footnote.Principal, where json.RawMessage) string {
	p.told = append(p.told, string(where))
	return "The chart shows " + string(where) + "."
}

func TestMessagePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := &place{}
		p := &pen{}
		model := agenttest.Script(agenttest.Say("One."), agenttest.Say("Two."), agenttest.Say("Three."),
			agenttest.Call("a", "draw", `{}`))
		r := newRig(t, model, []tool.Tool{p}, func(a *agent.Assistant, _ *agent.Options) { a.Setting = at })
		first := r.submit(agent.Turn{Text: "one", Context: "More.", Where: json.RawMessage(`{"symbol":"EURUSD"}`)})
		r.read(first)
		synctest.Wait()
		r.must(first.Conversation, agent.Turn{Text: "two"})
		r.must(first.Conversation, agent.Turn{Regenerate: true})
		r.must(first.Conversation, agent.Turn{Text: "draw", Where: json.RawMessage(`{"symbol":"XAUUSD"}`)})
		if got := strings.Join(at.told,
			" "); got != `{"symbol":"EURUSD"} {"symbol":"EURUSD"} {"symbol":"EURUSD"} {"symbol":"XAUUSD"}` {
			t.Errorf("described: %s", got)
		}
		said := bodies[footnote.UserMessage](r, first.Conversation)
		if got := said[0].Context; !strings.Contains(got, "More.\nThe chart shows") ||
			string(said[2].Where) != `{"symbol":"EURUSD"}` || strings.Count(said[2].Context, "chart") != 1 {
			t.Errorf("place in the messages: %q, %+v", got, said[2])
		}
		if system := string(model.Requests()[0].System); strings.Contains(system, "chart") {
			t.Errorf("the frozen prompt has it: %s", system)
		}
		r.must(first.Conversation, answer("a", "ok"))
		if !strings.Contains(strings.Join(p.accepted, ""), "XAUUSD") {
			t.Errorf("the call is made at %v", p.accepted)
		}
		r.refused("an invalid place", "", footnote.InvalidRequest, agent.Turn{
			Text:  "x",
			Where: json.RawMessage(`{}`),
		})
		r.restart(nil)
		r.refused("an assistant without a setting", "", footnote.InvalidRequest, agent.Turn{
			Text:  "x",
			Where: json.RawMessage(`{"symbol":"EURUSD"}`),
		})
	})
}
