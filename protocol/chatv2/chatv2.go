// Package chatv2 implements the chat API of the support desk: a message in, one AgentResponse out, or the
// same as a stream. It has three kinds of events, user, assistant and tool_result, each with its usage; View
// builds them from a log.
//
// The field names are those that its clients were written for; the content comes from the log. An error has
// the code of its cause and never looks like an answer.
package chatv2

import (
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
)

// Protocol is the name of this protocol in the log.
const Protocol = "chat-v2"

// Request is the body of POST /api/chat-v2.
type Request struct {
	Message        string `json:"message"`
	NewMessage     string `json:"newMessage"` // alias of Message
	ConversationID string `json:"conversationId"`
	// MessageID identifies the message: posting it again with the same id shows the run already begun instead
	// of starting one.
	MessageID string `json:"messageId"`
	Assistant string `json:"assistant"`
	Tier      string `json:"tier"`
	// OrgID is the organisation that the client claims. It has no effect: the key decides.
	OrgID string `json:"orgId"`
}

// maxIDBytes is the maximum length of a message id in bytes.
const maxIDBytes = 100

// Check validates a request.
func (q Request) Check() error {
	switch {
	case q.Message != "" && q.NewMessage != "":
		return footnote.Invalidf("message and newMessage mean the same; send only one of them.")
	case q.Message == "" && q.NewMessage == "":
		return footnote.Invalidf("The message is empty.")
	case !protocol.PlainID(q.MessageID, maxIDBytes):
		return footnote.Invalidf("A messageId must be at most %d bytes of printable UTF-8.", maxIDBytes)
	}
	return nil
}

// Turn converts the request to a turn without a conversation. Nobody behind this protocol can run a tool or
// approve a call.
func (q Request) Turn() agent.Turn {
	return agent.Turn{
		Assistant: q.Assistant, Tier: q.Tier, Text: q.Message + q.NewMessage, MessageID: q.MessageID,
		Protocol: Protocol, Unattended: true,
	}
}

// category returns the category of a failure, as the clients of this protocol know it.
func category(c footnote.Code) string {
	switch c {
	case footnote.ModelUnavailable, footnote.AgentTimeout:
		return "sdk_communication"
	case footnote.DatabaseUnavailable:
		return "tool_execution"
	case footnote.Unauthorized, footnote.Forbidden:
		return "authorization"
	case footnote.RateLimited, footnote.BudgetExceeded:
		return "rate_limit"
	case footnote.StorageUnavailable, footnote.Internal:
		return "event_storage"
	default:
		return "input_validation"
	}
}

// AppendError appends an error in this protocol's format. It includes only what is safe to show.
func AppendError(dst []byte, err error, request string) []byte {
	code := footnote.CodeOf(err)
	o := strictjson.Builder(append(dst, '{')).Text("error", footnote.MessageOf(err)).Text("code", string(code))
	o = o.Text("category", category(code))
	if request != "" {
		o = o.Text("requestId", request)
	}
	return append(o, '}')
}
