package warehouse

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/warehouse/grammar"
)

const (
	maxCatalog  = 2_000_000 // columns of all tables
	loadTime    = time.Minute
	catalogTime = 5 * time.Minute  // maximum age of a catalog
	recheckTime = 10 * time.Second // the same, for a statement that names an unknown table
)

// The columns of Database.Tables, Columns and Keys. A kind is VIEW for views; a key is PRIMARY or FOREIGN.
const (
	tableSchema = iota
	tableName
	tableKind
	tableComment
	tableRows // or ""
	tableWidth

	columnName    = 2
	columnType    = 3
	columnNull    = 4 // YES or NO
	columnComment = 5
	columnWidth   = 6

	keyName      = 2
	keyKind      = 3
	keyColumn    = 4
	keyRefSchema = 5
	keyRefTable  = 6
	keyRefColumn = 7
	keyWidth     = 8
)

// catalog holds the tables that statements may read.
type catalog struct {
	read   time.Time
	tables []source.Table
	index  map[string]int // of a table by its schema and name; by those in lower case, -1 if two are alike
	paths  []string       // how each table is written

	lastKey string // the foreign key read last
}

func key(schema, name string) string { return schema + "\x00" + name }

// catalog returns the catalog, read after a moment.
func (e *engine) catalog(ctx context.Context, after time.Time) (*catalog, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cat != nil && !e.cat.read.Before(after) && time.Since(e.cat.read) < catalogTime {
		return e.cat, nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	c := &catalog{read: time.Now(), index: map[string]int{}}
	if err := e.load(ctx, c); err != nil {
		return nil, err
	}
	e.cat = c
	return c, nil
}

func (e *engine) load(ctx context.Context, c *catalog) error {
	var room source.Room
	for _, part := range []struct {
		sql   func() string
		width int
		take  func(row []string)
	}{
		{e.Tables, tableWidth, func(r []string) { e.takeTable(c, r) }},
		{e.Columns, columnWidth, func(r []string) { e.takeColumn(c, &room, r) }},
		{e.Keys, keyWidth, func(r []string) { e.takeKey(c, r) }},
	} {
		if part.sql == nil {
			continue
		}
		err := Collect(ctx, e.service, part.sql(), func(r []string) error {
			if len(r) != part.width {
				return fmt.Errorf("the catalog has rows of %d columns instead of %d", len(r), part.width)
			}
			part.take(r)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) takeTable(c *catalog, r []string) {
	schema, name := r[tableSchema], r[tableName]
	if strings.ContainsAny(schema+name, "`\"\\\x00\n;") {
		return // no statement can name it
	}
	t := source.Table{Schema: schema, Name: name, View: strings.Contains(r[tableKind], "VIEW"), Rows: -1}
	t.Comment = strings.TrimSpace(r[tableComment])
	if n, err := strconv.ParseInt(r[tableRows], 10, 64); err == nil && !t.View {
		t.Rows = n
	}
	if schema == e.Home {
		t.Schema = ""
	}
	i := len(c.tables)
	c.tables, c.paths = append(c.tables, t), append(c.paths, e.Path(schema, name))
	c.index[key(schema, name)] = i
	low := strings.ToLower(key(schema, name))
	if _, twice := c.index[low]; twice && low != key(schema, name) {
		i = -1
	}
	c.index[low] = i
}

func (e *engine) takeColumn(c *catalog, room *source.Room, r []string) {
	i, ok := c.index[key(r[tableSchema], r[tableName])]
	if !ok || i < 0 {
		return
	}
	col := source.Column{
		Name: r[columnName], Type: r[columnType], Kind: e.Kind(r[columnType]), Nullable: r[columnNull] != "NO",
		Comment: r[columnComment],
	}
	if !room.Fits(col) {
		c.tables[i].Comment = source.NotListed
		return
	}
	c.tables[i].Columns = append(c.tables[i].Columns, col)
}

func (e *engine) takeKey(c *catalog, r []string) {
	i, ok := c.index[key(r[tableSchema], r[tableName])]
	if !ok || i < 0 {
		return
	}
	t := &c.tables[i]
	if r[keyKind] == "PRIMARY" {
		t.PrimaryKey = append(t.PrimaryKey, r[keyColumn])
		return
	}
	ref, ok := c.index[key(r[keyRefSchema], r[keyRefTable])]
	if !ok || ref < 0 {
		return
	}
	last := len(t.ForeignKeys) - 1
	if last < 0 || c.lastKey != r[keyName] {
		t.ForeignKeys = append(t.ForeignKeys, source.ForeignKey{RefTable: c.tables[ref].FullName()})
		last++
	}
	c.lastKey = r[keyName]
	k := &t.ForeignKeys[last]
	k.Columns, k.RefColumns = append(k.Columns, r[keyColumn]), append(k.RefColumns, r[keyRefColumn])
}

// find returns the index of a table, or -1.
func (c *catalog) find(schema, name string, fold bool) int {
	if i, ok := c.index[key(schema, name)]; ok {
		return i
	}
	if fold {
		if i, ok := c.index[strings.ToLower(key(schema, name))]; ok {
			return i
		}
	}
	return -1
}

// some returns how a few tables, which are no views, are written.
func (c *catalog) some(n int) []string {
	var paths []string
	for i, t := range c.tables {
		if !t.View && len(paths) < n {
			paths = append(paths, c.paths[i])
		}
	}
	return paths
}

// Schema implements child.Engine.
func (e *engine) Schema(ctx context.Context) (source.Schema, error) {
	c, err := e.catalog(ctx, time.Time{})
	if err != nil {
		return source.Schema{}, err
	}
	hidden := source.HiddenIn(ctx)
	s := source.Schema{Tables: slices.Clone(c.tables)}
	if len(hidden) > 0 {
		s.Tables = slices.DeleteFunc(s.Tables, func(t source.Table) bool { return t.View })
	}
	return s, nil
}

// admit passes a statement through the gate. A name that the catalog does not know may be new.
func (e *engine) admit(ctx context.Context, q source.Query) (grammar.Statement, error) {
	c, err := e.catalog(ctx, time.Time{})
	if err != nil {
		return grammar.Statement{}, err
	}
	r := &reader{e: e, c: c, hidden: source.HiddenIn(ctx)}
	st, err := e.Grammar.Read(q.SQL, r.options(q.Args))
	if !r.unknown || time.Since(c.read) < recheckTime {
		return st, err
	}
	if r.c, err = e.catalog(ctx, time.Now()); err != nil {
		return grammar.Statement{}, err
	}
	return e.Grammar.Read(q.SQL, r.options(q.Args))
}

// reader answers the questions of the grammar about one statement.
type reader struct {
	e       *engine
	c       *catalog
	hidden  source.Hidden
	unknown bool // the statement names a table that the catalog does not have
}

func (r *reader) options(args []any) grammar.Options {
	return grammar.Options{Args: args, Cut: len(r.hidden) > 0, Table: r.table}
}

// table decides on a table. Of one with hidden columns, a statement gets a query of the others. What a view reads is
// not known, so there are no views where something is hidden.
func (r *reader) table(path []string) (grammar.Table, error) {
	written := strings.Join(path, ".")
	i := r.find(path)
	if i < 0 {
		r.unknown = true
		return grammar.Table{}, r.none(written)
	}
	t := r.c.tables[i]
	out := grammar.Table{SQL: r.c.paths[i], Name: t.Name, Listed: t.FullName()}
	if len(r.hidden) == 0 {
		return out, nil
	}
	columns, whole := r.hidden.Of(t.Schema, t.Name)
	if whole || t.View || t.Comment == source.NotListed {
		r.unknown = true // also if it exists: it must take as long
		return grammar.Table{}, r.none(written)
	}
	if len(columns) == 0 {
		return out, nil
	}
	var list []string
	for _, c := range t.Columns {
		if !source.Has(columns, c.Name) {
			list = append(list, r.e.Grammar.Quote(c.Name))
		}
	}
	if len(list) == 0 {
		return grammar.Table{}, r.none(written)
	}
	names := strings.Join(list, ", ")
	out.SQL = "( SELECT " + names + " FROM " + out.SQL + " )"
	out.Query = true
	return out, nil
}

func (r *reader) find(path []string) int {
	name := path[len(path)-1]
	schema := r.e.Home
	if len(path) > 1 {
		schema = path[len(path)-2]
	}
	if len(path) > 3 || len(path) == 3 && (r.e.Catalog == "" || !strings.EqualFold(path[0], r.e.Catalog)) {
		return -1
	}
	return r.c.find(schema, name, r.e.Fold)
}

func (r *reader) none(written string) error {
	names := map[string]bool{}
	for _, t := range r.c.tables {
		if _, whole := r.hidden.Of(t.Schema, t.Name); !whole && (len(r.hidden) == 0 || !t.View) {
			names[t.FullName()] = true
		}
		if len(names) > 40 {
			break
		}
	}
	return source.Refusef("There is no table %.60s, or it may not be read. You may read: %s.", written,
		cmp.Or(source.Listed(maps.Keys(names)), "nothing"))
}
