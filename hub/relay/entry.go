package relay

import (
	"encoding/json"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/model"
)

// piece is one thing that a reader at the owner saw: a reference to an event, or a delta. An entry of the
// pipe is an array of pieces.
type piece struct {
	Seq     int64            `json:"seq,omitempty"` // an event; the other fields describe deltas
	Op      footnote.DeltaOp `json:"op,omitempty"`
	Step    int              `json:"step,omitempty"`
	Attempt int              `json:"attempt,omitempty"`
	Index   int              `json:"index,omitempty"`
	Kind    string           `json:"kind,omitempty"`
	ID      string           `json:"id,omitempty"`
	Name    string           `json:"name,omitempty"`
	Off     int              `json:"off,omitempty"`  // bytes of the block before Text
	Text    json.RawMessage  `json:"text,omitempty"` // a JSON string; its inside is the delta's text
	Code    footnote.Code    `json:"code,omitempty"`
	Millis  int64            `json:"ms,omitempty"`
}

// place identifies a block.
type place struct{ step, attempt, index int }

// sender encodes what a reader sees.
type sender struct {
	sent map[place]int // bytes sent of each block of the step
	over bool          // the run has ended or parked
}

// entries encodes a batch in as few entries as their size limit allows.
func (s *sender) entries(batch hub.Batch) [][]byte {
	var entries [][]byte
	var pieces []piece
	size := 0
	flush := func() {
		if len(pieces) > 0 {
			if entry, err := strictjson.Encode(pieces); err == nil { // else a delta was not JSON, and is lost
				entries = append(entries, entry)
			}
		}
		pieces, size = nil, 0
	}
	for i := range batch {
		p := s.piece(&batch[i])
		if len(p.Text) > maxEntryBytes {
			continue // readers get the block from the log
		}
		if size += len(p.Text) + 100; size > maxEntryBytes {
			flush()
		}
		pieces = append(pieces, p)
	}
	flush()
	return entries
}

func (s *sender) piece(e *hub.Entry) piece {
	if e.Event != nil {
		switch e.Event.Body.(type) {
		case footnote.AssistantMessage, footnote.StepFailed:
			clear(s.sent)
		case footnote.RunParked, footnote.RunFinished, footnote.RunFailed, footnote.RunStopped:
			s.over = true
		}
		return piece{Seq: e.Event.Seq}
	}
	d := &e.Delta
	at := place{d.Step, d.Attempt, d.Index}
	p := piece{
		Op: d.Op, Step: d.Step, Attempt: d.Attempt, Index: d.Index, Kind: d.Kind, ID: d.ID, Name: d.Name, Code: d.Code,
		Millis: d.Wait.Milliseconds(),
	}
	if d.Op == footnote.BlockGrew {
		p.Off, p.ID, p.Name, p.Kind = s.sent[at], "", "", ""
		p.Text = append(append(append(make([]byte, 0, len(d.Escaped)+2), '"'), d.Escaped...), '"')
		s.sent[at] += len(d.Escaped)
	}
	return p
}

// Limits on a received piece.
const (
	maxPieces   = 10_000
	maxAttempts = 100
	maxBlocks   = 1_000
	maxName     = 256
	maxText     = 16 << 20 // bytes in all blocks of a step
	maxWait     = time.Hour
)

// decode decodes an entry, which is untrusted input.
func decode(entry []byte) ([]piece, bool) {
	var pieces []piece
	if len(entry) > maxReadBytes || json.Unmarshal(entry, &pieces) != nil || len(pieces) > maxPieces {
		return nil, false
	}
	for i := range pieces {
		if !pieces[i].plausible() {
			return nil, false
		}
	}
	return pieces, true
}

func (p *piece) plausible() bool {
	if p.Seq != 0 {
		return p.Seq > 0
	}
	if p.Step < 1 || p.Attempt < 1 || p.Attempt > maxAttempts || p.Index < 0 || p.Index >= maxBlocks || p.Off < 0 ||
		len(p.ID) > maxName || len(p.Name) > maxName || len(p.Code) > maxName {
		return false
	}
	switch p.Op {
	case footnote.BlockStarted:
		return p.Kind == model.TextBlock || p.Kind == model.ThinkingBlock || p.Kind == model.ToolUseBlock
	case footnote.BlockGrew:
		return len(p.Text) >= 2 && p.Text[0] == '"' // json.Unmarshal has checked that it is a valid value
	case footnote.BlockEnded, footnote.StepBroke:
		return true
	case footnote.StepRetrying:
		return p.Millis >= 0 && p.Millis <= maxWait.Milliseconds()
	default:
		return false
	}
}

// delta returns the delta of a piece without its text.
func (p *piece) delta(run string) footnote.Delta {
	return footnote.Delta{
		Run: run, Step: p.Step, Attempt: p.Attempt, Index: p.Index, Op: p.Op, Kind: p.Kind, ID: p.ID, Name: p.Name,
		Code: p.Code, Wait: time.Duration(p.Millis) * time.Millisecond,
	}
}
