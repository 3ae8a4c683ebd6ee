package httpapi

import (
	"fmt"
	"runtime/debug"

	"github.com/footnotehq/footnote"
)

// direct is the state of a pump whose pieces are written by the goroutine of the run. Waking the pump's own goroutine
// for each would cost about as much as writing them. The run must never wait for a client, so it writes only what the
// kernel takes at once.
type direct struct {
	room     room
	unsent   bool // p.buf has frames that the kernel might not take at once
	err      error
	panicked any
}

// deliverDirectly lets the run write to the client, if the kernel tells how much it takes.
func (p *pump) deliverDirectly() {
	if p.w == nil || !p.direct.room.of(connOf(p.r.Context())) {
		return
	}
	p.rd.Direct(func(d footnote.Delta) (delivered bool) {
		defer func() {
			if v := recover(); v != nil { // it ends this request, as it would on the pump's goroutine, and not the run
				p.direct.panicked, delivered = fmt.Sprintf("%v\n%s", v, debug.Stack()), false
			}
		}()
		return p.deliver(d)
	})
}

// deliver writes a piece. It returns false if the pump's goroutine must go on.
func (p *pump) deliver(d footnote.Delta) bool {
	p.buf = p.Encoder.Delta(p.buf[:0], d)
	if p.out == nil || !p.direct.room.takes(len(p.buf)) {
		p.direct.unsent = true
		return false
	}
	p.direct.err = p.write(p.buf)
	return p.direct.err == nil && !p.hasEnough() && !p.Encoder.Done()
}

// finishDirect does what deliver left.
func (p *pump) finishDirect() error {
	left := p.direct
	p.direct = direct{room: left.room}
	switch {
	case left.panicked != nil:
		panic(left.panicked)
	case left.err != nil:
		return left.err
	case !left.unsent:
		p.buf = p.buf[:0]
	}
	return p.flush()
}
