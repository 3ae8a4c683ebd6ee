package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
)

// A store can be unavailable for a moment: its database restarts, or its disk is full. That does not end a run. The
// writer of the run keeps the events and retries, while the model continues; readers see only stored events.
// Reservations and reads also retry. After Options.Outage the readers get an error, and the run continues from the log
// once the store is back: see settle.

const (
	outageTime    = 2 * time.Minute
	firstPause    = 50 * time.Millisecond // between two attempts; doubled each time
	longestPause  = time.Second
	shutdownTries = 5 * time.Second // how long a writer still retries when the engine shuts down
)

// msgNoAnswer is the message of the error after a timeout of the store.
const msgNoAnswer = "The store does not answer."

// isOutage reports whether an error says that the store is unavailable and may soon be back.
func isOutage(err error) bool {
	e, ok := errors.AsType[*footnote.Error](err)
	return ok && e.Code == footnote.StorageUnavailable && e.RetryAfter > 0
}

// timeoutAsOutage returns err, or an error for which isOutage is true if ctx has ended.
func timeoutAsOutage(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return &footnote.Error{
			Code: footnote.StorageUnavailable, Message: msgNoAnswer, RetryAfter: longestPause, Err: err,
		}
	}
	return err
}

// outage measures how long the store has been unavailable. All operations of a run share one outage, so that the run
// gives up after limit in total, and not after limit for each operation.
type outage struct {
	limit  time.Duration
	ending <-chan struct{} // closed when the engine shuts down

	mu    sync.Mutex // guards below
	since time.Time  // zero: the store is available
}

// start returns the time since which the store has been unavailable. noticed is a time at which it was unavailable.
func (o *outage) start(noticed time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.since = noticed
	}
	return o.since
}

// over records that the store is available.
func (o *outage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.since = time.Time{}
}

// attempts paces the retries of one operation while the store is unavailable.
type attempts struct {
	outage *outage
	end    time.Time // time of the last attempt; zero: no outage so far
	pause  time.Duration
	short  bool // end was brought forward, because the engine shuts down
}

func (o *outage) attempts() *attempts { return &attempts{outage: o, pause: firstPause} }

// wait waits until the next attempt, and reports whether to make it. noticed is a time at which the store was
// unavailable.
func (a *attempts) wait(ctx context.Context, noticed time.Time) bool {
	if a.end.IsZero() {
		a.end = a.outage.start(noticed).Add(a.outage.limit)
	}
	if !time.Now().Add(a.pause).Before(a.end) {
		return false
	}
	ending := a.outage.ending
	if a.short {
		ending = nil
	}
	timer := time.NewTimer(a.pause)
	defer timer.Stop()
	a.pause = min(2*a.pause, longestPause)
	select {
	case <-timer.C:
		return true
	case <-ending:
		a.short = true
		if end := time.Now().Add(shutdownTries); end.Before(a.end) {
			a.end = end
		}
		return true
	case <-ctx.Done():
		return false
	}
}

// retryDuringOutage calls do until its error no longer says that the store is unavailable, or the outage has lasted too
// long. An outage begins when do returns, because do may work or wait for long before it uses the store.
func (r *run) retryDuringOutage(ctx context.Context, do func() error) error {
	tries := r.outage.attempts()
	for {
		err := do()
		if isOutage(err) && tries.wait(ctx, time.Now()) {
			continue
		}
		if !isOutage(err) && !tries.end.IsZero() {
			r.outage.over()
		}
		return err
	}
}

// reserve calls Budget.Reserve and retries while the store is unavailable. All attempts use the same reservation id.
func (r *run) reserve(c Spending) (h Reservation, err error) {
	err = r.retryDuringOutage(r.ctx, func() (err error) {
		h, err = r.e.opts.Budget.Reserve(r.ctx, r.turn.Principal, c)
		return err
	})
	return h, err
}

// waitUntilOver waits until a closed run is over. If the store is unavailable, which may last long, it returns the
// store's error at once.
func (r *run) waitUntilOver(ctx context.Context) error { return r.w.await(ctx, r.done) }
