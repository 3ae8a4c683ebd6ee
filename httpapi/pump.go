package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/sse"
)

// Causes that end the wait for the next batch.
var (
	errTick       = errors.New("it is time for a heartbeat")
	errStreamTime = errors.New("the time for the stream is over")
)

// bufferKept is the largest buffer to reuse for the next batch.
const bufferKept = 64 << 10

// Show shows a run to its client until the run is over, the client leaves or reads too slowly, or the
// stream's time is up. It delays the headers until the first word, so that a run that fails earlier gets the
// status of its error; Show then returns that error, marked with AfterWork.
func (s *Server) Show(w http.ResponseWriter, r *http.Request, st protocol.Stream) error {
	if st.Ticket.Duplicate {
		return s.follow(w, r, st)
	}
	st.OnDisconnect = cmp.Or(st.OnDisconnect, s.opts.StoredOnDisconnect)
	p := &pump{s: s, w: w, r: r, Stream: st, rd: s.opts.Engine.Subscribe(st.Ticket), last: st.Ticket.After}
	defer p.rd.Close()
	if st.Parks && s.opts.Watch != nil { // another process may drive the run
		defer s.opts.Watch(st.Ticket.Conversation, p.last)()
	}
	s.opts.Metrics.StreamOpened(st.Name)
	defer s.opts.Metrics.StreamClosed(st.Name)
	return p.run()
}

// pump is one stream being served. It belongs to the handler's goroutine, which is the only writer.
type pump struct {
	protocol.Stream
	s   *Server
	w   http.ResponseWriter
	r   *http.Request
	rd  *hub.Reader
	out *sse.Writer // nil until the response begins
	buf []byte      // frames of one batch

	enough bool      // the run was stopped because its client needs no more
	due    time.Time // when the next heartbeat is due
	last   int64     // newest event shown
	// missing is true once an event could not be read that may have been the run's end.
	missing bool
	// remote is true until the hub delivers something to a stream that starts from the log: another process
	// may drive the run. See follow.
	remote bool
}

// follow shows a run that began earlier, from the ticket's After on: past events from the log, then live
// ones, until the encoder is done. The run goes on when the client leaves, because another reader waits for it.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, st protocol.Stream) error {
	after := st.Ticket.After
	st.OnDisconnect = agent.Continue
	rd, replay := s.opts.Hub.Subscribe(st.Ticket.Conversation, after)
	p := &pump{s: s, w: w, r: r, Stream: st, rd: rd, last: after, remote: replay < 0 && s.opts.Watch == nil}
	defer p.rd.Close()
	if s.opts.Watch != nil {
		head, err := s.opts.Log.Get(r.Context(), st.Ticket.Conversation)
		if err != nil {
			return err
		}
		defer s.opts.Watch(head.ID, head.Last)()
		if replay >= 0 { // the hub may still hold events from before another process's run
			replay = max(replay, head.Last)
		}
	}
	s.opts.Metrics.StreamOpened(st.Name)
	defer s.opts.Metrics.StreamClosed(st.Name)
	if err := p.write(st.Preface); err != nil {
		return p.lost(err)
	}
	if replay < 0 || replay > after {
		if err := p.catchUp(r.Context(), replay); err != nil {
			return err
		}
	}
	if !p.Encoder.Done() {
		if err := p.settle(r.Context()); err != nil {
			return err
		}
	}
	return p.run()
}

// settle ends the answer of a run that is over although its end is not in the log: otherwise the reader would wait
// forever.
func (p *pump) settle(ctx context.Context) error {
	head, err := p.s.opts.Log.Get(ctx, p.Ticket.Conversation)
	if err != nil || p.Ticket.Run == "" || head.Run == p.Ticket.Run {
		return err
	}
	// The run was over when the head was read, so the log up to there shows its end, if anything does.
	if err := p.catchUp(ctx, head.Last); err != nil || p.Encoder.Done() {
		return err
	}
	p.missing = false
	p.buf = p.buf[:0]
	p.event(footnote.Event{Stream: head.ID, Seq: max(head.Last, p.last), Run: p.Ticket.Run, Body: footnote.RunFailed{
		Code:    footnote.StorageDamaged,
		Message: "How this answer ended is not known: a part of the conversation is missing.",
	}})
	return p.write(p.buf)
}

// pollRemote is how often a stream checks for events that another process wrote.
const pollRemote = time.Second

// catchUp shows the events in the log that have not been shown, up to event upTo, or all of them if upTo is
// negative. In that case it stops where the hub takes over, because the hub also has the deltas.
func (p *pump) catchUp(ctx context.Context, upTo int64) error {
	p.buf = p.buf[:0]
	for ev, err := range p.s.opts.Log.Events(ctx, p.Ticket.Conversation, p.last) {
		if err != nil {
			return err
		}
		if upTo >= 0 && ev.Seq > upTo || upTo < 0 && len(p.rd.Wake()) > 0 {
			break
		}
		if p.event(ev); p.Encoder.Done() {
			break
		}
	}
	p.rd.Skip(p.last)
	return p.write(p.buf)
}

func (p *pump) run() error {
	limit, cancel := context.WithTimeoutCause(p.r.Context(), p.s.opts.StreamTimeout, errStreamTime)
	defer cancel()
	tick := alarm{parent: limit}
	defer tick.stop()
	p.due = time.Now().Add(p.s.opts.Hold)
	tick.set(p.wait())
	for !p.Encoder.Done() {
		batch, err := p.rd.Next(tick.ctx)
		switch {
		case err == nil:
			p.remote = false
			if err = p.bridge(limit, batch); err == nil && !p.Encoder.Done() {
				err = p.show(batch)
			}
		case err == errTick: //nolint:errorlint // the cause itself
			err = nil
			if time.Until(p.due) <= 0 {
				err = p.beat()
			}
			if err == nil && p.remote {
				err = p.catchUp(limit, -1)
				if err == nil && p.missing && !p.Encoder.Done() {
					err = p.settle(limit)
				}
				if footnote.CodeOf(err) == footnote.StorageUnavailable {
					err = nil // we know of nothing new; the next poll catches up
				}
			}
			tick.set(p.wait())
		default:
			return p.broken(err)
		}
		if err != nil {
			return p.lost(err)
		}
	}
	return p.ended()
}

// wait returns the longest time to wait for the next batch.
func (p *pump) wait() time.Duration {
	d := max(0, time.Until(p.due))
	if p.remote {
		return min(d, pollRemote)
	}
	return d
}

// bridge shows, from the log, the events before a batch of the hub. Another process wrote them before this
// one took over the run.
func (p *pump) bridge(ctx context.Context, batch hub.Batch) error {
	if first := batch.First(); first > p.last+1 {
		return p.catchUp(ctx, first-1)
	}
	return nil
}

// alarm interrupts the wait for batches with errTick. All batches share one context until it fires: setting a
// timer for each would cost more than the batch.
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

// show writes a whole batch at once.
func (p *pump) show(batch hub.Batch) error {
	if cap(p.buf) > bufferKept {
		p.buf = nil
	}
	p.buf = p.buf[:0]
	for i := range batch {
		e := &batch[i]
		if e.Event == nil {
			p.buf = p.Encoder.Delta(p.buf, e.Delta)
			continue
		}
		if p.event(*e.Event); p.Encoder.Done() {
			if p.Encoder.Err() != nil {
				p.s.unparked(p.r, p.Ticket, e.Event.Body)
			}
			break
		}
	}
	if err := p.write(p.buf); err != nil {
		return err
	}
	if e, ok := p.Encoder.(interface{ Enough() bool }); ok && !p.enough && e.Enough() {
		p.enough = true
		p.s.stop(p.r, p.Ticket, agent.ByStopString)
	}
	return nil
}

// event adds the frames of an event. If a run fails before it said anything, its error gets an HTTP status
// and no frames. It makes no difference whether the text before a failure came in an earlier batch or in the
// same one.
func (p *pump) event(ev footnote.Event) {
	p.last = ev.Seq
	if u, ok := ev.Body.(footnote.Unreadable); ok && u.Kind == "" {
		p.missing = true
	}
	said := p.out != nil || len(p.buf) > 0
	p.buf = p.Encoder.Event(p.buf, ended(ev))
	if !said && p.Encoder.Done() && p.Encoder.Err() != nil {
		p.buf = p.buf[:0]
	}
}

// ended returns an event as the protocols see it: an unreadable event that ends a run counts as a failure, so
// that no reader waits forever.
func ended(ev footnote.Event) footnote.Event {
	if u, ok := ev.Body.(footnote.Unreadable); ok && footnote.Terminal(u) {
		ev.Body = footnote.RunFailed{
			Code: footnote.StorageDamaged,
			Message: fmt.Sprintf("How this answer ended is not known: event %d of the conversation cannot be read.",
				ev.Seq),
		}
	}
	return ev
}

// write sends frames, preceded by the headers if they have not been sent.
func (p *pump) write(frames []byte) (err error) {
	switch {
	case len(frames) == 0:
		return nil
	case p.out != nil:
		return p.out.Write(frames)
	}
	return p.start(frames)
}

// start sends the headers and the first frames.
func (p *pump) start(frames []byte) (err error) {
	if p.ContentType == "" {
		p.out, err = sse.Start(p.w, http.StatusOK, frames)
	} else {
		p.out, err = sse.StartAs(p.w, http.StatusOK, p.ContentType, frames)
	}
	return err
}

// beat sends a heartbeat.
func (p *pump) beat() (err error) {
	next := sse.Heartbeat
	if p.out == nil {
		p.buf = p.Encoder.Open(p.buf[:0])
		err = p.start(p.buf)
	} else if left := sse.Heartbeat - p.out.Idle(); left > 0 {
		next = left
	} else {
		err = p.out.Ping()
	}
	p.due = time.Now().Add(next)
	return err
}

// ended finishes a stream whose encoder is done.
func (p *pump) ended() error {
	err := p.Encoder.Err()
	sc := scopeOf(p.r.Context())
	switch {
	case err == nil:
		sc.outcome = "complete"
	case p.out == nil:
		return protocol.AfterWork(err)
	default:
		sc.outcome, sc.err = "failed", err
	}
	return nil
}

// broken ends a stream that can deliver nothing more.
func (p *pump) broken(err error) error {
	if gone := withdrawn(p.r.Context()); gone != nil {
		p.s.leave(p.r, p.Ticket, agent.Cancel) // whoever revoked the key wants the work to stop
	} else if p.r.Context().Err() != nil {
		return p.lost(context.Canceled)
	}
	if errors.Is(err, errStreamTime) {
		p.s.leave(p.r, p.Ticket, p.OnDisconnect)
	}
	err = p.s.interrupted(p.r, err)
	if p.out == nil {
		return protocol.AfterWork(err)
	}
	sc := scopeOf(p.r.Context())
	sc.outcome, sc.err = "failed", err
	return p.out.Write(p.Encoder.Fail(p.buf[:0], err))
}

// lost ends a stream that cannot be written: its client left or reads too slowly. Its policy decides whether
// the run goes on.
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
	gone := withdrawn(r.Context())
	switch {
	case gone != nil:
		return gone
	case r.Context().Err() != nil:
		return context.Canceled
	default:
		return s.explained(err)
	}
}

// explained returns the error that tells a client why waiting for events ended.
func (s *Server) explained(err error) error {
	switch {
	case errors.Is(err, hub.ErrClosed):
		return &footnote.Error{
			Code: footnote.ModelUnavailable, Message: "The server is shutting down. Try again in a moment.",
			RetryAfter: 5 * time.Second, Err: err,
		}
	case errors.Is(err, errAnswerTime):
		return &footnote.Error{
			Code:    footnote.AgentTimeout,
			Message: fmt.Sprintf("The answer took longer than %s.", s.opts.AnswerTimeout),
			Err:     err,
		}
	case errors.Is(err, errStreamTime):
		return &footnote.Error{
			Code:    footnote.AgentTimeout,
			Message: fmt.Sprintf("The answer took longer than %s.", s.opts.StreamTimeout),
			Err:     err,
		}
	default:
		return err
	}
}
