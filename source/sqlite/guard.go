package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/json"
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

// SQLite has no row-level security. A source with filters gets it so: before each
// statement, and in one transaction with it, every table with a condition is hidden
// by a temporary view of its name, which reads another view of a name that nobody can
// know, which alone may read the table:
//
//	orders (temp) → 0f3c… (temp) → main.orders WHERE (org = 'acme') LIMIT -1 OFFSET 0
//
// SQLite tells the authorizer through which view a table is read. It also gives the
// names of common table expressions as such, so that WITH orders AS (SELECT * FROM
// main.orders) would pass for a view called orders: hence the second view, whose name
// is made for one statement. The LIMIT is a barrier: the planner moves no condition
// of the statement below it, where its errors would tell of rows that are hidden.
//
// Views of the database are made again as temporary ones, where the names in them
// mean what they mean to the statement. What no filter names cannot be read; neither
// can statistics and the schema's own tables, and EXPLAIN is refused.

// guard is what a connection knows of the filters. It belongs to the connection's
// goroutine.
type guard struct {
	filters map[string]bool // of config

	trusted bool // statements of this package's own run
	foul    bool // the connection may not be what it was

	version int64 // of the schema that layout is of
	layout  *layout

	views   map[string]bool // temporary views, in lower case
	secrets map[string]bool // those that may read tables
}

// layout is what the database has of what the filters name.
type layout struct {
	tables map[string]string // lower-case name → name, of tables with a condition
	bodies map[string]view   // lower-case name → the view
	open   map[string]bool   // lower-case names that may be read as they are
	hidden map[string]bool   // all others of the database
}

// view is a view of the database: what follows its name, split at AS.
type view struct{ name, columns, query string }

// own runs statements of this package's own, which the authorizer lets through.
func (c *conn) own(f func() error) error {
	if c.guard == nil {
		return f()
	}
	before := c.guard.trusted
	c.guard.trusted = true
	defer func() { c.guard.trusted = before }()
	return f()
}

// guarded runs a statement that sees what the conditions that came with it allow.
func (c *conn) guarded(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	var conditions rowfilter.Conditions
	if data := child.Attached(ctx); len(data) > 0 { // without them, nothing is seen
		if err := json.Unmarshal(data, &conditions); err != nil {
			return source.Summary{}, fmt.Errorf("read the conditions of a query: %w", err)
		}
	}
	defer c.clear()
	stop := c.interruptOn(ctx)
	defer stop()
	if err := c.shield(conditions); err != nil {
		c.guard.foul = true
		return source.Summary{}, c.explain(err)
	}
	return c.query(q, each)
}

// shield begins a transaction and makes the views. It must be followed by clear.
func (c *conn) shield(conditions rowfilter.Conditions) error {
	g := c.guard
	g.views, g.secrets = map[string]bool{}, map[string]bool{}
	return c.own(func() error {
		if err := c.exec("PRAGMA query_only=0; BEGIN"); err != nil {
			return err
		}
		if err := c.look(); err != nil {
			return err
		}
		for low, name := range g.layout.tables {
			condition, ok := conditions[g.named(name)]
			if !ok {
				condition = rowfilter.Nothing
			}
			secret := g.secret()
			if err := c.exec(fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT * FROM main.%s WHERE (%s) LIMIT -1 OFFSET 0; CREATE TEMP VIEW %s AS SELECT * FROM temp.%s",
				quote(secret), quote(name), condition, quote(name), quote(secret))); err != nil {
				return err
			}
			g.views[secret], g.views[low], g.secrets[secret] = true, true, true
		}
		for low, v := range g.layout.bodies {
			if err := c.makeView(low, v, conditions); err != nil {
				return fmt.Errorf("the view %s: %w", v.name, err)
			}
		}
		return c.exec("PRAGMA query_only=1")
	})
}

// makeView makes a view of the database again, over what the statement may see.
func (c *conn) makeView(low string, v view, conditions rowfilter.Conditions) error {
	g, configured := c.guard, c.guard.named(v.name)
	name := v.name
	if !g.filters[configured] {
		condition, ok := conditions[configured]
		if !ok {
			condition = rowfilter.Nothing
		}
		name = g.secret()
		if err := c.exec(fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT * FROM temp.%s AS %s WHERE (%s) LIMIT -1 OFFSET 0", quote(v.name), quote(name), quote(v.name), condition)); err != nil {
			return err
		}
		g.views[name] = true
	}
	g.views[low] = true
	return c.exec(fmt.Sprintf("CREATE TEMP VIEW %s%s AS %s", quote(name), v.columns, v.query))
}

// secret is a name that no statement can hold.
func (g *guard) secret() string { return "v" + strings.ToLower(rand.Text()) }

// named is the configured spelling of a table's name.
func (g *guard) named(name string) string {
	for configured := range g.filters {
		if lower(configured) == lower(name) {
			return configured
		}
	}
	return ""
}

// clear takes the views away and ends the transaction. A connection where that does
// not succeed is not used again.
func (c *conn) clear() {
	g := c.guard
	err := c.own(func() error {
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
		g.foul = true
	}
	g.views, g.secrets = nil, nil
}

// look reads what the database has, unless that is known.
func (c *conn) look() error {
	rows, err := c.all("PRAGMA main.schema_version")
	if err != nil {
		return err
	}
	version, _ := rows[0][0].(int64)
	if c.guard.layout != nil && c.guard.version == version {
		return nil
	}
	l := &layout{tables: map[string]string{}, bodies: map[string]view{}, open: map[string]bool{}, hidden: map[string]bool{}}
	rows, err = c.all("SELECT t.name, t.type, s.sql FROM pragma_table_list AS t LEFT JOIN main.sqlite_schema AS s ON s.name = t.name AND s.type IN ('table', 'view') WHERE t.schema = 'main'")
	if err != nil {
		return err
	}
	var shadows []string
	for _, r := range rows {
		name, kind, sql := text(r[0]), text(r[1]), text(r[2])
		low, configured := lower(name), c.guard.named(name)
		open, listed := c.guard.filters[configured]
		switch {
		case kind == "shadow" && !listed:
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
			l.hidden[low] = true // a virtual table with a condition, see checkFilters
		}
	}
	for _, s := range shadows { // of a virtual table: its own rows in another form
		if owner := shadowed(s, l); l.open[owner] {
			l.open[s] = true
		} else {
			l.hidden[s] = true
		}
	}
	c.guard.layout, c.guard.version = l, version
	return nil
}

// shadowed is the table of the database with the longest name that a shadow table's
// begins with.
func shadowed(shadow string, l *layout) string {
	for i := len(shadow) - 1; i > 0; i-- {
		if owner := shadow[:i]; shadow[i] == '_' && (l.open[owner] || l.hidden[owner]) {
			return owner
		}
	}
	return ""
}

// splitView reads CREATE VIEW name(columns) AS query, as SQLite keeps it.
func splitView(name, sql string) (view, bool) {
	depth, words, columns := 0, 0, ""
	for i := 0; i < len(sql); {
		kind, end := token(sql, i)
		word := sql[i:end]
		from := i
		i = end
		if kind == tokenSpace {
			continue
		}
		switch {
		case word == "(":
			if depth++; depth == 1 {
				columns = sql[from:]
			}
		case word == ")":
			if depth--; depth == 0 {
				columns = columns[:len(columns)-(len(sql)-end)]
			}
		case depth == 0 && words >= 3 && strings.EqualFold(word, "AS"):
			return view{name: name, columns: columns, query: sql[end:]}, true
		case depth == 0:
			words++
		}
	}
	return view{}, false
}

// judgeGuarded is judge for a source with filters: what is refused there is refused
// here, and a table is read only through its view.
func (c *conn) judgeGuarded(action int32, a1, a2, database, accessor string) string {
	g := c.guard
	switch {
	case g.trusted:
		return ""
	case action == sqlite3.SQLITE_READ:
		return c.judgeGuardedRead(a1, lower(database), accessor)
	case action == sqlite3.SQLITE_PRAGMA:
		return g.judgePragma(lower(a1), lower(a2))
	}
	return c.judge(action, a1, a2, database)
}

func (c *conn) judgeGuardedRead(table, database, accessor string) string {
	g, name := c.guard, lower(table)
	l := g.layout
	pragma, isPragma := strings.CutPrefix(name, "pragma_")
	switch {
	case l == nil:
	case database == "temp" && g.views[name]:
		return ""
	case database != "" && database != "main":
	case strings.HasPrefix(name, "sqlite_"), l.hidden[name] && !(database == "main" && g.secrets[accessor]):
		// A condition may ask tables that nobody else may.
	case l.open[name]:
		return ""
	case database == "main" && g.secrets[accessor] && !c.modules[name]:
		return ""
	case isPragma:
		if pragma == "table_info" || pragma == "table_xinfo" {
			return ""
		}
	case c.modules[name]:
	case database == "main":
		if readableModules[name] && l.tables[name] == "" {
			return ""
		}
	default: // nothing is read of it, or it is no table of the database
		return ""
	}
	return fmt.Sprintf("Reading %s is not allowed. You may read: %s.", table, g.list())
}

func (g *guard) judgePragma(pragma, arg string) string {
	switch {
	case pragma == "data_version": // FTS5 asks it
		return ""
	case pragma != "table_info" && pragma != "table_xinfo":
		return fmt.Sprintf("PRAGMA %s is not allowed. Allowed is table_info.", pragma)
	case g.views[arg] || g.layout != nil && g.layout.open[arg]:
		return ""
	}
	return fmt.Sprintf("There is no table %.80q to describe. You may read: %s.", arg, g.list())
}

// list names the tables that may be read.
func (g *guard) list() string {
	names := slices.Sorted(maps.Keys(g.filters))
	more := ""
	if len(names) > 20 {
		names, more = names[:20], ", …"
	}
	return strings.Join(names, ", ") + more
}

// visible are the tables that the filters name, without references to others.
func (g *guard) visible(tables []source.Table) []source.Table {
	tables = slices.DeleteFunc(tables, func(t source.Table) bool { return g.named(t.Name) == "" })
	for i := range tables {
		tables[i].ForeignKeys = slices.DeleteFunc(tables[i].ForeignKeys, func(k source.ForeignKey) bool { return g.named(k.RefTable) == "" })
	}
	return tables
}

// hide takes the names of views that only this package knows out of a message.
func (c *conn) hide(message string) string {
	if c.guard != nil {
		for secret := range c.guard.views {
			if len(secret) > 20 {
				message = strings.ReplaceAll(message, secret, "…")
			}
		}
	}
	return message
}

// checkFilters says which filter cannot be held.
func (c *conn) checkFilters(blank rowfilter.Conditions) error {
	wrong := func(table, format string, args ...any) error {
		return footnote.Errorf(footnote.DatabaseUnavailable, "the filter of %s cannot be held: %s", table, fmt.Sprintf(format, args...))
	}
	if err := c.own(c.look); err != nil {
		return openError(err)
	}
	l := c.guard.layout
	for _, table := range slices.Sorted(maps.Keys(c.guard.filters)) {
		low := lower(table)
		_, isView := l.bodies[low]
		switch {
		case l.open[low], isView:
		case l.tables[low] != "":
			if err := c.checkCondition(l.tables[low], blank[table]); err != nil {
				return wrong(table, "%v", err)
			}
		case l.hidden[low]:
			return wrong(table, "it is neither a table nor a view with rows of its own. Leave it out, or open it with %s.", rowfilter.Open)
		default:
			return wrong(table, "there is no such table.")
		}
	}
	err := c.shield(blank)
	defer c.clear()
	if err != nil {
		return footnote.Errorf(footnote.DatabaseUnavailable, "the filters cannot be held: %v", err)
	}
	for _, table := range slices.Sorted(maps.Keys(c.guard.filters)) {
		st, _, err := c.prepare("SELECT * FROM " + quote(table))
		if err != nil {
			return wrong(table, "%v", c.explain(err))
		}
		st.close()
	}
	return nil
}

// checkCondition compiles a condition over its table, where a name in double quotes
// that is no column is an error rather than text.
func (c *conn) checkCondition(table, condition string) error {
	if err := c.configure(sqlite3.SQLITE_DBCONFIG_DQS_DML, 0); err != nil {
		return err
	}
	err := c.own(func() error {
		st, tail, err := c.prepare(fmt.Sprintf("SELECT 1 FROM main.%s WHERE (%s)", quote(table), condition))
		if err != nil {
			return err
		}
		st.close()
		if !blank(tail) {
			return fmt.Errorf("it is not one condition")
		}
		return nil
	})
	if on := c.configure(sqlite3.SQLITE_DBCONFIG_DQS_DML, 1); err == nil {
		err = on
	}
	return err
}

// lower is a name as SQLite compares it: letters beyond ASCII are told apart.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
