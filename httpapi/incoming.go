package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// paceBytes must arrive, or be written, within each window. The window of a body is Options.BodyTimeout or
	// uploadWindow, that of a response is answerWrite.
	paceBytes = 64 << 10
	// restTime is how long the client of a successful request may take to send a body that no handler read.
	restTime = 5 * time.Second
)

// incoming is the body of a request. It knows whether the client has sent all of it.
type incoming struct {
	io.ReadCloser
	left     int64  // bytes to come, negative if unknown
	complete bool   // everything has arrived
	arrived  func() // called once, when complete
}

// receive returns the request with a body that reports when it has arrived, and that body; nil without one.
func (s *Server) receive(r *http.Request) (*http.Request, *incoming) {
	conn := connOf(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		s.conns.reach(conn, working)
		return r, nil
	}
	body := &incoming{ReadCloser: r.Body, left: r.ContentLength, arrived: func() { s.conns.reach(conn, working) }}
	changed := *r // net/http must keep its own body
	changed.Body = body
	return &changed, body
}

func (b *incoming) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	if !b.complete && (b.left == 0 || errors.Is(err, io.EOF)) {
		b.complete = true
		b.arrived()
	}
	return n, err
}

// unread reports whether the client may still be sending the body, which may be nil.
func (b *incoming) unread() bool { return b != nil && !b.complete }

// endUnread ends a request whose body nobody read. By itself net/http would read up to 256 KB of it first, however long
// that takes.
func (s *Server) endUnread(w *recorder, r *http.Request) {
	if !w.body.unread() {
		return
	}
	s.conns.reach(connOf(r.Context()), answered)
	rc := http.NewResponseController(w)
	if w.status != 0 && w.Header().Get("Connection") != "close" {
		_ = rc.SetReadDeadline(time.Now().Add(restTime)) // fails only in test recorders
		return
	}
	w.Header().Set("Connection", "close")
	closeSoon(w.ResponseWriter)
	_ = rc.SetReadDeadline(time.Unix(1, 0)) // fails only in test recorders
}

// closeSoon makes net/http close its side of the connection after the response, and half a second later all of it. To
// close everything at once could make the client lose the response, because it is still sending. MaxBytesReader is
// the only way to ask for this; it does so when a body passes its limit.
func closeSoon(w http.ResponseWriter) {
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1))
}

// paced gives a body a deadline for each paceBytes, so that a body may take long if it makes progress.
type paced struct {
	io.ReadCloser
	rc     *http.ResponseController
	window time.Duration
	end    time.Time // of the whole body; zero: none
	left   int       // bytes until the next window
}

func (p *paced) Read(b []byte) (int, error) {
	if p.left <= 0 {
		until := time.Now().Add(p.window)
		if !p.end.IsZero() && until.After(p.end) {
			until = p.end
		}
		if err := p.rc.SetReadDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return 0, err
		}
		p.left = paceBytes
	}
	n, err := p.ReadCloser.Read(b)
	p.left -= n
	if errors.Is(err, io.EOF) {
		_ = p.rc.SetReadDeadline(time.Time{}) // clear it: the next request sets its own
	}
	return n, err
}
