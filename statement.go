package footnote

import (
	"context"
	"slices"
	"sync"
)

// Statement is one SQL statement of a tool call and what became of it, as the audit
// tells it.
type Statement struct {
	SQL       string   `json:"sql"`
	Source    string   `json:"source,omitempty"`
	Outcome   string   `json:"outcome"`              // StatementExecuted, …
	Tables    []string `json:"tables,omitempty"`     // it reads, by the grammar of its engine; none when that did not get so far
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
	StatementFailed    = "failed"    // the database could not run it
	StatementLimited   = "limited"   // it ran into a limit of memory, size or places
	StatementTimedOut  = "timed_out" // its time was over
	StatementCancelled = "cancelled" // its run ended before it did
	StatementNotRun    = "not_run"   // it reached no database: its call was refused or wrong
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

// NoteStatement notes what became of a statement, where somebody collects that.
func NoteStatement(ctx context.Context, st Statement) {
	s, ok := ctx.Value(statementsKey{}).(*Statements)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) < mostStatements {
		s.list = append(s.list, st)
	}
}

// All returns what has been noted, in order.
func (s *Statements) All() []Statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}
