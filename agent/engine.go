// Package agent is the run loop: it reads a log, calls a model, runs tools,
// appends events and publishes deltas. It knows no protocol, no HTTP, no SQL.
//
// A run is one execution of the loop for one input. It ends with exactly one
// terminal event, or it is parked: some calls wait for a client or a person, and
// nothing but the log remembers it. Whoever brings the last answer goes on as the
// same run, in this process or in a later one.
package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/tool"
)

// Why a run's context ends.
var (
	ErrShutdown = errors.New("the server is shutting down")
	errRunTime  = errors.New("the run's time is over")
)

// ByStopString is who stops a run that has said what its client takes for the end.
// What it said until then is its answer.
const ByStopString = "stop_string"

// byRevoked is who stops a run whose API key was revoked.
const byRevoked = "revoked"

// stopped is the cause of a run that somebody stopped.
type stopped struct{ by string }

func (s stopped) Error() string { return "stopped by " + s.by }

// Options are what an Engine is made of. Log, Hub and Assistants are required.
type Options struct {
	Log        Log
	Hub        *hub.Hub
	Assistants []*Assistant // the first is the default
	// Resolve finds the footnotes of an answer; nil leaves answers without.
	Resolve Resolver
	// Validate checks a tool's input against its schema; nil accepts any object.
	Validate func(name string, input []byte) error
	// Budget is asked before each model call; nil: there is no limit.
	Budget Budget
	// Access says who may use what; nil: everybody everything.
	Access Access
	// Standing says whether a stored API key still stands: a run that came with one which
	// does not, which is the error Unauthorized, ends within seconds. Nil: all stand.
	Standing func(ctx context.Context, key string) error
	// Shared is the log's side of several engines; nil: no other engine uses the log.
	Shared Shared
	// Tell tells other engines what a reader of a run sees, until the run is over or
	// ctx is done; attempt is how often the run went on. Nil: nobody is told.
	Tell func(ctx context.Context, run string, attempt int, rd *hub.Reader)
	// Refused is told about a question that a limit refused before its run began; nil: nobody is told.
	Refused  func(t Turn, err error)
	Before   []BeforeTool
	After    []AfterTool
	Metrics  Metrics
	Tracer   Tracer // nil: nobody follows runs
	Logger   *slog.Logger
	Owner    string        // of leases; default random
	Recall   time.Duration // how long the events of an active conversation are kept in memory; 0: not at all
	LeaseTTL time.Duration // default 30 s; 6 s when the log is shared
	Outage   time.Duration // how long a run keeps what it cannot write while the log is away; default 2 min
	Now      func() time.Time
}

// Metrics is told what happened.
type Metrics interface {
	RunEnded(assistant, outcome string, d time.Duration)
	StepEnded(model string, u footnote.Usage, c footnote.Cost, d time.Duration, failed bool)
	ToolEnded(name, outcome string, d time.Duration)
	// RunFailed, StepFailed tell why a run or a model call came to nothing.
	RunFailed(code footnote.Code)
	StepFailed(code footnote.Code)
	// ConversationGrew tells how long a conversation is when an answer has ended: the
	// person's messages that count, and the events of its log.
	ConversationGrew(questions int, events int64)
	// HistoryRepaired tells of a log that was not as it should be: the model reads it with
	// so many things made good.
	HistoryRepaired(repairs int)
}

type noMetrics struct{}

func (noMetrics) RunEnded(string, string, time.Duration)                               {}
func (noMetrics) RunFailed(footnote.Code)                                              {}
func (noMetrics) StepFailed(footnote.Code)                                             {}
func (noMetrics) ConversationGrew(int, int64)                                          {}
func (noMetrics) HistoryRepaired(int)                                                  {}
func (noMetrics) StepEnded(string, footnote.Usage, footnote.Cost, time.Duration, bool) {}
func (noMetrics) ToolEnded(string, string, time.Duration)                              {}

// Engine runs the assistants' conversations. Its methods may be called from
// several goroutines.
type Engine struct {
	opts   Options
	byName map[string]*Assistant
	infos  []AssistantInfo
	frozen map[*Assistant]json.RawMessage // the definitions of its tools
	ctx    context.Context                // parent of all runs
	cancel context.CancelCauseFunc
	own    sync.WaitGroup // what runs as long as the engine
	work   sync.WaitGroup // runs, and what begins them; see enter
	tools  sync.WaitGroup // calls of tools, also of those that ignore their context
	side   chan struct{}  // places for Complete
	recall recall

	availability *availability // of a log that is shared

	systemDigest, toolsDigest lastDigest // of what conversations are opened with

	mu       sync.Mutex // guards below
	runs     map[string]*run
	opening  map[clientKey]*run // first runs of conversations, by their clients' names
	orphans  map[string]orphan  // by stream
	locks    map[string]*streamLock
	draining bool
}

// clientKey is how a client names a conversation.
type clientKey struct{ org, user, id string }

// streamLock lets one turn at a time change a stream from outside of its run.
type streamLock struct {
	held chan struct{} // has one value while somebody holds the lock
	refs int
}

// New checks the options and makes an engine. Stop must be called in the end.
func New(opts Options) (*Engine, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Access == nil {
		opts.Access = everything{}
	}
	if opts.Budget == nil {
		opts.Budget = noBudget{}
	}
	if opts.Metrics == nil {
		opts.Metrics = noMetrics{}
	}
	if opts.Tracer == nil {
		opts.Tracer = noTracer{}
	}
	if opts.Owner == "" {
		opts.Owner = rand.Text()
	}
	if opts.LeaseTTL <= 0 {
		if opts.LeaseTTL = soleTTL; opts.Shared != nil {
			opts.LeaseTTL = sharedTTL
		}
	}
	if opts.Outage <= 0 {
		opts.Outage = outageTime
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Validate == nil {
		opts.Validate = func(string, []byte) error { return nil }
	}
	e := &Engine{
		opts:    opts,
		byName:  map[string]*Assistant{},
		frozen:  map[*Assistant]json.RawMessage{},
		side:    make(chan struct{}, sideJobs),
		runs:    map[string]*run{},
		opening: map[clientKey]*run{},
		orphans: map[string]orphan{},
		locks:   map[string]*streamLock{},
		recall:  recall{ttl: opts.Recall, now: opts.Now},

		availability: newAvailability(opts.LeaseTTL),
	}
	for _, a := range opts.Assistants {
		if err := e.register(a); err != nil {
			return nil, err
		}
	}
	for _, a := range opts.Assistants {
		e.infos = append(e.infos, a.info())
	}
	if len(opts.Assistants) == 0 {
		return nil, errors.New("an engine needs at least one assistant")
	}
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	e.own.Go(e.tend)
	e.own.Go(e.keepLeases)
	if opts.Standing != nil {
		e.own.Go(e.guard)
	}
	if opts.Shared != nil {
		e.own.Go(e.heed)
	}
	return e, nil
}

// toolName is what the Messages API accepts.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (e *Engine) register(a *Assistant) error {
	if a.Name == "" || a.Model == nil || a.Opening == nil {
		return fmt.Errorf("assistant %q needs a name, a model and an opening", a.Name)
	}
	a.Limits = a.Limits.withDefaults()
	if err := a.Policy.Check(); err != nil {
		return fmt.Errorf("assistant %s: %w", a.Name, err)
	}
	seen := map[string]bool{}
	for _, t := range a.Tools {
		s := t.Spec()
		switch {
		case seen[s.Name]:
			return fmt.Errorf("assistant %s: two tools are named %s", a.Name, s.Name)
		case !toolName.MatchString(s.Name):
			return fmt.Errorf("assistant %s: the tool name %q is not 1 to 64 letters, digits, - and _", a.Name, s.Name)
		case !json.Valid(s.InputSchema):
			return fmt.Errorf("assistant %s: the input schema of the tool %s is not JSON", a.Name, s.Name)
		case s.Final != (s.Name == tool.FinalAnswer):
			return fmt.Errorf("assistant %s: the tool %s and no other gives the final answer", a.Name, tool.FinalAnswer)
		}
		seen[s.Name] = true
	}
	tiers := map[string]bool{}
	for _, t := range a.Tiers {
		if t.Name == "" || t.Model == "" || tiers[t.Name] {
			return fmt.Errorf("assistant %s: the tier %q needs a name of its own and a model", a.Name, t.Name)
		}
		tiers[t.Name] = true
	}
	e.frozen[a] = Freeze(a.Tools, a.Policy)
	for _, name := range append([]string{a.Name}, a.Aliases...) {
		if e.byName[name] != nil {
			return fmt.Errorf("two assistants are named %s", name)
		}
		e.byName[name] = a
	}
	return nil
}

func (a *Assistant) info() AssistantInfo {
	info := AssistantInfo{
		Name: a.Name, Title: a.Title, Description: a.Description, Aliases: a.Aliases, Model: a.ModelName,
		Tiers: a.Tiers, Unavailable: a.Unavailable, Created: a.Created,
	}
	for _, t := range a.Tools {
		s := t.Spec()
		_, checked := t.(tool.Checked)
		info.Tools = append(info.Tools, ToolInfo{
			Name: s.Name, Side: s.Side, Kind: s.Kind, ReadOnly: s.ReadOnly, Verdict: a.Policy.Verdict(s),
			Checked: checked && s.Side == tool.Client,
		})
	}
	return info
}

// Submit takes a turn and returns once its run is under way; its first events may
// not be committed yet. The ticket's reader, from Subscribe, must be closed.
//
// The error's code is InvalidRequest, InputTooLong or TooLarge for a turn that
// cannot be taken, NotFound for a conversation that is not the principal's,
// Conflict when the conversation is busy, or has the message already. Answers and approvals that do not fit
// what is open are refused as a whole: with CallUnknown when the call was never
// open to the client, CallAnswered when it has another answer, and CallClosed when
// its time was over or the conversation went on without it.
func (e *Engine) Submit(ctx context.Context, t Turn) (Ticket, error) {
	leave, err := e.enter()
	if err != nil {
		return Ticket{}, err
	}
	defer leave()
	if len(t.Answers)+len(t.Approvals) > 0 {
		if err := t.bounds(); err != nil {
			return Ticket{}, err
		}
		return e.answer(ctx, t)
	}
	return e.ask(ctx, &t)
}

// Subscribe gives the reader of a ticket: everything with Seq > After.
func (e *Engine) Subscribe(t Ticket) *hub.Reader { return t.reader }

// enter begins work that Drain waits for, such as a turn that may start a run; it
// is refused once the engine drains. leave ends it.
func (e *Engine) enter() (leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return nil, &footnote.Error{
			Code:       footnote.ModelUnavailable,
			Message:    "The server is shutting down. Try again in a moment.",
			RetryAfter: 5 * time.Second,
		}
	}
	e.work.Add(1) // under the lock, so never while Drain already waits for nothing
	return e.work.Done, nil
}

// ask starts a run for a message.
func (e *Engine) ask(ctx context.Context, t *Turn) (Ticket, error) {
	head, found, err := e.find(ctx, t)
	if err != nil {
		return Ticket{}, err
	}
	a, err := e.assistant(t.Principal, t.Assistant, head.Assistant)
	if err != nil {
		return Ticket{}, err
	}
	if err := a.message(t); err != nil {
		return Ticket{}, err
	}
	if t.rewinds() && !found {
		return Ticket{}, footnote.Errorf(footnote.NotFound, "There is no such conversation.")
	}
	if a.Unavailable != "" {
		return Ticket{}, footnote.Errorf(footnote.ModelUnavailable, "%s", a.Unavailable)
	}
	done, err := e.opts.Budget.Admit(ctx, t.Principal, head.ID)
	if err != nil {
		e.refused(*t, head.ID, err)
		return Ticket{}, err
	}
	t.admitted = done
	ticket, err := e.startIn(ctx, a, head, found, t)
	if err != nil {
		done()
	}
	return ticket, err
}

// refused tells about a question that a limit refused. Other errors, such as a store that is away, are no refusal.
func (e *Engine) refused(t Turn, conversation string, err error) {
	code := footnote.CodeOf(err)
	if e.opts.Refused == nil || code != footnote.BudgetExceeded && code != footnote.RateLimited {
		return
	}
	t.Conversation = conversation
	e.opts.Refused(t, err)
}

// startIn starts a run in a new conversation, or in one that was found.
func (e *Engine) startIn(ctx context.Context, a *Assistant, head footnote.Stream, found bool, t *Turn) (Ticket, error) {
	if !found {
		return e.open(ctx, a, t)
	}
	return e.goOn(ctx, a, head, t)
}

// goOn starts a run in a conversation that exists.
func (e *Engine) goOn(ctx context.Context, a *Assistant, head footnote.Stream, t *Turn) (Ticket, error) {
	for tries := noteTries; ; tries-- {
		again := *t
		ticket, raced, err := e.goOnce(ctx, a, head.ID, &again)
		if !raced || tries == 0 {
			return ticket, err
		}
	}
}

// goOnce is raced when another engine has written meanwhile.
func (e *Engine) goOnce(ctx context.Context, a *Assistant, stream string, t *Turn) (_ Ticket, raced bool, err error) {
	unlock, err := e.lock(ctx, stream)
	if err != nil {
		return Ticket{}, false, err
	}
	defer unlock()
	head, err := e.quiet(ctx, stream)
	if err != nil {
		return Ticket{}, false, err
	}
	if head.Last >= a.Limits.Events {
		return Ticket{}, false,
			footnote.Errorf(footnote.TooLarge,
				"The conversation has %d events, as many as one may have. Begin a new one.", head.Last)
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return Ticket{}, false, err
	}
	if err := e.mayGoOn(t.Principal, s); err != nil {
		return Ticket{}, false, err
	}
	if s.repeated(t) {
		return Ticket{}, false, footnote.Errorf(footnote.Conflict, "This message was asked already; its id is known.")
	}
	var bodies []footnote.Body
	if t.rewinds() {
		to, err := s.takeBack(a, t)
		if err != nil {
			return Ticket{}, false, err
		}
		bodies = append(bodies, footnote.Rewound{ToSeq: to})
	}
	if s.parked {
		if head, err = e.supersede(ctx, head, s); err != nil {
			return Ticket{}, e.raced(err), err
		}
	}
	for _, b := range bodies {
		s.rewind(b.(footnote.Rewound).ToSeq)
	}
	ticket, err := e.begin(ctx, e.newRun(head, a, s, *t), nil, bodies)
	return ticket, e.raced(err), err
}

// find returns the stream a turn is about, if it has one already.
func (e *Engine) find(ctx context.Context, t *Turn) (head footnote.Stream, found bool, err error) {
	p := t.Principal
	switch {
	case t.Conversation != "":
		head, err = e.opts.Log.Get(ctx, t.Conversation)
	case t.ClientID != "":
		if err := checkClientID(t.ClientID); err != nil {
			return head, false, err
		}
		head, err = e.opts.Log.Find(ctx, p.Org, p.User, "conversation", t.ClientID)
		if footnote.CodeOf(err) == footnote.NotFound {
			return head, false, nil
		}
	default:
		return head, false, nil
	}
	if err != nil && footnote.CodeOf(err) != footnote.NotFound {
		return head, false, err
	}
	// In the same words for one that is somebody else's as for one that is not there.
	if err != nil || !p.Owner(head.Org, head.User) || head.Kind != "conversation" {
		return head, false, &footnote.Error{
			Code:    footnote.NotFound,
			Message: "There is no such conversation.",
			Err:     err,
		}
	}
	return head, true, nil
}

func checkClientID(id string) error {
	ok := len(id) <= 128 && utf8.ValidString(id)
	for _, r := range id {
		ok = ok && unicode.IsPrint(r)
	}
	if !ok {
		return footnote.Errorf(footnote.InvalidRequest, "A conversation id is 1 to 128 bytes of printable UTF-8.")
	}
	return nil
}

// assistant returns the assistant of a turn. A conversation keeps its own.
func (e *Engine) assistant(p footnote.Principal, asked, own string) (*Assistant, error) {
	name := asked
	if name == "" {
		name = own
	}
	if name == "" {
		if a := e.first(p); a != nil {
			return a, nil
		}
		return nil, footnote.Errorf(footnote.ModelNotFound, "There is no assistant.")
	}
	a := e.byName[name]
	if a == nil || !e.opts.Access.Assistant(p, a.Name) {
		return nil, footnote.Errorf(footnote.ModelNotFound, "There is no assistant named %q.", name)
	}
	if own != "" && a.Name != own {
		return nil, footnote.Errorf(footnote.Conflict,
			"This conversation is held with the assistant %q; open a new one for %q.", own, a.Name)
	}
	return a, nil
}

// lock keeps other turns from changing a stream until unlock is called. It waits
// for them at most as long as ctx lasts.
func (e *Engine) lock(ctx context.Context, stream string) (unlock func(), err error) {
	e.mu.Lock()
	l := e.locks[stream]
	if l == nil {
		l = &streamLock{held: make(chan struct{}, 1)}
		e.locks[stream] = l
	}
	l.refs++
	e.mu.Unlock()
	leave := func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if l.refs--; l.refs == 0 {
			delete(e.locks, stream)
		}
	}
	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// quiet returns the head of a stream in which nothing is running. The stream must
// be locked.
func (e *Engine) quiet(ctx context.Context, stream string) (footnote.Stream, error) {
	if r := e.running(stream); r != nil {
		if !r.ending() {
			return footnote.Stream{}, busy()
		}
		if err := r.waitUntilOver(ctx); err != nil { // its readers may have seen its end before it is over
			return footnote.Stream{}, err
		}
	}
	if err := e.settleOrphan(ctx, stream); err != nil {
		return footnote.Stream{}, err
	}
	head, err := e.opts.Log.Get(ctx, stream)
	if err == nil && head.RunState == "running" {
		return head, busy()
	}
	return head, err
}

func busy() error {
	return footnote.Errorf(footnote.Conflict, "The conversation is still answering. Wait for the answer, or stop it.")
}

func (e *Engine) running(stream string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[stream]
}

// load folds the log of a stream.
func (e *Engine) load(ctx context.Context, head footnote.Stream) (*state, error) {
	s, stream := &state{}, head.ID
	last := int64(0)
	for _, ev := range e.recall.get(stream) {
		s.apply(ev)
		last = ev.Seq
	}
	for ev, err := range e.opts.Log.Events(ctx, stream, last) {
		if err != nil {
			return nil, err
		}
		s.apply(ev)
	}
	e.recall.put(stream, s.events)
	s.agree(head)
	return s, nil
}

// Stop ends the run of a conversation. One that has ended already, or that does
// not exist, is left as it is. One that another engine drives is asked to end, which
// is not waited for.
func (e *Engine) Stop(ctx context.Context, conversation, by string) error {
	for tries := noteTries; ; tries-- {
		if err := e.stopOnce(ctx, conversation, by); !e.raced(err) || tries == 0 {
			return err
		}
	}
}

func (e *Engine) stopOnce(ctx context.Context, conversation, by string) error {
	if done, err := e.stopRunning(ctx, conversation, by); done {
		return err
	}
	if done, err := e.stopElsewhere(ctx, conversation, by); done {
		return err
	}
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	unlock, err := e.lock(ctx, conversation)
	if err != nil {
		return err
	}
	defer unlock()
	// Nobody starts a run while the stream is locked; somebody may have before.
	if done, err := e.stopRunning(ctx, conversation, by); done {
		return err
	}
	head, err := e.opts.Log.Get(ctx, conversation)
	if footnote.CodeOf(err) == footnote.NotFound {
		return nil
	}
	if err != nil || head.RunState != "parked" {
		return err
	}
	s, err := e.load(ctx, head)
	if err != nil {
		return err
	}
	_, err = e.closeRun(ctx, head, s, "The run was stopped.", footnote.RunStopped{By: by})
	return err
}

// stopRunning cancels the run of a conversation that this engine drives, if there
// is one. It is not done when there is none any more: it ended or parked before it
// could notice.
func (e *Engine) stopRunning(ctx context.Context, conversation, by string) (done bool, err error) {
	r := e.running(conversation)
	if r == nil {
		return false, nil
	}
	r.cancel(stopped{by})
	if !r.isClosed() {
		return true, nil // whatever it does next, it finds that it was stopped
	}
	err = r.waitUntilOver(ctx)
	return err != nil, err
}

// strayTime is how long Drain waits for tools that ignore that their run is over.
const strayTime = 5 * time.Second

// Drain refuses new turns and waits for the running ones. When ctx ends it cancels
// them with ErrShutdown, and still waits: no run outlives it. Tools that go on
// although their run is over are waited for a few seconds. It may be called twice.
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
	stray := time.NewTimer(strayTime)
	defer stray.Stop()
	select {
	case <-waited(&e.tools):
	case <-stray.C:
		e.opts.Logger.Error("a tool goes on after the end; the process must end to stop it")
	}
}

// waited is closed when wg's count is zero.
func waited(wg *sync.WaitGroup) <-chan struct{} {
	c := make(chan struct{})
	go func() { wg.Wait(); close(c) }()
	return c
}

func (e *Engine) live() []*run {
	e.mu.Lock()
	defer e.mu.Unlock()
	runs := make([]*run, 0, len(e.runs))
	for _, r := range e.runs {
		runs = append(runs, r)
	}
	return runs
}
