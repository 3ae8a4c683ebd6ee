package board

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market/drawing"
)

// editTries limits how often a change is retried because another server was faster.
const editTries = 10

// writeTime limits how long an append may take.
const writeTime = 10 * time.Second

// errRaced makes edit retry a change.
var errRaced = errors.New("another server has changed the document meanwhile")

// use calls f with exclusive access to the document in its latest state.
func (b *Boards) use(ctx context.Context, p footnote.Principal, symbol string, f func(*entry) error) error {
	if err := drawing.CheckSymbol(symbol); err != nil {
		return err
	}
	id := StreamOf(p, symbol)
	e := b.enter(id)
	defer b.leave(e)
	select {
	case e.busy <- struct{}{}:
		defer func() {
			b.measure(e)
			<-e.busy
		}()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := b.refresh(ctx, e, p, symbol); err != nil {
		return err
	}
	return f(e)
}

func (b *Boards) enter(id string) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.known[id]
	if e == nil {
		e = &entry{busy: make(chan struct{}, 1)}
		b.known[id] = e
	}
	e.users++
	b.clock++
	e.used = b.clock
	return e
}

func (b *Boards) leave(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.users--
	b.evict()
}

// evict evicts the least recently used documents while all of them exceed the memory limit. b.mu must be held.
func (b *Boards) evict() {
	for b.bytes > b.opts.Memory {
		oldest, at := "", int64(0)
		for id, e := range b.known {
			if e.users == 0 && (oldest == "" || e.used < at) {
				oldest, at = id, e.used
			}
		}
		if oldest == "" {
			return // all are in use
		}
		b.bytes -= b.known[oldest].bytes
		delete(b.known, oldest)
	}
}

// countEvery is the number of changes after which the size of a document is computed again.
const countEvery = 64

// measure updates the size of a document. The caller must be using e.
func (b *Boards) measure(e *entry) {
	switch {
	case e.doc == nil:
		e.counted, e.size = 0, 0
	case e.size == 0 || e.doc.Version < e.counted || e.doc.Version >= e.counted+countEvery:
		e.counted, e.size = e.doc.Version, e.doc.Size()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes += e.size - e.bytes
	e.bytes = e.size
}

// refresh applies the log's new events to the document. If the stream was deleted, it starts over. It
// keeps what it has read at the deadline, so that several short calls can read a long history.
func (b *Boards) refresh(ctx context.Context, e *entry, p footnote.Principal, symbol string) error {
	id := StreamOf(p, symbol)
	head, err := b.opts.Log.Get(ctx, id)
	if footnote.CodeOf(err) == footnote.NotFound {
		e.doc, e.created = &drawing.Document{Symbol: symbol}, time.Time{}
		return nil
	}
	if err != nil {
		return err
	}
	if !p.Owner(head.Org, head.User) || !IsBoard(head) {
		return fmt.Errorf("the stream %s is not that of %s/%s", id, p.Org, p.User)
	}
	if e.doc == nil || !e.created.Equal(head.Created) || head.Last < e.doc.Version {
		e.doc = &drawing.Document{Symbol: symbol}
	}
	if e.created = head.Created; head.Last == e.doc.Version {
		return nil
	}
	for ev, err := range b.opts.Log.Events(ctx, id, e.doc.Version) {
		if err != nil {
			return err
		}
		if err := e.doc.Apply(ev); err != nil {
			e.doc = nil // read it again
			return err
		}
	}
	return nil
}

// earlier returns the change that a call has made, if any.
func earlier(doc *drawing.Document, c drawing.Cause) (res Changed) {
	if step, made := doc.StepOf(c); made {
		res = Changed{Version: doc.Version, Changes: doc.Step(step), Repeated: true}
	}
	return res
}

// edit makes a change, once per call id.
func (b *Boards) edit(ctx context.Context, p footnote.Principal, symbol string, c drawing.Cause,
	f func(*drawing.Document) ([]footnote.DrawingChanged, error)) (res Changed, err error) {
	for range editTries {
		err = b.use(ctx, p, symbol, func(e *entry) error {
			if res = earlier(e.doc, c); res.Repeated {
				return nil
			}
			bodies, err := f(e.doc)
			if err != nil {
				return err
			}
			before := e.doc.Version
			if err := b.append(ctx, e, p, bodies); err != nil {
				return err
			}
			res = Changed{Version: e.doc.Version, Changes: e.doc.Since(before)}
			return nil
		})
		if !errors.Is(err, errRaced) {
			return res, err
		}
	}
	return res, footnote.Errorf(footnote.Conflict, "The drawings change too fast. Try again.")
}

// append writes the events of a change, applies them and notifies readers.
func (b *Boards) append(ctx context.Context, e *entry, p footnote.Principal, bodies []footnote.DrawingChanged) error {
	if len(bodies) == 0 {
		return nil
	}
	id := StreamOf(p, e.doc.Symbol)
	a := footnote.Append{Stream: id, After: e.doc.Version}
	for _, body := range bodies {
		a.Bodies = append(a.Bodies, body)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	var events []footnote.Event
	var err error
	if e.created.IsZero() {
		events, err = b.opts.Log.CreateAppend(ctx, footnote.Stream{
			ID: id, Kind: "document", Org: p.Org, User: p.User, Assistant: "drawings",
			Title: "Drawings of " + e.doc.Symbol,
		}, a)
	} else {
		events, err = b.opts.Log.Append(ctx, a)
	}
	if footnote.CodeOf(err) == footnote.Conflict {
		return errRaced
	}
	if err != nil {
		return fmt.Errorf("change the drawings of %s: %w", e.doc.Symbol, err)
	}
	for _, ev := range events {
		if err := e.doc.Apply(ev); err != nil {
			e.doc = nil // read it again
			return err
		}
	}
	b.show(id, a.After, events)
	return nil
}

// show notifies local readers of events.
func (b *Boards) show(id string, after int64, events []footnote.Event) {
	if b.opts.Hub == nil {
		return
	}
	topic := b.opts.Hub.Open(id, after)
	topic.Publish(events...)
	topic.Trim()
	topic.Close()
}
