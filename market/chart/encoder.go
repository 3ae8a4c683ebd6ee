package chart

import (
	"encoding/json"
	"fmt"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/tool"
)

// Options select what an Encoder shows.
type Options struct {
	Conversation, Run string
	Tools             []agent.ToolInfo // the assistant's tools
}

// Encoder writes a run as frames: text as it grows, tools as they are called and answered, and client calls
// once the run waits for them, because by then each has been validated. It is done when the run is over, not
// while the run waits.
type Encoder struct {
	opt      Options
	client   map[string]bool // tools that the client runs, by name
	calls    map[string]call
	model    string
	cites    []footnote.Cite
	verified []footnote.VerifiedResult

	begun     bool
	step      int  // newest complete step
	textShown bool // text of the current step was shown
	done      bool
	err       error
}

type call struct {
	name  string
	input json.RawMessage
	shown bool // as a tool_use or a client_tool
}

// NewEncoder returns the encoder of one run.
func NewEncoder(o Options) *Encoder {
	e := &Encoder{opt: o, client: map[string]bool{}, calls: map[string]call{}}
	for _, t := range o.Tools {
		e.client[t.Name] = t.Side == tool.Client
	}
	return e
}

// Done reports whether the stream is complete.
func (e *Encoder) Done() bool { return e.done }

// Err returns why a complete stream has no answer, or nil.
func (e *Encoder) Err() error { return e.err }

// Open starts a stream before its first event, if that is slow to come.
func (e *Encoder) Open(dst []byte) []byte {
	e.begun = true
	return append(dst, ": open\n\n"...)
}

// Fail ends the stream with an error.
func (e *Encoder) Fail(dst []byte, err error) []byte {
	e.begun, e.done, e.err = true, true, err
	return frame(dst, "error", struct {
		Code    footnote.Code `json:"code"`
		Message string        `json:"message"`
	}{footnote.CodeOf(err), footnote.MessageOf(err)})
}

// frame appends a frame; kind is both its event name and the type in its data.
func frame(dst []byte, kind string, data any) []byte {
	rest := "}"
	if body := encode(data); len(body) > 2 {
		rest = "," + string(body[1:])
	}
	return fmt.Appendf(dst, "event: %[1]s\ndata: {\"type\":\"%[1]s\"%[2]s\n\n", kind, rest)
}

// Delta appends the frames of a delta.
func (e *Encoder) Delta(dst []byte, d footnote.Delta) []byte {
	if e.done || d.Run != e.opt.Run || d.Step <= e.step {
		return dst
	}
	switch {
	case d.Op == footnote.BlockGrew && d.Kind == model.TextBlock && len(d.Escaped) > 0:
		e.begun, e.textShown = true, true
		dst = append(dst, "event: text\ndata: {\"type\":\"text\",\"delta\":\""...)
		return append(append(dst, d.Escaped...), "\"}\n\n"...)
	case d.Op == footnote.BlockStarted && d.Kind == model.ToolUseBlock && !e.client[d.Name]:
		return e.use(dst, d.ID, d.Name)
	case d.Op == footnote.StepBroke && e.textShown:
		e.textShown = false
		return frame(dst, "discard", struct{}{})
	}
	return dst
}

// use shows a call of a server-side tool, once.
func (e *Encoder) use(dst []byte, id, name string) []byte {
	c := e.calls[id]
	if c.shown {
		return dst
	}
	c.name, c.shown = name, true
	e.calls[id] = c
	e.begun = true
	return frame(dst, "tool_use", struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}{id, name})
}

// Event appends the frames of an event.
func (e *Encoder) Event(dst []byte, ev footnote.Event) []byte {
	if e.done || ev.Run != e.opt.Run {
		return dst
	}
	switch b := ev.Body.(type) {
	case footnote.AssistantMessage:
		return e.message(dst, b)
	case footnote.ToolResult:
		return e.result(dst, b)
	case footnote.RunParked:
		return e.parked(dst, b)
	case footnote.Answered:
		e.cites, e.verified = b.Cites, b.Verified
	case footnote.RunFinished:
		return e.finish(dst, b.Reason, b.Usage, b.Cost)
	case footnote.RunStopped, footnote.RunFailed:
		if err := protocol.RunError(b); err != nil {
			return e.failed(dst, err)
		}
		if s, ok := b.(footnote.RunStopped); ok {
			return e.finish(dst, s.By, s.Usage, s.Cost)
		}
	}
	return dst
}

// message shows the part of a message that was not shown as deltas.
func (e *Encoder) message(dst []byte, m footnote.AssistantMessage) []byte {
	e.model = m.Model
	for _, b := range agent.Shown(m.Blocks) {
		switch {
		case b.Kind == model.TextBlock && b.Text != "" && !e.textShown:
			e.begun = true
			dst = frame(dst, "text", struct {
				Delta string `json:"delta"`
			}{b.Text})
		case b.Kind == model.ToolUseBlock:
			c := e.calls[b.ID]
			c.name, c.input = b.Name, b.Input
			if e.calls[b.ID] = c; !e.client[b.Name] {
				dst = e.use(dst, b.ID, b.Name)
			}
		}
	}
	e.step, e.textShown = m.Step, false
	return dst
}

func (e *Encoder) result(dst []byte, r footnote.ToolResult) []byte {
	e.begun = true
	return frame(dst, "tool_result", struct {
		ID      string          `json:"id"`
		Name    string          `json:"name"`
		Data    json.RawMessage `json:"data"`
		IsError bool            `json:"is_error"`
		Action  json.RawMessage `json:"action,omitempty"` // what it did to a drawing
	}{r.CallID, r.Name, dataOf(r.Content), r.IsError, actionOf(r)})
}

// actionOf returns the drawing change that a result reports.
func actionOf(r footnote.ToolResult) json.RawMessage {
	var detail struct {
		Kind   string          `json:"kind"`
		Change json.RawMessage `json:"change"`
	}
	if r.Detail == nil || json.Unmarshal(r.Detail, &detail) != nil || detail.Kind != "drawing" {
		return nil
	}
	return detail.Change
}

// parked shows the calls that wait for the client. This protocol cannot answer a call that waits for an approval.
func (e *Encoder) parked(dst []byte, b footnote.RunParked) []byte {
	for _, id := range b.Calls {
		c := e.calls[id]
		if c.shown || !e.client[c.name] {
			continue
		}
		c.shown = true
		e.calls[id] = c
		e.begun = true
		dst = frame(dst, "client_tool", struct {
			ID             string          `json:"id"`
			Name           string          `json:"name"`
			Input          json.RawMessage `json:"input"`
			ConversationID string          `json:"conversationId"`
		}{id, c.name, objectOf(c.input), e.opt.Conversation})
	}
	return dst
}

// objectOf returns a call's input, or an empty object if it is not JSON.
func objectOf(input json.RawMessage) json.RawMessage {
	if !json.Valid(input) {
		return json.RawMessage("{}")
	}
	return input
}

func (e *Encoder) finish(dst []byte, reason string, u footnote.Usage, c footnote.Cost) []byte {
	e.begun, e.done = true, true
	return frame(dst, "done", struct {
		Usage          Usage           `json:"usage"`
		ConversationID string          `json:"conversationId"`
		Model          string          `json:"model,omitempty"`
		StopReason     string          `json:"stopReason"`
		Footnotes      []footnote.Cite `json:"footnotes,omitempty"`

		Verified []footnote.VerifiedResult `json:"verified,omitempty"`
	}{usageOf(u, c), e.opt.Conversation, e.model, reason, e.cites, e.verified})
}

// failed ends the stream. If it has not begun, the response gets the HTTP status of the error.
func (e *Encoder) failed(dst []byte, err error) []byte {
	if e.done, e.err = true, err; !e.begun {
		return dst
	}
	return e.Fail(dst, err)
}
