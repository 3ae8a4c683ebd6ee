package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/usd"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/history"
)

// maxAttempts is how often one step is tried when nothing of it was shown.
const maxAttempts = 3

// byShutdown is the RunStopped.By of a run that ends because the server shuts down.
const byShutdown = "shutdown"

// run is one execution of the loop in this process.
type run struct {
	e         *Engine
	a         *Assistant
	id        string
	stream    string
	turn      Turn
	system    json.RawMessage
	tools     json.RawMessage
	topic     *hub.Topic
	w         *writer
	ctx       context.Context
	cancel    context.CancelCauseFunc
	stopTimer context.CancelFunc
	begun     time.Time
	money     int64         // for the whole run, in millionths of a US dollar
	spent     time.Duration // active time before that
	recovered bool          // it goes on after its owner died
	alerted   bool          // the operator was told that the log is torn
	done      chan struct{}
	untell    context.CancelFunc // stops telling other engines what happens
	trace     string             // what the log keeps for the Tracer
	followed  func(RunEnd)
	purse     purse
	outage    *outage
	gaveUp    error // why the loop ended without an end of the run: the store was away for too long

	mu     sync.Mutex                 // guards below; the loop alone changes what it reads of s without it
	rows   map[string]footnote.Result // rows of this run's results, by id
	s      *state
	vetted map[string]string               // calls that a Checked tool has checked: why they are refused, or empty
	undone map[string][]footnote.Statement // of calls that broke, by id
	// closed is set when the run takes no more answers: it has parked or ended.
	closed bool
}

// newRun prepares a run, which launch starts. If the state has a run, it continues that one.
func (e *Engine) newRun(head footnote.Stream, a *Assistant, s *state, t Turn) *run {
	id := s.run
	if id == "" || head.RunState == "" { // a run that has ended is never begun again, whatever its log has kept
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
	from := footnote.WithOrigin(e.ctx, footnote.Origin{Run: id, Request: t.RequestID, Trace: t.Trace})
	ctx, cancel := context.WithCancelCause(r.traced(footnote.WithPrincipal(from, t.Principal)))
	r.ctx, r.stopTimer = context.WithTimeoutCause(ctx, a.Limits.Run-r.spent, errRunTime)
	r.cancel = cancel
	r.w = &writer{
		log: e.opts.Log, topic: r.topic, stream: head, run: id, owner: e.opts.Owner, ttl: e.opts.LeaseTTL,
		logger: e.opts.Logger, outage: r.outage, failed: func(err error) { cancel(err) },
		last: head.Last, next: head.Last + 1,
	}
	return r
}

// ticket opens a reader at the place where the run begins.
func (r *run) ticket() Ticket {
	after := r.w.seen()
	reader, replay := r.e.opts.Hub.Subscribe(r.stream, after)
	return Ticket{Conversation: r.stream, Run: r.id, After: after, reader: reader, replay: replay}
}

// put applies events to the state and queues them for the log.
func (r *run) put(blobs map[footnote.Digest][]byte, bodies ...footnote.Body) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(r.w.put(blobs, bodies...), bodies)
}

// settled is put for events with settlements.
func (r *run) settled(settle []footnote.Settle, blobs map[footnote.Digest][]byte, bodies ...footnote.Body) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(r.w.enqueue(write{bodies: bodies, blobs: blobs, settle: settle}, true), bodies)
}

// note applies events that were queued from seq on. r.mu must be held.
func (r *run) note(seq int64, bodies []footnote.Body) {
	for i, b := range bodies {
		r.s.apply(footnote.Event{Stream: r.stream, Seq: seq + int64(i), Run: r.id, Body: b})
	}
}

// launch starts a run. Its goroutine belongs to the engine, which the caller has entered.
func (e *Engine) launch(r *run) {
	e.tell(r)
	e.mu.Lock()
	e.runs[r.stream] = r
	e.mu.Unlock()
	e.work.Go(r.execute)
}

// execute drives the run to its end, or until it is parked.
func (r *run) execute() {
	defer close(r.done)
	defer r.untell()
	terminal, answered := r.loop()
	switch {
	case r.leaves(terminal):
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
	if r.purse.hold != nil {
		r.purse.hold.Freed()
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

// over forgets a run. One that ended with an error of the store becomes an orphan, unless the
// error is a conflict: then another engine has the run.
func (e *Engine) over(r *run, err error) {
	e.unclaim(r)
	if r.turn.admitted != nil {
		r.turn.admitted()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.runs, r.stream)
	if err == nil || footnote.CodeOf(err) == footnote.Conflict {
		return
	}
	o := orphan{run: r.id, lease: r.w.token()}
	if r.refused(err) {
		o.err = err
		e.work.Go(func() {
			<-r.done
			e.lockAndSettleOrphan(context.WithoutCancel(e.ctx), r.stream)
		})
	}
	e.orphans[r.stream] = o
}

// refused reports whether the log will refuse the events of the run again after they could
// not be written. A log that cannot be used until somebody mends it gets one more chance.
func (r *run) refused(err error) bool {
	return !away(err) && (footnote.CodeOf(err) != footnote.StorageUnavailable || r.s.recoveries > 0)
}

func (e *Engine) isOrphan(stream string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.orphans[stream]
	return ok
}

// isClosed reports whether the run takes no more answers.
func (r *run) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// ending reports whether the run is past its last step.
func (r *run) ending() bool {
	return r.isClosed() || r.w.broken()
}

// record logs and counts how the run ended.
func (r *run) record(terminal footnote.Body, err error) {
	outcome := "parked"
	if terminal != nil {
		outcome = strings.TrimPrefix(footnote.KindOf(terminal), "run_") // the audit's words
	}
	if err != nil {
		outcome = "not_stored"
	}
	took := r.e.opts.Now().Sub(r.begun)
	r.e.opts.Metrics.RunEnded(r.a.Name, outcome, took)
	r.e.opts.Metrics.ConversationGrew(r.s.questions(), r.w.seen())
	if failed, ok := terminal.(footnote.RunFailed); ok {
		r.e.opts.Metrics.RunFailed(failed.Code)
	}
	r.unfollow(terminal, outcome)
	attrs := []any{
		"conversation", r.stream, "run", r.id, "request", r.turn.RequestID,
		"outcome", outcome, "took_ms", took.Milliseconds(),
	}
	if err != nil {
		r.e.opts.Logger.Error("run ended", append(attrs, "err", err)...)
		return
	}
	r.e.opts.Logger.Info("run ended", attrs...)
}

// msgRunEnded is the result of a call that is open when its run ends.
const msgRunEnded = "The run ended before this call was answered."

// finish closes what is open and appends the terminal event.
func (r *run) finish(terminal footnote.Body, answered *footnote.Answered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var bodies []footnote.Body
	for _, c := range r.s.open() {
		bodies = append(bodies, footnote.ToolResult{
			CallID: c.ID, Name: c.Name, Content: msgRunEnded, IsError: true, By: "recovery",
			Statements: r.unanswered(c),
		})
	}
	if answered != nil {
		bodies = append(bodies, *answered)
	}
	lost, settle := r.release()
	for _, b := range lost {
		r.s.cost = r.s.cost.Add(b.(footnote.StepFailed).Cost)
	}
	bodies = append(append(bodies, lost...), r.sums(terminal))
	r.note(r.w.end(settle, bodies...), bodies)
}

// unanswered returns the statements of a call that is open when the run ends. r.mu must be held.
func (r *run) unanswered(c openCall) []footnote.Statement {
	if ran, ok := r.undone[c.ID]; ok {
		return ran
	}
	p := r.plan(c)
	switch {
	case r.s.unapproved(c.ID) || p.ask:
		return notRun(p.call)
	case r.recovered || p.wait && p.refusal == "": // the process that died may have made it, or a page
		return possiblyRun(p.call, footnote.StatementCancelled)
	}
	return notRun(p.call)
}

// sums adds to a terminal event what the run took.
func (r *run) sums(terminal footnote.Body) footnote.Body {
	return withTotals(terminal, r.s.steps, r.s.usage, r.s.cost, r.spent+r.e.opts.Now().Sub(r.begun))
}

// withTotals is a terminal event with what its run took.
func withTotals(
	terminal footnote.Body, steps int, u footnote.Usage, c footnote.Cost, took time.Duration,
) footnote.Body {
	millis := took.Milliseconds()
	switch b := terminal.(type) {
	case footnote.RunFinished:
		b.Steps, b.Usage, b.Cost, b.Millis = steps, u, c, millis
		return b
	case footnote.RunFailed:
		b.Steps, b.Usage, b.Cost, b.Millis = steps, u, c, millis
		return b
	case footnote.RunStopped:
		b.Steps, b.Usage, b.Cost, b.Millis = steps, u, c, millis
		return b
	default:
		return terminal
	}
}

// loop runs steps until the run ends, parks or gives up. It returns the terminal event, or
// nil when the run has not ended. It never panics.
func (r *run) loop() (terminal footnote.Body, answered *footnote.Answered) {
	defer func() {
		if p := recover(); p != nil {
			r.e.opts.Logger.Error("run panicked", "conversation", r.stream, "run", r.id,
				"panic", p, "stack", string(debug.Stack()))
			terminal, answered = failure(errors.New("panic")), nil
		}
	}()
	if err := r.thaw(); err != nil {
		return r.failed(err), nil
	}
	if parked, err := r.settle(); err != nil {
		return r.failed(err), nil
	} else if parked {
		return nil, nil
	}
	r.recovered = false // what is called from here on is new
	if err := r.segment(); err != nil {
		return r.broken(err)
	}
	if r.final() {
		return r.ended(model.EndTurn, &model.Reply{})
	}
	var t turns
	for {
		last := r.s.steps >= r.a.Limits.Turns
		reply, err := r.step(last)
		if err != nil {
			return r.broken(err)
		}
		switch {
		case reply.Message.StopReason == model.Refusal:
			return r.ended(model.Refusal, reply)
		case last:
			return r.ended("max_turns", reply)
		case r.purse.closing:
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

// turns counts what a loop may do only a few times.
type turns struct {
	nudged       bool
	pauses, cuts int
}

// follow handles a message that is not the last one. more says that the model is to be called
// again.
func (r *run) follow(m *footnote.AssistantMessage, t *turns) (parked, more bool, err error) {
	calls := r.openCalls()
	cut := m.StopReason == model.MaxTokens || m.StopReason == model.ContextExceeded
	switch {
	case len(calls) > 0 && !cut:
		// Whatever the stop reason says: some servers call tools and say end_turn.
		parked, err = r.settle()
		return parked, !r.final(), err
	case m.StopReason == model.MaxTokens && len(calls) > 0 && t.cuts == 0:
		t.cuts++
		r.refuse(calls, "The call was cut off at the output limit and was not run. Make it again, shorter.")
	case m.StopReason == model.PauseTurn && t.pauses < 3:
		t.pauses++
		r.w.kick() // what comes next would stay hidden behind it
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

// overBudget is the end of a run that cannot pay for another step, or nil. What the model has
// said until then is the answer.
func (r *run) overBudget() footnote.Body {
	if r.left() > 0 {
		return nil
	}
	return r.outOfMoney()
}

// left is the money that the run may still spend. Calls lost with a process do not count here:
// otherwise the run could not go on.
func (r *run) left() int64 { return r.money - (r.s.cost.MicroUSD - r.s.lost.MicroUSD) }

func (r *run) outOfMoney() footnote.Body {
	if r.s.answer == "" {
		return footnote.RunFailed{Code: footnote.BudgetExceeded, Message: fmt.Sprintf(
			"The answer would cost more than the limit of %s for one question.", usd.String(float64(r.money)/1e6))}
	}
	return footnote.RunFinished{Reason: "budget"}
}

// ended is the end of a run that has its answer.
func (r *run) ended(reason string, reply *model.Reply) (footnote.Body, *footnote.Answered) {
	if reason == "" {
		reason = model.EndTurn
	}
	return footnote.RunFinished{Reason: reason}, r.answered(reply.Cites)
}

// broken is the end of a run whose step failed. A run that was stopped because it had said all
// that its client wants has its answer.
func (r *run) broken(err error) (footnote.Body, *footnote.Answered) {
	if r.stoppedBy() == ByStopString && r.s.answer != "" {
		return footnote.RunFinished{Reason: model.StopSequence}, r.answered(nil)
	}
	terminal := r.failed(err)
	if _, ok := terminal.(footnote.RunFinished); ok {
		return terminal, r.answered(nil)
	}
	return terminal, nil
}

// stoppedBy is who stopped the run, or empty.
func (r *run) stoppedBy() string {
	s, _ := errors.AsType[stopped](context.Cause(r.ctx))
	return s.by
}

// failed is the end of a run that an error ended. It is nil when the store was away for too
// long: the run then continues from the log once the store is back.
func (r *run) failed(err error) footnote.Body {
	if by := r.stoppedBy(); by != "" {
		return footnote.RunStopped{By: by}
	}
	switch cause := context.Cause(r.ctx); {
	case errors.Is(cause, ErrShutdown):
		return footnote.RunStopped{By: byShutdown}
	case errors.Is(cause, errRunTime):
		return footnote.RunFailed{
			Code: footnote.AgentTimeout, Message: fmt.Sprintf("The answer took longer than %s.", r.a.Limits.Run),
		}
	case cause != nil:
		err = cause
	}
	if away(err) {
		r.giveUp(err)
		return nil
	}
	if over, ok := errors.AsType[dayOver](err); ok && r.s.answer == "" {
		err = over.error
	} else if footnote.CodeOf(err) == footnote.BudgetExceeded {
		return r.outOfMoney()
	}
	if footnote.CodeOf(err) == footnote.Internal {
		r.e.opts.Logger.Error("run failed", "conversation", r.stream, "run", r.id, "err", err)
	}
	return failure(err)
}

// giveUp leaves the run to continueOrphan. It takes no more answers.
func (r *run) giveUp(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.gaveUp = true, err
}

// failure is the end of a run for which an error is the reason.
func failure(err error) footnote.RunFailed {
	failed := footnote.RunFailed{Code: footnote.CodeOf(err), Message: footnote.MessageOf(err)}
	if e, ok := errors.AsType[*footnote.Error](err); ok {
		failed.RetryAfterMillis = e.RetryAfter.Milliseconds()
	}
	return failed
}

// thaw reads the frozen prompt and tools of a conversation that was not just opened. When they
// are unknown or cannot be read any more, it freezes today's.
func (r *run) thaw() error {
	if r.system != nil {
		return nil
	}
	system, err := r.blob(r.ctx, r.s.opened.System)
	var tools []byte
	if err == nil {
		tools, err = r.blob(r.ctx, r.s.opened.Tools)
	}
	switch code := footnote.CodeOf(err); {
	case r.s.opened.Model == "", code == footnote.StorageDamaged, code == footnote.NotFound:
		return r.reopen()
	case err != nil:
		return fmt.Errorf("read the frozen prompt and tools: %w", err)
	}
	r.system, r.tools = system, tools
	return nil
}

// reopen replaces the opening of a conversation when it cannot be read.
func (r *run) reopen() error {
	old := r.s.opened
	tier, err := r.e.tier(r.turn.Principal, r.a, old.Tier)
	if err != nil {
		return err
	}
	if old.Model != "" {
		tier.Model, tier.Effort = old.Model, old.Effort
	}
	system, sources, err := r.a.Opening(r.ctx, r.turn.Principal, old.Sources)
	if err != nil {
		return err
	}
	r.system, r.tools = system, r.e.toolsOf(r.turn.Principal, r.a)
	opened := footnote.Opened{
		Assistant: r.a.Name, Model: tier.Model, Tier: tier.Name, Effort: tier.Effort, Sources: sources,
		System: DigestOf(r.system), Tools: DigestOf(r.tools),
	}
	r.e.opts.Logger.Error("cannot read the opening of a conversation; it continues with today's prompt and tools",
		"conversation", r.stream, "run", r.id)
	r.put(map[footnote.Digest][]byte{opened.System: r.system, opened.Tools: r.tools}, opened)
	return nil
}

// blob reads a blob of the conversation, and retries while the store is away.
func (r *run) blob(ctx context.Context, d footnote.Digest) (data []byte, err error) {
	err = r.retryWhileAway(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, readTime)
		defer cancel()
		data, err = r.e.opts.Log.Blob(ctx, r.stream, d)
		return timeoutAsAway(ctx, err)
	})
	return data, err
}

// step makes one model call and puts its message. A call that broke off before the model said
// anything is retried as a new attempt.
//
// A run waits in step while the model speaks. Large values are not kept on the stack here,
// because that would double its size.
func (r *run) step(last bool) (*model.Reply, error) {
	s := &stepping{r: r, n: r.s.steps + 1, shown: map[string]bool{}}
	for attempt := 1; ; attempt++ {
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		if !r.purse.calling { // otherwise it was reserved for an attempt that came to nothing
			s.req = r.request(last)
			if err := r.afford(&s.req); err != nil {
				return nil, err
			}
		}
		live := &live{r: r, step: s.n, attempt: attempt, shown: s.shown}
		s.begun = r.e.opts.Now()
		reply, err := r.e.call(r.ctx, r.a, &s.req, live)
		live.end()
		if err == nil {
			s.said(reply, live)
			return reply, nil
		}
		if err := s.retry(err, live); err != nil {
			return nil, err
		}
	}
}

// request is the next model call before it is limited to what it may cost.
func (r *run) request(last bool) model.Request {
	return model.Request{
		Conversation: r.stream, Principal: r.turn.Principal,
		Model: r.s.opened.Model, Effort: r.s.opened.Effort, Sources: r.s.opened.Sources,
		System: r.system, Tools: r.tools, Messages: r.history(), NoTools: last,
		MaxTokens: r.s.started.MaxTokens,
	}
}

// history is what the model reads. When the log is torn, the operator is told once in a run;
// the model still reads the rest of it, with words in place of what is missing.
func (r *run) history() []history.Message {
	messages, repairs := history.Repaired(r.events())
	if repairs > 0 && !r.alerted {
		r.alerted = true
		r.e.opts.Metrics.HistoryRepaired(repairs)
		r.e.opts.Logger.Error("the log of a conversation is torn; its history was repaired",
			"conversation", r.stream, "run", r.id, "repairs", repairs)
	}
	return messages
}

// stepping is a step that is being made.
type stepping struct {
	r     *run
	n     int // the step's number within the run
	req   model.Request
	begun time.Time
	shown map[string]bool // call ids of all attempts
}

// said puts the message of a call.
func (s *stepping) said(reply *model.Reply, live *live) {
	m := &reply.Message
	took := s.r.e.opts.Now().Sub(s.begun)
	m.Millis = took.Milliseconds()
	s.r.e.opts.Metrics.StepEnded(m.Model, m.Usage, m.Cost, took, false)
	s.r.message(s.n, reply, live, s.r.purse.used(m.Usage, m.Cost))
}

// retry records a call that failed and waits until it can be made again. It returns why it
// cannot.
func (s *stepping) retry(err error, live *live) error {
	r, se := s.r, stepError(err)
	r.e.opts.Metrics.StepEnded(s.req.Model, se.Usage, se.Cost, r.e.opts.Now().Sub(s.begun), true)
	r.e.opts.Metrics.StepFailed(se.Code)
	if r.stoppedBy() == ByStopString && se.Partial != "" {
		// What was said until then is the answer, as if the model had ended there.
		reply := halted(s.req.Model, se)
		r.message(s.n, &reply, live, r.purse.used(se.Usage, se.Cost))
		return err
	}
	s.broke(live, se)
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if se.Code == footnote.BudgetExceeded && r.purse.short {
		return dayOver{err} // a limit was reached, not that of the question
	}
	wait := max(backoff(live.attempt), se.RetryAfter)
	if !se.Again || live.said || live.attempt == maxAttempts || wait > longestWait || r.overBudget() != nil {
		r.e.opts.Logger.Warn("model call failed", "conversation", r.stream, "run", r.id,
			"step", s.n, "attempt", live.attempt, "code", se.Code, "err", err)
		return err
	}
	live.Retrying(live.attempt, se.Code, wait)
	return r.sleep(wait)
}

// call makes one model call. A model that panics has failed; the process goes on.
func (e *Engine) call(ctx context.Context, a *Assistant, req *model.Request, l model.Live) (_ *model.Reply, err error) {
	var reply model.Reply
	ctx, end := e.opts.Tracer.Step(ctx, req)
	defer func() { end(&reply, err) }()
	defer func() {
		if p := recover(); p != nil {
			e.opts.Logger.Error("model panicked", "conversation", req.Conversation, "panic", p, "stack",
				string(debug.Stack()))
			err = fmt.Errorf("model panicked: %v", p)
		}
	}()
	reply, err = a.Model.Step(ctx, *req, l)
	return &reply, err
}

// halted is the message of a call that was stopped because it had said enough.
func halted(name string, se *model.StepError) model.Reply {
	return model.Reply{Message: footnote.AssistantMessage{
		Model: name, StopReason: model.StopSequence, Usage: se.Usage, Cost: se.Cost,
		Blocks: []json.RawMessage{marshal(map[string]string{"type": model.TextBlock, "text": se.Partial})},
	}}
}

// stepError returns the StepError of a failed model call.
func stepError(err error) *model.StepError {
	if se, ok := errors.AsType[*model.StepError](err); ok {
		return se
	}
	return &model.StepError{Code: footnote.CodeOf(err), Message: footnote.MessageOf(err), Err: err}
}

// broke records a model call that failed after something was shown or used.
func (s *stepping) broke(l *live, se *model.StepError) {
	r := s.r
	if !l.begun && se.Cost.MicroUSD == 0 && se.Usage == (footnote.Usage{}) {
		return
	}
	r.topic.Note(footnote.Delta{Run: r.id, Step: l.step, Attempt: l.attempt, Op: footnote.StepBroke, Code: se.Code})
	r.settled(r.purse.used(se.Usage, se.Cost), nil,
		footnote.StepFailed{
			Step: l.step, Attempt: l.attempt, Partial: se.Partial, Code: se.Code, Usage: se.Usage, Cost: se.Cost,
		})
}

// longestWait bounds how long a run waits before it retries a model call.
const longestWait = 20 * time.Second

// backoff is how long to wait after a failed attempt: half a second, doubled each
// time, with full jitter.
func backoff(attempt int) time.Duration {
	return mathrand.N(500 * time.Millisecond << (attempt - 1))
}

func (r *run) sleep(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// message puts a model's message. The last one of a run is written together with
// the answer that follows it, and one with calls, if they are answered at once, with
// their results. Before a call that changes something it is flushed.
func (r *run) message(n int, reply *model.Reply, l *live, settle []footnote.Settle) {
	m := &reply.Message
	m.Step = n
	m.Blocks = readable(m.Blocks)
	l.rename(m.Blocks)
	r.mu.Lock()
	defer r.mu.Unlock()
	bodies := []footnote.Body{*m}
	if len(toolCalls(m.Blocks)) > 0 {
		r.note(r.w.later(settle, bodies...), bodies)
	} else {
		r.note(r.w.hold(settle, bodies...), bodies)
	}
}

// readable is a copy of blocks in which those that are not JSON, and so could not
// be stored, are empty texts: their places stay.
func readable(blocks []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, len(blocks))
	for i, raw := range blocks {
		if out[i] = raw; !isPlain(raw) && !json.Valid(raw) {
			out[i] = json.RawMessage(`{"type":"text","text":""}`)
		}
	}
	return out
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

// refuse answers calls that are not going to be run.
func (r *run) refuse(calls []openCall, words string) {
	for _, c := range calls {
		r.put(nil, footnote.ToolResult{
			CallID: c.ID, Name: c.Name, Content: words, IsError: true, By: "server",
			Statements: notRun(r.s.named(r.a, c)),
		})
	}
}
