package chatv2

import (
	"encoding/json"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol"
)

// Response is the answer to a message.
type Response struct {
	Text           string  `json:"text"`
	Parts          []Part  `json:"parts"`
	Events         []Event `json:"events"` // of this message and its answer
	ConversationID string  `json:"conversationId"`
	Metadata       Totals  `json:"metadata"`
	// Footnotes lists the source of each number in Text; Start and End count UTF-16 units, as JavaScript
	// does.
	Footnotes  []footnote.Cite       `json:"footnotes"`
	Unresolved []footnote.Unresolved `json:"unresolved,omitempty"`
	// Verified lists the results behind the answer that verified queries returned.
	Verified []footnote.VerifiedResult `json:"verified,omitempty"`
}

// Part is a piece of an answer, in order of appearance.
type Part struct {
	Type      string          `json:"type"` // text, tool_use or tool_result
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"` // of a tool_use
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   *string         `json:"content,omitempty"` // of a tool_result
	IsError   bool            `json:"isError,omitempty"`
	CacheHit  bool            `json:"cacheHit,omitempty"` // of a tool_result: it comes from the cache
}

// Totals are the totals of an answer.
type Totals struct {
	TokensUsed int64 `json:"tokensUsed"` // of all model calls, including their prompts
	// WeightedTokens is TokensUsed times the multiplier of the tier, as it counts against limits.
	WeightedTokens int64    `json:"weightedTokens"`
	Duration       int64    `json:"duration"`  // milliseconds
	ToolsUsed      []string `json:"toolsUsed"` // names, in order of first use
	// StopReason is why the answer ends: end_turn, a limit such as max_turns or budget, or who stopped it.
	StopReason string `json:"stopReason"`
}

// Collector builds the response from a run's events. It is not safe for concurrent use.
type Collector struct {
	run    string
	res    Response
	weight int64
	done   bool
	err    error
}

// NewCollector returns an empty Collector for a run.
func NewCollector(conversation, run string) *Collector {
	return &Collector{run: run, res: Response{
		Parts: []Part{}, Events: []Event{}, ConversationID: conversation, Metadata: Totals{ToolsUsed: []string{}},
		Footnotes: []footnote.Cite{},
	}}
}

// Delta does nothing: a complete answer is built from events.
func (*Collector) Delta(footnote.Delta) {}

// Enough returns false: this protocol has no stop strings.
func (*Collector) Enough() bool { return false }

// Event adds the next event of the conversation.
func (c *Collector) Event(ev footnote.Event) {
	if c.done || ev.Run != c.run {
		return
	}
	c.res.Events = appendView(c.res.Events, ev)
	switch b := ev.Body.(type) {
	case footnote.RunStarted:
		c.weight = b.Weight
	case footnote.AssistantMessage:
		c.message(b)
	case footnote.ToolResult:
		c.res.Parts = append(c.res.Parts, Part{
			Type: typeResult, ToolUseID: b.CallID, Name: b.Name, Content: &b.Content, IsError: b.IsError,
			CacheHit: b.CacheHit,
		})
	case footnote.Answered:
		c.answered(b)
	case footnote.RunFinished:
		c.end(b.Reason, b.Usage, b.Millis)
	case footnote.RunStopped:
		if c.err = protocol.RunError(b); c.err == nil {
			c.end(b.By, b.Usage, b.Millis)
		}
		c.done = true
	case footnote.RunFailed, footnote.RunParked:
		c.done, c.err = true, protocol.RunError(b)
	}
}

func (c *Collector) message(m footnote.AssistantMessage) {
	text := ""
	for _, b := range agent.Shown(m.Blocks) {
		switch {
		case b.Kind == model.TextBlock && b.Text != "":
			text += b.Text
			c.res.Parts = append(c.res.Parts, Part{Type: "text", Text: b.Text})
		case b.Kind == model.ToolUseBlock:
			c.res.Parts = append(c.res.Parts, Part{Type: "tool_use", ID: b.ID, Name: b.Name, Input: b.Input})
		}
		if b.Name != "" && !slices.Contains(c.res.Metadata.ToolsUsed, b.Name) {
			c.res.Metadata.ToolsUsed = append(c.res.Metadata.ToolsUsed, b.Name)
		}
	}
	if text != "" {
		c.res.Text = text
	}
}

// answered adds the answer with its footnotes.
func (c *Collector) answered(a footnote.Answered) {
	c.res.Text = a.Text
	c.res.Footnotes, c.res.Unresolved = protocol.UTF16(a)
	c.res.Verified = a.Verified
}

func (c *Collector) end(reason string, u footnote.Usage, millis int64) {
	m := &c.res.Metadata
	m.StopReason, m.TokensUsed, m.Duration, c.done = reason, u.Prompt()+u.Output, millis, true
	m.WeightedTokens = u.Weighted(c.weight)
}

// Completion returns the body of the response, or the error that prevented one; done is false while the run
// continues.
func (c *Collector) Completion() (body []byte, done bool, err error) {
	if !c.done || c.err != nil {
		return nil, c.done, c.err
	}
	return strictjson.MustEncode(c.res), true, nil // a tool input that is not JSON never becomes an event
}
