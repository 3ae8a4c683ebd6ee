// Package history converts the log of a conversation to the messages for a model. It is a pure function. Whatever the
// log contains (a crash, an import, hostile text), the Messages API accepts the result: a user message comes first
// and last, roles alternate, every tool call is answered once, directly after it, in the order of the calls, and
// thinking keeps its bytes.
//
// As the log grows, the messages only grow at the end, except at a recorded Segmented or Rewound event. That keeps
// the model's thinking and its prompt cache valid.
package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/fence"
	"github.com/footnotehq/footnote/internal/mark"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/internal/visible"
)

// Message is one turn in the format of the Messages API.
type Message struct {
	Role    string // "user" or "assistant"
	Content json.RawMessage
}

// Placeholders for what the log does not contain.
const (
	Unanswered  = "This call was not answered by the user."
	Interrupted = "This call was interrupted; there is no result."
	opening     = "(The conversation begins here.)"
	proceed     = "Please continue."
)

// Messages returns the history of a conversation with these events, oldest first.
func Messages(events []footnote.Event) []Message {
	messages, _ := Repaired(events)
	return messages
}

// Repaired returns Messages, and the number of repairs. Each repair is a defect that no correctly
// written log has: a call without a result, an unreadable block, or an answer without a call.
func Repaired(events []footnote.Event) (messages []Message, repairs int) {
	var b builder
	live := effective(events)
	if s := live.summary; s != "" {
		b.user(text("Summary of the conversation so far:\n" + s))
	}
	newest := ""
	if n := len(live.events); n > 0 {
		newest = live.events[n-1].Run
	}
	for _, ev := range live.events {
		if u, ok := ev.Body.(footnote.Unreadable); ok {
			b.unreadable(ev.Seq, u.Kind)
			b.damaged = true
			continue
		}
		b.dropThinking = b.damaged && ev.Run != newest
		b.add(ev.Body)
	}
	return b.finish(), b.repairs
}

// effectiveLog is the effective part of a log: without rewound events, and from the newest segment on.
type effectiveLog struct {
	events  []footnote.Event
	summary string
}

func effective(events []footnote.Event) effectiveLog {
	p := effectiveLog{events: Standing(events)}
	for i := 0; i < len(p.events); i++ {
		if b, ok := p.events[i].Body.(footnote.Segmented); ok {
			kept := slices.Clone(p.events[Index(p.events[:i], b.FromSeq):i])
			p.summary, p.events = b.Summary, append(kept, p.events[i+1:]...)
			i = len(kept) - 1
		}
	}
	return p
}

// Standing returns the events that are still in effect: it omits rewound events, and the Rewound events themselves.
// Every view of a conversation builds on it. It does not modify the slice, and returns the slice itself if nothing
// was rewound.
func Standing(events []footnote.Event) []footnote.Event {
	first := slices.IndexFunc(events, func(ev footnote.Event) bool {
		_, ok := ev.Body.(footnote.Rewound)
		return ok
	})
	if first < 0 {
		return events
	}
	kept := slices.Clone(events[:first])
	for _, ev := range events[first:] {
		if b, ok := ev.Body.(footnote.Rewound); ok {
			kept = kept[:Index(kept, b.ToSeq+1)]
		} else {
			kept = append(kept, ev)
		}
	}
	return kept
}

// Index returns the index of the first event with at least the given sequence.
func Index(events []footnote.Event, seq int64) int {
	n, _ := slices.BinarySearchFunc(events, seq, func(ev footnote.Event, seq int64) int {
		return cmp.Compare(ev.Seq, seq)
	})
	return n
}

// builder folds events into messages.
type builder struct {
	out        []Message
	open       []call            // calls of the last assistant message, in order
	used       map[string]int    // tool call ids assigned so far
	userBlocks []json.RawMessage // blocks of the user message under construction

	repairs int // number of defects in the log

	// Thinking is signed together with everything before it. After an unreadable event it is therefore dropped,
	// except in the newest run, whose thinking was signed after that event.
	damaged, dropThinking bool
}

// call is one open call of the last assistant message.
type call struct {
	logged string // the id in the log
	sent   string // the id in the messages
	result *footnote.ToolResult
}

func (b *builder) add(body footnote.Body) {
	switch v := body.(type) {
	case footnote.UserMessage:
		b.close(Unanswered)
		b.user(text(v.Text))
		b.user(text(v.Context))
	case footnote.Imported:
		b.imported(v.Turns)
	case footnote.AssistantMessage:
		if v.StopReason != "refusal" {
			b.assistant(mark.RestoreBlocks(v.Blocks, v.Marks))
		}
	case footnote.ToolResult:
		if v.Marks {
			v.Content = mark.Print(v.Content)
		}
		b.answer(v)
	}
}

// unreadable adds a placeholder for an unreadable event that may have been part of the conversation. A missing call
// result gets its placeholder when the call is closed.
func (b *builder) unreadable(seq int64, kind string) {
	words := text("(Event " + strconv.FormatInt(seq, 10) + " of this conversation cannot be read.)")
	switch kind {
	case "opened", "tool_result", "approval_asked", "approval_given", "run_started", "run_parked", "run_resumed",
		"run_finished", "run_failed",
		"run_stopped", "step_failed", "answered", "titled", "feedback", "query_run", "drawing_changed",
		"workspace_changed", "spent", "rewound", "segmented":
		return
	case "assistant_message":
		b.close(Interrupted)
		b.assistantSaid([]json.RawMessage{words}, nil)
	case "user_message", "imported":
		b.close(Unanswered)
		b.user(words)
	default:
		b.user(words)
	}
	b.repairs++
}

// imported adds the messages from before the conversation was imported.
func (b *builder) imported(turns []footnote.TextTurn) {
	b.close(Unanswered)
	for _, t := range turns {
		block := text(t.Text)
		switch {
		case block == nil:
		case t.Role == "assistant":
			b.close(Interrupted)
			b.assistantSaid([]json.RawMessage{block}, nil)
		default:
			b.user(block)
		}
	}
}

// user adds a block to the next user message; it ignores nil.
func (b *builder) user(block json.RawMessage) {
	if block != nil {
		b.userBlocks = append(b.userBlocks, block)
	}
}

// answer keeps the first result of an open call. Other results are not part of the history.
func (b *builder) answer(r footnote.ToolResult) {
	for i := range b.open {
		if b.open[i].logged == r.CallID && b.open[i].result == nil {
			b.open[i].result = &r
			return
		}
	}
}

// close answers the open calls in order: each with its result, or with words if it has none. Results come before
// everything else in the user message.
func (b *builder) close(words string) {
	if len(b.open) == 0 {
		return
	}
	results := make([]json.RawMessage, 0, len(b.open)+len(b.userBlocks))
	for _, c := range b.open {
		content, failed := words, true
		if c.result != nil {
			content, failed = c.result.Content, c.result.IsError
			if c.result.By != "user" { // who declined a call said so
				content = fence.Wrap(content)
			}
		} else {
			b.repairs++
		}
		results = append(results, toolResult(c.sent, content, failed))
	}
	b.open = nil
	b.userBlocks = append(results, b.userBlocks...)
}

// flush completes the user message under construction. An empty one gets some words.
func (b *builder) flush() {
	switch {
	case len(b.userBlocks) > 0:
	case len(b.out) == 0:
		b.user(text(opening))
	default:
		b.user(text(proceed))
	}
	b.out = append(b.out, Message{Role: "user", Content: array(b.userBlocks)})
	b.userBlocks = nil
}

func (b *builder) assistant(raw []json.RawMessage) {
	b.close(Interrupted)
	blocks, calls, substance := b.blocks(raw)
	if !substance {
		return // only thinking, which is not valid on its own
	}
	if len(b.userBlocks)+len(b.out) == 0 {
		b.repairs++
	}
	b.assistantSaid(blocks, calls)
}

// assistantSaid adds a message of the model. It closes the calls before it.
func (b *builder) assistantSaid(blocks []json.RawMessage, calls []call) {
	b.flush() // it may be empty: two assistant messages in a row, or one at the very start
	b.out = append(b.out, Message{Role: "assistant", Content: array(blocks)})
	b.open = calls
}

func (b *builder) finish() []Message {
	b.close(Interrupted)
	b.flush()
	return b.out
}

var (
	badName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
	okName  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) // of a tool, or the id of a call
)

// blocks returns the blocks of a model's message that can be sent back unchanged, and its tool calls. substance
// reports whether the message contains more than thinking.
func (b *builder) blocks(raw []json.RawMessage) (blocks []json.RawMessage, calls []call, substance bool) {
	for _, block := range raw {
		var head struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			Signature *string         `json:"signature"`
			Data      string          `json:"data"`
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			Input     json.RawMessage `json:"input"`
		}
		if !utf8.Valid(block) || json.Unmarshal(block, &head) != nil {
			b.repairs++
			continue // damaged
		}
		switch head.Type {
		case "text":
			if strings.TrimSpace(head.Text) != "" {
				blocks = append(blocks, block)
				substance = true
			}
		case "thinking":
			if !b.dropThinking && head.Signature != nil && *head.Signature != "" {
				blocks = append(blocks, block)
			}
		case "redacted_thinking":
			if !b.dropThinking && head.Data != "" {
				blocks = append(blocks, block)
			}
		case "tool_use":
			sent := b.unique(head.ID)
			calls = append(calls, call{logged: head.ID, sent: sent})
			if sent != head.ID || !okName.MatchString(head.Name) || !isObject(head.Input) {
				block = toolUse(sent, head.Name, head.Input)
			}
			blocks = append(blocks, block)
			substance = true
		}
	}
	return blocks, calls, substance
}

// unique returns a tool call id that no earlier call in the history has: some servers restart the numbering with each
// message.
func (b *builder) unique(id string) string {
	if b.used == nil {
		b.used = map[string]int{}
	}
	if !okName.MatchString(id) {
		id = "call_" + badName.ReplaceAllString(id[:min(len(id), 48)], "_")
	}
	sent := id
	for n := b.used[id] + 1; b.used[sent] > 0; n++ {
		sent = id[:min(len(id), 56)] + "_" + strconv.Itoa(n) // still within 64 bytes
	}
	b.used[id]++
	if sent != id {
		b.used[sent]++
	}
	return sent
}

func toolUse(id, name string, input json.RawMessage) json.RawMessage {
	if !okName.MatchString(name) {
		name = badName.ReplaceAllString(name, "_")
		name = cmp.Or(name[:min(len(name), 64)], "unnamed")
	}
	if !isObject(input) {
		input = strictjson.MustEncode(map[string]string{"INVALID_JSON": string(input)})
	}
	return strictjson.MustEncode(struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}{"tool_use", id, name, input})
}

func toolResult(id, content string, failed bool) json.RawMessage {
	return strictjson.MustEncode(struct {
		Type    string `json:"type"`
		ID      string `json:"tool_use_id"`
		IsError bool   `json:"is_error,omitempty"`
		Content string `json:"content"`
	}{"tool_result", id, failed, modelText(content)})
}

// modelText returns text as the model reads it: valid UTF-8, without characters invisible to a person.
func modelText(s string) string { return visible.Text(strings.ToValidUTF8(s, "\uFFFD")) }

// text returns a text block, or nil for blank text: the API rejects empty text.
func text(s string) json.RawMessage {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	s = modelText(s)
	const head = `{"type":"text","text":`
	out := append(make([]byte, 0, len(head)+len(s)+len(s)/16+8), head...)
	return append(strictjson.AppendString(out, s), '}')
}

func array(blocks []json.RawMessage) json.RawMessage {
	n := 2
	for _, b := range blocks {
		n += len(b) + 1
	}
	out := append(make([]byte, 0, n), '[')
	for i, b := range blocks {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, b...)
	}
	return append(out, ']')
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}
