package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/mark"
	"github.com/footnotehq/footnote/model"
)

// live shows a growing message to readers. If a model reports blocks in a wrong order, only those deltas are lost: each
// block that was started is also ended, because readers wait for the end of a block.
type live struct {
	r             *run
	step, attempt int
	over          bool               // the call has returned
	textShown     bool               // text was shown
	begun         bool               // anything was shown
	blocks        map[int]*liveBlock // those that have not ended
	ids           map[int]string     // call ids given out, by block
	shown         map[string]bool    // call ids given out in this step
}

// liveBlock is a block that grows.
type liveBlock struct {
	hub.Block
	begun bool // readers see it
	text  bool
	marks mark.Filter // of a text
	// answer reads the answer from a call of FinalAnswer, which is shown as the text of the answer.
	answer *answerReader
	piece  []byte // buffer for the next piece of the answer
}

func (l *live) Start(index int, kind, id, name string) {
	if l.over || kind != model.TextBlock && kind != model.ThinkingBlock && kind != model.ToolUseBlock {
		return
	}
	l.Stop(index) // it was started twice
	b := &liveBlock{}
	put(&l.blocks, index, b)
	if kind == model.ToolUseBlock {
		id = l.callID(index, id)
		if l.r.isFinal(name) {
			b.answer = &answerReader{}
			return // Delta starts a text block when the answer begins
		}
	}
	l.start(b, index, kind, id, name)
}

func (l *live) start(b *liveBlock, index int, kind, id, name string) {
	l.begun = true
	b.begun, b.text = true, kind == model.TextBlock
	b.Block = l.r.topic.Start(footnote.Delta{
		Run: l.r.id, Step: l.step, Attempt: l.attempt, Index: index, Kind: kind, ID: id, Name: name,
	})
}

// callID returns an id for a call that is new in the conversation and in this step.
func (l *live) callID(index int, id string) string {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	free := l.r.s.unusedID(id)
	for n := 2; l.shown[free]; n++ {
		free = l.r.s.unusedID(fmt.Sprintf("%s_%d", id, n))
	}
	put(&l.shown, free, true)
	put(&l.ids, index, free)
	return free
}

func (l *live) Delta(index int, escaped []byte) {
	b := l.blocks[index]
	if b == nil {
		return
	}
	if b.answer != nil {
		if b.piece = b.answer.add(b.piece[:0], escaped); len(b.piece) == 0 {
			return
		}
		if !b.begun {
			l.start(b, index, model.TextBlock, "", "")
		}
		escaped = b.piece
	}
	if b.text {
		if escaped = b.marks.Add(escaped); len(escaped) == 0 {
			return
		}
		l.textShown = true
	}
	b.Grow(escaped)
}

func (l *live) Stop(index int) {
	if b := l.blocks[index]; b != nil && b.begun {
		if rest := b.marks.End(); len(rest) > 0 {
			b.Grow(rest)
		}
		b.End()
	}
	delete(l.blocks, index)
}

func (l *live) Flush() { l.r.topic.Flush() }

func (l *live) Retrying(attempt int, code footnote.Code, wait time.Duration) {
	l.r.topic.Note(footnote.Delta{
		Run: l.r.id, Step: l.step, Attempt: attempt, Op: footnote.StepRetrying, Code: code, Wait: wait,
	})
}

// end closes the blocks that the model left open.
func (l *live) end() {
	l.over = true
	for index := range l.blocks {
		l.Stop(index)
	}
	l.r.topic.Flush()
}

// rename gives the calls of a complete message the ids they were shown with.
func (l *live) rename(blocks []json.RawMessage) {
	for i, raw := range blocks {
		if !mayHaveType(raw, model.ToolUseBlock) {
			continue
		}
		b, ok := decodeBlock(raw)
		if !ok || b.Type != model.ToolUseBlock {
			continue
		}
		id, ok := l.ids[i]
		if !ok {
			id = l.callID(i, b.ID)
		}
		if id == b.ID {
			continue
		}
		if b.ID = id; b.Input == nil {
			b.Input = json.RawMessage(`{}`)
		}
		blocks[i] = marshal(b)
	}
}
