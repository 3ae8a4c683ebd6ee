package openai

import (
	"encoding/json"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
)

// Encoder writes one answer as chunks of an event stream. It is not safe for concurrent use.
//
// It copies text from the model's JSON into the chunk without decoding it: both are inside JSON strings. It
// decodes the text only when it must inspect it, for stop strings and footnotes.
type Encoder struct {
	opt     Options
	content []byte // start of a chunk, up to the text
	tail    []byte // end of the chunk
	decodes bool

	opened   bool // the role has been sent
	done     bool
	err      error
	spoke    bool // some text has been sent
	step     int  // step of the text sent last
	attempt  int
	live     int // step whose blocks came as deltas
	spokenBy int // last step whose text came as deltas
	last     int // step of the last complete message
	messages [][]json.RawMessage
	answered *footnote.Answered

	all     []byte // all text, if it is decoded
	pending []byte // text that may be the start of a stop string
	shown   int    // bytes of all that were sent
	cut     bool   // a stop string was found
}

// NewEncoder returns the encoder of one answer.
func NewEncoder(o Options) *Encoder {
	e := &Encoder{opt: o, decodes: o.Footnotes || len(o.Stop) > 0}
	e.content = append(e.delta(nil), `"content":"`...)
	e.tail = e.end([]byte(`"`), "null")
	return e
}

// Done reports whether the stream is complete: nothing may follow.
func (e *Encoder) Done() bool { return e.done }

// Enough reports whether a stop string was found: the client needs no more text, so the run may be stopped.
// The stream continues to its end.
func (e *Encoder) Enough() bool { return e.cut && !e.done }

// Err returns why the answer ended before it was complete, or nil.
func (e *Encoder) Err() error { return e.err }

// Open appends the chunk that starts the answer, unless it has been sent. It is only needed for a slow
// answer; otherwise the first text starts it.
func (e *Encoder) Open(dst []byte) []byte {
	if e.opened {
		return dst
	}
	e.opened = true
	dst = append(e.delta(dst), `"role":"assistant","content":""`...)
	return e.end(dst, "null")
}

// head appends the start of a chunk, up to its choices.
func (e *Encoder) head(dst []byte) []byte {
	dst = append(dst, "data: "...)
	return appendHead(dst, e.opt, "chat.completion.chunk")
}

// delta appends the start of a chunk, up to the fields of its delta.
func (e *Encoder) delta(dst []byte) []byte {
	return append(e.head(dst), `"choices":[{"index":0,"delta":{`...)
}

// end appends the rest of a chunk after the fields of its delta.
func (e *Encoder) end(dst []byte, finish string) []byte {
	dst = append(dst, `},"finish_reason":`...)
	dst = append(dst, finish...)
	dst = append(dst, `}]`...)
	if e.opt.Usage {
		dst = append(dst, `,"usage":null`...)
	}
	return append(dst, "}\n\n"...)
}

// Delta appends the chunk for a delta, if any of it is visible.
func (e *Encoder) Delta(dst []byte, d footnote.Delta) []byte {
	if e.done || d.Run != e.opt.Run {
		return dst
	}
	switch d.Op {
	case footnote.BlockGrew:
		if d.Kind == "text" && len(d.Escaped) > 0 {
			e.spokenBy = d.Step
			return e.text(dst, d.Step, d.Attempt, d.Escaped)
		}
	case footnote.BlockStarted:
		e.live = d.Step
	case footnote.StepBroke:
		// Text already shown stays. The next attempt, or the message if it comes without deltas, starts a new
		// paragraph.
		e.live, e.spokenBy = 0, 0
	}
	return dst
}

// text appends a chunk with text of a step. A blank line precedes the text of a new step or attempt.
func (e *Encoder) text(dst []byte, step, attempt int, escaped []byte) []byte {
	apart := e.spoke && (step != e.step || attempt != e.attempt)
	e.spoke, e.step, e.attempt = true, step, attempt
	if e.decodes {
		return e.decoded(dst, apart, escaped)
	}
	dst = append(e.Open(dst), e.content...)
	if apart {
		dst = append(dst, escapedBlankLine...)
	}
	dst = append(dst, escaped...)
	return append(dst, e.tail...)
}

// decoded is text for an answer whose text must be inspected.
func (e *Encoder) decoded(dst []byte, apart bool, escaped []byte) []byte {
	from := len(e.pending)
	if apart {
		e.pending = append(e.pending, blankLine...)
	}
	e.pending = strictjson.AppendUnescaped(e.pending, escaped)
	if e.opt.Footnotes {
		e.all = append(e.all, e.pending[from:]...)
	}
	if e.cut {
		e.pending = e.pending[:0]
		return dst
	}
	if i := cutAt(e.pending, e.opt.Stop); i >= 0 {
		e.cut = true
		dst = e.show(dst, e.pending[:i])
		e.pending = e.pending[:0]
		return dst
	}
	n := len(e.pending) - held(e.pending, e.opt.Stop)
	dst = e.show(dst, e.pending[:n])
	e.pending = append(e.pending[:0], e.pending[n:]...)
	return dst
}

// show appends a chunk with decoded text.
func (e *Encoder) show(dst, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	e.shown += len(text)
	dst = append(e.Open(dst), e.content...)
	dst = strictjson.AppendEscaped(dst, string(text))
	return append(dst, e.tail...)
}

// Event appends the chunks for an event, if any of it is visible.
func (e *Encoder) Event(dst []byte, ev footnote.Event) []byte {
	if e.done || ev.Run != e.opt.Run {
		return dst
	}
	switch b := ev.Body.(type) {
	case footnote.AssistantMessage:
		return e.message(dst, b)
	case footnote.Answered:
		return e.answer(dst, b)
	case footnote.StepFailed:
		e.live, e.spokenBy = 0, 0
	case footnote.RunFinished:
		return e.finish(dst, finishReason(b.Reason), b.Usage)
	case footnote.RunStopped, footnote.RunFailed, footnote.RunParked:
		if err := protocol.RunError(b); err != nil {
			return e.Fail(dst, err)
		}
		if s, ok := b.(footnote.RunStopped); ok {
			return e.finish(dst, "stop", s.Usage)
		}
	}
	return dst
}

// message shows a complete message, unless it came as deltas.
func (e *Encoder) message(dst []byte, m footnote.AssistantMessage) []byte {
	e.messages, e.last = append(e.messages, m.Blocks), m.Step
	if e.live == m.Step {
		return dst
	}
	return e.whole(dst, m.Step, agent.Text(m.Blocks))
}

// whole shows a text that did not come as deltas.
func (e *Encoder) whole(dst []byte, step int, text string) []byte {
	if text == "" {
		return dst
	}
	return e.text(dst, step, 0, strictjson.AppendEscaped(nil, text))
}

// answer records the footnotes, and shows the answer if no message has shown it. An answer may be the input
// of a tool, and may or may not have come as deltas.
func (e *Encoder) answer(dst []byte, a footnote.Answered) []byte {
	e.answered = &a
	if e.spokenBy != 0 && e.spokenBy == e.last || endsWithAnswer(e.messages, a.Text) {
		return dst
	}
	return e.whole(dst, -1, a.Text)
}

// finish ends the answer: the reason, the usage if requested, and the end marker.
func (e *Encoder) finish(dst []byte, reason string, u footnote.Usage) []byte {
	if e.cut {
		reason = "stop"
	}
	dst = e.Open(e.rest(dst))
	dst = e.end(e.delta(dst), `"`+reason+`"`)
	if e.opt.Footnotes {
		dst = appendNotes(dst[:len(dst)-len("}\n\n")], e.answered, e.all, e.shown)
		dst = append(dst, "}\n\n"...)
	}
	if e.opt.Usage {
		dst = append(e.head(dst), `"choices":[],"usage":`...)
		dst = appendUsage(dst, u)
		dst = append(dst, "}\n\n"...)
	}
	return e.close(dst)
}

// Fail ends the answer with an error. The answer then has no finish reason, so that no client takes it for
// complete.
func (e *Encoder) Fail(dst []byte, err error) []byte {
	if e.done {
		return dst
	}
	e.err = err
	dst = append(e.rest(dst), "data: "...)
	dst = AppendError(dst, err, "")
	dst = append(dst, "\n\n"...)
	return e.close(dst)
}

// rest shows the text that was held back for a stop string that never came.
func (e *Encoder) rest(dst []byte) []byte {
	dst = e.show(dst, e.pending)
	e.pending = nil
	return dst
}

func (e *Encoder) close(dst []byte) []byte {
	e.done = true
	return append(dst, "data: [DONE]\n\n"...)
}
