package agent

import (
	"context"
	"time"

	"github.com/footnotehq/footnote"
)

// Stop ends the run of a conversation. It does nothing if the run has ended or the conversation does not exist. If
// another engine drives the run, Stop asks it to end the run and does not wait for that.
func (e *Engine) Stop(ctx context.Context, conversation, by string) error {
	for tries := raceTries; ; tries-- {
		if err := e.stopOnce(ctx, conversation, by); !e.raced(err) || tries == 0 {
			return err
		}
	}
}

func (e *Engine) stopOnce(ctx context.Context, conversation, by string) error {
	if done, err := e.stopRunning(ctx, conversation, by); done {
		return err
	}
	if done, err := e.stopElsewhere(ctx, conversation, by); done {
		return err
	}
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	unlock, err := e.lock(ctx, conversation)
	if err != nil {
		return err
	}
	defer unlock()
	// No run can start while the stream is locked, but one may have started before.
	if done, err := e.stopRunning(ctx, conversation, by); done {
		return err
	}
	head, err := e.opts.Log.Get(ctx, conversation)
	if footnote.CodeOf(err) == footnote.NotFound {
		return nil
	}
	if err != nil || head.RunState != "parked" {
		return err
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return err
	}
	_, err = e.closeRun(ctx, head, s, "The run was stopped.", footnote.RunStopped{By: by})
	return err
}

// stopRunning cancels the run of a conversation if this engine drives it. done is false if there is no such run, or if
// the run ended or parked before it could notice.
func (e *Engine) stopRunning(ctx context.Context, conversation, by string) (done bool, err error) {
	r := e.running(conversation)
	if r == nil {
		return false, nil
	}
	r.cancel(stopped{by})
	if !r.isClosed() {
		return true, nil // the run will notice that it was stopped
	}
	err = r.waitUntilOver(ctx)
	return err != nil, err
}

// closeRun ends a run that no engine drives: it stores words as the result of each open call and appends the terminal
// event. The stream must be locked.
func (e *Engine) closeRun(ctx context.Context, head footnote.Stream, s *state, words string, terminal footnote.Body) (
	footnote.Stream, error,
) {
	if s.run == "" || s.run != head.Run {
		// It has ended, or another one has begun, since the head was read.
		return head, footnote.Errorf(footnote.Conflict, "The conversation has moved on.")
	}
	bodies, settle, err := e.estimateLost(ctx, head.ID, s, false)
	if err != nil {
		return head, err
	}
	usage, cost := s.usage, s.cost
	for _, b := range bodies {
		b := b.(footnote.StepFailed)
		usage, cost = usage.Add(b.Usage), cost.Add(b.Cost)
	}
	var lost []clientResult
	a := e.byName[s.opened.Assistant]
	if a != nil {
		lost = s.abandoned(a, ownTurn(head, s).Principal, head.ID)
	}
	for _, c := range s.open() {
		bodies = append(bodies, footnote.ToolResult{
			CallID: c.ID, Name: c.Name, Content: words, IsError: true, By: "recovery",
			Statements: s.abandon(a, c, footnote.StatementCancelled),
		})
	}
	bodies = append(bodies, withTotals(terminal, s.steps, usage, cost, s.spent()))
	events, err := e.opts.Log.Append(ctx, footnote.Append{
		Stream: head.ID, After: head.Last, Run: s.run, Bodies: bodies, Settle: settle,
		Take: &footnote.Take{Owner: e.opts.Owner, TTL: e.opts.LeaseTTL}, Release: true,
	})
	if err != nil {
		return head, err
	}
	e.withdraw(lost)
	topic := e.opts.Hub.Open(head.ID, head.Last)
	topic.Publish(events...)
	topic.Trim()
	topic.Close()
	for _, ev := range events {
		s.apply(ev)
	}
	head.Last += int64(len(events))
	head.Run, head.RunState = "", ""
	return head, nil
}

// How often runs are checked for revoked keys, and how long one check may take.
const (
	keysEvery = 2 * time.Second
	keyTime   = 5 * time.Second
)

// endRevoked ends the runs of this engine whose keys were revoked. An open request ends with its key by itself, but a
// run may have no open request, or may have been taken over from another engine. endRevoked checks each key once. If
// the store does not answer, the runs continue.
func (e *Engine) endRevoked() {
	byKey := map[string][]*run{}
	for _, r := range e.live() {
		if r.turn.Key != "" {
			byKey[r.turn.Key] = append(byKey[r.turn.Key], r)
		}
	}
	for key, runs := range byKey {
		if !e.revoked(e.ctx, key) {
			continue
		}
		for _, r := range runs {
			r.log.Info("run ends with its API key", "key", key)
			r.cancel(stopped{byRevoked})
		}
	}
}

// endParked ends the parked runs whose keys were revoked. No engine drives them, so each engine checks all parked runs
// whose users have lost a key, and the first engine ends them. keys caches the key of each such run, so that its log is
// read only once.
func (e *Engine) endParked(keys map[string]string) (now map[string]string) {
	ctx, cancel := context.WithTimeout(e.ctx, keyTime)
	defer cancel()
	heads, err := e.opts.Log.Withdrawn(ctx, e.opts.Now(), 1000)
	if err != nil {
		if e.ctx.Err() == nil {
			e.opts.Logger.WarnContext(ctx, "cannot check parked runs for revoked keys", "err", err)
		}
		return keys
	}
	now = map[string]string{}
	for _, head := range heads {
		key, known := keys[head.Run]
		if !known {
			s, err := e.load(ctx, head)
			if err != nil || s.run != head.Run {
				continue // it has ended or resumed, or the next check reads it
			}
			key = s.started.Key
		}
		now[head.Run] = key
		if e.revoked(ctx, key) {
			e.recoverAll(ctx, []footnote.Stream{head})
		}
	}
	return now
}

// revoked reports whether the key with which a run was requested was revoked.
func (e *Engine) revoked(ctx context.Context, key string) bool {
	if key == "" || e.opts.Standing == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, keyTime)
	defer cancel()
	return footnote.CodeOf(e.opts.Standing(ctx, key)) == footnote.Unauthorized
}
