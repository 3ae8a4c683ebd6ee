package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pause"
)

// Shared extends Log for several engines on one log. The engine that drives a run has its
// lease; when it dies, another one takes the run over.
type Shared interface {
	// AskStop asks the engine that drives a run to stop it.
	AskStop(ctx context.Context, stream, run, by string) error
	// StopsAsked returns the runs under leases of owner that were asked to stop; with
	// an empty owner, those without a lease.
	StopsAsked(ctx context.Context, owner string) ([]footnote.StopAsked, error)
	// Ping reports whether the log can be written.
	Ping(ctx context.Context) error
}

// Intervals of engines that share a log. A run whose engine died resumes within sharedTTL plus one recovery pause.
const (
	sharedTTL        = 6 * time.Second
	soleTTL          = 30 * time.Second
	soleRecoverPause = 5 * time.Second
	minRecoverPause  = time.Second
	maxRecoverPause  = 2 * time.Second
	stopsEvery       = 500 * time.Millisecond
	pollElsewhere    = 200 * time.Millisecond // between checks of a run that another engine drives
	// how long Append waits for such a run to park or end; a result also waits for the time limit of a tool
	elsewhereIn = 10 * time.Second
)

// msgTakenOver is shown to readers of a run that another engine has taken over.
const msgTakenOver = "Another server continues this answer. Reload the conversation to follow it."

// isHandedOver reports whether another engine will continue a run that a shutdown ended, because it still has
// readers.
func (r *run) isHandedOver(terminal footnote.Body) bool {
	end, ok := terminal.(footnote.RunStopped)
	return ok && end.By == byShutdown && r.e.opts.Shared != nil && r.s.started.OnDisconnect != Cancel
}

// handOver releases the lease without ending the run: the next engine that looks continues from the log. If that
// fails, it does so once the lease has expired.
func (r *run) handOver() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	if r.w.flush() != nil {
		return // the lease is lost, or the store is unavailable
	}
	if r.budget.calling {
		r.budget.reservation.Drop() // keep it otherwise, for the next engine of the run
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.e.opts.Log.Release(ctx, r.stream, r.w.token()); err != nil {
		r.log.Warn("cannot release the lease of a run; it will expire", "err", err)
	}
}

// renew extends the leases of the running runs. A run whose lease was taken by another engine ends.
func (e *Engine) renew() {
	ctx, cancel := context.WithTimeout(e.ctx, e.opts.LeaseTTL)
	defer cancel()
	var renewals sync.WaitGroup
	slots := make(chan struct{}, renewAtOnce)
	for _, r := range e.live() {
		token := r.w.token()
		if token == 0 {
			continue
		}
		slots <- struct{}{}
		renewals.Go(func() {
			defer func() { <-slots }()
			err := r.w.renew(ctx, token)
			if footnote.CodeOf(err) == footnote.Conflict && r.w.token() == token {
				r.cancel(fmt.Errorf("lease lost: %w", err))
			}
		})
	}
	renewals.Wait()
}

// renewAtOnce is the number of leases renewed concurrently, so that renewing many leases in a slow store does not take
// longer than a lease lasts.
const renewAtOnce = 8

// followStops stops the runs that other engines were asked to stop.
func (e *Engine) followStops() {
	if len(e.live()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, 5*time.Second)
	defer cancel()
	asked, err := e.opts.Shared.StopsAsked(ctx, e.opts.Owner)
	if err != nil && e.ctx.Err() == nil {
		e.opts.Logger.WarnContext(ctx, "cannot read stop requests from other servers", "err", err)
	}
	for _, a := range asked {
		if r := e.running(a.Stream); r != nil && r.id == a.Run {
			r.cancel(stopped{a.By})
		}
	}
}

// stopParked stops the runs that parked before their engine saw the request to stop them.
func (e *Engine) stopParked(ctx context.Context) error {
	asked, err := e.opts.Shared.StopsAsked(ctx, "")
	for _, a := range asked {
		err = errors.Join(err, e.Stop(ctx, a.Stream, a.By))
	}
	return err
}

// elsewhere returns the head of a stream, and whether another engine drives its run.
func (e *Engine) elsewhere(ctx context.Context, stream string) (head footnote.Stream, yes bool, err error) {
	if e.opts.Shared == nil || e.Drives(stream) {
		return head, false, nil
	}
	head, err = e.opts.Log.Get(ctx, stream)
	return head, err == nil && head.RunState == "running" && !e.Drives(stream), err
}

// stopElsewhere asks the engine that drives the run of a stream to stop it.
func (e *Engine) stopElsewhere(ctx context.Context, stream, by string) (done bool, err error) {
	head, yes, err := e.elsewhere(ctx, stream)
	if footnote.CodeOf(err) == footnote.NotFound {
		return true, nil
	}
	if err != nil || !yes {
		return err != nil, err
	}
	return true, e.opts.Shared.AskStop(ctx, stream, head.Run, by)
}

// awaitElsewhere waits up to patience until no other engine drives a run of the stream, because the run has parked or
// ended. The stream must not be locked.
func (e *Engine) awaitElsewhere(ctx context.Context, stream string, patience time.Duration) error {
	for end := time.Now().Add(patience); ; {
		_, yes, err := e.elsewhere(ctx, stream)
		switch {
		case err != nil || !yes:
			return err
		case time.Now().After(end):
			return errBusy
		}
		if err := pause.For(ctx, pollElsewhere); err != nil {
			return err
		}
	}
}

// raced reports whether another engine wrote first.
func (e *Engine) raced(err error) bool {
	return e.opts.Shared != nil && footnote.CodeOf(err) == footnote.Conflict
}
