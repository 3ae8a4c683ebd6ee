// Package hub delivers the events of a stream to its live readers. A topic holds the events and growing
// blocks of the current run, and a reader is a position in it. A reader that falls behind therefore costs no
// memory and slows nobody down: when it comes back it gets everything it missed as one batch.
//
// An event becomes visible only when it has been committed, and nothing after it is visible before that. So a run can
// continue while its events are being written, and clients never see anything that could be lost.
package hub

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/footnotehq/footnote"
)

// ErrClosed is returned to readers when the hub has been closed.
var ErrClosed = errors.New("the hub is closed")

// Hub is the set of live topics. It is safe for concurrent use.
type Hub struct {
	mu     sync.Mutex // guards below
	topics map[string]*Topic
	closed bool
	open   int // readers
}

// New returns an empty hub.
func New() *Hub { return &Hub{topics: map[string]*Topic{}} }

// Topic is the live end of one stream.
type Topic struct {
	hub    *Hub
	stream string
	refs   int // readers and writers; guarded by hub.mu

	mu      sync.Mutex // guards below
	items   []item
	dropped int   // number of items dropped from the front
	visible int   // items[:visible] may be shown
	last    int64 // sequence number of the newest event before items[0]
	readers map[*Reader]struct{}
	closed  bool
	failed  error
}

// item is an event, a block or a note.
type item struct {
	event *footnote.Event
	block *block
	note  *footnote.Delta
}

// block is a growing block of a message. buf is append-only: readers keep slices of it.
type block struct {
	head  footnote.Delta
	buf   []byte
	ended bool
}

// Open returns the topic of a stream for a writer that has seen its events up to last. The caller must close
// it.
func (h *Hub) Open(stream string, last int64) *Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topic(stream)
	t.mu.Lock()
	if len(t.items) == 0 {
		t.last = last
	}
	t.mu.Unlock()
	return t
}

// topic returns the topic of a stream with one more reference. h.mu must be held.
func (h *Hub) topic(stream string) *Topic {
	t := h.topics[stream]
	if t == nil {
		t = &Topic{hub: h, stream: stream, last: -1, readers: map[*Reader]struct{}{}, closed: h.closed}
		h.topics[stream] = t
	}
	t.refs++
	return t
}

func (h *Hub) release(t *Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.refs--
	if t.refs == 0 && h.topics[t.stream] == t {
		delete(h.topics, t.stream)
	}
}

// Readers returns the number of open readers.
func (h *Hub) Readers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// Close ends all readers: they get all visible items, then ErrClosed.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	topics := slices.Collect(maps.Values(h.topics))
	h.mu.Unlock()
	for _, t := range topics {
		t.mu.Lock()
		t.closed = true
		t.wake()
		t.mu.Unlock()
	}
}

// Close ends the writer's use of the topic. Readers can still read the rest.
func (t *Topic) Close() { t.hub.release(t) }

// Trim drops the items of a finished run that no reader needs any more.
func (t *Topic) Trim() {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.visible
	for r := range t.readers {
		n = min(n, r.at-t.dropped)
	}
	for i := range n {
		if ev := t.items[i].event; ev != nil {
			t.last = ev.Seq
		}
		t.items[i] = item{}
	}
	t.items = t.items[n:]
	t.dropped += n
	t.visible -= n
}

// Pending is a reservation for events that are being written. They, and everything added after them, stay
// invisible until Committed is called.
type Pending struct {
	t    *Topic
	slot []int // absolute item numbers
}

// Reserve reserves n places for events that are about to be committed.
func (t *Topic) Reserve(n int) Pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := Pending{t: t, slot: make([]int, n)}
	for i := range n {
		p.slot[i] = t.dropped + len(t.items)
		t.items = append(t.items, item{})
	}
	return p
}

// Committed fills the reserved places and shows everything they held back. Reservations must be committed in
// the order in which they were made.
func (p Pending) Committed(events []footnote.Event) {
	t := p.t
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range events {
		t.items[p.slot[i]-t.dropped].event = &events[i]
	}
	t.show()
	t.wake()
}

// show makes items visible up to the next reserved place. t.mu must be held.
func (t *Topic) show() {
	for t.visible < len(t.items) && t.items[t.visible] != (item{}) {
		t.visible++
	}
}

// Publish adds committed events.
func (t *Topic) Publish(events ...footnote.Event) {
	items := make([]item, len(events))
	for i := range events {
		items[i].event = &events[i]
	}
	t.add(items...)
}

// Note adds a transient notice that is not part of a block.
func (t *Topic) Note(d footnote.Delta) { t.add(item{note: &d}) }

func (t *Topic) add(items ...item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.items = append(t.items, items...)
	t.show()
	t.wake()
}

// Block is a growing block of a message.
type Block struct {
	t *Topic
	b *block
}

// Start adds a growing block. Readers see it at the next Flush.
func (t *Topic) Start(head footnote.Delta) Block {
	head.Op = footnote.BlockStarted
	b := &block{head: head}
	t.mu.Lock()
	t.items = append(t.items, item{block: b})
	t.mu.Unlock()
	return Block{t: t, b: b}
}

// Grow appends to the block. Readers see it at the next Flush.
func (b Block) Grow(escaped []byte) {
	b.t.mu.Lock()
	b.b.buf = append(b.b.buf, escaped...)
	b.t.mu.Unlock()
}

// End closes the block. Readers see it at the next Flush.
func (b Block) End() {
	b.t.mu.Lock()
	b.b.ended = true
	b.t.mu.Unlock()
}

// Flush shows what was added to blocks. If the topic has a single reader, which waits and is Direct, Flush delivers the
// piece itself; otherwise it wakes the readers once.
func (t *Topic) Flush() {
	t.mu.Lock()
	t.show()
	r, piece := t.waiting()
	if r == nil {
		t.wake()
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	if !r.direct(piece) {
		r.handedOver = true
		r.wake()
	}
	r.use.Unlock()
}

// waiting returns the only reader, with its use locked, and the next piece for it. It returns nil if there are several
// readers, if the reader is not waiting or not direct, or if it needs more than a piece of a growing block. t.mu must
// be held.
func (t *Topic) waiting() (*Reader, footnote.Delta) {
	if len(t.readers) != 1 {
		return nil, footnote.Delta{}
	}
	for r := range t.readers {
		if r.direct == nil || !r.use.TryLock() {
			break
		}
		if !r.handedOver { // otherwise its goroutine has to go on first
			if piece, ok := r.piece(); ok {
				return r, piece
			}
		}
		r.use.Unlock()
	}
	return nil, footnote.Delta{}
}

// Fail tells the readers, after everything visible, that the stream could not be written. Reserved places
// stay invisible.
func (t *Topic) Fail(err error) {
	t.hub.mu.Lock()
	if t.hub.topics[t.stream] == t {
		delete(t.hub.topics, t.stream) // the next run starts with a new topic
	}
	t.hub.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = err
	t.wake()
}

// wake notifies every reader. t.mu must be held.
func (t *Topic) wake() {
	for r := range t.readers {
		r.wake()
	}
}

// Reader is a position in a topic. It is not safe for concurrent use.
type Reader struct {
	t     *Topic
	woken chan struct{}
	at    int // absolute number of the next item; guarded by t.mu
	off   int // bytes read of the block at `at`
	begun bool
	after int64
	batch Batch

	direct     func(footnote.Delta) bool // nil: no; guarded by t.mu
	use        sync.Mutex                // of a direct reader: held by its goroutine, except while it waits
	handedOver bool                      // direct returned false; guarded by use
}

// Direct lets the writer of the topic deliver pieces of a growing block while the reader waits in Next, so that no
// goroutine has to wake up for them. It calls deliver with BlockGrew on the writer's goroutine, so deliver must not
// wait and must not call the reader. If deliver returns false, Next returns an empty batch, and the reader does what is
// left. Direct must be called before Next.
func (r *Reader) Direct(deliver func(footnote.Delta) bool) {
	r.use.Lock()
	r.t.mu.Lock()
	r.direct = deliver
	r.t.mu.Unlock()
}

func (r *Reader) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// Batch holds the entries that a reader has not seen yet, in order. It is valid until the next call of Next.
type Batch []Entry

// First returns the sequence number of the first event in the batch, or 0.
func (b Batch) First() int64 {
	for i := range b {
		if b[i].Event != nil {
			return b[i].Event.Seq
		}
	}
	return 0
}

// Entry is an event, or a delta if Event is nil.
type Entry struct {
	Event *footnote.Event
	Delta footnote.Delta
}

// Subscribe opens a reader of a stream for a client that has seen the events up to after, and with them the
// blocks before them. Events in (after, replay] are not in the topic: the caller must read them from the log
// first, call Skip, and then call Next. If the stream has no live topic, replay is -1: everything is in the
// log, and Next waits for a later run. The caller must close the reader.
func (h *Hub) Subscribe(stream string, after int64) (r *Reader, replay int64) {
	h.mu.Lock()
	t := h.topic(stream)
	h.open++
	h.mu.Unlock()
	r = &Reader{t: t, woken: make(chan struct{}, 1), after: after}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readers[r] = struct{}{}
	r.at = t.dropped + t.seen(after)
	return r, t.last
}

// seen returns the number of items that a client with the events up to seq has seen. t.mu must be held.
func (t *Topic) seen(seq int64) int {
	for n := t.visible; n > 0; n-- {
		if ev := t.items[n-1].event; ev != nil && ev.Seq <= seq {
			return n
		}
	}
	return 0
}

// Close closes the reader.
func (r *Reader) Close() {
	r.t.mu.Lock()
	delete(r.t.readers, r)
	r.t.mu.Unlock()
	r.t.hub.mu.Lock()
	r.t.hub.open--
	r.t.hub.mu.Unlock()
	r.t.hub.release(r.t)
}

// Skip records that the client has now seen the events up to seq.
func (r *Reader) Skip(seq int64) { r.after = max(r.after, seq) }

// Next waits until there is something the reader has not seen, and returns it. It returns an error when ctx
// ends (its cause), when the hub was closed (ErrClosed), or when the run's events could not be stored. A batch is empty
// only after Direct's deliver has returned false.
func (r *Reader) Next(ctx context.Context) (Batch, error) {
	for {
		batch, err := r.Take()
		if len(batch) > 0 {
			return batch, nil
		}
		if err != nil {
			return nil, err
		}
		if err := r.wait(ctx); err != nil {
			return nil, err
		}
		if r.handedOver {
			r.handedOver = false
			return nil, nil
		}
	}
}

// wait waits until the reader is woken. Meanwhile a direct reader can be used by the topic's writer.
func (r *Reader) wait(ctx context.Context) error {
	if r.direct != nil {
		r.use.Unlock()
		defer r.use.Lock()
	}
	select {
	case <-r.woken:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Take returns what the reader has not seen, without waiting. The error is the one that Next would return
// afterwards.
func (r *Reader) Take() (Batch, error) {
	t := r.t
	t.mu.Lock()
	defer t.mu.Unlock()
	r.batch = r.batch[:0]
	for r.at-t.dropped < t.visible {
		it := &t.items[r.at-t.dropped]
		switch {
		case it.event != nil:
			if it.event.Seq > r.after {
				r.after = it.event.Seq
				r.batch = append(r.batch, Entry{Event: it.event})
			}
		case it.note != nil:
			r.batch = append(r.batch, Entry{Delta: *it.note})
		case !r.block(it.block):
			return r.batch, t.end()
		}
		r.at, r.off, r.begun = r.at+1, 0, false
	}
	return r.batch, t.end()
}

// end returns the error after which the topic delivers nothing more, or nil. t.mu must be held.
func (t *Topic) end() error {
	if t.failed == nil && t.closed {
		return ErrClosed
	}
	return t.failed
}

// block adds the new part of a block, and reports whether the block has ended. t.mu must be held.
func (r *Reader) block(b *block) bool {
	if !r.begun {
		r.begun = true
		r.batch = append(r.batch, Entry{Delta: b.head})
	}
	if len(b.buf) > r.off {
		r.batch = append(r.batch, Entry{Delta: r.grown(b)})
	}
	if b.ended {
		d := b.head
		d.Op = footnote.BlockEnded
		r.batch = append(r.batch, Entry{Delta: d})
	}
	return b.ended
}

// piece returns what a growing block has gained, if that is all that the reader has not seen. t.mu must be held.
func (r *Reader) piece() (footnote.Delta, bool) {
	i := r.at - r.t.dropped
	if !r.begun || i != r.t.visible-1 {
		return footnote.Delta{}, false
	}
	b := r.t.items[i].block
	if b == nil || b.ended || len(b.buf) == r.off {
		return footnote.Delta{}, false
	}
	return r.grown(b), true
}

// grown returns the new part of a block. t.mu must be held.
func (r *Reader) grown(b *block) footnote.Delta {
	d := b.head
	d.Op, d.Escaped = footnote.BlockGrew, b.buf[r.off:len(b.buf):len(b.buf)]
	r.off = len(b.buf)
	return d
}
