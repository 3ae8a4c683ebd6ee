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
//
// Hidden columns are left out of the views. What could reveal one in another way does not exist for the statement: a
// table with generated columns, and a view of the database whose query needs the column. A source without filters, but
// with hidden columns, has a view for every table of the schema main.

// guard describes the database of an engine with filters.
type guard struct {
	base    string          // the name the database is attached under
	filters map[string]bool // from config, or every table and view
	all     bool            // there are no filters: whatever is not hidden can be read
	views   []guardView     // in an order in which they can be created
	types   map[string]bool // "table\x00column" of the columns that the views convert to text
}

// guardView is a view over a table or over a view of the database.
type guardView struct {
	name    string   // as declared
	key     string   // as configured
	columns []string // quoted
	names   []string // of the columns, as declared
	from    string   // a query in parentheses, or a table
	view    bool     // of the database
	derived bool     // a table with generated columns
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
	e.guard = &guard{
		base: "d" + strings.ToLower(rand.Text()), filters: cfg.Filters, all: cfg.Filters == nil,
		types: map[string]bool{},
	}
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
	if e.guard.all {
		if e.guard.filters, err = e.everyTable(ctx); err != nil {
			return openError(err)
		}
	}
	for configured := range e.guard.filters {
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
	columns, casts, names := map[string][]string{}, map[string][]string{}, map[string][]string{}
	each("SELECT table_oid, column_index, table_name, column_name, data_type FROM duckdb_columns() "+
		"WHERE schema_name = 'main'", func(s []string) {
		table, name, cast := s[2], s[3], quote(s[3])
		if listsValues(s[4], ownTypes) {
			cast = fmt.Sprintf("CAST(%[1]s AS VARCHAR) AS %[1]s", cast)
			g.types[source.Lower(table)+"\x00"+source.Lower(name)] = true
		}
		names[table] = append(names[table], name)
		columns[table], casts[table] = append(columns[table], quote(name)), append(casts[table], cast)
	})
	var found []guardView
	add := func(v guardView) {
		if v.key = child.Configured(g.filters, v.name); v.key != "" {
			v.columns, v.names = columns[v.name], names[v.name]
			found = append(found, v)
		}
	}
	each("SELECT table_name, sql FROM duckdb_tables() WHERE schema_name = 'main'", func(s []string) {
		add(guardView{
			name: s[0], from: fmt.Sprintf("(SELECT %s FROM %s)", strings.Join(casts[s[0]], ", "), g.table(s[0])),
			derived: strings.Contains(strings.ToUpper(s[1]), "GENERATED"),
		})
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
		if _, err := e.gate.admitOne(ctx, bodies[name]); err != nil && g.all {
			e.forget(name)
			continue
		} else if err != nil {
			return nil, cannotEnforce(name, err)
		}
		add(guardView{name: name, from: "(" + bodies[name] + ")", view: true})
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
			if _, err := conn.ExecContext(ctx, v.create(g, blank, nil)); err != nil {
				left, last = append(left, v), cannotEnforce(v.name, e.explain(err))
				continue
			}
			g.views = append(g.views, v)
		}
		if len(left) == len(found) && !g.all {
			return last
		} else if len(left) == len(found) {
			for _, v := range left {
				e.forget(v.name)
			}
			return nil
		}
		found = left
	}
	return nil
}

// everyTable returns the tables and views of the schema main, all of which may be read.
func (e *engine) everyTable(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	err := e.each(ctx, fmt.Sprintf(`SELECT table_name FROM duckdb_tables() WHERE database_name = %[1]s
			AND schema_name = 'main' AND NOT internal
		UNION ALL SELECT view_name FROM duckdb_views() WHERE database_name = %[1]s AND schema_name = 'main'
			AND NOT internal`, e.database()), func(s []string) error {
		all[s[0]] = true
		return nil
	})
	return all, err
}

// forget removes a view that cannot be recreated from what may be read.
func (e *engine) forget(name string) {
	delete(e.guard.filters, name)
	e.gate.catalog.remove("main", name)
}

// visible returns the quoted columns of a table or view that are not hidden; ok is false if all of it is.
func (v guardView) visible(hidden source.Hidden) (list []string, ok bool) {
	columns, whole := hidden.Of("", v.name)
	if whole || len(columns) > 0 && v.derived {
		return nil, false
	}
	for i, name := range v.names {
		if !source.Has(columns, name) {
			list = append(list, v.columns[i])
		}
	}
	return list, len(list) > 0
}

// create returns the statement that creates the view under the given conditions, or "" if all of it is hidden.
func (v guardView) create(g *guard, conditions rowfilter.Conditions, hidden source.Hidden) string {
	visible, ok := v.visible(hidden)
	if !ok {
		return ""
	}
	text := fmt.Sprintf("CREATE TEMP VIEW %[1]s (%[2]s) AS SELECT %[2]s FROM %[3]s AS %[1]s (%[4]s)", quote(v.name),
		strings.Join(visible, ", "), v.from, strings.Join(v.columns, ", "))
	if g.filters[v.key] {
		return text
	}
	return text + fmt.Sprintf(" WHERE (%s) LIMIT %s", conditions.Of(v.key), noLimit)
}

// guarded runs a statement on a connection of its own, where it sees only the rows its attached conditions allow, and
// no hidden columns.
func (e *engine) guarded(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	conditions := child.Conditions(ctx)
	conn, err := e.data.Conn(ctx)
	if err != nil {
		return source.Summary{}, e.explain(err)
	}
	defer conn.Close()
	gone, err := e.makeViews(ctx, conn, conditions, source.HiddenIn(ctx))
	if err != nil {
		return source.Summary{}, e.explain(err)
	}
	g := *e.gate
	if len(gone) > 0 {
		g.catalog = g.catalog.without(gone)
	}
	return e.admitAndRun(ctx, conn, g, q, each)
}

// without returns the catalog without some tables and views of the schema main.
func (c *catalog) without(gone map[string]bool) *catalog {
	less := *c
	less.relations, less.names = maps.Clone(c.relations), maps.Clone(c.names)
	for name := range gone {
		less.remove("main", name)
	}
	return &less
}

// makeViews creates the views on a connection. It returns the tables and views that are hidden as a whole: the
// statement finds nothing of their names.
func (e *engine) makeViews(ctx context.Context, conn *sql.Conn, conditions rowfilter.Conditions,
	hidden source.Hidden) (gone map[string]bool, err error) {
	gone = map[string]bool{}
	for _, v := range e.guard.views {
		create := v.create(e.guard, conditions, hidden)
		if create == "" {
			gone[v.name] = true
			continue
		}
		_, err := conn.ExecContext(ctx, create)
		switch {
		case err == nil:
		case len(hidden) > 0 && v.view && ctx.Err() == nil: // its query needs a hidden column
			gone[v.name] = true
		default:
			return nil, err
		}
	}
	return gone, nil
}

// withoutGone returns the tables without those that are hidden as a whole.
func (e *engine) withoutGone(ctx context.Context, tables []source.Table, hidden source.Hidden) ([]source.Table, error) {
	conn, err := e.data.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	gone, err := e.makeViews(ctx, conn, child.Conditions(ctx), hidden)
	return slices.DeleteFunc(tables, func(t source.Table) bool { return gone[t.Name] }), err
}
