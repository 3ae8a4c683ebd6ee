// Package source defines a read-only database as the analyst sees it: a Source is opened by URL, describes its
// schema, and runs one checked statement at a time under limits. Each package below implements it for one engine;
// every one of them must pass the suite in sourcetest.
package source

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// Source is one database. Several goroutines may call its methods at once.
type Source interface {
	// Dialect returns the SQL that statements are written in.
	Dialect() *Dialect
	// Schema returns the tables a query may read. It is cached until the data's version changes.
	Schema(ctx context.Context) (Schema, error)
	// Query passes one statement through the gate, runs it under limits, and calls each for every row, in order.
	// The callee may keep the row. An error from each ends the query and is returned unchanged. The columns are
	// known before the first row and are returned even when there are no rows.
	//
	// When a statement is refused, fails or exceeds a limit, Query returns an *Error that the model should read.
	// When the source itself is unavailable, it returns a *footnote.Error with code DatabaseUnavailable.
	Query(ctx context.Context, q Query, each func(row []any) error) (Summary, error)
	// Version returns a string that changes when the data does, or "" when the source cannot tell.
	Version(ctx context.Context) (string, error)
	// Probe tries to write through the same connection that queries use, in every way the engine offers, and
	// returns nil only when every attempt was refused. It returns ErrWritable when one was not.
	Probe(ctx context.Context) error
	Close() error
}

// ErrWritable is returned by Probe when the source accepted a write.
//
//nolint:staticcheck // the exact words are part of the contract
var ErrWritable = errors.New("Database is not read-only. Refusing to start.")

// Query is one statement with its arguments and limits.
type Query struct {
	SQL    string // refers to its arguments as $1, $2, …
	Args   []any  // positional; nil, bool, int64, float64 or string
	Limits Limits
	// Own means that the program wrote the statement, not the caller. Errors then must not repeat names in it that are
	// hidden from the caller.
	Own bool
	// Export means that all rows go to a file: the time, rows and bytes of Limits may then exceed the source's own.
	Export bool
}

// Within returns the limits of the query for a source with the limits outer.
func (q Query) Within(outer Limits) Limits {
	l := q.Limits.Within(outer)
	if q.Export {
		l.Time, l.Rows, l.Bytes = max(l.Time, q.Limits.Time), max(l.Rows, q.Limits.Rows), max(l.Bytes, q.Limits.Bytes)
	}
	return l
}

// TableFile is a table in a file that export.Load wrote.
type TableFile struct {
	Name    string        `json:"name"`
	Path    string        `json:"path"`
	Columns []TableColumn `json:"columns"`
	Longest int           `json:"longest"` // bytes of the longest line
}

// TableColumn is a column of a TableFile. Type is DuckDB's.
type TableColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Tables is a source over such files. It knows where the rows of a statement come from.
type Tables interface {
	Source
	// Origins returns where a row (from 0) of a statement comes from. The statement passes the gate.
	Origins(ctx context.Context, sql string, row int) (Origins, error)
}

// Origins says how a row of a statement was computed. What the engine cannot tell is left out.
type Origins struct {
	Columns []ColumnOrigin `json:"columns"`          // in the order of the SELECT; one for each *
	Values  []any          `json:"values,omitempty"` // of the row
	Rows    []RowsOf       `json:"rows,omitempty"`   // that the row was computed from
}

// ColumnOrigin says how a column of a statement is computed.
type ColumnOrigin struct {
	Formula string       `json:"formula"` // as SQL; * for all columns
	Reads   []CellColumn `json:"reads,omitempty"`
}

// CellColumn names a column of a table.
type CellColumn struct {
	Table  string `json:"table"`
	Column string `json:"column"`
}

// RowsOf lists rows of a table, from 0.
type RowsOf struct {
	Table string `json:"table"`
	Rows  []int  `json:"rows"`  // at most 100
	Count int    `json:"count"` // of all
}

// Limits bound one query. Zero fields take the source's own limit; larger values are cut to it.
type Limits struct {
	Time  time.Duration // wall clock; default 30 s
	Rows  int           // rows read; default 10,000
	Bytes int64         // bytes of cells read; default 5 MB
	Cell  int           // bytes of one cell; default 1 MB
	// Memory limits the engine's memory; default 512 MB. It belongs to the source: a query cannot change it.
	Memory int64
}

// DefaultLimits returns the limits of a source whose configuration sets none.
func DefaultLimits() Limits {
	return Limits{Time: 30 * time.Second, Rows: 10_000, Bytes: 5 << 20, Cell: 1 << 20, Memory: 512 << 20}
}

// Within returns l with zero fields taken from outer and larger fields cut to outer's.
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

// Summary describes a query after it has ended.
type Summary struct {
	Columns   []footnote.Column
	Rows      int
	Truncated bool   // a row or byte limit stopped the query; the rows already delivered are valid
	Limit     string // the limit that was reached: "rows" or "bytes"
	// Tables lists the tables and views that the statement reads, named as in the statement or as in the database;
	// common table expressions are left out. It is set when the engine analysed the statement, even if the
	// statement failed afterwards.
	Tables  []string
	Elapsed time.Duration
	// Estimate is the engine's estimate as text; empty if there is none.
	Estimate string
}

// The kinds of Error.
const (
	Refused = footnote.FaultRefused // the gate refused it
	Failed  = footnote.FaultFailed  // the engine could not run it: bad SQL, no such column
	Limited = footnote.FaultLimited // it exceeded the time, memory or cell size limit
)

// Error is a failed query, as data for the model: it says what was wrong and what to do instead.
type Error struct {
	Kind, Reason string
	TimedOut     bool // the limit it exceeded is the time limit
	Redacted     bool // the engine's reason named something that is hidden from the caller
}

func (e *Error) Error() string { return e.Kind + ": " + e.Reason }

// Refusef returns an Error of kind Refused.
func Refusef(format string, args ...any) *Error {
	return &Error{Kind: Refused, Reason: fmt.Sprintf(format, args...)}
}

// Failf returns an Error of kind Failed.
func Failf(format string, args ...any) *Error {
	return &Error{Kind: Failed, Reason: fmt.Sprintf(format, args...)}
}

// Limitf returns an Error of kind Limited.
func Limitf(format string, args ...any) *Error {
	return &Error{Kind: Limited, Reason: fmt.Sprintf(format, args...)}
}

// Named prefixes the message of an error of opening a source with the source's name.
func Named(name string, err error) error {
	if e, ok := errors.AsType[*footnote.Error](err); ok {
		named := *e
		named.Message = "database " + name + ": " + e.Message
		return &named
	}
	return fmt.Errorf("source %s: %w", name, err)
}

// Schema describes the readable part of a source.
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
	Synonyms    []string // other names, from the company's context
	Rows        int64    // -1 when not known
	Columns     []Column
	PrimaryKey  []string
	ForeignKeys []ForeignKey
}

// FullName returns the name as a query writes it, without quotes.
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
	// The rest comes from the company's context.
	Synonyms []string
	Unit     string // as in footnote.Column
	Format   string // as in footnote.Column
}

// ForeignKey states that Columns refer to RefColumns of RefTable (a full name).
type ForeignKey struct {
	Columns    []string
	RefTable   string
	RefColumns []string
}

// MaxSchema limits the bytes of names, types and comments of all columns in a Schema. Columns beyond it are left
// out of the description; their tables are still listed and can be queried.
const MaxSchema = 32 << 20

// Room counts the bytes of a schema while it is built. The zero value has room for MaxSchema.
type Room struct{ used int }

// Fits adds a column to the count and reports whether it fits.
func (r *Room) Fits(c Column) bool {
	r.used += len(c.Name) + len(c.Type) + len(c.Comment)
	return r.used <= MaxSchema
}

// NotListed is the comment of a table whose columns do not all fit in a schema.
const NotListed = "has more columns than are listed here: the columns of this database have too long names, or are " +
	"too many"

// Table returns the table with the given name. Case is ignored, as engines do for unquoted names.
func (s Schema) Table(name string) (Table, bool) {
	for _, t := range s.Tables {
		if strings.EqualFold(t.FullName(), name) || (t.Schema != "" && strings.EqualFold(t.Name, name)) {
			return t, true
		}
	}
	return Table{}, false
}

// Column returns the column with the given name, ignoring case.
func (t Table) Column(name string) (Column, bool) {
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Column{}, false
}

// Lower lowers only ASCII letters, as SQLite and DuckDB do when they compare names.
func Lower(name string) string {
	b := []byte(name) // bytes, because names need not be valid UTF-8
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// Listed returns names for a message, sorted; of many, the first 20.
func Listed(names iter.Seq[string]) string {
	sorted := slices.Sorted(names)
	if len(sorted) > 20 {
		sorted = append(sorted[:20], "…")
	}
	return strings.Join(sorted, ", ")
}

// Collect runs a query and keeps its rows in memory. It records the query and its outcome for the audit of the call
// it belongs to. The record begins before the query does: the caller may stop waiting for a query that ignores its
// context.
func Collect(ctx context.Context, s Source, q Query) (footnote.Result, Summary, error) {
	var rows [][]any
	sum, err := Stream(ctx, s, q, func(row []any) error {
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return footnote.Result{}, sum, err
	}
	return footnote.Result{Columns: sum.Columns, Rows: rows, Truncated: sum.Truncated}, sum, nil
}

// Stream runs a query and records it, as Collect does, and calls each for every row.
func Stream(ctx context.Context, s Source, q Query, each func(row []any) error) (Summary, error) {
	ended := footnote.BeginStatement(ctx, footnote.Statement{SQL: q.SQL})
	sum, err := s.Query(ctx, q, each)
	ended(noted(ctx, q, sum, err))
	return sum, err
}

// noted returns the audit record of a statement.
func noted(ctx context.Context, q Query, sum Summary, err error) footnote.Statement {
	st := footnote.Statement{SQL: q.SQL, Tables: sum.Tables, RowCount: sum.Rows, Outcome: footnote.StatementFailed,
		Estimate: sum.Estimate}
	for _, c := range sum.Columns {
		st.Columns = append(st.Columns, c.Name)
	}
	bad, _ := errors.AsType[*Error](err)
	if bad != nil && bad.Redacted && q.Own { // the caller reads the record
		st.SQL, st.Tables = "-- a statement of the server, which uses something that the caller may not see", nil
	}
	switch {
	case err == nil && sum.Truncated:
		st.Outcome = footnote.StatementTruncated
	case err == nil:
		st.Outcome = footnote.StatementExecuted
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		st.Outcome = footnote.StatementTimedOut
	case ctx.Err() != nil:
		st.Outcome = footnote.StatementCancelled
	case bad == nil: // the database is unavailable
	case bad.Kind == Refused:
		st.Outcome = footnote.StatementRefused
	case bad.TimedOut:
		st.Outcome = footnote.StatementTimedOut
	case bad.Kind == Limited:
		st.Outcome = footnote.StatementLimited
	}
	return st
}
