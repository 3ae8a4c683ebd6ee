// Package analyze speaks the native stream of the explore assistant: a question
// in, unnamed data frames out, with the event's sequence as id. The browser runs
// the query tools and posts their results beside the stream, which stays open.
package analyze

import (
	"encoding/json"
	"strconv"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol/aisdk"
)

// Question is the body of POST /api/analyze.
type Question struct {
	Question  string `json:"question"`
	SessionID string `json:"sessionId"`
	Assistant string `json:"assistant"`
}

// Decode turns a question into a turn. The error's code is InvalidRequest.
func Decode(body []byte) (agent.Turn, error) {
	var q Question
	if err := strictjson.Closed(body, &q); err != nil {
		return agent.Turn{}, err
	}
	if q.Question == "" {
		return agent.Turn{}, footnote.Errorf(footnote.InvalidRequest, "The question is empty.")
	}
	return agent.Turn{Conversation: q.SessionID, Assistant: q.Assistant, Text: q.Question, Door: "analyze", OnDisconnect: agent.Continue}, nil
}

// Result is the body of POST /api/analyze/tool-result.
type Result struct {
	SessionID  string          `json:"sessionId"`
	ToolCallID string          `json:"toolCallId"`
	Result     json.RawMessage `json:"result"`
	Error      string          `json:"error"`
}

// DecodeResult turns a tool's result into a turn. The error's code is
// InvalidRequest.
func DecodeResult(body []byte) (agent.Turn, error) {
	var r Result
	if err := strictjson.Closed(body, &r); err != nil {
		return agent.Turn{}, err
	}
	if r.SessionID == "" || r.ToolCallID == "" || (len(r.Result) == 0) == (r.Error == "") {
		return agent.Turn{}, footnote.Errorf(footnote.InvalidRequest, "A tool result has sessionId, toolCallId, and either result or error.")
	}
	a := agent.Answer{CallID: r.ToolCallID, Content: r.Error, IsError: true}
	if r.Error == "" {
		a = aisdk.ClientResult(r.ToolCallID, r.Result)
	}
	return agent.Turn{Conversation: r.SessionID, Door: "analyze", Answers: []agent.Answer{a}}, nil
}

// Encoder writes the frames of one stream.
type Encoder struct {
	seq  int64
	done bool
	err  error
}

// Done reports whether the stream is complete.
func (e *Encoder) Done() bool { return e.done }

// Err is why a complete stream has no answer, or nil.
func (e *Encoder) Err() error { return e.err }

// Open begins a stream whose first frame is slow to come: the stream's own first
// comment is enough.
func (e *Encoder) Open(dst []byte) []byte { return dst }

// Fail ends the stream with an error.
func (e *Encoder) Fail(dst []byte, err error) []byte {
	dst = e.frame(dst, map[string]any{"type": "error", "code": footnote.CodeOf(err), "message": footnote.MessageOf(err)})
	dst = e.frame(dst, map[string]any{"type": "done"})
	e.done, e.err = true, err
	return dst
}

// Delta appends the frames of a delta: thinking, as it grows.
func (e *Encoder) Delta(dst []byte, d footnote.Delta) []byte {
	if d.Op != footnote.BlockGrew || d.Kind != agent.ThinkingBlock {
		return dst
	}
	dst = append(dst, `data: {"type":"thinking","text":"`...)
	dst = append(dst, d.Escaped...)
	return append(dst, "\"}\n\n"...)
}

// Event appends the frames of an event.
func (e *Encoder) Event(dst []byte, ev footnote.Event) []byte {
	if e.done {
		return dst
	}
	e.seq = ev.Seq
	switch b := ev.Body.(type) {
	case footnote.RunStarted:
		dst = e.frame(dst, map[string]any{"type": "session", "sessionId": ev.Stream})
	case footnote.AssistantMessage:
		for _, raw := range b.Blocks {
			var c struct {
				Type, ID, Name string
				Input          json.RawMessage
			}
			if json.Unmarshal(raw, &c) == nil && c.Type == agent.ToolUseBlock {
				dst = e.frame(dst, map[string]any{"type": "tool_call", "toolCallId": c.ID, "name": c.Name, "input": c.Input})
			}
		}
	case footnote.Answered:
		answer := map[string]any{"type": "answer", "answer": b.Text, "chartType": "table", "footnotes": b.Cites}
		if b.Unresolved != nil {
			answer["unresolved"] = b.Unresolved
		}
		dst = e.frame(dst, answer)
	case footnote.RunFailed:
		return e.Fail(dst, &footnote.Error{Code: b.Code, Message: b.Message})
	}
	if footnote.Terminal(ev.Body) {
		dst = e.frame(dst, map[string]any{"type": "done"})
		e.done = true
	}
	return dst
}

func (e *Encoder) frame(dst []byte, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return dst // a tool input that is not JSON; it never becomes an event
	}
	dst = append(dst, "id: "...)
	dst = strconv.AppendInt(dst, e.seq, 10)
	dst = append(dst, "\ndata: "...)
	dst = append(dst, b...)
	return append(dst, "\n\n"...)
}
