// Package chart implements the chat API of the chart analyst: a message about a chart in, a stream of text,
// tools and client calls out. The stream stays open while the client draws; the client posts the result of a
// call in a separate request, to any server.
package chart

import (
	"cmp"
	"encoding/json"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/tool"
)

// Protocol is the name of this protocol in the log.
const Protocol = "chart"

// Assistant is the assistant that this protocol uses.
const Assistant = "chart"

// Request is the body of POST /api/chat.
type Request struct {
	ConversationID string          `json:"conversationId"` // ours, or one that the client chose
	Message        string          `json:"message"`
	MessageID      string          `json:"messageId"` // the client's own id for the message
	Symbol         string          `json:"symbol"`
	Timeframe      string          `json:"timeframe"`
	Model          string          `json:"model"` // a tier, or the model of one; from this message on
	State          json.RawMessage `json:"state"` // the client's description of its chart
}

// Decode reads a request and checks it. It returns InvalidRequest for a bad one.
func Decode(body []byte) (Request, error) {
	var q Request
	if err := strictjson.Closed(body, &q); err != nil {
		return q, err
	}
	switch {
	case q.Message == "":
		return q, footnote.Invalidf("The message is empty.")
	case q.Symbol == "" || q.Timeframe == "":
		return q, footnote.Invalidf("symbol and timeframe are required.")
	case !protocol.PlainID(q.ConversationID, 128) || !protocol.PlainID(q.MessageID, 128):
		return q, footnote.Invalidf("An id is at most 128 bytes of printable UTF-8.")
	}
	return q, nil
}

// Where returns the chart of the request in the form of the assistant's setting.
func (q Request) Where() (json.RawMessage, error) {
	return json.Marshal(struct {
		Symbol    string          `json:"symbol"`
		Timeframe string          `json:"timeframe"`
		State     json.RawMessage `json:"state,omitempty"`
	}{q.Symbol, q.Timeframe, q.State})
}

// Result is the body of POST /api/chat/tool-result: the result of a call.
type Result struct {
	ConversationID string          `json:"conversationId"`
	ToolCallID     string          `json:"toolCallId"`
	ID             string          `json:"id"` // alias of ToolCallID
	Result         json.RawMessage `json:"result"`
	IsError        bool            `json:"isError"`
}

// DecodeResult reads the result of a call.
func DecodeResult(body []byte) (Result, error) {
	var q Result
	if err := strictjson.Closed(body, &q); err != nil {
		return q, err
	}
	q.ToolCallID = cmp.Or(q.ToolCallID, q.ID)
	if q.ConversationID == "" || !protocol.PlainID(q.ConversationID, 128) ||
		q.ToolCallID == "" || len(q.ToolCallID) > 256 {
		return q, footnote.Invalidf("conversationId and toolCallId are required.")
	}
	if len(q.Result) == 0 {
		return q, footnote.Invalidf("result is missing.")
	}
	return q, nil
}

// Answer converts the result to an answer for the engine: a string as text, anything else as JSON.
func (q Result) Answer() tool.Answer {
	a := tool.Answer{CallID: q.ToolCallID, IsError: q.IsError}
	if json.Unmarshal(q.Result, &a.Content) != nil || a.Content == "" {
		a.Content = string(q.Result)
	}
	return a
}

// Usage is the usage of an answer or a conversation.
type Usage struct {
	Input      int64   `json:"inputTokens"` // including cached tokens
	Output     int64   `json:"outputTokens"`
	CacheRead  int64   `json:"cacheReadTokens"`
	CacheWrite int64   `json:"cacheWriteTokens"`
	CostUSD    float64 `json:"costUsd"`
}

func usageOf(u footnote.Usage, c footnote.Cost) Usage {
	return Usage{u.Prompt(), u.Output, u.CacheRead, u.CacheWrite5m + u.CacheWrite1h, c.USD()}
}

// dataOf returns the content of a result: as JSON if it is an object or an array, and as a string otherwise.
func dataOf(content string) json.RawMessage {
	if v, err := strictjson.Parse([]byte(content)); err == nil &&
		(v.Kind() == strictjson.Object || v.Kind() == strictjson.Array) {
		return json.RawMessage(content)
	}
	return encode(content)
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of strings, numbers and parsed JSON always encode
	}
	return b
}
