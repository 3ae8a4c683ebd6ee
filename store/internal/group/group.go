// Package group is the queue in front of a store's one writer: whatever waits when
// the writer is free goes into one transaction, so that many conversations share
// one fsync (group commit); nobody ever waits for company.
package group

import (
	"context"
	"sync"
	"sync/atomic"
)

// Request is one write that waits for the writer.
type Request[T any] struct {
	Item T

	state    atomic.Int32  // waiting, then taken or abandoned
	finished chan struct{} // closed when err is final
	err      error
}

const (
	waiting int32 = iota
	taken
	abandoned
)

// Finish tells the caller of Do how it went.
func (r *Request[T]) Finish(err error) {
	r.err = err
	close(r.finished)
}

// Queue is a queue of writes. Do may be called from several goroutines, Next from
// the writer's alone.
type Queue[T any] struct {
	mu     sync.RWMutex // held for reading while a request enters c
	closed bool
	c      chan *Request[T]
	held   []*Request[T] // taken out of c, and kept for a later batch
}

// New makes a queue in which size requests wait before Do does.
func New[T any](size int) *Queue[T] { return &Queue[T]{c: make(chan *Request[T], size)} }

// Do gives a write to the writer and waits until it is finished. Once the writer
// has taken it, only the writer decides: the caller gets the truth, however long
// ago its ctx ended. Before that the end of ctx is the error. A closed queue says
// ok is false.
func (q *Queue[T]) Do(ctx context.Context, item T) (ok bool, err error) {
	if ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	r := &Request[T]{Item: item, finished: make(chan struct{})}
	q.mu.RLock()
	if q.closed {
		q.mu.RUnlock()
		return false, nil
	}
	select {
	case q.c <- r:
		q.mu.RUnlock()
	case <-ctx.Done():
		q.mu.RUnlock()
		return true, context.Cause(ctx)
	}
	select {
	case <-r.finished:
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, abandoned) {
			return true, context.Cause(ctx)
		}
		<-r.finished
	}
	return true, r.err
}

// Next waits for a write and returns it with others that wait, at most max of
// them. Those that together, which is asked of each in turn, does not want in this
// batch come first in the next one. It returns none when the queue is closed and
// empty.
func (q *Queue[T]) Next(max int, together func(T) bool) []*Request[T] {
	var batch, held []*Request[T]
	add := func(r *Request[T]) {
		switch {
		case len(batch) == max || !together(r.Item):
			held = append(held, r)
		case r.state.CompareAndSwap(waiting, taken):
			batch = append(batch, r)
		}
	}
	for _, r := range q.held {
		add(r)
	}
	q.held = nil
	for len(batch) == 0 {
		r, ok := <-q.c
		if !ok {
			return nil
		}
		add(r)
	}
	for len(batch) < max && len(held) < max {
		select {
		case r, ok := <-q.c:
			if !ok {
				q.held = held
				return batch
			}
			add(r)
			continue
		default:
		}
		break
	}
	q.held = held
	return batch
}

// Close refuses further writes; those that wait are still taken.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.c)
	}
}
