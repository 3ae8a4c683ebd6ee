package relay

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

// mirror copies the runs of one conversation that other servers drive into the hub. All fields except readers
// and end belong to the goroutine of follow.
type mirror struct {
	r       *Relay
	id      string
	readers int // guarded by Relay.mu
	end     context.CancelFunc

	topic       *hub.Topic
	last        int64     // newest published event
	own         int64     // newest published event of the run
	lastLogRead time.Time // when the log was last read to its end
	run         string    // the current run; empty: none
	key         string    // key of its owner in the pipe
	next        string    // position in the pipe
	at          int64     // newest event that the pipe has mentioned
	step        int       // newest complete message of the run

	// The message in progress.
	now    place // its step and attempt
	blocks map[int]*growing
	size   int
}

// growing is a block as received through the pipe.
type growing struct {
	hub.Block
	kind  string
	text  []byte // escaped
	ended bool
}

// maxWithoutLog is how long the mirror goes without reading the log while the pipe never pauses.
const maxWithoutLog = 20 * time.Second

// follow mirrors until ctx ends.
func (m *mirror) follow(ctx context.Context) {
	m.topic = m.r.opts.Hub.Open(m.id, m.last)
	defer func() {
		m.breakOff("")
		m.topic.Close()
	}()
	if err := m.learn(ctx); err != nil && ctx.Err() == nil {
		m.r.opts.Logger.WarnContext(ctx, "a run of another server is shown in whole blocks", "conversation", m.id,
			"err", err)
	}
	for ctx.Err() == nil {
		if m.r.opts.Drives(m.id) {
			m.breakOff("")
			m.sleep(ctx)
			continue
		}
		if m.run == "" || m.r.opts.Pipe == nil {
			m.sleep(ctx)
			m.readLog(ctx)
			continue
		}
		m.receive(ctx)
	}
}

func (m *mirror) sleep(ctx context.Context) {
	t := time.NewTimer(m.r.opts.Poll)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// learn reads the current run and its progress from the log.
func (m *mirror) learn(ctx context.Context) error {
	for ev, err := range m.r.opts.Log.Events(ctx, m.id, 0) {
		if err != nil {
			return err
		}
		if ev.Seq > m.last {
			break
		}
		m.note(ev)
	}
	return nil
}

// note updates the state of the run with an event.
func (m *mirror) note(ev footnote.Event) {
	if ev.Run != "" {
		m.own = ev.Seq
	}
	switch b := ev.Body.(type) {
	case footnote.RunStarted:
		m.run, m.step = ev.Run, 0
		m.switchOwner(key(ev.Run, 0))
	case footnote.RunResumed:
		m.run = ev.Run
		m.switchOwner(key(ev.Run, b.Attempt))
	case footnote.AssistantMessage:
		m.step = b.Step
	case footnote.RunParked:
		m.run = ""
	default:
		if footnote.Terminal(b) {
			m.run = ""
		}
	}
}

// switchOwner switches to another owner.
func (m *mirror) switchOwner(key string) { m.key, m.next, m.at = key, "", 0 }

// receive processes entries from the pipe, and reads the log when there are none.
func (m *mirror) receive(ctx context.Context) {
	from := m.key
	entries, next, err := m.r.opts.Pipe.Receive(ctx, m.key, m.next, m.r.opts.Poll)
	switch {
	case ctx.Err() != nil, m.r.opts.Drives(m.id): // this process drives the run now
		return
	case err != nil:
		m.r.failed(err)
		m.sleep(ctx)
	default:
		m.next = next
	}
	for _, entry := range entries {
		pieces, ok := decode(entry)
		if !ok {
			m.r.opts.Logger.WarnContext(ctx, "ignoring an entry in the pipe that Footnote did not write",
				"conversation", m.id)
		}
		for i := range pieces {
			if m.key != from {
				break // another owner has meanwhile taken over
			}
			m.showPiece(ctx, &pieces[i])
		}
	}
	m.topic.Flush()
	if len(entries) == 0 || time.Since(m.lastLogRead) > maxWithoutLog {
		m.readLog(ctx)
	}
}

// readLog publishes new events from the log.
func (m *mirror) readLog(ctx context.Context) {
	if m.blocks == nil {
		// The topic may have failed with a run that began here and lost a race.
		m.topic.Close()
		m.topic = m.r.opts.Hub.Open(m.id, m.last)
	}
	m.lastLogRead = time.Now()
	m.upTo(ctx, 0)
}

// upTo publishes the events of the log up to seq, or all.
func (m *mirror) upTo(ctx context.Context, seq int64) {
	for ev, err := range m.r.opts.Log.Events(ctx, m.id, m.last) {
		if footnote.CodeOf(err) == footnote.NotFound {
			m.end() // the conversation was deleted
			return
		}
		if err != nil && ctx.Err() == nil {
			m.r.opts.Logger.WarnContext(ctx, "cannot follow a run of another server", "conversation", m.id, "err", err)
		}
		if err != nil || seq > 0 && ev.Seq > seq {
			return
		}
		m.settle(ev)
		m.topic.Publish(ev)
		m.last = ev.Seq
		if m.note(ev); m.run == "" {
			m.topic.Trim()
		}
	}
}

// showPiece shows a piece if it continues what is shown. Otherwise it leaves the rest to the log.
func (m *mirror) showPiece(ctx context.Context, p *piece) {
	if p.Seq > 0 {
		if m.at = p.Seq; p.Seq > m.last {
			m.upTo(ctx, p.Seq)
		}
		return
	}
	// Events of other runs may come between the pieces of a message.
	if m.at < m.own || m.at > m.last || m.run == "" || p.Step != m.step+1 {
		return
	}
	if here := (place{step: p.Step, attempt: p.Attempt}); here != m.now {
		if m.blocks != nil && p.Attempt < m.now.attempt {
			return
		}
		m.breakOff("")
		m.now = here
	}
	m.show(p)
}

// show passes a piece of the present attempt on to the readers.
func (m *mirror) show(p *piece) {
	b := m.blocks[p.Index]
	switch p.Op {
	case footnote.BlockStarted:
		if b == nil {
			m.start(p)
		}
	case footnote.BlockGrew:
		if inside := p.Text[1 : len(p.Text)-1]; b != nil && !b.ended && p.Off == len(b.text) &&
			m.size+len(inside) <= maxText {
			m.size += len(inside)
			b.text = append(b.text, inside...)
			b.Grow(inside)
		}
	case footnote.BlockEnded:
		if b != nil {
			b.end()
		}
	case footnote.StepBroke:
		m.breakOff(p.Code)
	case footnote.StepRetrying:
		m.topic.Note(p.delta(m.run))
	}
}

func (m *mirror) start(p *piece) {
	if m.blocks == nil {
		m.blocks, m.size = map[int]*growing{}, 0
	}
	m.blocks[p.Index] = &growing{Block: m.topic.Start(p.delta(m.run)), kind: p.Kind}
}

func (b *growing) end() {
	if !b.ended {
		b.ended = true
		b.End()
	}
}

// settle brings the message in progress to the end that an event gives it.
func (m *mirror) settle(ev footnote.Event) {
	if m.blocks == nil || ev.Run != m.run {
		return
	}
	if b, whole := ev.Body.(footnote.AssistantMessage); whole && b.Step == m.now.step && m.complete(b) {
		for _, b := range m.blocks {
			b.end()
		}
		m.blocks = nil
		return
	}
	m.breakOff("")
}

// complete shows the missing parts of a message's blocks. It returns false if the message does not match what
// was shown.
func (m *mirror) complete(msg footnote.AssistantMessage) bool {
	rest := map[*growing][]byte{}
	for i, b := range m.blocks {
		if i >= len(msg.Blocks) {
			return false
		}
		var whole struct{ Type, Text, Thinking, Name string }
		if json.Unmarshal(msg.Blocks[i], &whole) != nil {
			return false
		}
		text := whole.Text + whole.Thinking
		switch {
		case whole.Type == model.ToolUseBlock && b.kind == model.ToolUseBlock:
			continue // its input comes complete with the event
		case whole.Name == tool.FinalAnswer && b.ended:
			continue // shown as text; only the answer event counts
		case whole.Type != b.kind:
			return false
		}
		var said string
		if json.Unmarshal([]byte(`"`+string(b.text)+`"`), &said) != nil || !strings.HasPrefix(text, said) ||
			b.ended && text != said {
			return false
		}
		rest[b] = strictjson.AppendEscaped(nil, text[len(said):])
	}
	for b, more := range rest {
		b.Grow(more)
	}
	return true
}

// breakOff ends the message in progress, if any. The part that was shown stays, and is marked as broken off.
func (m *mirror) breakOff(code footnote.Code) {
	if m.blocks == nil {
		return
	}
	for _, b := range m.blocks {
		b.end()
	}
	m.topic.Note(footnote.Delta{
		Run: m.run, Step: m.now.step, Attempt: m.now.attempt, Op: footnote.StepBroke, Code: code,
	})
	m.blocks = nil
}
