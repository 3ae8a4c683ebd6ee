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
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/sse"
)

// errTick ends the wait for the next batch when a heartbeat is due.
var errTick = errors.New("heartbeat due")

// bufferKept is the largest buffer to reuse for the next batch, and the size at which catchUp sends its frames.
const bufferKept = 64 << 10

// pump delivers a conversation to an encoder: first the stored events that its client has not seen, then the batches of
// the hub, until the encoder is done. It belongs to the handler's goroutine, which is the only writer.
type pump struct {
	protocol.Stream // shows all runs of the conversation if the ticket names none
	s               *Server
	w               http.ResponseWriter // nil: the encoder writes nothing
	r               *http.Request
	limit           time.Duration // for the whole stream
	hold            time.Duration // how long the headers wait for the first word

	rd     *hub.Reader
	out    *sse.Writer // nil until the response begins
	buf    []byte      // frames of one batch
	due    time.Time   // when the next heartbeat is due
	last   int64       // newest event shown
	enough bool        // the run was stopped because its client needs no more text
	stuck  bool        // the response cannot be written

	direct direct
}

// Show shows a run to its client until the run is over, the client leaves or reads too slowly, or the stream's time is
// up. It delays the headers until the first word, so that a run that fails earlier gets the status of its error; Show
// then returns that error, marked with NotRetryable.
func (s *Server) Show(w http.ResponseWriter, r *http.Request, st protocol.Stream) error {
	return (&pump{s: s, w: w, r: r, Stream: st, limit: s.opts.StreamTimeout, hold: s.opts.Hold}).run()
}

// Collect reads a run until its answer is complete, and returns the answer. It returns an error if there is none.
func (s *Server) Collect(r *http.Request, t agent.Ticket, c protocol.Collector) ([]byte, error) {
	col := &collecting{Collector: c}
	p := &pump{s: s, r: r, limit: s.opts.AnswerTimeout, hold: s.opts.AnswerTimeout, Stream: protocol.Stream{
		Ticket: t, Encoder: col,
	}}
	err := p.run()
	return col.body, err
}

// collecting turns a Collector into an Encoder that writes nothing.
type collecting struct {
	protocol.Collector
	body []byte
	done bool
	err  error
}

func (c *collecting) Open(dst []byte) []byte { return dst }

func (c *collecting) Event(dst []byte, ev footnote.Event) []byte {
	c.Collector.Event(ev)
	c.body, c.done, c.err = c.Completion()
	return dst
}

func (c *collecting) Delta(dst []byte, d footnote.Delta) []byte {
	c.Collector.Delta(d)
	return dst
}

func (c *collecting) Fail(dst []byte, err error) []byte {
	c.err = err
	return dst
}

func (c *collecting) Done() bool { return c.done }
func (c *collecting) Err() error { return c.err }

// run delivers one run.
func (p *pump) run() error {
	p.last = p.Ticket.After
	if p.Ticket.Duplicate {
		p.Ticket.OnDisconnect = agent.Continue // another reader may wait for it
		return p.follow()
	}
	p.rd = p.s.opts.Engine.Subscribe(p.Ticket)
	defer p.rd.Close()
	if p.Parks { // another process may drive the run
		defer p.s.watch(p.Ticket.Conversation, p.last)()
	}
	return p.serve(func(context.Context) error { return nil })
}

// follow delivers a run that began earlier.
func (p *pump) follow() error {
	rd, replay := p.s.opts.Hub.Subscribe(p.Ticket.Conversation, p.last)
	p.rd = rd
	defer rd.Close()
	head, err := p.s.opts.Log.Get(p.r.Context(), p.Ticket.Conversation)
	if err != nil {
		return err
	}
	defer p.s.watch(head.ID, head.Last)()
	if p.s.opts.Watch != nil && replay >= 0 { // the hub may still hold events from before another process's run
		replay = max(replay, head.Last)
	}
	return p.serve(func(ctx context.Context) error {
		if replay < 0 || replay > p.last {
			if err := p.catchUp(ctx, replay); err != nil || p.Encoder.Done() {
				return err
			}
		}
		if p.Ticket.Run == "" || head.Run == p.Ticket.Run {
			return nil
		}
		return p.endWithoutEvent(ctx, head)
	})
}

// endWithoutEvent ends the answer of a run that is over, but whose end is missing from the log. Otherwise the reader
// would wait forever.
func (p *pump) endWithoutEvent(ctx context.Context, head footnote.Stream) error {
	if err := p.catchUp(ctx, head.Last); err != nil || p.Encoder.Done() {
		return err
	}
	p.buf = p.buf[:0]
	p.event(footnote.Event{Stream: head.ID, Seq: max(head.Last, p.last), Run: p.Ticket.Run, Body: footnote.RunFailed{
		Code:    footnote.StorageDamaged,
		Message: "The end of this answer is unknown: a part of the conversation is missing.",
	}})
	return p.write(p.buf)
}

// watch lets the hub deliver what other processes write to a conversation, until leave is called.
func (s *Server) watch(conversation string, last int64) (leave func()) {
	if s.opts.Watch == nil {
		return func() {}
	}
	return s.opts.Watch(conversation, last)
}

// serve writes the preface, calls past to write stored events, then writes the batches of the hub, and ends the
// response.
func (p *pump) serve(past func(ctx context.Context) error) error {
	if p.w != nil {
		p.s.opts.Metrics.StreamOpened(p.Name)
		defer p.s.opts.Metrics.StreamClosed(p.Name)
	}
	ctx, cancel := limited(p.r.Context(), p.limit)
	defer cancel()
	p.due = time.Now().Add(p.hold)
	err := p.write(p.Preface)
	if err == nil {
		err = past(ctx)
	}
	if err == nil && p.hold <= 0 && p.out == nil {
		err = p.beat()
	}
	if err == nil {
		err = p.live(ctx)
	}
	return p.end(err)
}

// limited returns a context that ends after d with an error for the client.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	over := footnote.Errorf(footnote.AgentTimeout, "The answer took longer than %s.", d)
	return context.WithTimeoutCause(ctx, d, over)
}

// live delivers the batches of the hub until the encoder is done.
func (p *pump) live(ctx context.Context) error {
	tick := alarm{parent: ctx}
	defer tick.stop()
	tick.set(time.Until(p.due))
	p.deliverDirectly()
	for !p.Encoder.Done() {
		batch, err := p.rd.Next(tick.ctx)
		switch {
		case err == nil && len(batch) == 0:
			err = p.finishDirect()
		case err == nil:
			if first := batch.First(); first > p.last+1 { // another process wrote the events before
				err = p.catchUp(ctx, first-1)
			}
			if err == nil && !p.over() {
				err = p.show(batch)
			}
		case err == errTick: //nolint:errorlint // the cause itself
			err = p.beat()
			tick.set(time.Until(p.due))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// catchUp shows the events in the log that have not been shown, up to event upTo, or all of them if upTo is negative.
func (p *pump) catchUp(ctx context.Context, upTo int64) error {
	p.buf = p.buf[:0]
	for ev, err := range p.s.opts.Log.Events(ctx, p.Ticket.Conversation, p.last) {
		if err != nil {
			return err
		}
		if upTo >= 0 && ev.Seq > upTo {
			break
		}
		if p.event(ev); p.over() {
			break
		}
		if len(p.buf) >= bufferKept {
			if err := p.write(p.buf); err != nil {
				return err
			}
			p.buf = p.buf[:0]
		}
	}
	p.rd.Skip(p.last)
	return p.write(p.buf)
}

// alarm interrupts the wait for batches with errTick. All batches share one context until it fires: setting a timer
// for each would cost more than the batch.
type alarm struct {
	parent, ctx context.Context
	cancel      context.CancelFunc
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
		if p.event(*e.Event); !p.over() {
			continue
		}
		if _, parked := e.Event.Body.(footnote.RunParked); parked && p.Encoder.Err() != nil {
			p.stop("disconnect") // its client cannot answer the open calls
		}
		break
	}
	return p.flush()
}

// flush writes the frames of a batch, and stops the run if its client needs no more.
func (p *pump) flush() error {
	if err := p.write(p.buf); err != nil {
		return err
	}
	if p.hasEnough() {
		p.enough = true
		p.stop(agent.ByStopString)
	}
	return nil
}

// hasEnough reports whether the run must be stopped because its client needs no more text.
func (p *pump) hasEnough() bool {
	e, ok := p.Encoder.(interface{ Enough() bool })
	return ok && !p.enough && !p.Ticket.Duplicate && e.Enough()
}

// over reports whether no frame may follow. A stream of all runs is over only after a whole batch.
func (p *pump) over() bool { return p.Ticket.Run != "" && p.Encoder.Done() }

// event adds the frames of an event. If a run fails before any text, its error gets an HTTP status and no frames. Text
// counts whether it came in an earlier batch or in the same one.
func (p *pump) event(ev footnote.Event) {
	p.last = ev.Seq
	said := p.out != nil || len(p.buf) > 0
	if p.Ticket.Run != "" {
		ev = readable(ev)
	}
	p.buf = p.Encoder.Event(p.buf, ev)
	if !said && p.over() && p.Encoder.Err() != nil {
		p.buf = p.buf[:0]
	}
}

// readable returns an event as the protocols see it: an unreadable event that ends a run counts as a failure, so that
// no reader waits forever.
func readable(ev footnote.Event) footnote.Event {
	if u, ok := ev.Body.(footnote.Unreadable); ok && footnote.Terminal(u) {
		ev.Body = footnote.RunFailed{
			Code: footnote.StorageDamaged,
			Message: fmt.Sprintf("The end of this answer is unknown: event %d of the conversation cannot be read.",
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
	case p.out == nil:
		return p.start(frames)
	}
	err = p.out.Write(frames)
	p.stuck = err != nil
	return err
}

// start sends the headers and the first frames.
func (p *pump) start(frames []byte) (err error) {
	if p.ContentType == "" {
		p.out, err = sse.Start(p.w, http.StatusOK, frames)
	} else {
		p.out, err = sse.StartAs(p.w, http.StatusOK, p.ContentType, frames)
	}
	p.stuck = err != nil && !errors.Is(err, sse.ErrUnsupported)
	return err
}

// beat sends a heartbeat if nothing was written for long enough, or starts the response.
func (p *pump) beat() (err error) {
	next := sse.Heartbeat
	switch {
	case p.w == nil:
	case p.out == nil:
		p.buf = p.Encoder.Open(p.buf[:0])
		err = p.start(p.buf)
	default:
		if left := sse.Heartbeat - p.out.Idle(); left > 0 {
			next = left
			break
		}
		err = p.out.Ping()
		p.stuck = err != nil
	}
	p.due = time.Now().Add(next)
	return err
}

// end finishes the response. err is the reason why nothing more can be delivered, or nil if the encoder is done.
func (p *pump) end(err error) error {
	sc := scopeOf(p.r.Context())
	gone := revocation(p.r.Context())
	switch {
	case err == nil:
		err = p.Encoder.Err()
	case errors.Is(err, sse.ErrUnsupported):
		return err
	case gone != nil:
		p.leave(agent.Cancel) // work under a revoked key must stop
		err = p.fail(gone)
	case p.r.Context().Err() != nil:
		p.leave(p.Ticket.OnDisconnect)
		if p.out == nil {
			return context.Canceled
		}
		sc.outcome = "client left"
		return nil
	case p.stuck:
		p.leave(p.Ticket.OnDisconnect)
		sc.outcome, sc.aborted = "client too slow", true
		return nil
	default:
		if footnote.CodeOf(err) == footnote.AgentTimeout { // the request timed out
			p.leave(p.Ticket.OnDisconnect)
		}
		err = p.fail(shutdownError(err))
	}
	switch {
	case err != nil && p.out != nil:
		sc.outcome, sc.err = "failed", err
	case err != nil && p.Ticket.Run != "":
		return protocol.NotRetryable(err)
	case err == nil && p.w != nil:
		sc.outcome = "complete"
	}
	if p.out == nil {
		return err
	}
	return nil
}

// fail returns err if the response has not begun. Otherwise it sends err to the client and returns the encoder's error.
func (p *pump) fail(err error) error {
	if p.out == nil {
		return err
	}
	if p.write(p.Encoder.Fail(p.buf[:0], err)) != nil {
		scopeOf(p.r.Context()).aborted = true
	}
	return p.Encoder.Err()
}

// leave stops the run if onDisconnect is Cancel.
func (p *pump) leave(onDisconnect string) {
	if onDisconnect == agent.Cancel && p.Ticket.Run != "" {
		p.stop("disconnect")
	}
}

func (p *pump) stop(by string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.r.Context()), 5*time.Second)
	defer cancel()
	if err := p.s.opts.Engine.Stop(ctx, p.Ticket.Conversation, by); err != nil {
		p.s.opts.Logger.WarnContext(ctx, "cannot stop a run",
			"conversation", p.Ticket.Conversation, "run", p.Ticket.Run, "err", err)
	}
}

// shutdownError returns the error that tells a client why waiting for events ended.
func shutdownError(err error) error {
	if errors.Is(err, hub.ErrClosed) {
		return agent.ShuttingDown(err)
	}
	return err
}
