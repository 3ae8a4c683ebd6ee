package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote/source"
)

const (
	catalogTime = time.Minute // maximum age of a catalog in use
	loadTime    = 30 * time.Second
	countTime   = 2 * time.Second // for counting the rows of all tables
	countPages  = 20_000          // larger tables are not counted
	maxTables   = 5000
	sep         = "\x1f" // separates the columns of a key; no name should contain it
)

// catalog holds what the gate and the row reader need to know about a database.
type catalog struct {
	read           time.Time
	version        int // the server's server_version_num
	encoding, role string
	super          []string // reasons why READ ONLY does not bind the role; normally none
	remarks        []string
	path           []string        // schemas searched for unqualified names
	relations      []relation      // readable ones
	readable       map[string]bool // their names, as schema.name
	system         map[string]bool // names in pg_catalog
	types          map[uint32]pgType
	rowsPerUser    bool // users see different rows
}

type relation struct {
	oid, schema, name, kind, comment string
	visible, guarded, active         bool
	uncounted                        bool // counting its rows could read a foreign table or run a function
	pages                            int64
}

type pgType struct {
	name                  string
	kind                  string // b, d, e, r, m, p
	element, base, arrays uint32 // arrays is the type of its arrays
	array                 bool
}

// base returns the name of a type or, for a domain, of its base type.
func (c *catalog) base(oid uint32) string {
	for range 8 {
		t, ok := c.types[oid]
		switch {
		case !ok:
			return "record" // a row type, or a type newer than the catalog
		case t.kind == "d":
			oid = t.base
		case t.array:
			if e := c.base(t.element); e != "" {
				return "[]" + e
			}
			return "[]text"
		default:
			return t.name
		}
	}
	return "text"
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

func (e *engine) role() (string, []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cat.role, slices.Clone(e.cat.remarks)
}

// load reads the catalog.
func (e *engine) load(ctx context.Context) (*catalog, error) {
	s, err := e.begin(ctx, loadTime)
	if err != nil {
		return nil, err
	}
	defer s.end()
	c := &catalog{
		read: time.Now(), encoding: s.pc.ParameterStatus("server_encoding"), path: s.path, readable: map[string]bool{},
		system: map[string]bool{}, types: map[uint32]pgType{},
	}
	visible, err := s.rows(ctx, visibleSQL)
	if err != nil {
		return nil, e.broken(ctx, s, err)
	}
	if err := e.pin(ctx, s); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(visible)) // by oid
	for _, row := range visible {
		seen[row[0]] = true
	}
	for _, part := range []struct {
		sql  string
		take func(row []string)
	}{
		{query("role"), c.takeRole}, {query("relations"), c.takeRelation}, {query("types"), c.takeType},
		{query("system"), func(r []string) { c.system[r[0]] = true }}, {query("personal"), c.takePersonal},
	} {
		rows, err := s.rows(ctx, part.sql)
		if err != nil {
			return nil, e.broken(ctx, s, err)
		}
		for _, row := range rows {
			part.take(row)
		}
	}
	for i := range c.relations {
		c.relations[i].visible = seen[c.relations[i].oid]
	}
	return c, nil
}

func (c *catalog) takeRole(r []string) {
	c.version, _ = strconv.Atoi(r[0])
	c.role = r[1]
	if r[2] == "t" {
		c.super = append(c.super, "is a superuser, whom READ ONLY does not keep from files and programs of the server")
	}
	for i, reason := range []string{
		"has BYPASSRLS, so that no policy of row-level security holds", "has CREATEROLE", "has REPLICATION",
	} {
		if r[3+i] == "t" && r[2] != "t" {
			c.super = append(c.super, reason)
		}
	}
	if r[7] != "" {
		c.super = append(c.super, "is a member of "+r[7])
	}
	if r[6] == "-1" {
		c.remarks = append(c.remarks,
			"temp_file_limit is not set for the role, so a large sort may fill the server's disk: ALTER ROLE "+r[1]+
				" SET temp_file_limit = '1GB'")
	}
}

// visibleSQL runs with the role's search_path, because it asks what that makes visible.
const visibleSQL = `SELECT c.oid FROM pg_catalog.pg_class c WHERE pg_catalog.pg_table_is_visible(c.oid)`

func (c *catalog) takeRelation(r []string) {
	rel := relation{oid: r[0], schema: r[1], name: r[2], kind: r[3], guarded: r[4] == "t", active: r[5] == "t",
		comment: r[7], uncounted: r[9] == "t"}
	rel.pages, _ = strconv.ParseInt(r[6], 10, 64)
	c.relations = append(c.relations, rel)
	c.readable[rel.schema+"."+rel.name] = true
	if rel.guarded {
		c.rowsPerUser = true
	}
	if rel.guarded && !rel.active {
		c.super = append(c.super,
			fmt.Sprintf("is exempt from the row-level security of %s.%s: it owns the table. Use another role, or "+
				"ALTER TABLE … FORCE ROW LEVEL SECURITY", rel.schema, rel.name))
	}
	if r[8] == "t" && len(c.remarks) < 3 {
		c.remarks = append(c.remarks,
			fmt.Sprintf("the role owns %s.%s: better is one that may only SELECT", rel.schema, rel.name))
	}
}

func (c *catalog) takeType(r []string) {
	number := func(s string) uint32 { n, _ := strconv.ParseUint(s, 10, 32); return uint32(n) }
	c.types[number(r[0])] = pgType{name: r[1], kind: r[2], element: number(r[3]), base: number(r[4]),
		arrays: number(r[6]),
		array:  r[5] == "A"}
}

func (c *catalog) takePersonal(r []string) { c.rowsPerUser = c.rowsPerUser || r[0] == "t" }

// Schema implements child.Engine.
func (e *engine) Schema(ctx context.Context) (source.Schema, error) {
	cat, err := e.catalog(ctx, time.Now())
	if err != nil {
		return source.Schema{}, err
	}
	s, err := e.begin(ctx, loadTime)
	if err != nil {
		return source.Schema{}, err
	}
	defer s.end()
	if err := e.pin(ctx, s); err != nil {
		return source.Schema{}, err
	}
	tables := make([]source.Table, len(cat.relations))
	index := map[string]*source.Table{} // by oid
	for i, r := range cat.relations {
		tables[i] = source.Table{
			Schema: r.schema, Name: r.name, View: r.kind == "v" || r.kind == "m", Comment: r.comment, Rows: -1,
		}
		if r.visible {
			tables[i].Schema = ""
		}
		index[r.oid] = &tables[i]
	}
	rows, err := s.rows(ctx, query("columns"))
	if err != nil {
		return source.Schema{}, e.broken(ctx, s, err)
	}
	for _, r := range rows {
		if t := index[r[0]]; t != nil {
			oid, _ := strconv.ParseUint(r[4], 10, 32)
			t.Columns = append(t.Columns, source.Column{
				Name: r[1], Type: r[2], Kind: kindOf(cat.base(uint32(oid))), Nullable: r[3] == "f", Comment: r[5],
			})
		}
	}
	if rows, err = s.rows(ctx, query("keys")); err != nil {
		return source.Schema{}, e.broken(ctx, s, err)
	}
	for _, r := range rows {
		t := index[r[0]]
		switch {
		case t == nil:
		case r[1] == "p":
			t.PrimaryKey = strings.Split(r[2], sep)
		case index[r[3]] != nil:
			t.ForeignKeys = append(t.ForeignKeys, source.ForeignKey{
				Columns: strings.Split(r[2], sep), RefTable: index[r[3]].FullName(),
				RefColumns: strings.Split(r[4], sep),
			})
		}
	}
	s.count(ctx, cat, tables)
	if hidden := source.HiddenIn(ctx); len(hidden) > 0 {
		if tables, err = e.withoutHidden(ctx, s, hidden, cat, tables); err != nil {
			return source.Schema{}, err
		}
	}
	return source.Schema{Tables: tables}, nil
}

// withoutHidden returns the tables without those that are hidden as a whole and without hidden columns. The tables are
// those of the catalog, in the same order.
func (e *engine) withoutHidden(ctx context.Context, s *session, hidden source.Hidden, cat *catalog,
	tables []source.Table) ([]source.Table, error) {
	var names, schemas []string
	for _, r := range cat.relations {
		names, schemas = append(names, r.name), append(schemas, r.schema)
	}
	r, err := e.reach(ctx, s, hidden, names, schemas)
	if err != nil {
		return nil, err
	}
	var left []source.Table
	for i, t := range tables {
		rel := cat.relations[i]
		visible, cut, err := r.visible(name{rel.schema, rel.name}, nil)
		if err != nil {
			continue
		}
		if cut {
			t.Columns = slices.DeleteFunc(t.Columns, func(c source.Column) bool {
				return !slices.Contains(visible, quote(c.Name))
			})
		}
		left = append(left, t)
	}
	return left, nil
}

// count counts the rows of tables that are small and look the same to everybody.
func (s *session) count(ctx context.Context, cat *catalog, tables []source.Table) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	if _, err := s.pc.Exec(ctx, "SAVEPOINT counts").ReadAll(); err != nil {
		s.broken = true
		return
	}
	for i, r := range cat.relations {
		if cat.rowsPerUser || r.uncounted || r.kind != "r" && r.kind != "p" || r.pages > countPages ||
			ctx.Err() != nil {
			continue
		}
		rows, err := s.rows(ctx, "SELECT count(*) FROM "+quote(r.schema)+"."+quote(r.name))
		if err == nil && len(rows) == 1 {
			tables[i].Rows, _ = strconv.ParseInt(rows[0][0], 10, 64)
			continue
		}
		if ctx.Err() != nil {
			s.broken = true
			return
		}
		if _, err := s.pc.Exec(ctx, "ROLLBACK TO counts").ReadAll(); err != nil {
			s.broken = true
			return
		}
	}
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
