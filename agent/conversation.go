package agent

import (
	"context"
	"slices"

	"github.com/footnotehq/footnote"
)

// clientKey is how a client names a conversation.
type clientKey struct{ org, user, id string }

// streamLock lets one turn at a time change a stream from outside of its run.
type streamLock struct {
	held chan struct{} // has one value while somebody holds the lock
	refs int
}

// lock keeps other turns from changing a stream until unlock is called. It waits
// for them at most as long as ctx lasts.
func (e *Engine) lock(ctx context.Context, stream string) (unlock func(), err error) {
	e.mu.Lock()
	l := e.locks[stream]
	if l == nil {
		l = &streamLock{held: make(chan struct{}, 1)}
		e.locks[stream] = l
	}
	l.refs++
	e.mu.Unlock()
	leave := func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if l.refs--; l.refs == 0 {
			delete(e.locks, stream)
		}
	}
	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

func (e *Engine) running(stream string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[stream]
}

func (e *Engine) live() []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	runs := make([]*run, 0, len(e.runs))
	for _, r := range e.runs {
		runs = append(runs, r)
	}
	return runs
}

// Drives reports whether a run of the conversation goes on in this engine.
func (e *Engine) Drives(conversation string) bool { return e.running(conversation) != nil }

// opened returns the conversation that has the turn's name by now. Its first event may still be on its way to the log.
func (e *Engine) opened(ctx context.Context, t *Turn) (head footnote.Stream, found bool, err error) {
	e.mu.Lock()
	r := e.opening[t.name()]
	e.mu.Unlock()
	if r != nil && !r.w.broken() {
		return footnote.Stream{ID: r.stream}, true, nil
	}
	return e.find(ctx, t)
}

// claim records which run opens the conversation with a client's name, until that run is over. The name must be locked.
func (e *Engine) claim(r *run) {
	if r.turn.ClientID == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opening[r.turn.name()] = r
}

func (e *Engine) unclaim(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if key := r.turn.name(); e.opening[key] == r {
		delete(e.opening, key)
	}
}

// name is how the turn's client names the conversation.
func (t *Turn) name() clientKey {
	return clientKey{t.Principal.Org, t.Principal.User, t.ClientID}
}

// String returns a key for Engine.lock, which no stream's id can be.
func (k clientKey) String() string { return k.org + "\x00" + k.user + "\x00" + k.id }

// launch starts a run. Its goroutine belongs to the engine, which the caller has entered.
func (e *Engine) launch(r *run) {
	e.relay(r)
	e.mu.Lock()
	e.runs[r.stream] = r
	e.mu.Unlock()
	e.work.Go(r.execute)
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

// orphan is a run of this engine that gave up, because the store was away for too long or
// refused its events.
type orphan struct {
	run   string
	lease int64
	err   error // why they can never be written; nil: the store was away
}

func (e *Engine) isOrphan(stream string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.orphans[stream]
	return ok
}

// quiet returns the head of a stream in which nothing is running. The stream must
// be locked.
func (e *Engine) quiet(ctx context.Context, stream string) (footnote.Stream, error) {
	if r := e.running(stream); r != nil {
		if !r.ending() {
			return footnote.Stream{}, busy()
		}
		if err := r.waitUntilOver(ctx); err != nil { // its readers may have seen its end before it is over
			return footnote.Stream{}, err
		}
	}
	if err := e.settleOrphan(ctx, stream); err != nil {
		return footnote.Stream{}, err
	}
	head, err := e.opts.Log.Get(ctx, stream)
	if err == nil && head.RunState == "running" {
		return head, busy()
	}
	return head, err
}

func busy() error {
	return footnote.Errorf(footnote.Conflict, "The conversation is still answering. Wait for the answer, or stop it.")
}

// load folds the log of a stream.
func (e *Engine) load(ctx context.Context, head footnote.Stream) (*state, error) {
	return e.loadAfter(ctx, head, nil)
}

// loadAfter is load for a log whose beginning has been read.
func (e *Engine) loadAfter(ctx context.Context, head footnote.Stream, begin []footnote.Event) (*state, error) {
	log, err := e.read(ctx, head.ID, begin)
	if err != nil {
		return nil, err
	}
	s := &state{events: make([]footnote.Event, 0, len(log)+spareEvents)}
	for _, ev := range log {
		s.apply(ev)
	}
	s.agree(head)
	return s, nil
}

// spareEvents is room for the events of a short run after those of the log.
const spareEvents = 16

// read returns the log of a stream. It reads only what comes after begin, or after what was read a moment ago.
func (e *Engine) read(ctx context.Context, stream string, begin []footnote.Event) ([]footnote.Event, error) {
	log, last := begin, int64(0)
	if log == nil {
		log = e.recall.get(stream)
	}
	if n := len(log); n > 0 {
		last = log[n-1].Seq
	}
	log = slices.Clip(log)
	for ev, err := range e.opts.Log.Events(ctx, stream, last) {
		if err != nil {
			return nil, err
		}
		log = append(log, ev)
	}
	e.recall.put(stream, log)
	return log, nil
}
