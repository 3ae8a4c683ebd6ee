package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/mark"
	"github.com/footnotehq/footnote/internal/pause"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/history"
	"github.com/footnotehq/footnote/tool"
)

// maxAttempts is how often a step is tried, as long as none of its text was shown.
const maxAttempts = 3

// step makes one model call and puts its message. A call that fails before any text was shown is retried as a new
// attempt.
//
// A run spends most of its time in step. Large values are not kept on the stack here, because that would double its
// size.
func (r *run) step(last bool) (*model.Reply, error) {
	s := &modelCall{r: r, n: r.s.steps + 1, shown: map[string]bool{}}
	for attempt := 1; ; attempt++ {
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		if !r.budget.calling { // otherwise the reservation of a failed attempt is still unused
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
			s.succeeded(reply, live)
			return reply, nil
		}
		if err := s.retry(err, live); err != nil {
			return nil, err
		}
	}
}

// request returns the request of the next model call, without limits of cost.
func (r *run) request(last bool) model.Request {
	return model.Request{
		Conversation: r.stream, Principal: r.turn.Principal,
		Model: r.s.opened.Model, Effort: r.s.opened.Effort, Sources: r.s.opened.Sources,
		System: r.system, Tools: r.tools, Messages: r.history(), NoTools: last,
		MaxTokens: r.s.started.MaxTokens,
	}
}

// history returns the history for the model. If events are missing, the model reads a placeholder instead, and
// history logs an error once per run.
func (r *run) history() []history.Message {
	messages, repairs := history.Repaired(r.events())
	if repairs > 0 && !r.alerted {
		r.alerted = true
		r.e.opts.Metrics.HistoryRepaired(repairs)
		r.log.Error("the log of a conversation is torn; its history was repaired", "repairs", repairs)
	}
	return messages
}

// modelCall holds the state of a step while it is made.
type modelCall struct {
	r     *run
	n     int // the step's number within the run
	req   model.Request
	begun time.Time
	shown map[string]bool // call ids of all attempts
}

// succeeded puts the message of a successful call.
func (s *modelCall) succeeded(reply *model.Reply, live *live) {
	m := &reply.Message
	took := s.r.e.opts.Now().Sub(s.begun)
	m.Millis = took.Milliseconds()
	s.r.e.opts.Metrics.StepEnded(m.Model, m.Usage, m.Cost, took, false)
	s.r.message(s.n, reply, live, s.r.budget.used(m.Usage, m.Cost))
}

// retry records a failed call and waits until it can be made again. It returns an error if it cannot.
func (s *modelCall) retry(err error, live *live) error {
	r, se := s.r, stepError(err)
	r.e.opts.Metrics.StepEnded(s.req.Model, se.Usage, se.Cost, r.e.opts.Now().Sub(s.begun), true)
	r.e.opts.Metrics.StepFailed(se.Code)
	if r.stoppedBy() == ByStopString && se.Partial != "" {
		// The text so far is the answer, the same as if the model had stopped there.
		reply := halted(s.req.Model, se)
		r.message(s.n, &reply, live, r.budget.used(se.Usage, se.Cost))
		return err
	}
	s.failed(live, se)
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if se.Code == footnote.BudgetExceeded && r.budget.short {
		return limitReached{err} // a limit was reached, not that of the question
	}
	wait := max(backoff(live.attempt), se.RetryAfter)
	if !se.Again || live.textShown || live.attempt == maxAttempts || wait > longestWait || r.overBudget() != nil {
		r.log.Warn("model call failed", "step", s.n, "attempt", live.attempt, "code", se.Code, "err", err)
		return err
	}
	live.Retrying(live.attempt, se.Code, wait)
	return pause.For(r.ctx, wait)
}

// call makes one model call. A panic of the model is an error of that call.
func (e *Engine) call(ctx context.Context, a *Assistant, req *model.Request, l model.Live) (_ *model.Reply, err error) {
	var reply model.Reply
	ctx, end := e.opts.Tracer.Step(ctx, req)
	defer func() { end(&reply, err) }()
	defer onPanic(e.logOf(footnote.OriginOf(ctx)), "model panicked", func(p any) {
		err = fmt.Errorf("model panicked: %v", p)
	})
	reply, err = a.Model.Step(ctx, *req, l)
	return &reply, err
}

// halted returns the message of a call that was stopped at a stop string.
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

// failed records a failed model call, unless nothing was shown and nothing used.
func (s *modelCall) failed(l *live, se *model.StepError) {
	r := s.r
	if !l.begun && se.Cost.MicroUSD == 0 && se.Usage == (footnote.Usage{}) {
		return
	}
	r.topic.Note(footnote.Delta{Run: r.id, Step: l.step, Attempt: l.attempt, Op: footnote.StepBroke, Code: se.Code})
	partial, _ := mark.Cut(se.Partial)
	r.putSettled(r.budget.used(se.Usage, se.Cost), nil,
		footnote.StepFailed{
			Step: l.step, Attempt: l.attempt, Partial: partial, Code: se.Code, Usage: se.Usage, Cost: se.Cost,
		})
}

// longestWait bounds how long a run waits before it retries a model call.
const longestWait = 20 * time.Second

// backoff returns how long to wait after a failed attempt: half a second, doubled each
// time, with full jitter.
func backoff(attempt int) time.Duration {
	return mathrand.N(500 * time.Millisecond << (attempt - 1))
}

// message puts a message of the model. The last message of a run is written together with the answer, and a message
// with calls together with their results if those come soon. Before a call that changes something, runGroup flushes the
// message.
func (r *run) message(n int, reply *model.Reply, l *live, settle []footnote.Settle) {
	m := &reply.Message
	m.Step = n
	m.Blocks, m.Marks = mark.CutBlocks(readable(m.Blocks), tool.FinalAnswer)
	l.rename(m.Blocks)
	calls := toolCalls(m.Blocks)
	m.Tools = r.describe(calls)
	r.mu.Lock()
	defer r.mu.Unlock()
	bodies := []footnote.Body{*m}
	if len(calls) > 0 {
		r.apply(r.w.later(settle, bodies...), bodies)
	} else {
		r.apply(r.w.hold(settle, bodies...), bodies)
	}
}

// describe returns how the page shows calls, by the name of their tool. A tool without a label and family has an empty
// entry, so that the page does not show those of another assistant's tool with the same name.
func (r *run) describe(calls []openCall) map[string]footnote.CalledTool {
	var tools map[string]footnote.CalledTool
	for _, c := range calls {
		if t, s := r.tool(&c); t != nil {
			put(&tools, c.Name, footnote.CalledTool{Label: s.Label, Family: s.Family})
		}
	}
	return tools
}

// readable returns a copy of blocks, with an empty text block in place of each block that is not JSON and so could not
// be stored.
func readable(blocks []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, len(blocks))
	for i, raw := range blocks {
		if out[i] = raw; !isPlain(raw) && !json.Valid(raw) {
			out[i] = json.RawMessage(`{"type":"text","text":""}`)
		}
	}
	return out
}
