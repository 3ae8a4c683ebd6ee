// Package source is what a read-only database is to the analyst: something that
// is opened by URL, knows its schema, and runs one checked statement at a time
// under limits. The packages below it do so for one engine each; sourcetest is
// the suite that every one of them must pass.
package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// Source is one database. Its methods may be called from several goroutines.
type Source interface {
	// Dialect names the SQL the source speaks: "sqlite", "duckdb", "postgres", …
	Dialect() string
	// Schema returns the tables a query may read. It is cached until the data's
	// version changes.
	Schema(ctx context.Context) (Schema, error)
	// Query runs one statement through the gate and under limits, and calls each
	// for every row, in order; the row is the callee's to keep. An error of each
	// ends the query and is returned as it is. Columns are known before the first
	// row and are returned also when there is none.
	//
	// A statement that is refused, fails or runs into a limit gives an *Error
	// that the model should read. When the source itself is gone the error is a
	// *footnote.Error with code DatabaseUnavailable.
	Query(ctx context.Context, q Query, each func(row []any) error) (Summary, error)
	// Version changes when the data does; it is empty when that cannot be told.
	Version(ctx context.Context) (string, error)
	// Probe tries to write through the very connection that queries get, in every
	// way the engine has, and returns nil only when each try was refused.
	// ErrWritable says that one was not.
	Probe(ctx context.Context) error
	Close() error
}

// ErrWritable is what Probe returns for a source that accepted a write.
var ErrWritable = errors.New("Database is not read-only. Refusing to start.") //nolint:staticcheck // the exact words are part of the contract

// Query is one statement with its arguments and limits.
type Query struct {
	SQL    string
	Args   []any // positional; nil, bool, int64, float64 or string
	Limits Limits
}

// Limits bound one query. Zero fields take the source's own limit; a larger value
// than the source's own is cut to it.
type Limits struct {
	Time  time.Duration // wall clock; default 30 s
	Rows  int           // rows read; default 10,000
	Bytes int64         // bytes of cells read; default 5 MB
	Cell  int           // bytes of one cell; default 1 MB
	// Memory the engine may use; default 512 MB. It belongs to the source and is
	// ignored in a query.
	Memory int64
}

// DefaultLimits are the limits of a source whose configuration is silent.
func DefaultLimits() Limits {
	return Limits{Time: 30 * time.Second, Rows: 10_000, Bytes: 5 << 20, Cell: 1 << 20, Memory: 512 << 20}
}

// Within returns l with its zero fields taken from outer, and none larger than
// outer's.
func (l Limits) Within(outer Limits) Limits {
	return Limits{
		Time:   within(l.Time, outer.Time),
		Rows:   within(l.Rows, outer.Rows),
		Bytes:  within(l.Bytes, outer.Bytes),
		Cell:   within(l.Cell, outer.Cell),
		Memory: within(l.Memory, outer.Memory),
	}
}

func within[N ~int | ~int64](n, outer N) N {
	if n <= 0 || (outer > 0 && n > outer) {
		return outer
	}
	return n
}

// Summary is what is known of a query when it ends.
type Summary struct {
	Columns   []footnote.Column
	Rows      int
	Truncated bool   // a row or byte limit ended the reading; the rows given are good
	Limit     string // which one: "rows" or "bytes"
	// Tables are the tables and views that the statement reads, as it names them or the
	// database does; common table expressions are none. An engine that judged the
	// statement knows them, also when it failed after that.
	Tables  []string
	Elapsed time.Duration
}

// What an Error is about.
const (
	Refused = footnote.FaultRefused // the gate did not let it through
	Failed  = footnote.FaultFailed  // the engine could not run it: bad SQL, no such column
	Limited = footnote.FaultLimited // time, memory or cell size ran out
)

// Error is a query's failure as data for the model: it says what was wrong and
// what to do instead.
type Error struct {
	Kind     string
	Reason   string
	TimedOut bool // the limit is that of time
}

func (e *Error) Error() string { return e.Kind + ": " + e.Reason }

// Refusef makes a refusal.
func Refusef(format string, args ...any) *Error {
	return &Error{Kind: Refused, Reason: fmt.Sprintf(format, args...)}
}

// Schema is what can be read of a source.
type Schema struct {
	Tables  []Table
	Version string
}

// Table is a table or view.
type Table struct {
	Schema      string // empty for the engine's default schema
	Name        string
	View        bool
	Comment     string
	Rows        int64 // -1 when not known
	Columns     []Column
	PrimaryKey  []string
	ForeignKeys []ForeignKey
}

// FullName is the name as a query writes it without quotes.
func (t Table) FullName() string {
	if t.Schema == "" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// Column is a column of a table.
type Column struct {
	Name     string
	Type     string // as the database declares it
	Kind     string // footnote.KindInteger, …
	Nullable bool
	Comment  string
}

// ForeignKey says that Columns refer to RefColumns of RefTable (a full name).
type ForeignKey struct {
	Columns    []string
	RefTable   string
	RefColumns []string
}

// MaxSchema is how many bytes of names, types and comments the columns of a Schema
// have together. Whoever describes a source leaves out the columns beyond: the tables
// are still there, and can be queried.
const MaxSchema = 32 << 20

// Room counts the bytes of a schema that is being described. The zero value has room
// for MaxSchema.
type Room struct{ used int }

// Fits takes a column into account and reports whether it fits.
func (r *Room) Fits(c Column) bool {
	r.used += len(c.Name) + len(c.Type) + len(c.Comment)
	return r.used <= MaxSchema
}

// NotListed is the comment of a table whose columns do not all fit a schema.
const NotListed = "has more columns than are listed here: the columns of this database have too long names, or are too many"

// Table returns the table with a name, compared as the engine compares
// unquoted names: without regard to case.
func (s Schema) Table(name string) (Table, bool) {
	for _, t := range s.Tables {
		if strings.EqualFold(t.FullName(), name) || (t.Schema != "" && strings.EqualFold(t.Name, name)) {
			return t, true
		}
	}
	return Table{}, false
}

// Column returns the column with a name, without regard to case.
func (t Table) Column(name string) (Column, bool) {
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Column{}, false
}

// Collect runs a query and keeps its rows in memory. What became of it is noted, for
// the audit of the call that it belongs to.
func Collect(ctx context.Context, s Source, q Query) (footnote.Result, Summary, error) {
	var rows [][]any
	sum, err := s.Query(ctx, q, func(row []any) error {
		rows = append(rows, row)
		return nil
	})
	footnote.NoteStatement(ctx, noted(ctx, q.SQL, sum, err))
	if err != nil {
		return footnote.Result{}, sum, err
	}
	return footnote.Result{Columns: sum.Columns, Rows: rows, Truncated: sum.Truncated}, sum, nil
}

// noted is what became of a statement.
func noted(ctx context.Context, sql string, sum Summary, err error) footnote.Statement {
	st := footnote.Statement{SQL: sql, Tables: sum.Tables, RowCount: sum.Rows, Outcome: footnote.StatementFailed}
	for _, c := range sum.Columns {
		st.Columns = append(st.Columns, c.Name)
	}
	bad, _ := errors.AsType[*Error](err)
	switch {
	case err == nil && sum.Truncated:
		st.Outcome = footnote.StatementTruncated
	case err == nil:
		st.Outcome = footnote.StatementExecuted
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		st.Outcome = footnote.StatementTimedOut
	case ctx.Err() != nil:
		st.Outcome = footnote.StatementCancelled
	case bad == nil: // the database is away
	case bad.Kind == Refused:
		st.Outcome = footnote.StatementRefused
	case bad.TimedOut:
		st.Outcome = footnote.StatementTimedOut
	case bad.Kind == Limited:
		st.Outcome = footnote.StatementLimited
	}
	return st
}
