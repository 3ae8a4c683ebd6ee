package chatv2

import (
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol/sse"
)

// Encoder writes a run as frames: the conversation, text as it grows, each event when it is stored, and
// finally the response or the error. It writes nothing before the model's first text, so that a run that
// fails earlier gets the HTTP status of its error.
type Encoder struct {
	col       *Collector
	run       string
	waiting   []byte // frames before the first text
	begun     bool
	step      int  // newest complete step
	textShown bool // text of the current step was shown
	done      bool
	err       error
}

// NewEncoder returns the encoder of one run.
func NewEncoder(conversation, run string) *Encoder {
	e := &Encoder{col: NewCollector(conversation, run), run: run}
	e.waiting = sse.AppendEvent(nil, "", "", strictjson.MustEncode(struct {
		Type           string `json:"type"`
		ConversationID string `json:"conversationId"`
	}{"conversation", conversation}))
	return e
}

// Done reports whether the stream is complete.
func (e *Encoder) Done() bool { return e.done }

// Err returns why a complete stream has no response, or nil.
func (e *Encoder) Err() error { return e.err }

// Open starts a stream before its first text.
func (e *Encoder) Open(dst []byte) []byte { return e.begin(dst) }

func (e *Encoder) begin(dst []byte) []byte {
	if e.begun {
		return dst
	}
	e.begun = true
	dst = append(dst, e.waiting...)
	e.waiting = nil
	return dst
}

// Fail ends the stream with an error that is not in the log.
func (e *Encoder) Fail(dst []byte, err error) []byte {
	e.done, e.err = true, err
	return e.failed(e.begin(dst))
}

func (e *Encoder) failed(dst []byte) []byte {
	data := append([]byte(`{"type":"error",`), AppendError(nil, e.err, "")[1:]...)
	return sse.AppendEvent(dst, "", "", data)
}

// Delta appends the frame of a delta: text as it grows.
func (e *Encoder) Delta(dst []byte, d footnote.Delta) []byte {
	if e.done || d.Run != e.run || d.Step <= e.step {
		return dst
	}
	switch {
	case d.Op == footnote.BlockGrew && d.Kind == model.TextBlock && len(d.Escaped) > 0:
		dst = e.begin(dst)
		e.textShown = true
		o := strictjson.Builder(append(dst, `data: {"type":"text"`...)).Escaped("text", d.Escaped)
		return append(o, "}\n\n"...)
	case d.Op == footnote.StepBroke && e.textShown:
		return e.discard(dst)
	}
	return dst
}

// discard withdraws streamed text that never became an event.
func (e *Encoder) discard(dst []byte) []byte {
	e.textShown = false
	return sse.AppendEvent(dst, "", "", []byte(`{"type":"discard"}`))
}

// Event appends the frames of an event.
func (e *Encoder) Event(dst []byte, ev footnote.Event) []byte {
	if e.done || ev.Run != e.run {
		return dst
	}
	if m, ok := ev.Body.(footnote.AssistantMessage); ok {
		dst = e.begin(dst)
		if text := *messageContent(m).Text; !e.textShown && text != "" {
			dst = sse.AppendEvent(dst, "", "", strictjson.MustEncode(struct {
				Type string `json:"type"`
				Text string `json:"text"`
			}{"text", text}))
		}
		e.step, e.textShown = m.Step, false
	}
	e.col.Event(ev)
	for _, v := range appendView(nil, ev) {
		f := sse.AppendEvent(nil, "", ev.ID(), strictjson.MustEncode(struct {
			Type  string `json:"type"`
			Event Event  `json:"event"`
		}{"event", v}))
		if e.begun {
			dst = append(dst, f...)
		} else {
			e.waiting = append(e.waiting, f...)
		}
	}
	return e.ended(dst, ev.ID())
}

// ended appends the last frame when the run has ended.
func (e *Encoder) ended(dst []byte, id string) []byte {
	body, done, err := e.col.Completion()
	if !done {
		return dst
	}
	if e.done, e.err = true, err; err != nil {
		if !e.begun {
			return dst // the response gets an HTTP error status instead
		}
		if e.textShown {
			dst = e.discard(dst)
		}
		return e.failed(dst)
	}
	data := append([]byte(`{"type":"response","response":`), body...)
	return sse.AppendEvent(e.begin(dst), "", id, append(data, '}'))
}
