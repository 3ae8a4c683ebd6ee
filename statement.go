package footnote

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Statement is one SQL statement of a tool call with its outcome, as the audit records it.
type Statement struct {
	SQL     string `json:"sql"`
	Source  string `json:"source,omitempty"`
	Outcome string `json:"outcome"` // StatementExecuted, …; empty while it runs, never in a log
	// Tables lists the tables that the statement reads, according to its engine's parser. It is empty if the statement
	// was not parsed.
	Tables    []string `json:"tables,omitempty"`
	Columns   []string `json:"columns,omitempty"`    // of its result
	RowCount  int      `json:"row_count,omitempty"`  // rows read, even if it failed afterwards
	Estimate  string   `json:"estimate,omitempty"`   // what the database expected it to read, in words
	InBrowser bool     `json:"in_browser,omitempty"` // it ran in the user's page, according to that page
}

// The outcomes of a statement.
const (
	StatementExecuted  = "executed"  // all its rows were read
	StatementTruncated = "truncated" // it ran, and its rows were read up to a limit
	StatementCached    = "cached"    // it did not run: cached rows answered it
	StatementRefused   = "refused"   // it did not run: the gate of its engine refused it
	StatementFailed    = "failed"    // the database could not run it, or the tool that ran it broke
	StatementLimited   = "limited"   // it exceeded a limit of memory, size or concurrency
	StatementTimedOut  = "timed_out" // it exceeded its time; the database may have completed it
	StatementCancelled = "cancelled" // its run ended first; the database may have completed it
	StatementNotRun    = "not_run"   // it reached no database: its call was invalid or was never made
)

// maxStatements is the maximum number of recorded statements of one call.
const maxStatements = 500

// Statements collects the statements of a call. Its methods may be called from several goroutines.
type Statements struct {
	mu   sync.Mutex // guards below
	list []Statement
}

type statementsKey struct{}

// WithStatements returns a context that collects the statements that sources run.
func WithStatements(ctx context.Context) (context.Context, *Statements) {
	s := &Statements{}
	return context.WithValue(ctx, statementsKey{}, s), s
}

// JoinStatements returns the collector of ctx. If ctx has none, it returns a context with a new one.
func JoinStatements(ctx context.Context) (context.Context, *Statements) {
	if s, ok := ctx.Value(statementsKey{}).(*Statements); ok {
		return ctx, s
	}
	return WithStatements(ctx)
}

type sourceKey struct{}

// WithSource returns a context that sets the source of statements that name none.
func WithSource(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, sourceKey{}, name)
}

// NoteStatement records a statement with its outcome, if ctx has a collector.
func NoteStatement(ctx context.Context, st Statement) { BeginStatement(ctx, st) }

// BeginStatement records a statement that is about to run, if ctx has a collector. The caller passes the statement with
// its outcome to the returned function. So the statement is recorded even if the caller stops waiting for it.
func BeginStatement(ctx context.Context, st Statement) (ended func(Statement)) {
	s, ok := ctx.Value(statementsKey{}).(*Statements)
	if !ok {
		return func(Statement) {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == maxStatements {
		return func(Statement) {}
	}
	name, _ := ctx.Value(sourceKey{}).(string)
	at := len(s.list)
	st.Source = cmp.Or(st.Source, name)
	s.list = append(s.list, st)
	return func(st Statement) {
		s.mu.Lock()
		defer s.mu.Unlock()
		st.Source = cmp.Or(st.Source, name)
		s.list[at] = st
	}
}

// All returns the recorded statements in the order in which they began. Running ones have no outcome.
func (s *Statements) All() []Statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}
