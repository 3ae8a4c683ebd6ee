package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/model"
)

// run is one execution of the loop in this process.
type run struct {
	e             *Engine
	a             *Assistant
	id, stream    string
	log           *slog.Logger // with the ids of the run
	turn          Turn
	system, tools json.RawMessage
	topic         *hub.Topic
	w             *writer
	ctx           context.Context
	cancel        context.CancelCauseFunc
	stopTimer     context.CancelFunc
	begun         time.Time
	money         int64         // for the whole run, in millionths of a US dollar
	spent         time.Duration // active time before begun
	idle          idle
	recovered     bool // it resumed after its engine died
	alerted       bool // logged that the log is torn
	done          chan struct{}
	stopRelay     context.CancelFunc // stops Options.Relay
	trace         string             // stored in RunStarted for the Tracer
	endTrace      func(RunEnd)
	budget        budget
	outage        *outage
	gaveUp        error // why the loop ended without a terminal event: the store was unavailable for too long

	mu           sync.Mutex                 // guards below; the loop reads what only it changes in s without the lock
	rows         map[string]footnote.Result // rows of this run's results, by id
	s            *state
	checkedCalls map[string]string               // by call id: why a Checked tool refuses the call, or empty
	cutShort     map[string][]footnote.Statement // statements of calls that broke, by call id
	// closed is set when the run has parked or ended, and accepts no more answers.
	closed bool
}

// newRun prepares a run, which launch starts. If the state has an unfinished run, newRun continues it.
func (e *Engine) newRun(head footnote.Stream, a *Assistant, s *state, t Turn) *run {
	id := s.run
	if id == "" || head.RunState == "" { // the head knows that a run has ended, even if the log is damaged
		id = "run_" + rand.Text()
	}
	r := &run{
		e: e, a: a, id: id, stream: head.ID, turn: t, s: s,
		topic: e.opts.Hub.Open(head.ID, head.Last),
		begun: e.opts.Now(),
		spent: s.spent(),
		money: cmp.Or(e.opts.Budget.PerRun(t.Principal), a.Limits.MicroUSD),
		done:  make(chan struct{}),
		rows:  map[string]footnote.Result{},

		outage: &outage{limit: e.opts.Outage, ending: e.ctx.Done()},
	}
	origin := footnote.Origin{Conversation: head.ID, Run: id, Request: t.RequestID, Trace: t.Trace}
	r.log = e.logOf(origin)
	from := footnote.WithOrigin(e.ctx, origin)
	ctx, cancel := context.WithCancelCause(r.traced(footnote.WithPrincipal(from, t.Principal)))
	r.ctx, r.stopTimer = context.WithTimeoutCause(ctx, a.Limits.Run-r.spent, errRunTime)
	r.cancel = cancel
	r.w = &writer{
		log: e.opts.Log, topic: r.topic, stream: head, run: id, owner: e.opts.Owner, ttl: e.opts.LeaseTTL,
		logger: r.log, outage: r.outage, failed: func(err error) { cancel(err) },
		last: head.Last, next: head.Last + 1,
	}
	return r
}

// ticket opens a reader at the current end of the log.
func (r *run) ticket() Ticket {
	after := r.w.seen()
	reader, _ := r.e.opts.Hub.Subscribe(r.stream, after)
	return Ticket{Conversation: r.stream, Assistant: r.a.Name, Run: r.id, After: after, reader: reader}
}

// drop discards a run that was not launched.
func (r *run) drop() {
	r.topic.Trim()
	r.topic.Close()
	r.stopTimer()
	r.cancel(nil)
}

// first writes the first events of a run that is not launched yet. It takes the lease of the run, and releases it at
// once if a says so. If it fails, readers see nothing. r.mu must be held.
func (r *run) first(ctx context.Context, a footnote.Append) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	begun := time.Now()
	a.Stream, a.After, a.Run = r.stream, r.w.last, r.id
	a.Take = &footnote.Take{Owner: r.e.opts.Owner, TTL: r.e.opts.LeaseTTL}
	var events []footnote.Event
	var err error
	if r.w.fresh {
		events, err = r.e.opts.Log.CreateAppend(ctx, r.w.stream, a)
	} else {
		events, err = r.e.opts.Log.Append(ctx, a)
	}
	if err != nil {
		return timeoutAsOutage(ctx, err)
	}
	r.w.took(begun, len(events), a.Release)
	r.topic.Publish(events...)
	return nil
}

// put applies events to the state and queues them for the log.
func (r *run) put(blobs map[footnote.Digest][]byte, bodies ...footnote.Body) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.apply(r.w.put(blobs, bodies...), bodies)
}

// putSettled is put for events with settlements.
func (r *run) putSettled(settle []footnote.Settle, blobs map[footnote.Digest][]byte, bodies ...footnote.Body) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.apply(r.w.enqueue(write{bodies: bodies, blobs: blobs, settle: settle}, true), bodies)
}

// apply applies events that were queued from seq on. r.mu must be held.
func (r *run) apply(seq int64, bodies []footnote.Body) {
	for i, b := range bodies {
		r.s.apply(footnote.Event{Stream: r.stream, Seq: seq + int64(i), Run: r.id, Body: b})
	}
}

func (r *run) events() []footnote.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.s.events[:len(r.s.events):len(r.s.events)]
}

func (r *run) openCalls() []openCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.s.open()
}

// execute drives the run to its end, or until it is parked.
func (r *run) execute() {
	defer close(r.done)
	defer r.stopRelay()
	terminal, answered := r.loop()
	switch {
	case r.isHandedOver(terminal):
		r.handOver()
		terminal = nil
	case terminal != nil:
		r.finish(terminal, answered)
	}
	err := r.w.flush()
	if err == nil && r.gaveUp != nil {
		err = r.gaveUp
		r.topic.Fail(err)
	}
	if r.budget.reservation != nil {
		r.budget.reservation.Freed()
	}
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	if err == nil {
		r.retitle(terminal)
	}
	r.topic.Trim()
	r.e.over(r, err)
	r.topic.Close()
	r.stopTimer()
	r.cancel(nil)
	r.record(terminal, err)
}

// loop runs steps until the run ends, parks or gives up. It returns the terminal event, or
// nil when the run has not ended. It never panics.
func (r *run) loop() (terminal footnote.Body, answered *footnote.Answered) {
	defer onPanic(r.log, "run panicked", func(any) { terminal, answered = failure(errors.New("panic")), nil })
	if err := r.thaw(); err != nil {
		return r.failed(err), nil
	}
	if parked, err := r.settle(); err != nil {
		return r.failed(err), nil
	} else if parked {
		return nil, nil
	}
	r.recovered = false // later calls are new
	if err := r.segment(); err != nil {
		return r.broken(err)
	}
	if r.final() {
		return r.ended(model.EndTurn, &model.Reply{})
	}
	var t retries
	for {
		last := r.s.steps >= r.a.Limits.Steps
		reply, err := r.step(last)
		if err != nil {
			return r.broken(err)
		}
		switch {
		case reply.Message.StopReason == model.Refusal:
			return r.ended(model.Refusal, reply)
		case last:
			return r.ended("max_turns", reply)
		case r.budget.closing:
			return r.ended("budget", reply)
		}
		parked, more, err := r.follow(&reply.Message, &t)
		switch {
		case err != nil:
			return r.failed(err), nil
		case parked:
			return nil, nil
		case !more && r.final():
			return r.ended(model.EndTurn, reply)
		case !more:
			return r.ended(reply.Message.StopReason, reply)
		}
		if over := r.overBudget(); over != nil {
			return over, r.answered(nil)
		}
	}
}

// retries counts what a run may do only a few times.
type retries struct {
	nudged       bool
	pauses, cuts int
}

// follow handles a message that is not the last one. With more, the loop calls the model again.
func (r *run) follow(m *footnote.AssistantMessage, t *retries) (parked, more bool, err error) {
	calls := r.openCalls()
	cut := m.StopReason == model.MaxTokens || m.StopReason == model.ContextExceeded
	switch {
	case len(calls) > 0 && !cut:
		// Ignore the stop reason: some servers call tools and report end_turn.
		parked, err = r.settle()
		return parked, !r.final(), err
	case m.StopReason == model.MaxTokens && len(calls) > 0 && t.cuts == 0:
		t.cuts++
		r.refuse(calls, "The call was cut off at the output limit and was not run. Make it again, shorter.")
	case m.StopReason == model.PauseTurn && t.pauses < 3:
		t.pauses++
		r.w.kick() // readers see nothing later before this message is stored
	case Text(m.Blocks) == "" && r.s.answer == "" && !t.nudged:
		// The model ended without a word after its tool calls: ask once.
		t.nudged = true
		r.refuse(calls, "The call was not run.")
		r.put(nil, footnote.UserMessage{Context: "Please give your answer now, in words."})
	default:
		return false, false, nil
	}
	return false, true, nil
}

// isClosed reports whether the run has parked or ended.
func (r *run) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// ending reports whether the run accepts nothing more: it is closed, or an append has failed.
func (r *run) ending() bool { return r.isClosed() || r.w.broken() }
