package agent

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model/history"
)

// recoverLoop recovers runs until the engine stops.
func (e *Engine) recoverLoop() {
	tick := time.NewTimer(e.recoverPause())
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			e.settleAll()
			ctx, cancel := context.WithTimeout(e.ctx, 30*time.Second)
			if err := e.Recover(ctx); err != nil && ctx.Err() == nil {
				e.opts.Logger.WarnContext(ctx, "recovery", "err", err)
			}
			cancel()
			tick.Reset(e.recoverPause()) // not earlier, so that a slow log gets a pause too; see availability
		}
	}
}

// recoverPause returns the time until the next search for runs to recover. It is random for engines that share a log,
// so that they rarely want the same run at once.
func (e *Engine) recoverPause() time.Duration {
	if e.opts.Shared == nil {
		return soleRecoverPause
	}
	return minRecoverPause + mathrand.N(maxRecoverPause-minRecoverPause)
}

// Recover resumes the runs whose engine has died, and the parked ones whose deadline has passed. Call it once at
// the start; the engine then repeats it every few seconds. If several engines want the same run, one gets it.
func (e *Engine) Recover(ctx context.Context) error {
	begun := time.Now()
	heads, err := e.opts.Log.Unfinished(ctx, e.opts.Now(), 1000)
	if err == nil && len(heads) > 0 && e.opts.Shared != nil {
		err = e.opts.Shared.Ping(ctx)
	}
	e.availability.record(begun, err)
	if err != nil {
		return fmt.Errorf("list unfinished runs: %w", err)
	}
	if e.opts.Shared != nil {
		heads = e.availability.ownerless(heads)
	}
	e.recoverAll(ctx, heads)
	if e.opts.Shared != nil {
		err = e.stopParked(ctx)
	}
	return errors.Join(err, e.settleOverdue(ctx))
}

// recoverAll recovers runs that no engine drives.
func (e *Engine) recoverAll(ctx context.Context, heads []footnote.Stream) {
	for _, head := range heads {
		if err := e.recover(ctx, head.ID); err != nil && !e.raced(err) { // otherwise another engine was quicker
			e.logOf(footnote.Origin{Conversation: head.ID, Run: head.Run}).Error("run not recovered", "err", err)
		}
	}
}

// maxRecoveries is the number of crashes that a run survives. A run that crashes the process each time must not run for
// ever.
const maxRecoveries = 3

// recover resumes one run, or ends it when it has no readers any more. A parked run stays parked until its deadline.
func (e *Engine) recover(ctx context.Context, stream string) error {
	leave, err := e.enter()
	if err != nil {
		return nil //nolint:nilerror // the next process recovers it
	}
	defer leave()
	return e.whileIdle(ctx, stream, func(ctx context.Context, stream string) error {
		if e.abandonedRun(stream) != nil {
			return e.settle(ctx, stream)
		}
		return e.recoverLocked(ctx, stream)
	})
}

// whileIdle locks the stream and calls do, unless this engine drives a run of the stream.
func (e *Engine) whileIdle(ctx context.Context, stream string, do func(context.Context, string) error) error {
	unlock, err := e.lock(ctx, stream)
	if err != nil {
		return err
	}
	defer unlock()
	if e.running(stream) != nil {
		return nil
	}
	return do(ctx, stream)
}

// recoverLocked implements recover. The stream must be locked, and this engine must not drive a run of it.
func (e *Engine) recoverLocked(ctx context.Context, stream string) error {
	head, err := e.opts.Log.Get(ctx, stream)
	if err != nil || head.RunState == "" {
		return err
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return err
	}
	if e.revoked(ctx, s.started.Key) {
		_, err = e.closeRun(ctx, head, s, "The run was stopped.", footnote.RunStopped{By: byRevoked})
		return err
	}
	if head.RunState == "parked" && head.Deadline.After(e.opts.Now()) {
		return nil
	}
	p := ownTurn(head, s).Principal
	a, err := e.assistant(p, "", s.opened.Assistant)
	if err == nil {
		err = e.mayContinue(p, a, s)
	}
	ownerDied := head.RunState == "running"
	if err != nil || ownerDied && (s.started.OnDisconnect == Cancel || s.recoveries >= maxRecoveries) {
		// It cannot be resumed, or its user may no longer use the assistant, a source or the model.
		_, err = e.closeRun(ctx, head, s, history.Interrupted, footnote.RunStopped{By: "interrupted"})
		return err
	}
	if !ownerDied {
		return e.expire(ctx, head, a, s)
	}
	return e.takeOver(ctx, head, a, s, true, footnote.RunResumed{Attempt: s.resumes + 1, Reason: "recovered"})
}

// ownTurn returns the turn of a run that continues without a new one.
func ownTurn(head footnote.Stream, s *state) Turn {
	return Turn{
		Principal: footnote.Principal{
			Org: head.Org, User: head.User, Roles: s.started.Roles, Attributes: s.started.Attributes,
		}, Key: s.started.Key,
		Protocol: s.started.Protocol, RequestID: s.started.RequestID,
	}
}

// late is the result that the model reads for a call that was not answered in time.
const late = "This call was not answered in time."

// expire resumes a parked run whose deadline has passed. The conversation must be locked.
func (e *Engine) expire(ctx context.Context, head footnote.Stream, a *Assistant, s *state) error {
	var bodies []footnote.Body
	for _, c := range s.waiting() {
		bodies = append(bodies, footnote.ToolResult{
			CallID: c.ID, Name: c.Name, Content: late, IsError: true, By: "recovery",
			Statements: s.abandon(a, c, footnote.StatementTimedOut),
		})
	}
	lost := s.abandoned(a, ownTurn(head, s).Principal, head.ID)
	err := e.takeOver(ctx, head, a, s, false,
		append(bodies, footnote.RunResumed{Attempt: s.resumes + 1, Reason: "deadline"})...)
	if err == nil {
		e.withdraw(lost)
	}
	return err
}

// takeOver resumes a run that no engine drives. It appends bodies and takes the lease with them. The error's code is
// Conflict when another engine was quicker. The conversation must be locked.
func (e *Engine) takeOver(ctx context.Context, head footnote.Stream, a *Assistant, s *state, recovered bool,
	bodies ...footnote.Body) error {
	r := e.newRun(head, a, s, ownTurn(head, s))
	r.recovered = recovered
	lost, settle, err := e.estimateLost(ctx, head.ID, s, true)
	if err != nil {
		r.drop()
		return err
	}
	r.budget.unknown = len(settle) > 0
	bodies = append(lost, bodies...)
	r.mu.Lock()
	r.apply(head.Last+1, bodies)
	err = r.first(ctx, footnote.Append{Bodies: bodies, Settle: settle})
	r.mu.Unlock()
	if err != nil {
		r.drop()
		return err
	}
	e.launch(r)
	return nil
}

// estimateLost returns events for the calls that were under way when a run's process died, and their settlement. It
// estimates their usage. With continues, the run keeps its reservation.
func (e *Engine) estimateLost(ctx context.Context, stream string, s *state, continues bool) (
	bodies []footnote.Body, settle []footnote.Settle, err error,
) {
	reserved, err := e.opts.Log.Reserved(ctx, stream)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range reserved {
		if r.Run != s.run || s.run == "" {
			continue // a call outside the run, which may still be under way
		}
		u, spent := estimatedUse(r, e.opts.Budget.Weight(s.opened.Tier))
		spent.Keep = continues && r.ID == reservationOf(s.run)
		if settle = append(settle, spent); r.Lost != (footnote.Amount{}) {
			bodies = append(bodies, footnote.StepFailed{
				Step: s.steps + 1, Attempt: 1, Code: footnote.ModelUnavailable,
				Usage: u, Cost: footnote.Cost{MicroUSD: r.Lost.MicroUSD}, Lost: true,
			})
		}
	}
	return bodies, settle, nil
}

// estimatedUse estimates the usage of a call whose process died: its prompt and a short answer, as minUse reserved
// them.
func estimatedUse(r footnote.Reservation, weight int64) (footnote.Usage, footnote.Settle) {
	tokens := r.Lost.Tokens / max(1, weight)
	amount := footnote.Amount{MicroUSD: r.Lost.MicroUSD, Tokens: tokens * max(1, weight)}
	answer := min(tokens, leastAnswer)
	return footnote.Usage{Input: tokens - answer, Output: answer, Estimated: true},
		footnote.Settle{ID: r.ID, Org: r.Org, User: r.User, Stream: r.Stream, Spent: amount, Held: true}
}

// settleAll calls settle for all conversations with a run that gave up.
func (e *Engine) settleAll() {
	var ids []string
	e.mu.Lock()
	for id, c := range e.conversations {
		if c.abandoned != nil {
			ids = append(ids, id)
		}
	}
	e.mu.Unlock()
	for _, id := range ids {
		e.lockAndSettle(e.ctx, id)
	}
}

func (e *Engine) lockAndSettle(ctx context.Context, stream string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := e.whileIdle(ctx, stream, e.settle); err != nil && e.ctx.Err() == nil {
		from := footnote.Origin{Conversation: stream}
		if g := e.abandonedRun(stream); g != nil {
			from.Run = g.run
		}
		e.logOf(from).Warn("cannot continue or end a run yet", "err", err)
	}
}

func (e *Engine) abandonedRun(stream string) *abandonedRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.conversations[stream]; c != nil {
		return c.abandoned
	}
	return nil
}

// settle continues a run that gave up because the store was unavailable. If the store refused the events for another
// reason, settle ends the run instead, because its steps would be paid for and refused again. The conversation must be
// locked.
func (e *Engine) settle(ctx context.Context, stream string) error {
	g := e.abandonedRun(stream)
	if g == nil {
		return nil
	}
	settle := e.continueRun
	if g.err != nil {
		settle = e.failRun
	}
	// After a conflict another engine has the run.
	if err := settle(ctx, stream, g); err != nil && !e.raced(err) && footnote.CodeOf(err) != footnote.NotFound {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.conversation(stream); c.abandoned == g { // otherwise another run has given up since
		c.abandoned = nil
		e.deleteUnused(c)
	}
	return nil
}

func (e *Engine) continueRun(ctx context.Context, stream string, g *abandonedRun) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	if g.lease != 0 {
		if err := e.opts.Log.Release(ctx, stream, g.lease); err != nil {
			return err
		}
	}
	return e.recoverLocked(ctx, stream)
}

func (e *Engine) failRun(ctx context.Context, stream string, g *abandonedRun) error {
	head, err := e.opts.Log.Get(ctx, stream)
	if err != nil || head.Run != g.run {
		return err
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return err
	}
	_, err = e.closeRun(ctx, head, s, msgRunEnded, failure(g.err))
	return err
}
