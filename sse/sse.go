// Package sse writes server-sent events: headers that proxies respect, one write
// and flush at a time with a deadline each, and comments as heartbeat.
package sse

import (
	"errors"
	"net/http"
	"time"
)

// Heartbeat is how often a silent stream shows that it lives.
const Heartbeat = 15 * time.Second

// writeTimeout is how long a stalled reader may pin a write.
const writeTimeout = 30 * time.Second

var comment = []byte(": ping\n\n")

// Writer writes frames to one response. It belongs to one goroutine.
type Writer struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	until time.Time // the write deadline in force
}

// Start sends the headers of an event stream with the given status and a first
// comment, so that the first byte leaves early. It fails when the response cannot
// stream; nothing has been written then.
func Start(w http.ResponseWriter, status int) (*Writer, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	s := &Writer{w: w, rc: http.NewResponseController(w)}
	if err := s.deadline(); err != nil {
		return nil, err
	}
	w.WriteHeader(status)
	return s, s.Write(comment)
}

// Write sends complete frames and flushes them.
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
func (s *Writer) Ping() error { return s.Write(comment) }

// deadline moves the write deadline ahead, at most every few seconds: setting it
// for each frame would cost more than the frame.
func (s *Writer) deadline() error {
	now := time.Now()
	if s.until.Sub(now) > writeTimeout-5*time.Second {
		return nil
	}
	s.until = now.Add(writeTimeout)
	err := s.rc.SetWriteDeadline(s.until)
	if errors.Is(err, http.ErrNotSupported) {
		return nil // a recorder in a test
	}
	return err
}
