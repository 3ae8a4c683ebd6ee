package claude

import (
	"bytes"
	"errors"
	"io"

	"github.com/footnotehq/footnote/model"
)

const (
	firstBuffer = 2 << 10  // holds a few events: most streams are read one piece at a time
	largeBuffer = 64 << 10 // size of reads when a lot of data has piled up
	manyFull    = 4        // consecutive reads that filled the buffer, after which it grows
	maxEvent    = 32 << 20 // bytes of one event
)

// reader splits a stream of server-sent events and passes the data of each to a message. Lines end in \n or
// \r\n; the data of an event is a JSON object, usually on a single line.
type reader struct {
	msg *message
	// buf[:end] was read and not yet used; it begins with the oldest incomplete event. The positions below
	// are offsets into it.
	buf  []byte
	end  int
	full int // consecutive reads that filled the buffer
	scan int // where to look for the next line break
	line int // where the current line begins

	// The current event. data is empty while hasData is false.
	hasData bool
	data    span
	joined  []byte // the data, if it has several lines
	name    span
}

// span is a piece of the buffer.
type span struct{ from, to int }

func (s span) back(n int) span { return span{s.from - n, s.to - n} }

func newReader(live model.Live) *reader {
	return &reader{msg: &message{live: live}, buf: make([]byte, firstBuffer)}
}

// run reads body until the message is complete. It calls beat after every read, and flushes live once after
// each read that had something to show. If the body ends before the message does, it returns an error of kind
// cutShort.
func (r *reader) run(body io.Reader, beat func()) error {
	for !r.msg.ended {
		if err := r.read(body, beat); err != nil {
			return err
		}
	}
	return nil
}

// read performs one read of run.
func (r *reader) read(body io.Reader, beat func()) error {
	if err := r.room(); err != nil {
		return err
	}
	n, err := body.Read(r.buf[r.end:])
	var failed error
	if n > 0 {
		beat()
		r.end += n
		if r.end == len(r.buf) {
			r.full++
		} else {
			r.full = 0
		}
		failed = r.consume()
		if r.full == manyFull && len(r.buf) < largeBuffer {
			r.full = 0
			r.grow()
		}
	}
	if err == io.EOF && failed == nil && !r.msg.ended {
		failed = r.rest()
	}
	r.msg.flush()
	switch {
	case failed != nil || r.msg.ended || err == nil:
		return failed
	case err == io.EOF:
		err = errors.New("the stream ended before the message did")
	}
	return &streamError{kind: cutShort, err: err}
}

// room makes room for at least one byte in the buffer.
func (r *reader) room() error {
	if r.end < len(r.buf) {
		return nil
	}
	if len(r.buf) >= maxEvent {
		return &streamError{kind: oversized, err: errTooLarge}
	}
	r.grow()
	return nil
}

// grow doubles the buffer.
func (r *reader) grow() {
	grown := make([]byte, min(2*len(r.buf), maxEvent))
	copy(grown, r.buf[:r.end])
	r.buf = grown
}

// consume handles every complete event in the buffer and moves the rest to its start.
func (r *reader) consume() error {
	used := 0 // everything before it belongs to completed events
	for {
		i := bytes.IndexByte(r.buf[r.scan:r.end], '\n')
		if i < 0 {
			r.scan = r.end
			break
		}
		from, to := r.line, r.scan+i
		r.line = to + 1
		r.scan = r.line
		if to > from && r.buf[to-1] == '\r' {
			to--
		}
		if to > from {
			r.field(from, to)
			continue
		}
		if r.hasData {
			if err := r.dispatch(); err != nil || r.msg.ended {
				return err
			}
		}
		r.reset()
		used = r.line
	}
	if used > 0 {
		r.end = copy(r.buf, r.buf[used:r.end])
		r.scan -= used
		r.line -= used
		r.data, r.name = r.data.back(used), r.name.back(used)
	}
	return nil
}

// reset clears the current event.
func (r *reader) reset() { r.hasData, r.joined, r.data, r.name = false, nil, span{}, span{} }

// field processes one line of an event.
func (r *reader) field(from, to int) {
	line := r.buf[from:to]
	switch {
	case bytes.HasPrefix(line, []byte("data:")):
		from += len("data:")
		if from < to && r.buf[from] == ' ' {
			from++
		}
		switch {
		case !r.hasData:
			r.data, r.hasData = span{from, to}, true
			return
		case r.joined == nil:
			r.joined = bytes.Clone(r.buf[r.data.from:r.data.to])
		}
		r.joined = append(append(r.joined, '\n'), r.buf[from:to]...)
	case bytes.HasPrefix(line, []byte("event:")):
		r.name = span{from + len("event:"), to}
	}
}

// dispatch passes on the current event.
func (r *reader) dispatch() error {
	data := r.joined
	if data == nil {
		data = r.buf[r.data.from:r.data.to]
	}
	var name []byte
	if r.name.to > 0 {
		name = bytes.TrimSpace(r.buf[r.name.from:r.name.to])
	}
	return r.msg.handle(name, data)
}

// rest handles a last event without a blank line after it.
func (r *reader) rest() error {
	if r.end > r.line {
		r.field(r.line, r.end)
	}
	if !r.hasData {
		return nil
	}
	err := r.dispatch()
	r.reset()
	return err
}
