-- The queries of Postgres's own catalogs. Each begins with a line "-- name: …". In a query, {name} is replaced by the
-- text of an earlier one.

-- name: role
SELECT current_setting('server_version_num'), r.rolname, r.rolsuper, r.rolbypassrls,
r.rolcreaterole, r.rolreplication,
current_setting('temp_file_limit'),
array_to_string(ARRAY(SELECT rolname FROM pg_roles m WHERE m.rolname IN ('pg_write_server_files',
	'pg_read_server_files', 'pg_execute_server_program',
	'pg_signal_backend', 'pg_checkpoint', 'pg_maintain', 'pg_write_all_data') AND pg_has_role(r.oid, m.oid,
		'MEMBER') AND NOT r.rolsuper ORDER BY 1), ', ')
FROM pg_roles r WHERE r.rolname = current_user

-- name: relations
-- The last column tells whether counting a table's rows could read a foreign table or run a
-- function of the database: of an expression, see planned.go, or one that compares the bounds of partitions.
WITH RECURSIVE needs AS (SELECT d.classid, d.objid FROM pg_depend d
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
ORDER BY 2, 3 LIMIT 5000

-- name: system
SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')

-- name: types
SELECT oid, typname, typtype, typelem, typbasetype, typcategory, typarray FROM pg_type WHERE typtype <> 'c'

-- name: personal
-- Rows also differ between users if a view or function reads a setting. A body that Postgres has parsed, and a default,
-- has the OIDs of current_setting.
SELECT EXISTS (SELECT 1 FROM pg_class WHERE relrowsecurity)
OR EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'v'
	AND n.nspname NOT IN ('pg_catalog', 'information_schema')
	AND pg_get_viewdef(c.oid) LIKE '%current_setting%')
OR EXISTS (SELECT 1 FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
	WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND (p.prosrc LIKE '%current_setting%'
	OR concat(p.proargdefaults, CASE
		WHEN p.prolang = 14 THEN to_jsonb(p) ->> 'prosqlbody' END) ~ ':funcid (2077|3294) '))

-- name: columns
SELECT a.attrelid, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.atttypid,
coalesce(col_description(a.attrelid, a.attnum), '')
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition
AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND has_column_privilege(a.attrelid, a.attnum,
	'SELECT') ORDER BY a.attrelid, a.attnum

-- name: keys
SELECT k.conrelid, k.contype, array_to_string(ARRAY(SELECT a.attname
FROM unnest(k.conkey) WITH ORDINALITY u(n, i) JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n
ORDER BY u.i), chr(31)),
k.confrelid, array_to_string(ARRAY(SELECT a.attname FROM unnest(k.confkey) WITH ORDINALITY u(n, i)
	JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n ORDER BY u.i), chr(31))
FROM pg_constraint k WHERE k.contype IN ('p', 'f') AND k.conrelid <> 0 ORDER BY k.conrelid, k.conname

-- name: version
SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text ELSE
(SELECT concat_ws('-', sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_del), count(*)) FROM pg_stat_user_tables)
|| '-' || (SELECT coalesce(max(oid), 0) FROM pg_class) || '-' || (SELECT count(*) FROM pg_attribute) END

-- name: functions
SELECT p.oid, n.nspname, p.proname,
(SELECT x.extname FROM pg_depend d JOIN pg_extension x ON x.oid = d.refobjid
	WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' LIMIT 1),
p.provolatile = 'v', p.prosecdef, p.prolang IN (12, 13), p.prolang = 12
AND p.prosrc ~ '^(multi)?range_constructor[0-3]$',
p.oid < 16384 AND EXISTS (SELECT FROM pg_cast k WHERE k.castfunc = p.oid AND k.oid < 16384),
p.pronargs > 0 AND p.pronargs - p.pronargdefaults <= 1, p.pronargs > 0 AND t.typtype IN ('c', 'p', 'd'),
to_jsonb(p) ->> 'prosqlbody' IS NOT NULL,
concat_ws(' ', array_to_string(p.proargtypes::oid[], ' '), array_to_string(p.proallargtypes, ' '), p.prorettype)
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace LEFT JOIN pg_type t ON t.oid = p.proargtypes[0]

-- name: functionsByName
{functions} WHERE p.proname = ANY($1::name[]) AND p.oid >= 16384 OR p.proname = ANY($2::name[])

-- name: functionsByOID
{functions} WHERE p.oid = ANY($1::oid[])

-- name: typesByName
SELECT t.oid, n.nspname, t.typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typname = ANY($1::name[])

-- name: collationsByName
SELECT c.oid, n.nspname, c.collname FROM pg_collation c
JOIN pg_namespace n ON n.oid = c.collnamespace
WHERE c.collname = ANY($1::name[])

-- name: operators
-- Selects operators and the functions they run. First comes the operator's own function, and whether
-- one of Postgres's own operators has the same; then those of the estimators, the commutator and the negator, which
-- the planner may run instead. The last column tells whether the operator takes only values that already have its
-- types: it has the name of one of Postgres's own operators for texts or rows, so Postgres does not convert
-- literals or rows to its operands.
SELECT o.oid, n.nspname, o.oprname, o.oprcode::oid,
o.oprcode::oid < 16384 AND EXISTS (SELECT FROM pg_operator b WHERE b.oprcode = o.oprcode AND b.oid < 16384),
concat_ws(' ', o.oprrest::oid, o.oprjoin::oid, (SELECT c.oprcode::oid FROM pg_operator c WHERE c.oid = o.oprcom),
	(SELECT c.oprcode::oid FROM pg_operator c WHERE c.oid = o.oprnegate)), concat_ws(' ', o.oprleft, o.oprright,
	o.oprresult),
2 = (SELECT count(*) FROM (VALUES (o.oprleft), (o.oprright)) v(operand) JOIN pg_type t ON t.oid = v.operand
	WHERE t.oid >= 16384 AND t.typelem = 0 AND t.typcategory <> 'S' AND (t.typtype IN ('b', 'e', 'r', 'm')
		AND o.oprname = ANY('{=,<>,<,>,<=,>=,~,!~,~*,!~*,~~,!~~,~~*,!~~*,||}') OR t.typtype = 'c'
		AND o.oprname = ANY('{=,<>,<,>,<=,>=}')))
FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace

-- name: operatorsByName
{operators} WHERE o.oprname = ANY($1::name[])
AND greatest(o.oid, o.oprcode::oid, o.oprcom, o.oprnegate, o.oprrest::oid, o.oprjoin::oid) >= 16384

-- name: operatorsByOID
{operators} WHERE o.oid = ANY($1::oid[])

-- name: relationsByName
-- Selects the tables with certain names in certain schemas, with the types of their readable
-- columns.
SELECT c.oid, n.nspname, c.relname, c.relkind, c.relhassubclass, c.reltype,
array_to_string(ARRAY(SELECT DISTINCT a.atttypid FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
AND NOT a.attisdropped
	AND a.atttypid >= 16384 AND ($3::boolean OR a.attname = ANY($4::name[]))), ' ')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = ANY($1::name[]) AND n.nspname = ANY($2::name[]) AND c.oid >= 16384

-- name: columnsByName
-- Selects which of some names are columns of the relations with certain names in certain schemas.
SELECT n.nspname, c.relname, s.name, EXISTS (SELECT FROM pg_attribute a
	WHERE a.attrelid = c.oid AND a.attname = s.name AND NOT a.attisdropped)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace CROSS JOIN unnest($3::name[]) s(name)
WHERE c.relname = ANY($1::name[]) AND n.nspname = ANY($2::name[])

-- name: casts
-- Selects all casts that are not Postgres's own.
SELECT k.castsource, k.casttarget, k.castfunc, k.castcontext, k.castmethod,
k.castfunc < 16384 AND EXISTS (SELECT FROM pg_cast b WHERE b.castfunc = k.castfunc AND b.oid < 16384),
format_type(k.castsource, NULL) || ' to ' || format_type(k.casttarget, NULL), p.proname
FROM pg_cast k LEFT JOIN pg_proc p ON p.oid = k.castfunc WHERE greatest(k.oid, k.castfunc) >= 16384

-- name: comparisons
-- Selects the functions, except Postgres's own, that sort, group and compare values. Those of default
-- operator classes, and those added to Postgres's own families, may run where a statement names no operator. Those of
-- other families come with an operator of the family, unless one of Postgres's own families has that operator, too:
-- Postgres takes the family with the lowest OID.
--
-- These operators are the family's and their commutators. NOT IN with a long list uses the hash function of the
-- negator, so in families for hashing, negators bring them, too.
WITH defaults AS MATERIALIZED (SELECT opcfamily, opcintype FROM pg_opclass WHERE opcdefault),
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
WHERE m.amopmethod IN (403, 405) AND o.oprcode::oid >= 16384

-- name: textSearch
-- Selects the functions of parsers and templates that are not Postgres's own.
SELECT concat_ws(' ', tmplinit::oid, tmpllexize::oid) FROM pg_ts_template WHERE oid >= 16384
UNION ALL SELECT concat_ws(' ', prsstart::oid, prstoken::oid, prsend::oid, prsheadline::oid, prslextype::oid)
FROM pg_ts_parser WHERE oid >= 16384

-- name: storage
-- Selects the functions, except Postgres's own, by which the indexes and partitions of tables compare:
-- support functions, and those of operators that an index may use in place of others (a BRIN index finds equal
-- values with <= and >=).
SELECT DISTINCT m.function, c.relname FROM pg_class c
CROSS JOIN LATERAL (SELECT unnest(i.indclass) FROM pg_index i WHERE i.indrelid = c.oid
	UNION SELECT unnest(p.partclass) FROM pg_partitioned_table p WHERE p.partrelid = c.oid) u(class)
JOIN pg_opclass o ON o.oid = u.class CROSS JOIN LATERAL (
	SELECT p.amproc::oid FROM pg_amproc p WHERE p.amprocfamily = o.opcfamily
	UNION SELECT q.oprcode::oid FROM pg_amop a JOIN pg_operator q ON q.oid = a.amopopr
		WHERE a.amopfamily = o.opcfamily) m(function)
WHERE c.oid >= 16384 AND m.function >= 16384

-- name: tree
-- Selects relations with their partitions and children.
WITH RECURSIVE tree(oid) AS (SELECT unnest($1::oid[]) UNION SELECT i.inhrelid
FROM pg_inherits i JOIN tree t ON i.inhparent = t.oid)

-- name: parts
-- Follows tree and adds the tables that the relations are parts of.
, parts(oid) AS (SELECT oid FROM tree
UNION SELECT i.inhparent FROM pg_inherits i JOIN parts t ON i.inhrelid = t.oid)

-- name: statistics
-- The part of planned that needs Postgres 14.
UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid, s.stxexprs, NULL
	FROM pg_statistic_ext s WHERE s.stxrelid = parts.oid AND s.stxexprs IS NOT NULL

-- name: planned
-- Selects what the expressions of indexes, partitions, constraints and statistics need, for the
-- relations of a WITH query named tree and for the tables that they are parts of, and the types of the tables' columns
-- and rows.
{parts}, planned AS MATERIALIZED (SELECT parts.oid AS relation, x.* FROM parts CROSS JOIN LATERAL (
	SELECT 'pg_class'::regclass, i.indexrelid, i.indexprs, i.indpred
		FROM pg_index i WHERE i.indrelid = parts.oid AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
	UNION ALL SELECT 'pg_class'::regclass, k.partrelid, k.partexprs, NULL
		FROM pg_partitioned_table k WHERE k.partrelid = parts.oid AND k.partexprs IS NOT NULL
	UNION ALL SELECT 'pg_constraint'::regclass, k.oid, k.conbin, NULL
		FROM pg_constraint k WHERE k.conrelid = parts.oid AND k.contype = 'c' {statistics}
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
LEFT JOIN pg_proc p ON p.oid = CASE WHEN d.class = 'pg_proc'::regclass THEN d.object ELSE o.oprcode END

-- name: named
-- Selects the relations with certain names in certain schemas. It takes the place of tree.
WITH RECURSIVE tree(oid) AS (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relname = ANY($1::name[]) AND n.nspname = ANY($2::name[]) AND c.oid >= 16384)

-- name: keysByOID
-- Selects the types of the values in partition keys. Postgres sorts the bounds of partitions when it opens a table, and
-- compares arrays, rows and ranges by their elements.
{tree} {parts}
SELECT DISTINCT v.type FROM parts t JOIN pg_partitioned_table p ON p.partrelid = t.oid
	CROSS JOIN LATERAL (SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attnum > 0
		AND (a.attnum = ANY (p.partattrs) OR p.partexprs IS NOT NULL) AND NOT a.attisdropped
	UNION SELECT coalesce(f.prorettype, o.oprresult) FROM pg_depend d
		LEFT JOIN pg_proc f ON d.refclassid = 'pg_proc'::regclass AND f.oid = d.refobjid
		LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
		WHERE d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.objsubid = 0) v(type)
	WHERE v.type >= 16384

-- name: storageByName
{storage} AND c.relname = ANY($1::name[])

-- name: storageByOID
{tree} {parts} {storage} AND c.oid IN (SELECT oid FROM parts)

-- name: typesByOID
SELECT t.oid, n.nspname || '.' || t.typname, concat_ws(' ', t.typbasetype, t.typelem, t.typarray),
concat_ws(' ', t.typinput::oid, t.typoutput::oid, t.typreceive::oid, t.typsend::oid, t.typmodin::oid,
t.typmodout::oid)
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = ANY($1::oid[])

-- name: subscriptsByOID
-- Since Postgres 14.
SELECT t.oid, t.typsubscript::oid FROM pg_type t WHERE t.oid = ANY($1::oid[])

-- name: fieldsByOID
SELECT DISTINCT t.oid, a.atttypid FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid
WHERE t.oid = ANY($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped

-- name: rangesByOID
SELECT r.rngtypid, concat_ws(' ', r.rngsubtype), concat_ws(' ', r.rngcanonical::oid,
r.rngsubdiff::oid,
array_to_string(ARRAY(SELECT m.amproc::oid FROM pg_opclass o JOIN pg_amproc m ON m.amprocfamily = o.opcfamily
WHERE o.oid = r.rngsubopc), ' '))
FROM pg_range r WHERE r.rngtypid = ANY($1::oid[])

-- name: multirangesByOID
-- Since Postgres 14.
SELECT v.one, v.other FROM pg_range r
CROSS JOIN LATERAL (VALUES (r.rngmultitypid, r.rngtypid), (r.rngtypid, r.rngmultitypid)) v(one, other)
WHERE v.one = ANY($1::oid[])

-- name: checksByOID
SELECT k.contypid, t.typname, pg_get_expr(k.conbin, 0) FROM pg_constraint k
JOIN pg_type t ON t.oid = k.contypid
WHERE k.contypid = ANY($1::oid[]) AND k.conbin IS NOT NULL

-- name: checksNeed
SELECT k.contypid, d.refclassid::regclass, d.refobjid, 0 FROM pg_constraint k
JOIN pg_depend d ON d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
WHERE k.contypid = ANY($1::oid[]) AND d.refobjid >= 16384 AND d.refobjid <> k.contypid

-- name: viewsByOID
SELECT c.oid, n.nspname || '.' || c.relname, pg_get_viewdef(c.oid), EXISTS (SELECT
FROM pg_options_to_table(c.reloptions) WHERE option_name = 'security_barrier' AND option_value::boolean)
	FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = ANY($1::oid[]) AND c.relkind = 'v'

-- name: viewsNeed
SELECT DISTINCT r.ev_class, d.refclassid::regclass, d.refobjid, coalesce(a.atttypid, 0),
coalesce(whole.reltype, 0) FROM pg_rewrite r
JOIN pg_class c ON c.oid = r.ev_class AND c.relkind = 'v'
JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
LEFT JOIN pg_attribute a ON d.refclassid = 'pg_class'::regclass AND a.attrelid = d.refobjid
AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
LEFT JOIN pg_class whole ON d.refclassid = 'pg_class'::regclass AND whole.oid = d.refobjid
WHERE r.ev_class = ANY($1::oid[]) AND r.ev_type = '1' AND d.refobjid >= 16384 AND d.refobjid <> r.ev_class

-- name: foreignByOID
{tree} SELECT c.oid, c.relname, w.fdwhandler
FROM tree t JOIN pg_class c ON c.oid = t.oid AND c.relkind = 'f'
JOIN pg_foreign_table f ON f.ftrelid = c.oid JOIN pg_foreign_server s ON s.oid = f.ftserver
JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw

-- name: reached
-- Finds relations by their names and schemas, what the queries of views among them read, and the tables that all of
-- these inherit from or are inherited by.
WITH RECURSIVE start(oid) AS (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relname = ANY($1::name[]) AND n.nspname = ANY($2::name[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')),
reached(oid) AS (SELECT oid FROM start UNION SELECT x.oid FROM reached r CROSS JOIN LATERAL (
	SELECT d.refobjid FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
		WHERE w.ev_class = r.oid AND d.refclassid = 'pg_class'::regclass
	UNION ALL SELECT inhparent FROM pg_inherits WHERE inhrelid = r.oid
	UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = r.oid) x(oid))

-- name: reachedRelations
{reached} SELECT c.oid, n.nspname, c.relname, CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) ELSE '' END
FROM reached JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace

-- name: reachedColumns
-- Selects what views read: the view, the relation, and the column or nothing.
{reached} SELECT DISTINCT w.ev_class, d.refobjid, coalesce(a.attname, '')
FROM reached JOIN pg_rewrite w ON w.ev_class = reached.oid
JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
WHERE d.refobjid <> w.ev_class

-- name: reachedParts
{reached} SELECT inhrelid, inhparent FROM pg_inherits WHERE inhrelid IN (SELECT oid FROM reached)

-- name: ownColumns
-- Selects the columns of relations found by their names and schemas, and whether they are generated. A column that the
-- role may not read is left out.
SELECT a.attrelid, a.attname, coalesce(to_jsonb(a) ->> 'attgenerated', '') <> ''
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relname = ANY($1::name[]) AND n.nspname = ANY($2::name[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY a.attrelid, a.attnum
