// Package sse writes server-sent events: headers that proxies respect, one write
// and flush at a time with a deadline each, and comments as heartbeat.
package sse

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Heartbeat is how often a silent stream shows that it lives.
const Heartbeat = 15 * time.Second

// writeTimeout is how long a stalled reader may pin a write.
const writeTimeout = 30 * time.Second

const comment = ": ping\n\n"

// ErrUnsupported is what Start gives when the response cannot be flushed piece by
// piece: a middleware hides the connection.
var ErrUnsupported = errors.New("the response cannot stream: a wrapper around it lacks Unwrap")

// Writer writes frames to one response. It belongs to one goroutine.
type Writer struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	until time.Time // the write deadline in force
	last  time.Time // of the last write
}

// Start sends the headers of an event stream with the given status, and the first
// frames in the same write; without frames, a comment, so that the first byte
// leaves early. ErrUnsupported means that nothing has been written.
func Start(w http.ResponseWriter, status int, frames []byte) (*Writer, error) {
	if !flushes(w) {
		return nil, ErrUnsupported
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Del("Content-Length")
	s := &Writer{w: w, rc: http.NewResponseController(w)}
	w.WriteHeader(status)
	if len(frames) == 0 {
		frames = []byte(comment)
	}
	return s, s.Write(frames)
}

// flushes looks behind wrappers for a response that can be flushed. Flush itself
// would find out too, but it sends the headers, and then no error status can be
// sent any more.
func flushes(w http.ResponseWriter) bool {
	for {
		switch t := w.(type) {
		case interface{ FlushError() error }, http.Flusher:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}

// Write sends complete frames and flushes them. A reader that takes nothing for
// 30 seconds ends it with an error.
func (s *Writer) Write(frames []byte) error {
	if len(frames) == 0 {
		return nil
	}
	if err := s.deadline(); err != nil {
		return err
	}
	if _, err := s.w.Write(frames); err != nil {
		return err
	}
	return s.rc.Flush()
}

// Ping sends a heartbeat.
func (s *Writer) Ping() error { return s.Write([]byte(comment)) }

// Idle is how long nothing has been written.
func (s *Writer) Idle() time.Duration { return time.Since(s.last) }

// deadline moves the write deadline ahead, at most every few seconds: setting it
// for each frame would cost more than the frame.
func (s *Writer) deadline() error {
	s.last = time.Now()
	if s.until.Sub(s.last) > writeTimeout-5*time.Second {
		return nil
	}
	s.until = s.last.Add(writeTimeout)
	err := s.rc.SetWriteDeadline(s.until)
	if errors.Is(err, http.ErrNotSupported) {
		return nil // a recorder in a test
	}
	return err
}

// AppendEvent appends a frame with a name, an id when it is positive, and data
// that holds no line break, as JSON never does.
func AppendEvent(dst []byte, name string, id int64, data []byte) []byte {
	if id > 0 {
		dst = append(dst, "id: "...)
		dst = strconv.AppendInt(dst, id, 10)
		dst = append(dst, '\n')
	}
	dst = append(dst, "event: "...)
	dst = append(dst, name...)
	dst = append(dst, "\ndata: "...)
	dst = append(dst, data...)
	return append(dst, "\n\n"...)
}
