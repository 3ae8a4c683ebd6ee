// Package agenttest provides a scripted model and tools made of functions, for tests that run the agent loop.
package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

// Reply is one scripted model message.
type Reply struct {
	Blocks []json.RawMessage
	Stop   string
	Err    error
	// Wait, if not nil, delays the reply until the channel is closed or the call's context ends.
	Wait <-chan struct{}
	// Hang makes the call wait until its context ends, without a reply.
	Hang bool
	Cost footnote.Cost
}

// Say returns a reply that ends the turn with a text.
func Say(text string) Reply {
	return Reply{Blocks: []json.RawMessage{textBlock(text)}, Stop: model.EndTurn}
}

// Call returns a reply that asks for one tool call.
func Call(id, name, input string) Reply { return Calls(CallBlock(id, name, input)) }

// Calls returns a reply that asks for several tool calls.
func Calls(blocks ...json.RawMessage) Reply { return Reply{Blocks: blocks, Stop: model.ToolUse} }

// CallBlock returns the block of one tool call.
func CallBlock(id, name, input string) json.RawMessage {
	call := strictjson.Builder(`{"type":"tool_use"`).Text("id", id).Text("name", name).Raw("input", []byte(input))
	return json.RawMessage(append(call, '}'))
}

func textBlock(text string) json.RawMessage {
	return strictjson.MustEncode(map[string]any{"type": "text", "text": text})
}

// Model replies to each call with the next reply of its script. Calls beyond the script fail.
type Model struct {
	mu       sync.Mutex // guards below
	script   []Reply
	requests []model.Request
}

// Script returns a model with these replies.
func Script(replies ...Reply) *Model { return &Model{script: replies} }

// Requests returns the requests made so far.
func (m *Model) Requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Step implements model.Model.
func (m *Model) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	m.mu.Lock()
	m.requests = append(m.requests, req)
	n := len(m.requests)
	if n > len(m.script) {
		m.mu.Unlock()
		return model.Reply{}, fmt.Errorf("the script has %d replies; call %d was not expected", len(m.script), n)
	}
	r := m.script[n-1]
	m.mu.Unlock()
	if r.Hang {
		<-ctx.Done()
		return model.Reply{}, context.Cause(ctx)
	}
	if r.Wait != nil {
		select {
		case <-r.Wait:
		case <-ctx.Done():
			return model.Reply{}, context.Cause(ctx)
		}
	}
	for i, raw := range r.Blocks {
		show(live, i, raw)
	}
	if r.Err != nil {
		return model.Reply{}, r.Err
	}
	return model.Reply{Message: footnote.AssistantMessage{
		Upstream: fmt.Sprintf("msg_%d", n), Model: "scripted", Blocks: slices.Clone(r.Blocks),
		StopReason: r.Stop,
		Usage:      footnote.Usage{Input: 10, Output: 5}, Cost: r.Cost,
	}}, nil
}

// show reports a block to live in one piece.
func show(live model.Live, i int, raw json.RawMessage) {
	var b struct {
		Type, Text, Thinking, ID, Name string
		Input                          json.RawMessage
	}
	if json.Unmarshal(raw, &b) != nil {
		return
	}
	inside := func(s string) []byte { return strictjson.AppendEscaped(nil, s) }
	live.Start(i, b.Type, b.ID, b.Name)
	switch b.Type {
	case model.TextBlock:
		live.Delta(i, inside(b.Text))
	case model.ThinkingBlock:
		live.Delta(i, inside(b.Thinking))
	case model.ToolUseBlock:
		live.Delta(i, inside(string(b.Input)))
	}
	live.Stop(i)
	live.Flush()
}

// NewTool returns a tool that calls a function.
func NewTool(spec tool.Spec, call func(ctx context.Context, c tool.Call) (tool.Output, error)) tool.Tool {
	if spec.InputSchema == nil {
		spec.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	spec.Side = cmp.Or(spec.Side, tool.Server)
	return scripted{spec, call}
}

type scripted struct {
	spec tool.Spec
	call func(ctx context.Context, c tool.Call) (tool.Output, error)
}

func (t scripted) Spec() tool.Spec { return t.spec }

func (t scripted) Call(ctx context.Context, c tool.Call) (tool.Output, error) { return t.call(ctx, c) }
