//go:build cgo && !noduckdb

package duckdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// DuckDB has no row-level security, so a source with filters builds it from views. The engine opens an empty
// database and attaches the real one under a random name. Each statement runs on a connection of its own, with a
// temporary view for each table that has a filter:
//
//	orders (temp) → 0f3c….main.orders WHERE (org = 'acme') LIMIT 9223372036854775807
//
// A name in a statement resolves to such a view or to nothing, because the gate has refused names with a schema or
// a database and everything that describes the catalogue. The LIMIT is a barrier: the optimiser does not push
// conditions of the statement below it, where their error messages would quote hidden rows. ENUM columns are text
// in the views, since their type lists their values. Macros of the database may not be called.

// guard describes the database of an engine with filters.
type guard struct {
	base    string          // the name the database is attached under
	filters map[string]bool // from config
	views   []guardView     // in an order in which they can be created
	types   map[string]bool // "table\x00column" of the columns that the views convert to text
}

// guardView is a view over a table or over a view of the database.
type guardView struct {
	name    string // as declared
	key     string // as configured
	columns []string
	from    string // a query in parentheses, or a table
}

const noLimit = "9223372036854775807" // rows

// table returns the qualified name of a table, which bypasses all views.
func (g *guard) table(name string) string {
	return quote(g.base) + ".main." + quote(strings.Trim(name, `"`))
}

// redactMessage removes the attached database's name from a message, and advice that would contain it.
func (g *guard) redactMessage(text string) string {
	if before, after, ok := strings.Cut(text, "\nDid you mean "); ok {
		_, rest, _ := strings.Cut(after, "\n")
		text = strings.TrimSpace(before + "\n" + rest)
	}
	return strings.ReplaceAll(text, g.base, "…")
}

// redactTables removes references to hidden tables, and types that list values, from the schema.
func (g *guard) redactTables(tables []source.Table) {
	listed := map[string]bool{}
	for _, t := range tables {
		listed[source.Lower(t.Name)] = true
	}
	for i := range tables {
		t := &tables[i]
		t.ForeignKeys = slices.DeleteFunc(t.ForeignKeys, func(k source.ForeignKey) bool {
			return !listed[source.Lower(k.RefTable)]
		})
		for j := range t.Columns {
			if c := &t.Columns[j]; g.types[source.Lower(t.Name)+"\x00"+source.Lower(c.Name)] ||
				t.View && strings.Contains(c.Type, "ENUM(") {
				c.Type, c.Kind = "VARCHAR", footnote.KindText
			}
		}
	}
}

// openGuarded opens the database of a source with filters.
func (e *engine) openGuarded(ctx context.Context, cfg config) error {
	e.guard = &guard{base: "d" + strings.ToLower(rand.Text()), filters: cfg.Filters, types: map[string]bool{}}
	empty, err := filepath.Abs("empty.duckdb")
	if err != nil {
		return err
	}
	if err := makeEmpty(ctx, empty); err != nil {
		return fmt.Errorf("make an empty database: %w", err)
	}
	attach := fmt.Sprintf("ATTACH %s AS %s (READ_ONLY)", literal(cfg.Path), quote(e.guard.base))
	if e.data, err = open(ctx, empty, cfg.Memory, attach); err != nil {
		return openError(err)
	}
	e.data.SetMaxIdleConns(0) // each connection is used only once
	c, err := e.emptyCatalog(ctx)
	if err != nil {
		return openError(err)
	}
	c.filtered = true
	for configured := range cfg.Filters {
		c.relations["."+source.Lower(configured)], c.names[source.Lower(configured)] = true, configured
	}
	e.gate = &gate{catalog: c, parse: e.parse}
	found, err := e.findViews(ctx)
	if err != nil {
		return err
	}
	return e.orderViews(ctx, found, cfg.Blank)
}

// makeEmpty creates a database without tables.
func makeEmpty(ctx context.Context, path string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	db, err := sql.Open("duckdb", path)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "CHECKPOINT")
	return errors.Join(err, db.Close())
}

// findViews builds the views for the tables and views that the filters name.
func (e *engine) findViews(ctx context.Context) ([]guardView, error) {
	g := e.guard
	var err error
	each := func(query string, f func(row []string)) {
		if err == nil {
			err = e.each(ctx, query+" AND NOT internal AND database_name = "+e.database()+" ORDER BY ALL",
				func(s []string) error { f(s); return nil })
		}
	}
	ownTypes := map[string]bool{} // types that the database defines
	each("SELECT DISTINCT type_name FROM duckdb_types() WHERE true", func(s []string) {
		ownTypes[source.Lower(s[0])] = true
	})
	columns, casts := map[string][]string{}, map[string][]string{}
	each("SELECT table_oid, column_index, table_name, column_name, data_type FROM duckdb_columns() "+
		"WHERE schema_name = 'main'", func(s []string) {
		table, name, cast := s[2], s[3], quote(s[3])
		if listsValues(s[4], ownTypes) {
			cast = fmt.Sprintf("CAST(%[1]s AS VARCHAR) AS %[1]s", cast)
			g.types[source.Lower(table)+"\x00"+source.Lower(name)] = true
		}
		columns[table], casts[table] = append(columns[table], quote(name)), append(casts[table], cast)
	})
	var found []guardView
	add := func(name, from string) {
		if key := child.Configured(g.filters, name); key != "" {
			found = append(found, guardView{name: name, key: key, columns: columns[name], from: from})
		}
	}
	each("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'", func(s []string) {
		add(s[0], fmt.Sprintf("(SELECT %s FROM %s)", strings.Join(casts[s[0]], ", "), g.table(s[0])))
	})
	bodies := map[string]string{}
	each("SELECT view_name, sql FROM duckdb_views() WHERE schema_name = 'main'", func(s []string) {
		bodies[s[0]] = strings.TrimRight(viewQuery(s[1]), "; \n\t")
	})
	if err != nil {
		return nil, openError(err)
	}
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		if child.Configured(g.filters, name) == "" {
			continue
		}
		if _, err := e.gate.admitOne(ctx, bodies[name]); err != nil {
			return nil, cannotEnforce(name, err)
		}
		add(name, "("+bodies[name]+")")
	}
	return found, nil
}

// listsValues reports whether a type is a list of values, or contains one.
func listsValues(declared string, ownTypes map[string]bool) bool {
	if strings.Contains(strings.ToUpper(declared), "ENUM(") {
		return true
	}
	words := strings.FieldsFunc(declared, func(r rune) bool { return strings.ContainsRune(` "(),[]`, r) })
	return ownTypes[source.Lower(declared)] ||
		slices.ContainsFunc(words, func(w string) bool { return ownTypes[source.Lower(w)] })
}

func cannotEnforce(table string, err error) error {
	reason := err.Error()
	if bad, ok := err.(*source.Error); ok {
		reason = bad.Reason
	}
	return footnote.Errorf(footnote.DatabaseUnavailable, "the filter of %s cannot be enforced: %s", table, reason)
}

// orderViews finds an order in which the views can be created, as a view or a condition may read another view. A
// view that cannot be created at all is an error, and the source does not open.
func (e *engine) orderViews(ctx context.Context, found []guardView, blank rowfilter.Conditions) error {
	g := e.guard
	for _, key := range slices.Sorted(maps.Keys(g.filters)) {
		if !slices.ContainsFunc(found, func(v guardView) bool { return v.key == key }) {
			return footnote.Errorf(footnote.DatabaseUnavailable,
				"the filter of %s cannot be enforced: there is no such table in the schema main.", key)
		}
	}
	conn, err := e.data.Conn(ctx)
	if err != nil {
		return openError(err)
	}
	defer conn.Close()
	for len(found) > 0 {
		var left []guardView
		var last error
		for _, v := range found {
			if _, err := conn.ExecContext(ctx, v.create(g, blank)); err != nil {
				left, last = append(left, v), cannotEnforce(v.name, e.explain(err))
				continue
			}
			g.views = append(g.views, v)
		}
		if len(left) == len(found) {
			return last
		}
		found = left
	}
	return nil
}

// create returns the statement that creates the view under the given conditions.
func (v guardView) create(g *guard, conditions rowfilter.Conditions) string {
	name, columns := quote(v.name), strings.Join(v.columns, ", ")
	text := fmt.Sprintf("CREATE TEMP VIEW %[1]s (%[2]s) AS SELECT * FROM %[3]s AS %[1]s (%[2]s)", name, columns, v.from)
	if g.filters[v.key] {
		return text
	}
	return text + fmt.Sprintf(" WHERE (%s) LIMIT %s", conditions.Of(v.key), noLimit)
}

// guarded runs a statement on a connection of its own, where it sees only the rows its attached conditions allow.
func (e *engine) guarded(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	conditions := child.Conditions(ctx)
	conn, err := e.data.Conn(ctx)
	if err != nil {
		return source.Summary{}, e.explain(err)
	}
	defer conn.Close()
	for _, v := range e.guard.views {
		if _, err := conn.ExecContext(ctx, v.create(e.guard, conditions)); err != nil {
			return source.Summary{}, e.explain(err)
		}
	}
	return e.admitAndRun(ctx, conn, q, each)
}
