package chatv2

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/history"
)

// The types of an event.
const (
	typeUser      = "user"
	typeAssistant = "assistant"
	typeResult    = "tool_result"
)

// Event is an event of a conversation in this protocol's format.
type Event struct {
	ID             string    `json:"id"` // unique; it ends with the sequence number in the log, which gives the order
	ConversationID string    `json:"conversationId"`
	Type           string    `json:"type"`
	Timestamp      time.Time `json:"timestamp"`
	Content        Content   `json:"content"`
	Metadata       *Metadata `json:"metadata,omitempty"`
}

// Content is the content of an event. A message with calls is a tool_use with its text beside the calls: the
// fields also describe the first call, and ToolUses lists all of them.
type Content struct {
	Type      string          `json:"type"` // text, tool_use or tool_result
	Text      *string         `json:"text,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUses  []ToolUse       `json:"toolUses,omitempty"`
	Output    *string         `json:"output,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
}

// ToolUse is one call of a message.
type ToolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// Metadata is the usage of an event. Tokens are those of the model call, including its prompt; Duration is in
// milliseconds. CacheHit means that a result comes from the cache, from a statement that ran at RanAt.
type Metadata struct {
	Model    string    `json:"model,omitempty"`
	Tokens   int64     `json:"tokens,omitempty"`
	Duration int64     `json:"duration,omitempty"`
	CacheHit bool      `json:"cacheHit,omitempty"`
	RanAt    time.Time `json:"ranAt,omitzero"`
}

// View returns the events of a log after a given one, without those that were undone. It leaves out what
// these clients do not know.
func View(events []footnote.Event, after int64) []Event {
	out := []Event{}
	for _, ev := range history.Standing(events) {
		if ev.Seq > after {
			out = appendView(out, ev)
		}
	}
	return out
}

// appendView appends this protocol's form of an event: nothing, one event, or those of an imported history.
func appendView(dst []Event, ev footnote.Event) []Event {
	e := Event{ID: ev.ID(), ConversationID: ev.Stream, Timestamp: ev.Time.UTC()}
	switch b := ev.Body.(type) {
	case footnote.UserMessage:
		if b.Text == "" {
			return dst // our own text, for the model only
		}
		e.Type, e.Content = typeUser, textContent(b.Text)
	case footnote.Imported:
		for i, t := range b.Turns {
			one := e
			one.ID, one.Type, one.Content = fmt.Sprintf("%s.%d", ev.ID(), i+1), typeUser, textContent(t.Text)
			if t.Role == typeAssistant {
				one.Type = typeAssistant
			}
			dst = append(dst, one)
		}
		return dst
	case footnote.AssistantMessage:
		e.Type, e.Content = typeAssistant, messageContent(b)
		e.Metadata = &Metadata{Model: b.Model, Tokens: b.Usage.Prompt() + b.Usage.Output, Duration: b.Millis}
	case footnote.ToolResult:
		e.Type = typeResult
		e.Content = Content{Type: typeResult, ToolUseID: b.CallID, Name: b.Name, Output: &b.Content, IsError: b.IsError}
		if b.Millis > 0 || b.CacheHit {
			e.Metadata = &Metadata{Duration: b.Millis, CacheHit: b.CacheHit, RanAt: b.RanAt}
		}
	case footnote.Unreadable:
		e.Type, e.Content = typeAssistant,
			textContent(fmt.Sprintf("Event %d of this conversation cannot be read.", ev.Seq))
		if b.Kind == "user_message" {
			e.Type = typeUser
		}
	default:
		return dst
	}
	return append(dst, e)
}

func textContent(text string) Content { return Content{Type: "text", Text: &text} }

// messageContent returns the content of a model's message.
func messageContent(m footnote.AssistantMessage) Content {
	text, uses := "", []ToolUse(nil)
	for _, b := range agent.Shown(m.Blocks) {
		switch {
		case b.Kind == model.TextBlock:
			text += b.Text
			if b.Name != "" { // the final answer is also a call
				uses = append(uses, ToolUse{b.ID, b.Name, b.Input})
			}
		case b.Kind == model.ToolUseBlock:
			uses = append(uses, ToolUse{b.ID, b.Name, b.Input})
		}
	}
	c := textContent(text)
	if len(uses) > 0 {
		c.Type, c.ToolUses = "tool_use", uses
		c.ToolUseID, c.Name, c.Input = uses[0].ID, uses[0].Name, uses[0].Input
	}
	return c
}
