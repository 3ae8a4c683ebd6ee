package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// Options say what answer is made, and for which run.
type Options struct {
	ID        string // of the answer, chatcmpl-…
	Run       string // events and deltas of other runs are ignored
	Model     string // as the client named it
	Created   time.Time
	Usage     bool // a stream ends with a chunk that has the usage
	Footnotes bool // the footnotes stand under the vendor key "footnotes"
	Reasoning bool // thinking is shown as reasoning_content
	Stop      []string
}

// ParkedMessage is what a client reads when the run came to wait for what this
// API cannot carry.
const ParkedMessage = "The assistant waits for a person or a browser, which this API cannot answer. Use an assistant without such tools."

// Failure is why a run that ended with b gave no answer, or nil when it gave one.
// A run that a person stopped has an answer: what had been said.
func Failure(b footnote.Body) error {
	switch b := b.(type) {
	case footnote.RunFailed:
		return &footnote.Error{Code: b.Code, Message: b.Message, RetryAfter: time.Duration(b.RetryAfterMillis) * time.Millisecond}
	case footnote.RunParked:
		return footnote.Errorf(footnote.UnsupportedParameter, ParkedMessage)
	case footnote.RunStopped:
		if b.By == "shutdown" || b.By == "interrupted" {
			return footnote.Errorf(footnote.ModelUnavailable, "The server was restarted before the answer was complete. Please ask again.")
		}
	}
	return nil
}

// Texts of several steps are set apart by a blank line, as text and escaped.
const (
	blankLine        = "\n\n"
	escapedBlankLine = `\n\n`
)

// texts are the text and the thinking of a message's blocks. The text blocks of
// one message belong together and are joined as they are.
func texts(blocks []json.RawMessage) (text, thinking string) {
	var t, th strings.Builder
	for _, raw := range blocks {
		var b struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
		}
		if json.Unmarshal(raw, &b) != nil {
			continue // it was stored, so it is JSON; a block of an unknown shape has no text for us
		}
		switch b.Type {
		case "text":
			t.WriteString(b.Text)
		case "thinking":
			th.WriteString(b.Thinking)
		}
	}
	return t.String(), th.String()
}

// said reports whether an answer's text stands at the end of one of the messages.
func said(messages [][]json.RawMessage, answer string) bool {
	answer = strings.TrimSpace(answer)
	for i := len(messages) - 1; i >= 0; i-- {
		text, _ := texts(messages[i])
		if strings.HasSuffix(strings.TrimSpace(text), answer) {
			return true
		}
	}
	return false
}

// finishReason puts the reason of a run's end into this API's words. Running out
// of turns or money is a limit, and the text so far is the answer.
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

// appendUsage appends a run's usage. Here, unlike in the Messages API, cached
// tokens count as part of the prompt.
func appendUsage(dst []byte, u footnote.Usage) []byte {
	return appendJSON(dst, struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Total      int64 `json:"total_tokens"`
		PromptHow  struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionHow struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}{
		Prompt: u.Prompt(), Completion: u.Output, Total: u.Prompt() + u.Output,
		PromptHow: struct {
			Cached int64 `json:"cached_tokens"`
		}{u.CacheRead},
		CompletionHow: struct {
			Reasoning int64 `json:"reasoning_tokens"`
		}{u.Thinking},
	})
}

// notes is the vendor key with the footnotes of an answer. Offsets are bytes of
// the content the client has; when the answer cannot be found in it, they are
// bytes of Text, which is then given.
type notes struct {
	Text       string                `json:"text,omitempty"`
	Cites      []footnote.Cite       `json:"cites"`
	Unresolved []footnote.Unresolved `json:"unresolved,omitempty"`
	Chart      json.RawMessage       `json:"chart,omitempty"`
}

// appendNotes appends the key and its value, with a comma before it. said is all
// text of the run and shown how much of it the client got: a stop string may have
// cut the rest off.
func appendNotes(dst []byte, a *footnote.Answered, said []byte, shown int) []byte {
	if a == nil {
		return dst
	}
	n := notes{Cites: []footnote.Cite{}}
	if string(a.Chart) != "null" {
		n.Chart = a.Chart
	}
	base := bytes.LastIndex(said, []byte(a.Text))
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

// cutAt is where the earliest stop string begins in text, or -1.
func cutAt(text []byte, stop []string) int {
	first := -1
	for _, s := range stop {
		if i := bytes.Index(text, []byte(s)); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

// held is how many bytes at the end of text may be the beginning of a stop string.
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

// Collector makes one completion of a run's events. It needs no deltas, and text
// of a model call that broke off is not in it.
type Collector struct {
	opt      Options
	text     []byte
	thinking []byte
	messages [][]json.RawMessage
	answered *footnote.Answered
	body     []byte
	err      error
	done     bool
	watch    *Encoder // looks for stop strings while text grows; nil without any
}

// NewCollector makes an empty Collector.
func NewCollector(o Options) *Collector {
	c := &Collector{opt: o}
	if len(o.Stop) > 0 {
		c.watch = NewEncoder(Options{Run: o.Run, Stop: o.Stop})
	}
	return c
}

// Delta looks at a delta. Its text is taken from the event that follows.
func (c *Collector) Delta(d footnote.Delta) {
	if c.watch != nil {
		c.watch.Delta(nil, d)
	}
}

// Enough reports whether a stop string was found, as Encoder.Enough does.
func (c *Collector) Enough() bool { return c.watch != nil && c.watch.Enough() && !c.done }

// Event takes the next event.
func (c *Collector) Event(ev footnote.Event) {
	if c.done || ev.Run != c.opt.Run {
		return
	}
	if c.watch != nil {
		c.watch.Event(nil, ev)
	}
	switch b := ev.Body.(type) {
	case footnote.AssistantMessage:
		text, thinking := texts(b.Blocks)
		c.messages = append(c.messages, b.Blocks)
		c.text = paragraph(c.text, text)
		c.thinking = paragraph(c.thinking, thinking)
	case footnote.Answered:
		if !said(c.messages, b.Text) {
			c.text = paragraph(c.text, b.Text)
		}
		c.answered = &b
	case footnote.RunFinished:
		c.finish(finishReason(b.Reason), b.Usage)
	case footnote.RunStopped, footnote.RunFailed, footnote.RunParked:
		if c.err = Failure(b); c.err != nil {
			c.done = true
		} else if s, ok := b.(footnote.RunStopped); ok {
			c.finish("stop", s.Usage)
		}
	}
}

// Completion is the body of the answer, or why there is none; done is false as
// long as the run goes on.
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
	thinking := ""
	if c.opt.Reasoning {
		thinking = string(c.thinking)
	}
	c.body = appendCompletion(nil, c.opt, string(shown), thinking, reason, u, vendor)
	c.done = true
}

// AppendCompletion appends a finished completion of plain text.
func AppendCompletion(dst []byte, o Options, text string, u footnote.Usage) []byte {
	return appendCompletion(dst, o, text, "", "stop", u, nil)
}

func appendCompletion(dst []byte, o Options, text, thinking, reason string, u footnote.Usage, vendor []byte) []byte {
	dst = appendHead(dst, o, "chat.completion")
	dst = append(dst, `"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	dst = strictjson.AppendString(dst, text)
	if thinking != "" {
		dst = append(dst, `,"reasoning_content":`...)
		dst = strictjson.AppendString(dst, thinking)
	}
	dst = append(dst, `,"refusal":null},"logprobs":null,"finish_reason":"`...)
	dst = append(dst, reason...)
	dst = append(dst, `"}],"usage":`...)
	dst = appendUsage(dst, u)
	dst = append(dst, vendor...)
	return append(dst, '}')
}

// appendHead appends the beginning that all objects of one answer share.
func appendHead(dst []byte, o Options, object string) []byte {
	dst = append(dst, `{"id":`...)
	dst = strictjson.AppendString(dst, o.ID)
	dst = append(dst, `,"object":"`...)
	dst = append(dst, object...)
	dst = append(dst, `","created":`...)
	dst = appendJSON(dst, o.Created.Unix())
	dst = append(dst, `,"model":`...)
	dst = strictjson.AppendString(dst, o.Model)
	return append(dst, ',')
}
