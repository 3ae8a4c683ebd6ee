package chart

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/history"
)

// Summary is a conversation in a list.
type Summary struct {
	ID            string `json:"id"`
	Title         string `json:"title"`
	Pair          string `json:"pair,omitempty"` // of its newest message
	Timeframe     string `json:"timeframe,omitempty"`
	MessageCount  int    `json:"messageCount"`
	TotalTokens   int64  `json:"totalTokensUsed"`
	Model         string `json:"model,omitempty"`
	State         string `json:"state"` // idle, running or parked
	Created       string `json:"created"`
	Updated       string `json:"updated"`
	DrawingsMoved int    `json:"drawingActions"` // how many there were
}

// Conversation is a conversation with its messages.
type Conversation struct {
	Summary
	Messages []Message `json:"messages"`
}

// Message is a user's message or the answer to it.
type Message struct {
	ID             string            `json:"id"`
	Role           string            `json:"role"` // user or assistant
	Content        string            `json:"content"`
	Timestamp      string            `json:"timestamp"`
	Pair           string            `json:"pair,omitempty"` // the chart it was asked about
	Timeframe      string            `json:"timeframe,omitempty"`
	ToolCalls      []ToolCall        `json:"toolCalls,omitempty"`
	DrawingActions []json.RawMessage `json:"drawingActions,omitempty"` // changes, as in the history of drawings
	TokenUsage     *Usage            `json:"tokenUsage,omitempty"`
	Model          string            `json:"model,omitempty"`
	Error          string            `json:"error,omitempty"` // why there is no answer
}

// ToolCall is a tool call with its result.
type ToolCall struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Result  json.RawMessage `json:"result,omitempty"`
	IsError bool            `json:"isError,omitempty"`
}

// View returns a conversation in this protocol's format, without undone messages.
func View(head footnote.Stream, events []footnote.Event) Conversation {
	v := &view{c: Conversation{Summary: Summary{
		ID: head.ID, Title: head.Title, State: cmp.Or(head.RunState, "idle"), Created: stamp(head.Created),
		Updated: stamp(head.Updated),
	}, Messages: []Message{}}}
	for _, ev := range events { // undone messages still count as usage
		switch b := ev.Body.(type) {
		case footnote.AssistantMessage:
			v.c.TotalTokens += b.Usage.Prompt() + b.Usage.Output
		case footnote.StepFailed:
			v.c.TotalTokens += b.Usage.Prompt() + b.Usage.Output
		}
	}
	for _, ev := range history.Standing(events) {
		v.apply(ev)
	}
	v.c.MessageCount = len(v.c.Messages)
	return v.c
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

type view struct {
	c     Conversation
	usage footnote.Usage
	cost  footnote.Cost
}

func (v *view) apply(ev footnote.Event) {
	switch b := ev.Body.(type) {
	case footnote.UserMessage:
		if b.Text == "" {
			return // our own text
		}
		m := Message{ID: strconv.FormatInt(ev.Seq, 10), Role: "user", Content: b.Text, Timestamp: stamp(ev.Time)}
		var where struct{ Symbol, Timeframe string }
		if b.Where != nil && json.Unmarshal(b.Where, &where) == nil {
			m.Pair, m.Timeframe = where.Symbol, where.Timeframe
			v.c.Pair, v.c.Timeframe = m.Pair, m.Timeframe
		}
		v.c.Messages = append(v.c.Messages, m)
		v.usage, v.cost = footnote.Usage{}, footnote.Cost{}
	case footnote.AssistantMessage:
		v.addAnswer(ev, b)
	case footnote.ToolResult:
		v.result(b)
	case footnote.RunFailed:
		v.answer(ev).Error = b.Message
	case footnote.Unreadable:
		v.unreadable(ev, b)
	}
}

// unreadable marks the place of an event that cannot be read.
func (v *view) unreadable(ev footnote.Event, b footnote.Unreadable) {
	id := strconv.FormatInt(ev.Seq, 10)
	words := "Event " + id + " of this conversation cannot be read."
	if b.Kind == "user_message" {
		v.c.Messages = append(v.c.Messages, Message{ID: id, Role: "user", Content: words, Timestamp: stamp(ev.Time)})
		return
	}
	m := v.answer(ev)
	m.Content = strings.TrimSpace(m.Content + "\n\n" + words)
}

// answer returns the message that answers the newest one.
func (v *view) answer(ev footnote.Event) *Message {
	if n := len(v.c.Messages); n == 0 || v.c.Messages[n-1].Role != "assistant" {
		v.c.Messages = append(v.c.Messages, Message{
			ID: strconv.FormatInt(ev.Seq, 10), Role: "assistant", Timestamp: stamp(ev.Time),
		})
	}
	return &v.c.Messages[len(v.c.Messages)-1]
}

func (v *view) addAnswer(ev footnote.Event, b footnote.AssistantMessage) {
	m := v.answer(ev)
	v.usage, v.cost = v.usage.Add(b.Usage), v.cost.Add(b.Cost)
	u := usageOf(v.usage, v.cost)
	m.TokenUsage, m.Model, v.c.Model = &u, b.Model, b.Model
	for _, block := range agent.Shown(b.Blocks) {
		switch {
		case block.Kind == model.TextBlock && block.Text != "":
			if m.Content != "" {
				m.Content += "\n\n"
			}
			m.Content += block.Text
		case block.Kind == model.ToolUseBlock:
			m.ToolCalls = append(m.ToolCalls, ToolCall{ID: block.ID, Name: block.Name, Input: objectOf(block.Input)})
		}
	}
}

func (v *view) result(b footnote.ToolResult) {
	for i := len(v.c.Messages) - 1; i >= 0; i-- {
		m := &v.c.Messages[i]
		j := slices.IndexFunc(m.ToolCalls, func(c ToolCall) bool { return c.ID == b.CallID })
		if j < 0 {
			continue
		}
		m.ToolCalls[j].Result, m.ToolCalls[j].IsError = dataOf(b.Content), b.IsError
		if action := actionOf(b); action != nil && !b.IsError {
			m.DrawingActions = append(m.DrawingActions, action)
			v.c.DrawingsMoved++
		}
		return
	}
}
