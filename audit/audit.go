// Package audit writes one JSON line for every finished run: the user and question, the statements and their outcomes,
// the answer, and the cost. It is a projection of the log with a durable cursor: it writes each run at least once, even
// after a crash or a full disk, and never delays an answer.
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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/pause"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
)

// Log is the part of a store that the audit uses.
type Log interface {
	Tail(ctx context.Context, after int64, limit int) ([]store.Positioned, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	Cursor(ctx context.Context, name string) (int64, error)
	SetCursor(ctx context.Context, name string, position int64) error
}

// Sink accepts one or more whole lines. Write returns only when the end of the process can no longer lose them.
type Sink interface {
	Write(lines []byte) error
}

// Options configures an audit. Log and Sinks are required. Every sink has its own cursor, so that a full sink does not
// delay the others.
type Options struct {
	Log     Log
	Inbox   *Inbox           // entries that are not in the log; nil: none
	Sinks   map[string]Sink  // by name, which also names the cursor and must not change
	Verbose bool             // also write each tool call with its reason, time, input and output
	Secrets []string         // never written
	Redact  []*regexp.Regexp // matches are not written either
	Logger  *slog.Logger
	Poll    time.Duration // default 1 s
	// Lead makes this process the only one of those sharing the log that writes to a sink, until it calls release. It
	// does not wait while another process leads. Nil: this is the only process.
	Lead func(ctx context.Context, sink string) (release func(), ok bool, err error)
}

// Entry is one line.
type Entry struct {
	// Type is "audit" for a question, "query" for a statement that a person ran, "generate_sql" for one that was
	// written for a person, "side_job" for one that a chat front end asked for, "title" or "summary" for a call of the
	// model outside runs, "proposal" or "proposal_review" for a verified query that an administrator suggests or
	// decides about, and "consent" for what happened to a person's consent that a program acts for them.
	Type      string `json:"type"`
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id,omitempty"` // a person's own statement has none
	Timestamp string `json:"timestamp"`        // RFC 3339, when the run ended
	Org       string `json:"org"`
	User      string `json:"user"`
	Protocol  string `json:"door"`
	RequestID string `json:"request_id,omitempty"`
	Outcome   string `json:"outcome"`         // finished, failed, stopped, or refused before it began
	Error     string `json:"error,omitempty"` // why it did not finish: an error code, or who stopped it
	// ErrorMessage is the message that the client got for a failed run.
	ErrorMessage string    `json:"error_message,omitempty"`
	Question     string    `json:"user_question"`
	Queries      []string  `json:"sql_queries_executed"`
	Results      []Summary `json:"query_results_summary"`
	Response     string    `json:"final_response"`
	// Incomplete is set if the run broke off. Response is then the part of the shown text that is in the log.
	Incomplete bool     `json:"final_response_incomplete,omitempty"`
	Unresolved []string `json:"unresolved_numerals,omitempty"`
	// Unreadable lists the sequences of the run's unreadable events; the line lacks what they recorded.
	Unreadable []int64    `json:"unreadable_events,omitempty"`
	Calls      []ToolCall `json:"tool_calls,omitempty"` // verbose only
	Metadata   Metadata   `json:"metadata"`
}

// Summary describes the outcome of the statement at the same index of Queries.
type Summary struct {
	// Table names the tables that it reads, according to its engine's parser; empty if it was not parsed.
	Table     string   `json:"table"`
	RowCount  int      `json:"row_count"` // rows read
	Columns   []string `json:"columns"`
	Outcome   string   `json:"outcome"` // as in footnote.Statement
	Source    string   `json:"source,omitempty"`
	InBrowser bool     `json:"in_browser,omitempty"` // it ran in the user's page, according to that page
}

// ToolCall is one tool call in the verbose audit.
type ToolCall struct {
	Name    string `json:"name"`
	Thought string `json:"thought,omitempty"`
	Millis  int64  `json:"millis"`
	IsError bool   `json:"is_error,omitempty"`
	By      string `json:"by,omitempty"`     // origin of the result: server, client, user or recovery
	Input   string `json:"input,omitempty"`  // its arguments, JSON: a command, a transform, a statement
	Output  string `json:"output,omitempty"` // what the model read
	Cut     bool   `json:"cut,omitempty"`    // the input or output was cut
}

// Metadata holds the duration and usage of a run.
type Metadata struct {
	Model            string   `json:"model"`
	PromptTokens     *int64   `json:"prompt_tokens"`
	CompletionTokens *int64   `json:"completion_tokens"`
	CostUSD          *float64 `json:"cost_estimate_usd"`
	Unpriced         bool     `json:"cost_is_upper_bound,omitempty"`
	DurationSeconds  float64  `json:"duration_seconds"`
	ToolCallCount    int      `json:"tool_call_count"`
}

// Audit follows the log. Create it with New, start Run, and call Wake when a run has ended.
type Audit struct {
	opts      Options
	followers []*follower
	scan      func(string) string // removes secrets
}

// follower writes to one sink.
type follower struct {
	*Audit
	name string
	sink Sink
	wake chan struct{}
	lag  atomic.Int64 // events that the sink is behind the log, at least
	took atomic.Int64 // number of the next inbox entry

	at      int64      // the last cursor written by this process
	lost    int64      // inbox entries dropped since the sink last accepted some
	running activeRuns // events of runs that have not ended at the cursor
}

// New checks the options.
func New(opts Options) (*Audit, error) {
	if opts.Log == nil || len(opts.Sinks) == 0 {
		return nil, fmt.Errorf("the audit needs a log and at least one sink")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Poll <= 0 {
		opts.Poll = time.Second
	}
	a := &Audit{opts: opts, scan: without(Replacer(opts.Secrets), opts.Redact)}
	for name, sink := range opts.Sinks {
		a.followers = append(a.followers, &follower{
			Audit: a, name: name, sink: sink, wake: make(chan struct{}, 1), running: activeRuns{},
		})
	}
	if opts.Inbox != nil {
		opts.Inbox.setWake(a.Wake)
	}
	return a, nil
}

// without returns a function that calls scan and then removes the matches of all patterns.
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

// Wake makes the audit look for finished runs at once.
func (a *Audit) Wake() {
	for _, f := range a.followers {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

// Lag returns how many events the slowest sink is behind the log, at least.
func (a *Audit) Lag() int64 {
	var lag int64
	for _, f := range a.followers {
		lag = max(lag, f.lag.Load())
	}
	return lag
}

// Run follows the log until ctx ends. Then it writes the remaining lines for up to grace. It does not wait longer for a
// sink that hangs, such as a pipe without a reader; the next start writes those lines.
func (a *Audit) Run(ctx context.Context, grace time.Duration) {
	var following sync.WaitGroup
	for _, f := range a.followers {
		following.Go(func() { f.follow(ctx, grace) })
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

func (f *follower) follow(ctx context.Context, grace time.Duration) {
	poll := time.NewTicker(f.opts.Poll)
	defer poll.Stop()
	failing := false
	for {
		err := errors.Join(f.empty(), f.catchUp(ctx))
		if err != nil && ctx.Err() == nil && !failing {
			f.opts.Logger.Error("cannot write the audit; retrying", "sink", f.name, "err", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
			defer cancel()
			if err := errors.Join(f.empty(), f.catchUp(last)); err != nil {
				f.opts.Logger.Error("the audit is incomplete; the next start continues it", "sink", f.name, "err", err)
			}
			return
		case <-poll.C:
		case <-f.wake:
			// Under load many runs end at about the same time. Let them share a write.
			_ = pause.For(ctx, gatherTime)
		}
	}
}

// gatherTime limits how long the audit waits for more runs to end before it writes.
const gatherTime = 200 * time.Millisecond

// activeRuns holds the events, by run, of runs that have not ended at a sink's cursor.
type activeRuns map[string][]footnote.Event

// maxActiveRuns is the maximum number of runs in memory. The audit reads the others again when they end.
const maxActiveRuns = 2_000

// empty writes the inbox entries that a sink does not have yet. It logs when the first entry is dropped, and the number
// of dropped entries once the sink accepts entries again.
func (f *follower) empty() error {
	if f.opts.Inbox == nil {
		return nil
	}
	entries, end, dropped := f.opts.Inbox.after(f.took.Load())
	if f.lost == 0 && dropped > 0 {
		f.opts.Logger.Error("audit sink is too far behind; dropping audit lines", "sink", f.name)
	}
	f.lost = dropped
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, data := range entries {
		var e Entry
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("decode a line of the audit: %w", err)
		}
		if err := f.encode(enc, e); err != nil {
			return err
		}
	}
	if len(entries) > 0 {
		if err := f.sink.Write(lines.Bytes()); err != nil {
			return err
		}
	}
	if f.lost > 0 {
		f.opts.Logger.Error("audit lines were dropped", "sink", f.name, "lines", f.lost)
		f.lost = 0
	}
	f.took.Store(end)
	for _, other := range f.followers {
		end = min(end, other.took.Load())
	}
	f.opts.Inbox.forget(end)
	return nil
}

// catchUp writes the runs that ended since the sink's cursor. After an error the next call reads the same events again.
func (f *follower) catchUp(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			clear(f.running)
		}
	}()
	if f.opts.Lead != nil {
		release, ok, err := f.opts.Lead(ctx, f.name)
		if err != nil || !ok {
			return err // another process leads
		}
		defer release()
	}
	cursor, err := f.opts.Log.Cursor(ctx, "audit/"+f.name)
	if err != nil {
		return err
	}
	if f.at != cursor {
		clear(f.running) // another process advanced the cursor, so these events are outdated
	}
	defer func() { f.at = cursor }()
	for {
		batch, err := f.opts.Log.Tail(ctx, cursor, 500)
		if err != nil || len(batch) == 0 {
			if err == nil {
				f.lag.Store(0)
			}
			return err
		}
		f.lag.Store(int64(len(batch)))
		lines, err := f.lines(ctx, batch, f.running)
		if err != nil {
			return err
		}
		if len(lines) > 0 {
			if err := f.sink.Write(lines); err != nil {
				return err
			}
		}
		cursor = batch[len(batch)-1].Position
		if err := f.opts.Log.SetCursor(ctx, "audit/"+f.name, cursor); err != nil {
			return err
		}
	}
}

// lines returns the lines of all runs that ended in a batch, so that they need only one sync.
func (a *Audit) lines(ctx context.Context, batch []store.Positioned, runs activeRuns) ([]byte, error) {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines) // one line per entry
	for _, ev := range batch {
		if entry, ok := outsideRuns(ev.Event); ok {
			entry.Org, entry.User = ev.Org, cmp.Or(entry.User, ev.User)
			if err := a.encode(enc, entry); err != nil {
				return nil, err
			}
		}
		if ev.Run == "" {
			continue
		}
		switch ev.Body.(type) {
		case footnote.Imported:
			continue // long, and not part of an entry
		case footnote.RunParked:
			delete(runs, ev.Run) // a parked run may wait for long and must not use memory
			continue
		}
		runs[ev.Run] = append(runs[ev.Run], ev.Event)
		if !footnote.Terminal(ev.Body) {
			if len(runs) > maxActiveRuns {
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
				continue // its owner has deleted it in the meantime
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

// encode writes an entry without secrets.
func (a *Audit) encode(enc *json.Encoder, e Entry) error {
	e.redact(a.scan)
	e.bound()
	if err := enc.Encode(e); err != nil {
		return fmt.Errorf("encode the audit of %s: %w", e.SessionID, err)
	}
	return nil
}

// begins reports whether the events of a run can begin with a body.
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
	// A run has far fewer events than that. Do not read a long conversation completely.
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

// model returns the model that a conversation was opened with, for a run that ended before its model answered. It
// returns "" if the model is unknown.
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
			break // the opening is at the beginning or missing
		}
	}
	return "", nil
}

// openingSize is the number of events among which the opening of a conversation is.
const openingSize = 10

// Describe returns the entry of one run from all its events.
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
			e.Protocol, e.RequestID = b.Protocol, b.RequestID
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

// outsideRuns returns the entry of an event outside any run: a statement that a person ran directly, or a
// model call for a title or a summary.
func outsideRuns(ev footnote.Event) (Entry, bool) {
	switch b := ev.Body.(type) {
	case footnote.QueryRun:
		e := NewEntry("query", ev.Time)
		e.SessionID, e.Protocol, e.RequestID = ev.Stream, b.Protocol, b.RequestID
		st := ofResult(b.Result)
		st.Tables, st.InBrowser = b.Tables, b.Result.Source == "client"
		e.Statement(st)
		e.Metadata.DurationSeconds = float64(b.Millis) / 1000
		return e, true
	case footnote.Titled:
		if b.Usage == (footnote.Usage{}) && b.Cost == (footnote.Cost{}) {
			return Entry{}, false // a person chose the title, or it is the beginning of the question
		}
		e := NewEntry("title", ev.Time)
		e.SessionID, e.Response, e.Metadata.Model = ev.Stream, b.Title, b.Model
		e.Took(b.Usage, b.Cost, b.Millis)
		return e, true
	case footnote.Spent:
		if b.For == "" {
			return Entry{}, false // the caller of the model adds the entry to the inbox
		}
		e := NewEntry(b.For, ev.Time)
		e.SessionID, e.Outcome, e.Metadata.Model = b.Conversation, "failed", b.Model
		e.Took(b.Usage, b.Cost, 0)
		return e, true
	case footnote.Proposed:
		e := NewEntry("proposal", ev.Time)
		e.SessionID, e.User = ev.Stream, b.By
		e.Response = fmt.Sprintf("%d %s, for the answer %s\n%s", ev.Seq, b.Name,
			footnote.EventID(b.Conversation, b.Seq), b.Query)
		return e, true
	case footnote.Reviewed:
		e := NewEntry("proposal_review", ev.Time)
		e.SessionID, e.User = ev.Stream, b.By
		decision := "declined"
		if b.Approved {
			decision = "approved"
		}
		e.Response = strings.TrimSpace(fmt.Sprintf("%d %s %s", b.Proposal, decision, b.Words))
		return e, true
	}
	return Entry{}, false
}

// NewEntry returns an entry of the given type whose outcome is "finished".
func NewEntry(kind string, at time.Time) Entry {
	return Entry{
		Type: kind, Timestamp: at.UTC().Format(time.RFC3339Nano), Outcome: "finished",
		Queries: []string{}, Results: []Summary{},
	}
}

// Failed sets the outcome for an error: "refused" if a limit was the cause, otherwise "failed".
func (e *Entry) Failed(err error) {
	e.Outcome, e.Error, e.ErrorMessage = "failed", string(footnote.CodeOf(err)), footnote.MessageOf(err)
	if code := footnote.CodeOf(err); code == footnote.BudgetExceeded || code == footnote.RateLimited {
		e.Outcome = "refused"
	}
}

// say appends a text that the client was shown. A blank line separates the texts of several messages, as in the
// protocols.
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
		if b.ID != "" { // includes the call that gives the answer
			e.Metadata.ToolCallCount++
			inputs[b.ID] = b.Input
		}
	}
	e.say(said.String())
}

func (e *Entry) result(r footnote.ToolResult, input json.RawMessage, verbose bool) {
	var in struct{ SQL, Source, Thought string }
	_ = json.Unmarshal(input, &in) // any shape; missing fields stay empty
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

// statementsOf returns the statements of a call. Logs of older versions lack them; then it derives one from the stored
// result or the fault.
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
	// the value of a fault is also an outcome
	st := footnote.Statement{SQL: sql, Source: source, Outcome: cmp.Or(r.Fault, footnote.StatementNotRun)}
	if r.By == "recovery" {
		st.Outcome = footnote.StatementCancelled
	}
	return []footnote.Statement{st}
}

// ofResult returns the statement of a stored result.
func ofResult(r footnote.StoredResult) footnote.Statement {
	st := footnote.Statement{SQL: r.SQL, Source: r.Source, RowCount: r.RowCount, Outcome: footnote.StatementExecuted}
	if r.Truncated && r.Source != "client" { // a client's result is complete there; only the copy here is cut
		st.Outcome = footnote.StatementTruncated
	}
	for _, c := range r.Columns {
		st.Columns = append(st.Columns, c.Name)
	}
	return st
}

// Statement adds a statement to Queries and its outcome at the same index of Results.
func (e *Entry) Statement(st footnote.Statement) {
	e.Queries = append(e.Queries, st.SQL)
	e.Results = append(e.Results, Summary{
		Table: strings.Join(st.Tables, ", "), RowCount: st.RowCount, Columns: append([]string{}, st.Columns...),
		Outcome: st.Outcome, Source: st.Source, InBrowser: st.InBrowser,
	})
}

// Took sets the usage, cost and duration.
func (e *Entry) Took(u footnote.Usage, c footnote.Cost, millis int64) {
	e.Metadata.PromptTokens, e.Metadata.CompletionTokens = new(u.Prompt()), new(u.Output)
	e.Metadata.CostUSD, e.Metadata.Unpriced = new(c.USD()), c.Unpriced
	e.Metadata.DurationSeconds = float64(millis) / 1000
}

// Limits of the verbose audit in bytes: for the input and for the output of one call, and for a whole run.
const (
	maxPerCall = 16 << 10
	maxPerRun  = 512 << 10
)

// bound cuts the inputs and outputs of the verbose audit. Call it after redact: otherwise the part of a cut secret
// would not be recognised.
func (e *Entry) bound() {
	left := maxPerRun
	for i := range e.Calls {
		c := &e.Calls[i]
		for _, text := range []*string{&c.Input, &c.Output} {
			if limit := min(maxPerCall, left); len(*text) > limit {
				*text, c.Cut = strings.ToValidUTF8((*text)[:limit], ""), true
			}
			left -= len(*text)
		}
	}
}

// redact applies clean to every text that comes from a person, a model or a tool.
func (e *Entry) redact(clean func(string) string) {
	for _, text := range []*string{
		&e.SessionID, &e.RunID, &e.Org, &e.User, &e.Protocol, &e.RequestID, &e.Error, &e.ErrorMessage, &e.Question,
		&e.Response, &e.Metadata.Model,
	} {
		*text = clean(*text)
	}
	redactAll(e.Queries, clean)
	redactAll(e.Unresolved, clean)
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

// Replacer returns a function that removes secrets from a text, both in plain form and as escaped in quoted JSON. It
// replaces the longest secrets first, so that no rest remains if one secret is a prefix of another.
func Replacer(secrets []string) func(string) string {
	var forms []string
	for _, s := range secrets {
		if len(s) < 4 {
			continue // so short that it would cut ordinary words
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
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	forms = slices.Compact(forms) // most secrets need no escapes in JSON
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
		return text // the usual case; searching is much faster than replacing
	}
}

// htmlEscapes are the escapes that JSON encoders add for HTML.
var htmlEscapes = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)

// quoted returns the inside of a JSON string.
func quoted(s string) string {
	data, _ := strictjson.Encode(s) // a string always encodes
	return string(data[1 : len(data)-1])
}

// Stream is a sink that writes lines to a stream, such as standard output.
type Stream struct{ W io.Writer }

// Write implements Sink.
func (s Stream) Write(line []byte) error {
	_, err := s.W.Write(line)
	return err
}
