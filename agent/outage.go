package agent

import (
	"context"
	"errors"
	"time"

	"github.com/footnotehq/footnote"
)

// A store can be away for a moment: its database restarts, its disk is full. A run that
// is under way does not end with that. Its writer keeps what is to be written and tries
// again, while the model goes on and readers see nothing of what is not stored. After
// Options.Outage the readers are told, and the run goes on from the log once the store
// is back: see adopt.

const (
	outageTime  = 2 * time.Minute
	firstPause  = 50 * time.Millisecond // between two attempts; doubled each time
	longestRest = time.Second
	partingTime = 5 * time.Second // how long a writer tries on when the engine has to end
)

// msgSilent is the message of a store that gave no answer in time.
const msgSilent = "The store does not answer."

// away reports whether an error says that the store may soon be back.
func away(err error) bool {
	e, ok := errors.AsType[*footnote.Error](err)
	return ok && e.Code == footnote.StorageUnavailable && e.RetryAfter > 0
}

// unanswered is err, or that of a call of the store whose time was over.
func unanswered(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return &footnote.Error{Code: footnote.StorageUnavailable, Message: msgSilent, RetryAfter: longestRest, Err: err}
	}
	return err
}

// attempts paces what is tried again while the store is away.
type attempts struct {
	ending <-chan struct{} // closed when the engine has to end
	end    time.Time       // of all patience
	pause  time.Duration
	last   bool // the end was shortened, because the engine ends
}

func newAttempts(patience time.Duration, ending <-chan struct{}) *attempts {
	return &attempts{ending: ending, end: time.Now().Add(patience), pause: firstPause}
}

// again waits for the next attempt, and reports whether there is to be one.
func (a *attempts) again(ctx context.Context) bool {
	if !time.Now().Add(a.pause).Before(a.end) {
		return false
	}
	ending := a.ending
	if a.last {
		ending = nil
	}
	timer := time.NewTimer(a.pause)
	defer timer.Stop()
	a.pause = min(2*a.pause, longestRest)
	select {
	case <-timer.C:
		return true
	case <-ending:
		a.last = true
		if last := time.Now().Add(partingTime); last.Before(a.end) {
			a.end = last
		}
		return true
	case <-ctx.Done():
		return false
	}
}

// insist does what needs the store, and does it again while the store is away.
func (e *Engine) insist(ctx context.Context, do func() error) error {
	tries := newAttempts(e.opts.Outage, e.ctx.Done())
	for {
		err := do()
		if !away(err) || !tries.again(ctx) {
			return err
		}
	}
}

// patient is a Budget whose reservations for runs wait for a store that is away.
type patient struct {
	Budget
	e *Engine
}

// Reserve implements Budget. The reservation has one id, however often it is asked for.
func (b patient) Reserve(ctx context.Context, p footnote.Principal, c Spending) (h Hold, err error) {
	if c.Run == "" {
		return b.Budget.Reserve(ctx, p, c)
	}
	err = b.e.insist(ctx, func() (err error) {
		h, err = b.Budget.Reserve(ctx, p, c)
		return err
	})
	return h, err
}

// awaits waits for the end of a run that takes nothing more. While the store is away
// that may be long: then the store's error is returned at once.
func (r *run) awaits(ctx context.Context) error {
	look := time.NewTicker(lookElsewhere)
	defer look.Stop()
	for {
		if err := r.w.trouble(); err != nil {
			return err
		}
		select {
		case <-r.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
}

// adopt goes on with a run of ours whose events could not be written, or ends it when
// nobody wants it any more. The stream must be locked.
func (e *Engine) adopt(ctx context.Context, stream string) error {
	e.mu.Lock()
	token, ok := e.orphans[stream]
	e.mu.Unlock()
	if !ok {
		return nil
	}
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	if token != 0 {
		if err := e.opts.Log.Release(ctx, stream, token); err != nil {
			return err
		}
	}
	// After a conflict it is another engine's by now.
	if err := e.recoverLocked(ctx, stream); err != nil && !e.raced(err) && footnote.CodeOf(err) != footnote.NotFound {
		return err
	}
	e.mu.Lock()
	delete(e.orphans, stream)
	e.mu.Unlock()
	return nil
}

func (e *Engine) retryOrphans() {
	e.mu.Lock()
	ids := make([]string, 0, len(e.orphans))
	for id := range e.orphans {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	for _, id := range ids {
		ctx, cancel := context.WithTimeout(e.ctx, 5*time.Second)
		if err := e.retryOrphan(ctx, id); err != nil && e.ctx.Err() == nil {
			e.opts.Logger.WarnContext(ctx, "run does not go on yet", "conversation", id, "err", err)
		}
		cancel()
	}
}

func (e *Engine) retryOrphan(ctx context.Context, stream string) error {
	leave, err := e.enter()
	if err != nil {
		return nil //nolint:nilerror // it is left to the next process
	}
	defer leave()
	unlock, err := e.lock(ctx, stream)
	if err != nil {
		return err
	}
	defer unlock()
	if e.running(stream) != nil {
		return nil
	}
	return e.adopt(ctx, stream)
}

// looked takes note of how a look for unfinished runs went that began at a time. Where
// the log is shared and was away, or could be read only, the engines that drive runs could
// not renew their leases: they are given time to do so, before others take their runs for
// lost.
func (e *Engine) looked(begun time.Time, err error) {
	if e.opts.Shared == nil {
		return
	}
	if err != nil || time.Since(begun) > e.opts.LeaseTTL/3 {
		e.lastAway.Store(new(time.Now()))
	}
}

// mayBeDriven reports whether a run without a lease may still have its engine, which
// could not renew it while the log was away.
func (e *Engine) mayBeDriven(head footnote.Stream) bool {
	at := e.lastAway.Load()
	return head.RunState == "running" && at != nil && time.Since(*at) < 2*e.opts.LeaseTTL
}
