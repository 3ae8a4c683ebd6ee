package planner_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// deaf is a reader that only checks the order of what it is told.
type deaf struct {
	t    testing.TB
	open bool
	text []byte
}

func (d *deaf) Start(index int, kind, id, name string) {
	if d.open || index != 0 {
		d.t.Errorf("block %d started while another is open", index)
	}
	d.open = true
}

func (d *deaf) Delta(_ int, escaped []byte) { d.text = append(d.text, escaped...) }
func (d *deaf) Stop(int)                    { d.open = false }
func (d *deaf) Flush()                      {}

func (d *deaf) Retrying(int, footnote.Code, time.Duration) { d.t.Error("the planner retried") }

func message(role string, blocks ...map[string]any) model.Message {
	b, err := json.Marshal(blocks)
	if err != nil {
		panic(err)
	}
	return model.Message{Role: role, Content: b}
}

func raw(blocks []json.RawMessage) json.RawMessage {
	b, err := json.Marshal(blocks)
	if err != nil {
		panic(err)
	}
	return b
}
