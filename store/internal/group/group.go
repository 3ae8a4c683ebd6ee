// Package group implements group commit: a queue in front of a store's only writer. When the writer is free, it takes
// all waiting requests into one transaction, so that many conversations share one fsync. The writer never waits for
// more requests to arrive.
package group

import (
	"context"
	"iter"
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

// Finish makes Do return err to its caller.
func (r *Request[T]) Finish(err error) {
	r.err = err
	close(r.finished)
}

// Finish finishes the requests of a transaction with its error, or each with its own refusal.
func Finish[T any](batch []*Request[T], err error, refusal func(T) error) {
	for _, r := range batch {
		if err != nil {
			r.Finish(err)
		} else {
			r.Finish(refusal(r.Item))
		}
	}
}

// Queue is a queue of writes. Several goroutines may call Do; only the writer's may call Next and Idle.
type Queue[T any] struct {
	mu     sync.RWMutex // held for reading while a request enters c
	closed atomic.Bool
	c      chan *Request[T]
	held   []*Request[T] // taken out of c and kept for a later batch; only Next uses it
}

// New returns a queue with room for size requests.
func New[T any](size int) *Queue[T] { return &Queue[T]{c: make(chan *Request[T], size)} }

// Do passes a write to the writer and waits until it is finished. If ctx ends before the writer takes the write, Do
// returns its cause and nothing is written. Afterwards Do waits for the writer, so that the caller learns the actual
// outcome. ok is false if the queue is closed.
func (q *Queue[T]) Do(ctx context.Context, item T) (ok bool, err error) {
	if ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	r := &Request[T]{Item: item, finished: make(chan struct{})}
	q.mu.RLock()
	if q.closed.Load() {
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

// Batches yields the batches of Next until the queue is closed and empty, without the empty ones. It calls filter for
// the function together of each batch.
func (q *Queue[T]) Batches(max int, filter func() func(T) bool) iter.Seq[[]*Request[T]] {
	return func(yield func([]*Request[T]) bool) {
		for {
			batch := q.Next(max, filter())
			if batch == nil || len(batch) > 0 && !yield(batch) {
				return
			}
		}
	}
}

// All is the function together of batches that can have any write.
func All[T any](T) bool { return true }

// Next waits for a write and returns a batch of up to max waiting writes. It calls together for each write in turn;
// writes for which that returns false are the first of the next batch. The batch is empty but not nil if all waiting
// writes were abandoned, so that the writer can check again whether it is idle. Next returns nil when the queue is
// closed and empty.
func (q *Queue[T]) Next(max int, together func(T) bool) []*Request[T] {
	batch, dropped := []*Request[T]{}, false
	var held []*Request[T]
	add := func(r *Request[T]) {
		switch {
		case len(batch) == max || !together(r.Item):
			held = append(held, r)
		case r.state.CompareAndSwap(waiting, taken):
			batch = append(batch, r)
		default:
			dropped = true
		}
	}
	for _, r := range q.held {
		add(r)
	}
	q.held = nil
	for len(batch) == 0 && !dropped {
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

// Idle reports whether Next would have to wait for a write, abandoned or not.
func (q *Queue[T]) Idle() bool { return len(q.held) == 0 && len(q.c) == 0 && !q.closed.Load() }

// Len returns the number of writes that Next has not read yet.
func (q *Queue[T]) Len() int { return len(q.c) }

// Close makes Do reject further writes. Next still returns those that wait.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed.Swap(true) {
		close(q.c)
	}
}
