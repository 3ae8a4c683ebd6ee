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
	read      time.Time
	version   int // the server's server_version_num
	encoding  string
	role      string
	super     []string // reasons why READ ONLY does not bind the role; normally none
	remarks   []string
	path      []string        // schemas searched for unqualified names
	relations []relation      // readable ones
	readable  map[string]bool // their names, as schema.name
	system    map[string]bool // names in pg_catalog
	types     map[uint32]pgType
	personal  bool // users see different rows
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
	if err == nil {
		err = s.pin(ctx)
	}
	if err != nil {
		s.broken = true
		return nil, e.unreachable(ctx, err)
	}
	seen := make(map[string]bool, len(visible)) // by oid
	for _, row := range visible {
		seen[row[0]] = true
	}
	for _, part := range []struct {
		sql  string
		take func(row []string)
	}{
		{roleSQL, c.takeRole}, {relationsSQL, c.takeRelation}, {systemSQL, func(r []string) { c.system[r[0]] = true }},
		{typesSQL, c.takeType}, {personalSQL, c.takePersonal},
	} {
		rows, err := s.rows(ctx, part.sql)
		if err != nil {
			s.broken = true
			return nil, e.unreachable(ctx, err)
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

const roleSQL = `SELECT current_setting('server_version_num'), r.rolname, r.rolsuper, r.rolbypassrls,
	r.rolcreaterole, r.rolreplication,
	current_setting('temp_file_limit'),
	array_to_string(ARRAY(SELECT rolname FROM pg_roles m WHERE m.rolname IN ('pg_write_server_files',
		'pg_read_server_files', 'pg_execute_server_program',
		'pg_signal_backend', 'pg_checkpoint', 'pg_maintain', 'pg_write_all_data') AND pg_has_role(r.oid, m.oid,
			'MEMBER') AND NOT r.rolsuper ORDER BY 1), ', ')
	FROM pg_roles r WHERE r.rolname = current_user`

func (c *catalog) takeRole(r []string) {
	c.version, _ = strconv.Atoi(r[0])
	c.role = r[1]
	if r[2] == "t" {
		c.super = append(c.super, "is a superuser, whom READ ONLY does not keep from files and programs of the server")
	}
	if r[3] == "t" && r[2] != "t" {
		c.super = append(c.super, "has BYPASSRLS, so that no policy of row-level security holds")
	}
	if r[4] == "t" && r[2] != "t" {
		c.super = append(c.super, "has CREATEROLE")
	}
	if r[5] == "t" && r[2] != "t" {
		c.super = append(c.super, "has REPLICATION")
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

// The last column of relationsSQL tells whether counting a table's rows could read a foreign table or run a
// function of the database: of an expression, see planned.go, or one that compares the bounds of partitions.
const relationsSQL = `WITH RECURSIVE needs AS (SELECT d.classid, d.objid FROM pg_depend d
		WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass)
			AND d.refobjid >= 16384
		AND d.objsubid = 0),
	needy(oid) AS (SELECT objid FROM needs WHERE classid = 'pg_class'::regclass
		UNION SELECT i.indrelid FROM needs JOIN pg_index i ON classid = 'pg_class'::regclass AND i.indexrelid = objid
		UNION SELECT k.conrelid FROM needs JOIN pg_constraint k ON classid = 'pg_constraint'::regclass AND k.oid = objid
		UNION SELECT s.stxrelid FROM needs JOIN pg_statistic_ext s ON classid = 'pg_statistic_ext'::regclass
			AND s.oid = objid
		UNION SELECT p.partrelid FROM pg_partitioned_table p WHERE EXISTS (SELECT FROM unnest(p.partclass) u(class)
				JOIN pg_opclass o ON o.oid = u.class JOIN pg_amproc m ON m.amprocfamily = o.opcfamily
					AND m.amproc::oid >= 16384)
			OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = p.partrelid AND a.attnum > 0
				AND a.atttypid >= 16384
				AND (a.attnum = ANY (p.partattrs) OR p.partexprs IS NOT NULL))),
	uncounted(oid) AS ((SELECT oid FROM needy UNION SELECT ftrelid FROM pg_foreign_table)
		UNION SELECT i.inhparent FROM uncounted u JOIN pg_inherits i ON i.inhrelid = u.oid)
	SELECT c.oid, n.nspname, c.relname, c.relkind, c.relrowsecurity,
	row_security_active(c.oid), c.relpages,
	coalesce(obj_description(c.oid, 'pg_class'), ''), pg_has_role(c.relowner, 'USAGE'),
	c.oid IN (SELECT oid FROM uncounted)
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition AND n.nspname <> 'information_schema'
		AND n.nspname !~ '^pg_'
	AND has_schema_privilege(n.oid, 'USAGE') AND (has_table_privilege(c.oid, 'SELECT')
		OR has_any_column_privilege(c.oid, 'SELECT'))
	ORDER BY 2, 3 LIMIT 5000`

func (c *catalog) takeRelation(r []string) {
	rel := relation{oid: r[0], schema: r[1], name: r[2], kind: r[3], guarded: r[4] == "t", active: r[5] == "t",
		comment: r[7], uncounted: r[9] == "t"}
	rel.pages, _ = strconv.ParseInt(r[6], 10, 64)
	c.relations = append(c.relations, rel)
	c.readable[rel.schema+"."+rel.name] = true
	if rel.guarded {
		c.personal = true
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

const systemSQL = `SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', ` +
	`'v')`

const typesSQL = `SELECT oid, typname, typtype, typelem, typbasetype, typcategory, typarray FROM pg_type WHERE ` +
	`typtype <> 'c'`

func (c *catalog) takeType(r []string) {
	number := func(s string) uint32 { n, _ := strconv.ParseUint(s, 10, 32); return uint32(n) }
	c.types[number(r[0])] = pgType{name: r[1], kind: r[2], element: number(r[3]), base: number(r[4]),
		arrays: number(r[6]),
		array:  r[5] == "A"}
}

// Rows also differ between users if a view or function reads a setting. A body that Postgres has parsed, and a default,
// has the OIDs of current_setting.
const personalSQL = `SELECT EXISTS (SELECT 1 FROM pg_class WHERE relrowsecurity)
	OR EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'v'
		AND n.nspname NOT IN ('pg_catalog', 'information_schema')
		AND pg_get_viewdef(c.oid) LIKE '%current_setting%')
	OR EXISTS (SELECT 1 FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND (p.prosrc LIKE '%current_setting%'
		OR concat(p.proargdefaults, CASE
			WHEN p.prolang = 14 THEN to_jsonb(p) ->> 'prosqlbody' END) ~ ':funcid (2077|3294) '))`

func (c *catalog) takePersonal(r []string) { c.personal = c.personal || r[0] == "t" }

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
	if err := s.pin(ctx); err != nil {
		s.broken = true
		return source.Schema{}, e.unreachable(ctx, err)
	}
	tables := make([]source.Table, 0, len(cat.relations))
	index := map[string]*source.Table{}
	full := map[string]string{} // oid → full name
	for _, r := range cat.relations {
		t := source.Table{
			Schema: r.schema, Name: r.name, View: r.kind == "v" || r.kind == "m", Comment: r.comment, Rows: -1,
		}
		if r.visible {
			t.Schema = ""
		}
		tables = append(tables, t)
		full[r.oid] = t.FullName()
	}
	for i, r := range cat.relations {
		index[r.oid] = &tables[i]
	}
	rows, err := s.rows(ctx, columnsSQL)
	if err != nil {
		s.broken = true
		return source.Schema{}, e.unreachable(ctx, err)
	}
	for _, r := range rows {
		if t := index[r[0]]; t != nil {
			oid, _ := strconv.ParseUint(r[4], 10, 32)
			t.Columns = append(t.Columns, source.Column{
				Name: r[1], Type: r[2], Kind: kindOf(cat.base(uint32(oid))), Nullable: r[3] == "f", Comment: r[5],
			})
		}
	}
	if rows, err = s.rows(ctx, keysSQL); err != nil {
		s.broken = true
		return source.Schema{}, e.unreachable(ctx, err)
	}
	for _, r := range rows {
		t := index[r[0]]
		switch {
		case t == nil:
		case r[1] == "p":
			t.PrimaryKey = strings.Split(r[2], sep)
		case full[r[3]] != "":
			t.ForeignKeys = append(t.ForeignKeys, source.ForeignKey{
				Columns:    strings.Split(r[2], sep),
				RefTable:   full[r[3]],
				RefColumns: strings.Split(r[4], sep),
			})
		}
	}
	s.count(ctx, cat, tables)
	return source.Schema{Tables: tables}, nil
}

const columnsSQL = `SELECT a.attrelid, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.atttypid,
	coalesce(col_description(a.attrelid, a.attnum), '')
	FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition
	AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND has_column_privilege(a.attrelid, a.attnum,
		'SELECT') ORDER BY a.attrelid, a.attnum`

const keysSQL = `SELECT k.conrelid, k.contype, array_to_string(ARRAY(SELECT a.attname
	FROM unnest(k.conkey) WITH ORDINALITY u(n, i) JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n
	ORDER BY u.i), chr(31)),
	k.confrelid, array_to_string(ARRAY(SELECT a.attname FROM unnest(k.confkey) WITH ORDINALITY u(n, i)
		JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n ORDER BY u.i), chr(31))
	FROM pg_constraint k WHERE k.contype IN ('p', 'f') AND k.conrelid <> 0 ORDER BY k.conrelid, k.conname`

// count counts the rows of tables that are small and look the same to everybody.
func (s *session) count(ctx context.Context, cat *catalog, tables []source.Table) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	if _, err := s.pc.Exec(ctx, "SAVEPOINT counts").ReadAll(); err != nil {
		s.broken = true
		return
	}
	for i, r := range cat.relations {
		if cat.personal || r.uncounted || r.kind != "r" && r.kind != "p" || r.pages > countPages || ctx.Err() != nil {
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
