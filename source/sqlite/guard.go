package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite has no row-level security, so a source with filters builds it from views. Before each statement, in the
// same transaction, every table with a condition is hidden by a temporary view of its name. That view reads a
// second view with a random name, and only the second view may read the table:
//
//	orders (temp) → 0f3c… (temp) → main.orders WHERE (org = 'acme') LIMIT -1 OFFSET 0
//
// SQLite tells the authorizer which view reads a table. It reports common table expressions by their names as well,
// so with only one view, WITH orders AS (SELECT * FROM main.orders) would pass for the view orders. Hence the
// second view, whose name is generated for each statement. The LIMIT is a barrier: the planner does not push
// conditions of the statement below it, where their errors would reveal hidden rows.
//
// For columns that USING and NATURAL merge, SQLite does not call the authorizer, or names another table. A
// statement with one of these words must therefore not be able to name a hidden table at all. It is refused if it
// has main before a dot. For each name in the statement that belongs to a table without a filter, a temporary view of
// the same name, which nobody can read, hides the table.
//
// A table with hidden columns has such a view, too, without those columns. See hidden.go.
//
// Views of the database are recreated as temporary ones, so that names inside them resolve as in the statement.
// Tables and views without a filter cannot be read, nor can statistics and the schema's own tables; EXPLAIN is
// refused.

// guard holds a connection's filters and their state. Only the connection's goroutine uses it.
type guard struct {
	filters map[string]bool      // from config
	all     bool                 // there are no filters: whatever is not hidden can be read
	blank   rowfilter.Conditions // from config

	trusted bool // the package's own statements are running
	broken  bool // cleanup failed; the connection must not be reused

	version int64 // schema version that layout was read from
	layout  *layout

	views        map[string]bool // temporary views, in lower case
	tableReaders map[string]bool // views that may read tables

	hiding bool                // something is hidden from the statement
	off    bool                // the statement may see everything
	cut    map[string][]string // lower-case name → visible columns, for tables and views with hidden ones
	gone   map[string]bool     // lower-case names that are hidden from the statement as a whole

	unindexed map[string]bool // lower-case names of tables whose indexes could reveal a hidden column
}

// layout describes the tables and views of the database in terms of the filters.
type layout struct {
	tables map[string]string // lower-case name → name, for tables with a condition
	bodies map[string]view   // lower-case name → the view
	open   map[string]bool   // lower-case names readable without a view
	hidden map[string]bool   // all other names in the database
	named  map[string]bool   // names in views that use USING or NATURAL

	names   map[string]string // lower-case name → name, of all tables and views
	virtual map[string]bool   // lower-case names of virtual tables
	shadows map[string]string // lower-case name of a shadow table → its virtual table
}

// words lists the names in a statement and the words that matter to the guard.
type words struct {
	names  map[string]bool // lower-case; both bare and quoted
	main   bool            // main before a dot
	temp   bool            // temp before a dot
	joined bool            // USING or NATURAL
	pragma bool            // the statement is a PRAGMA
	every  bool            // any name may be used
}

// wordsOf scans a statement by the rules of SQLite's own tokenizer.
func wordsOf(sql string) words {
	w := words{names: map[string]bool{}}
	last := ""
	for t := range tokens(sql) {
		if t.text == "." {
			w.main = w.main || last == "main"
			w.temp = w.temp || last == "temp"
		}
		first := last == ""
		last = source.Lower(dequote(t.text))
		w.joined = w.joined || strings.EqualFold(t.text, "using") || strings.EqualFold(t.text, "natural")
		w.pragma = w.pragma || first && last == "pragma"
		w.names[last] = true
	}
	return w
}

// dequote returns a name without its quotes.
func dequote(text string) string {
	if len(text) < 2 {
		return text
	}
	switch inner := text[1 : len(text)-1]; text[0] {
	case '[':
		return inner
	case '\'', '"', '`':
		return strings.ReplaceAll(inner, text[:1]+text[:1], text[:1])
	}
	return text
}

// view is a view of the database: its definition after the name, split at AS.
type view struct{ name, columns, query string }

// runTrusted runs this package's own statements, which the authorizer lets through.
func (c *conn) runTrusted(f func() error) error {
	if c.guard == nil {
		return f()
	}
	before := c.guard.trusted
	c.guard.trusted = true
	defer func() { c.guard.trusted = before }()
	return f()
}

// guarded runs a statement that sees only the rows its attached conditions allow, and no hidden columns.
func (c *conn) guarded(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	hidden := source.HiddenIn(ctx)
	defer c.interruptOn(ctx)()
	if c.guard.off = c.guard.all && len(hidden) == 0; c.guard.off {
		return c.query(q, each)
	}
	sum, err := c.queryViews(child.Conditions(ctx), hidden, q, each)
	return sum, c.listViews(hidden, err)
}

// queryViews runs a statement over temporary views.
func (c *conn) queryViews(conditions rowfilter.Conditions, hidden source.Hidden, q source.Query,
	each func(row []any) error) (source.Summary, error) {
	w := wordsOf(q.SQL)
	defer c.dropViews()
	if err := c.makeViews(conditions, hidden, w); err != nil {
		c.guard.broken = true
		return source.Summary{}, c.explain(err)
	}
	if w.main && !w.pragma || w.temp && len(hidden) > 0 {
		return source.Summary{},
			source.Refusef("Tables are named without a schema here. You may read: %s.", c.guard.list())
	}
	if view := c.guard.goneView(q.SQL); view != "" && !c.guard.all {
		return source.Summary{}, source.Failf("no such table: %s", view)
	}
	sum, err := c.query(q, each)
	return sum, c.guard.withoutTrace(q.SQL, err)
}

// makeViews begins a transaction and creates the views. The caller must call dropViews afterwards.
func (c *conn) makeViews(conditions rowfilter.Conditions, hidden source.Hidden, w words) error {
	g := c.guard
	g.views, g.tableReaders, g.off = map[string]bool{}, map[string]bool{}, false
	return c.runTrusted(func() error {
		if err := c.exec("PRAGMA query_only=0; BEGIN"); err != nil {
			return err
		}
		if err := c.loadLayout(); err != nil {
			return err
		}
		if err := c.hide(hidden); err != nil {
			return err
		}
		if err := c.makeTableViews(conditions); err != nil {
			return err
		}
		needed := g.neededViews(w)
		for low, v := range needed {
			if err := c.makeView(low, v, conditions); err != nil {
				return fmt.Errorf("the view %s: %w", v.name, err)
			}
		}
		if len(hidden) > 0 {
			if err := c.dropBroken(needed); err != nil {
				return err
			}
			if err := c.blockGone(); err != nil {
				return err
			}
		}
		if err := c.blockNames(w); err != nil {
			return err
		}
		return c.exec("PRAGMA query_only=1")
	})
}

// blockNames blocks the names of unreadable tables that a statement or view mentions where it could bypass the
// authorizer.
func (c *conn) blockNames(w words) error {
	g := c.guard
	for name := range g.layout.named {
		if g.hides(name) && !g.blocked(name) {
			if err := c.blockName(name); err != nil {
				return err
			}
		}
	}
	if !w.joined {
		return nil
	}
	for name := range w.names {
		switch {
		case c.internal(name):
			return source.Refusef("Reading %s is not allowed. You may read: %s.", name, g.list())
		case g.hides(name) && !g.layout.named[name] && !g.blocked(name):
			if err := c.blockName(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// internal reports whether a name is reserved by the engine.
func (c *conn) internal(name string) bool {
	return strings.HasPrefix(name, "sqlite_") || c.modules[name]
}

// blockName hides a table behind a temporary view of its name. Nobody can read that view, as it is not among those that
// may read tables.
func (c *conn) blockName(name string) error {
	err := c.exec(fmt.Sprintf("CREATE TEMP VIEW %[1]s AS SELECT * FROM main.%[1]s", quote(name)))
	if err != nil { // the names of shadow tables are reserved
		return source.Refusef("Reading %s is not allowed. You may read: %s.", name, c.guard.list())
	}
	return nil
}

// makeView recreates a view of the database over the tables as the statement may see them.
func (c *conn) makeView(low string, v view, conditions rowfilter.Conditions) error {
	g, configured := c.guard, c.guard.named(v.name)
	name, barrier := v.name, ""
	if !g.all && !g.filters[configured] {
		barrier = fmt.Sprintf(" WHERE (%s) LIMIT -1 OFFSET 0", conditions.Of(configured))
	}
	if barrier != "" || g.cut[low] != nil {
		name = g.secret()
		if err := c.exec(fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT %s FROM temp.%s AS %s%s",
			quote(v.name), g.columns(low), quote(name), quote(v.name), barrier)); err != nil {
			return err
		}
		g.views[name] = true
	}
	g.views[low] = true
	return c.exec(fmt.Sprintf("CREATE TEMP VIEW %s%s AS %s", quote(name), v.columns, v.query))
}

// secret returns a name that no statement can contain.
func (g *guard) secret() string { return "v" + strings.ToLower(rand.Text()) }

// named returns the configured spelling of a table's name, or "" when it has no filter.
func (g *guard) named(name string) string { return child.Configured(g.filters, name) }

// dropViews drops the views and ends the transaction. When that fails, the connection is not used again.
func (c *conn) dropViews() {
	g := c.guard
	err := c.runTrusted(func() error {
		if err := c.exec("PRAGMA query_only=0"); err != nil {
			return err
		}
		rows, err := c.all("SELECT name FROM sqlite_temp_schema WHERE type = 'view'")
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := c.exec("DROP VIEW temp." + quote(text(r[0]))); err != nil {
				return err
			}
		}
		return c.exec("COMMIT; PRAGMA query_only=1")
	})
	if err != nil {
		g.broken = true
	}
	g.views, g.tableReaders, g.cut, g.gone = nil, nil, nil, nil
}

// loadLayout reads the layout of the database, unless the schema is unchanged.
func (c *conn) loadLayout() error {
	rows, err := c.all("PRAGMA main.schema_version")
	if err != nil {
		return err
	}
	version, _ := rows[0][0].(int64)
	if c.guard.layout != nil && c.guard.version == version {
		return nil
	}
	l := &layout{
		tables: map[string]string{}, bodies: map[string]view{}, open: map[string]bool{}, hidden: map[string]bool{},
		named: map[string]bool{}, names: map[string]string{}, virtual: map[string]bool{}, shadows: map[string]string{},
	}
	rows, err = c.all("SELECT t.name, t.type, s.sql FROM pragma_table_list AS t LEFT JOIN main.sqlite_schema AS s ON " +
		"s.name = t.name AND s.type IN ('table', 'view') WHERE t.schema = 'main'")
	if err != nil {
		return err
	}
	var shadows []string
	for _, r := range rows {
		name, kind, sql := text(r[0]), text(r[1]), text(r[2])
		low, configured := source.Lower(name), c.guard.named(name)
		open, listed := c.guard.filters[configured]
		if c.guard.all {
			open, listed = true, true
		}
		l.names[low], l.virtual[low] = name, kind == "virtual"
		switch {
		case kind == "shadow" && (!listed || c.guard.all):
			shadows = append(shadows, low)
		case !listed || strings.HasPrefix(low, "sqlite_"):
			l.hidden[low] = true
		case kind == "view":
			if v, ok := splitView(name, sql); ok {
				l.bodies[low] = v
			} else {
				l.hidden[low] = true
			}
		case open:
			l.open[low] = true
		case kind == "table":
			l.tables[low] = name
		default:
			l.hidden[low] = true // a virtual table with a condition; checkFilters rejects it
		}
	}
	for _, s := range shadows { // shadow tables hold a virtual table's rows in another form
		if owner := shadowed(s, l); l.open[owner] {
			l.open[s], l.shadows[s] = true, owner
		} else {
			l.hidden[s] = true
		}
	}
	if err := c.checkConditions(l); err != nil {
		return err
	}
	c.guard.layout, c.guard.version = l, version
	return nil
}

// shadowed returns the table that a shadow table belongs to: the one with the longest name that is a prefix of the
// shadow's.
func shadowed(shadow string, l *layout) string {
	for i := len(shadow) - 1; i > 0; i-- {
		if owner := shadow[:i]; shadow[i] == '_' && (l.open[owner] || l.hidden[owner]) {
			return owner
		}
	}
	return ""
}

// splitView parses CREATE VIEW name(columns) AS query, in the form that SQLite stores.
func splitView(name, sql string) (view, bool) {
	depth, words, columns := 0, 0, ""
	for t := range tokens(sql) {
		switch {
		case t.text == "(":
			if depth++; depth == 1 {
				columns = sql[t.from:]
			}
		case t.text == ")":
			if depth--; depth == 0 {
				columns = columns[:len(columns)-(len(sql)-t.to)]
			}
		case depth == 0 && words >= 3 && strings.EqualFold(t.text, "AS"):
			return view{name: name, columns: columns, query: sql[t.to:]}, true
		case depth == 0:
			words++
		}
	}
	return view{}, false
}

// judgeGuarded is judge for a source with filters: it refuses everything judge refuses, and allows reading a table
// only through its view.
func (c *conn) judgeGuarded(action int32, a1, a2, database, accessor string) string {
	g := c.guard
	switch {
	case g.trusted:
		return ""
	case g.off:
		return c.judge(action, a1, a2, database)
	case action == sqlite3.SQLITE_READ:
		return c.judgeGuardedRead(a1, a2, source.Lower(database), accessor)
	case action == sqlite3.SQLITE_PRAGMA:
		return g.judgePragma(source.Lower(a1), source.Lower(a2), database)
	}
	return c.judge(action, a1, a2, database)
}

func (c *conn) judgeGuardedRead(table, column, database, accessor string) string {
	g, name := c.guard, source.Lower(table)
	l := g.layout
	pragma, isPragma := strings.CutPrefix(name, "pragma_")
	switch {
	case l == nil:
	case database == "temp" && g.views[name]:
		return ""
	case database != "" && database != "main":
	case strings.HasPrefix(name, "sqlite_"), g.hides(name) && !(database == "main" && g.tableReaders[accessor]):
		// A condition may read tables that nothing else may.
	case g.readsPlainly(name, column):
		return ""
	case database == "main" && g.tableReaders[accessor] && !c.modules[name]:
		return ""
	case isPragma:
		if pragma == "table_info" || pragma == "table_xinfo" {
			return ""
		}
	case c.modules[name]:
	case database == "main": // a readable module, or the name SQLite reports for a subquery in a FULL JOIN
		if !g.isGuarded(name) {
			return ""
		}
	default: // no column of it is read, or it is not a table of the database
		return ""
	}
	return fmt.Sprintf("Reading %s is not allowed. You may read: %s.", table, g.list())
}

func (g *guard) judgePragma(pragma, arg, database string) string {
	switch {
	case database != "" && g.hiding: // the view of the same name is in another schema
		return "A PRAGMA with a schema is not allowed. Leave the schema out."
	case pragma == "data_version": // FTS5 reads it
		return ""
	case pragma != "table_info" && pragma != "table_xinfo":
		return fmt.Sprintf("PRAGMA %s is not allowed. Allowed is table_info.", pragma)
	case g.views[arg] || g.layout != nil && g.layout.open[arg] && g.cut[arg] == nil && !g.gone[arg]:
		return ""
	}
	return fmt.Sprintf("There is no table %.80q to describe. You may read: %s.", arg, g.list())
}

// list returns the names of the readable tables.
func (g *guard) list() string { return source.Listed(g.readable(false)) }

// visible returns the tables with a filter, without their references to other tables.
func (g *guard) visible(tables []source.Table) []source.Table {
	tables = slices.DeleteFunc(tables, func(t source.Table) bool { return g.named(t.Name) == "" })
	for i := range tables {
		tables[i].ForeignKeys = slices.DeleteFunc(tables[i].ForeignKeys, func(k source.ForeignKey) bool {
			return g.named(k.RefTable) == ""
		})
	}
	return tables
}

// redact removes the generated names of views from a message.
func (c *conn) redact(message string) string {
	if c.guard != nil {
		for secret := range c.guard.views {
			if len(secret) > 20 {
				message = strings.ReplaceAll(message, secret, "…")
			}
		}
	}
	return message
}

func cannotEnforce(table, format string, args ...any) error {
	return footnote.Errorf(footnote.DatabaseUnavailable, "the filter of %s cannot be enforced: %s", table,
		fmt.Sprintf(format, args...))
}

// checkFilters returns an error that names the first filter that cannot be enforced.
func (c *conn) checkFilters() error {
	if err := c.runTrusted(c.loadLayout); err != nil {
		return openError(err)
	}
	l := c.guard.layout
	for _, table := range slices.Sorted(maps.Keys(c.guard.filters)) {
		low := source.Lower(table)
		_, isView := l.bodies[low]
		switch {
		case l.open[low], isView, l.tables[low] != "":
		case l.hidden[low]:
			return cannotEnforce(table,
				"it is neither a table nor a view with rows of its own. Leave it out, or open it with %s.",
				rowfilter.Open)
		default:
			return cannotEnforce(table, "there is no such table.")
		}
	}
	err := c.makeViews(c.guard.blank, nil, words{})
	defer c.dropViews()
	if err != nil {
		return footnote.Errorf(footnote.DatabaseUnavailable, "the filters cannot be enforced: %v", err)
	}
	for _, table := range slices.Sorted(maps.Keys(c.guard.filters)) {
		st, _, err := c.prepare("SELECT * FROM " + quote(table))
		if err != nil {
			return cannotEnforce(table, "%v", c.explain(err))
		}
		st.close()
	}
	return nil
}

// checkConditions checks the conditions against the current schema: SQLite must not read the quoted name of a
// dropped column as text.
func (c *conn) checkConditions(l *layout) error {
	for _, low := range slices.Sorted(maps.Keys(l.bodies)) {
		v := l.bodies[low]
		w := wordsOf(v.query)
		if err := c.checkBody(v, w); err != nil && !c.guard.all {
			return err
		} else if err != nil { // nobody asked for this view
			delete(l.bodies, low)
			l.hidden[low] = true
			continue
		}
		if w.joined {
			maps.Copy(l.named, w.names)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(c.guard.blank)) {
		low := source.Lower(table)
		from := "main." + quote(l.tables[low])
		if v, isView := l.bodies[low]; isView {
			var err error
			if from, err = c.columnsAlone(v.name); err != nil {
				return cannotEnforce(table, "%v", err)
			}
		} else if l.tables[low] == "" {
			continue
		}
		if err := c.checkCondition(from, c.guard.blank[table]); err != nil {
			return cannotEnforce(table, "%v", err)
		}
	}
	return nil
}

// checkBody returns an error if a view cannot be recreated safely. w are the words of its query.
func (c *conn) checkBody(v view, w words) error {
	if w.main {
		return cannotEnforce(v.name, "the view names a table with its schema.")
	}
	for name := range w.names {
		if w.joined && c.internal(name) {
			return cannotEnforce(v.name, "the view reads %s.", name)
		}
	}
	return nil
}

// columnsAlone returns a subquery with just the columns of a view. The condition is checked against it because the
// view's own query may legitimately use double-quoted text.
func (c *conn) columnsAlone(view string) (string, error) {
	st, _, err := c.prepare("SELECT * FROM main." + quote(view))
	if err != nil {
		return "", err
	}
	defer st.close()
	var list []string
	for i := range st.columns() {
		list = append(list, "NULL AS "+quote(st.name(i)))
	}
	return "(SELECT " + strings.Join(list, ", ") + ") AS " + quote(view), nil
}

// checkCondition compiles a condition in a mode where a double-quoted name that is not a column is an error rather
// than text.
func (c *conn) checkCondition(from, condition string) error {
	if err := c.configure(sqlite3.SQLITE_DBCONFIG_DQS_DML, 0); err != nil {
		return err
	}
	st, tail, err := c.prepare("SELECT 1 FROM " + from + " WHERE (" + condition + ")")
	if err == nil {
		st.close()
		if !blank(tail) {
			err = errors.New("it is not one condition")
		}
	}
	if on := c.configure(sqlite3.SQLITE_DBCONFIG_DQS_DML, 1); err == nil {
		err = on
	}
	return err
}
