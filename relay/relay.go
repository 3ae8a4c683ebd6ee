// Package relay shows the readers of this server the runs that other servers drive.
//
// The server that drives a run sends what its own readers see through a pipe: growing
// blocks, and the numbers of the events between them. A server with readers of such a
// run mirrors it into its hub. The log decides: events are read from it and from
// nothing else, and what the pipe said of a message is compared with the message when
// it is there. A pipe that loses, forges or holds back something costs readers the
// growth of a message, and never its text; without one they see whole blocks, a
// second late.
package relay

import (
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

// Pipe carries entries between servers, by key and in order. It may lose them, and
// forgets a key some minutes after its last entry.
type Pipe interface {
	Send(ctx context.Context, key string, entry []byte) error
	// Receive gives what came under a key after a position, which is empty for the
	// beginning. When there is nothing it waits, at most for as long as it is told.
	Receive(ctx context.Context, key, after string, wait time.Duration) (entries [][]byte, next string, err error)
}

// Log is what a relay reads.
type Log interface {
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
}

// Options are what a Relay is made of. Log, Hub and Drives are required.
type Options struct {
	Log Log
	Hub *hub.Hub
	// Drives reports whether a run of the conversation goes on in this process.
	Drives func(conversation string) bool
	Pipe   Pipe // nil: readers see whole blocks
	Logger *slog.Logger
	Poll   time.Duration // between looks at the log; default 1 s
}

// Relay mirrors runs of other servers. Its methods may be called from several
// goroutines.
type Relay struct {
	opts   Options
	ctx    context.Context // of the mirrors
	cancel context.CancelFunc
	work   sync.WaitGroup
	broken atomic.Bool // the pipe failed when it was last used

	mu      sync.Mutex // guards below
	mirrors map[string]*mirror
	closed  bool
}

// Bounds of one use of the pipe.
const (
	sendTime = time.Second
	mostSent = 256 << 10 // bytes of an entry, about
	mostRead = 1 << 20   // bytes of an entry that is looked at
	mostRun  = 8 << 20   // bytes of one run; the rest is not sent
)

// New makes a relay. Close must be called in the end.
func New(opts Options) *Relay {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Poll <= 0 {
		opts.Poll = time.Second
	}
	r := &Relay{opts: opts, mirrors: map[string]*mirror{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Close ends the mirrors and waits for them. It may be called twice.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.work.Wait()
}

// Watch mirrors a conversation into the hub, while another server drives its runs and
// until leave is called. The caller has subscribed to it, and then learnt that last
// was its newest event; what is no newer, it reads from the log.
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

// key is where the pipe has what the owner of a run sends. Each owner of a run has a
// key of its own: one that lost the run unnoticed speaks where nobody listens.
func key(run string, attempt int) string { return run + ":" + strconv.Itoa(attempt) }

// failed tells the operator of a pipe that does not work, once until it works again.
func (r *Relay) failed(err error) {
	if !r.broken.Swap(true) {
		r.opts.Logger.Warn("live text does not reach the other servers; their readers see whole blocks", "err", err)
	}
}

func (r *Relay) worked() {
	if r.broken.Swap(false) {
		r.opts.Logger.Info("live text reaches the other servers again")
	}
}

// Send tells the other servers what a reader sees of a run of this one, until the run
// ends or parks, or ctx is done. The attempt is how often the run went on after a
// pause. When the pipe fails the rest is not sent.
func (r *Relay) Send(ctx context.Context, run string, attempt int, rd *hub.Reader) {
	s := sender{sent: map[place]int{}}
	sent := 0
	for over := false; !over; {
		batch, err := rd.Next(ctx)
		if err != nil {
			batch, _ = rd.Take() // what came last, when the run ended without an event
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
			if sent += len(entry); sent > mostRun {
				return
			}
		}
		over = over || s.over
	}
}
