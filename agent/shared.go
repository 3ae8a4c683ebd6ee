package agent

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"time"

	"github.com/footnotehq/footnote"
)

// Shared is what a log can do beyond Log when several engines use it. The engine
// that drives a run has its lease; when it dies, another one takes the run over.
type Shared interface {
	// AskStop asks whoever drives a run to stop it.
	AskStop(ctx context.Context, stream, run, by string) error
	// StopsAsked are the runs under leases of owner that somebody asked to stop; with
	// an empty owner, those that nobody has a lease of.
	StopsAsked(ctx context.Context, owner string) ([]footnote.StopAsked, error)
	// Ping reports whether the log can be written.
	Ping(ctx context.Context) error
}

// How an engine that shares its log keeps in touch with the others. A run whose
// owner died goes on after sharedTTL and one look at the log, at most.
const (
	sharedTTL     = 6 * time.Second
	soleTTL       = 30 * time.Second
	soleLook      = 5 * time.Second
	shortestLook  = time.Second
	longestLook   = 2 * time.Second
	heedStops     = 500 * time.Millisecond
	lookElsewhere = 200 * time.Millisecond // between looks at a run that another engine drives
	// how long a note waits for such a run to park or to end; an answer, also for a tool
	elsewhereIn = 10 * time.Second
)

// msgTakenOver is what readers are told of a run that another engine has taken over.
const msgTakenOver = "Another server goes on with this answer. Load the conversation again to follow it."

// look is the time to the next look for runs to recover. Engines that share a log
// look at different times, so that they rarely want the same run at once.
func (e *Engine) look() time.Duration {
	if e.opts.Shared == nil {
		return soleLook
	}
	return shortestLook + mathrand.N(longestLook-shortestLook)
}

// heed stops the runs that somebody asked another engine to stop.
func (e *Engine) heed() {
	tick := time.NewTicker(heedStops)
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			if len(e.live()) > 0 {
				e.heedOnce()
			}
		}
	}
}

func (e *Engine) heedOnce() {
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

// stopParked stops the runs that parked before their engine heeded that somebody
// asked to stop them.
func (e *Engine) stopParked(ctx context.Context) error {
	asked, err := e.opts.Shared.StopsAsked(ctx, "")
	for _, a := range asked {
		err = errors.Join(err, e.Stop(ctx, a.Stream, a.By))
	}
	return err
}

// Drives reports whether a run of the conversation goes on in this engine.
func (e *Engine) Drives(conversation string) bool { return e.running(conversation) != nil }

// elsewhere is the head of a stream whose run another engine drives, if it is so.
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

// awaitElsewhere waits until no other engine drives a run of the stream, but not
// longer than patience: it is about to park, or to end. The stream must not be locked.
func (e *Engine) awaitElsewhere(ctx context.Context, stream string, patience time.Duration) error {
	for end := time.Now().Add(patience); ; {
		_, yes, err := e.elsewhere(ctx, stream)
		switch {
		case err != nil || !yes:
			return err
		case time.Now().After(end):
			return busy()
		}
		select {
		case <-time.After(lookElsewhere):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// answerElsewhere looks at answers for a run that another engine drives. What brings
// nothing new, or does not fit, is told at once; for anything else the run must park
// first, which is waited for.
func (e *Engine) answerElsewhere(ctx context.Context, stream string, t Turn) (Ticket, error) {
	head, yes, err := e.elsewhere(ctx, stream)
	if err != nil || !yes {
		return Ticket{}, err
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return Ticket{}, err
	}
	a, err := e.assistant(t.Principal, t.Assistant, s.opened.Assistant)
	if err == nil {
		err = e.mayGoOn(t.Principal, s)
	}
	if err != nil {
		return Ticket{}, err
	}
	fresh, err := s.check(a, t)
	if err != nil {
		e.withdraw(s.overruled(a, t, stream))
		return Ticket{}, err
	}
	if len(fresh.Answers)+len(fresh.Approvals) == 0 {
		return e.resume(ctx, e.newRun(head, a, s, t), fresh)
	}
	// Calls of ours may run beside the one that was answered.
	return Ticket{}, e.awaitElsewhere(ctx, stream, elsewhereIn+a.Limits.Tool)
}

// raced reports whether a write lost against that of another engine.
func (e *Engine) raced(err error) bool {
	return e.opts.Shared != nil && footnote.CodeOf(err) == footnote.Conflict
}

// takeOver goes on with a run that nothing drives, with events of which the first
// one takes its lease. The error's code is Conflict when another engine was
// quicker. The stream must be locked.
func (e *Engine) takeOver(ctx context.Context, head footnote.Stream, a *Assistant, s *state, recovered bool,
	bodies ...footnote.Body) error {
	r := e.newRun(head, a, s, ownTurn(head, s))
	r.recovered = recovered
	lost, settle, err := e.lost(ctx, head.ID, s, true)
	if err != nil {
		r.drop()
		return err
	}
	r.purse.unknown = len(settle) > 0
	bodies = append(lost, bodies...)
	r.mu.Lock()
	r.note(head.Last+1, bodies)
	err = r.first(ctx, footnote.Append{Bodies: bodies, Settle: settle})
	r.mu.Unlock()
	if err != nil {
		r.drop()
		return err
	}
	e.launch(r)
	return nil
}

// first writes the first events of a run that is not launched yet, and takes its
// lease, or gives it back at once. Readers here notice nothing when it fails, because
// another engine was quicker. r.mu must be held.
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
		return timeoutAsAway(ctx, err)
	}
	r.w.took(begun, len(events), a.Release)
	r.topic.Publish(events...)
	return nil
}

// leaves reports whether a run that a shutdown ended is left to another engine, which
// goes on with it, because somebody will still read it.
func (r *run) leaves(terminal footnote.Body) bool {
	end, ok := terminal.(footnote.RunStopped)
	return ok && end.By == byShutdown && r.e.opts.Shared != nil && r.s.started.OnDisconnect != Cancel
}

// handOver gives the lease back without an end: the next engine that looks goes on
// from the log. When that fails, it does so once the lease has expired.
func (r *run) handOver() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	if r.w.flush() != nil {
		return // nothing is ours any more, or the store is away
	}
	if r.purse.calling {
		r.purse.hold.Drop() // otherwise it is kept for who goes on
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.e.opts.Log.Release(ctx, r.stream, r.w.token()); err != nil {
		r.e.opts.Logger.Warn("the lease of a run was not given back; it expires", "conversation", r.stream, "run", r.id,
			"err", err)
	}
}

// tell lets other engines know what happens in a run that is about to be launched.
func (e *Engine) tell(r *run) {
	if r.untell = func() {}; e.opts.Tell == nil {
		return
	}
	var ctx context.Context
	ctx, r.untell = context.WithCancel(context.Background())
	rd, _ := e.opts.Hub.Subscribe(r.stream, r.w.seen())
	attempt := r.s.resumes
	e.work.Go(func() {
		defer rd.Close()
		e.opts.Tell(ctx, r.id, attempt, rd)
	})
}
