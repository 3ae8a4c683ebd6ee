package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/history"
	"github.com/footnotehq/footnote/hub"
)

// maxAttempts is how often one step is tried when nothing of it was shown.
const maxAttempts = 3

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
	recovered bool // it goes on after its owner died
	done      chan struct{}

	mu   sync.Mutex                 // guards below; the loop alone changes what it reads of s without it
	rows map[string]footnote.Result // rows of this run's results, by id
	s    *state
	// closed is set when the run takes no more answers: it has parked or ended.
	closed bool
}

// newRun prepares a run; launch lets it go. A state with a run goes on with it.
func (e *Engine) newRun(head footnote.Stream, a *Assistant, s *state, t Turn) *run {
	id := s.run
	if id == "" {
		id = "run_" + rand.Text()
	}
	r := &run{
		e: e, a: a, id: id, stream: head.ID, turn: t, s: s,
		topic: e.opts.Hub.Open(head.ID, head.Last),
		begun: e.opts.Now(),
		done:  make(chan struct{}),
		rows:  map[string]footnote.Result{},
	}
	ctx, cancel := context.WithCancelCause(e.ctx)
	r.ctx, r.stopTimer = context.WithTimeoutCause(ctx, a.Limits.Run, errRunTime)
	r.cancel = cancel
	r.w = &writer{
		log: e.opts.Log, topic: r.topic, stream: head, run: id, owner: e.opts.Owner, ttl: e.opts.LeaseTTL,
		failed: func(err error) { cancel(err) }, last: head.Last, next: head.Last + 1,
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

// note applies events that were queued from seq on. r.mu must be held.
func (r *run) note(seq int64, bodies []footnote.Body) {
	for i, b := range bodies {
		r.s.apply(footnote.Event{Stream: r.stream, Seq: seq + int64(i), Run: r.id, Body: b})
	}
}

// launch lets a run go. Its goroutine belongs to the engine.
func (e *Engine) launch(r *run) {
	e.mu.Lock()
	e.runs[r.stream] = r
	e.mu.Unlock()
	e.wg.Go(r.execute)
}

// execute drives the run to its end, or until it is parked.
func (r *run) execute() {
	terminal, answered := r.loop()
	if terminal != nil {
		r.finish(terminal, answered)
	}
	err := r.w.flush()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.topic.Trim()
	r.e.mu.Lock()
	delete(r.e.runs, r.stream)
	if err != nil {
		r.e.orphans[r.stream] = r.w.token()
	}
	r.e.mu.Unlock()
	r.topic.Close()
	r.stopTimer()
	r.cancel(nil)
	r.record(terminal, err)
	close(r.done)
}

// ending reports whether the run is past its last step.
func (r *run) ending() bool {
	r.mu.Lock()
	closed := r.closed
	r.mu.Unlock()
	return closed || r.w.broken()
}

// record writes down how the run ended.
func (r *run) record(terminal footnote.Body, err error) {
	outcome := "parked"
	if terminal != nil {
		outcome = footnote.KindOf(terminal)
	}
	if err != nil {
		outcome = "not_stored"
	}
	took := r.e.opts.Now().Sub(r.begun)
	r.e.opts.Metrics.RunEnded(r.a.Name, outcome, took)
	attrs := []any{"conversation", r.stream, "run", r.id, "request", r.turn.RequestID, "outcome", outcome, "took", took}
	if err != nil {
		r.e.opts.Logger.Error("run ended", append(attrs, "err", err)...)
		return
	}
	r.e.opts.Logger.Info("run ended", attrs...)
}

// finish closes what is open and appends the terminal event.
func (r *run) finish(terminal footnote.Body, answered *footnote.Answered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var bodies []footnote.Body
	for _, c := range r.s.open() {
		bodies = append(bodies, footnote.ToolResult{CallID: c.ID, Name: c.Name, Content: "The run ended before this call was answered.", IsError: true, By: "recovery"})
	}
	if answered != nil {
		bodies = append(bodies, *answered)
	}
	bodies = append(bodies, r.sums(terminal))
	r.note(r.w.end(bodies...), bodies)
}

// sums adds to a terminal event what the run took.
func (r *run) sums(terminal footnote.Body) footnote.Body {
	millis := r.e.opts.Now().Sub(r.begun).Milliseconds()
	switch b := terminal.(type) {
	case footnote.RunFinished:
		b.Steps, b.Usage, b.Cost, b.Millis = r.s.steps, r.s.usage, r.s.cost, millis
		return b
	case footnote.RunFailed:
		b.Steps, b.Usage, b.Cost, b.Millis = r.s.steps, r.s.usage, r.s.cost, millis
		return b
	case footnote.RunStopped:
		b.Steps, b.Usage, b.Cost, b.Millis = r.s.steps, r.s.usage, r.s.cost, millis
		return b
	default:
		return terminal
	}
}

// loop runs steps until the run ends or parks. It returns the terminal event, or
// nil when the run is parked. It never panics.
func (r *run) loop() (terminal footnote.Body, answered *footnote.Answered) {
	defer func() {
		if p := recover(); p != nil {
			r.e.opts.Logger.Error("run panicked", "conversation", r.stream, "run", r.id, "panic", p, "stack", string(debug.Stack()))
			terminal, answered = footnote.RunFailed{Code: footnote.Internal, Message: footnote.MessageOf(errors.New("panic"))}, nil
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
	nudged, pauses, cuts := false, 0, 0
	for {
		last := r.s.steps >= r.a.Limits.Turns
		reply, err := r.step(last)
		if err != nil {
			return r.failed(err), nil
		}
		m := reply.Message
		calls := r.openCalls()
		switch {
		case m.StopReason == Refusal:
			return r.ended(Refusal, reply)
		case last:
			return r.ended("max_turns", reply)
		case m.StopReason == ToolUse && len(calls) > 0:
			parked, err := r.settle()
			if err != nil {
				return r.failed(err), nil
			}
			if parked {
				return nil, nil
			}
		case m.StopReason == MaxTokens && len(calls) > 0 && cuts == 0:
			cuts++
			r.refuse(calls, "The call was cut off at the output limit and was not run. Make it again, shorter.")
		case m.StopReason == PauseTurn && pauses < 3:
			pauses++
		case Text(m.Blocks) == "" && r.s.answer == "" && !nudged:
			// The model ended without a word after its tool calls: ask once.
			nudged = true
			r.refuse(calls, "The call was not run.")
			r.put(nil, footnote.UserMessage{Context: "Please give your answer now, in words."})
		default:
			return r.ended(m.StopReason, reply)
		}
		if over := r.overBudget(); over != nil {
			return over, r.answered(nil)
		}
	}
}

// overBudget ends a run that has no money for another step. What has been said
// until then is its answer.
func (r *run) overBudget() footnote.Body {
	if r.s.cost.MicroUSD < r.a.Limits.MicroUSD {
		return nil
	}
	return r.outOfMoney()
}

func (r *run) outOfMoney() footnote.Body {
	if r.s.answer == "" {
		return footnote.RunFailed{Code: footnote.BudgetExceeded, Message: fmt.Sprintf("The answer would cost more than the limit of %.2f USD for one question.", float64(r.a.Limits.MicroUSD)/1e6)}
	}
	return footnote.RunFinished{Reason: "budget"}
}

// ended is the end of a run that has its answer.
func (r *run) ended(reason string, reply Reply) (footnote.Body, *footnote.Answered) {
	if reason == "" {
		reason = EndTurn
	}
	return footnote.RunFinished{Reason: reason}, r.answered(reply.Cites)
}

// failed is the end of a run that an error ended.
func (r *run) failed(err error) footnote.Body {
	if s, ok := errors.AsType[stopped](context.Cause(r.ctx)); ok {
		return footnote.RunStopped{By: s.by}
	}
	switch cause := context.Cause(r.ctx); {
	case errors.Is(cause, ErrShutdown):
		return footnote.RunStopped{By: "shutdown"}
	case errors.Is(cause, errRunTime):
		return footnote.RunFailed{Code: footnote.AgentTimeout, Message: fmt.Sprintf("The answer took longer than %s.", r.a.Limits.Run)}
	case cause != nil:
		err = cause
	}
	if footnote.CodeOf(err) == footnote.BudgetExceeded {
		return r.outOfMoney()
	}
	if footnote.CodeOf(err) == footnote.Internal {
		r.e.opts.Logger.Error("run failed", "conversation", r.stream, "run", r.id, "err", err)
	}
	return footnote.RunFailed{Code: footnote.CodeOf(err), Message: footnote.MessageOf(err)}
}

// thaw reads the frozen bytes of a conversation that was not just opened.
func (r *run) thaw() error {
	if r.system != nil {
		return nil
	}
	var err error
	if r.system, err = r.e.opts.Log.Blob(r.ctx, r.stream, r.s.opened.System); err != nil {
		return fmt.Errorf("read the frozen prompt: %w", err)
	}
	if r.tools, err = r.e.opts.Log.Blob(r.ctx, r.stream, r.s.opened.Tools); err != nil {
		return fmt.Errorf("read the frozen tools: %w", err)
	}
	return nil
}

// step makes one model call and puts its message. A call that broke off before
// anything was said is made again, as a new attempt.
func (r *run) step(last bool) (Reply, error) {
	n := r.s.steps + 1
	req := Request{
		Conversation: r.stream, Principal: r.turn.Principal, Model: r.s.opened.Model, Sources: r.s.opened.Sources,
		System: r.system, Tools: r.tools, Messages: history.Messages(r.events()), NoTools: last,
		MaxTokens: r.turn.MaxTokens,
		MaxCost:   max(1, r.a.Limits.MicroUSD-r.s.cost.MicroUSD),
	}
	for attempt := 1; ; attempt++ {
		live := &live{r: r, step: n, attempt: attempt}
		begun := r.e.opts.Now()
		reply, err := r.a.Model.Step(r.ctx, req, live)
		live.end()
		took := r.e.opts.Now().Sub(begun)
		if err == nil {
			r.e.opts.Metrics.StepEnded(reply.Message.Model, reply.Message.Usage, reply.Message.Cost, took, false)
			r.message(n, &reply, live)
			return reply, nil
		}
		se, _ := errors.AsType[*StepError](err)
		if se == nil {
			se = &StepError{Code: footnote.CodeOf(err), Message: footnote.MessageOf(err), Err: err}
		}
		r.e.opts.Metrics.StepEnded(req.Model, se.Usage, se.Cost, took, true)
		if live.begun || se.Cost.MicroUSD > 0 {
			r.topic.Note(footnote.Delta{Run: r.id, Step: n, Attempt: attempt, Op: footnote.StepBroke, Code: se.Code})
			r.put(nil, footnote.StepFailed{Step: n, Attempt: attempt, Partial: se.Partial, Code: se.Code, Usage: se.Usage, Cost: se.Cost})
		}
		if r.ctx.Err() != nil {
			return Reply{}, context.Cause(r.ctx)
		}
		if !se.Again || live.said || attempt == maxAttempts || r.overBudget() != nil {
			r.e.opts.Logger.Warn("model call failed", "conversation", r.stream, "run", r.id, "step", n, "attempt", attempt, "code", se.Code, "err", err)
			return Reply{}, err
		}
		if err := r.sleep(backoff(attempt)); err != nil {
			return Reply{}, err
		}
	}
}

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
// the answer that follows it.
func (r *run) message(n int, reply *Reply, l *live) {
	m := &reply.Message
	m.Step = n
	l.rename(m.Blocks)
	r.mu.Lock()
	defer r.mu.Unlock()
	bodies := []footnote.Body{*m}
	if m.StopReason == ToolUse {
		r.note(r.w.put(nil, bodies...), bodies)
	} else {
		r.note(r.w.hold(bodies...), bodies)
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

// refuse answers calls that are not going to be run.
func (r *run) refuse(calls []openCall, words string) {
	for _, c := range calls {
		r.put(nil, footnote.ToolResult{CallID: c.ID, Name: c.Name, Content: words, IsError: true, By: "server"})
	}
}

// live shows a growing message to readers.
type live struct {
	r       *run
	step    int
	attempt int
	blocks  map[int]hub.Block
	said    bool // text was shown
	begun   bool // anything was shown
	isText  map[int]bool
	ids     map[int]string // call ids that were given out, by block
}

func (l *live) Start(index int, kind, id, name string) {
	if l.blocks == nil {
		l.blocks, l.isText, l.ids = map[int]hub.Block{}, map[int]bool{}, map[int]string{}
	}
	if kind == ToolUseBlock {
		id = l.callID(index, id)
	}
	l.begun = true
	l.isText[index] = kind == TextBlock
	l.blocks[index] = l.r.topic.Start(footnote.Delta{
		Run: l.r.id, Step: l.step, Attempt: l.attempt, Index: index, Kind: kind, ID: id, Name: name,
	})
}

// callID gives a call an id that the conversation has not seen.
func (l *live) callID(index int, id string) string {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	free := l.r.s.unusedID(id)
	for n := range l.ids {
		if l.ids[n] == free && n != index {
			free = fmt.Sprintf("%s_%d", free, index)
		}
	}
	l.ids[index] = free
	return free
}

func (l *live) Delta(index int, escaped []byte) {
	if b, ok := l.blocks[index]; ok {
		l.said = l.said || l.isText[index] && len(escaped) > 0
		b.Grow(escaped)
	}
}

func (l *live) Stop(index int) {
	if b, ok := l.blocks[index]; ok {
		b.End()
		delete(l.blocks, index)
	}
}

func (l *live) Flush() { l.r.topic.Flush() }

func (l *live) Retrying(attempt int, code footnote.Code, wait time.Duration) {
	l.r.topic.Note(footnote.Delta{Run: l.r.id, Step: l.step, Attempt: attempt, Op: footnote.StepRetrying, Code: code, Wait: wait})
}

// end closes the blocks that the model left open.
func (l *live) end() {
	for index := range l.blocks {
		l.Stop(index)
	}
	l.r.topic.Flush()
}

// rename gives the calls of a complete message the ids they were shown with.
func (l *live) rename(blocks []json.RawMessage) {
	if l.ids == nil {
		l.ids = map[int]string{}
	}
	for i, raw := range blocks {
		var head struct {
			Type  string          `json:"type"`
			ID    string          `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal(raw, &head) != nil || head.Type != ToolUseBlock {
			continue
		}
		id, ok := l.ids[i]
		if !ok {
			id = l.callID(i, head.ID)
		}
		if id != head.ID {
			head.ID = id
			blocks[i] = marshal(head)
		}
	}
}

// deaf is a Live that nobody listens to.
type deaf struct{}

func (deaf) Start(int, string, string, string)          {}
func (deaf) Delta(int, []byte)                          {}
func (deaf) Stop(int)                                   {}
func (deaf) Flush()                                     {}
func (deaf) Retrying(int, footnote.Code, time.Duration) {}
