// Package relay shows the readers of this server the runs that other servers drive.
//
// The server that drives a run sends what its own readers see through a pipe: growing blocks, and the numbers
// of the events between them. A server with readers of such a run mirrors it into its hub. The log is
// authoritative: events are read only from it, and what the pipe delivered of a message is compared with the
// message once it is stored. If the pipe loses, forges or delays something, readers may not see a message
// grow, but they never miss its text. Without a pipe they see complete blocks, a second late.
package relay

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
)

// Pipe carries entries between servers, by key and in order. It may lose entries, and forgets a key some
// minutes after its last entry.
type Pipe interface {
	Send(ctx context.Context, key string, entry []byte) error
	// Receive returns the entries of a key after a position; the empty position is the beginning. If there
	// are none it waits for them, at most for wait.
	Receive(ctx context.Context, key, after string, wait time.Duration) (entries [][]byte, next string, err error)
}

// Log is the part of a store that a relay reads.
type Log interface {
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
}

// Options configure a Relay. Log, Hub and Drives are required.
type Options struct {
	Log Log
	Hub *hub.Hub
	// Drives reports whether this process drives a run of the conversation.
	Drives func(conversation string) bool
	Pipe   Pipe // nil: readers see complete blocks only
	Logger *slog.Logger
	Poll   time.Duration // interval between reads of the log; default 1 s
}

// Relay mirrors runs of other servers. It is safe for concurrent use.
type Relay struct {
	opts   Options
	ctx    context.Context // of the mirrors
	cancel context.CancelFunc
	work   sync.WaitGroup
	broken atomic.Bool // the last use of the pipe failed

	mu      sync.Mutex // guards below
	mirrors map[string]*mirror
	closed  bool
}

// Limits on one use of the pipe.
const (
	sendTime      = time.Second
	maxEntryBytes = 256 << 10 // bytes of an entry, approximately
	maxReadBytes  = 1 << 20   // bytes of an entry to decode
	maxRunBytes   = 8 << 20   // bytes sent per run; the rest is dropped
)

// New returns a relay. The caller must close it.
func New(opts Options) *Relay {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Poll = cmp.Or(max(opts.Poll, 0), time.Second)
	r := &Relay{opts: opts, mirrors: map[string]*mirror{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Close stops the mirrors and waits for them. It may be called twice.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.work.Wait()
}

// Watch mirrors a conversation into the hub while another server drives its runs, until leave is called. The
// caller must have subscribed first and then read last, the newest event at that time; it reads events up to
// last from the log.
func (r *Relay) Watch(conversation string, last int64) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return func() {}
	}
	m := r.mirrors[conversation]
	if m == nil {
		m = &mirror{r: r, id: conversation, last: last}
		var ctx context.Context
		ctx, m.end = context.WithCancel(r.ctx)
		r.mirrors[conversation] = m
		r.work.Go(func() { m.follow(ctx) })
	}
	m.readers++
	return sync.OnceFunc(func() { r.leave(m) })
}

func (r *Relay) leave(m *mirror) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.readers--; m.readers == 0 {
		m.end()
		delete(r.mirrors, m.id)
	}
}

// key returns the pipe key for the owner of a run. Each owner has its own key, so that no server reads from one that
// has lost the run without noticing.
func key(run string, attempt int) string { return run + ":" + strconv.Itoa(attempt) }

// failed logs an error of the pipe, once until the pipe works again.
func (r *Relay) failed(err error) {
	if !r.broken.Swap(true) {
		r.opts.Logger.Warn("cannot send live text to other servers; their readers see whole blocks", "err", err)
	}
}

func (r *Relay) worked() {
	if r.broken.Swap(false) {
		r.opts.Logger.Info("live text reaches other servers again")
	}
}

// Send sends what a reader sees of a run of this server to the other servers, until the run ends or parks, or ctx is
// done. attempt is how often the run was resumed. If the pipe fails, Send drops the rest.
func (r *Relay) Send(ctx context.Context, run string, attempt int, rd *hub.Reader) {
	s := sender{sent: map[place]int{}}
	sent := 0
	for over := false; !over; {
		batch, err := rd.Next(ctx)
		if err != nil {
			batch, _ = rd.Take() // the last batch, if the run ended without an event
			over = true
		}
		for _, entry := range s.entries(batch) {
			sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
			err := r.opts.Pipe.Send(sending, key(run, attempt), entry)
			cancel()
			if err != nil {
				r.failed(err)
				return
			}
			r.worked()
			if sent += len(entry); sent > maxRunBytes {
				return
			}
		}
		over = over || s.over
	}
}
