// Package audit writes one JSON line for every run that has ended: who asked what,
// which statements ran, what they gave, what was answered, and what it cost. It is
// a projection of the log with a durable cursor: each run is written at least
// once, also after a crash or a full disk, and no answer ever waits for it.
package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
)

// Log is what the audit needs of a store.
type Log interface {
	Tail(ctx context.Context, after int64, limit int) ([]store.Positioned, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	Cursor(ctx context.Context, name string) (int64, error)
	SetCursor(ctx context.Context, name string, position int64) error
}

// Sink takes whole lines, one or several. Write returns only when they cannot be
// lost any more by the process ending.
type Sink interface {
	Write(lines []byte) error
}

// Options are what an audit is made of. Log and Sinks are required. Every sink has
// a cursor of its own, so that one which is full does not hold up the other.
type Options struct {
	Log     Log
	Inbox   *Inbox           // entries about what the log does not hold; nil: there are none
	Sinks   map[string]Sink  // by a name that stays the same: the cursor's
	Verbose bool             // each tool call with its reason, time, input and output, too
	Secrets []string         // never written, wherever they appear
	Redact  []*regexp.Regexp // nor what one of them matches
	Logger  *slog.Logger
	Poll    time.Duration // default 1 s
	// Lead gives this process a sink to itself, of those that share the log, until
	// release is called; it does not wait for that. Nil: there is no other.
	Lead func(ctx context.Context, sink string) (release func(), ok bool, err error)
}

// Entry is one line.
type Entry struct {
	// Type is "audit" for a question, "query" for a statement that a person ran, "generate_sql" for one that was
	// written for a person, "side_job" for one that a chat front end asked for, and "title" or "summary" for a call of
	// the model beside the runs.
	Type      string `json:"type"`
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id,omitempty"` // a person's own statement has none
	Timestamp string `json:"timestamp"`        // RFC 3339, when the run ended
	Org       string `json:"org"`
	User      string `json:"user"`
	Door      string `json:"door"`
	RequestID string `json:"request_id,omitempty"`
	Outcome   string `json:"outcome"`         // finished, failed, stopped, or refused before it began
	Error     string `json:"error,omitempty"` // why it did not finish: an error's code, or who stopped it
	// ErrorMessage is what the client was told of a run that failed.
	ErrorMessage string    `json:"error_message,omitempty"`
	Question     string    `json:"user_question"`
	Queries      []string  `json:"sql_queries_executed"`
	Results      []Summary `json:"query_results_summary"`
	Response     string    `json:"final_response"`
	// the run broke off: Response is what the log has of what was shown
	Incomplete bool     `json:"final_response_incomplete,omitempty"`
	Unresolved []string `json:"unresolved_numerals,omitempty"`
	// events of the run that cannot be read: the line lacks what they say
	Unreadable []int64    `json:"unreadable_events,omitempty"`
	Calls      []ToolCall `json:"tool_calls,omitempty"` // verbose only
	Metadata   Metadata   `json:"metadata"`
}

// Summary is what became of the statement that stands in the same place of Queries.
type Summary struct {
	// the tables it reads, as its engine's grammar says; empty when that was not asked
	Table     string   `json:"table"`
	RowCount  int      `json:"row_count"` // rows that were read
	Columns   []string `json:"columns"`
	Outcome   string   `json:"outcome"` // a footnote.Statement's
	Source    string   `json:"source,omitempty"`
	InBrowser bool     `json:"in_browser,omitempty"` // the user's page ran it, and says so
}

// ToolCall is one call, for the verbose audit.
type ToolCall struct {
	Name    string `json:"name"`
	Thought string `json:"thought,omitempty"`
	Millis  int64  `json:"millis"`
	IsError bool   `json:"is_error,omitempty"`
	By      string `json:"by,omitempty"`     // who answered it: server, client, user or recovery
	Input   string `json:"input,omitempty"`  // its arguments, JSON: a command, a transform, a statement
	Output  string `json:"output,omitempty"` // what the model read
	Cut     bool   `json:"cut,omitempty"`    // input or output are longer
}

// Metadata is what a run took.
type Metadata struct {
	Model            string   `json:"model"`
	PromptTokens     *int64   `json:"prompt_tokens"`
	CompletionTokens *int64   `json:"completion_tokens"`
	CostUSD          *float64 `json:"cost_estimate_usd"`
	Unpriced         bool     `json:"cost_is_upper_bound,omitempty"`
	DurationSeconds  float64  `json:"duration_seconds"`
	ToolCallCount    int      `json:"tool_call_count"`
}

// Audit follows the log. Make it with New, let Run work, and Wake it when a run
// has ended.
type Audit struct {
	opts Options
	wake map[string]chan struct{}
	lag  map[string]*atomic.Int64
	at   map[string]*atomic.Int64 // the cursor, as this process left it
	took map[string]*atomic.Int64 // the number of the next entry of the inbox
	lost map[string]*atomic.Int64 // entries of the inbox that were dropped since the sink took some last
	scan func(string) string      // takes secrets out
}

// New checks the options.
func New(opts Options) (*Audit, error) {
	if opts.Log == nil || len(opts.Sinks) == 0 {
		return nil, fmt.Errorf("an audit needs a log and at least one sink")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Poll <= 0 {
		opts.Poll = time.Second
	}
	a := &Audit{
		opts: opts, wake: map[string]chan struct{}{}, lag: map[string]*atomic.Int64{}, at: map[string]*atomic.Int64{},
		took: map[string]*atomic.Int64{}, lost: map[string]*atomic.Int64{},
		scan: without(Replacer(opts.Secrets), opts.Redact),
	}
	for name := range opts.Sinks {
		a.wake[name] = make(chan struct{}, 1)
		a.lag[name], a.at[name] = new(atomic.Int64), new(atomic.Int64)
		a.took[name], a.lost[name] = new(atomic.Int64), new(atomic.Int64)
	}
	if opts.Inbox != nil {
		opts.Inbox.wakes(a.Wake)
	}
	return a, nil
}

// without is scan, and then without what a pattern matches.
func without(scan func(string) string, patterns []*regexp.Regexp) func(string) string {
	return func(text string) string {
		text = scan(text)
		for _, p := range patterns {
			text = p.ReplaceAllLiteralString(text, "***")
		}
		return text
	}
}

// Note writes a line of another kind to all sinks, at once.
func (a *Audit) Note(line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("encode a line of the audit: %w", err)
	}
	var errs []error
	for _, sink := range a.opts.Sinks {
		errs = append(errs, sink.Write(append([]byte(a.scan(string(data))), '\n')))
	}
	return errors.Join(errs...)
}

// Wake says that there may be something new.
func (a *Audit) Wake() {
	for _, c := range a.wake {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Lag is how many events the slowest sink is behind the log, at least.
func (a *Audit) Lag() int64 {
	var most int64
	for _, l := range a.lag {
		most = max(most, l.Load())
	}
	return most
}

// Run follows the log until ctx ends; then it writes what there still is, for at
// most grace. It does not wait longer for a sink that hangs, such as a pipe that
// nobody reads: what was not written is written at the next start.
func (a *Audit) Run(ctx context.Context, grace time.Duration) {
	var following sync.WaitGroup
	for name, sink := range a.opts.Sinks {
		following.Go(func() { a.follow(ctx, grace, name, sink) })
	}
	done := make(chan struct{})
	go func() { following.Wait(); close(done) }()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	late := time.NewTimer(grace + time.Second)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		a.opts.Logger.Error("an audit sink does not respond; stopping without it")
	}
}

func (a *Audit) follow(ctx context.Context, grace time.Duration, name string, sink Sink) {
	poll := time.NewTicker(a.opts.Poll)
	defer poll.Stop()
	failing := false
	under := underway{}
	for {
		err := errors.Join(a.empty(name, sink), a.catchUp(ctx, name, sink, under))
		if err != nil && ctx.Err() == nil && !failing {
			a.opts.Logger.Error("cannot write the audit; retrying", "sink", name, "err", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
			defer cancel()
			if err := errors.Join(a.empty(name, sink), a.catchUp(last, name, sink, under)); err != nil {
				a.opts.Logger.Error("the audit is incomplete; the next start continues it", "sink", name, "err", err)
			}
			return
		case <-poll.C:
		case <-a.wake[name]:
			// Under load many runs end at about the same time: they share a write.
			gather(ctx, gatherTime)
		}
	}
}

// gatherTime is how long the audit waits for more runs to end before it writes.
const gatherTime = 200 * time.Millisecond

func gather(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// underway is the events, by run, of runs that have not ended at a sink's cursor.
type underway map[string][]footnote.Event

// mostUnderway bounds the runs of an underway. More are read again when they end.
const mostUnderway = 2_000

// empty writes the entries of the inbox that a sink does not have yet. It logs twice about those that were dropped:
// when the first is, and how many there are when the sink takes entries again.
func (a *Audit) empty(name string, sink Sink) error {
	if a.opts.Inbox == nil {
		return nil
	}
	entries, end, dropped := a.opts.Inbox.after(a.took[name].Load())
	if a.lost[name].Swap(dropped) == 0 && dropped > 0 {
		a.opts.Logger.Error("audit sink is too far behind; dropping audit lines", "sink", name)
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, data := range entries {
		var e Entry
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("decode a line of the audit: %w", err)
		}
		if err := a.encode(enc, e); err != nil {
			return err
		}
	}
	if len(entries) > 0 {
		if err := sink.Write(lines.Bytes()); err != nil {
			return err
		}
	}
	if lost := a.lost[name].Swap(0); lost > 0 {
		a.opts.Logger.Error("audit lines were dropped", "sink", name, "lines", lost)
	}
	a.took[name].Store(end)
	for _, n := range a.took {
		end = min(end, n.Load())
	}
	a.opts.Inbox.forget(end)
	return nil
}

// catchUp writes the runs that ended since the sink's cursor. When it fails, what
// it read will be read again.
func (a *Audit) catchUp(ctx context.Context, name string, sink Sink, under underway) (err error) {
	defer func() {
		if err != nil {
			clear(under)
		}
	}()
	if a.opts.Lead != nil {
		release, ok, err := a.opts.Lead(ctx, name)
		if err != nil || !ok {
			return err // another one is at it
		}
		defer release()
	}
	cursor, err := a.opts.Log.Cursor(ctx, "audit/"+name)
	if err != nil {
		return err
	}
	if a.at[name].Swap(cursor) != cursor {
		clear(under) // another one went on: what it read is not here
	}
	defer func() { a.at[name].Store(cursor) }()
	for {
		batch, err := a.opts.Log.Tail(ctx, cursor, 500)
		if err != nil || len(batch) == 0 {
			if err == nil {
				a.lag[name].Store(0)
			}
			return err
		}
		a.lag[name].Store(int64(len(batch)))
		lines, err := a.lines(ctx, batch, under)
		if err != nil {
			return err
		}
		if len(lines) > 0 {
			if err := sink.Write(lines); err != nil {
				return err
			}
		}
		cursor = batch[len(batch)-1].Position
		if err := a.opts.Log.SetCursor(ctx, "audit/"+name, cursor); err != nil {
			return err
		}
	}
}

// lines are those of the runs that ended in a batch, together: they are synced
// once.
func (a *Audit) lines(ctx context.Context, batch []store.Positioned, runs underway) ([]byte, error) {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines) // one line for each
	for _, ev := range batch {
		if entry, ok := outsideRuns(ev.Event); ok {
			entry.Org, entry.User = ev.Org, ev.User
			if err := a.encode(enc, entry); err != nil {
				return nil, err
			}
		}
		if ev.Run == "" {
			continue
		}
		switch ev.Body.(type) {
		case footnote.Imported:
			continue // long, and no part of an entry
		case footnote.RunParked:
			delete(runs, ev.Run) // it may wait for long, and costs nothing
			continue
		}
		runs[ev.Run] = append(runs[ev.Run], ev.Event)
		if !footnote.Terminal(ev.Body) {
			if len(runs) > mostUnderway {
				clear(runs)
			}
			continue
		}
		events := runs[ev.Run]
		delete(runs, ev.Run)
		if !begins(events[0].Body) {
			var err error
			if events, err = a.read(ctx, ev); err != nil {
				return nil, err
			}
			if len(events) == 0 {
				continue // deleted meanwhile, as its owner wished
			}
		}
		entry := Describe(events, a.opts.Verbose)
		entry.Org, entry.User = ev.Org, ev.User
		if entry.Metadata.Model == "" {
			var err error
			if entry.Metadata.Model, err = a.model(ctx, ev.Stream); err != nil {
				return nil, err
			}
		}
		if err := a.encode(enc, entry); err != nil {
			return nil, err
		}
	}
	return lines.Bytes(), nil
}

// encode writes an entry, without secrets.
func (a *Audit) encode(enc *json.Encoder, e Entry) error {
	e.redact(a.scan)
	e.bound()
	if err := enc.Encode(e); err != nil {
		return fmt.Errorf("encode the audit of %s: %w", e.SessionID, err)
	}
	return nil
}

// begins reports whether a body is one of those a run's events begin with.
func begins(b footnote.Body) bool {
	switch b := b.(type) {
	case footnote.Opened:
		return true
	case footnote.UserMessage:
		return b.Text != ""
	}
	return false
}

// read reads the events of a run from its stream.
func (a *Audit) read(ctx context.Context, end store.Positioned) ([]footnote.Event, error) {
	var events []footnote.Event
	// A run has far fewer events than that; a long conversation is not read whole.
	for ev, err := range a.opts.Log.Events(ctx, end.Stream, max(0, end.Seq-10_000)) {
		if footnote.CodeOf(err) == footnote.NotFound {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the run of %s: %w", end.Stream, err)
		}
		if ev.Seq > end.Seq {
			break
		}
		if ev.Run == end.Run {
			events = append(events, ev)
		}
	}
	return events, nil
}

// model is the model that a conversation was opened with: that of a run which ended
// before its model said anything. It is empty when that is not known.
func (a *Audit) model(ctx context.Context, stream string) (string, error) {
	read := 0
	for ev, err := range a.opts.Log.Events(ctx, stream, 0) {
		if footnote.CodeOf(err) == footnote.NotFound {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("read the opening of %s: %w", stream, err)
		}
		if b, ok := ev.Body.(footnote.Opened); ok {
			return b.Model, nil
		}
		if read++; read == openingSize {
			break // it is at the beginning, or nowhere
		}
	}
	return "", nil
}

// openingSize is how many events of a conversation may come before its opening.
const openingSize = 10

// Describe is the entry of one run, from all its events.
func Describe(events []footnote.Event, verbose bool) Entry {
	e := Entry{Type: "audit", Queries: []string{}, Results: []Summary{}}
	answered := false
	inputs := map[string]json.RawMessage{}
	for _, ev := range events {
		e.SessionID, e.RunID = ev.Stream, ev.Run
		e.Timestamp = ev.Time.UTC().Format(time.RFC3339Nano)
		switch b := ev.Body.(type) {
		case footnote.Opened:
			e.Metadata.Model = b.Model
		case footnote.UserMessage:
			if b.Text != "" {
				e.Question = b.Text
			}
		case footnote.RunStarted:
			e.Door, e.RequestID = b.Door, b.RequestID
		case footnote.AssistantMessage:
			e.message(b, inputs)
		case footnote.StepFailed:
			e.say(b.Partial)
		case footnote.ToolResult:
			e.result(b, inputs[b.CallID], verbose)
		case footnote.Answered:
			answered = true
			if !strings.HasSuffix(strings.TrimSpace(e.Response), strings.TrimSpace(b.Text)) {
				e.say(b.Text) // such as the best answer at a limit
			}
			for _, u := range b.Unresolved {
				e.Unresolved = append(e.Unresolved, u.Text)
			}
		case footnote.RunFinished:
			e.Outcome = "finished"
			e.Took(b.Usage, b.Cost, b.Millis)
		case footnote.RunFailed:
			e.Outcome, e.Error, e.ErrorMessage = "failed", string(b.Code), b.Message
			e.Took(b.Usage, b.Cost, b.Millis)
		case footnote.RunStopped:
			e.Outcome, e.Error = "stopped", b.By
			e.Took(b.Usage, b.Cost, b.Millis)
		case footnote.Unreadable:
			e.Unreadable = append(e.Unreadable, ev.Seq)
			if footnote.Terminal(b) {
				e.Outcome = strings.TrimPrefix(b.Kind, "run_")
			}
		}
	}
	e.Incomplete = !answered && e.Outcome != "finished"
	return e
}

// outsideRuns returns the entry of an event that has one without being part of a run: a statement that a person ran
// beside a conversation, or a call of the model for a title or a summary.
func outsideRuns(ev footnote.Event) (Entry, bool) {
	switch b := ev.Body.(type) {
	case footnote.QueryRun:
		e := NewEntry("query", ev.Time)
		e.SessionID = ev.Stream
		st := ofResult(b.Result)
		st.Tables, st.InBrowser = b.Tables, b.Result.Source == "client"
		e.Statement(st)
		e.Metadata.DurationSeconds = float64(b.Millis) / 1000
		return e, true
	case footnote.Titled:
		if b.Usage == (footnote.Usage{}) && b.Cost == (footnote.Cost{}) {
			return Entry{}, false // a person gave the title, or it is the beginning of the question
		}
		e := NewEntry("title", ev.Time)
		e.SessionID, e.Response, e.Metadata.Model = ev.Stream, b.Title, b.Model
		e.Took(b.Usage, b.Cost, b.Millis)
		return e, true
	case footnote.Spent:
		if b.For == "" {
			return Entry{}, false // the caller of the model tells the audit itself
		}
		e := NewEntry(b.For, ev.Time)
		e.SessionID, e.Outcome, e.Metadata.Model = b.Conversation, "failed", b.Model
		e.Took(b.Usage, b.Cost, 0)
		return e, true
	}
	return Entry{}, false
}

// NewEntry returns an entry of a type whose outcome is "finished".
func NewEntry(kind string, at time.Time) Entry {
	return Entry{
		Type: kind, Timestamp: at.UTC().Format(time.RFC3339Nano), Outcome: "finished",
		Queries: []string{}, Results: []Summary{},
	}
}

// Failed sets the outcome of something that ended with an error: "refused" when a limit did not allow it.
func (e *Entry) Failed(err error) {
	e.Outcome, e.Error, e.ErrorMessage = "failed", string(footnote.CodeOf(err)), footnote.MessageOf(err)
	if code := footnote.CodeOf(err); code == footnote.BudgetExceeded || code == footnote.RateLimited {
		e.Outcome = "refused"
	}
}

// say adds a text that the client was shown to those before it. Texts of several
// messages are set apart by a blank line, as the doors do.
func (e *Entry) say(text string) {
	switch {
	case strings.TrimSpace(text) == "":
	case e.Response == "":
		e.Response = text
	default:
		e.Response += "\n\n" + text
	}
}

func (e *Entry) message(m footnote.AssistantMessage, inputs map[string]json.RawMessage) {
	e.Metadata.Model = cmp.Or(m.Model, e.Metadata.Model)
	var said strings.Builder
	for _, b := range agent.Shown(m.Blocks) {
		if b.Kind == model.TextBlock {
			said.WriteString(b.Text)
		}
		if b.ID != "" { // also of the call that gives the answer
			e.Metadata.ToolCallCount++
			inputs[b.ID] = b.Input
		}
	}
	e.say(said.String())
}

func (e *Entry) result(r footnote.ToolResult, input json.RawMessage, verbose bool) {
	var in struct{ SQL, Source, Thought string }
	_ = json.Unmarshal(input, &in) // any shape; what is missing stays empty
	for _, st := range statementsOf(r, in.SQL, in.Source) {
		e.Statement(st)
	}
	if verbose {
		e.Calls = append(e.Calls, ToolCall{
			Name: r.Name, Thought: in.Thought, Millis: r.Millis, IsError: r.IsError, By: r.By, Input: string(input),
			Output: r.Content,
		})
	}
}

// statementsOf are the statements of a call. Logs of older programs do not name them:
// there the stored result and the fault tell.
func statementsOf(r footnote.ToolResult, sql, source string) []footnote.Statement {
	switch {
	case r.Statements != nil:
		return r.Statements
	case r.Result != nil && r.Result.SQL != "":
		st := ofResult(*r.Result)
		st.InBrowser = r.By == "client"
		if r.CacheHit {
			st.Outcome = footnote.StatementCached
		}
		return []footnote.Statement{st}
	case sql == "":
		return nil
	}
	// a fault is an outcome
	st := footnote.Statement{SQL: sql, Source: source, Outcome: cmp.Or(r.Fault, footnote.StatementNotRun)}
	if r.By == "recovery" {
		st.Outcome = footnote.StatementCancelled
	}
	return []footnote.Statement{st}
}

// ofResult is the statement of a stored result.
func ofResult(r footnote.StoredResult) footnote.Statement {
	st := footnote.Statement{SQL: r.SQL, Source: r.Source, RowCount: r.RowCount, Outcome: footnote.StatementExecuted}
	if r.Truncated && r.Source != "client" { // of a client's result only the rows that came here are cut
		st.Outcome = footnote.StatementTruncated
	}
	for _, c := range r.Columns {
		st.Columns = append(st.Columns, c.Name)
	}
	return st
}

// Statement adds a statement and, in the same place, what became of it.
func (e *Entry) Statement(st footnote.Statement) {
	e.Queries = append(e.Queries, st.SQL)
	e.Results = append(e.Results, Summary{
		Table: strings.Join(st.Tables, ", "), RowCount: st.RowCount, Columns: append([]string{}, st.Columns...),
		Outcome: st.Outcome, Source: st.Source, InBrowser: st.InBrowser,
	})
}

// Took sets what the model has used, and how long it took.
func (e *Entry) Took(u footnote.Usage, c footnote.Cost, millis int64) {
	e.Metadata.PromptTokens, e.Metadata.CompletionTokens = new(u.Prompt()), new(u.Output)
	e.Metadata.CostUSD, e.Metadata.Unpriced = new(c.USD()), c.Unpriced
	e.Metadata.DurationSeconds = float64(millis) / 1000
}

// Bounds of what the verbose audit keeps, in bytes: of the input and the output of one
// call, and of all of a run.
const (
	mostOfCall = 16 << 10
	mostOfRun  = 512 << 10
)

// bound cuts what the verbose audit keeps of the calls. It comes after redact: of a
// secret that is cut in two, each half would pass.
func (e *Entry) bound() {
	left := mostOfRun
	for i := range e.Calls {
		c := &e.Calls[i]
		for _, text := range []*string{&c.Input, &c.Output} {
			if most := min(mostOfCall, left); len(*text) > most {
				*text, c.Cut = strings.ToValidUTF8((*text)[:most], ""), true
			}
			left -= len(*text)
		}
	}
}

// redact changes every text of an entry that came from a person, a model or a tool.
func (e *Entry) redact(clean func(string) string) {
	for _, text := range []*string{
		&e.SessionID, &e.RunID, &e.Org, &e.User, &e.Door, &e.RequestID, &e.Error, &e.ErrorMessage, &e.Question,
		&e.Response, &e.Metadata.Model,
	} {
		*text = clean(*text)
	}
	for _, list := range [][]string{e.Queries, e.Unresolved} {
		redactAll(list, clean)
	}
	for i := range e.Results {
		e.Results[i].Table, e.Results[i].Source = clean(e.Results[i].Table), clean(e.Results[i].Source)
		redactAll(e.Results[i].Columns, clean)
	}
	for i := range e.Calls {
		c := &e.Calls[i]
		c.Name, c.Thought, c.Input, c.Output = clean(c.Name), clean(c.Thought), clean(c.Input), clean(c.Output)
	}
}

func redactAll(list []string, clean func(string) string) {
	for i := range list {
		list[i] = clean(list[i])
	}
}

// Replacer takes secrets out of texts: as they are, and as they stand in JSON that
// a text quotes. The longest come first, so that of two secrets of which one begins
// with the other nothing is left.
func Replacer(secrets []string) func(string) string {
	var forms []string
	for _, s := range secrets {
		if len(s) < 4 {
			continue // it would take words apart
		}
		level := []string{s}
		for range 3 {
			forms = append(forms, level...)
			var next []string
			for _, f := range level {
				q := quoted(f)
				next = append(next, q, htmlEscapes.Replace(q))
			}
			level = next
		}
	}
	slices.Sort(forms)
	forms = slices.Compact(forms) // most secrets look the same in JSON
	sort.SliceStable(forms, func(i, j int) bool { return len(forms[i]) > len(forms[j]) })
	pairs := make([]string, 0, 2*len(forms))
	for _, f := range forms {
		pairs = append(pairs, f, "***")
	}
	all := strings.NewReplacer(pairs...)
	return func(text string) string {
		for _, f := range forms {
			if strings.Contains(text, f) {
				return all.Replace(text)
			}
		}
		return text // as nearly always; the search is much faster than the replacer
	}
}

// htmlEscapes is what encoders of JSON do for the sake of HTML.
var htmlEscapes = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)

// quoted is the inside of a JSON string.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(strings.TrimSpace(b.String())[1:], `"`)
}

// Stream is a sink that writes lines to a stream, such as standard output.
type Stream struct{ W io.Writer }

// Write implements Sink.
func (s Stream) Write(line []byte) error {
	_, err := s.W.Write(line)
	return err
}
