package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Request is a parsed call of the Messages API, as a rule sees it.
type Request struct {
	N        int // 1 for the first request that the server accepted or rejected
	Header   http.Header
	Body     []byte
	Model    string
	Max      int64 // max_tokens
	Stream   bool
	Messages []Message
	System   json.RawMessage // as sent; nil if absent
	Tools    []Tool
	Choice   string // type of tool_choice
	Thinking Thinking
	Effort   string
	User     string                     // metadata.user_id
	Fields   map[string]json.RawMessage // every top-level field as sent
}

// Thinking is the thinking field of a request.
type Thinking struct {
	Type    string `json:"type"`
	Display string `json:"display"`
	Budget  int64  `json:"budget_tokens"`
}

// Message is one turn of a request.
type Message struct {
	Role    string
	Content []Content
}

// Content is one block of a message. A string content becomes one text block.
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

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

// Result is a tool result of a request.
type Result struct {
	ID      string
	Name    string // of the tool, from the call it answers
	Content string // text of all its blocks
	IsError bool
}

// LastUserText returns the text of the newest user message that has any.
func (r Request) LastUserText() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role != "user" {
			continue
		}
		var parts []string
		for _, c := range r.Messages[i].Content {
			if c.Type == "text" {
				parts = append(parts, c.Text)
			}
		}
		if len(parts) > 0 {
			return strings.Join(parts, "\n")
		}
	}
	return ""
}

// Results returns the tool results in the last message, if any.
func (r Request) Results() []Result {
	if len(r.Messages) == 0 {
		return nil
	}
	names := map[string]string{}
	for _, m := range r.Messages {
		for _, c := range m.Content {
			if c.Type == "tool_use" {
				names[c.ID] = c.Name
			}
		}
	}
	var out []Result
	for _, c := range r.Messages[len(r.Messages)-1].Content {
		if c.Type == "tool_result" {
			out = append(out, Result{c.ToolUseID, names[c.ToolUseID], plainText(c.Content), c.IsError})
		}
	}
	return out
}

// HasTool reports whether the request offers a tool of this name.
func (r Request) HasTool(name string) bool {
	for _, t := range r.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
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
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&r.Fields); err != nil {
		return r, fmt.Errorf("The request body is not valid JSON: %v", err)
	}
	if dec.More() {
		return r, fmt.Errorf("The request body is not valid JSON: data after the end")
	}
	for name, into := range map[string]any{
		"model": &r.Model, "max_tokens": &r.Max, "stream": &r.Stream, "thinking": &r.Thinking,
	} {
		if raw, ok := r.Fields[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return r, fmt.Errorf("%s: Input has the wrong type", name)
			}
		}
	}
	r.System = r.Fields["system"]
	var side struct {
		ToolChoice   struct{ Type string }   `json:"tool_choice"`
		OutputConfig struct{ Effort string } `json:"output_config"`
		Metadata     struct {
			UserID string `json:"user_id"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &side); err != nil {
		return r, fmt.Errorf("tool_choice, output_config or metadata: Input has the wrong type")
	}
	r.Choice, r.Effort, r.User = side.ToolChoice.Type, side.OutputConfig.Effort, side.Metadata.UserID
	if err := r.parseTools(); err != nil {
		return r, err
	}
	return r, r.parseMessages()
}

func (r *Request) parseTools() error {
	raws, err := list(r.Fields["tools"])
	if err != nil {
		return fmt.Errorf("tools: Input should be a valid list")
	}
	for i, raw := range raws {
		t := Tool{Raw: raw}
		if err := json.Unmarshal(raw, &t); err != nil {
			return fmt.Errorf("tools.%d: Input should be a valid tool", i)
		}
		r.Tools = append(r.Tools, t)
	}
	return nil
}

func (r *Request) parseMessages() error {
	raws, err := list(r.Fields["messages"])
	if err != nil {
		return fmt.Errorf("messages: Input should be a valid list")
	}
	for i, raw := range raws {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("messages.%d: Input should be a valid message", i)
		}
		content, err := parseContent(m.Content)
		if err != nil {
			return fmt.Errorf("messages.%d.content: Input should be a valid string or list of blocks", i)
		}
		r.Messages = append(r.Messages, Message{m.Role, content})
	}
	return nil
}

func list(raw json.RawMessage) ([]json.RawMessage, error) {
	if raw == nil {
		return nil, nil
	}
	var out []json.RawMessage
	err := json.Unmarshal(raw, &out)
	return out, err
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
	raws, err := list(raw)
	if err != nil {
		return nil, err
	}
	out := make([]Content, len(raws))
	for i, b := range raws {
		if err := json.Unmarshal(b, &out[i]); err != nil {
			return nil, err
		}
		out[i].Raw = b
	}
	return out, nil
}
