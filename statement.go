package footnote

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Statement is one SQL statement of a tool call and what became of it, as the audit
// tells it.
type Statement struct {
	SQL     string `json:"sql"`
	Source  string `json:"source,omitempty"`
	Outcome string `json:"outcome"` // StatementExecuted, …; empty while it runs, which no log holds
	// it reads, by the grammar of its engine; none when that did not get so far
	Tables    []string `json:"tables,omitempty"`
	Columns   []string `json:"columns,omitempty"`    // of its result
	RowCount  int      `json:"row_count,omitempty"`  // rows read, also before it failed
	InBrowser bool     `json:"in_browser,omitempty"` // it ran in the user's page, which says so
}

// What becomes of a statement.
const (
	StatementExecuted  = "executed"  // all its rows were read
	StatementTruncated = "truncated" // it ran; its rows were read up to a limit
	StatementCached    = "cached"    // it did not run: the rows of an earlier run answered it
	StatementRefused   = "refused"   // it did not run: its engine's gate did not let it through
	StatementFailed    = "failed"    // the database could not run it, or the tool that ran it broke
	StatementLimited   = "limited"   // it ran into a limit of memory, size or places
	StatementTimedOut  = "timed_out" // its time was over; it may have run all the same
	StatementCancelled = "cancelled" // its run ended before it did; it may have run all the same
	StatementNotRun    = "not_run"   // it reached no database: its call was wrong, or was never made
)

// mostStatements bounds those of one call that are noted.
const mostStatements = 500

// Statements collects what the statements of a call come to. Its methods may be called
// from several goroutines.
type Statements struct {
	mu   sync.Mutex // guards below
	list []Statement
}

type statementsKey struct{}

// WithStatements returns a context in which the statements that sources run are noted.
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

// WithSource returns a context in which a statement that names no source is noted as one of the source with this name.
func WithSource(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, sourceKey{}, name)
}

// NoteStatement notes what became of a statement, where somebody collects that.
func NoteStatement(ctx context.Context, st Statement) {
	BeginStatement(ctx, st)
}

// BeginStatement notes a statement that is about to run, where somebody collects that. The caller passes what became
// of it to the returned function. So a statement is known even if nobody waits for its end.
func BeginStatement(ctx context.Context, st Statement) (ended func(Statement)) {
	s, ok := ctx.Value(statementsKey{}).(*Statements)
	if !ok {
		return func(Statement) {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == mostStatements {
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

// All returns the statements noted so far, in the order in which they began. Those that still run have no outcome.
func (s *Statements) All() []Statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}
