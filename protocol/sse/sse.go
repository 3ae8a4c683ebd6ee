// Package sse writes server-sent events. It sets headers that proxies respect, flushes every write, gives
// each write a deadline, and sends comments as heartbeats.
package sse

import (
	"errors"
	"net/http"
	"time"
)

// Heartbeat is how long a stream may stay silent before it sends a heartbeat.
const Heartbeat = 15 * time.Second

// writeTimeout is how long a stalled reader may block a write.
const writeTimeout = 30 * time.Second

// ErrUnsupported is returned by Start when the response cannot be flushed: a middleware hides the connection.
var ErrUnsupported = errors.New("the response cannot stream: a wrapper around it lacks Unwrap")

// Writer writes frames to one response. It is not safe for concurrent use.
type Writer struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	until time.Time // the current write deadline
	last  time.Time // last write
	ping  []byte    // a heartbeat; empty: none
}

var comment = []byte(": ping\n\n")

// Start sends the headers of an event stream with the given status, and the first frames in the same write.
// Without frames it sends a comment, so that the first byte leaves early. If it returns ErrUnsupported,
// nothing has been written.
func Start(w http.ResponseWriter, status int, frames []byte) (*Writer, error) {
	if len(frames) == 0 {
		frames = comment
	}
	return start(w, status, "text/event-stream", comment, frames)
}

// StartAs is Start for a stream of another content type. It has no heartbeats, and Write writes what it gets.
func StartAs(w http.ResponseWriter, status int, contentType string, first []byte) (*Writer, error) {
	return start(w, status, contentType, nil, first)
}

func start(w http.ResponseWriter, status int, contentType string, ping, first []byte) (*Writer, error) {
	if !flushes(w) {
		return nil, ErrUnsupported
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Del("Content-Length")
	s := &Writer{w: w, rc: http.NewResponseController(w), ping: ping}
	w.WriteHeader(status)
	if len(first) == 0 {
		s.last = time.Now()
		return s, s.rc.Flush()
	}
	return s, s.Write(first)
}

// flushes reports whether the response, or one that it wraps, can be flushed. Calling Flush would show this
// too, but it sends the headers, and then an error status can no longer be sent.
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

// Write sends complete frames and flushes them. It returns an error if the reader accepts nothing for 30
// seconds.
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
func (s *Writer) Ping() error { return s.Write(s.ping) }

// Idle returns how long ago the last write was.
func (s *Writer) Idle() time.Duration { return time.Since(s.last) }

// deadline extends the write deadline, at most every few seconds: setting it for each frame would cost more
// than the frame.
func (s *Writer) deadline() error {
	s.last = time.Now()
	if s.until.Sub(s.last) > writeTimeout-5*time.Second {
		return nil
	}
	s.until = s.last.Add(writeTimeout)
	err := s.rc.SetWriteDeadline(s.until)
	if errors.Is(err, http.ErrNotSupported) {
		return nil // a test recorder
	}
	return err
}

// AppendEvent appends a frame with a name and an id, unless they are empty, and data without line breaks, which JSON
// never has.
func AppendEvent(dst []byte, name, id string, data []byte) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	dst = append(append(dst, "data: "...), data...)
	return append(dst, "\n\n"...)
}
