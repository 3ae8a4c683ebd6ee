// Package analyze speaks the native stream of the explore assistant: a question
// in, unnamed data frames out. The browser runs the query tools and posts their
// results beside the stream, which stays open.
//
// A frame's id is the sequence of the event it tells, so that a reader that lost its
// connection goes on after what it has. Thinking is shown while it grows and is no
// event until it is complete: its frames, and all but the last of an event that has
// several, bear a Position instead, which goes a little beyond an event.
package analyze

import (
	"encoding/json"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/localschema"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// Door is the name of this door in the log.
const Door = "analyze"

// Assistant is the one that this door asks when the request names none.
const Assistant = "explore"

// Question is the body of POST /api/analyze; GET has its strings as parameters.
type Question struct {
	Question  string              `json:"question"`
	Schema    *localschema.Schema `json:"schema"`
	Tier      string              `json:"tier"`
	SessionID string              `json:"sessionId"`
	Assistant string              `json:"assistant"`
	// RequestID names the question: asking it again under the same name shows the
	// run that has begun, and starts none.
	RequestID string `json:"request_id"`
}

// Decode reads a question and checks it. The error's code is InvalidRequest or
// TooLarge.
func Decode(body []byte) (Question, error) {
	var q Question
	if err := strictjson.Closed(body, &q); err != nil {
		return q, err
	}
	return q, q.Check()
}

// mostID is how many bytes the name of a request may have.
const mostID = 100

// Check says what is wrong with a question.
func (q Question) Check() error {
	if q.Question == "" {
		return footnote.Errorf(footnote.InvalidRequest, "The question is empty.")
	}
	if len(q.RequestID) > mostID || !printable(q.RequestID) {
		return footnote.Errorf(footnote.InvalidRequest, "A request_id is at most %d bytes of printable UTF-8.", mostID)
	}
	if q.Schema == nil {
		return nil
	}
	return q.Schema.Check()
}

func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

// ClientID is the name under which the conversation of a first question is kept.
func (q Question) ClientID() string {
	if q.RequestID == "" {
		return ""
	}
	return "analyze/" + q.RequestID
}

// Turn is what the engine is told. Known is the schema's text that the conversation
// has already; it is not said again.
func (q Question) Turn(known string) agent.Turn {
	t := agent.Turn{
		Conversation: q.SessionID, Assistant: q.Assistant, Text: q.Question, Tier: q.Tier, MessageID: q.RequestID, Door: Door,
	}
	if q.SessionID == "" {
		t.ClientID = q.ClientID()
	}
	if q.Schema != nil {
		if text := q.Schema.Text(); text != known {
			t.Context = text
		}
	}
	return t
}

// SchemaBody is the body of POST /api/analyze/schema.
type SchemaBody struct {
	Schema *localschema.Schema `json:"schema"`
}

// DecodeSchema reads a schema that a later GET refers to.
func DecodeSchema(body []byte) (localschema.Schema, error) {
	var b SchemaBody
	if err := strictjson.Closed(body, &b); err != nil {
		return localschema.Schema{}, err
	}
	if b.Schema == nil {
		return localschema.Schema{}, footnote.Errorf(footnote.InvalidRequest, "The body has a schema: {\"schema\":{\"tables\":[…]}}.")
	}
	return *b.Schema, b.Schema.Check()
}

// Result is the body of POST /api/analyze/tool-result.
type Result struct {
	SessionID  string          `json:"sessionId"`
	ToolCallID string          `json:"toolCallId"`
	Result     json.RawMessage `json:"result"`
	Error      *string         `json:"error"`
}

// DecodeResult turns a tool's result into a turn. The error's code is
// InvalidRequest.
func DecodeResult(body []byte) (agent.Turn, error) {
	var r Result
	if err := strictjson.Closed(body, &r); err != nil {
		return agent.Turn{}, err
	}
	if r.SessionID == "" || r.ToolCallID == "" || (len(r.Result) == 0) == (r.Error == nil) {
		return agent.Turn{}, footnote.Errorf(footnote.InvalidRequest, "A tool result has sessionId, toolCallId, and either result or error.")
	}
	a := agent.Answer{CallID: r.ToolCallID, IsError: true}
	if r.Error == nil {
		a = answer(r.ToolCallID, r.Result)
	} else if a.Content = *r.Error; a.Content == "" {
		a.Content = "The tool failed without saying why."
	}
	return agent.Turn{Conversation: r.SessionID, Door: Door, Answers: []agent.Answer{a}}, nil
}
