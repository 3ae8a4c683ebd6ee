package sqlite

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
	sqlite3 "modernc.org/sqlite/lib"
)

// Columns are hidden in the same way as rows: a table with hidden columns is itself hidden by a temporary view of its
// name, which does not have them. So SELECT *, whole rows, joins and error messages know nothing of these columns.
//
// What could reveal a hidden column in another way is hidden as a whole: a virtual table with its shadow tables, and a
// view of the database whose query needs the column. Generated columns of the same table are hidden, too, as they may
// be computed from it.

// hides reports whether the statement may not read a table or view at all.
func (g *guard) hides(low string) bool { return g.layout.hidden[low] || g.gone[low] }

// readsPlainly reports whether a statement may read a column of a table without a view. Without one, it counts rows.
func (g *guard) readsPlainly(low, column string) bool {
	return g.layout.open[low] && (g.cut[low] == nil || column == "")
}

// isGuarded reports whether a name stands for a table or view that is read through a view of the guard.
func (g *guard) isGuarded(low string) bool {
	_, isView := g.layout.bodies[low]
	return isView || g.layout.tables[low] != "" || g.cut[low] != nil
}

// hide finds the tables and views of the layout that have hidden columns or are hidden.
func (c *conn) hide(hidden source.Hidden) error {
	g := c.guard
	g.cut, g.gone, g.hiding = map[string][]string{}, map[string]bool{}, len(hidden) > 0
	g.unindexed = map[string]bool{}
	if len(hidden) == 0 {
		return nil
	}
	for low, name := range g.layout.names {
		columns, whole := hidden.Of("", name)
		if whole || len(columns) > 0 && g.layout.virtual[low] {
			g.gone[low] = true
			continue
		}
		if len(columns) == 0 {
			continue
		}
		if err := c.cutTable(low, name, columns); err != nil {
			return err
		}
	}
	for shadow, owner := range g.layout.shadows {
		if g.gone[owner] {
			g.gone[shadow] = true
		}
	}
	return nil
}

// cutTable records which columns of a table or view remain visible.
func (c *conn) cutTable(low, name string, columns map[string]bool) error {
	rows, err := c.all("SELECT name, hidden FROM pragma_table_xinfo(?, 'main')", name)
	if err != nil { // a view that cannot be compiled
		c.guard.gone[low] = true
		return nil
	}
	var visible []string
	for _, r := range rows {
		if column := rawText(r[0]); !source.Has(columns, column) && r[1] == int64(0) {
			visible = append(visible, column)
		}
	}
	if len(visible) == 0 {
		c.guard.gone[low] = true
		return nil
	}
	c.guard.cut[low] = visible // also if the column does not exist: nothing may depend on that
	return c.checkIndexes(low, name, visible)
}

// checkIndexes finds out whether a table has an index that is not one of visible columns alone. SQLite likes to read
// all rows from an index that has the columns it needs, and each index has the rowid. Rows would then come in the order
// of a hidden column.
func (c *conn) checkIndexes(low, name string, visible []string) error {
	rows, err := c.all("SELECT x.name FROM pragma_index_list(?, 'main') AS i, pragma_index_xinfo(i.name, 'main') AS x "+
		"WHERE x.key", name)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if !slices.Contains(visible, rawText(r[0])) {
			c.guard.unindexed[low] = true
		}
	}
	return nil
}

func rawText(v any) string {
	s, _ := v.(string)
	return s
}

// columns returns the visible columns of a table or view, as the list of a SELECT.
func (g *guard) columns(low string) string {
	if g.cut[low] == nil {
		return "*"
	}
	list := ""
	for i, column := range g.cut[low] {
		if i > 0 {
			list += ", "
		}
		list += quote(column)
	}
	return list
}

// makeTableViews hides each table with a condition or with hidden columns behind a view.
func (c *conn) makeTableViews(conditions rowfilter.Conditions) error {
	g := c.guard
	for low, name := range g.layout.names {
		barrier := ""
		switch _, filtered := g.layout.tables[low]; {
		case g.gone[low]:
			continue
		case filtered:
			barrier = fmt.Sprintf(" WHERE (%s) LIMIT -1 OFFSET 0", conditions.Of(g.named(name)))
		case !g.layout.open[low] || g.cut[low] == nil:
			continue
		}
		if g.unindexed[low] {
			barrier = " NOT INDEXED" + barrier
		}
		secret := g.secret()
		if err := c.exec(fmt.Sprintf(
			"CREATE TEMP VIEW %s AS SELECT %s FROM main.%s%s; CREATE TEMP VIEW %s AS SELECT * FROM temp.%s",
			quote(secret), g.columns(low), quote(name), barrier, quote(name), quote(secret))); err != nil {
			return err
		}
		g.views[secret], g.views[low], g.tableReaders[secret] = true, true, true
	}
	return nil
}

// neededViews returns the views of the database that a statement may read. With filters, these are all that have one;
// otherwise, those that it names, and those that these name.
func (g *guard) neededViews(w words) map[string]view {
	needed := map[string]view{}
	if !g.all || w.every {
		for low, v := range g.layout.bodies {
			if !g.gone[low] {
				needed[low] = v
			}
		}
		return needed
	}
	var add func(names map[string]bool)
	add = func(names map[string]bool) {
		for low := range names {
			v, ok := g.layout.bodies[low]
			if _, known := needed[low]; ok && !known && !g.gone[low] {
				needed[low] = v
				add(wordsOf(v.query).names)
			}
		}
	}
	add(w.names)
	return needed
}

// dropBroken drops the views that cannot be compiled, as they need a hidden column. A quoted name that is no column
// must not be read as text here: it would reveal the name.
func (c *conn) dropBroken(views map[string]view) error {
	g := c.guard
	if err := c.configure(sqlite3.SQLITE_DBCONFIG_DQS_DML, 0); err != nil {
		return err
	}
	broken := map[string]bool{}
	g.trusted = false
	for low, v := range views {
		st, _, err := c.prepare("SELECT * FROM temp." + quote(v.name))
		if err != nil {
			broken[low] = true
			continue
		}
		st.close()
	}
	g.trusted = true
	if err := c.configure(sqlite3.SQLITE_DBCONFIG_DQS_DML, 1); err != nil {
		return err
	}
	for low := range broken {
		if err := c.exec("DROP VIEW temp." + quote(views[low].name)); err != nil {
			return err
		}
		delete(g.views, low)
		g.gone[low] = true
	}
	return nil
}

// missing begins the names of tables that no database has. What is hidden as a whole is replaced by a view of such a
// table: SQLite reports it as missing, and a statement that has the name only as a text or an alias runs.
const missing = "footnote missing table "

// blockGone puts a view that cannot be read in place of each table and view that is hidden as a whole. With filters, a
// condition may need it, so queryViews looks for the names of views.
func (c *conn) blockGone() error {
	for low := range c.guard.gone {
		if !c.guard.blocked(low) {
			continue
		}
		err := c.exec(fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT * FROM %s", quote(low), quote(missing+low)))
		if err != nil {
			return err
		}
	}
	return nil
}

// blocked reports whether blockGone has put a view in place of a name. Names of shadow and system tables are reserved.
func (g *guard) blocked(low string) bool {
	return g.all && g.gone[low] && g.layout.shadows[low] == "" && !strings.HasPrefix(low, "sqlite_")
}

// goneView returns a view in a statement that is hidden as a whole, as the statement writes it, or "".
func (g *guard) goneView(sql string) string {
	return nameIn(sql, func(low string) bool {
		_, isView := g.layout.bodies[low]
		return isView && g.gone[low]
	})
}

// nameIn returns the first name in a statement for which a function of its lower case is true, or "".
func nameIn(sql string, is func(low string) bool) string {
	for t := range tokens(sql) {
		if name := dequote(t.text); is(source.Lower(name)) {
			return name
		}
	}
	return ""
}

// withoutTrace turns the refusal of a table that is hidden as a whole into SQLite's error for one that does not exist,
// or into one that does not name it.
func (g *guard) withoutTrace(sql string, err error) error {
	bad, ok := errors.AsType[*source.Error](err)
	if !ok {
		return err
	}
	reason := source.Lower(bad.Reason)
	if name := nameIn(sql, func(low string) bool {
		return g.gone[low] && (strings.HasSuffix(reason, missing+low) || reason == "'"+low+"' is not a function" ||
			bad.Kind == source.Refused && strings.HasPrefix(reason, "reading "+low+" is not allowed."))
	}); name != "" {
		return source.Failf("no such table: %s", name)
	}
	if bad.Kind != source.Refused {
		return err
	}
	for low := range g.gone { // a view in the statement reads it
		if strings.HasPrefix(reason, "reading "+low+" is not allowed.") {
			return source.Refusef("The statement reads something that you may not see.")
		}
	}
	return err
}

// listViews completes the list of what may be read in a refusal. Whether each view needs a hidden column is only
// found out here, because it takes longer.
func (c *conn) listViews(hidden source.Hidden, err error) error {
	bad, ok := errors.AsType[*source.Error](err)
	g := c.guard
	if !ok || !g.all || g.broken {
		return err
	}
	before, _, listed := strings.Cut(bad.Reason, mayRead)
	if !listed {
		return err
	}
	defer c.dropViews()
	if err := c.makeViews(g.blank, hidden, words{every: true}); err != nil {
		g.broken = true
		return c.explain(err)
	}
	complete := *bad
	complete.Reason = before + mayRead + source.Listed(g.readable(true)) + "."
	return &complete
}

// mayRead begins the list of what may be read.
const mayRead = " You may read: "

// readable returns the names of the tables and views that a statement may read. Without filters, views are among them
// if all is set, which needs the views of all names.
func (g *guard) readable(all bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !g.all {
			for name := range g.filters {
				if !g.gone[source.Lower(name)] && !yield(name) {
					return
				}
			}
			return
		}
		if g.layout == nil {
			return
		}
		for low, name := range g.layout.names {
			_, isView := g.layout.bodies[low]
			if (all || !isView) && g.layout.shadows[low] == "" && !g.hides(low) && !yield(name) {
				return
			}
		}
	}
}

// withoutGone returns the tables without those that are hidden as a whole.
func (c *conn) withoutGone(tables []source.Table, hidden source.Hidden) ([]source.Table, error) {
	defer c.dropViews()
	if err := c.makeViews(c.guard.blank, hidden, words{every: true}); err != nil {
		c.guard.broken = true
		return nil, err
	}
	tables = slices.DeleteFunc(tables, func(t source.Table) bool { return c.guard.gone[source.Lower(t.Name)] })
	for i := range tables {
		visible := c.guard.cut[source.Lower(tables[i].Name)]
		if visible == nil {
			continue
		}
		tables[i].Columns = slices.DeleteFunc(tables[i].Columns, func(col source.Column) bool {
			return !slices.Contains(visible, col.Name)
		})
	}
	return tables, nil
}
