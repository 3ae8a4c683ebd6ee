package mysql

import (
	"context"
	_ "embed"
	"errors"
	"maps"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/mysql/grammar"
)

//go:embed functions.txt
var functionFile string

// builtins maps the functions that a statement may call to the servers that have them: both, mariadb or mysql. A name
// that a server does not have could be a function of the database, so it is refused there.
var builtins = wordlist.Map(functionFile)

// informative are the tables of information_schema that a statement may read: what they tell, the schema tells, too.
var informative = wordlist.Set(`tables columns key_column_usage statistics table_constraints referential_constraints
	schemata partitions check_constraints`)

// systems are the databases of the server itself.
var systems = wordlist.Set("information_schema performance_schema mysql sys")

// maxNested is how deeply filters and views may refer to others.
const maxNested = 12

// everyRow keeps the server from moving conditions of the statement into a query that filters rows, where they could
// see the other rows.
const everyRow = " LIMIT 18446744073709551615"

// reader answers the questions of the grammar about one statement.
type reader struct {
	ctx        context.Context // of the statement
	e          *engine
	cat        *catalog
	conditions rowfilter.Conditions
	allRows    bool // no filters apply
	nested     int
	unknown    bool // the statement names a table that the catalog does not have
	hidden     source.Hidden
	cut        bool            // the statement reads a table of which something is hidden
	bodies     map[string]body // of views, by schema and name; shared with the readers of parts
	home       string          // the schema of names without one, if it is not the source's own
}

func (e *engine) reader(ctx context.Context, cat *catalog, conditions rowfilter.Conditions) *reader {
	return &reader{
		ctx: ctx, e: e, cat: cat, conditions: conditions, hidden: source.HiddenIn(ctx), bodies: map[string]body{},
	}
}

func (r *reader) options(args []any) grammar.Options {
	return grammar.Options{
		MariaDB: r.cat.version.mariaDB, Args: args, Filtered: r.limits() || len(r.hidden) > 0,
		Call: r.call, Table: r.table,
	}
}

// limits reports whether rows are filtered.
func (r *reader) limits() bool { return r.e.rules != nil && !r.allRows }

// functionSet returns the configured functions in lower case, with the database before names without one.
func functionSet(names []string, database string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		if !strings.Contains(n, ".") {
			n = database + "." + n
		}
		set[strings.ToLower(n)] = true
	}
	return set
}

// call decides on the call of a function.
func (r *reader) call(schema, name string) (string, error) {
	low := strings.ToLower(name)
	if schema == "" {
		where := builtins[low]
		here := where == "both" || where == map[bool]string{true: "mariadb", false: "mysql"}[r.cat.version.mariaDB]
		// A server that is too old to have the function would call the database's own of this name.
		if here && !r.cat.routines[low] {
			return strings.ToUpper(low), nil
		}
		schema = r.e.config.DBName
	}
	if r.e.functions[strings.ToLower(schema)+"."+low] {
		return quote(schema) + "." + quote(name), nil
	}
	return "", source.Refusef("The function %.60s is not allowed: it is not among the harmless functions of MySQL and "+
		"MariaDB. An operator can allow a function of the database itself with the setting functions.", name)
}

// table decides on a table.
func (r *reader) table(schema, name string) (grammar.Table, error) {
	schema = cmpOr(schema, r.home)
	switch {
	case r.limits():
		return r.filtered(schema, name)
	case len(r.hidden) > 0:
		return r.visible(schema, name)
	}
	return r.open(schema, name)
}

// open returns a table or view where no filters apply.
func (r *reader) open(schema, name string) (grammar.Table, error) {
	if schema == "" {
		schema = r.e.config.DBName
	}
	if low := strings.ToLower(schema); systems[low] {
		if low == "information_schema" && informative[strings.ToLower(name)] {
			return grammar.Table{SQL: quote(low) + "." + quote(name), Name: name, Listed: low + "." + name}, nil
		}
		return grammar.Table{}, source.Refusef("The table %.60s.%.60s is not allowed: it tells of the server, its "+
			"users or its other sessions.", schema, name)
	}
	t, ok := r.cat.find(schema, name)
	if !ok {
		r.unknown = true
		t = relation{schema: schema, name: name}
	}
	if t.refusal != "" {
		return grammar.Table{}, source.Refusef("The view %.60s is not allowed: %s", name, t.refusal)
	}
	return grammar.Table{SQL: t.quoted(), Name: t.name, Listed: r.cat.listed(t)}, nil
}

// filtered returns a query of the rows of a table that the principal may see.
func (r *reader) filtered(schema, name string) (grammar.Table, error) {
	database := r.e.config.DBName
	full := name
	if schema != "" && !strings.EqualFold(schema, database) {
		full = schema + "." + name
	}
	configured := child.Configured(r.e.filters, full)
	t, ok := r.cat.find(cmpOr(schema, database), name)
	if configured == "" || !ok {
		r.unknown = configured != ""
		return grammar.Table{}, r.unlisted(full)
	}
	x, err := r.reach(t)
	if errors.Is(err, errGone) {
		return grammar.Table{}, r.unlisted(full)
	} else if err != nil {
		return grammar.Table{}, err
	}
	out := grammar.Table{Name: t.name, Listed: r.cat.listed(t), Query: true}
	if r.e.filters[configured] {
		if out.SQL, out.Query = x.from, x.query; x.query {
			out.SQL = x.sql("")
		}
		return out, nil
	}
	inner := r.inner(nil, "") // the operator wrote the condition, which may use hidden columns
	condition, err := inner.below(configured, func() (grammar.Statement, error) {
		return grammar.ReadCondition(r.conditions.Of(configured), inner.options(nil))
	})
	out.SQL = x.sql(condition)
	return out, err
}

// unlisted returns the error for a table without a filter. It lists those that the principal may read.
func (r *reader) unlisted(full string) error {
	names := map[string]bool{}
	for name := range r.e.filters {
		schema, table, ok := strings.Cut(name, ".")
		if !ok {
			schema, table = "", name
		}
		t, known := r.cat.find(cmpOr(schema, r.e.config.DBName), table)
		if known && len(r.hidden) > 0 && r.nested == 0 {
			_, err := r.reach(t)
			known = err == nil
		}
		if known {
			names[name] = true
		}
	}
	return source.Refusef("Reading %.60s is not allowed. You may read: %s.", full, source.Listed(maps.Keys(names)))
}

// inner returns a reader for a part of a filter or view, whose tables are filtered, too. In it, names without a schema
// are those of home.
func (r *reader) inner(hidden source.Hidden, home string) *reader {
	return &reader{
		ctx: r.ctx, e: r.e, cat: r.cat, conditions: r.conditions, hidden: hidden, home: home, nested: r.nested + 1,
		bodies: r.bodies,
	}
}

// below reads a part of a filter or view.
func (r *reader) below(table string, read func() (grammar.Statement, error)) (string, error) {
	if r.nested > maxNested {
		return "", source.Refusef("The filter of %.60s refers to itself.", table)
	}
	st, err := read()
	return st.SQL, err
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// checkFilters checks at startup that every filter can be applied.
func (e *engine) checkFilters(ctx context.Context, cat *catalog) error {
	if e.rules == nil {
		return nil
	}
	s, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	for table := range e.filters {
		schema, name, ok := strings.Cut(table, ".")
		if !ok {
			schema, name = "", table
		}
		t, ok := cat.find(cmpOr(schema, e.config.DBName), name)
		switch {
		case !ok:
			return footnote.Invalidf("source %s: filters: the database has no table %s that the user may read.", e.name,
				table)
		case t.view && t.definition == "":
			return footnote.Invalidf("source %s: filters: the definition of the view %s cannot be read, so its tables "+
				"cannot be filtered: GRANT SHOW VIEW ON %s TO the user.", e.name, table, t.quoted())
		}
		filtered, err := e.reader(ctx, cat, e.rules.Blank()).filtered(schema, name)
		if err == nil {
			_, err = s.query(ctx, "EXPLAIN SELECT 1 FROM "+filtered.SQL+" AS t", func([]any) error { return nil })
		}
		if bad, ok := errors.AsType[*source.Error](err); ok {
			return footnote.Invalidf("source %s: filters: %s: %s", e.name, table, bad.Reason)
		} else if err != nil {
			return err
		}
	}
	return nil
}
