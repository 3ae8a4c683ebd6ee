//go:build cgo && !noduckdb

package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/internal/localschema"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/duckdb/dialect"
)

const (
	countTime = 2 * time.Second // for counting the rows of all tables
	maxTables = 5000
)

// emptyCatalog returns a catalog with the engine's functions, and without relations.
func (e *engine) emptyCatalog(ctx context.Context) (*catalog, error) {
	c := &catalog{
		relations: map[string]bool{}, macros: map[string]error{}, functions: map[string]bool{},
		names: map[string]string{},
	}
	return c, e.each(ctx, "SELECT DISTINCT lower(function_name) FROM duckdb_functions()", func(s []string) error {
		c.functions[s[0]] = true
		return nil
	})
}

// catalog reads the gate's knowledge of the database.
func (e *engine) catalog(ctx context.Context) (*catalog, error) {
	c, err := e.emptyCatalog(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.data.QueryRowContext(ctx, "SELECT current_database()").Scan(&c.database); err != nil {
		return nil, err
	}
	return c, e.each(ctx, `SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database()
		AND NOT internal
		UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = current_database()
			AND NOT internal`, func(s []string) error {
		c.add(s[0], s[1])
		return nil
	})
}

func (c *catalog) add(schema, name string) {
	schema, low := source.Lower(schema), source.Lower(name)
	c.relations[schema+"."+low] = true
	if schema == "main" {
		c.relations["."+low] = true
		c.names[low] = name
	}
}

func (c *catalog) remove(schema, name string) {
	schema, low := source.Lower(schema), source.Lower(name)
	delete(c.relations, schema+"."+low)
	if schema == "main" {
		delete(c.relations, "."+low)
		delete(c.names, low)
	}
}

// each runs one of our own queries.
func (e *engine) each(ctx context.Context, query string, f func(row []string) error) error {
	return eachRow(ctx, e.data, query, f)
}

// eachRow calls f for each row of a query, as texts.
func eachRow(ctx context.Context, on querier, query string, f func(row []string) error) error {
	rows, err := on.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]sql.NullString, len(columns))
	targets := make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = v.String
		}
		if err := f(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// definition is a view or macro of the database.
type definition struct {
	schema, name string
	view         bool
	sql          string // a query
}

// ownDefinitions reads the views and macros of the database. Unreadable ones are left out and so cannot be used.
func (e *engine) ownDefinitions(ctx context.Context) []definition {
	var list []definition
	e.each(ctx, "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE database_name = current_database() AND "+
		"NOT internal", func(s []string) error {
		list = append(list, definition{schema: s[0], name: s[1], view: true, sql: viewQuery(s[2])})
		return nil
	})
	e.each(ctx, `SELECT schema_name, function_name, function_type, macro_definition FROM duckdb_functions()
		WHERE database_name = current_database() AND NOT internal AND macro_definition IS NOT NULL`,
		func(s []string) error {
			d := definition{schema: s[0], name: s[1], sql: s[3]}
			if s[2] == "macro" {
				d.sql = "SELECT " + s[3]
			}
			list = append(list, d)
			return nil
		})
	return list
}

// viewQuery returns the query of a CREATE VIEW statement.
func viewQuery(sql string) string {
	list, err := tokenize(sql)
	if err != nil {
		return ""
	}
	text, list := body(sql, list)
	for i, t := range list {
		if t.word == "AS" && t.depth == 0 && i+1 < len(list) {
			return text[list[i+1].from:]
		}
	}
	return ""
}

// judgeOwn passes the database's own views and macros through the gate. A view that is refused, perhaps because it
// reads a file, is not a relation; a refused macro may not be called. Whatever uses one of them is refused in turn,
// so judgeOwn repeats until nothing changes.
func (g *gate) judgeOwn(ctx context.Context, list []definition) {
	for _, d := range list {
		if !d.view {
			g.catalog.macros[strings.ToLower(d.name)] = nil
		}
	}
	for changed := true; changed; {
		changed = false
		for i, d := range list {
			if d.sql == "-" {
				continue
			}
			_, err := g.admitOne(ctx, d.sql)
			if err == nil {
				continue
			}
			changed = true
			list[i].sql = "-" // judged
			if d.view {
				g.catalog.remove(d.schema, d.name)
				continue
			}
			g.catalog.macros[strings.ToLower(d.name)] = source.Refusef("The macro %s is not allowed: %v", d.name, err)
		}
	}
	// Unqualified names in a statement call the macros of main. Inside a view, those of its own schema come first,
	// which is why the loop above judged all schemas.
	reached := make(map[string]bool)
	for _, d := range list {
		if schema := strings.ToLower(d.schema); !d.view && (schema == "main" || schema == "pg_catalog") {
			reached[strings.ToLower(d.name)] = true
		}
	}
	maps.DeleteFunc(g.catalog.macros, func(name string, _ error) bool { return !reached[name] })
}

// Schema implements child.Engine.
func (e *engine) Schema(ctx context.Context) (source.Schema, error) {
	tables, err := e.tables(ctx)
	if err != nil {
		return source.Schema{}, e.explain(err)
	}
	if e.guard != nil {
		tables = slices.DeleteFunc(tables, func(t source.Table) bool { return t.Schema != "" })
	}
	switch hidden := source.HiddenIn(ctx); {
	case len(hidden) > 0 && e.guard == nil:
		return source.Schema{}, source.Refusef("What you may see of the database has just changed. Try again.")
	case len(hidden) > 0:
		if tables, err = e.withoutGone(ctx, tables, hidden); err != nil {
			return source.Schema{}, e.explain(err)
		}
	}
	index := make(map[string]*source.Table, len(tables))
	for i := range tables {
		index[tables[i].Schema+"\x00"+tables[i].Name] = &tables[i]
	}
	if err := e.columns(ctx, index); err != nil {
		return source.Schema{}, e.explain(err)
	}
	if err := e.keys(ctx, index); err != nil {
		return source.Schema{}, e.explain(err)
	}
	if e.guard != nil {
		e.guard.redactTables(tables)
	}
	if e.guard != nil && !e.guard.all {
		return source.Schema{Tables: tables}, nil // the number of rows is not for everybody to see
	}
	cctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	for i := range tables {
		if t := &tables[i]; !t.View && cctx.Err() == nil {
			if e.data.QueryRowContext(cctx, "SELECT count(*) FROM "+e.stored(*t)).Scan(&t.Rows) != nil {
				t.Rows = -1
			}
		}
	}
	return source.Schema{Tables: tables}, nil
}

// stored returns the name of a table in the database, also where views have its plain name.
func (e *engine) stored(t source.Table) string {
	if e.guard != nil {
		return e.guard.table(t.Name)
	}
	return dialect.DuckDB.Table(t)
}

// database returns the source's database as a SQL expression.
func (e *engine) database() string {
	if e.guard != nil {
		return literal(e.guard.base)
	}
	return "current_database()"
}

// schemaOf returns the name of a schema in the form of source.Table.
func schemaOf(name string) string {
	if name == "main" {
		return ""
	}
	return name
}

func (e *engine) tables(ctx context.Context) ([]source.Table, error) {
	var tables []source.Table
	err := e.each(ctx, fmt.Sprintf(
		`SELECT schema_name, table_name, 'table', comment FROM duckdb_tables() WHERE database_name = %[1]s
			AND NOT internal
		UNION ALL SELECT schema_name, view_name, 'view', comment FROM duckdb_views() WHERE database_name = %[1]s
			AND NOT internal
		ORDER BY 1, 2 LIMIT %[2]d`, e.database(), maxTables), func(s []string) error {
		if schemaOf(s[0]) == "" && e.gate.catalog.has("", s[1]) || e.gate.catalog.has(s[0], s[1]) {
			tables = append(tables, source.Table{
				Schema: schemaOf(s[0]), Name: s[1], View: s[2] == "view", Comment: s[3], Rows: -1,
			})
		}
		return nil
	})
	return tables, err
}

func (e *engine) columns(ctx context.Context, index map[string]*source.Table) error {
	var room source.Room
	return e.each(ctx, `SELECT schema_name, table_name, column_name, data_type, is_nullable, comment
		FROM duckdb_columns()
		WHERE database_name = `+e.database()+` AND NOT internal ORDER BY table_oid, column_index`,
		func(s []string) error {
			if t := index[schemaOf(s[0])+"\x00"+s[1]]; t != nil {
				c := source.Column{
					Name: s[2], Type: s[3], Kind: localschema.Kind(s[3]), Nullable: s[4] == "true", Comment: s[5],
				}
				if !room.Fits(c) {
					t.Comment = source.NotListed
					return nil
				}
				t.Columns = append(t.Columns, c)
			}
			return nil
		})
}

// keys reads primary and foreign keys. It joins names with a character that no name should contain.
func (e *engine) keys(ctx context.Context, index map[string]*source.Table) error {
	const sep = "\x1f"
	return e.each(ctx, `SELECT schema_name, table_name, constraint_type, array_to_string(constraint_column_names,
		chr(31)),
			referenced_table, array_to_string(referenced_column_names, chr(31))
		FROM duckdb_constraints() WHERE database_name = `+e.database()+
		` AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
		ORDER BY table_oid, constraint_index`, func(s []string) error {
		t := index[schemaOf(s[0])+"\x00"+s[1]]
		switch {
		case t == nil:
		case s[2] == "PRIMARY KEY":
			t.PrimaryKey = strings.Split(s[3], sep)
		case s[4] != "":
			ref := s[4]
			if t.Schema != "" {
				ref = t.Schema + "." + ref // DuckDB's keys stay within a schema
			}
			t.ForeignKeys = append(t.ForeignKeys, source.ForeignKey{
				Columns:    strings.Split(s[3], sep),
				RefTable:   ref,
				RefColumns: strings.Split(s[5], sep),
			})
		}
		return nil
	})
}
