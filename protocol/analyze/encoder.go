package analyze

import (
	"encoding/json"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

// Options select what a stream shows.
type Options struct {
	Run   string           // show this run only; empty: the first that begins
	Tools []agent.ToolInfo // the assistant's tools
	// Rows reads up to MaxRows stored rows of a result as a JSON array of arrays. If it is nil or returns an
	// error, the answer has no rows.
	Rows func(footnote.StoredResult) (json.RawMessage, error)
	From Position // the reader's position
}

// MaxRows is the maximum number of rows in an answer frame.
const MaxRows = 1_000

// Encoder writes the frames of one stream. It takes the events of a conversation in order, at least from the
// first one of the run. Events that the reader already has are not shown again, but later frames depend on
// them.
type Encoder struct {
	opt  Options
	done bool
	err  error

	stream        string   // the conversation
	at            Position // the reader's position, including events without frames
	thinkingBytes int      // bytes of the current thinking seen in this stream
	step          int      // newest complete step

	client  map[string]bool // tools that the page runs
	counted map[string]bool // tools whose results count as steps
	data    int             // calls so far that return data
	results []shown
	spec    *spec
}

// shown is a result with the call that returned it.
type shown struct {
	footnote.StoredResult
	call string
}

// spec is a validated chart, as stored in the log.
type spec struct {
	Result string   `json:"result"`
	Type   string   `json:"type"`
	X      string   `json:"x"`
	Y      []string `json:"y"`
}

// NewEncoder makes an encoder.
func NewEncoder(o Options) *Encoder {
	e := &Encoder{opt: o, at: o.From, client: map[string]bool{}, counted: map[string]bool{}}
	for _, t := range o.Tools {
		e.client[t.Name] = t.Side == tool.Client
		e.counted[t.Name] = slices.Contains(returnData, t.Family)
	}
	return e
}

// Done reports whether the stream is complete.
func (e *Encoder) Done() bool { return e.done }

// Err returns why a complete stream has no answer, or nil.
func (e *Encoder) Err() error { return e.err }

// Open does nothing: the comment that starts every stream is enough.
func (e *Encoder) Open(dst []byte) []byte { return dst }

// Fail ends the stream with an error that is not in the log, and without a done frame. A reader that
// reconnects gets the frames after its position.
func (e *Encoder) Fail(dst []byte, err error) []byte {
	e.done, e.err = true, err
	return frame(dst, "", failureOf(err))
}

// Delta appends the frames of a delta: thinking as it grows.
func (e *Encoder) Delta(dst []byte, d footnote.Delta) []byte {
	if e.done || d.Run != e.opt.Run || d.Op != footnote.BlockGrew || d.Kind != model.ThinkingBlock || d.Step <= e.step {
		return dst
	}
	if text := e.unseen(string(strictjson.AppendUnescaped(nil, d.Escaped))); text != "" {
		return frame(dst, e.at.id(e.stream), thinking(text))
	}
	return dst
}

// unseen returns the part of a thinking delta that the reader does not have yet, and advances the position
// past it.
func (e *Encoder) unseen(text string) string {
	e.thinkingBytes += len(text)
	more := e.thinkingBytes - e.at.Thought
	if more <= 0 {
		return ""
	}
	e.at.Thought = e.thinkingBytes
	return text[max(0, len(text)-more):]
}

// Event appends the frames of an event.
func (e *Encoder) Event(dst []byte, ev footnote.Event) []byte {
	e.stream = ev.Stream
	if e.done || ev.Seq <= e.opt.From.Seq {
		if !e.done && e.mine(ev) {
			e.frames(ev.Body) // later frames depend on it
		}
		return dst
	}
	if !e.mine(ev) {
		e.at.Seq, e.at.Frames = ev.Seq, 0
		return dst
	}
	unseenThinking := e.unseenThinking(ev.Body)
	frames := e.frames(ev.Body)
	if _, ok := ev.Body.(footnote.RunStarted); ok {
		frames = append(frames, sessionFrame{"session", ev.Stream})
	}
	before := e.at
	if e.at = (Position{Seq: ev.Seq, Thought: before.Thought}); ends(ev.Body) {
		e.at.Thought = 0
	}
	if unseenThinking != "" {
		id := before
		if len(frames) == 0 {
			id = e.at
		}
		dst = frame(dst, id.id(e.stream), thinking(unseenThinking))
	}
	for i, f := range frames {
		id := e.at
		if i < len(frames)-1 {
			id = Position{Seq: before.Seq, Thought: before.Thought, Frames: i + 1}
		}
		if i >= before.Frames {
			dst = frame(dst, id.id(e.stream), f)
		}
	}
	return dst
}

// mine reports whether an event belongs to the run being shown.
func (e *Encoder) mine(ev footnote.Event) bool { return ev.Run == e.opt.Run }

// ends reports whether an event ends a growing block of thinking.
func ends(b footnote.Body) bool {
	switch b.(type) {
	case footnote.AssistantMessage, footnote.StepFailed:
		return true
	}
	return false
}

// unseenThinking returns the part of an event's thinking that the reader does not have.
func (e *Encoder) unseenThinking(b footnote.Body) (text string) {
	switch b := b.(type) {
	case footnote.AssistantMessage:
		for _, block := range agent.Shown(b.Blocks) {
			if block.Kind == model.ThinkingBlock {
				text += block.Text
			}
		}
	case footnote.StepFailed:
	default:
		return ""
	}
	e.thinkingBytes = 0
	text = e.unseen(text)
	e.thinkingBytes = 0
	return text
}

// frames returns the frames of an event, apart from thinking.
func (e *Encoder) frames(b footnote.Body) []any {
	switch b := b.(type) {
	case footnote.AssistantMessage:
		return e.message(b)
	case footnote.ToolResult:
		e.returned(b)
	case footnote.Answered:
		return []any{answerFrame{"answer", e.answer(b)}}
	case footnote.RunFailed:
		e.done, e.err = true, &footnote.Error{Code: b.Code, Message: b.Message}
		return []any{failureOf(e.err), doneFrame{Type: "done"}}
	case footnote.RunStopped:
		e.done = true
		return []any{doneFrame{"done", b.By}}
	case footnote.RunFinished:
		e.done = true
		return []any{doneFrame{Type: "done"}}
	}
	return nil
}

// message returns the frames of a model's message: its calls, and the text before them.
func (e *Encoder) message(m footnote.AssistantMessage) (frames []any) {
	e.step = m.Step
	words := ""
	for _, b := range agent.Shown(m.Blocks) {
		switch {
		case b.Name == tool.FinalAnswer: // the answer event shows it
		case b.Kind == model.TextBlock:
			words += b.Text
		case b.Kind == model.ToolUseBlock:
			frames = append(frames, e.called(b))
		}
	}
	if words != "" && len(frames) > 0 { // text without calls is the answer
		frames = append([]any{thinking(words)}, frames...)
	}
	return frames
}

// returnData lists the families of the tools whose results count as steps.
var returnData = []string{tool.Query, tool.ColumnStats, tool.ColumnValues, tool.Transform}

func (e *Encoder) called(b agent.Block) toolFrame {
	f := toolFrame{Type: "tool_call", ID: b.ID, Name: b.Name, Input: b.Input, Side: tool.Server}
	if e.client[b.Name] {
		f.Side = tool.Client
	}
	if e.counted[b.Name] {
		f.Step = new(e.data)
		e.data++
	}
	return f
}

func (e *Encoder) returned(r footnote.ToolResult) {
	if r.Result != nil {
		e.results = append(e.results, shown{*r.Result, r.CallID})
	}
	var s spec
	if len(r.Chart) > 0 && json.Unmarshal(r.Chart, &s) == nil {
		e.spec = &s
	}
}
