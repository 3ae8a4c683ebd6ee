// Package aisdk speaks the UI message stream of the Vercel AI SDK (useChat): a
// posted chat in, a turn out; events and deltas in, chunks out. It emits the core
// set of chunks that every client version accepts.
package aisdk

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
)

// Request is what a client posts: its whole chat, of which only what is new is
// believed.
type Request struct {
	ID       string    `json:"id"`
	Messages []Message `json:"messages"`
	Message  *Message  `json:"message"`
	Trigger  string    `json:"trigger"`
}

// Message is a UIMessage.
type Message struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is a part of a UIMessage, as far as a turn needs it.
type Part struct {
	Type             string          `json:"type"`
	Text             string          `json:"text"`
	ToolCallID       string          `json:"toolCallId"`
	State            string          `json:"state"`
	Output           json.RawMessage `json:"output"`
	ErrorText        string          `json:"errorText"`
	ProviderExecuted bool            `json:"providerExecuted"`
}

// Decode turns a posted chat into a turn: a user's message starts one, an
// assistant's message brings the results of client tools. Unknown keys are
// ignored. The error's code is InvalidRequest.
func Decode(body []byte) (agent.Turn, error) {
	var req Request
	if err := json.Unmarshal(body, &req); err != nil {
		return agent.Turn{}, &footnote.Error{Code: footnote.InvalidRequest, Message: "The body is not a chat as useChat posts it.", Err: err}
	}
	last := req.Message
	if last == nil && len(req.Messages) > 0 {
		last = &req.Messages[len(req.Messages)-1]
	}
	if last == nil {
		return agent.Turn{}, footnote.Errorf(footnote.InvalidRequest, "The chat has no messages.")
	}
	t := agent.Turn{ClientID: req.ID, Door: "aisdk", OnDisconnect: agent.Continue}
	switch last.Role {
	case "user":
		t.Text = text(last.Parts)
	case "assistant":
		t.Answers = answers(last.Parts)
	}
	if t.Text == "" && len(t.Answers) == 0 {
		return agent.Turn{}, footnote.Errorf(footnote.InvalidRequest, "The last message brings neither text nor the result of a tool.")
	}
	return t, nil
}

func text(parts []Part) string {
	var words []string
	for _, p := range parts {
		if p.Type == "text" && p.Text != "" {
			words = append(words, p.Text)
		}
	}
	return strings.Join(words, "\n")
}

func answers(parts []Part) []agent.Answer {
	var out []agent.Answer
	for _, p := range parts {
		tool := strings.HasPrefix(p.Type, "tool-") || p.Type == "dynamic-tool"
		if !tool || p.ProviderExecuted {
			continue
		}
		switch p.State {
		case "output-available":
			out = append(out, ClientResult(p.ToolCallID, p.Output))
		case "output-error":
			out = append(out, agent.Answer{CallID: p.ToolCallID, Content: p.ErrorText, IsError: true})
		}
	}
	return out
}

// ClientResult is a client tool's output as an answer: JSON in its compact form,
// and its rows, where it has columns and rows, for footnotes to point at.
func ClientResult(callID string, output json.RawMessage) agent.Answer {
	a := agent.Answer{CallID: callID}
	var words string
	if json.Unmarshal(output, &words) == nil {
		a.Content = words
		return a
	}
	var buf bytes.Buffer
	if json.Compact(&buf, output) == nil {
		a.Content = buf.String()
	}
	var table struct {
		Columns []json.RawMessage `json:"columns"`
		Rows    json.RawMessage   `json:"rows"`
	}
	if json.Unmarshal(output, &table) != nil || len(table.Columns) == 0 || len(table.Rows) == 0 {
		return a
	}
	res := footnote.Result{Columns: make([]footnote.Column, len(table.Columns))}
	for i, raw := range table.Columns {
		if json.Unmarshal(raw, &res.Columns[i].Name) != nil && json.Unmarshal(raw, &res.Columns[i]) != nil {
			return a
		}
	}
	rows, err := footnote.DecodeRows(table.Rows, res.Columns)
	if err != nil {
		return a
	}
	for _, row := range rows {
		if len(row) != len(res.Columns) {
			return a
		}
	}
	res.Rows = rows
	a.Rows = &res
	return a
}

// Encoder writes the chunks of one response.
type Encoder struct {
	client  map[string]bool // names of the client tools
	started bool
	step    int             // the step whose start-step has been written
	open    bool            // a step is open
	tools   bool            // the newest step held a tool call
	live    map[string]bool // blocks and calls that were shown while they grew
	calls   map[string]bool // call id → runs on the server
	part    string          // the open text or reasoning part
	kind    string
	done    bool
	err     error
}

// NewEncoder makes an encoder; clientTools names the tools the browser runs.
func NewEncoder(clientTools []string) *Encoder {
	e := &Encoder{client: map[string]bool{}, live: map[string]bool{}, calls: map[string]bool{}}
	for _, n := range clientTools {
		e.client[n] = true
	}
	return e
}

// Done reports whether the response is complete.
func (e *Encoder) Done() bool { return e.done }

// Err is why a complete response has no answer, or nil.
func (e *Encoder) Err() error { return e.err }

// Open begins a response whose first word is slow to come: the stream's own first
// comment is enough.
func (e *Encoder) Open(dst []byte) []byte { return dst }

// Fail ends the response with an error.
func (e *Encoder) Fail(dst []byte, err error) []byte {
	dst = e.closeStep(dst)
	dst = append(dst, `data: {"type":"error","errorText":`...)
	dst = appendString(dst, footnote.MessageOf(err))
	dst = append(dst, "}\n\ndata: [DONE]\n\n"...)
	e.done, e.err = true, err
	return dst
}

// Delta appends the chunks of a delta.
func (e *Encoder) Delta(dst []byte, d footnote.Delta) []byte {
	switch d.Op {
	case footnote.BlockStarted:
		dst = e.begin(dst, d.Step)
		e.live[key(d.Step, d.Index)] = true
		switch d.Kind {
		case agent.TextBlock:
			dst = e.openPart(dst, "text", d.Step, d.Index)
		case agent.ThinkingBlock:
			dst = e.openPart(dst, "reasoning", d.Step, d.Index)
		case agent.ToolUseBlock:
			dst = e.toolStart(dst, d.ID, d.Name)
		}
	case footnote.BlockGrew:
		switch d.Kind {
		case agent.TextBlock, agent.ThinkingBlock:
			dst = e.grow(dst, d.Escaped)
		case agent.ToolUseBlock:
			dst = append(dst, `data: {"type":"tool-input-delta","toolCallId":`...)
			dst = appendString(dst, d.ID)
			dst = append(dst, `,"inputTextDelta":"`...)
			dst = append(dst, d.Escaped...)
			dst = append(dst, "\"}\n\n"...)
		}
	case footnote.BlockEnded:
		dst = e.closePart(dst)
	case footnote.StepBroke:
		dst = e.closePart(dst)
	}
	return dst
}

// Event appends the chunks of an event.
func (e *Encoder) Event(dst []byte, ev footnote.Event) []byte {
	if e.done {
		return dst
	}
	switch b := ev.Body.(type) {
	case footnote.RunStarted, footnote.RunResumed:
		dst = e.start(dst, ev.Run)
	case footnote.AssistantMessage:
		dst = e.message(e.start(dst, ev.Run), b)
	case footnote.ToolResult:
		dst = e.result(dst, b)
	case footnote.Answered:
		dst = e.footnotes(dst, b)
	case footnote.RunParked:
		dst = e.end(dst, "tool-calls")
	case footnote.RunFinished:
		dst = e.tail(dst)
		dst = e.end(dst, reason(b.Reason))
	case footnote.RunStopped:
		dst = e.closeStep(dst)
		dst = append(dst, "data: {\"type\":\"abort\"}\n\ndata: [DONE]\n\n"...)
		e.done = true
	case footnote.RunFailed:
		dst = e.Fail(dst, &footnote.Error{Code: b.Code, Message: b.Message})
	}
	return dst
}

func reason(r string) string {
	switch r {
	case agent.MaxTokens, agent.ContextExceeded, "max_turns", "budget":
		return "length"
	case agent.Refusal:
		return "content-filter"
	default:
		return "stop"
	}
}

func key(step, index int) string { return strconv.Itoa(step) + "_" + strconv.Itoa(index) }

func (e *Encoder) start(dst []byte, run string) []byte {
	if e.started {
		return dst
	}
	e.started = true
	dst = append(dst, `data: {"type":"start","messageId":`...)
	dst = appendString(dst, "msg_"+run)
	return append(dst, "}\n\n"...)
}

// begin opens the step a block belongs to.
func (e *Encoder) begin(dst []byte, step int) []byte {
	if e.open && e.step == step {
		return dst
	}
	dst = e.closeStep(dst)
	e.open, e.step, e.tools = true, step, false
	return append(dst, "data: {\"type\":\"start-step\"}\n\n"...)
}

func (e *Encoder) closeStep(dst []byte) []byte {
	dst = e.closePart(dst)
	if !e.open {
		return dst
	}
	e.open = false
	return append(dst, "data: {\"type\":\"finish-step\"}\n\n"...)
}

func (e *Encoder) openPart(dst []byte, kind string, step, index int) []byte {
	dst = e.closePart(dst)
	e.kind, e.part = kind, kind[:1]+key(step, index)
	return e.partChunk(dst, "-start")
}

func (e *Encoder) grow(dst []byte, escaped []byte) []byte {
	if e.part == "" {
		return dst
	}
	dst = append(dst, `data: {"type":"`...)
	dst = append(dst, e.kind...)
	dst = append(dst, `-delta","id":"`...)
	dst = append(dst, e.part...)
	dst = append(dst, `","delta":"`...)
	dst = append(dst, escaped...)
	return append(dst, "\"}\n\n"...)
}

func (e *Encoder) closePart(dst []byte) []byte {
	if e.part == "" {
		return dst
	}
	dst = e.partChunk(dst, "-end")
	e.part = ""
	return dst
}

func (e *Encoder) partChunk(dst []byte, op string) []byte {
	dst = append(dst, `data: {"type":"`...)
	dst = append(dst, e.kind...)
	dst = append(dst, op...)
	dst = append(dst, `","id":"`...)
	dst = append(dst, e.part...)
	return append(dst, "\"}\n\n"...)
}

func (e *Encoder) toolStart(dst []byte, id, name string) []byte {
	dst = e.closePart(dst)
	e.tools = true
	e.calls[id] = !e.client[name]
	dst = append(dst, `data: {"type":"tool-input-start","toolCallId":`...)
	dst = appendString(dst, id)
	dst = append(dst, `,"toolName":`...)
	dst = appendString(dst, name)
	dst = e.executed(dst, id)
	return append(dst, "}\n\n"...)
}

// executed marks calls the server runs: the client then neither runs them nor
// posts again because of them.
func (e *Encoder) executed(dst []byte, id string) []byte {
	if e.calls[id] {
		return append(dst, `,"providerExecuted":true`...)
	}
	return dst
}

// message writes what of a complete message was not shown while it grew.
func (e *Encoder) message(dst []byte, m footnote.AssistantMessage) []byte {
	for i, raw := range m.Blocks {
		var b struct {
			Type, Text, Thinking, ID, Name string
			Input                          json.RawMessage
		}
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		seen := e.live[key(m.Step, i)]
		switch b.Type {
		case agent.TextBlock:
			if !seen && b.Text != "" {
				dst = e.whole(dst, "text", m.Step, i, b.Text)
			}
		case agent.ThinkingBlock:
			if !seen && b.Thinking != "" {
				dst = e.whole(dst, "reasoning", m.Step, i, b.Thinking)
			}
		case agent.ToolUseBlock:
			dst = e.begin(dst, m.Step)
			if !seen {
				dst = e.toolStart(dst, b.ID, b.Name)
			}
			dst = append(dst, `data: {"type":"tool-input-available","toolCallId":`...)
			dst = appendString(dst, b.ID)
			dst = append(dst, `,"toolName":`...)
			dst = appendString(dst, b.Name)
			dst = append(dst, `,"input":`...)
			dst = appendRaw(dst, b.Input)
			dst = e.executed(dst, b.ID)
			dst = append(dst, "}\n\n"...)
		}
	}
	return dst
}

func (e *Encoder) whole(dst []byte, kind string, step, index int, words string) []byte {
	dst = e.begin(dst, step)
	dst = e.openPart(dst, kind, step, index)
	quoted := appendString(nil, words)
	dst = e.grow(dst, quoted[1:len(quoted)-1])
	return e.closePart(dst)
}

func (e *Encoder) result(dst []byte, r footnote.ToolResult) []byte {
	if _, shown := e.calls[r.CallID]; !shown {
		return dst // of an earlier response; the client has it already
	}
	if r.IsError {
		dst = append(dst, `data: {"type":"tool-output-error","toolCallId":`...)
		dst = appendString(dst, r.CallID)
		dst = append(dst, `,"errorText":`...)
		dst = appendString(dst, r.Content)
	} else {
		dst = append(dst, `data: {"type":"tool-output-available","toolCallId":`...)
		dst = appendString(dst, r.CallID)
		dst = append(dst, `,"output":`...)
		if json.Valid([]byte(r.Content)) {
			dst = appendRaw(dst, json.RawMessage(r.Content))
		} else {
			dst = appendString(dst, r.Content)
		}
	}
	dst = e.executed(dst, r.CallID)
	return append(dst, "}\n\n"...)
}

func (e *Encoder) footnotes(dst []byte, a footnote.Answered) []byte {
	dst = e.closePart(dst)
	data := mustJSON(struct {
		Footnotes  []footnote.Cite       `json:"footnotes"`
		Unresolved []footnote.Unresolved `json:"unresolved,omitempty"`
	}{a.Cites, a.Unresolved})
	dst = append(dst, `data: {"type":"data-footnotes","data":`...)
	dst = append(dst, data...)
	return append(dst, "}\n\n"...)
}

// tail ends the turn with a step that holds no tool call: a client that resubmits
// finished tool calls would otherwise post again, for ever.
func (e *Encoder) tail(dst []byte) []byte {
	if !e.tools {
		return dst
	}
	return e.begin(dst, e.step+1)
}

func (e *Encoder) end(dst []byte, reason string) []byte {
	dst = e.closeStep(dst)
	dst = append(dst, `data: {"type":"finish","finishReason":"`...)
	dst = append(dst, reason...)
	dst = append(dst, "\"}\n\ndata: [DONE]\n\n"...)
	e.done = true
	return dst
}

func appendString(dst []byte, s string) []byte { return append(dst, mustJSON(s)...) }

// appendRaw appends JSON in its compact form: an event is one line.
func appendRaw(dst []byte, raw json.RawMessage) []byte {
	var buf bytes.Buffer
	if len(raw) == 0 || json.Compact(&buf, raw) != nil {
		return append(dst, "{}"...)
	}
	return append(dst, buf.Bytes()...)
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of strings and numbers always encode
	}
	return b
}
