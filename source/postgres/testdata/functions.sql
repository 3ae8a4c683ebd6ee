-- A database with functions of its own. Statements are separated by empty lines.
CREATE FUNCTION spied(integer) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER IMMUTABLE AS 'BEGIN RAISE LOG
  ''spy_ran''; RETURN true; END';

CREATE FUNCTION spied(text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RAISE LOG ''spy_ran'';
  RETURN true; END';

CREATE FUNCTION spied(integer[]) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RAISE LOG ''spy_ran'';
  RETURN true; END';

CREATE DOMAIN ed AS integer CHECK (spied(VALUE));

CREATE DOMAIN ed2 AS ed;

CREATE DOMAIN et AS text CHECK (spied(VALUE) AND VALUE <> '');

CREATE DOMAIN eda AS integer[] CHECK (spied(VALUE));

CREATE DOMAIN "Ed" AS integer CHECK (spied(VALUE));

CREATE TYPE ct AS (a ed, b text);

CREATE TYPE cct AS (c ct);

CREATE TYPE ranged AS (r integer);

CREATE SCHEMA deep;

CREATE DOMAIN deep.ed AS integer CHECK (public.spied(VALUE));

-- Types with casts: explicit, for assignment, implicit, from a type of Postgres's, to JSON.

CREATE TYPE saleref AS (n integer);

CREATE FUNCTION shown(saleref) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN ''x''; END';

CREATE CAST (saleref AS text) WITH FUNCTION shown(saleref);

CREATE TYPE yesno AS (n integer);

CREATE FUNCTION holds(yesno) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN true; END';

CREATE CAST (yesno AS boolean) WITH FUNCTION holds(yesno) AS ASSIGNMENT;

CREATE TYPE counted_in AS (n integer);

CREATE FUNCTION counts(counted_in) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN 1; END';

CREATE CAST (counted_in AS integer) WITH FUNCTION counts(counted_in) AS IMPLICIT;

CREATE TYPE cast_to AS (n integer);

CREATE FUNCTION made(integer) RETURNS cast_to LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN
  ROW($1)::cast_to; END';

CREATE CAST (integer AS cast_to) WITH FUNCTION made(integer);

CREATE TYPE colour AS ENUM ('red', 'green');

CREATE FUNCTION colour_json(colour) RETURNS json LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN ''1'';
  END';

CREATE CAST (colour AS json) WITH FUNCTION colour_json(colour);

CREATE TYPE tone AS ENUM ('low', 'high');

CREATE FUNCTION tones_text(tone[]) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN ''x'';
  END';

CREATE CAST (tone[] AS text) WITH FUNCTION tones_text(tone[]);

CREATE FUNCTION tones(text) RETURNS tone[] LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN NULL; END';

CREATE CAST (text AS tone[]) WITH FUNCTION tones(text);

CREATE TABLE sung (id integer, c tone);

INSERT INTO sung VALUES (1, 'low');

CREATE TABLE painted (id integer, c colour);

INSERT INTO painted VALUES (1, 'red');

-- A type that is sorted and compared by functions of its own.

CREATE TYPE size AS ENUM ('s', 'm', 'l');

CREATE FUNCTION size_test(size, size) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG ''spy_ran'';
  RETURN $1::text = $2::text; END';

CREATE FUNCTION size_cmp(size, size) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG ''spy_ran'';
  RETURN 0; END';

CREATE FUNCTION size_hash(size) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG ''spy_ran''; RETURN
  0; END';

CREATE OPERATOR <~ (LEFTARG = size, RIGHTARG = size, FUNCTION = size_test);

CREATE OPERATOR <~= (LEFTARG = size, RIGHTARG = size, FUNCTION = size_test);

CREATE OPERATOR =~= (LEFTARG = size, RIGHTARG = size, FUNCTION = size_test);

CREATE OPERATOR >~= (LEFTARG = size, RIGHTARG = size, FUNCTION = size_test);

CREATE OPERATOR >~ (LEFTARG = size, RIGHTARG = size, FUNCTION = size_test);

CREATE OPERATOR CLASS size_ops DEFAULT FOR TYPE size USING btree AS OPERATOR 1 <~, OPERATOR 2 <~=, OPERATOR 3 =~=,
  OPERATOR 4 >~=, OPERATOR 5 >~, FUNCTION 1 size_cmp(size, size);

CREATE OPERATOR CLASS size_hash_ops DEFAULT FOR TYPE size USING hash AS OPERATOR 1 =~=, FUNCTION 1 size_hash(size);

CREATE TABLE shirts (id integer, z size);

INSERT INTO shirts VALUES (1, 's'), (2, 'l'), (3, 'm');

-- Operators that stand behind words.

CREATE TYPE pt AS (x integer);

CREATE FUNCTION pt_same(pt, pt) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN true; END';

CREATE OPERATOR = (LEFTARG = pt, RIGHTARG = pt, FUNCTION = pt_same);

CREATE OPERATOR >= (LEFTARG = pt, RIGHTARG = pt, FUNCTION = pt_same);

CREATE OPERATOR <= (LEFTARG = pt, RIGHTARG = pt, FUNCTION = pt_same);

CREATE OPERATOR ~~ (LEFTARG = size, RIGHTARG = size, FUNCTION = size_test);

CREATE OPERATOR ^^ (LEFTARG = pt, RIGHTARG = pt, FUNCTION = pt_same);

CREATE TABLE places (id integer, p pt);

INSERT INTO places VALUES (1, ROW(1));

-- Aggregates.

CREATE FUNCTION added(integer, integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN 1;
  END';

CREATE AGGREGATE total(integer) (SFUNC = added, STYPE = integer, INITCOND = '0');

CREATE FUNCTION summed(integer, boolean) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN 1;
  END';

CREATE AGGREGATE avg(boolean) (SFUNC = summed, STYPE = integer, INITCOND = '0');

-- Views.

CREATE VIEW v_call AS SELECT id, spied(id) AS s FROM customers;

CREATE VIEW v_over AS SELECT id, s FROM v_call;

CREATE VIEW v_deep AS SELECT * FROM v_over WHERE s;

CREATE VIEW v_cast AS SELECT id::ed AS id FROM customers;

CREATE VIEW v_where AS SELECT id FROM customers WHERE spied(name::text);

CREATE VIEW v_operator AS SELECT a.id FROM places a JOIN places b ON a.p = b.p;

CREATE VIEW v_text AS SELECT ROW(id)::saleref::text AS t FROM customers;

CREATE VIEW v_total AS SELECT total(id) FROM customers;

CREATE VIEW v_sort AS SELECT id, z FROM shirts ORDER BY z;

CREATE VIEW v_sleep AS SELECT pg_sleep(0)::text;

CREATE VIEW v_set AS SELECT set_config('footnote.org', 'other', true);

CREATE VIEW v_file AS SELECT pg_read_file('PG_VERSION');

CREATE VIEW v_users AS SELECT rolname FROM pg_authid;

CREATE VIEW v_stat AS SELECT pid FROM pg_stat_activity;

CREATE VIEW v_query AS SELECT query_to_xml('SELECT 1', true, true, '');

CREATE DOMAIN setter AS text CHECK (set_config('footnote.org', VALUE, true) IS NOT NULL);

CREATE DOMAIN sleeper AS double precision CHECK (pg_sleep(VALUE) IS NOT NULL);

CREATE VIEW v_json AS SELECT to_json(p) AS j FROM painted p;

CREATE VIEW v_joined AS SELECT to_json(j) AS j FROM (painted JOIN customers USING (id)) j;

CREATE VIEW v_ids AS SELECT id FROM painted;

-- Tables.

CREATE TABLE holding (id integer, e ed, c ct, label text);

INSERT INTO holding VALUES (1, 1, ROW(1, 'x'), 'l');

CREATE FUNCTION leaked(holding) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN true; END';

CREATE FUNCTION customer_text(customers) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN
  ''x''; END';

CREATE CAST (customers AS text) WITH FUNCTION customer_text(customers);

CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

CREATE EXTENSION file_fdw SCHEMA public;

CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;

CREATE FOREIGN TABLE outside (line text) SERVER files OPTIONS (program 'echo outside', format 'text');

CREATE TABLE mixed (line text) PARTITION BY LIST (line);

CREATE FOREIGN TABLE mixed_1 PARTITION OF mixed FOR VALUES IN ('outside') SERVER files OPTIONS (program 'echo
  outside', format 'text');

CREATE VIEW v_outside AS SELECT line FROM outside;

CREATE EXTENSION tsm_system_rows SCHEMA public;

CREATE FUNCTION spied_diff(double precision, double precision) RETURNS double precision LANGUAGE plpgsql IMMUTABLE
  AS 'BEGIN RAISE LOG ''spy_ran''; RETURN 1; END';

CREATE TYPE spans AS RANGE (subtype = double precision, subtype_diff = spied_diff);

CREATE TYPE sizes AS RANGE (subtype = size);

-- Partitions that are found by a function of the database.

CREATE FUNCTION far_cmp(integer, integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG
  ''spy_ran''; RETURN sign($1 - $2); END';

CREATE OPERATOR CLASS far_ops FOR TYPE integer USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4
  >=, OPERATOR 5 >, FUNCTION 1 far_cmp(integer, integer);

CREATE TABLE split (id integer) PARTITION BY RANGE (id far_ops);

CREATE TABLE split_1 PARTITION OF split FOR VALUES FROM (1) TO (10);

CREATE TABLE split_2 PARTITION OF split FOR VALUES FROM (10) TO (20);

CREATE VIEW v_split AS SELECT id FROM split;

CREATE TABLE outer_split (kind integer, id integer) PARTITION BY LIST (kind);

CREATE TABLE outer_split_1 PARTITION OF outer_split FOR VALUES IN (1) PARTITION BY RANGE (id far_ops);

CREATE TABLE outer_split_1_1 PARTITION OF outer_split_1 FOR VALUES FROM (1) TO (10);

-- A function of a row that is named like columns of others.

CREATE TABLE invoices (id integer, sum integer);

INSERT INTO invoices VALUES (1, 1);

CREATE FUNCTION total(invoices) RETURNS numeric LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN 1; END';

-- A function of each kind that a list allows, and what only needs it.

CREATE FUNCTION even(integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 % 2 = 0';

CREATE DOMAIN evens AS integer CHECK (even(VALUE));

CREATE VIEW v_even AS SELECT id FROM customers WHERE even(id);

CREATE TYPE pairs AS (a evens, b evens);

CREATE TYPE ratio AS (n integer, d integer);

CREATE FUNCTION ratio_text(ratio) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1.n || '':'' || $1.d';

CREATE CAST (ratio AS text) WITH FUNCTION ratio_text(ratio);

CREATE FUNCTION ratio_same(ratio, ratio) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1.n * $2.d = $2.n *
  $1.d';

CREATE OPERATOR == (LEFTARG = ratio, RIGHTARG = ratio, FUNCTION = ratio_same);

CREATE TABLE ratios (id integer, r ratio);

INSERT INTO ratios VALUES (1, ROW(1, 2)), (2, ROW(2, 4));

-- Honest neighbours.

CREATE DOMAIN percent AS numeric CHECK (VALUE BETWEEN 0 AND 100);

CREATE DOMAIN mail AS text NOT NULL CHECK (VALUE ~ '^[^@]+@[^@]+$' AND length(VALUE) < 100);

CREATE TYPE address AS (street text, zip text);

CREATE TYPE person AS (name text, home address, moods mood[]);

CREATE TYPE shifts AS RANGE (subtype = time);

CREATE FUNCTION shifts_text(shifts_multirange) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''spy_ran''; RETURN
  ''x''; END';

CREATE CAST (shifts_multirange AS text) WITH FUNCTION shifts_text(shifts_multirange);

CREATE TABLE people (id integer, p person, share percent, m mail, hours shifts, state mood, tags text[]);

INSERT INTO people VALUES (1, ROW('Ada', ROW('Lane 1', '00100'), '{ok,bad}'), 12.5, 'a@b.c', '[08:00,12:00)', 'ok',
  '{x,y}'), (2, ROW('Bob', NULL, NULL), 50, 'b@b.c', NULL, 'bad', NULL);

CREATE VIEW rich AS SELECT id, (p).name, share FROM people WHERE share > 20;

CREATE VIEW richer AS SELECT upper(name) AS name, round(share, 1) AS share FROM rich;

CREATE VIEW ranked AS SELECT id, rank() OVER (ORDER BY total DESC), CASE WHEN total > 100 THEN 'large' ELSE 'small'
  END AS k FROM orders;

CREATE EXTENSION citext SCHEMA public;

CREATE EXTENSION hstore SCHEMA public;

CREATE EXTENSION ltree SCHEMA public;

CREATE EXTENSION pgcrypto SCHEMA public;

CREATE EXTENSION seg SCHEMA public;

CREATE EXTENSION isn SCHEMA public;

CREATE TABLE extended (id integer, c citext, h hstore, l ltree, v text);

INSERT INTO extended VALUES (1, 'Ada', 'a=>1', 'top.left', 'word'), (2, 'ada', 'a=>2', 'top.right', 'words');

CREATE INDEX ON extended USING gin (v gin_trgm_ops);

CREATE INDEX ON people (upper(m));

-- Expressions of tables that the planner simplifies: it runs their functions of constants.

CREATE FUNCTION spied_n(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG ''spy_ran'';
  RETURN $1; END';

CREATE FUNCTION spied_sum(integer, integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG
  ''spy_ran''; RETURN $1; END';

CREATE OPERATOR +^ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = spied_sum);

CREATE FUNCTION spied_made(text) RETURNS ranged LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG ''spy_ran'';
  RETURN ROW(1); END';

CREATE CAST (text AS ranged) WITH FUNCTION spied_made(text);

CREATE TABLE part_index (id integer);

CREATE INDEX ON part_index (id) WHERE id > spied_n(1);

CREATE TABLE index_sum (id integer);

CREATE INDEX ON index_sum ((id + spied_n(1)));

CREATE TABLE index_operator (id integer);

CREATE INDEX ON index_operator ((id + (1 +^ 2)));

CREATE TABLE index_cast (id integer);

CREATE INDEX ON index_cast (((CASE WHEN id > 1 THEN 'x'::text::ranged END).r));

CREATE TABLE index_excludes (id integer, EXCLUDE USING btree ((id + spied_n(1)) WITH =));

CREATE TABLE described_more (id integer, n integer);

CREATE STATISTICS more_of_it ON (id + spied_n(1)), n FROM described_more;

INSERT INTO described_more SELECT i, i FROM generate_series(1, 100) i;

ANALYZE described_more;

CREATE TABLE heirs (id integer);

CREATE TABLE heir (CHECK (id > spied_n(1))) INHERITS (heirs);

CREATE TABLE key_sum (id integer) PARTITION BY RANGE ((id + spied_n(1)));

CREATE TABLE key_sum_1 PARTITION OF key_sum FOR VALUES FROM (1) TO (10);

CREATE VIEW v_index AS SELECT id FROM part_index;

CREATE TABLE legitimate_index (id integer CHECK (spied_n(id) > 0), name text, generated integer GENERATED ALWAYS AS
  (spied_n(id)) STORED);

INSERT INTO legitimate_index VALUES (1, 'a');

CREATE INDEX ON legitimate_index ((spied_n(id) + 1)) WHERE spied_n(id) > 0 AND lower(name) <> lower('X');

-- An index that takes other operators than the statement's.

CREATE FUNCTION spied_less(integer, integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG
  ''spy_ran''; RETURN $1 < $2; END';

CREATE FUNCTION spied_less_equal(integer, integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG
  ''spy_ran''; RETURN $1 <= $2; END';

CREATE OPERATOR <# (LEFTARG = integer, RIGHTARG = integer, FUNCTION = spied_less);

CREATE OPERATOR <=# (LEFTARG = integer, RIGHTARG = integer, FUNCTION = spied_less_equal);

CREATE OPERATOR CLASS brin_ops FOR TYPE integer USING brin AS OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =, OPERATOR 4
  >=, OPERATOR 5 >, FUNCTION 1 brin_minmax_opcinfo(internal), FUNCTION 2 brin_minmax_add_value(internal, internal,
  internal, internal), FUNCTION 3 brin_minmax_consistent(internal, internal, internal), FUNCTION 4
  brin_minmax_union(internal, internal, internal);

CREATE TABLE numbered (id integer, words text);

INSERT INTO numbered SELECT i, repeat('x', 500) FROM generate_series(1, 20000) i;

CREATE INDEX ON numbered USING brin (id brin_ops) WITH (pages_per_range = 1);

ANALYZE numbered;


-- More ways to call, and more forms.

CREATE FUNCTION poly_evil(anyelement) RETURNS anyelement LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN $1; END';

CREATE FUNCTION def_evil(a integer DEFAULT 1) RETURNS integer LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN 1; END';

CREATE FUNCTION even_def(a integer, b boolean DEFAULT spied(1)) RETURNS integer LANGUAGE sql AS 'SELECT 1';

CREATE DOMAIN edr AS int4range CHECK (spied(lower(VALUE)));

CREATE DOMAIN edj AS jsonb CHECK (spied(VALUE::text));

CREATE DOMAIN edmulti AS int4multirange CHECK (spied(1));

CREATE TYPE cust AS (n integer);

CREATE FUNCTION cust_int(cust) RETURNS integer LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN 1; END';

CREATE CAST (cust AS integer) WITH FUNCTION cust_int(cust) AS ASSIGNMENT;

CREATE TABLE custs (id integer, c cust, d date);

INSERT INTO custs VALUES (1, ROW(1), '2024-01-01');

CREATE VIEW v_win AS SELECT id, lag(id::ed) OVER (ORDER BY id) FROM customers;

CREATE VIEW v_lat AS SELECT x.* FROM customers, LATERAL (SELECT spied(customers.id) AS s) x;

CREATE VIEW v_sub AS SELECT id, (SELECT bool_or(spied(o.id)) FROM orders o) AS b FROM customers;

CREATE MATERIALIZED VIEW m_ix AS SELECT id FROM customers;

CREATE INDEX ON m_ix (id) WHERE id > spied_n(1);

CREATE VIEW v_m AS SELECT * FROM m_ix;

CREATE TABLE top (id integer) PARTITION BY LIST (id);

CREATE TABLE top_1 PARTITION OF top FOR VALUES IN (1, 2);

CREATE INDEX ON top_1 ((id * spied_n(2)));

CREATE TABLE jt (id integer, doc jsonb);

INSERT INTO jt VALUES (1, '{"a": [1,2]}');

CREATE STATISTICS st_op ON (id + (1 +^ 2)), doc FROM jt;

CREATE FUNCTION tbl_evil() RETURNS SETOF customers LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN; END';

CREATE OPERATOR !! (RIGHTARG = integer, FUNCTION = spied_n);

-- A value that || and quote_literal cast to text.

CREATE TABLE salerefs (id integer, s saleref);

INSERT INTO salerefs VALUES (1, ROW(1));

CREATE VIEW v_concat AS SELECT 'a' || s AS t FROM salerefs;

CREATE VIEW v_quoted AS SELECT quote_nullable(s) AS t FROM salerefs;

CREATE DOMAIN joined_ref AS saleref CHECK (('a' || VALUE) <> '');

-- A table whose rows are cast to text where a function takes one.

CREATE TABLE notes (id integer, t text);

INSERT INTO notes VALUES (1, 'a');

CREATE FUNCTION notes_text(notes) RETURNS text LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN ''x''; END';

CREATE CAST (notes AS text) WITH FUNCTION notes_text(notes) AS IMPLICIT;

CREATE FUNCTION own_text(text) RETURNS text LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN ''x''; END';

-- Operator classes that are not the default of their type. An operator brings their functions with it.

CREATE FUNCTION point_cmp(point, point) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN 0; END';

CREATE OPERATOR CLASS point_ops FOR TYPE point USING btree AS OPERATOR 1 <<, OPERATOR 3 ~=, OPERATOR 5 >>,
  FUNCTION 1 point_cmp(point, point);

CREATE TABLE pts (id integer, p point);

INSERT INTO pts VALUES (1, '(1,2)'), (2, '(2,3)'), (3, '(0,3)');

CREATE VIEW v_pts AS SELECT id FROM pts ORDER BY p USING <<;

CREATE OPERATOR === (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4eq, HASHES, MERGES, NEGATOR = <!>);

CREATE OPERATOR <!> (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4ne, NEGATOR = ===);

CREATE FUNCTION spied_hash(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN 1; END';

CREATE OPERATOR CLASS spied_hash_ops FOR TYPE integer USING hash AS OPERATOR 1 ===, FUNCTION 1 spied_hash(integer);

-- Expressions that lose their columns, or whose functions are replaced by their bodies, when Postgres plans a query.

CREATE TABLE lost_coalesce (id integer);

CREATE INDEX ON lost_coalesce ((id + spied_n(COALESCE(1, id))));

CREATE TABLE lost_case (id integer);

CREATE INDEX ON lost_case (id) WHERE spied_n(CASE WHEN true THEN 1 ELSE id END) > 0;

CREATE TABLE lost_or (id integer);

CREATE INDEX ON lost_or (id) WHERE spied_n((id > 0 OR true)::integer) > 0;

CREATE TABLE lost_null (id integer);

CREATE INDEX ON lost_null (spied_n(id + NULL));

CREATE TABLE lost_to_null (id integer);

CREATE INDEX ON lost_to_null (spied_n(id + length(substring('a' FROM 'b'))));

CREATE TABLE lost_nullif (id integer);

CREATE INDEX ON lost_nullif (spied_n(id + NULLIF(1, 1)));

CREATE TABLE lost_field (id integer);

CREATE INDEX ON lost_field (spied_n((ROW(id, 1)::ratio).d));

CREATE FUNCTION first_of(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1';

CREATE TABLE lost_argument (id integer);

CREATE INDEX ON lost_argument (spied_n(first_of(1, id)));

CREATE FUNCTION in_sql(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 + spied_n(1)';

CREATE TABLE planned_body (id integer);

CREATE UNIQUE INDEX ON planned_body (in_sql(id));

CREATE TABLE planned_key (id integer) PARTITION BY RANGE (in_sql(id));

CREATE TABLE planned_key_1 PARTITION OF planned_key FOR VALUES FROM (1) TO (10);

CREATE FUNCTION in_sql_sum(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 + spied_n(1)';

CREATE OPERATOR +^+ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = in_sql_sum);

CREATE TABLE planned_operator (id integer);

CREATE INDEX ON planned_operator ((id +^+ id));

CREATE FUNCTION with_default(a integer, b integer DEFAULT spied_n(1)) RETURNS integer LANGUAGE plpgsql IMMUTABLE
  AS 'BEGIN RETURN a; END';

CREATE TABLE default_index (id integer);

CREATE INDEX ON default_index (with_default(id));

CREATE FUNCTION spied_strict(integer) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN $1::text; END';

CREATE TYPE sqlref AS (n integer);

CREATE FUNCTION sqlref_text(sqlref) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
  'SELECT ($1).n::text || spied_strict(1)';

CREATE CAST (sqlref AS text) WITH FUNCTION sqlref_text(sqlref);

CREATE TABLE planned_concat (id integer, s sqlref);

CREATE INDEX ON planned_concat (('a' || s));

CREATE TABLE quote_index (id integer, s sqlref);

CREATE INDEX ON quote_index ((id || quote_literal(s)));

-- Partition keys whose values are compared by their elements.

CREATE TYPE heft AS ENUM ('a', 'bb', 'ccc');

CREATE FUNCTION heft_test(heft, heft) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN $1::text = $2::text; END';

CREATE FUNCTION heft_cmp(heft, heft) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN sign(length($1::text) - length($2::text)); END';

CREATE OPERATOR <~ (LEFTARG = heft, RIGHTARG = heft, FUNCTION = heft_test);

CREATE OPERATOR <~= (LEFTARG = heft, RIGHTARG = heft, FUNCTION = heft_test);

CREATE OPERATOR =~= (LEFTARG = heft, RIGHTARG = heft, FUNCTION = heft_test);

CREATE OPERATOR >~= (LEFTARG = heft, RIGHTARG = heft, FUNCTION = heft_test);

CREATE OPERATOR >~ (LEFTARG = heft, RIGHTARG = heft, FUNCTION = heft_test);

CREATE OPERATOR CLASS heft_ops DEFAULT FOR TYPE heft USING btree AS OPERATOR 1 <~, OPERATOR 2 <~=, OPERATOR 3 =~=,
  OPERATOR 4 >~=, OPERATOR 5 >~, FUNCTION 1 heft_cmp(heft, heft);

CREATE TABLE key_array (id integer, z heft[]) PARTITION BY RANGE (z);

CREATE TABLE key_array_1 PARTITION OF key_array FOR VALUES FROM ('{a}') TO ('{bb}');

CREATE TABLE key_array_2 PARTITION OF key_array FOR VALUES FROM ('{bb}') TO ('{ccc}');

CREATE FUNCTION hefts(integer) RETURNS heft[] LANGUAGE plpgsql IMMUTABLE AS
  'BEGIN RETURN ARRAY[''a'']::heft[]; END';

CREATE TABLE made_key (id integer) PARTITION BY RANGE (hefts(id));

CREATE TABLE made_key_1 PARTITION OF made_key FOR VALUES FROM ('{a}') TO ('{bb}');

CREATE TABLE made_key_2 PARTITION OF made_key FOR VALUES FROM ('{bb}') TO ('{ccc}');

CREATE TYPE heft_range AS RANGE (subtype = heft);

CREATE TABLE range_key (id integer, z heft_range) PARTITION BY LIST (z);

CREATE TABLE range_key_1 PARTITION OF range_key FOR VALUES IN ('[a,bb)');

CREATE TABLE range_key_2 PARTITION OF range_key FOR VALUES IN ('[bb,ccc)');

-- Honest expressions.

CREATE TABLE planned (id integer CHECK (spied_n(COALESCE(id, 0)) > 0), name text, at timestamp, state mood,
  CHECK (spied(CASE WHEN id > 0 THEN 1 ELSE 2 END)), CHECK (spied_n(length(name)) = ANY (ARRAY[1, 2, 3])),
  CHECK (spied_n(id * 2) + 1 <> 1), CHECK (name IS NOT NULL AND (id > 0 OR state = 'ok')));

INSERT INTO planned VALUES (1, 'Ada', '2024-05-01', 'ok');

CREATE INDEX ON planned (spied_n(length(COALESCE(name, '') COLLATE "C")));

CREATE UNIQUE INDEX ON planned (lower(name), (COALESCE(id, 0)));

CREATE INDEX ON planned ((name || '-' || id), (date_trunc('month', at))) WHERE at IS NOT NULL;

CREATE INDEX ON planned (even(id), (state = 'ok')) WHERE even(id * 2);

CREATE STATISTICS planned_more ON (id % 10), (lower(name)) FROM planned;

-- Types that would reveal the server's users, behind others.

CREATE DOMAIN owner_role AS regrole;

CREATE TYPE owned_by AS (id integer, r regrole[]);

-- A function that somebody has added to a known extension.

CREATE FUNCTION sneaky(integer) RETURNS integer LANGUAGE plpgsql STABLE AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN $1; END';

ALTER EXTENSION citext ADD FUNCTION sneaky(integer);

-- Explicit casts to types of Postgres's own that have other types in them.

CREATE TYPE sized AS (n integer);

CREATE FUNCTION sized_name(sized) RETURNS name LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN ''x''; END';

CREATE CAST (sized AS name) WITH FUNCTION sized_name(sized);

CREATE TYPE listed AS (n integer);

CREATE FUNCTION listed_texts(listed) RETURNS text[] LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN NULL; END';

CREATE CAST (listed AS text[]) WITH FUNCTION listed_texts(listed);

CREATE TABLE sizeds (id integer, s sized, l listed);

INSERT INTO sizeds VALUES (1, ROW(1), ROW(1));

CREATE TYPE names_of AS (a name[]);

CREATE DOMAIN own_names AS name[];

-- A function by the name of a column.

CREATE FUNCTION label(integer) RETURNS integer LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN 1; END';

-- A function that takes the place of the one that an extension's function calls.

CREATE EXTENSION cube SCHEMA public;

CREATE EXTENSION earthdistance VERSION '1.1' SCHEMA public;

CREATE FUNCTION cube_distance(earth, earth) RETURNS double precision LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN 1; END';

-- Functions by the names of Postgres's own, for types of the database.

CREATE FUNCTION greater_ref(saleref, saleref) RETURNS saleref LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN $1; END';

CREATE AGGREGATE max(saleref) (SFUNC = greater_ref, STYPE = saleref, INITCOND = '(0)');

CREATE AGGREGATE sum(saleref) (SFUNC = greater_ref, STYPE = saleref, INITCOND = '(0)');

CREATE FUNCTION lower(saleref) RETURNS text LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN ''x''; END';

CREATE FUNCTION count_ref(bigint, saleref) RETURNS bigint LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN $1; END';

CREATE AGGREGATE count(saleref) (SFUNC = count_ref, STYPE = bigint, INITCOND = '0');

CREATE FUNCTION round(double precision, integer) RETURNS numeric LANGUAGE plpgsql AS
  'BEGIN RAISE LOG ''spy_ran''; RETURN 1; END';
