package recorded

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// pricer is implemented by models that can estimate a call.
type pricer interface {
	MaxUse(req model.Request) (tokens int64, cost footnote.Cost)
	MinUse(req model.Request, grown int) (tokens int64, cost footnote.Cost)
}

// Recorder is a model that records the calls of another. Many runs may use it at once.
type Recorder struct {
	model.Model
	mu      sync.Mutex // guards entries
	entries []Entry
}

// NewRecorder returns a Recorder of a model.
func NewRecorder(m model.Model) *Recorder { return &Recorder{Model: m} }

// Step makes the call and records its message.
func (r *Recorder) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	reply, err := r.Model.Step(ctx, req, live)
	if err != nil {
		return reply, err
	}
	e, err := entryOf(req)
	if err != nil {
		return reply, err
	}
	e.Message = reply.Message
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.entries, func(o Entry) bool { return o.Key == e.Key }) {
		r.entries = append(r.entries, e)
	}
	return reply, nil
}

// MaxUse returns the estimate of the recorded model.
func (r *Recorder) MaxUse(req model.Request) (tokens int64, cost footnote.Cost) {
	if p, ok := r.Model.(pricer); ok {
		return p.MaxUse(req)
	}
	return 0, footnote.Cost{MicroUSD: req.MaxCost}
}

// MinUse returns the estimate of the recorded model.
func (r *Recorder) MinUse(req model.Request, grown int) (tokens int64, cost footnote.Cost) {
	if p, ok := r.Model.(pricer); ok {
		return p.MinUse(req, grown)
	}
	return 0, footnote.Cost{}
}

// Entries returns what has been recorded so far.
func (r *Recorder) Entries() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries)
}

// Player is a model that answers from recordings. Many runs may use it at once.
type Player struct {
	tape   *Tape
	parts  func() map[string]footnote.Digest
	mu     sync.Mutex // guards misses
	misses map[footnote.Digest][]string
}

// NewPlayer returns a Player of some recordings. parts returns the digests that Head.Parts has, as they are now.
func NewPlayer(t *Tape, parts func() map[string]footnote.Digest) *Player {
	return &Player{tape: t, parts: parts, misses: map[footnote.Digest][]string{}}
}

// Step returns the recorded message of a request. If there is none, the error says what has changed.
func (p *Player) Step(_ context.Context, req model.Request, live model.Live) (model.Reply, error) {
	e, err := entryOf(req)
	if err != nil {
		return model.Reply{}, err
	}
	i := slices.IndexFunc(p.tape.Entries, func(o Entry) bool { return o.Key == e.Key })
	if i < 0 {
		return model.Reply{}, p.miss(e)
	}
	m := p.tape.Entries[i].Message
	m.Blocks = slices.Clone(m.Blocks)
	m.Millis = 0
	show(m.Blocks, live)
	return model.Reply{Message: m}, nil
}

// miss records that a request has no recording.
func (p *Player) miss(e Entry) error {
	names := []string{"the question: it has no recording"}
	for _, o := range slices.Backward(p.tape.Entries) {
		if o.Question == e.Question && o.Step == e.Step {
			names = changed(o, e, p.tape.Head.Parts, p.parts())
			break
		}
		if o.Question == e.Question {
			names = []string{"the answer takes another number of steps"}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.misses[e.Question] = names
	return &model.StepError{
		Code:    footnote.ModelUnavailable,
		Message: "No recording fits this request. What has changed: " + words(names) + ".",
	}
}

// Changed names the parts that have changed since the recording, whether or not a request has.
func (p *Player) Changed() []string { return differing(p.tape.Head.Parts, p.parts()) }

// Missed returns what has changed since a question was recorded, or nil if its recordings fit.
func (p *Player) Missed(question string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.misses[footnote.DigestOf([]byte(question))]
}

// MaxUse returns nothing, because no model is called.
func (*Player) MaxUse(model.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// MinUse returns nothing, because no model is called.
func (*Player) MinUse(model.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// show reports the texts and calls of a message.
func show(blocks []json.RawMessage, live model.Live) {
	for i, raw := range blocks {
		var b struct {
			Type, Text, ID, Name string
			Input                json.RawMessage
		}
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		grown := b.Text
		switch b.Type {
		case model.ToolUseBlock:
			grown = string(b.Input)
		case model.TextBlock:
		default:
			continue
		}
		live.Start(i, b.Type, b.ID, b.Name)
		live.Delta(i, inside(grown))
		live.Stop(i)
	}
	live.Flush()
}

// inside returns a text as the inside of a JSON string.
func inside(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return nil // a string always encodes
	}
	return b[1 : len(b)-1]
}
