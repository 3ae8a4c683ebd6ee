package postgres

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// This file holds the judge's queries of the system catalogs. The queries of one round share a round trip. They run
// with pg_catalog as the only schema and look up the names in a statement, so their cost does not grow with the
// number of tables.

// question is a query of the system's tables. Take is called for each row.
type question struct {
	sql  string
	args []any // string, bool or []string
	take func(row []string)
}

// ask sends all questions in one round trip.
func (s *session) ask(ctx context.Context, questions []question) error {
	batch := &pgconn.Batch{}
	batch.ExecParams(pinSQL, nil, nil, nil, nil)
	for _, q := range questions {
		values := make([][]byte, len(q.args))
		for i, a := range q.args {
			switch a := a.(type) {
			case []string:
				values[i] = list(a)
			case bool:
				values[i] = strconv.AppendBool(nil, a)
			case string:
				values[i] = []byte(a)
			}
		}
		batch.ExecParams(s.mark+q.sql, values, nil, nil, nil)
	}
	batch.ExecParams(unpinSQL, nil, nil, nil, nil)
	results, err := s.pc.ExecBatch(ctx, batch).ReadAll()
	if err != nil {
		s.broken = true
		return err
	}
	for i, q := range questions {
		for _, cells := range results[i+1].Rows {
			row := make([]string, len(cells))
			for j, cell := range cells {
				row[j] = string(cell)
			}
			q.take(row)
		}
	}
	return nil
}

// list encodes texts as a Postgres array.
func list(texts []string) []byte {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return []byte("{" + strings.Join(quoted, ",") + "}")
}

// firstOwn is the first OID assigned after initdb. Lower ones are Postgres's own.
const firstOwn = 16384

// own reports whether an OID belongs to an object that the database defines: neither 0 nor one of Postgres's own.
func own(oid string) bool {
	n, err := strconv.ParseUint(oid, 10, 32)
	return err != nil || n >= firstOwn
}

// function is a row of pg_proc.
type function struct {
	oid, schema, name, extension string
	volatile, definer            bool
	compiled                     bool     // written in C
	parsed                       bool     // written in SQL that was read when the function was made
	constructor                  bool     // one of Postgres's own, created with a range type
	conversion                   bool     // one of Postgres's own casts
	single                       bool     // it can be called with a single argument
	row                          bool     // … which is a row
	types                        []string // of its arguments and its result
}

func newFunction(r []string) function {
	return function{
		oid: r[0], schema: r[1], name: r[2], extension: r[3], volatile: r[4] == "t", definer: r[5] == "t",
		compiled: r[6] == "t", constructor: r[7] == "t",
		conversion: r[8] == "t", single: r[9] == "t", row: r[10] == "t", parsed: r[11] == "t",
		types: strings.Fields(r[12]),
	}
}

const functionsSQL = `SELECT p.oid, n.nspname, p.proname,
	(SELECT x.extname FROM pg_depend d JOIN pg_extension x ON x.oid = d.refobjid
		WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' LIMIT 1),
	p.provolatile = 'v', p.prosecdef, p.prolang IN (12, 13), p.prolang = 12
	AND p.prosrc ~ '^(multi)?range_constructor[0-3]$',
	p.oid < 16384 AND EXISTS (SELECT FROM pg_cast k WHERE k.castfunc = p.oid AND k.oid < 16384),
	p.pronargs > 0 AND p.pronargs - p.pronargdefaults <= 1, p.pronargs > 0 AND t.typtype IN ('c', 'p', 'd'),
	to_jsonb(p) ->> 'prosqlbody' IS NOT NULL,
	concat_ws(' ', array_to_string(p.proargtypes::oid[], ' '), array_to_string(p.proallargtypes, ' '), p.prorettype)
	FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace LEFT JOIN pg_type t ON t.oid = p.proargtypes[0] `

const (
	functionsByName = functionsSQL +
		`WHERE p.proname = ANY($1::name[]) AND p.oid >= 16384 OR p.proname = ANY($2::name[])`
	functionsByOID = functionsSQL + `WHERE p.oid = ANY($1::oid[])`

	typesByName = `SELECT t.oid, n.nspname, t.typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
		WHERE t.typname = ANY($1::name[])`

	collationsByName = `SELECT c.oid, n.nspname, c.collname FROM pg_collation c
		JOIN pg_namespace n ON n.oid = c.collnamespace
		WHERE c.collname = ANY($1::name[])`
)

// operatorsSQL selects operators and the functions they run. First comes the operator's own function, and whether
// one of Postgres's own operators has the same; then those of the estimators, the commutator and the negator, which
// the planner may run instead. The last column tells whether the operator takes only values that already have its
// types: it has the name of one of Postgres's own operators for texts or rows, so Postgres does not convert
// literals or rows to its operands.
const operatorsSQL = `SELECT o.oid, n.nspname, o.oprname, o.oprcode::oid,
	o.oprcode::oid < 16384 AND EXISTS (SELECT FROM pg_operator b WHERE b.oprcode = o.oprcode AND b.oid < 16384),
	concat_ws(' ', o.oprrest::oid, o.oprjoin::oid, (SELECT c.oprcode::oid FROM pg_operator c WHERE c.oid = o.oprcom),
		(SELECT c.oprcode::oid FROM pg_operator c WHERE c.oid = o.oprnegate)), concat_ws(' ', o.oprleft, o.oprright,
		o.oprresult),
	2 = (SELECT count(*) FROM (VALUES (o.oprleft), (o.oprright)) v(operand) JOIN pg_type t ON t.oid = v.operand
		WHERE t.oid >= 16384 AND t.typelem = 0 AND t.typcategory <> 'S' AND (t.typtype IN ('b', 'e', 'r', 'm')
			AND o.oprname = ANY('{=,<>,<,>,<=,>=,~,!~,~*,!~*,~~,!~~,~~*,!~~*,||}') OR t.typtype = 'c'
			AND o.oprname = ANY('{=,<>,<,>,<=,>=}')))
	FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace `

const (
	operatorsByName = operatorsSQL + `WHERE o.oprname = ANY($1::name[])
		AND greatest(o.oid, o.oprcode::oid, o.oprcom, o.oprnegate, o.oprrest::oid, o.oprjoin::oid) >= 16384`
	operatorsByOID = operatorsSQL + `WHERE o.oid = ANY($1::oid[])`
)

// relationsByName selects the tables with certain names in certain schemas, with the types of their readable
// columns.
const relationsByName = `SELECT c.oid, n.nspname, c.relname, c.relkind, c.relhassubclass, c.reltype,
	array_to_string(ARRAY(SELECT DISTINCT a.atttypid FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
	AND NOT a.attisdropped
		AND a.atttypid >= 16384 AND ($3::boolean OR a.attname = ANY($4::name[]))), ' ')
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relname = ANY($1::name[]) AND n.nspname = ANY($2::name[]) AND c.oid >= 16384`

// columnsByName selects which of some names are columns of the relations with certain names in certain schemas.
const columnsByName = `SELECT n.nspname, c.relname, s.name, EXISTS (SELECT FROM pg_attribute a
	WHERE a.attrelid = c.oid AND a.attname = s.name AND NOT a.attisdropped)
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace CROSS JOIN unnest($3::name[]) s(name)
	WHERE c.relname = ANY($1::name[]) AND n.nspname = ANY($2::name[])`

// castsSQL selects all casts that are not Postgres's own.
const castsSQL = `SELECT k.castsource, k.casttarget, k.castfunc, k.castcontext, k.castmethod,
	k.castfunc < 16384 AND EXISTS (SELECT FROM pg_cast b WHERE b.castfunc = k.castfunc AND b.oid < 16384),
	format_type(k.castsource, NULL) || ' to ' || format_type(k.casttarget, NULL), p.proname
	FROM pg_cast k LEFT JOIN pg_proc p ON p.oid = k.castfunc WHERE greatest(k.oid, k.castfunc) >= 16384`

// comparisonsSQL selects the functions, except Postgres's own, that sort, group and compare values. Those of default
// operator classes, and those added to Postgres's own families, may run where a statement names no operator. Those of
// other families come with an operator of the family, unless one of Postgres's own families has that operator, too:
// Postgres takes the family with the lowest OID.
//
// These operators are the family's and their commutators. NOT IN with a long list uses the hash function of the
// negator, so in families for hashing, negators bring them, too.
const comparisonsSQL = `WITH defaults AS MATERIALIZED (SELECT opcfamily, opcintype FROM pg_opclass WHERE opcdefault),
	brought(family, operators, all_operators) AS MATERIALIZED (
	SELECT f.oid, string_agg(x.oprname, ' ') FILTER (WHERE NOT x.negator), string_agg(x.oprname, ' ')
		FROM pg_opfamily f JOIN pg_amop a ON a.amopfamily = f.oid JOIN pg_operator q ON q.oid = a.amopopr
		LEFT JOIN pg_operator n ON n.oid = q.oprnegate CROSS JOIN LATERAL (
			SELECT l.oprname, false FROM pg_operator l WHERE l.oid IN (q.oid, q.oprcom)
				OR l.oid >= 16384 AND l.oprcom = q.oid
			UNION SELECT l.oprname, true FROM pg_operator l WHERE l.oid IN (q.oprnegate, n.oprcom)
				OR l.oid >= 16384 AND l.oprnegate = q.oid) x(oprname, negator)
		WHERE f.opfmethod IN (403, 405) AND f.oid >= 16384
		AND (EXISTS (SELECT FROM pg_opclass c WHERE c.opcfamily = f.oid AND NOT c.opcdefault)
			OR NOT EXISTS (SELECT FROM pg_opclass c WHERE c.opcfamily = f.oid))
		AND NOT EXISTS (SELECT FROM pg_amop b WHERE b.amopopr = a.amopopr AND b.amopmethod = a.amopmethod
			AND b.amopfamily < 16384)
		GROUP BY f.oid)
	SELECT m.amproclefttype, m.amprocrighttype, m.amproc::oid, f.oid < 16384
			OR (f.oid, m.amproclefttype) IN (SELECT * FROM defaults) OR (f.oid, m.amprocrighttype) IN (SELECT *
				FROM defaults),
		CASE f.opfmethod WHEN 405 THEN w.all_operators ELSE w.operators END
	FROM pg_amproc m JOIN pg_opfamily f ON f.oid = m.amprocfamily LEFT JOIN brought w ON w.family = f.oid
	WHERE f.opfmethod IN (403, 405) AND m.amproc::oid >= 16384
	UNION ALL SELECT m.amoplefttype, m.amoprighttype, o.oprcode::oid, m.amopfamily < 16384
			OR (m.amopfamily, m.amoplefttype) IN (SELECT * FROM defaults)
			OR (m.amopfamily, m.amoprighttype) IN (SELECT * FROM defaults), w.all_operators
	FROM pg_amop m JOIN pg_operator o ON o.oid = m.amopopr LEFT JOIN brought w ON w.family = m.amopfamily
	WHERE m.amopmethod IN (403, 405) AND o.oprcode::oid >= 16384`

// textSearchSQL selects the functions of parsers and templates that are not Postgres's own.
const textSearchSQL = `SELECT concat_ws(' ', tmplinit::oid, tmpllexize::oid) FROM pg_ts_template WHERE oid >= 16384
	UNION ALL SELECT concat_ws(' ', prsstart::oid, prstoken::oid, prsend::oid, prsheadline::oid, prslextype::oid)
	FROM pg_ts_parser WHERE oid >= 16384`

// storageSQL selects the functions, except Postgres's own, by which the indexes and partitions of tables compare:
// support functions, and those of operators that an index may use in place of others (a BRIN index finds equal
// values with <= and >=).
const storageSQL = `SELECT DISTINCT m.function, c.relname FROM pg_class c
	CROSS JOIN LATERAL (SELECT unnest(i.indclass) FROM pg_index i WHERE i.indrelid = c.oid
		UNION SELECT unnest(p.partclass) FROM pg_partitioned_table p WHERE p.partrelid = c.oid) u(class)
	JOIN pg_opclass o ON o.oid = u.class CROSS JOIN LATERAL (
		SELECT p.amproc::oid FROM pg_amproc p WHERE p.amprocfamily = o.opcfamily
		UNION SELECT q.oprcode::oid FROM pg_amop a JOIN pg_operator q ON q.oid = a.amopopr
			WHERE a.amopfamily = o.opcfamily) m(function)
	WHERE c.oid >= 16384 AND m.function >= 16384 `

// treeSQL selects relations with their partitions and children.
const treeSQL = `WITH RECURSIVE tree(oid) AS (SELECT unnest($1::oid[]) UNION SELECT i.inhrelid
	FROM pg_inherits i JOIN tree t ON i.inhparent = t.oid) `

// partsSQL follows treeSQL and adds the tables that the relations are parts of.
const partsSQL = `, parts(oid) AS (SELECT oid FROM tree
	UNION SELECT i.inhparent FROM pg_inherits i JOIN parts t ON i.inhrelid = t.oid)`

// plannedSQL selects what the expressions of indexes, partitions, constraints and statistics need, for the
// relations of a WITH query named tree and for the tables that they are parts of, and the types of the tables' columns
// and rows.
func plannedSQL(version int) string {
	statistics := ""
	if version >= 140000 {
		statistics = `UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid, s.stxexprs, NULL
			FROM pg_statistic_ext s WHERE s.stxrelid = parts.oid AND s.stxexprs IS NOT NULL`
	}
	return partsSQL + `, planned AS MATERIALIZED (SELECT parts.oid AS relation, x.* FROM parts CROSS JOIN LATERAL (
		SELECT 'pg_class'::regclass, i.indexrelid, i.indexprs, i.indpred
			FROM pg_index i WHERE i.indrelid = parts.oid AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
		UNION ALL SELECT 'pg_class'::regclass, k.partrelid, k.partexprs, NULL
			FROM pg_partitioned_table k WHERE k.partrelid = parts.oid AND k.partexprs IS NOT NULL
		UNION ALL SELECT 'pg_constraint'::regclass, k.oid, k.conbin, NULL
			FROM pg_constraint k WHERE k.conrelid = parts.oid AND k.contype = 'c' ` + statistics + `
		) x(class, object, one, other))
	SELECT c.relname, d.class::regclass, d.object, coalesce(o.oprname, p.proname),
		EXISTS (SELECT FROM pg_cast k WHERE k.castfunc = d.object), d.value,
		p.pronargdefaults > 0 OR p.prolang = 14 AND NOT p.prosecdef AND p.proconfig IS NULL
			OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = x.relation AND a.attgenerated = 'v'),
		concat_ws(', ', pg_get_expr(x.one, x.relation), pg_get_expr(x.other, x.relation))
	FROM planned x JOIN pg_class c ON c.oid = x.relation CROSS JOIN LATERAL (
		SELECT DISTINCT refclassid, refobjid, false FROM pg_depend WHERE classid = x.class AND objid = x.object
			AND objsubid = 0 AND refobjid >= 16384
			AND refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass)
		UNION SELECT 'pg_type'::regclass, a.atttypid, true FROM pg_attribute a
			WHERE a.attrelid = x.relation AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384
		UNION SELECT 'pg_type'::regclass, c.reltype, true WHERE EXISTS (SELECT FROM pg_cast
			WHERE castsource = c.reltype)
		) d(class, object, value)
	LEFT JOIN pg_operator o ON d.class = 'pg_operator'::regclass AND o.oid = d.object
	LEFT JOIN pg_proc p ON p.oid = CASE WHEN d.class = 'pg_proc'::regclass THEN d.object ELSE o.oprcode END`
}

const (
	// namedSQL selects the relations with certain names in certain schemas. It takes the place of treeSQL.
	namedSQL = `WITH RECURSIVE tree(oid) AS (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relname = ANY($1::name[]) AND n.nspname = ANY($2::name[]) AND c.oid >= 16384) `

	// keysByOID selects the types of the values in partition keys. Postgres sorts the bounds of partitions when it
	// opens
	// a table, and compares arrays, rows and ranges by their elements.
	keysByOID = treeSQL + partsSQL +
		` SELECT DISTINCT v.type FROM parts t JOIN pg_partitioned_table p ON p.partrelid = t.oid
		CROSS JOIN LATERAL (SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attnum > 0
			AND (a.attnum = ANY (p.partattrs) OR p.partexprs IS NOT NULL) AND NOT a.attisdropped
		UNION SELECT coalesce(f.prorettype, o.oprresult) FROM pg_depend d
			LEFT JOIN pg_proc f ON d.refclassid = 'pg_proc'::regclass AND f.oid = d.refobjid
			LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
			WHERE d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.objsubid = 0) v(type)
		WHERE v.type >= 16384`

	storageByName = storageSQL + `AND c.relname = ANY($1::name[])`
	storageByOID  = treeSQL + partsSQL + ` ` + storageSQL + `AND c.oid IN (SELECT oid FROM parts)`
)

// Queries about types: what they consist of, and the functions that read and write them.
const (
	typesByOID = `SELECT t.oid, n.nspname || '.' || t.typname, concat_ws(' ', t.typbasetype, t.typelem, t.typarray),
		concat_ws(' ', t.typinput::oid, t.typoutput::oid, t.typreceive::oid, t.typsend::oid, t.typmodin::oid,
		t.typmodout::oid)
		FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = ANY($1::oid[])`
	// since Postgres 14
	subscriptsByOID = `SELECT t.oid, t.typsubscript::oid FROM pg_type t WHERE t.oid = ANY($1::oid[])`
	fieldsByOID     = `SELECT DISTINCT t.oid, a.atttypid FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid
		WHERE t.oid = ANY($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped`
	rangesByOID = `SELECT r.rngtypid, concat_ws(' ', r.rngsubtype), concat_ws(' ', r.rngcanonical::oid,
		r.rngsubdiff::oid,
		array_to_string(ARRAY(SELECT m.amproc::oid FROM pg_opclass o JOIN pg_amproc m ON m.amprocfamily = o.opcfamily
		WHERE o.oid = r.rngsubopc), ' '))
		FROM pg_range r WHERE r.rngtypid = ANY($1::oid[])`
	multirangesByOID = `SELECT v.one, v.other FROM pg_range r
		CROSS JOIN LATERAL (VALUES (r.rngmultitypid, r.rngtypid), (r.rngtypid, r.rngmultitypid)) v(one, other)
		WHERE v.one = ANY($1::oid[])` // since Postgres 14
	checksByOID = `SELECT k.contypid, t.typname, pg_get_expr(k.conbin, 0) FROM pg_constraint k
		JOIN pg_type t ON t.oid = k.contypid
		WHERE k.contypid = ANY($1::oid[]) AND k.conbin IS NOT NULL`
	checksNeed = `SELECT k.contypid, d.refclassid::regclass, d.refobjid, 0 FROM pg_constraint k
		JOIN pg_depend d ON d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
		WHERE k.contypid = ANY($1::oid[]) AND d.refobjid >= 16384 AND d.refobjid <> k.contypid`
)

// Queries about relations: views, what they need, and foreign tables, including those among a table's partitions
// and children.
const (
	viewsByOID = `SELECT c.oid, n.nspname || '.' || c.relname, pg_get_viewdef(c.oid), EXISTS (SELECT
		FROM pg_options_to_table(c.reloptions) WHERE option_name = 'security_barrier' AND option_value::boolean)
			FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.oid = ANY($1::oid[]) AND c.relkind = 'v'`
	viewsNeed = `SELECT DISTINCT r.ev_class, d.refclassid::regclass, d.refobjid, coalesce(a.atttypid, 0),
		coalesce(whole.reltype, 0) FROM pg_rewrite r
		JOIN pg_class c ON c.oid = r.ev_class AND c.relkind = 'v'
		JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
		LEFT JOIN pg_attribute a ON d.refclassid = 'pg_class'::regclass AND a.attrelid = d.refobjid
		AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
		LEFT JOIN pg_class whole ON d.refclassid = 'pg_class'::regclass AND whole.oid = d.refobjid
		WHERE r.ev_class = ANY($1::oid[]) AND r.ev_type = '1' AND d.refobjid >= 16384 AND d.refobjid <> r.ev_class`
	foreignByOID = treeSQL + `SELECT c.oid, c.relname, w.fdwhandler
		FROM tree t JOIN pg_class c ON c.oid = t.oid AND c.relkind = 'f'
		JOIN pg_foreign_table f ON f.ftrelid = c.oid JOIN pg_foreign_server s ON s.oid = f.ftserver
		JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw`
)
