package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/footnotehq/footnote/source"
)

// countTime limits the time for counting the rows of all tables. Tables not counted by then get -1.
const countTime = 2 * time.Second

// maxTables limits the described schema.
const maxTables = 5000

// Schema implements child.Engine.
func (e *engine) Schema(ctx context.Context) (source.Schema, error) {
	c, err := e.take(ctx)
	if err != nil {
		return source.Schema{}, takeError(err)
	}
	defer e.give(c)
	stop := c.interruptOn(ctx)
	var tables []source.Table
	err = c.runTrusted(func() (err error) { tables, err = c.tables(); return err })
	stop()
	if err != nil {
		return source.Schema{}, c.explain(err)
	}
	if hidden := source.HiddenIn(ctx); len(hidden) > 0 && c.guard == nil {
		return source.Schema{}, source.Refusef("What you may see of the database has just changed. Try again.")
	} else if len(hidden) > 0 {
		if tables, err = c.withoutGone(tables, hidden); err != nil {
			return source.Schema{}, c.explain(err)
		}
	}
	filtered := c.guard != nil && !c.guard.all
	if filtered {
		tables = c.guard.visible(tables)
	}
	c.resolveKeys(tables)
	if c.guard != nil {
		c.guard.off = !filtered // for the counts
	}
	if filtered {
		return source.Schema{Tables: tables}, nil // the number of rows is not for everybody to see
	}
	cctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	for i := range tables {
		if !tables[i].View && cctx.Err() == nil {
			tables[i].Rows = c.count(cctx, tables[i].Name)
		}
	}
	return source.Schema{Tables: tables}, nil
}

const selectTables = `SELECT name, type FROM pragma_table_list
	WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
	ORDER BY name LIMIT ?`

func (c *conn) tables() ([]source.Table, error) {
	rows, err := c.all(selectTables, int64(maxTables))
	if err != nil {
		return nil, err
	}
	var tables []source.Table
	var room source.Room
	for _, r := range rows {
		t := source.Table{Name: text(r[0]), View: text(r[1]) == "view", Rows: -1}
		if err := c.columnsOf(&t, &room); err != nil {
			// A view over a dropped table or a virtual table without its module cannot be read. It must not prevent
			// listing the others.
			continue
		}
		if err := c.keysOf(&t); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

func (c *conn) columnsOf(t *source.Table, room *source.Room) error {
	rows, err := c.all(`SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(?) ORDER BY cid`, t.Name)
	if err != nil {
		return err
	}
	keys := make(map[int64]string)
	for _, r := range rows {
		if r[4] == int64(1) {
			continue // a hidden column of a virtual table
		}
		pk, _ := r[3].(int64)
		col := source.Column{Name: text(r[0]), Type: text(r[1]), Kind: kindOf(text(r[1])), Nullable: r[2] == int64(0)}
		if !room.Fits(col) {
			t.Comment = source.NotListed
			return nil
		}
		if pk > 0 {
			keys[pk] = col.Name
		}
		t.Columns = append(t.Columns, col)
	}
	for i := int64(1); keys[i] != ""; i++ {
		t.PrimaryKey = append(t.PrimaryKey, keys[i])
	}
	return nil
}

// keysOf reads the foreign keys. References that name no columns are resolved once all tables are known.
func (c *conn) keysOf(t *source.Table) error {
	rows, err := c.all(`SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq`, t.Name)
	if err != nil {
		return err
	}
	last := any(nil)
	for _, r := range rows {
		if r[0] != last {
			last = r[0]
			t.ForeignKeys = append(t.ForeignKeys, source.ForeignKey{RefTable: text(r[1])})
		}
		k := &t.ForeignKeys[len(t.ForeignKeys)-1]
		k.Columns = append(k.Columns, text(r[2]))
		if r[3] != nil {
			k.RefColumns = append(k.RefColumns, text(r[3]))
		}
	}
	return nil
}

// resolveKeys spells referenced tables as they are declared and fills in the primary key for references without
// columns.
func (c *conn) resolveKeys(tables []source.Table) {
	byName := make(map[string]source.Table, len(tables))
	for _, t := range tables {
		byName[strings.ToLower(t.Name)] = t
	}
	for i := range tables {
		for j := range tables[i].ForeignKeys {
			k := &tables[i].ForeignKeys[j]
			ref, ok := byName[strings.ToLower(k.RefTable)]
			if !ok {
				continue
			}
			k.RefTable = ref.Name
			if len(k.RefColumns) == 0 {
				k.RefColumns = ref.PrimaryKey
			}
		}
	}
}

// count returns the number of rows in a table, or -1 when counting takes too long.
func (c *conn) count(ctx context.Context, table string) int64 {
	defer c.interruptOn(ctx)()
	rows, err := c.all("SELECT count(*) FROM " + quote(table))
	if err == nil && len(rows) == 1 {
		if n, ok := rows[0][0].(int64); ok {
			return n
		}
	}
	return -1
}

func text(v any) string {
	s, _ := v.(string)
	return cleanText(s)
}
