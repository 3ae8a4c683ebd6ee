// Package chatv2 speaks the chat API of the support desk: a message in, one
// AgentResponse out, or the same as a stream. Its events are three, user, assistant
// and tool_result, each with what it took; View makes them of a log.
//
// The words are those its clients were written for. What they mean is the log's: an
// error has the code of what went wrong, and never looks like an answer.
package chatv2

import (
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// Door is the name of this door in the log.
const Door = "chat-v2"

// Request is the body of POST /api/chat-v2.
type Request struct {
	Message        string `json:"message"`
	NewMessage     string `json:"newMessage"` // another name of Message
	ConversationID string `json:"conversationId"`
	// MessageID names the message: posting it again under the same name shows the
	// run that has begun, and starts none.
	MessageID string `json:"messageId"`
	Assistant string `json:"assistant"`
	Tier      string `json:"tier"`
	// OrgID is who the client takes itself for. It decides nothing: the key does.
	OrgID string `json:"orgId"`
}

// mostID is how many bytes the name of a message may have.
const mostID = 100

// Decode reads a request and checks it. The error's code is InvalidRequest.
func Decode(body []byte) (Request, error) {
	var q Request
	if err := strictjson.Closed(body, &q); err != nil {
		return q, err
	}
	if q.Message != "" && q.NewMessage != "" {
		return q, footnote.Errorf(footnote.InvalidRequest, "message and newMessage are two names of one thing; send one of them.")
	}
	if q.Message == "" {
		q.Message = q.NewMessage
	}
	if q.Message == "" {
		return q, footnote.Errorf(footnote.InvalidRequest, "The message is empty.")
	}
	if len(q.MessageID) > mostID || !printable(q.MessageID) {
		return q, footnote.Errorf(footnote.InvalidRequest, "A messageId is at most %d bytes of printable UTF-8.", mostID)
	}
	return q, nil
}

func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

// ClientID is the name under which the conversation of a first message is kept.
func (q Request) ClientID() string {
	if q.MessageID == "" {
		return ""
	}
	return Door + "/" + q.MessageID
}

// Turn is what the engine is told, but for the conversation. Nobody is behind this
// door who could run a tool or approve a call.
func (q Request) Turn() agent.Turn {
	return agent.Turn{
		Assistant: q.Assistant, Tier: q.Tier, Text: q.Message, MessageID: q.MessageID, Door: Door, Unattended: true,
	}
}

// The kinds of failure, as the clients of this door sort them.
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

// AppendError appends an error as this door writes it. Only what may be shown is in
// it.
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
