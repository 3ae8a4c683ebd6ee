package agent

import (
	"context"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pause"
)

// conversation holds the state of this engine for one conversation: the turn that changes it, its run, and the messages
// in its queue. The first use creates it; it is deleted when nothing uses it any more.
type conversation struct {
	id       string
	changing chan struct{} // has one value while a turn changes the conversation; see lock
	line     chan struct{} // has one value while a message is at the head of the queue; see queue

	// Engine.mu guards what follows.
	users     int           // turns that change the conversation or wait to do so
	queued    int           // messages in the queue, the head included
	run       *run          // the run that this engine drives, or nil
	abandoned *abandonedRun // the run that gave up, or nil
}

// abandonedRun is a run that this engine gave up, because the store was unavailable for too long or refused its
// events.
type abandonedRun struct {
	run   string
	lease int64
	err   error // why the store refused the events; nil: it was unavailable
}

// conversation returns the conversation with the given id, and creates it if it is not in use yet. e.mu must be held.
func (e *Engine) conversation(id string) *conversation {
	c := e.conversations[id]
	if c == nil {
		c = &conversation{id: id, changing: make(chan struct{}, 1), line: make(chan struct{}, 1)}
		e.conversations[id] = c
	}
	return c
}

// deleteUnused deletes a conversation that nothing uses any more. e.mu must be held.
func (e *Engine) deleteUnused(c *conversation) {
	if c.users == 0 && c.run == nil && c.abandoned == nil {
		delete(e.conversations, c.id)
	}
}

// use keeps a conversation in e.conversations until release is called.
func (e *Engine) use(id string) (c *conversation, release func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c = e.conversation(id)
	c.users++
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		c.users--
		e.deleteUnused(c)
	}
}

// enterOne waits, in order of arrival, until it can put a value into a channel of capacity one. leave takes it out
// again.
func enterOne(ctx context.Context, c chan struct{}) (leave func(), err error) {
	select {
	case c <- struct{}{}:
		return func() { <-c }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// lock keeps other turns from changing a conversation until unlock is called. It waits until ctx ends. A client's name
// for a conversation and an account can also be locked.
func (e *Engine) lock(ctx context.Context, id string) (unlock func(), err error) {
	c, release := e.use(id)
	leave, err := enterOne(ctx, c.changing)
	if err != nil {
		release()
		return nil, err
	}
	return func() { leave(); release() }, nil
}

// maxQueued is the maximum number of messages that may wait for one conversation.
const maxQueued = 16

// queue waits until a message is at the head of the queue of a conversation. Calling leave admits the next one. The
// error's code is RateLimited when too many messages wait.
func (e *Engine) queue(ctx context.Context, id string) (leave func(), err error) {
	c, release := e.use(id)
	e.mu.Lock()
	full := c.queued > maxQueued
	if !full {
		c.queued++
	}
	e.mu.Unlock()
	if full {
		release()
		return nil, footnote.Errorf(footnote.RateLimited,
			"%d messages are already waiting for this conversation.", maxQueued)
	}
	gone := func() {
		e.mu.Lock()
		c.queued--
		e.mu.Unlock()
		release()
	}
	next, err := enterOne(ctx, c.line)
	if err != nil {
		gone()
		return nil, err
	}
	return func() { next(); gone() }, nil
}

// running returns the run of a conversation that this engine drives, or nil.
func (e *Engine) running(id string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.conversations[id]; c != nil {
		return c.run
	}
	return nil
}

// live returns the runs that this engine drives.
func (e *Engine) live() []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	var runs []*run
	for id, c := range e.conversations {
		if c.run != nil && c.run.stream == id { // otherwise id is a client's name for the conversation
			runs = append(runs, c.run)
		}
	}
	return runs
}

// Drives reports whether this engine drives a run of the conversation.
func (e *Engine) Drives(conversation string) bool { return e.running(conversation) != nil }

// setRun records the run of a conversation, or the run that opens the conversation with a client's name.
func (e *Engine) setRun(id string, r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conversation(id).run = r
}

// clearRun undoes setRun. If the run gave up, kept describes it.
func (e *Engine) clearRun(id string, r *run, kept *abandonedRun) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.conversations[id]
	if c == nil || c.run != r {
		return
	}
	c.run = nil
	if kept != nil {
		c.abandoned = kept
	}
	e.deleteUnused(c)
}

// opened returns the conversation that has the turn's name now. Its first event may not be in the log yet.
func (e *Engine) opened(ctx context.Context, t *Turn) (head footnote.Stream, found bool, err error) {
	if r := e.running(t.name()); t.Conversation == "" && r != nil && !r.w.broken() {
		return footnote.Stream{ID: r.stream}, true, nil
	}
	return e.find(ctx, t)
}

// name returns the key of the turn's ClientID in Engine.conversations, or empty if it has none. No stream or account
// has such a key.
func (t *Turn) name() string {
	if t.ClientID == "" {
		return ""
	}
	return "name\x00" + t.Principal.Org + "\x00" + t.Principal.User + "\x00" + t.ClientID
}

// launch starts a run. Its goroutine belongs to the engine, which the caller has entered.
func (e *Engine) launch(r *run) {
	e.relay(r)
	e.setRun(r.stream, r)
	e.work.Go(r.execute)
}

// over removes a run. A run that ended with an error of the store gave up, unless the error is a conflict, which means
// that another engine has the run.
func (e *Engine) over(r *run, err error) {
	e.clearRun(r.turn.name(), r, nil)
	if r.turn.admitted != nil {
		r.turn.admitted()
	}
	var kept *abandonedRun
	if err != nil && footnote.CodeOf(err) != footnote.Conflict {
		kept = &abandonedRun{run: r.id, lease: r.w.token()}
		if r.refused(err) {
			kept.err = err
			e.work.Go(func() {
				<-r.done
				e.lockAndSettle(context.WithoutCancel(e.ctx), r.stream)
			})
		}
	}
	e.clearRun(r.stream, r, kept)
}

// refused reports whether the log would refuse the events of the run again after the error err. A log that needs repair
// gets one more chance.
func (r *run) refused(err error) bool {
	return !isOutage(err) && (footnote.CodeOf(err) != footnote.StorageUnavailable || r.s.recoveries > 0)
}

// quiet returns the head of a stream in which nothing is running. The stream must
// be locked.
func (e *Engine) quiet(ctx context.Context, stream string) (footnote.Stream, error) {
	if r := e.running(stream); r != nil {
		if !r.ending() {
			return footnote.Stream{}, errBusy
		}
		if err := r.waitUntilOver(ctx); err != nil { // readers may see the end of a run before it is over
			return footnote.Stream{}, err
		}
	}
	if err := e.settle(ctx, stream); err != nil {
		return footnote.Stream{}, err
	}
	head, err := e.opts.Log.Get(ctx, stream)
	if err == nil && head.RunState == "running" {
		return head, errBusy
	}
	return head, err
}

// errBusy is returned for a message to a conversation that is still answering.
var errBusy error = footnote.Errorf(footnote.Conflict,
	"The conversation is still answering. Wait for the answer, or stop it.")

// waitForIdle waits until no engine drives a run of the conversation, or this engine stops.
func (e *Engine) waitForIdle(ctx context.Context, stream string) error {
	for {
		if r := e.running(stream); r != nil {
			select {
			case <-r.done:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		head, err := e.opts.Log.Get(ctx, stream)
		if footnote.CodeOf(err) == footnote.NotFound { // its first append has failed
			return nil
		}
		if err != nil || head.RunState != "running" || e.ctx.Err() != nil {
			return err
		}
		if err := pause.For(ctx, pollElsewhere); err != nil {
			return err
		}
	}
}

// load reads the log of a stream and computes its state.
func (e *Engine) load(ctx context.Context, head footnote.Stream) (*state, error) {
	return e.loadAfter(ctx, head, nil)
}

// loadAfter is load for a log whose first events have been read.
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

// spareEvents is the capacity added for the events of a short run.
const spareEvents = 16

// read returns the log of a stream. It reads only the events after begin, or after those in the recall cache.
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
