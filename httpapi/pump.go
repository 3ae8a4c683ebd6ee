package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/sse"
)

// Encoder turns what happens in a run into the frames of a door. Each method
// appends complete frames to dst, or nothing.
type Encoder interface {
	// Open begins an answer whose first word is slow to come. It is called at most
	// once, and only when nothing was written yet.
	Open(dst []byte) []byte
	Event(dst []byte, ev footnote.Event) []byte
	Delta(dst []byte, d footnote.Delta) []byte
	// Fail ends the answer with an error.
	Fail(dst []byte, err error) []byte
	// Done reports whether the answer is complete: nothing may follow.
	Done() bool
	// Err is why a complete answer is none, or nil.
	Err() error
}

// Streaming is a run that is shown while it goes on.
type Streaming struct {
	Door         string // for the metrics
	Ticket       agent.Ticket
	Encoder      Encoder
	OnDisconnect string // agent.Cancel or agent.Continue
}

// Causes for which waiting for the next batch ends.
var (
	errTick       = errors.New("it is time for a heartbeat")
	errStreamTime = errors.New("the time for the stream is over")
)

// bufferKept is the largest buffer that is kept for the next batch.
const bufferKept = 64 << 10

// Stream shows a run to its client until it is over, the client leaves or reads
// too slowly, or the stream's time is over. The headers wait for the first word,
// so that a run that fails before it gets the status of its error; it is returned
// then, marked with AfterWork.
func (s *Server) Stream(w http.ResponseWriter, r *http.Request, st Streaming) error {
	p := &pump{s: s, w: w, r: r, Streaming: st, rd: s.opts.Engine.Subscribe(st.Ticket)}
	defer p.rd.Close()
	s.opts.Metrics.StreamOpened(st.Door)
	defer s.opts.Metrics.StreamClosed(st.Door)
	return p.run()
}

// pump is one stream being served. It belongs to the handler's goroutine, which is
// the only one that writes.
type pump struct {
	Streaming
	s   *Server
	w   http.ResponseWriter
	r   *http.Request
	rd  *hub.Reader
	out *sse.Writer // nil until the response was begun
	buf []byte      // frames of one batch
}

func (p *pump) run() error {
	limit, cancel := context.WithTimeoutCause(p.r.Context(), p.s.opts.StreamTimeout, errStreamTime)
	defer cancel()
	tick := alarm{parent: limit}
	defer tick.stop()
	tick.set(p.s.opts.Hold)
	for !p.Encoder.Done() {
		batch, err := p.rd.Next(tick.ctx)
		switch {
		case err == nil:
			err = p.show(batch)
		case err == errTick: //nolint:errorlint // the cause itself
			var wait time.Duration
			wait, err = p.beat()
			tick.set(wait)
		default:
			return p.broken(err)
		}
		if err != nil {
			return p.lost(err)
		}
	}
	return p.ended()
}

// alarm ends the waiting for batches with errTick. One context serves for all
// batches until it goes off: setting a timer for each would cost more than the
// batch.
type alarm struct {
	parent context.Context
	ctx    context.Context
	cancel context.CancelFunc
}

func (a *alarm) set(d time.Duration) {
	a.stop()
	a.ctx, a.cancel = context.WithTimeoutCause(a.parent, d, errTick)
}

func (a *alarm) stop() {
	if a.cancel != nil {
		a.cancel()
	}
}

// show writes what a batch brought, all at once.
func (p *pump) show(batch hub.Batch) error {
	if cap(p.buf) > bufferKept {
		p.buf = nil
	}
	p.buf = p.buf[:0]
	for i := range batch {
		if e := &batch[i]; e.Event == nil {
			p.buf = p.Encoder.Delta(p.buf, e.Delta)
		} else if p.buf = p.Encoder.Event(p.buf, *e.Event); p.Encoder.Done() {
			if p.Encoder.Err() != nil {
				p.s.unparked(p.r, p.Ticket, e.Event.Body)
			}
			break
		}
	}
	if p.out == nil && p.Encoder.Err() != nil {
		return nil // it gets a status of its own
	}
	return p.write(p.buf)
}

// write sends frames, with the headers if they have not been sent.
func (p *pump) write(frames []byte) (err error) {
	switch {
	case p.out != nil:
		return p.out.Write(frames)
	case len(frames) == 0:
		return nil
	}
	p.out, err = sse.Start(p.w, http.StatusOK, frames)
	return err
}

// beat shows that the stream lives, and says when to do so again.
func (p *pump) beat() (next time.Duration, err error) {
	if p.out == nil {
		p.buf = p.Encoder.Open(p.buf[:0])
		p.out, err = sse.Start(p.w, http.StatusOK, p.buf)
		return sse.Heartbeat, err
	}
	if left := sse.Heartbeat - p.out.Idle(); left > 0 {
		return left, nil
	}
	return sse.Heartbeat, p.out.Ping()
}

// ended is the end of a stream whose encoder is done.
func (p *pump) ended() error {
	err := p.Encoder.Err()
	sc := scopeOf(p.r.Context())
	switch {
	case err == nil:
		sc.outcome = "complete"
	case p.out == nil:
		return AfterWork(err)
	default:
		sc.outcome, sc.err = "failed", err
	}
	return nil
}

// broken ends a stream that can bring nothing more.
func (p *pump) broken(err error) error {
	if p.r.Context().Err() != nil {
		return p.lost(context.Canceled)
	}
	if errors.Is(err, errStreamTime) {
		p.s.leave(p.r, p.Ticket, p.OnDisconnect)
	}
	err = p.s.interrupted(p.r, err)
	if p.out == nil {
		return AfterWork(err)
	}
	sc := scopeOf(p.r.Context())
	sc.outcome, sc.err = "failed", err
	return p.out.Write(p.Encoder.Fail(p.buf[:0], err))
}

// lost is the end of a stream that cannot be written: its client left, or reads
// too slowly. The run goes on without it, or not, as its policy says.
func (p *pump) lost(err error) error {
	if errors.Is(err, sse.ErrUnsupported) {
		return err
	}
	p.s.leave(p.r, p.Ticket, p.OnDisconnect)
	sc := scopeOf(p.r.Context())
	if p.r.Context().Err() != nil || errors.Is(err, context.Canceled) {
		sc.outcome = "client left"
		return nil
	}
	sc.outcome = "client too slow"
	sc.aborted = true
	return nil
}

// interrupted classifies why waiting for events ended.
func (s *Server) interrupted(r *http.Request, err error) error {
	switch {
	case r.Context().Err() != nil:
		return context.Canceled
	case errors.Is(err, hub.ErrClosed):
		return &footnote.Error{Code: footnote.ModelUnavailable, Message: "The server is shutting down. Try again in a moment.", RetryAfter: 5 * time.Second, Err: err}
	case errors.Is(err, errAnswerTime):
		return &footnote.Error{Code: footnote.AgentTimeout, Message: fmt.Sprintf("The answer took longer than %s.", s.opts.AnswerTimeout), Err: err}
	case errors.Is(err, errStreamTime):
		return &footnote.Error{Code: footnote.AgentTimeout, Message: fmt.Sprintf("The answer took longer than %s.", s.opts.StreamTimeout), Err: err}
	default:
		return err
	}
}
