// Package warehouse implements a source over a database that runs statements over HTTP, or through a driver. A folder
// for each database says how a statement is submitted, read and stopped there, and what its SQL is; this package does
// the rest: the gate, the catalog, the limits and the cells.
//
// Several layers ensure that such a source never writes. The gate, package grammar, lets one reading statement through
// and writes it anew. Its tables must be in the catalog, and its functions among the harmless ones. Each database adds
// what it has: read-only settings, a dry run that tells the kind of a statement, limits on what it may cost. At start,
// the rights of the user are read, and a write is tried past the gate.
//
// The databases cannot run here, so all of this was tested on imitations of them, which follow their documentation.
// ClickHouse's SQL was tested on the engine itself.
package warehouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/warehouse/grammar"
)

// Database describes a database.
type Database struct {
	Dialect *source.Dialect
	Grammar *grammar.Dialect
	Kind    func(typ string) string // the kind of a type
	Fold    bool                    // the case of names of tables does not matter
	Catalog string                  // the first of the three parts that the name of a table may have, or ""
	Home    string                  // the schema of names without one
	// Tables, Columns and Keys return statements that read the catalog. Their columns are those of tableRow, columnRow
	// and keyRow. Keys may be nil.
	Tables, Columns, Keys func() string
	// Routines returns a statement that lists the names of the database's own functions; nil if no statement can call
	// one without its schema.
	Routines func() string
	// Writes are statements that would write nothing even if they worked, such as DELETE FROM {table} WHERE 1 = 0.
	Writes []string
	// Path returns how a table is written.
	Path func(schema, table string) string
}

// Service runs statements on a database.
type Service interface {
	// Run runs a statement and passes on its rows. When ctx ends or to.Row returns an error, it stops the statement on
	// the server before it returns. Its errors are those of a child.Engine.
	Run(ctx context.Context, s Statement, to Sink) error
	// Excess returns the rights of the user beyond reading. If the database does not tell all of them, the error is
	// ErrUntold, and what it tells is returned nevertheless.
	Excess(ctx context.Context) ([]string, error)
	Close()
}

// ErrUntold means that a database does not tell all rights of its user.
var ErrUntold = errors.New("the database does not tell all rights of its user")

// Pricer is a Service that knows what a statement would read.
type Pricer interface {
	Estimate(ctx context.Context, s Statement) (source.Estimate, error)
}

// Statement is a statement that the gate has written, or one of this program's own.
type Statement struct {
	SQL   string
	Rows  int   // about as many are wanted; 0 for no limit
	Bytes int64 // the same
	Own   bool  // it did not come through the gate
}

// Sink takes a result. Columns is called once, before the first row. The cells of a row are nil, a string, or the JSON
// of a value; if they are of the column's kind already, they may be an int64, a float64 or a bool. Row does not keep
// the slice.
type Sink struct {
	Columns func([]Column)
	Row     func(cells []any) error
}

// Column is a column of a result.
type Column struct{ Name, Type string }

// Source is an open database. It implements source.Source and source.Estimator.
type Source struct {
	source.Source // runs queries under limits
	engine        *engine
	hiding        source.Hiding
}

// Open returns a source, and reads its catalog.
func Open(ctx context.Context, d Database, s Service, limits source.Limits, h source.Hiding) (*Source, error) {
	e := &engine{Database: d, service: s, slots: make(chan struct{}, child.Concurrency)}
	if _, err := e.catalog(ctx, time.Now()); err != nil {
		s.Close()
		if bad, ok := errors.AsType[*source.Error](err); ok {
			return nil, footnote.Errorf(footnote.DatabaseUnavailable, "The catalog cannot be read: %s", bad.Reason)
		}
		return nil, err
	}
	return &Source{engine: e, hiding: h, Source: child.Local(d.Dialect, e, limits, h)}, nil
}

// Estimate implements source.Estimator.
func (s *Source) Estimate(ctx context.Context, q source.Query) (source.Estimate, error) {
	hidden := source.HiddenFrom(ctx, s.hiding)
	st, err := s.engine.admit(source.WithHidden(ctx, hidden), q)
	p, ok := s.engine.service.(Pricer)
	if err != nil || !ok {
		return source.Estimate{Rows: -1, Bytes: -1}, hidden.Redact(q.SQL, q.Own, err)
	}
	est, err := p.Estimate(ctx, Statement{SQL: st.SQL})
	if len(hidden) > 0 {
		est.Why = ""
	}
	return est, hidden.Redact(q.SQL, q.Own, err)
}

// Proof implements source.Proved. It is known after Probe.
func (s *Source) Proof() source.Proof {
	p := source.Proof{Strength: source.Gated, TestedOn: source.Imitation}
	if s.engine.untold.Load() {
		p.Strength = source.Unproven
	}
	return p
}

// Bills implements source.Biller.
func (s *Source) Bills() bool {
	b, ok := s.engine.service.(interface{ Bills() bool })
	return ok && b.Bills()
}

// engine implements child.Engine. It runs in this process.
type engine struct {
	Database
	service Service
	slots   chan struct{} // one for each query that runs
	untold  atomic.Bool   // Excess does not know all rights

	mu  sync.Mutex // guards below
	cat *catalog
}

// Close implements child.Engine.
func (e *engine) Close() error {
	e.service.Close()
	return nil
}

// Version implements child.Engine. These databases have no cheap way to tell whether data have changed.
func (e *engine) Version(context.Context) (string, error) { return "", nil }

// Query implements child.Engine.
func (e *engine) Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	st, err := e.admit(ctx, q)
	if err != nil {
		return source.Summary{}, err
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return source.Summary{Tables: st.Tables}, context.Cause(ctx)
	}
	sum, err := e.run(ctx, Statement{SQL: st.SQL, Rows: q.Limits.Rows, Bytes: q.Limits.Bytes}, each)
	sum.Tables = st.Tables
	return sum, err
}

// run runs a statement and converts its rows.
func (e *engine) run(ctx context.Context, st Statement, each func(row []any) error) (source.Summary, error) {
	var kinds []string
	var sum source.Summary
	err := e.service.Run(ctx, st, Sink{
		Columns: func(cols []Column) {
			for _, c := range cols {
				kinds = append(kinds, e.Kind(c.Type))
				sum.Columns = append(sum.Columns, footnote.Column{
					Name: strings.ToValidUTF8(c.Name, "\uFFFD"), Kind: e.Kind(c.Type),
				})
			}
		},
		Row: func(cells []any) error {
			if len(cells) != len(kinds) {
				return footnote.Errorf(footnote.DatabaseUnavailable,
					"The database sent a row that does not fit its columns.")
			}
			row := make([]any, len(cells))
			for i, c := range cells {
				row[i] = cell(kinds[i], c)
			}
			return each(row)
		},
	})
	return sum, err
}

// Collect runs a statement of this program and calls take with the texts of each row. NULL is "".
func Collect(ctx context.Context, s Service, sql string, take func(row []string) error) error {
	rows := 0
	return s.Run(ctx, Statement{SQL: sql, Own: true}, Sink{Columns: func([]Column) {}, Row: func(cells []any) error {
		row := make([]string, len(cells))
		for i, c := range cells {
			row[i], _ = text(c)
		}
		if rows++; rows > maxCatalog || len(row) == 0 {
			return footnote.Errorf(footnote.DatabaseUnavailable, "The catalog has more than %d columns.", maxCatalog)
		}
		return take(row)
	}})
}

// Probe implements child.Engine. It refuses a user with rights beyond reading, tries writes as queries, and tries some
// that change nothing past the gate.
func (e *engine) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	excess, err := e.service.Excess(ctx)
	if e.untold.Store(errors.Is(err, ErrUntold)); err != nil && !e.untold.Load() {
		return err
	}
	if len(excess) > 0 {
		return fmt.Errorf("%w The user has %s. Make one that may only read.", source.ErrWritable,
			strings.Join(excess, "; "))
	}
	cat, err := e.catalog(ctx, time.Time{})
	if err != nil {
		return err
	}
	tables := cat.some(maxProbed)
	list := writes + strings.Join(e.Writes, "\n")
	for _, table := range append(tables, "footnote_none") {
		if err := child.TryQueries(ctx, e, child.Attempts(list, table, ""), ""); err != nil {
			return err
		}
	}
	for _, table := range tables {
		for _, sql := range e.Writes {
			sql = strings.ReplaceAll(sql, "{table}", table)
			err := Collect(ctx, e.service, sql, func([]string) error { return nil })
			if _, refused := errors.AsType[*source.Error](err); err != nil && !refused {
				return err
			}
			if err := child.CheckRefused(ctx, sql, err, "", "past the gate"); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxProbed is the number of tables on which a write is tried.
const maxProbed = 3

// writes are the attempts that every database gets as queries.
const writes = `
INSERT INTO {table} SELECT * FROM {table}
UPDATE {table} SET x = 1
DELETE FROM {table}
TRUNCATE TABLE {table}
DROP TABLE {table}
ALTER TABLE {table} ADD COLUMN footnote_probe INT
CREATE TABLE footnote_probe AS SELECT 1 AS x
CREATE OR REPLACE TEMPORARY VIEW footnote_probe AS SELECT 1 AS x
GRANT ALL ON {table} TO PUBLIC
SELECT 1; DROP TABLE {table}
`
