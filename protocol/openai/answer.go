package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
)

// Options select the run and the form of an answer.
type Options struct {
	ID        string // of the answer, chatcmpl-…
	Run       string // events and deltas of other runs are ignored
	Model     string // as the client named it
	Created   time.Time
	Usage     bool // end a stream with a usage chunk
	Footnotes bool // add the footnotes under the vendor key "footnotes"
	Stop      []string
}

// A blank line separates the texts of several steps; here as text and JSON-escaped.
const (
	blankLine        = "\n\n"
	escapedBlankLine = `\n\n`
)

// endsWithAnswer reports whether one of the messages ends with an answer's text.
func endsWithAnswer(messages [][]json.RawMessage, answer string) bool {
	answer = strings.TrimSpace(answer)
	for i := len(messages) - 1; i >= 0; i-- {
		if strings.HasSuffix(strings.TrimSpace(agent.Text(messages[i])), answer) {
			return true
		}
	}
	return false
}

// finishReason maps the reason for a run's end to this API's values. Running out of turns or money is a
// limit, and the text so far is the answer.
func finishReason(reason string) string {
	switch reason {
	case "max_tokens", "max_turns", "budget", "model_context_window_exceeded":
		return "length"
	case "refusal":
		return "content_filter"
	default:
		return "stop"
	}
}

// appendUsage appends a run's usage. Unlike in the Messages API, cached tokens count as part of the prompt
// here.
func appendUsage(dst []byte, u footnote.Usage) []byte {
	o := strictjson.Builder(append(dst, '{')).Int("prompt_tokens", u.Prompt()).Int("completion_tokens", u.Output)
	o = append(o.Int("total_tokens", u.Prompt()+u.Output).Name("prompt_tokens_details"), '{')
	o = append(o.Int("cached_tokens", u.CacheRead), '}')
	o = append(o.Name("completion_tokens_details"), '{')
	return append(o.Int("reasoning_tokens", u.Thinking), `}}`...)
}

// notes is the value of the vendor key with an answer's footnotes. Offsets are bytes in the content that the
// client received; if the answer is not part of it, they are bytes in Text, which is then set.
type notes struct {
	Text       string                    `json:"text,omitempty"`
	Cites      []footnote.Cite           `json:"cites"`
	Unresolved []footnote.Unresolved     `json:"unresolved,omitempty"`
	Chart      json.RawMessage           `json:"chart,omitempty"`
	Verified   []footnote.VerifiedResult `json:"verified,omitempty"`
}

// appendNotes appends the key and its value, preceded by a comma. all is the run's whole text, and shown is
// how much of it the client received: a stop string may have cut it off.
func appendNotes(dst []byte, a *footnote.Answered, all []byte, shown int) []byte {
	if a == nil {
		return dst
	}
	n := notes{Cites: []footnote.Cite{}, Verified: a.Verified}
	if string(a.Chart) != "null" {
		n.Chart = a.Chart
	}
	base := bytes.LastIndex(all, []byte(a.Text))
	if base < 0 {
		n.Text, base, shown = a.Text, 0, len(a.Text)
	}
	for _, c := range a.Cites {
		if c.Start, c.End = c.Start+base, c.End+base; c.End <= shown {
			n.Cites = append(n.Cites, c)
		}
	}
	for _, u := range a.Unresolved {
		if u.Start, u.End = u.Start+base, u.End+base; u.End <= shown {
			n.Unresolved = append(n.Unresolved, u)
		}
	}
	dst = append(dst, `,"footnotes":`...)
	return appendJSON(dst, n)
}

// cutAt returns where the earliest stop string begins in text, or -1.
func cutAt(text []byte, stop []string) int {
	first := -1
	for _, s := range stop {
		if i := bytes.Index(text, []byte(s)); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

// held returns how many bytes at the end of text may be the start of a stop string.
func held(text []byte, stop []string) int {
	most := 0
	for _, s := range stop {
		for n := min(len(s)-1, len(text)); n > most; n-- {
			if bytes.HasSuffix(text, []byte(s[:n])) {
				most = n
				break
			}
		}
	}
	return most
}

// Collector builds one completion from a run's events. It needs no deltas, so text of an interrupted model
// call is not included.
type Collector struct {
	opt      Options
	text     []byte
	messages [][]json.RawMessage
	answered *footnote.Answered
	body     []byte
	err      error
	done     bool
	watch    *Encoder // looks for stop strings in deltas; nil without any
}

// NewCollector returns an empty Collector.
func NewCollector(o Options) *Collector {
	c := &Collector{opt: o}
	if len(o.Stop) > 0 {
		c.watch = NewEncoder(Options{Run: o.Run, Stop: o.Stop})
	}
	return c
}

// Delta checks a delta for stop strings. Its text comes from the event that follows.
func (c *Collector) Delta(d footnote.Delta) {
	if c.watch != nil {
		c.watch.Delta(nil, d)
	}
}

// Enough reports whether a stop string was found, as Encoder.Enough does.
func (c *Collector) Enough() bool { return c.watch != nil && c.watch.Enough() && !c.done }

// Event adds the next event.
func (c *Collector) Event(ev footnote.Event) {
	if c.done || ev.Run != c.opt.Run {
		return
	}
	if c.watch != nil {
		c.watch.Event(nil, ev)
	}
	switch b := ev.Body.(type) {
	case footnote.AssistantMessage:
		c.messages = append(c.messages, b.Blocks)
		c.text = paragraph(c.text, agent.Text(b.Blocks))
	case footnote.Answered:
		if !endsWithAnswer(c.messages, b.Text) {
			c.text = paragraph(c.text, b.Text)
		}
		c.answered = &b
	case footnote.RunFinished:
		c.finish(finishReason(b.Reason), b.Usage)
	case footnote.RunStopped, footnote.RunFailed, footnote.RunParked:
		if c.err = protocol.RunError(b); c.err != nil {
			c.done = true
		} else if s, ok := b.(footnote.RunStopped); ok {
			c.finish("stop", s.Usage)
		}
	}
}

// Completion returns the body of the answer, or the error that prevented one; done is false while the run
// continues.
func (c *Collector) Completion() (body []byte, done bool, err error) { return c.body, c.done, c.err }

// paragraph adds text after a blank line.
func paragraph(dst []byte, text string) []byte {
	if text == "" {
		return dst
	}
	if len(dst) > 0 {
		dst = append(dst, blankLine...)
	}
	return append(dst, text...)
}

func (c *Collector) finish(reason string, u footnote.Usage) {
	shown := c.text
	if i := cutAt(c.text, c.opt.Stop); i >= 0 {
		shown, reason = c.text[:i], "stop"
	}
	var vendor []byte
	if c.opt.Footnotes {
		vendor = appendNotes(nil, c.answered, c.text, len(shown))
	}
	c.body = appendCompletion(nil, c.opt, string(shown), reason, u, vendor)
	c.done = true
}

// AppendCompletion appends a finished completion of plain text.
func AppendCompletion(dst []byte, o Options, text string, u footnote.Usage) []byte {
	return appendCompletion(dst, o, text, "stop", u, nil)
}

func appendCompletion(dst []byte, o Options, text, reason string, u footnote.Usage, vendor []byte) []byte {
	dst = appendHead(dst, o, "chat.completion")
	m := strictjson.Builder(append(dst, `"choices":[{"index":0,"message":{"role":"assistant"`...)).Text("content", text)
	dst = append(m, `,"refusal":null},"logprobs":null,"finish_reason":"`+reason+`"}],"usage":`...)
	return append(append(appendUsage(dst, u), vendor...), '}')
}

// appendHead appends the start that all objects of one answer share.
func appendHead(dst []byte, o Options, object string) []byte {
	head := strictjson.Builder(append(dst, '{')).Text("id", o.ID).Text("object", object)
	return append(head.Int("created", o.Created.Unix()).Text("model", o.Model), ',')
}
