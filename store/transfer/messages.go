package transfer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
)

// Protocol is the name of imported runs in the log.
const Protocol = "import"

// Frame sets the owner and the assistant of imported conversations.
type Frame struct {
	Assistant     string
	Choice        footnote.Choice
	Sources       []string
	System, Tools json.RawMessage // as a new conversation has them
	Context       footnote.Digest // as in footnote.Opened
	Org, User     string
	Now           func() time.Time
}

// Messages imports conversations from lines {"id","title","messages":[…]} with messages of the Messages API. It reports
// an invalid line with its number and imports the others. It skips a conversation whose id, or without an id the same
// line, was imported before.
func Messages(ctx context.Context, to store.Movable, in io.Reader, f Frame,
	report func(line int, err error)) (n Count, err error) {
	for at, raw := range lines(in) {
		if at < 0 {
			return n, errLine(-at, "%s", raw)
		}
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		c, err := f.read(raw)
		if err != nil {
			report(at, err)
			continue
		}
		err = to.Import(ctx, c.head, list(c.events), list(c.blobs))
		switch footnote.CodeOf(err) {
		case "":
			n.Streams++
		case footnote.Conflict:
			n.There++
		case footnote.StorageUnavailable:
			return n, err
		default:
			if ctx.Err() != nil {
				return n, err
			}
			report(at, err)
		}
	}
	return n, nil
}

func list[T any](values []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// conversation is a conversation under construction.
type conversation struct {
	head   store.Stream
	events []footnote.Event
	blobs  []store.Blob

	run   string
	step  int
	names map[string]string // tool names of open calls, by call id
	text  string            // latest text of the run
}

func (c *conversation) add(b footnote.Body) {
	c.head.Last++
	c.events = append(c.events, footnote.Event{
		Stream: c.head.ID, Seq: c.head.Last, Time: c.head.Created, Run: c.run, Body: b,
	})
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// piece is one block of a message.
type piece struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	CallID  string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
	raw     json.RawMessage
}

// read converts a line to events.
func (f Frame) read(raw []byte) (*conversation, error) {
	var in struct {
		ID       string    `json:"id"`
		Title    string    `json:"title"`
		Messages []message `json:"messages"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // its text names Go types
			err = fmt.Errorf("%s cannot be of the type %s", cmp.Or(e.Field, "the line"), e.Value)
		}
		return nil, fmt.Errorf("not a conversation: %w", err)
	}
	if len(in.Messages) == 0 {
		return nil, fmt.Errorf("the conversation has no messages")
	}
	if in.ID == "" {
		in.ID = "import/" + footnote.DigestOf(raw)[len("sha256:"):][:32]
	}
	now := store.Micros(f.Now().UTC())
	c := &conversation{names: map[string]string{}, head: store.Stream{
		ID: "conv_" + rand.Text(), Kind: store.Conversation, Org: f.Org, User: f.User, ClientID: in.ID,
		Assistant: f.Assistant, Created: now, Updated: now,
	}}
	for _, data := range []json.RawMessage{f.System, f.Tools} {
		if d := footnote.DigestOf(data); len(c.blobs) == 0 || c.blobs[0].Digest != d {
			c.blobs = append(c.blobs, store.Blob{Digest: d, Data: data})
		}
	}
	c.add(footnote.Opened{
		Assistant: f.Assistant, Model: f.Choice.Model, Tier: f.Choice.Tier, Effort: f.Choice.Effort, Sources: f.Sources,
		System: footnote.DigestOf(f.System), Tools: footnote.DigestOf(f.Tools), Context: f.Context,
	})
	for i, m := range in.Messages {
		blocks, err := blocksOf(m.Content)
		if err == nil {
			err = c.message(m.Role, blocks, in.Title)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	c.end()
	return c, nil
}

func blocksOf(content json.RawMessage) ([]piece, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		content, _ = json.Marshal([]map[string]string{{"type": "text", "text": text}}) // a string always encodes
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(content, &raw); err != nil || len(raw) == 0 {
		return nil, fmt.Errorf("the content is neither text nor a list of blocks")
	}
	blocks := make([]piece, len(raw))
	for i := range raw {
		if err := json.Unmarshal(raw[i], &blocks[i]); err != nil {
			return nil, fmt.Errorf("block %d: %w", i+1, err)
		}
		blocks[i].raw = raw[i]
	}
	return blocks, nil
}

func (c *conversation) message(role string, blocks []piece, title string) error {
	switch {
	case role == "assistant" && c.run == "":
		return fmt.Errorf("an assistant message comes before the first user message")
	case role == "assistant":
		return c.spoke(blocks)
	case role != "user":
		return fmt.Errorf("the role %.40q is neither user nor assistant", role)
	}
	said := ""
	for _, b := range blocks {
		switch b.Type {
		case "text":
			said += b.Text
		case "tool_result":
			name, ok := c.names[b.CallID]
			if !ok {
				return fmt.Errorf("there is a result for the call %.80q, which is not open", b.CallID)
			}
			delete(c.names, b.CallID)
			c.add(footnote.ToolResult{
				CallID: b.CallID, Name: name, Content: plain(b.Content), IsError: b.IsError, By: Protocol,
			})
		default:
			return fmt.Errorf("blocks of type %.40q cannot be imported", b.Type)
		}
	}
	if said == "" {
		return nil
	}
	c.end()
	if c.head.Title == "" {
		if c.head.Title = store.CleanTitle(title); c.head.Title == "" {
			c.head.Title = store.CleanTitle(beginning(said))
		}
		c.add(footnote.Titled{Title: c.head.Title, Auto: title == ""})
	}
	c.run, c.step = "run_"+rand.Text(), 0
	c.add(footnote.UserMessage{Text: said})
	c.add(footnote.RunStarted{Protocol: Protocol, Unattended: true})
	return nil
}

func beginning(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

func (c *conversation) spoke(blocks []piece) error {
	c.step++
	m := footnote.AssistantMessage{Step: c.step, Model: "imported", StopReason: model.EndTurn}
	text := ""
	for _, b := range blocks {
		switch b.Type {
		case "text":
			text += b.Text
		case "tool_use":
			if b.ID == "" || b.Name == "" {
				return fmt.Errorf("a call needs an id and a name")
			}
			c.names[b.ID] = b.Name
			m.StopReason = model.ToolUse
		case "thinking", "redacted_thinking":
		default:
			return fmt.Errorf("blocks of type %.40q cannot be imported", b.Type)
		}
		m.Blocks = append(m.Blocks, b.raw)
	}
	if text != "" {
		c.text = text
	}
	c.add(m)
	return nil
}

// end ends the run. Open calls get a result when the history is read.
func (c *conversation) end() {
	if c.run == "" {
		return
	}
	if c.text != "" {
		c.add(footnote.Answered{Text: c.text, Cites: []footnote.Cite{}})
	}
	c.add(footnote.RunFinished{Reason: model.EndTurn, Steps: c.step})
	c.run, c.text = "", ""
	clear(c.names)
}

// plain returns the text of a result.
func plain(content json.RawMessage) string {
	var text string
	if len(content) == 0 || json.Unmarshal(content, &text) == nil {
		return text
	}
	blocks, err := blocksOf(content)
	if err != nil {
		return string(content)
	}
	for _, b := range blocks {
		if b.Type != "text" {
			return string(content)
		}
		text += b.Text
	}
	return text
}
