package agent

import (
	"context"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
)

// writer appends the events of one run, in order, while the run goes on. What is
// put is shown to readers when it has been committed. The first failure ends the
// run: nothing after it is written.
type writer struct {
	log    Log
	topic  *hub.Topic
	stream footnote.Stream // as it was created; only used when fresh
	run    string
	owner  string
	ttl    time.Duration
	failed func(error)

	mu    sync.Mutex // guards below
	fresh bool       // the stream does not exist yet
	last  int64      // sequence of the last event committed
	next  int64      // sequence of the next event put
	lease int64
	queue []write
	busy  bool
	idle  chan struct{} // closed when the writer has nothing to do
	err   error
}

// write is one group of events that must be committed together.
type write struct {
	bodies  []footnote.Body
	blobs   map[footnote.Digest][]byte
	release bool
	slots   hub.Pending
}

// put queues events and returns the sequence of the first.
func (w *writer) put(blobs map[footnote.Digest][]byte, bodies ...footnote.Body) int64 {
	return w.enqueue(write{bodies: bodies, blobs: blobs}, true)
}

// hold is put, without starting to write: what is put next goes with it.
func (w *writer) hold(bodies ...footnote.Body) int64 {
	return w.enqueue(write{bodies: bodies}, false)
}

// kick starts to write what is held.
func (w *writer) kick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.busy && len(w.queue) > 0 {
		w.start()
	}
}

// end puts the last events of the run and gives the lease back with them.
func (w *writer) end(bodies ...footnote.Body) int64 {
	return w.enqueue(write{bodies: bodies, release: true}, true)
}

func (w *writer) enqueue(q write, start bool) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	seq := w.next
	w.next += int64(len(q.bodies))
	q.slots = w.topic.Reserve(len(q.bodies))
	w.queue = append(w.queue, q)
	if start && !w.busy {
		w.start()
	}
	return seq
}

// drain writes what is queued until nothing is. Its owner is flush, which every
// run calls before it ends.
func (w *writer) drain() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 || w.err != nil {
			w.busy = false
			close(w.idle)
			w.mu.Unlock()
			return
		}
		batch := w.queue
		w.queue = nil
		a := w.request(batch)
		fresh := w.fresh
		w.mu.Unlock()

		// Without the run's own deadline: what happened must be recorded also
		// when the run has been cancelled.
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		var events []footnote.Event
		var err error
		if fresh {
			events, err = w.log.CreateAppend(ctx, w.stream, a)
		} else {
			events, err = w.log.Append(ctx, a)
		}
		if err != nil && ctx.Err() != nil {
			err = &footnote.Error{Code: footnote.StorageUnavailable, Message: "The store does not answer.", Err: err}
		}
		cancel()
		w.done(batch, a, events, err)
	}
}

// request is the append for a batch. w.mu must be held.
func (w *writer) request(batch []write) footnote.Append {
	a := footnote.Append{Stream: w.stream.ID, After: w.last, Lease: w.lease, Run: w.run}
	if w.lease == 0 {
		a.Take = &footnote.Take{Owner: w.owner, TTL: w.ttl}
	}
	for _, q := range batch {
		a.Bodies = append(a.Bodies, q.bodies...)
		a.Release = a.Release || q.release
		for d, b := range q.blobs {
			if a.Blobs == nil {
				a.Blobs = map[footnote.Digest][]byte{}
			}
			a.Blobs[d] = b
		}
	}
	return a
}

func (w *writer) done(batch []write, a footnote.Append, events []footnote.Event, err error) {
	w.mu.Lock()
	if err != nil {
		w.err = err
		w.mu.Unlock()
		w.topic.Fail(err)
		w.failed(err)
		return
	}
	w.fresh = false
	if a.Take != nil {
		w.lease = a.After + 1
	}
	if a.Release {
		w.lease = 0
	}
	w.last += int64(len(events))
	w.mu.Unlock()
	for _, q := range batch {
		n := len(q.bodies)
		q.slots.Committed(events[:n:n])
		events = events[n:]
	}
}

// flush waits until everything put so far has been committed, and returns why it
// could not be.
func (w *writer) flush() error {
	for {
		w.mu.Lock()
		if !w.busy && len(w.queue) > 0 {
			w.start()
		}
		busy, idle, err := w.busy, w.idle, w.err
		w.mu.Unlock()
		if !busy {
			return err
		}
		<-idle // drain ends by its own deadlines
	}
}

// start lets drain write what is queued. w.mu must be held.
func (w *writer) start() {
	if w.err != nil {
		w.queue = nil // never to be written; its places stay invisible
		return
	}
	w.busy = true
	w.idle = make(chan struct{})
	go w.drain()
}

// seen is the sequence of the last event committed.
func (w *writer) seen() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// token is the lease in force, or 0.
func (w *writer) token() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lease
}

// broken reports whether an append has failed.
func (w *writer) broken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil
}
