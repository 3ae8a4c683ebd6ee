package mysql

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/mysql/grammar"
)

const (
	catalogTime = time.Minute     // maximum age of a catalog in use
	recheckTime = 2 * time.Second // age at which a catalog without a table is read again
	loadTime    = 30 * time.Second
	countTime   = time.Second // for counting the rows of small tables
	countRows   = 20_000      // tables with more rows, by the server's estimate, are not counted
	countTables = 500         // of a database with more tables, none is counted
	maxTables   = 10_000
)

// catalog holds what the gate needs to know about a database.
type catalog struct {
	read      time.Time
	version   version
	database  string
	role      string
	remarks   []string
	relations []relation
	exact     map[string]int  // indexes of relations by schema and name
	folded    map[string]int  // the same by lower case; -1 if several are the same
	routines  map[string]bool // functions of the database that the user may call, in lower case

	mu     sync.Mutex                 // guards below
	shapes map[string]*shape          // by schema and name
	bodies map[[sha256.Size]byte]bool // digests of texts that replace views, and whether they have all their columns
}

// relation is a table or view.
type relation struct {
	schema, name string
	view         bool
	definition   string // of a view, if the user may read it
	refusal      string // why a view must not be read
}

func (r relation) quoted() string { return quote(r.schema) + "." + quote(r.name) }

func key(schema, name string) string { return schema + "\x00" + name }

// find returns a table. Servers on Linux distinguish upper and lower case; a statement need not.
func (c *catalog) find(schema, name string) (relation, bool) {
	if i, ok := c.exact[key(schema, name)]; ok {
		return c.relations[i], true
	}
	if i, ok := c.folded[source.Lower(key(schema, name))]; ok && i >= 0 {
		return c.relations[i], true
	}
	return relation{}, false
}

// listed returns a table's name as the schema lists it.
func (c *catalog) listed(r relation) string {
	if r.schema == c.database {
		return r.name
	}
	return r.schema + "." + r.name
}

// catalog returns the catalog. It reads the catalog again if the last reading is older than after or catalogTime.
func (e *engine) catalog(ctx context.Context, after time.Time) (*catalog, error) {
	e.mu.Lock()
	cat := e.cat
	e.mu.Unlock()
	if cat != nil && cat.read.After(after) && time.Since(cat.read) < catalogTime {
		return cat, nil
	}
	fresh, err := e.load(ctx)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.cat = fresh
	e.mu.Unlock()
	return fresh, nil
}

// notSystem is the condition that a row of information_schema is about a database of the operator.
const notSystem = `TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys')`

// load reads the catalog.
func (e *engine) load(ctx context.Context) (*catalog, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	s, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.end()
	c := &catalog{
		read: time.Now(), version: s.conn.version, database: e.config.DBName, exact: map[string]int{},
		folded: map[string]int{}, routines: map[string]bool{}, shapes: map[string]*shape{},
		bodies: map[[sha256.Size]byte]bool{},
	}
	for _, part := range []struct {
		sql  string
		take func(row []string)
	}{
		{"SELECT CURRENT_USER()", func(r []string) { c.role = r[0] }},
		{"SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE " + notSystem +
			fmt.Sprintf(" ORDER BY TABLE_SCHEMA <> %s, TABLE_SCHEMA, TABLE_NAME LIMIT %d",
				grammar.String(c.database), maxTables), c.takeRelation},
		{"SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_SCHEMA = " +
			grammar.String(c.database), func(r []string) { c.routines[strings.ToLower(r[0])] = true }},
		{"SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE " + notSystem,
			c.takeDefinition},
	} {
		rows, err := s.rows(ctx, part.sql)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			part.take(row)
		}
	}
	e.judgeViews(c)
	return c, nil
}

func (c *catalog) takeRelation(r []string) {
	i := len(c.relations)
	c.relations = append(c.relations, relation{schema: r[0], name: r[1], view: r[2] == "VIEW"})
	c.exact[key(r[0], r[1])] = i
	low := source.Lower(key(r[0], r[1]))
	if _, twice := c.folded[low]; twice {
		i = -1
	}
	c.folded[low] = i
}

func (c *catalog) takeDefinition(r []string) {
	if i, ok := c.exact[key(r[0], r[1])]; ok {
		c.relations[i].definition = r[2]
	}
}

// judgeViews reads the definitions of views: a view may call any function, with the rights of its owner.
func (e *engine) judgeViews(c *catalog) {
	hidden := 0
	judged := map[int]bool{}
	for i, r := range c.relations {
		if r.view && r.definition == "" {
			hidden++
		}
		e.judgeView(c, i, judged)
	}
	if hidden > 0 {
		c.remarks = append(c.remarks, fmt.Sprintf("the definitions of %d views cannot be read, so their functions are "+
			"not checked: GRANT SHOW VIEW ON %s.* TO %s", hidden, quote(c.database), c.role))
	}
}

// judgeView judges a view and those that it reads. Judged holds the relations that are done.
func (e *engine) judgeView(c *catalog, i int, judged map[int]bool) {
	v := &c.relations[i]
	if judged[i] || !v.view || v.definition == "" {
		return
	}
	judged[i] = true
	r := &reader{e: e, cat: c, allRows: true}
	o := r.options(nil)
	o.Table = func(schema, name string) (grammar.Table, error) {
		if below, ok := c.exact[key(cmpOr(schema, v.schema), name)]; ok {
			e.judgeView(c, below, judged)
		}
		return r.open(cmpOr(schema, v.schema), name)
	}
	if _, err := grammar.ReadQuery(v.definition, o); err != nil {
		v.refusal = err.Error()
		if bad, ok := errors.AsType[*source.Error](err); ok {
			v.refusal = bad.Reason
		}
	}
}

// Schema implements child.Engine.
func (e *engine) Schema(ctx context.Context) (source.Schema, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	cat, err := e.catalog(ctx, time.Now())
	if err != nil {
		return source.Schema{}, err
	}
	b := builder{e: e, cat: cat, index: map[string]*source.Table{}}
	if len(source.HiddenIn(ctx)) > 0 { // first, because it takes a connection of its own
		if b.seen, err = e.seen(ctx, cat); err != nil {
			return source.Schema{}, err
		}
	}
	s, err := e.begin(ctx)
	if err != nil {
		return source.Schema{}, err
	}
	defer s.end()
	b.begin()
	for _, part := range []struct {
		sql  string
		take func(row []string)
	}{
		{`SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, TABLE_COMMENT, CREATE_OPTIONS, ENGINE FROM
			information_schema.TABLES WHERE ` + notSystem, b.takeTable},
		{`SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, IS_NULLABLE, COLUMN_COMMENT FROM
			information_schema.COLUMNS WHERE ` + notSystem + ` ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION`,
			b.takeColumn},
		{`SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME,
			REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE ` + notSystem +
			` AND (CONSTRAINT_NAME = 'PRIMARY' OR REFERENCED_TABLE_NAME IS NOT NULL)
			ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`, b.takeKey},
	} {
		rows, err := s.rows(ctx, part.sql)
		if err != nil {
			return source.Schema{}, err
		}
		for _, row := range rows {
			part.take(row)
		}
	}
	if err := b.count(ctx, s); err != nil {
		return source.Schema{}, err
	}
	b.cutKeys()
	return source.Schema{Tables: b.tables}, nil
}

// builder collects a schema.
type builder struct {
	e      *engine
	cat    *catalog
	tables []source.Table
	index  map[string]*source.Table // by schema and name
	seen   map[string][]string      // if something is hidden: the visible columns of tables; see engine.seen
	last   string                   // the foreign key read last, with its table
	room   source.Room
}

// begin lists the tables that queries may read.
func (b *builder) begin() {
	for _, r := range b.cat.relations {
		if b.e.filters != nil && b.e.filterOf(b.cat.listed(r)) == "" {
			continue
		}
		if _, ok := b.seen[key(r.schema, r.name)]; b.seen != nil && !ok {
			continue
		}
		t := source.Table{Schema: r.schema, Name: r.name, View: r.view, Rows: -1}
		if r.schema == b.cat.database {
			t.Schema = ""
		}
		b.tables = append(b.tables, t)
	}
	for i := range b.tables {
		t := &b.tables[i]
		b.index[key(cmpOr(t.Schema, b.cat.database), t.Name)] = t
	}
}

func (b *builder) takeTable(r []string) {
	t := b.index[key(r[0], r[1])]
	if t == nil {
		return
	}
	if !t.View {
		t.Comment = r[3]
		if b.e.rules == nil {
			t.Rows = estimate(r[2])
		}
	}
	if strings.Contains(r[4], "partitioned") {
		t.Comment = strings.TrimSpace(t.Comment + " (partitioned)")
	}
}

// estimate returns the server's estimate of a table's rows, rounded so that nobody takes it for a count, or -1.
func estimate(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

func (b *builder) takeColumn(r []string) {
	t := b.index[key(r[0], r[1])]
	if t == nil || !b.sees(key(r[0], r[1]), r[2]) {
		return
	}
	c := source.Column{
		Name: r[2], Type: r[3], Kind: schemaKind(r[4], r[3]), Nullable: r[5] == "YES", Comment: r[6],
	}
	if b.e.rules != nil {
		c.Type = r[4] // the values of an ENUM may be those of others
	}
	if !b.room.Fits(c) {
		t.Comment = source.NotListed
		return
	}
	t.Columns = append(t.Columns, c)
}

// sees reports whether the principal sees a column of a table.
func (b *builder) sees(table, column string) bool {
	visible := b.seen[table]
	return visible == nil || slices.Contains(visible, column)
}

// cutKeys removes keys with columns that the principal does not see.
func (b *builder) cutKeys() {
	if b.seen == nil {
		return
	}
	for id, t := range b.index {
		unseen := func(id string) func(string) bool {
			return func(column string) bool { return !b.sees(id, column) }
		}
		if slices.ContainsFunc(t.PrimaryKey, unseen(id)) {
			t.PrimaryKey = nil
		}
		t.ForeignKeys = slices.DeleteFunc(t.ForeignKeys, func(k source.ForeignKey) bool {
			schema, name, ok := strings.Cut(k.RefTable, ".")
			if !ok {
				schema, name = b.cat.database, k.RefTable
			}
			ref := key(schema, name)
			_, seen := b.seen[ref]
			return !seen || slices.ContainsFunc(k.Columns, unseen(id)) || slices.ContainsFunc(k.RefColumns, unseen(ref))
		})
	}
}

// schemaKind returns the kind of a column. A decimal without a fraction is an integer, as in results.
func schemaKind(typ, declared string) string {
	if kind := kindOf(typ); kind != "decimal" || !strings.HasSuffix(strings.TrimSuffix(declared, " unsigned"), ",0)") {
		return kind
	}
	return "integer"
}

func (b *builder) takeKey(r []string) {
	t := b.index[key(r[0], r[1])]
	if t == nil {
		return
	}
	if r[2] == "PRIMARY" {
		t.PrimaryKey = append(t.PrimaryKey, r[3])
		return
	}
	ref := b.index[key(r[4], r[5])]
	if ref == nil {
		return
	}
	id := strings.Join(r[:3], "\x00")
	if id != b.last {
		b.last = id
		t.ForeignKeys = append(t.ForeignKeys, source.ForeignKey{RefTable: ref.FullName()})
	}
	k := &t.ForeignKeys[len(t.ForeignKeys)-1]
	k.Columns, k.RefColumns = append(k.Columns, r[3]), append(k.RefColumns, r[6])
}

// count counts the rows of tables that are small and look the same to everybody: the server's estimate of them is poor.
func (b *builder) count(ctx context.Context, s *session) error {
	if b.e.rules != nil || len(b.tables) > countTables {
		return nil
	}
	end := time.Now().Add(countTime)
	for i := range b.tables {
		t := &b.tables[i]
		if t.View || t.Rows < 0 || t.Rows > countRows || time.Now().After(end) {
			continue
		}
		schema := cmpOr(t.Schema, b.cat.database)
		rows, err := s.rows(ctx, "SELECT COUNT(*) FROM "+quote(schema)+"."+quote(t.Name))
		if err != nil {
			return err
		}
		if t.Rows, err = strconv.ParseInt(rows[0][0], 10, 64); err != nil {
			t.Rows = -1
		}
	}
	return nil
}
