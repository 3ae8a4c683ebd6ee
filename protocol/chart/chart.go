// Package chart speaks the chat API of the chart analyst: a message about a chart in, a
// stream of text, tools and calls for the client out. The stream stays open while the
// client draws; what came of a call is posted beside it, to any server.
package chart

import (
	"encoding/json"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// Door is the name of this door in the log.
const Door = "chart"

// Assistant is the assistant that is asked.
const Assistant = "chart"

// Request is the body of POST /api/chat.
type Request struct {
	ConversationID string          `json:"conversationId"` // ours, or one that the client chose
	Message        string          `json:"message"`
	MessageID      string          `json:"messageId"` // the client's own name for the message
	Symbol         string          `json:"symbol"`
	Timeframe      string          `json:"timeframe"`
	Model          string          `json:"model"` // a tier, or a model of one; for a new conversation
	State          json.RawMessage `json:"state"` // what the client says of its chart
}

// Decode reads a request and checks it. The error's code is InvalidRequest.
func Decode(body []byte) (Request, error) {
	var q Request
	if err := strictjson.Closed(body, &q); err != nil {
		return q, err
	}
	switch {
	case q.Message == "":
		return q, footnote.Errorf(footnote.InvalidRequest, "The message is empty.")
	case q.Symbol == "" || q.Timeframe == "":
		return q, footnote.Errorf(footnote.InvalidRequest, "symbol and timeframe say which chart is meant.")
	case !name(q.ConversationID) || !name(q.MessageID):
		return q, footnote.Errorf(footnote.InvalidRequest, "An id is at most 128 bytes of printable UTF-8.")
	}
	return q, nil
}

func name(s string) bool {
	if len(s) > 128 || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Where is the chart of the request, as the assistant's setting takes it.
func (q Request) Where() (json.RawMessage, error) {
	return json.Marshal(struct {
		Symbol    string          `json:"symbol"`
		Timeframe string          `json:"timeframe"`
		State     json.RawMessage `json:"state,omitempty"`
	}{q.Symbol, q.Timeframe, q.State})
}

// Result is the body of POST /api/chat/tool-result: what came of a call.
type Result struct {
	ConversationID string          `json:"conversationId"`
	ToolCallID     string          `json:"toolCallId"`
	ID             string          `json:"id"` // another name of ToolCallID
	Result         json.RawMessage `json:"result"`
	IsError        bool            `json:"isError"`
}

// DecodeResult reads what came of a call.
func DecodeResult(body []byte) (Result, error) {
	var q Result
	if err := strictjson.Closed(body, &q); err != nil {
		return q, err
	}
	if q.ToolCallID == "" {
		q.ToolCallID = q.ID
	}
	if q.ConversationID == "" || q.ToolCallID == "" || !name(q.ConversationID) || len(q.ToolCallID) > 256 {
		return q, footnote.Errorf(footnote.InvalidRequest, "conversationId and toolCallId say which call is meant.")
	}
	if len(q.Result) == 0 {
		return q, footnote.Errorf(footnote.InvalidRequest, "result is missing.")
	}
	return q, nil
}

// Answer is the result as the engine takes it: the words of a text, or the JSON of
// anything else.
func (q Result) Answer() agent.Answer {
	a := agent.Answer{CallID: q.ToolCallID, IsError: q.IsError}
	if json.Unmarshal(q.Result, &a.Content) != nil || a.Content == "" {
		a.Content = string(q.Result)
	}
	return a
}

// Usage is what an answer, or a conversation, took.
type Usage struct {
	Input      int64   `json:"inputTokens"` // with what came from the cache
	Output     int64   `json:"outputTokens"`
	CacheRead  int64   `json:"cacheReadTokens"`
	CacheWrite int64   `json:"cacheWriteTokens"`
	CostUSD    float64 `json:"costUsd"`
}

func usageOf(u footnote.Usage, c footnote.Cost) Usage {
	return Usage{u.Prompt(), u.Output, u.CacheRead, u.CacheWrite5m + u.CacheWrite1h, c.USD()}
}

// dataOf is the content of a result: JSON where it is an object or a list, and a text
// otherwise.
func dataOf(content string) json.RawMessage {
	if v, err := strictjson.Parse([]byte(content)); err == nil && (v.Kind() == strictjson.Object || v.Kind() == strictjson.Array) {
		return json.RawMessage(content)
	}
	return encode(content)
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of texts, numbers and JSON that was parsed always encode
	}
	return b
}
