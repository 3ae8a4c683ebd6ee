package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/fence"
)

// Request is a parsed call of the Messages API, as a rule sees it.
type Request struct {
	Model    string          `json:"model"`
	Max      int64           `json:"max_tokens"`
	Stream   bool            `json:"stream"`
	Messages []Message       `json:"messages"`
	System   json.RawMessage `json:"system"` // as sent; nil if absent
	Tools    []Tool          `json:"tools"`
	Thinking Thinking        `json:"thinking"`

	N      int                        `json:"-"` // 1 for the first request that the server accepted or rejected
	Header http.Header                `json:"-"`
	Body   []byte                     `json:"-"`
	Choice string                     `json:"-"` // type of tool_choice
	Effort string                     `json:"-"`
	User   string                     `json:"-"` // metadata.user_id
	Fields map[string]json.RawMessage `json:"-"` // every top-level field as sent
}

// Thinking is the thinking field of a request.
type Thinking struct {
	Type    string `json:"type"`
	Display string `json:"display"`
	Budget  int64  `json:"budget_tokens"`
}

// Message is one turn of a request.
type Message struct {
	Role    string `json:"role"`
	Content blocks `json:"content"`
}

// blocks are the blocks of a content.
type blocks []Content

// UnmarshalJSON reads a list of blocks, or a string as one text block.
func (b *blocks) UnmarshalJSON(raw []byte) (err error) {
	*b, err = parseContent(raw)
	return err
}

// Content is one block of a message.
type Content struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	Thinking     string          `json:"thinking"`
	Signature    string          `json:"signature"`
	Data         string          `json:"data"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	IsError      bool            `json:"is_error"`
	Content      json.RawMessage `json:"content"`
	CacheControl *cacheControl   `json:"cache_control"`
	Citations    json.RawMessage `json:"citations"`
	Raw          json.RawMessage `json:"-"` // as sent
}

// UnmarshalJSON keeps the block as it was sent.
func (c *Content) UnmarshalJSON(raw []byte) error {
	type fields Content
	err := json.Unmarshal(raw, (*fields)(c))
	c.Raw = bytes.Clone(raw)
	return err
}

// Tool is one tool definition of a request.
type Tool struct {
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	DeferLoading bool            `json:"defer_loading"`
	CacheControl *cacheControl   `json:"cache_control"`
	Raw          json.RawMessage `json:"-"` // as sent
}

// UnmarshalJSON keeps the definition as it was sent.
func (t *Tool) UnmarshalJSON(raw []byte) error {
	type fields Tool
	err := json.Unmarshal(raw, (*fields)(t))
	t.Raw = bytes.Clone(raw)
	return err
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

// Result is a tool result of a request.
type Result struct {
	ID      string
	Name    string          // of the tool, from the call it answers
	Input   json.RawMessage // of that call
	Content string          // text of all its blocks
	IsError bool
}

// LastUserText returns the text of the newest user message that has any.
func (r Request) LastUserText() string { return strings.Join(r.userTexts(), "\n") }

// userTexts returns the texts of the newest user message that has any.
func (r Request) userTexts() (texts []string) {
	for _, m := range slices.Backward(r.Messages) {
		for _, c := range m.Content {
			if m.Role == "user" && c.Type == "text" {
				texts = append(texts, c.Text)
			}
		}
		if len(texts) > 0 {
			break
		}
	}
	return texts
}

// Results returns the tool results in the last message, if any.
func (r Request) Results() []Result {
	if len(r.Messages) == 0 {
		return nil
	}
	calls := map[string]Content{}
	for _, m := range r.Messages {
		for _, c := range m.Content {
			if c.Type == "tool_use" {
				calls[c.ID] = c
			}
		}
	}
	var out []Result
	for _, c := range r.Messages[len(r.Messages)-1].Content {
		if c.Type == "tool_result" {
			call := calls[c.ToolUseID]
			out = append(out, Result{c.ToolUseID, call.Name, call.Input, fence.Unwrap(plainText(c.Content)), c.IsError})
		}
	}
	return out
}

// HasTool reports whether the request offers a tool of this name.
func (r Request) HasTool(name string) bool {
	return slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == name })
}

// plainText returns the text of a content field: a string, or the text of its blocks.
func plainText(content json.RawMessage) string {
	blocks, err := parseContent(content)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, c := range blocks {
		b.WriteString(c.Text)
	}
	return b.String()
}

// parse parses a request body. Its errors have the wording of the API.
func parse(body []byte) (Request, error) {
	r := Request{Body: body}
	if !utf8.Valid(body) {
		return r, fmt.Errorf("The request body is not valid JSON: invalid UTF-8")
	}
	if err := json.Unmarshal(body, &r.Fields); err != nil {
		return r, fmt.Errorf("The request body is not valid JSON: %v", err)
	}
	var side struct {
		ToolChoice   struct{ Type string }   `json:"tool_choice"`
		OutputConfig struct{ Effort string } `json:"output_config"`
		Metadata     struct {
			UserID string `json:"user_id"`
		} `json:"metadata"`
	}
	err := errors.Join(json.Unmarshal(body, &r), json.Unmarshal(body, &side))
	r.Choice, r.Effort, r.User = side.ToolChoice.Type, side.OutputConfig.Effort, side.Metadata.UserID
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return r, fmt.Errorf("%s: Input has the wrong type", e.Field)
	}
	return r, err
}

func parseContent(raw json.RawMessage) ([]Content, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		if text == "" {
			return nil, nil
		}
		block, err := json.Marshal(map[string]string{"type": "text", "text": text})
		return []Content{{Type: "text", Text: text, Raw: block}}, err
	}
	var out []Content
	err := json.Unmarshal(raw, &out)
	return out, err
}
