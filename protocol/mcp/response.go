package mcp

import (
	"net/http"
	"sync"
	"time"
)

// response writes the SDK's stream, and keeps it open through proxies: it asks them not to buffer, and sends comments
// while a call works.
type response struct {
	http.ResponseWriter
	mu sync.Mutex // guards writing
}

func newResponse(w http.ResponseWriter) *response {
	w.Header().Set("X-Accel-Buffering", "no")
	return &response{ResponseWriter: w}
}

// Unwrap serves http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write writes one whole event.
func (w *response) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ResponseWriter.Write(b)
}

// FlushError sends what was written.
func (w *response) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// heartbeat is how often a call that works sends a sign of life.
const heartbeat = 10 * time.Second

// ping sends a comment, which clients ignore.
func (w *response) ping() error {
	if _, err := w.Write([]byte(": working\n\n")); err != nil {
		return err
	}
	return w.FlushError()
}
