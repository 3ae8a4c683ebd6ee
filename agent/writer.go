package agent

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
)

// writer appends the events of one run, in order, while the run continues. Readers see an event once it is committed.
// While the log is unavailable, the writer retries. After any other failure it writes nothing more, and the run ends.
type writer struct {
	log        Log
	topic      *hub.Topic
	stream     footnote.Stream // as it was created; only used when fresh
	run, owner string
	ttl        time.Duration
	logger     *slog.Logger
	outage     *outage // of the run
	failed     func(error)

	mu    sync.Mutex // guards below
	fresh bool       // the stream does not exist yet
	last  int64      // sequence of the last event committed
	next  int64      // sequence of the next event put
	lease int64
	sure  time.Time // the newest time at which we certainly had the lease; see secure
	queue []write
	busy  bool
	idle  chan struct{} // closed when the writer has nothing to do
	down  error         // the error while the log is unavailable; nil: the log is available
	err   error
}

// write is one group of events that must be committed together.
type write struct {
	bodies  []footnote.Body
	blobs   map[footnote.Digest][]byte
	release bool
	outside bool // the events do not belong to the run
	held    bool // must be written together with the next events
	slots   hub.Pending
	settle  []footnote.Settle
}

// put queues events and returns the sequence of the first.
func (w *writer) put(blobs map[footnote.Digest][]byte, bodies ...footnote.Body) int64 {
	return w.enqueue(write{bodies: bodies, blobs: blobs}, true)
}

// hold queues events without writing them. They are written together with the next events.
func (w *writer) hold(settle []footnote.Settle, bodies ...footnote.Body) int64 {
	return w.enqueue(write{bodies: bodies, settle: settle, held: true}, false)
}

// lateTime is how long events queued by later wait for further events.
const lateTime = 2 * time.Millisecond

// later queues events that others are likely to follow very soon. They are written together with those, or after
// lateTime.
func (w *writer) later(settle []footnote.Settle, bodies ...footnote.Body) int64 {
	seq := w.enqueue(write{bodies: bodies, settle: settle}, false)
	time.AfterFunc(lateTime, w.overdue)
	return seq
}

// overdue starts to write the events that have waited for lateTime, unless they are held. After the end of the run the
// queue is empty, because flush came first.
func (w *writer) overdue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.queue); !w.busy && n > 0 && !w.queue[n-1].held {
		w.start()
	}
}

// putOutside is put for events that do not belong to the run. It does nothing and returns false while events are held,
// which must stay together with the events that follow them.
func (w *writer) putOutside(settle []footnote.Settle, blobs map[footnote.Digest][]byte,
	bodies ...footnote.Body) (seq int64, ok bool) {
	w.mu.Lock()
	held := len(w.queue) > 0 && w.queue[len(w.queue)-1].held
	w.mu.Unlock()
	if held {
		return 0, false
	}
	return w.enqueue(write{bodies: bodies, blobs: blobs, settle: settle, outside: true}, true), true
}

// kick starts to write what is queued. It returns a channel that is closed when the writer has nothing to do.
func (w *writer) kick() (busy bool, idle <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.busy && len(w.queue) > 0 {
		w.start()
	}
	return w.busy, w.idle
}

// end puts the last events of the run and releases the lease with them.
func (w *writer) end(settle []footnote.Settle, bodies ...footnote.Body) int64 {
	return w.enqueue(write{bodies: bodies, settle: settle, release: true}, true)
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

// drain writes queued events until the queue is empty. Every run calls flush before it ends, which waits for drain.
func (w *writer) drain() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 || w.err != nil {
			w.busy = false
			close(w.idle)
			w.mu.Unlock()
			return
		}
		batch := w.batch()
		a := w.request(batch)
		fresh := w.fresh
		w.mu.Unlock()

		events, begun, err := w.append(a, fresh)
		w.done(batch, a, begun, events, err)
	}
}

// append makes one append, and retries while the log is unavailable. It does not retry the first events of a new run,
// because a person waits for them and can ask again. It returns a time at which we certainly had the lease.
func (w *writer) append(a footnote.Append, fresh bool) (events []footnote.Event, begun time.Time, err error) {
	a.ID = rand.Int64()
	begun = time.Now()
	tries := w.outage.attempts()
	for first := true; ; first = false {
		tried := time.Now()
		if events, err = w.attempt(a, fresh, first); !isOutage(err) {
			w.outage.over()
		}
		if !isOutage(err) || a.Take != nil {
			return events, begun, err
		}
		w.noteOutage(err)
		if !tries.wait(context.Background(), tried) {
			return events, begun, err
		}
	}
}

// noteOutage records and logs that the log is unavailable.
func (w *writer) noteOutage(err error) {
	w.mu.Lock()
	known := w.down != nil
	w.down = err
	w.mu.Unlock()
	if !known {
		w.logger.Warn("the log is unavailable; the run is waiting", "err", err)
	}
}

// attempt writes once. The deadline of the run does not apply, because events must be recorded even if the run was
// cancelled.
func (w *writer) attempt(a footnote.Append, fresh, first bool) (events []footnote.Event, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	// A lease that seems lost may have been released by an earlier attempt whose response was lost.
	if err := w.secure(ctx); err != nil && (first || footnote.CodeOf(err) != footnote.Conflict) {
		return nil, timeoutAsOutage(ctx, err)
	}
	if fresh {
		events, err = w.log.CreateAppend(ctx, w.stream, a)
		return events, timeoutAsOutage(ctx, err)
	}
	events, err = w.log.Append(ctx, a)
	if a.Lease != 0 && footnote.CodeOf(err) == footnote.Conflict {
		// A crash of the store may have undone the newest renewal. Unless another engine has
		// taken the lease since, it can be renewed.
		switch renewal := w.renew(ctx, a.Lease); {
		case renewal == nil:
			events, err = w.log.Append(ctx, a)
		case footnote.CodeOf(renewal) != footnote.Conflict:
			err = renewal
		}
	}
	return events, timeoutAsOutage(ctx, err)
}

// writeTime is how long a write may take.
const writeTime = 30 * time.Second

// batch removes from the queue the writes that can be committed together. w.mu must be held.
func (w *writer) batch() []write {
	n := 1
	for n < len(w.queue) && w.queue[n].outside == w.queue[0].outside {
		n++
	}
	batch := w.queue[:n:n]
	if w.queue = w.queue[n:]; len(w.queue) == 0 {
		w.queue = nil
	}
	return batch
}

// request returns the append for a batch. w.mu must be held.
func (w *writer) request(batch []write) footnote.Append {
	a := footnote.Append{Stream: w.stream.ID, After: w.last, Lease: w.lease, Run: w.run}
	if batch[0].outside {
		a.Run = ""
	}
	if w.lease == 0 {
		a.Take = &footnote.Take{Owner: w.owner, TTL: w.ttl}
	}
	for _, q := range batch {
		a.Bodies = append(a.Bodies, q.bodies...)
		a.Release = a.Release || q.release
		a.Settle = append(a.Settle, q.settle...)
		for d, b := range q.blobs {
			put(&a.Blobs, d, b)
		}
	}
	return a
}

func (w *writer) done(batch []write, a footnote.Append, begun time.Time, events []footnote.Event, err error) {
	w.mu.Lock()
	w.down = nil
	if err != nil {
		if a.Lease != 0 && footnote.CodeOf(err) == footnote.Conflict {
			err = &footnote.Error{Code: footnote.Conflict, Message: msgTakenOver, Err: err}
		}
		w.err = err
		w.mu.Unlock()
		w.topic.Fail(err)
		w.failed(err)
		return
	}
	w.fresh = false
	if a.Take != nil {
		w.lease, w.sure = a.After+1, begun
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

// flush waits until all queued events are committed, and returns the error if they cannot be.
func (w *writer) flush() error {
	for {
		busy, idle := w.kick()
		if !busy {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.err
		}
		<-idle // drain ends by its own deadlines
	}
}

// stored is flush for callers that do not wait while the log is unavailable. Their events are still written once it is
// back.
func (w *writer) stored(ctx context.Context) error {
	for {
		busy, idle := w.kick()
		if !busy {
			return w.flush()
		}
		if err := w.await(ctx, idle); err != nil {
			return err
		}
	}
}

// await waits until done is closed. While the log is unavailable it returns the log's error at once.
func (w *writer) await(ctx context.Context, done <-chan struct{}) error {
	look := time.NewTicker(pollElsewhere)
	defer look.Stop()
	for {
		if err := w.outageErr(); err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
}

// reached waits, like stored, until the event with sequence seq is committed.
func (w *writer) reached(ctx context.Context, seq int64) error {
	if w.seen() >= seq {
		return nil
	}
	return w.stored(ctx)
}

// outageErr returns the error while the log is unavailable, or nil.
func (w *writer) outageErr() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.down
}

// start starts drain. w.mu must be held.
func (w *writer) start() {
	if w.err != nil {
		w.queue = nil // these events will never be written or shown
		return
	}
	w.busy = true
	w.idle = make(chan struct{})
	go w.drain()
}

// seen returns the sequence of the last event committed.
func (w *writer) seen() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// took records that events were written before the writer was used, and that the lease was taken with them, unless it
// was released at once.
func (w *writer) took(begun time.Time, events int, released bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh = false
	if w.sure = begun; !released {
		w.lease = w.last + 1
	}
	w.last += int64(events)
	w.next = w.last + 1
}

// renew extends the lease.
func (w *writer) renew(ctx context.Context, token int64) error {
	begun := time.Now()
	err := w.log.Renew(ctx, w.stream.ID, token, w.ttl)
	if err == nil {
		w.mu.Lock()
		w.sure = begun
		w.mu.Unlock()
	}
	return timeoutAsOutage(ctx, err)
}

// secure renews a lease that may have expired unnoticed, because the process or the store stood still. If another
// engine has taken the lease since, the error's code is Conflict.
func (w *writer) secure(ctx context.Context) error {
	w.mu.Lock()
	token, late := w.lease, time.Since(w.sure) > w.ttl*2/3
	w.mu.Unlock()
	if token == 0 || !late {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return w.renew(ctx, token)
}

// token returns the lease in force, or 0.
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
