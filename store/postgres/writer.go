package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pause"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/internal/group"
)

// Limits of one transaction.
const (
	maxBatch  = 256
	batchSize = 8 << 20 // bytes, unless one write has more
)

// errUncertain is the error of a transaction whose commit may have succeeded or not.
var errUncertain = errors.New("the connection broke during the commit")

// writer is the writing connection. Only the goroutine of serve uses it.
type writer struct {
	s    *Store
	conn *pgx.Conn // nil without a connection
}

type request = group.Request[*write]

// serve writes the requests of the queue until it is closed and empty.
func (w *writer) serve() {
	defer w.drop()
	for batch := range w.s.queue.Batches(maxBatch, batchFilter) {
		w.commit(batch)
	}
}

// batchFilter returns a function that reports whether the next write fits into the batch: each stream may occur only
// once, and the size is limited.
func batchFilter() func(*write) bool {
	seen := map[string]bool{}
	size := 0
	return func(p *write) bool {
		if seen[p.a.Stream] || size > 0 && size+p.size > batchSize {
			return false
		}
		seen[p.a.Stream] = true
		size += p.size
		return true
	}
}

// commit writes a batch and finishes its requests.
func (w *writer) commit(batch []*request) {
	begun := time.Now()
	err := w.transact(context.Background(), writesOf(batch))
	switch {
	case errors.Is(err, errUncertain):
		// The next batch must not wait for this.
		w.s.background.Go(func() { w.s.resolve(begun, batch) })
	case err == nil, len(batch) == 1, w.conn == nil:
		finish(batch, err)
	default:
		for i, r := range batch { // one of them cannot be written; the others can
			if time.Since(begun) > writeTime { // they all wait for something
				finish(batch[i:], err)
				return
			}
			w.commit([]*request{r})
		}
	}
}

func writesOf(batch []*request) []*write {
	writes := make([]*write, len(batch))
	for i, r := range batch {
		writes[i] = r.Item
	}
	return writes
}

// finish finishes requests with the error of their transaction, or each with its own refusal.
func finish(batch []*request, err error) {
	group.Finish(batch, err, func(p *write) error { return p.refused })
}

// transact writes a batch in one transaction and sets refused in its writes. After an error other than errUncertain,
// nothing of the batch was written. If the connection is broken, w.conn is nil afterwards.
func (w *writer) transact(ctx context.Context, writes []*write) error {
	size := 0
	for _, p := range writes {
		size += p.size
	}
	limit := writeTime + time.Duration(size/slowDisk)*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	err := w.decide(ctx, writes)
	if err != nil {
		return w.failed(ctx, err)
	}
	if p := writes[0]; p.n != 0 && !p.done {
		w.s.setClock(p.time)
	}
	err = perform(ctx, w.conn, writes)
	if err != nil && fatal(err, w.conn) {
		w.s.log.Warn("lost the connection to the database during a commit", "err", err)
		_ = w.failed(ctx, err)
		return errUncertain
	}
	if err != nil {
		return w.failed(ctx, err)
	}
	w.s.committed.Store(time.Now().UnixNano())
	return nil
}

// decide runs the first half of a transaction. It connects again if there is no connection, if the connection was lost
// while idle, such as by a restart of the server, or if the server has begun to reject writes.
func (w *writer) decide(ctx context.Context, writes []*write) error {
	if w.conn != nil {
		err := decide(ctx, w.conn, writes)
		if err == nil || ctx.Err() != nil || !w.conn.IsClosed() && !readOnly(err) {
			return err
		}
		if readOnly(err) {
			w.s.pool.Reset() // its connections may lead to the same server
		}
	}
	if err := w.reconnect(ctx); err != nil {
		return err
	}
	return decide(ctx, w.conn, writes)
}

// failed ends a failed transaction, and returns the error for its callers.
func (w *writer) failed(ctx context.Context, err error) error {
	w.s.committed.Store(0)
	if w.conn != nil && w.conn.IsClosed() {
		err = lostConn{err}
	}
	err = translate(context.Background(), "write", err)
	if w.conn == nil {
		return err
	}
	if !w.conn.IsClosed() && ctx.Err() == nil && !readOnly(err) {
		if _, rerr := w.conn.Exec(ctx, "ROLLBACK"); rerr == nil {
			return err
		}
	}
	w.drop()
	return err
}

func (w *writer) reconnect(ctx context.Context) (err error) {
	w.drop()
	w.conn, err = pgx.ConnectConfig(ctx, w.s.connect)
	if err != nil {
		w.conn = nil
		return err
	}
	w.s.servers.acceptsWrites()
	return nil
}

func (w *writer) drop() {
	if w.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.conn.Close(ctx) // this rolls an open transaction back
	w.conn = nil
}

// resolve finishes writes whose commit has an unknown outcome. It repeats them, which finds what the first attempt
// wrote. It gives up if the database remains unreachable.
func (s *Store) resolve(begun time.Time, batch []*request) {
	ctx, cancel := context.WithDeadlineCause(s.closing, begun.Add(s.patience), errSlow)
	defer cancel()
	w := &writer{s: s}
	defer w.drop()
	writes := writesOf(batch)
	for _, p := range writes {
		p.retry = true
	}
	err := w.retry(ctx, writes)
	if err == nil || ctx.Err() != nil {
		finish(batch, err)
		return
	}
	for i, r := range batch { // one of them cannot be written
		finish([]*request{r}, w.retry(ctx, writes[i:i+1]))
	}
}

// retry repeats writes until their outcome is known.
func (w *writer) retry(ctx context.Context, writes []*write) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := w.transact(ctx, writes)
		if err == nil || !errors.Is(err, errUncertain) && footnote.CodeOf(err) != footnote.StorageUnavailable {
			return err
		}
		if pause.For(ctx, wait) != nil {
			return &footnote.Error{
				Code: footnote.StorageUnavailable, Message: msgUncertain, RetryAfter: retryAfter, Err: err,
			}
		}
	}
}

// enqueue passes an item to the goroutine that serves a queue, and waits for its result.
func enqueue[T any](ctx context.Context, queue *group.Queue[T], doing string, item T) error {
	ok, err := queue.Do(ctx, item)
	if !ok {
		return store.ErrClosed()
	}
	return translate(ctx, doing, err)
}
