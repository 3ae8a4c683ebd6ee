package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/model"
)

// live shows a growing message to readers. If a model reports blocks in a wrong order, only those deltas are lost: each
// block that was started is also ended, because readers wait for the end of a block.
type live struct {
	r         *run
	step      int
	attempt   int
	over      bool // the call has returned
	textShown bool // text was shown
	begun     bool // anything was shown
	blocks    map[int]hub.Block
	isText    map[int]bool
	finals    map[int]*final  // calls of FinalAnswer by block: shown as the text of the answer
	ids       map[int]string  // call ids given out, by block
	shown     map[string]bool // call ids given out in this step
}

func (l *live) Start(index int, kind, id, name string) {
	if l.over || kind != model.TextBlock && kind != model.ThinkingBlock && kind != model.ToolUseBlock {
		return
	}
	if l.blocks == nil {
		l.blocks, l.isText = map[int]hub.Block{}, map[int]bool{}
	}
	l.Stop(index) // it was started twice
	if kind == model.ToolUseBlock {
		id = l.callID(index, id)
		if l.r.isFinal(name) {
			if l.finals == nil {
				l.finals = map[int]*final{}
			}
			l.finals[index] = &final{}
			return // Delta starts a text block when the answer begins
		}
	}
	l.start(index, kind, id, name)
}

// final reads the answer from a call of FinalAnswer while its input grows.
type final struct {
	answerReader
	text []byte // buffer for the next piece
}

func (l *live) start(index int, kind, id, name string) {
	l.begun = true
	l.isText[index] = kind == model.TextBlock
	l.blocks[index] = l.r.topic.Start(footnote.Delta{
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
	if l.ids == nil {
		l.ids = map[int]string{}
	}
	l.ids[index] = free
	return free
}

func (l *live) Delta(index int, escaped []byte) {
	if f := l.finals[index]; f != nil {
		if f.text = f.add(f.text[:0], escaped); len(f.text) == 0 {
			return
		}
		if _, begun := l.blocks[index]; !begun {
			l.start(index, model.TextBlock, "", "")
		}
		escaped = f.text
	}
	if b, ok := l.blocks[index]; ok {
		l.textShown = l.textShown || l.isText[index] && len(escaped) > 0
		b.Grow(escaped)
	}
}

func (l *live) Stop(index int) {
	delete(l.finals, index)
	if b, ok := l.blocks[index]; ok {
		b.End()
		delete(l.blocks, index)
	}
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
		var head struct {
			Type  string          `json:"type"`
			ID    string          `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal(raw, &head) != nil || head.Type != model.ToolUseBlock {
			continue
		}
		id, ok := l.ids[i]
		if !ok {
			id = l.callID(i, head.ID)
		}
		if id == head.ID {
			continue
		}
		head.ID = id
		if head.Input == nil {
			head.Input = json.RawMessage(`{}`)
		}
		blocks[i] = marshal(head)
	}
}
