// Package agent implements the run loop: it reads a log, calls a model, runs tools, appends events and publishes
// deltas. It knows no protocol, no HTTP, no SQL.
//
// A run is one execution of the loop for one input. It ends with exactly one terminal event, or it parks: some calls
// wait for a client or a person, and the run exists only in the log. The last answer resumes the run, in this process
// or in a later one.
//
// The files follow a run's life. A turn comes in (turn.go, submit.go) and takes its conversation (conversation.go),
// which it opens if it is new (open.go). The run (run.go) makes model calls (step.go) and the tool calls that they ask
// for (calls.go, toolcall.go), with their statements (statements.go). It parks when calls wait for a client or a person
// (park.go) and resumes with their results (clientresult.go). It ends by itself (end.go, answer.go) or is stopped
// (stop.go). When its server dies another takes it over (recover.go), and one that shuts down hands it over
// (handover.go).
package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/access"
)

// Why a run's context ends.
var (
	ErrShutdown = errors.New("the server is shutting down")
	errRunTime  = errors.New("the run timed out")
)

// ByStopString is the RunStopped.By of a run that has reached its client's stop string. The text so far is its answer.
const ByStopString = "stop_string"

// byRevoked is the RunStopped.By of a run whose API key was revoked.
const byRevoked = "revoked"

// stopped is the cancellation cause of a run that was stopped.
type stopped struct{ by string }

func (s stopped) Error() string { return "stopped by " + s.by }

// Options configures an Engine. Log, Hub and Assistants are required.
type Options struct {
	Log        Log
	Hub        *hub.Hub
	Assistants []*Assistant // the first is the default
	// Resolve finds the footnotes of an answer; nil leaves answers without.
	Resolve Resolver
	// Marks decides which models are asked for marks; nil: none are.
	Marks Marks
	// Validate checks a tool's input against its schema; nil accepts any object.
	Validate func(name string, input []byte) error
	// Budget is asked before each model call; nil: there is no limit.
	Budget Budget
	// Access decides what principals may use; nil: everything.
	Access Access
	// Standing returns the error Unauthorized if a stored API key was revoked. Runs requested with such a key end
	// within seconds. Nil: no key is ever revoked.
	Standing func(ctx context.Context, key string) error
	// Shared extends Log if several engines share it; nil: no other engine uses the log.
	Shared Shared
	// Relay sends other engines what a reader of a run sees, until the run is over or ctx is done; attempt is how often
	// the run was resumed. Nil: there are no other engines.
	Relay func(ctx context.Context, run string, attempt int, rd *hub.Reader)
	// Refused is called for a question that a limit refused before its run began; may be nil.
	Refused  func(t Turn, err error)
	Metrics  Metrics
	Tracer   Tracer // nil: runs are not traced
	Logger   *slog.Logger
	Owner    string        // of leases; default random
	Recall   time.Duration // how long to cache the events of an active conversation; 0: not at all
	LeaseTTL time.Duration // default 30 s; 6 s when the log is shared
	Outage   time.Duration // how long a run retries while the log is unavailable; default 2 min
	Now      func() time.Time
}

// Metrics counts and measures what the engine does.
type Metrics interface {
	RunEnded(assistant, outcome string, d time.Duration)
	StepEnded(model string, u footnote.Usage, c footnote.Cost, d time.Duration, failed bool)
	ToolEnded(name, outcome string, d time.Duration)
	// RunFailed and StepFailed count failures by code.
	RunFailed(code footnote.Code)
	StepFailed(code footnote.Code)
	// ConversationGrew records the size of a conversation after an answer: the user's messages, and the events of its
	// log.
	ConversationGrew(questions int, events int64)
	// HistoryRepaired counts the repairs that make a damaged log readable for the model.
	HistoryRepaired(repairs int)
}

// Marks decides which models are asked to write marks behind figures. Its methods may be called concurrently.
type Marks interface {
	Wanted(model string) bool
	// Counted reports an answer of a model that was asked for marks: its figures that have a footnote or a broken mark,
	// and how many of its marks were verified and how many not.
	Counted(model string, figures, held, broken int)
}

type noMetrics struct{}

func (noMetrics) RunEnded(string, string, time.Duration) {}

func (noMetrics) RunFailed(footnote.Code) {}

func (noMetrics) StepFailed(footnote.Code) {}

func (noMetrics) ConversationGrew(int, int64) {}

func (noMetrics) HistoryRepaired(int) {}

func (noMetrics) StepEnded(string, footnote.Usage, footnote.Cost, time.Duration, bool) {}

func (noMetrics) ToolEnded(string, string, time.Duration) {}

// Log has the methods of a store that the loop uses. store.Store documents their
// errors.
type Log interface {
	CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error)
	Get(ctx context.Context, id string) (footnote.Stream, error)
	Find(ctx context.Context, org, user, kind, clientID string) (footnote.Stream, error)
	Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error)
	Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error
	Release(ctx context.Context, stream string, token int64) error
	Unfinished(ctx context.Context, now time.Time, limit int) ([]footnote.Stream, error)
	Withdrawn(ctx context.Context, now time.Time, limit int) ([]footnote.Stream, error)
	Reserved(ctx context.Context, stream string) ([]footnote.Reservation, error)
	Overdue(ctx context.Context, limit int) ([]footnote.Reservation, error)
	Expire(ctx context.Context, id string) error
}

// Engine runs the assistants' conversations. Its methods may be called from
// several goroutines.
type Engine struct {
	opts      Options
	byName    map[string]*Assistant
	frozen    map[*Assistant]json.RawMessage // the definitions of each assistant's tools
	ctx       context.Context                // parent of all runs
	cancel    context.CancelCauseFunc
	own       sync.WaitGroup // goroutines that run as long as the engine
	work      sync.WaitGroup // runs, and turns that may start them; see enter
	tools     sync.WaitGroup // tool calls, including those that ignore their context
	sideCalls chan struct{}  // free places for side calls
	recall    recall

	availability *availability // of a shared log

	systemDigest, toolsDigest lastDigest // of the prompt and tools of new conversations

	mu            sync.Mutex               // guards below
	conversations map[string]*conversation // those in use, by stream; new ones also by their client's name
	draining      bool
}

// New checks the options and makes an engine. Stop must be called in the end.
func New(opts Options) (*Engine, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Access = cmp.Or(opts.Access, Access((*access.Rules)(nil)))
	opts.Budget = cmp.Or(opts.Budget, Budget(noBudget{}))
	opts.Metrics = cmp.Or(opts.Metrics, Metrics(noMetrics{}))
	opts.Tracer = cmp.Or(opts.Tracer, Tracer(noTracer{}))
	opts.Owner = cmp.Or(opts.Owner, rand.Text())
	ttl := soleTTL
	if opts.Shared != nil {
		ttl = sharedTTL
	}
	opts.LeaseTTL = cmp.Or(max(opts.LeaseTTL, 0), ttl)
	opts.Outage = cmp.Or(max(opts.Outage, 0), outageTime)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	e := &Engine{
		opts:          opts,
		byName:        map[string]*Assistant{},
		frozen:        map[*Assistant]json.RawMessage{},
		sideCalls:     make(chan struct{}, maxSideCalls),
		conversations: map[string]*conversation{},
		recall:        recall{ttl: opts.Recall, now: opts.Now},

		availability: newAvailability(opts.LeaseTTL),
	}
	for _, a := range opts.Assistants {
		if err := e.register(a); err != nil {
			return nil, err
		}
	}
	if len(opts.Assistants) == 0 {
		return nil, errors.New("an engine needs at least one assistant")
	}
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	e.own.Go(e.recoverLoop)
	// The goroutine that renews leases does nothing else, because a lease that is renewed too late ends its run.
	e.own.Go(func() { e.every(e.opts.LeaseTTL/3, e.renew) })
	if opts.Standing != nil {
		keys := map[string]string{}
		e.own.Go(func() {
			e.every(keysEvery, func() {
				e.endRevoked()
				keys = e.endParked(keys)
			})
		})
	}
	if opts.Shared != nil {
		e.own.Go(func() { e.every(stopsEvery, e.followStops) })
	}
	return e, nil
}

// every calls do at intervals until the engine stops.
func (e *Engine) every(interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// logOf returns the log for lines about a run. Ids that are unknown are left out.
func (e *Engine) logOf(o footnote.Origin) *slog.Logger {
	return slog.New(originHandler{e.opts.Logger.Handler(), o})
}

// originHandler adds the ids of an origin to lines. It does so line by line, because few runs have any, and a handler
// may have much to do for attributes of its own.
type originHandler struct {
	slog.Handler
	origin footnote.Origin
}

func (h originHandler) with() slog.Handler { return h.Handler.WithAttrs(h.origin.LogAttrs()) }

// Handle implements slog.Handler.
func (h originHandler) Handle(ctx context.Context, line slog.Record) error {
	return h.with().Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h originHandler) WithAttrs(attrs []slog.Attr) slog.Handler { return h.with().WithAttrs(attrs) }

// WithGroup implements slog.Handler.
func (h originHandler) WithGroup(name string) slog.Handler { return h.with().WithGroup(name) }

// onPanic logs a panic of code that is not ours, and calls then. It must be deferred.
func onPanic(log *slog.Logger, message string, then func(p any), attrs ...any) {
	if p := recover(); p != nil {
		log.Error(message, append(attrs, "panic", p, "stack", string(debug.Stack()))...)
		then(p)
	}
}

// enter begins work that Drain waits for, such as a turn that may start a run, until leave is called. It returns an
// error once the engine drains.
func (e *Engine) enter() (leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return nil, ShuttingDown(nil)
	}
	e.work.Add(1) // under the lock, so never after Drain has begun to wait
	return e.work.Done, nil
}

// ShuttingDown returns the error for clients that the server no longer serves because it shuts down.
func ShuttingDown(cause error) error {
	return &footnote.Error{
		Code: footnote.ModelUnavailable, Message: "The server is shutting down. Try again in a moment.",
		RetryAfter: 5 * time.Second, Err: cause,
	}
}

// toolsTime is how long Drain waits for tools that ignore the end of their run.
const toolsTime = 5 * time.Second

// Drain refuses new turns and waits for the runs under way. When ctx ends it cancels them with ErrShutdown and still
// waits, so no run outlives Drain. For tools that ignore the end of their run it waits a few seconds. It may be called
// twice.
func (e *Engine) Drain(ctx context.Context) {
	e.mu.Lock()
	e.draining = true
	e.mu.Unlock()
	idle := waited(&e.work)
	select {
	case <-idle:
	case <-ctx.Done():
	}
	e.cancel(ErrShutdown)
	<-idle // runs end by their own deadlines once they are cancelled
	e.own.Wait()
	stray := time.NewTimer(toolsTime)
	defer stray.Stop()
	select {
	case <-waited(&e.tools):
	case <-stray.C:
		e.opts.Logger.Error("a tool is still running after shutdown; only the end of the process stops it")
	}
}

// waited returns a channel that is closed when wg's count is zero.
func waited(wg *sync.WaitGroup) <-chan struct{} {
	c := make(chan struct{})
	go func() { wg.Wait(); close(c) }()
	return c
}
