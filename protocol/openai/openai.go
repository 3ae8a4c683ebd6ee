// Package openai implements the Chat Completions API: it decodes a request body into the inputs of a run, and
// encodes events and deltas as chunks or as one completion. It does no I/O, and of HTTP it knows only header
// names.
//
// The model that a client names is an assistant. The assistant runs its own tools, and they never appear as
// tool_calls: to clients of this API that would mean "run this yourself", and they would.
package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
)

// Model describes an assistant in a list.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// Models is a list of models.
type Models struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}

// ModelsOf lists assistants under all their names.
func ModelsOf(assistants []agent.AssistantInfo) Models {
	list := Models{Object: "list", Data: []Model{}}
	for _, a := range assistants {
		for _, id := range append([]string{a.Name}, a.Aliases...) {
			list.Data = append(list.Data, Model{id, "model", a.Created.Unix(), "footnote"})
		}
	}
	return list
}

// Param is an error that names the request parameter it is about, which this API's error envelope includes.
type Param struct {
	Name string
	Err  error
}

func (e *Param) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns the error without the name.
func (e *Param) Unwrap() error { return e.Err }

// refuse returns an error about a request parameter.
func refuse(code footnote.Code, param, format string, args ...any) error {
	return &Param{Name: param, Err: footnote.Errorf(code, format, args...)}
}

// paramOf returns the request parameter that an error is about, or "".
func paramOf(err error) string {
	if p, ok := errors.AsType[*Param](err); ok {
		return p.Name
	}
	return ""
}

// UnknownURL is this API's code for a route that does not exist.
const UnknownURL = "unknown_url"

// AppendError appends the envelope of an error. Codes are those of footnote.Error, except for a rejected key,
// which clients know as invalid_api_key; code replaces it when it is not empty. The message is the one that
// is safe to show.
func AppendError(dst []byte, err error, code string) []byte {
	c := footnote.CodeOf(err)
	if code == "" {
		if code = string(c); c == footnote.Unauthorized {
			code = "invalid_api_key"
		}
	}
	o := strictjson.Builder(append(dst, `{"error":{`...)).Text("message", footnote.MessageOf(err))
	o = o.Text("type", errorType(c)).Raw("param", []byte("null"))
	if p := paramOf(err); p != "" {
		o = strictjson.AppendString(bytes.TrimSuffix(o, []byte("null")), p)
	}
	return append(o.Text("code", code), `}}`...)
}

func errorType(c footnote.Code) string {
	switch c {
	case footnote.Forbidden:
		return "permission_error"
	case footnote.RateLimited:
		return "rate_limit_error"
	case footnote.BudgetExceeded:
		return "insufficient_quota"
	case footnote.Internal:
		return "server_error"
	case footnote.ModelUnavailable, footnote.DatabaseUnavailable, footnote.StorageUnavailable:
		return "overloaded_error"
	case footnote.AgentTimeout:
		return "timeout_error"
	default:
		return "invalid_request_error"
	}
}

// appendJSON appends the JSON of a value that always encodes.
func appendJSON(dst []byte, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("openai: cannot encode a value: " + err.Error()) // a programming mistake
	}
	return append(dst, b...)
}

// Headers that this protocol reads or writes.
const (
	conversationHeader = "X-Conversation-Id"
	footnotesHeader    = "X-Footnotes"
)

// conversation returns the client's id for the conversation, or "" if the client does not send one.
func conversation(h http.Header) (string, error) {
	id := h.Get(conversationHeader)
	switch id {
	case "", "new", "null", "undefined": // front-end templates leave these for a chat without an id
		return "", nil
	}
	if len(id) > 1 && id[0] == '{' && id[1] == '{' { // an unfilled template
		return "", nil
	}
	if !protocol.PlainID(id, 128) {
		return "", refuse(footnote.InvalidRequest, conversationHeader,
			"The conversation id must be 1 to 128 bytes of printable UTF-8.")
	}
	return id, nil
}
