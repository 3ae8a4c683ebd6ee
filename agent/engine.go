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
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/hub"
)

// Why a run's context ends.
var (
	ErrShutdown = errors.New("the server is shutting down")
	errRunTime  = errors.New("the run's time is over")
)

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
	Before   []BeforeTool
	After    []AfterTool
	Metrics  Metrics
	Logger   *slog.Logger
	Owner    string        // of leases; default random
	LeaseTTL time.Duration // default 30 s
	Now      func() time.Time
}

// Metrics is told what happened.
type Metrics interface {
	RunEnded(assistant, outcome string, d time.Duration)
	StepEnded(model string, u footnote.Usage, c footnote.Cost, d time.Duration, failed bool)
	ToolEnded(name, outcome string, d time.Duration)
}

type noMetrics struct{}

func (noMetrics) RunEnded(string, string, time.Duration)                               {}
func (noMetrics) StepEnded(string, footnote.Usage, footnote.Cost, time.Duration, bool) {}
func (noMetrics) ToolEnded(string, string, time.Duration)                              {}

// Engine runs the assistants' conversations. Its methods may be called from
// several goroutines.
type Engine struct {
	opts   Options
	byName map[string]*Assistant
	ctx    context.Context // parent of all runs
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu       sync.Mutex // guards below
	runs     map[string]*run
	orphans  map[string]int64 // leases of runs whose events could not be written
	locks    map[string]*streamLock
	draining bool
}

// streamLock lets one turn at a time change a stream from outside of its run.
type streamLock struct {
	mu   sync.Mutex
	refs int
}

// New checks the options and makes an engine. Stop must be called in the end.
func New(opts Options) (*Engine, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Metrics == nil {
		opts.Metrics = noMetrics{}
	}
	if opts.Owner == "" {
		opts.Owner = rand.Text()
	}
	if opts.LeaseTTL <= 0 {
		opts.LeaseTTL = 30 * time.Second
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
		runs:    map[string]*run{},
		orphans: map[string]int64{},
		locks:   map[string]*streamLock{},
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
	e.wg.Go(e.tend)
	return e, nil
}

func (e *Engine) register(a *Assistant) error {
	a.Limits = a.Limits.withDefaults()
	if err := a.Policy.Check(); err != nil {
		return fmt.Errorf("assistant %s: %w", a.Name, err)
	}
	seen := map[string]bool{}
	for _, t := range a.Tools {
		if name := t.Spec().Name; seen[name] {
			return fmt.Errorf("assistant %s: two tools are named %s", a.Name, name)
		} else {
			seen[name] = true
		}
	}
	for _, name := range append([]string{a.Name}, a.Aliases...) {
		if e.byName[name] != nil {
			return fmt.Errorf("two assistants are named %s", name)
		}
		e.byName[name] = a
	}
	return nil
}

// Assistants describes the assistants, the default one first.
func (e *Engine) Assistants() []AssistantInfo {
	infos := make([]AssistantInfo, 0, len(e.opts.Assistants))
	for _, a := range e.opts.Assistants {
		infos = append(infos, AssistantInfo{Name: a.Name, Aliases: a.Aliases, Model: a.ModelName, Created: a.Created})
	}
	return infos
}

// Submit takes a turn and returns once its run is under way; its first events may
// not be committed yet. The ticket's reader, from Subscribe, must be closed.
//
// The error's code is InvalidRequest or InputTooLong for a turn that cannot be
// taken, NotFound for a conversation that is not the principal's, Conflict when
// the conversation is busy or the answers do not fit what is open.
func (e *Engine) Submit(ctx context.Context, t Turn) (Ticket, error) {
	if e.isDraining() {
		return Ticket{}, &footnote.Error{Code: footnote.ModelUnavailable, Message: "The server is shutting down. Try again in a moment.", RetryAfter: 5 * time.Second}
	}
	if len(t.Answers)+len(t.Approvals) > 0 {
		return e.answer(ctx, t)
	}
	return e.ask(ctx, t)
}

// Subscribe gives the reader of a ticket: everything with Seq > After.
func (e *Engine) Subscribe(t Ticket) *hub.Reader { return t.reader }

func (e *Engine) isDraining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}

// ask starts a run for a message.
func (e *Engine) ask(ctx context.Context, t Turn) (Ticket, error) {
	head, found, err := e.find(ctx, t)
	if err != nil {
		return Ticket{}, err
	}
	a, err := e.assistant(t.Assistant, head.Assistant)
	if err != nil {
		return Ticket{}, err
	}
	if n := utf8.RuneCountInString(t.Text); n > a.Limits.InputSize {
		return Ticket{}, footnote.Errorf(footnote.InputTooLong, "The message has %d characters; at most %d are allowed.", n, a.Limits.InputSize)
	}
	if !found {
		return e.open(ctx, a, t)
	}
	defer e.lock(head.ID)()
	if head, err = e.quiet(ctx, head.ID); err != nil {
		return Ticket{}, err
	}
	s, err := e.load(ctx, head.ID)
	if err != nil {
		return Ticket{}, err
	}
	if s.parked {
		if head, err = e.supersede(ctx, head, s); err != nil {
			return Ticket{}, err
		}
	}
	return e.start(head, a, s, t)
}

// find returns the stream a turn is about, if it has one already.
func (e *Engine) find(ctx context.Context, t Turn) (head footnote.Stream, found bool, err error) {
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
	if err != nil {
		return head, false, err
	}
	if !p.Owner(head.Org, head.User) || head.Kind != "conversation" {
		return head, false, footnote.Errorf(footnote.NotFound, "There is no such conversation.")
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
func (e *Engine) assistant(asked, own string) (*Assistant, error) {
	name := asked
	if name == "" {
		name = own
	}
	if name == "" {
		return e.opts.Assistants[0], nil
	}
	a := e.byName[name]
	if a == nil {
		return nil, footnote.Errorf(footnote.ModelNotFound, "There is no assistant named %q.", name)
	}
	if own != "" && a.Name != own {
		return nil, footnote.Errorf(footnote.Conflict, "This conversation is held with the assistant %q; open a new one for %q.", own, a.Name)
	}
	return a, nil
}

// lock keeps other turns from changing a stream until the returned func is called.
func (e *Engine) lock(stream string) (unlock func()) {
	e.mu.Lock()
	l := e.locks[stream]
	if l == nil {
		l = &streamLock{}
		e.locks[stream] = l
	}
	l.refs++
	e.mu.Unlock()
	l.mu.Lock()
	return func() {
		l.mu.Unlock()
		e.mu.Lock()
		defer e.mu.Unlock()
		if l.refs--; l.refs == 0 {
			delete(e.locks, stream)
		}
	}
}

// quiet returns the head of a stream in which nothing is running. The stream must
// be locked.
func (e *Engine) quiet(ctx context.Context, stream string) (footnote.Stream, error) {
	busy := footnote.Errorf(footnote.Conflict, "The conversation is still answering. Wait for the answer, or stop it.")
	if r := e.running(stream); r != nil {
		if !r.ending() {
			return footnote.Stream{}, busy
		}
		select {
		case <-r.done: // its readers may have seen its end before it is over
		case <-ctx.Done():
			return footnote.Stream{}, context.Cause(ctx)
		}
	}
	if err := e.adopt(ctx, stream); err != nil {
		return footnote.Stream{}, err
	}
	head, err := e.opts.Log.Get(ctx, stream)
	if err == nil && head.RunState == "running" {
		return head, busy
	}
	return head, err
}

func (e *Engine) running(stream string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[stream]
}

// adopt closes a run of ours whose last events could not be written.
func (e *Engine) adopt(ctx context.Context, stream string) error {
	e.mu.Lock()
	token, ok := e.orphans[stream]
	e.mu.Unlock()
	if !ok {
		return nil
	}
	if token != 0 {
		if err := e.opts.Log.Release(ctx, stream, token); err != nil {
			return err
		}
	}
	head, err := e.opts.Log.Get(ctx, stream)
	if err != nil && footnote.CodeOf(err) != footnote.NotFound {
		return err
	}
	if err == nil && head.Run != "" && head.RunState == "running" {
		if err := e.interrupt(ctx, head); err != nil {
			return err
		}
	}
	e.mu.Lock()
	delete(e.orphans, stream)
	e.mu.Unlock()
	return nil
}

// load folds the log of a stream.
func (e *Engine) load(ctx context.Context, stream string) (*state, error) {
	s := &state{}
	for ev, err := range e.opts.Log.Events(ctx, stream, 0) {
		if err != nil {
			return nil, err
		}
		s.apply(ev)
	}
	return s, nil
}

// Complete makes one model call without tools and without storing anything: for
// side jobs such as titles.
func (e *Engine) Complete(ctx context.Context, p footnote.Principal, prompt string) (string, footnote.Usage, error) {
	a := e.opts.Assistants[0]
	ctx, cancel := context.WithTimeoutCause(ctx, 60*time.Second, errRunTime)
	defer cancel()
	reply, err := a.Model.Step(ctx, Request{
		Principal: p,
		Model:     a.ModelName,
		System:    []byte(`[]`),
		Tools:     []byte(`[]`),
		Messages:  []Message{{Role: "user", Content: textContent(prompt)}},
		NoTools:   true,
		MaxCost:   a.Limits.MicroUSD,
	}, deaf{})
	if err != nil {
		return "", footnote.Usage{}, err
	}
	return Text(reply.Message.Blocks), reply.Message.Usage, nil
}

// Stop ends the run of a conversation. One that has ended already, or that does
// not exist, is left as it is.
func (e *Engine) Stop(ctx context.Context, conversation, by string) error {
	if r := e.running(conversation); r != nil {
		r.cancel(stopped{by})
		return nil
	}
	defer e.lock(conversation)()
	if r := e.running(conversation); r != nil {
		r.cancel(stopped{by})
		return nil
	}
	head, err := e.opts.Log.Get(ctx, conversation)
	if err != nil || head.RunState != "parked" {
		return err
	}
	s, err := e.load(ctx, conversation)
	if err != nil {
		return err
	}
	_, err = e.closeRun(ctx, head, s, "The run was stopped.", by)
	return err
}

// Drain refuses new turns and waits for the running ones. When ctx ends it cancels
// them with ErrShutdown, and still waits: no goroutine outlives it. It may be
// called twice.
func (e *Engine) Drain(ctx context.Context) {
	e.mu.Lock()
	e.draining = true
	e.mu.Unlock()
	for _, r := range e.live() {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
	}
	e.cancel(ErrShutdown)
	e.wg.Wait()
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
