package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/usd"
	"github.com/footnotehq/footnote/model"
)

// overBudget returns the terminal event of a run that cannot pay for another step, or nil. The newest text of the model
// is then the answer.
func (r *run) overBudget() footnote.Body {
	if r.left() > 0 {
		return nil
	}
	return r.outOfMoney()
}

// left returns the money that the run may still spend. Calls that were lost when a process died do not count, or the
// run could not continue.
func (r *run) left() int64 { return r.money - (r.s.cost.MicroUSD - r.s.lostCost.MicroUSD) }

func (r *run) outOfMoney() footnote.Body {
	if r.s.answer == "" {
		return footnote.RunFailed{Code: footnote.BudgetExceeded, Message: fmt.Sprintf(
			"The answer would cost more than the limit of %s for one question.", usd.String(float64(r.money)/1e6))}
	}
	return footnote.RunFinished{Reason: "budget"}
}

// ended returns the terminal event and the answer of a run that ends normally.
func (r *run) ended(reason string, reply *model.Reply) (footnote.Body, *footnote.Answered) {
	return footnote.RunFinished{Reason: cmp.Or(reason, model.EndTurn)}, r.answered(reply.Cites)
}

// broken returns the terminal event of a run whose step failed, and its answer if it has one. A run that was stopped at
// a stop string has an answer.
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

// stoppedBy returns the By of the stop, or empty.
func (r *run) stoppedBy() string {
	s, _ := errors.AsType[stopped](context.Cause(r.ctx))
	return s.by
}

// failed returns the terminal event of a run that an error ended. It returns nil if the store was unavailable for too
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
	if isOutage(err) {
		r.giveUp(err)
		return nil
	}
	if over, ok := errors.AsType[limitReached](err); ok && r.s.answer == "" {
		err = over.error
	} else if footnote.CodeOf(err) == footnote.BudgetExceeded {
		return r.outOfMoney()
	}
	if footnote.CodeOf(err) == footnote.Internal {
		r.log.Error("run failed", "err", err)
	}
	return failure(err)
}

// giveUp leaves the run to continueRun. The run accepts no more answers.
func (r *run) giveUp(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.gaveUp = true, err
}

// failure converts an error to a RunFailed.
func failure(err error) footnote.RunFailed {
	failed := footnote.RunFailed{Code: footnote.CodeOf(err), Message: footnote.MessageOf(err)}
	if e, ok := errors.AsType[*footnote.Error](err); ok {
		failed.RetryAfterMillis = e.RetryAfter.Milliseconds()
	}
	return failed
}

// byShutdown is the RunStopped.By of a run that ends because the server shuts down.
const byShutdown = "shutdown"

// msgRunEnded is the result of a call that is open when its run ends.
const msgRunEnded = "The run ended before this call was answered."

// finish closes the open calls and appends the terminal event.
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
	took := r.spent + r.e.opts.Now().Sub(r.begun)
	bodies = append(append(bodies, lost...), withTotals(terminal, r.s.steps, r.s.usage, r.s.cost, took))
	r.apply(r.w.end(settle, bodies...), bodies)
}

// unanswered returns the statements of a call that is open when the run ends. r.mu must be held.
func (r *run) unanswered(c openCall) []footnote.Statement {
	if ran, ok := r.cutShort[c.ID]; ok {
		return ran
	}
	p := r.plan(c)
	switch {
	case r.s.unapproved(c.ID) || p.ask:
		return statementsNotRun(p.call)
	case r.recovered || p.wait && p.refusal == "": // the process that died, or a browser, may have made it
		return statementsMaybeRun(p.call, footnote.StatementCancelled)
	}
	return statementsNotRun(p.call)
}

// withTotals returns a terminal event with the steps, usage, cost and duration of its run.
func withTotals(terminal footnote.Body, steps int, u footnote.Usage, c footnote.Cost,
	took time.Duration) footnote.Body {
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

// record logs and counts how the run ended.
func (r *run) record(terminal footnote.Body, err error) {
	outcome := "parked"
	if terminal != nil {
		outcome = strings.TrimPrefix(footnote.KindOf(terminal), "run_") // as in the audit
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
	r.traceEnd(terminal, outcome)
	attrs := []any{
		"outcome", outcome, "took_ms", took.Milliseconds(),
	}
	if err != nil {
		r.log.Error("run ended", append(attrs, "err", err)...)
		return
	}
	r.log.Info("run ended", attrs...)
}
