package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/internal/group"
)

// Bounds of one transaction.
const (
	maxBatch  = 256
	batchSize = 8 << 20 // bytes, unless one write has more
)

// errUnsure is the error of a transaction of which nobody knows whether it was
// committed.
var errUnsure = errors.New("the connection broke during the commit")

// writer is the connection that writes. All of it belongs to the goroutine of serve.
type writer struct {
	s    *Store
	conn *pgx.Conn // nil when there is none
}

type request = group.Request[*write]

// serve writes what comes out of the queue until it is closed and empty.
func (w *writer) serve() {
	defer w.drop()
	for {
		batch := w.s.queue.Next(maxBatch, fits())
		if len(batch) == 0 {
			return
		}
		w.commit(batch)
	}
}

// fits says of one write after another whether it goes into the transaction of those
// before it: each stream once, and not too many bytes.
func fits() func(*write) bool {
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

// commit writes a batch and tells its callers.
func (w *writer) commit(batch []*request) {
	begun := time.Now()
	err := w.transact(context.Background(), writesOf(batch))
	switch {
	case errors.Is(err, errUnsure):
		// Whoever comes next must not wait for this.
		w.s.background.Go(func() { w.s.findOut(begun, batch) })
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

// finish tells callers how it went; without an error of the whole transaction, each
// has its own refusal.
func finish(batch []*request, err error) {
	for _, r := range batch {
		if err != nil {
			r.Finish(err)
		} else {
			r.Finish(r.Item.refused)
		}
	}
}

// transact writes a batch in one transaction. Refusals are left in the writes. An
// error says that nothing of the batch was written, unless it is errUnsure. When the
// connection is of no use any more, w.conn is nil afterwards.
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
		w.s.heard(p.time)
	}
	err = perform(ctx, w.conn, writes)
	if err != nil && fatal(err, w.conn) {
		w.s.log.Warn("the database went away during a commit", "err", err)
		_ = w.failed(ctx, err)
		return errUnsure
	}
	if err != nil {
		return w.failed(ctx, err)
	}
	w.s.committed.Store(time.Now().UnixNano())
	return nil
}

// decide is the first half of a transaction, on a new connection when there is none,
// or when it turns out that the one at hand was lost while nothing was going on, as
// when the server was restarted, or that its server has begun to refuse writes.
func (w *writer) decide(ctx context.Context, writes []*write) error {
	if w.conn != nil {
		err := decide(ctx, w.conn, writes)
		if err == nil || ctx.Err() != nil || !w.conn.IsClosed() && !readOnly(err) {
			return err
		}
		if readOnly(err) {
			w.s.pool.Reset() // its connections may be to the same server
		}
	}
	if err := w.reconnect(ctx); err != nil {
		return err
	}
	return decide(ctx, w.conn, writes)
}

// failed ends a transaction that cannot be, and returns the error for its callers.
func (w *writer) failed(ctx context.Context, err error) error {
	w.s.committed.Store(0)
	if w.conn != nil && w.conn.IsClosed() {
		err = lost{err}
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
	w.s.servers.takesWrites()
	return nil
}

func (w *writer) drop() {
	if w.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.conn.Close(ctx) // an open transaction is undone
	w.conn = nil
}

// findOut brings writes to an end whose commit was lost sight of: they are done
// again, and what the first attempt wrote is recognised. It gives up when the
// database stays away.
func (s *Store) findOut(begun time.Time, batch []*request) {
	ctx, cancel := context.WithDeadlineCause(s.closing, begun.Add(s.patience), errSlow)
	defer cancel()
	w := &writer{s: s}
	defer w.drop()
	writes := writesOf(batch)
	for _, p := range writes {
		p.unsure = true
	}
	err := w.again(ctx, writes)
	if err == nil || ctx.Err() != nil {
		finish(batch, err)
		return
	}
	for i, r := range batch { // one of them cannot be written
		finish([]*request{r}, w.again(ctx, writes[i:i+1]))
	}
}

// again does writes until it is known what became of them.
func (w *writer) again(ctx context.Context, writes []*write) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := w.transact(ctx, writes)
		if err == nil || !errors.Is(err, errUnsure) && footnote.CodeOf(err) != footnote.StorageUnavailable {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return &footnote.Error{
				Code: footnote.StorageUnavailable, Message: msgUncertain, RetryAfter: retryAfter, Err: err,
			}
		}
	}
}

// put gives a write to the writer and waits until it is committed or refused.
func (s *Store) put(ctx context.Context, doing string, p *write) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	ok, err := s.queue.Do(ctx, p)
	if !ok {
		return store.ErrClosed()
	}
	return translate(ctx, doing, err)
}
