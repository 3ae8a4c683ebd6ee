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

// Decode reads a request and checks it. It returns InvalidRequest for a bad one.
func Decode(body []byte) (Request, error) {
	var q Request
	if err := strictjson.Closed(body, &q); err != nil {
		return q, err
	}
	if q.Message != "" && q.NewMessage != "" {
		return q, footnote.Errorf(footnote.InvalidRequest,
			"message and newMessage mean the same; send only one of them.")
	}
	if q.Message == "" {
		q.Message = q.NewMessage
	}
	if q.Message == "" {
		return q, footnote.Errorf(footnote.InvalidRequest, "The message is empty.")
	}
	if !protocol.PlainID(q.MessageID, maxIDBytes) {
		return q, footnote.Errorf(footnote.InvalidRequest, "A messageId must be at most %d bytes of printable UTF-8.",
			maxIDBytes)
	}
	return q, nil
}

// Turn converts the request to a turn without a conversation. Nobody behind this protocol can run a tool or
// approve a call.
func (q Request) Turn() agent.Turn {
	return agent.Turn{
		Assistant: q.Assistant, Tier: q.Tier, Text: q.Message, MessageID: q.MessageID,
		Protocol: Protocol, Unattended: true,
	}
}

// Categories of failure, as the clients of this protocol know them.
const (
	categoryModel   = "sdk_communication"
	categoryTool    = "tool_execution"
	categoryStorage = "event_storage"
	categoryRequest = "input_validation"
	categoryAccess  = "authorization"
	categoryLimit   = "rate_limit"
)

func category(c footnote.Code) string {
	switch c {
	case footnote.ModelUnavailable, footnote.AgentTimeout:
		return categoryModel
	case footnote.DatabaseUnavailable:
		return categoryTool
	case footnote.Unauthorized, footnote.Forbidden:
		return categoryAccess
	case footnote.RateLimited, footnote.BudgetExceeded:
		return categoryLimit
	case footnote.StorageUnavailable, footnote.Internal:
		return categoryStorage
	default:
		return categoryRequest
	}
}

// AppendError appends an error in this protocol's format. It includes only what is safe to show.
func AppendError(dst []byte, err error, request string) []byte {
	code := footnote.CodeOf(err)
	dst = append(dst, `{"error":`...)
	dst = strictjson.AppendString(dst, footnote.MessageOf(err))
	dst = append(dst, `,"code":`...)
	dst = strictjson.AppendString(dst, string(code))
	dst = append(dst, `,"category":`...)
	dst = strictjson.AppendString(dst, category(code))
	if request != "" {
		dst = append(dst, `,"requestId":`...)
		dst = strictjson.AppendString(dst, request)
	}
	return append(dst, '}')
}
