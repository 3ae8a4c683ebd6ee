package analyze

import (
	"encoding/json"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// Options say what a stream is about.
type Options struct {
	Run   string           // events of other runs are not shown; empty: the first that begins
	Tools []agent.ToolInfo // of the assistant
	// Rows reads the stored rows of a result as a JSON array of arrays, at most
	// MostRows; nil, or an error: the answer has none.
	Rows func(footnote.StoredResult) (json.RawMessage, error)
	From Position // what the reader has
}

// MostRows is how many rows an answer's frame brings at most.
const MostRows = 1_000

// Encoder writes the frames of one stream. It takes the events of a conversation in
// order, at least from the first one of the run: what the reader has is read, for
// what later frames say, and not shown again.
type Encoder struct {
	opt  Options
	done bool
	err  error

	at   Position // what the reader has, and the events that told nothing
	told int      // bytes of the growing thinking that were met in this stream
	step int      // newest complete one

	client  map[string]bool // the tools that the page runs
	data    int             // calls so far that return data
	results []shown
	spec    *spec
}

// shown is a result with the call that gave it.
type shown struct {
	footnote.StoredResult
	call string
}

// spec is a checked chart, as the log has it.
type spec struct {
	Result string   `json:"result"`
	Type   string   `json:"type"`
	X      string   `json:"x"`
	Y      []string `json:"y"`
}

// NewEncoder makes an encoder.
func NewEncoder(o Options) *Encoder {
	e := &Encoder{opt: o, at: o.From, client: map[string]bool{}}
	for _, t := range o.Tools {
		e.client[t.Name] = t.Side == agent.Client
	}
	return e
}

// Done reports whether the stream is complete.
func (e *Encoder) Done() bool { return e.done }

// Err is why a complete stream has no answer, or nil.
func (e *Encoder) Err() error { return e.err }

// Open begins a stream whose first frame is slow to come: the stream's own first
// comment is enough.
func (e *Encoder) Open(dst []byte) []byte { return dst }

// Fail ends the stream with an error that is no event, and without done: a reader
// that comes again gets what follows what it has.
func (e *Encoder) Fail(dst []byte, err error) []byte {
	e.done, e.err = true, err
	return frame(dst, "", failureOf(err))
}

// Delta appends the frames of a delta: thinking, as it grows.
func (e *Encoder) Delta(dst []byte, d footnote.Delta) []byte {
	if e.done || d.Run != e.opt.Run || d.Op != footnote.BlockGrew || d.Kind != agent.ThinkingBlock || d.Step <= e.step {
		return dst
	}
	if text := e.fresh(string(strictjson.AppendUnescaped(nil, d.Escaped))); text != "" {
		return frame(dst, e.at.String(), thinking(text))
	}
	return dst
}

// fresh is what of a piece of thinking the reader does not have yet. It has it then.
func (e *Encoder) fresh(text string) string {
	e.told += len(text)
	more := e.told - e.at.Thought
	if more <= 0 {
		return ""
	}
	e.at.Thought = e.told
	return text[max(0, len(text)-more):]
}

// Event appends the frames of an event.
func (e *Encoder) Event(dst []byte, ev footnote.Event) []byte {
	if e.done || ev.Seq <= e.opt.From.Seq {
		if !e.done && e.mine(ev) {
			e.frames(ev.Body) // for what it tells of later ones
		}
		return dst
	}
	if !e.mine(ev) {
		e.at.Seq, e.at.Frames = ev.Seq, 0
		return dst
	}
	thought := e.thought(ev.Body)
	frames := e.frames(ev.Body)
	if _, ok := ev.Body.(footnote.RunStarted); ok {
		frames = append(frames, sessionFrame{"session", ev.Stream})
	}
	before := e.at
	if e.at = (Position{Seq: ev.Seq, Thought: before.Thought}); ends(ev.Body) {
		e.at.Thought = 0
	}
	if thought != "" {
		id := before
		if len(frames) == 0 {
			id = e.at
		}
		dst = frame(dst, id.String(), thinking(thought))
	}
	for i, f := range frames {
		id := e.at
		if i < len(frames)-1 {
			id = Position{Seq: before.Seq, Thought: before.Thought, Frames: i + 1}
		}
		if i >= before.Frames {
			dst = frame(dst, id.String(), f)
		}
	}
	return dst
}

// mine reports whether an event belongs to the run that is shown.
func (e *Encoder) mine(ev footnote.Event) bool { return ev.Run == e.opt.Run }

// ends reports whether an event ends the growth of thinking.
func ends(b footnote.Body) bool {
	switch b.(type) {
	case footnote.AssistantMessage, footnote.StepFailed:
		return true
	}
	return false
}

// thought is what of an event's thinking the reader does not have.
func (e *Encoder) thought(b footnote.Body) (text string) {
	switch b := b.(type) {
	case footnote.AssistantMessage:
		for _, block := range agent.Shown(b.Blocks) {
			if block.Kind == agent.ThinkingBlock {
				text += block.Text
			}
		}
	case footnote.StepFailed:
	default:
		return ""
	}
	e.told = 0
	text = e.fresh(text)
	e.told = 0
	return text
}

// frames is what an event says beside thinking.
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

// message is what a model's message says: its calls, and its words before them.
func (e *Encoder) message(m footnote.AssistantMessage) (frames []any) {
	e.step = m.Step
	words := ""
	for _, b := range agent.Shown(m.Blocks) {
		switch {
		case b.Name == agent.FinalAnswer: // it comes as the answer
		case b.Kind == agent.TextBlock:
			words += b.Text
		case b.Kind == agent.ToolUseBlock:
			frames = append(frames, e.called(b))
		}
	}
	if words != "" && len(frames) > 0 { // without calls they are the answer
		frames = append([]any{thinking(words)}, frames...)
	}
	return frames
}

// returnData are the tools whose results count as steps.
var returnData = map[string]bool{"run_query": true, "get_column_stats": true, "get_value_distribution": true, "transform_data": true}

func (e *Encoder) called(b agent.Block) toolFrame {
	f := toolFrame{Type: "tool_call", ID: b.ID, Name: b.Name, Input: b.Input, Side: agent.Server}
	if e.client[b.Name] {
		f.Side = agent.Client
	}
	if returnData[b.Name] {
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
