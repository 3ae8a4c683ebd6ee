// Package analyze implements the native stream of the explore assistant: a question in, unnamed data frames
// out. The browser runs the query tools and posts their results in separate requests while the stream stays
// open.
//
// The id of a frame is the id of its event, so that a reader that lost its connection can resume. Thinking is
// streamed as it grows and becomes an event only when it is complete. Thinking frames, and all but the last frame
// of an event that has several, have a Position instead of a number in their id: a point somewhat beyond an event.
package analyze

import (
	"encoding/json"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/localschema"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/tool"
)

// Protocol is the name of this protocol in the log.
const Protocol = "analyze"

// Assistant is the assistant for requests that name none.
const Assistant = "explore"

// Question is the body of POST /api/analyze; GET takes its string fields as parameters.
type Question struct {
	Question  string              `json:"question"`
	Schema    *localschema.Schema `json:"schema"`
	Tier      string              `json:"tier"`
	SessionID string              `json:"sessionId"`
	Assistant string              `json:"assistant"`
	// RequestID identifies the question: repeating it shows the run already begun instead of starting one.
	RequestID string `json:"request_id"`
}

// maxIDBytes is the maximum length of a request id in bytes.
const maxIDBytes = 100

// Check validates a question.
func (q Question) Check() error {
	if q.Question == "" {
		return footnote.Invalidf("The question is empty.")
	}
	if !protocol.PlainID(q.RequestID, maxIDBytes) {
		return footnote.Invalidf("A request_id must be at most %d bytes of printable UTF-8.", maxIDBytes)
	}
	if q.Schema == nil {
		return nil
	}
	return q.Schema.Check()
}

// Turn converts the question to a turn. The turn leaves out a schema that the conversation has already.
func (q Question) Turn() agent.Turn {
	t := agent.Turn{
		Conversation: q.SessionID, Assistant: q.Assistant, Text: q.Question, Tier: q.Tier, MessageID: q.RequestID,
		Protocol: Protocol,
	}
	if q.SessionID == "" && q.RequestID != "" { // a first question names its conversation
		t.ClientID = "analyze/" + q.RequestID
	}
	if q.Schema != nil {
		t.Context = q.Schema.Text()
		t.Prepare = func(t *agent.Turn, _ footnote.Stream, log []footnote.Event) error {
			if t.Context == schemaOf(log) {
				t.Context = ""
			}
			return nil
		}
	}
	return t
}

// schemaOf returns the text of the newest schema in a conversation.
func schemaOf(log []footnote.Event) string {
	for _, ev := range slices.Backward(log) {
		if m, ok := ev.Body.(footnote.UserMessage); ok {
			if schema, ok := localschema.Parse(m.Context); ok {
				return schema.Text()
			}
		}
	}
	return ""
}

// SchemaBody is the body of POST /api/analyze/schema.
type SchemaBody struct {
	Schema *localschema.Schema `json:"schema"`
}

// Check validates a schema for a later GET.
func (b SchemaBody) Check() error {
	if b.Schema == nil {
		return footnote.Invalidf(`The body must have a schema: {"schema":{"tables":[…]}}.`)
	}
	return b.Schema.Check()
}

// Result is the body of POST /api/analyze/tool-result.
type Result struct {
	SessionID  string          `json:"sessionId"`
	ToolCallID string          `json:"toolCallId"`
	Result     json.RawMessage `json:"result"`
	Error      *string         `json:"error"`
}

// Turn converts a tool's result to a turn. It returns InvalidRequest for an incomplete one.
func (r Result) Turn() (agent.Turn, error) {
	if r.SessionID == "" || r.ToolCallID == "" || (len(r.Result) == 0) == (r.Error == nil) {
		return agent.Turn{}, footnote.Invalidf("A tool result needs sessionId, toolCallId, and either result or error.")
	}
	a := tool.Answer{CallID: r.ToolCallID, IsError: true}
	if r.Error == nil {
		a = answer(r.ToolCallID, r.Result)
	} else if a.Content = *r.Error; a.Content == "" {
		a.Content = "The tool failed without saying why."
	}
	return agent.Turn{Conversation: r.SessionID, Protocol: Protocol, Answers: []tool.Answer{a}}, nil
}
