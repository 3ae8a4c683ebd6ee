# Statements that reach functions of the database without calling them, or by names of
# others. Each must be refused; those with "limited" run no function that the test sees.
==== domain
SELECT 1::ed
==== domain by cast
SELECT CAST(1 AS ed)
==== domain as a type before a literal
SELECT ed '5'
==== domain called like a function | refused limited
SELECT ed('5')
==== domain over a domain
SELECT 1::ed2
==== domain of text
SELECT 'x'::et
==== domain over an array
SELECT '{1,2}'::eda
==== array of a domain
SELECT ARRAY[1]::ed[]
==== array of a domain, by its literal
SELECT '{1,2}'::ed[]
==== array of a domain, by its own name
SELECT '{1}'::_ed
==== array of arrays of a domain
SELECT '{{1}}'::ed[][]
==== domain in quotes
SELECT 1::"ed"
==== domain with its schema
SELECT 1::public.ed
==== domain of another schema
SELECT 1::deep.ed
==== domain with a capital
SELECT 1::"Ed"
==== domain in unicode escapes
SELECT 1::U&"\0065d"
==== domain in capitals
SELECT 1::ED
==== domain in a with
WITH x AS MATERIALIZED (SELECT 1::ed AS a) SELECT a FROM x
==== domain in where
SELECT id FROM customers WHERE id::ed = 1
==== domain in order by
SELECT id FROM customers ORDER BY id::ed
==== domain in limit
SELECT id FROM customers LIMIT 1::ed
==== domain in values
VALUES (1::ed)
==== domain in a case
SELECT CASE WHEN id = 1 THEN id::ed END FROM customers
==== domain in a join
SELECT 1 FROM customers a JOIN customers b ON a.id::ed = b.id
==== domain in lateral
SELECT x FROM customers, LATERAL (SELECT customers.id::ed) l(x)
==== domain in a window
SELECT sum(id) OVER (PARTITION BY id::ed) FROM customers
==== domain in an aggregate
SELECT array_agg(id::ed) FROM customers
==== domain in a filter
SELECT count(*) FILTER (WHERE id::ed > 1) FROM customers
==== domain in group by
SELECT count(*) FROM customers GROUP BY id::ed
==== domain in a set
SELECT 1 UNION ALL SELECT 2::ed
==== domain in explain | refused limited
EXPLAIN SELECT 1::ed
==== domain in explain analyze
EXPLAIN ANALYZE SELECT id::ed FROM customers
==== domain in exists
SELECT 1 WHERE EXISTS (SELECT id::ed FROM customers OFFSET 0)
==== null of a domain | refused limited
SELECT NULL::ed
==== row as a composite type
SELECT ROW(5, 'x')::ct
==== composite type by its literal
SELECT '(1,a)'::ct
==== composite type before a literal
SELECT ct '(1,a)'
==== composite type in a composite type
SELECT '("(1,a)")'::cct
==== array of a composite type
SELECT '{"(1,a)"}'::ct[]
==== field of a composite type
SELECT ('(1,a)'::ct).b
==== row type of a table
SELECT '(1,1,,l)'::holding
==== row as the row type of a table | refused limited
SELECT (ROW(1, 1, NULL, 'l')::holding).label
==== json to a record of a domain
SELECT * FROM json_to_record('{"d": 1}') AS x(d ed)
==== json to a set of a domain
SELECT * FROM json_to_recordset('[{"d": 1}]') AS x(d ed)
==== jsonb to a record of a composite type
SELECT * FROM jsonb_to_record('{"d": {"a": 1}}') AS x(d ct)
==== jsonb to a set of arrays of a domain
SELECT * FROM jsonb_to_recordset('[{"d": [1]}]') AS x(d ed[])
==== rows from json
SELECT * FROM ROWS FROM (json_to_record('{"d": 1}') AS (d ed))
==== cast to text
SELECT ROW(2)::saleref::text
==== cast to text, called like a function | refused limited
SELECT text(ROW(2)::saleref)
==== cast to varchar, by way of text | refused limited
SELECT CAST(ROW(2)::saleref AS text COLLATE "C")
==== cast of an array's elements
SELECT ARRAY[ROW(2)::saleref]::text[]
==== cast of a whole row
SELECT c::text FROM customers c
==== cast of a whole row of an own name
SELECT customers::text FROM customers
==== cast of a row that a subquery gives
SELECT (s.c)::text FROM (SELECT c FROM customers c) s
==== cast from an integer
SELECT 5::cast_to
==== cast from an integer by its name
SELECT CAST(5 AS public.cast_to)
==== cast of a column
SELECT id::cast_to FROM customers
==== cast of an array to an array
SELECT ARRAY[5]::cast_to[]
==== implicit cast
SELECT ROW(1)::counted_in + 1
==== implicit cast in a function's argument
SELECT abs(ROW(1)::counted_in)
==== implicit cast in a union | refused limited
SELECT 1 UNION ALL SELECT ROW(1)::counted_in
==== implicit cast in a comparison
SELECT 1 = ROW(1)::counted_in
==== implicit cast in coalesce | refused limited
SELECT coalesce(ROW(1)::counted_in, 2)
==== implicit cast in a subscript
SELECT (ARRAY[1, 2])[ROW(1)::counted_in]
==== cast for assignment in where
SELECT 1 WHERE ROW(1)::yesno
==== cast for assignment in a case
SELECT CASE WHEN ROW(1)::yesno THEN 1 END
==== cast for assignment in not
SELECT NOT ROW(1)::yesno
==== implicit cast in limit | refused limited
SELECT id FROM customers LIMIT ROW(1)::counted_in
==== cast to json that to_json finds
SELECT to_json(c) FROM painted
==== cast to json in a row
SELECT row_to_json(painted) FROM painted
==== cast to json in an aggregate
SELECT json_agg(c) FROM painted
==== cast to json in an object
SELECT jsonb_build_object('c', c) FROM painted
==== cast to json of a literal
SELECT to_jsonb('red'::colour)
==== sorted by an own operator class
SELECT z FROM shirts ORDER BY z
==== distinct by an own operator class
SELECT DISTINCT z FROM shirts
==== grouped by an own operator class
SELECT z, count(*) FROM shirts GROUP BY 1
==== greatest by an own operator class
SELECT greatest('s'::size, 'm'::size)
==== window by an own operator class
SELECT rank() OVER (ORDER BY z) FROM shirts
==== array compared by an own operator class
SELECT ARRAY['s'::size] = ARRAY['m'::size]
==== rows compared by an own operator class
SELECT a = b FROM shirts a, shirts b
==== union by an own operator class
SELECT z FROM shirts UNION SELECT 's'::size
==== range over a type with an own operator class
SELECT '[s,m]'::sizes
==== range with a function of its own | refused limited
SELECT '[1,2]'::spans
==== aggregate's distinct by an own operator class
SELECT count(DISTINCT z) FROM shirts
==== array_position by an own operator class
SELECT array_position(ARRAY['s'::size, 'm'::size], 'm'::size)
==== operator
SELECT p = p FROM places
==== operator behind in
SELECT p IN (p, p) FROM places
==== operator behind in with a query
SELECT p IN (SELECT p FROM places) FROM places
==== operator behind any
SELECT p = ANY (ARRAY[p]) FROM places
==== operator behind is distinct from
SELECT p IS DISTINCT FROM p FROM places
==== operator behind nullif
SELECT nullif(p, p) FROM places
==== operator behind a case
SELECT CASE p WHEN p THEN 1 END FROM places
==== operator behind between
SELECT p BETWEEN p AND p FROM places
==== operator behind between symmetric
SELECT p BETWEEN SYMMETRIC p AND p FROM places
==== operator behind like
SELECT z LIKE z FROM shirts
==== operator behind using
SELECT 1 FROM places a JOIN places b USING (p)
==== operator behind a natural join
SELECT 1 FROM places a NATURAL JOIN places b
==== operator of literals
SELECT '(1)' ^^ '(1)'
==== operator of rows
SELECT '(1)' ^^ p FROM places
==== operator with its schema
SELECT p OPERATOR(public.=) p FROM places
==== operator in order by using | refused limited
SELECT p FROM places ORDER BY p USING OPERATOR(public.>=)
==== aggregate
SELECT total(id) FROM customers
==== aggregate under a known name
SELECT avg(id > 1) FROM customers
==== aggregate as a window
SELECT total(id) OVER () FROM customers
==== aggregate with its schema
SELECT public.avg(true)
==== view
SELECT * FROM v_call
==== view over a view
SELECT s FROM v_over
==== view over a view over a view
SELECT * FROM v_deep
==== view with its schema
SELECT s FROM public.v_call
==== view in a subquery
SELECT 1 WHERE (SELECT bool_and(s) FROM v_over)
==== view in a with
WITH v AS (TABLE v_call) SELECT s FROM v
==== view with a cast to a domain
SELECT * FROM v_cast
==== view with a condition
SELECT id FROM v_where
==== view with an operator
SELECT * FROM v_operator
==== view with a cast
SELECT t FROM v_text
==== view with an aggregate
SELECT * FROM v_total
==== view that sorts by an own operator class
SELECT id FROM v_sort
==== view that sleeps | refused limited
SELECT * FROM v_sleep
==== view that sets a setting | refused limited
SELECT * FROM v_set
==== view that reads a file | refused limited
SELECT * FROM v_file
==== view of users | refused limited
SELECT * FROM v_users
==== view of sessions | refused limited
SELECT * FROM v_stat
==== view that runs a text | refused limited
SELECT * FROM v_query
==== domain that sets a setting | refused limited
SELECT 'other'::setter
==== domain that sleeps | refused limited
SELECT 0::sleeper
==== column of a domain | refused limited
SELECT e FROM holding
==== column of a composite type | refused limited
SELECT c FROM holding
==== all columns | refused limited
SELECT * FROM holding
==== columns under other names | refused limited
SELECT y FROM holding AS h(x, y)
==== whole row | refused limited
SELECT h FROM holding h
==== function of a row, as its attribute
SELECT holding.leaked FROM holding
==== function of a row, as an alias's attribute
SELECT h.leaked FROM holding h
==== function of a row, as a field
SELECT (h).leaked FROM holding h
==== function of a row, with its schema
SELECT public.holding.leaked FROM public.holding
==== function of a number, as a field
SELECT (5).spied
==== function of a text, as a field
SELECT ('x'::text).spied
==== function of a column, as a field
SELECT (name::text).spied FROM customers
==== function of an array, as a field
SELECT (ARRAY[1]).spied
==== postgres's own function as a field: a file | refused limited
SELECT ('PG_VERSION'::text).pg_read_file
==== postgres's own function as a field: a setting | refused limited
SELECT ('data_directory'::text).current_setting
==== postgres's own function as a field: sleep | refused limited
SELECT (0::double precision).pg_sleep
==== postgres's own function as a field: a lock | refused limited
SELECT (1::bigint).pg_advisory_lock
==== postgres's own function as a field: a sequence | refused limited
SELECT ('seq'::regclass).nextval
==== postgres's own function as a field: a backend | refused limited
SELECT (1).pg_terminate_backend
==== postgres's own function as a field: a folder | refused limited
SELECT ('.'::text).pg_ls_dir
==== postgres's own function as a field of a field | refused limited
SELECT ((ROW('.')).f1).pg_ls_dir FROM customers
==== postgres's own function as a field, in quotes | refused limited
SELECT ('.'::text)."pg_ls_dir"
==== postgres's own function as a field of an element | refused limited
SELECT ((ARRAY['.'])[1]).pg_ls_dir
==== function of an extension, as a field | refused limited
SELECT ('dbname=postgres'::text).dblink_connect
==== collation | refused limited
SELECT name COLLATE folded FROM customers
==== collation with its schema | refused limited
SELECT 'a' < 'B' COLLATE public.folded
==== collation in order by | refused limited
SELECT name FROM customers ORDER BY name COLLATE "folded"
==== foreign table | refused limited
SELECT * FROM outside
==== foreign table, counted | refused limited
SELECT count(*) FROM outside
==== partition that is a foreign table | refused limited
SELECT * FROM mixed
==== view of a foreign table | refused limited
SELECT * FROM v_outside
==== own way to take a sample | refused limited
SELECT * FROM customers TABLESAMPLE system_rows (1)
==== type that is not there | refused limited
SELECT 1::nothing
==== type of a schema that is not there | refused limited
SELECT 1::nowhere.nothing
==== cast of a field
SELECT ROW(ROW(2)::saleref, 'z')::address
==== cast of a field of a field
SELECT ROW('Ada', ROW(ROW(2)::saleref, 'z'), NULL)::person
==== view with a row to json
SELECT j FROM v_json
==== view with the row of a join
SELECT j FROM v_joined
==== cast of an array
SELECT ARRAY['low'::tone]::text
==== cast of an array of a column
SELECT array_agg(c)::text FROM sung
==== cast to an array
SELECT name::text::tone[] FROM customers
==== cast of a multirange
SELECT range_agg(hours)::text FROM people
==== cast of a multirange made of a range
SELECT multirange(hours)::text FROM people WHERE id = 1
==== partitions found by a function
SELECT id FROM split WHERE id = 5
==== partitions found by a function, behind a view
SELECT id FROM v_split WHERE id = 5
==== partitions of a partition found by a function
SELECT id FROM outer_split WHERE kind = 1 AND id = 5
==== setting of an extension | refused limited
SELECT isn_weak(true)
==== operator named with a database that is not this one | refused limited
SELECT 1 OPERATOR(nowhere.pg_catalog.+) 1
==== function named with a database | refused limited
SELECT nowhere.pg_catalog.lower('A')
==== collation named with a database | refused limited
SELECT 'a' COLLATE nowhere.pg_catalog."C"
==== row to json by an attribute
SELECT painted.to_json FROM painted
==== row to json by an attribute of an alias
SELECT p.row_to_json FROM painted p
==== row to json by an attribute of a join
SELECT j.to_json FROM (painted JOIN customers USING (id)) j
==== row to json by an attribute with its schema
SELECT public.painted.to_jsonb FROM public.painted
==== function named like a column of another table
SELECT b.total FROM invoices b
==== function named like a column of a table beside
SELECT b.total, o.total FROM invoices b, orders o
==== function by an alias that another table has, too
SELECT o.total, (SELECT o.total FROM invoices o) FROM orders o
==== function of a table whose columns are renamed
SELECT o.total FROM invoices AS o(total_)
==== function in place of a column that is renamed | refused limited
SELECT o.total FROM orders AS o(a, b, c, d, e, f)
==== function of the row of a query
SELECT s.total FROM (SELECT * FROM invoices) s
==== function of the row of a with
WITH s AS (SELECT * FROM invoices) SELECT s.total FROM s
==== function of a row with the table's schema
SELECT public.invoices.total FROM public.invoices
==== row to json by an attribute in a query within
SELECT (SELECT p.to_json) FROM painted p
==== condition of an index
SELECT id FROM part_index
==== condition of an index that nothing is asked of
SELECT count(*) FROM public.part_index
==== condition of an index, behind a view
SELECT id FROM v_index
==== condition of an index, in a subquery
SELECT 1 WHERE EXISTS (SELECT FROM part_index OFFSET 0)
==== expression of an index
SELECT id FROM index_sum
==== operator in the expression of an index
SELECT id FROM index_operator
==== cast in the expression of an index
SELECT id FROM index_cast
==== expression of an exclusion constraint
TABLE index_excludes
==== expression of extended statistics
SELECT id FROM described_more
==== check of a child
SELECT id FROM heirs WHERE id = 5
==== expression of a partition key
SELECT id FROM key_sum
==== expression of an index, explained
EXPLAIN SELECT id FROM index_sum
==== operator that an index takes for another
SELECT id FROM numbered WHERE id = 5
==== polymorphic function
SELECT poly_evil(1)
==== polymorphic function as a table
SELECT * FROM poly_evil(1)
==== function by its defaults
SELECT def_evil()
==== function by its defaults, beside another in ROWS FROM
SELECT * FROM ROWS FROM (def_evil(), generate_series(1, 2))
==== listed name, but another function by its defaults
SELECT even_def(1)
==== domain over a range
SELECT '[1,2)'::edr
==== domain over a multirange
SELECT '{[1,2)}'::edmulti
==== domain over json, from json
SELECT d FROM jsonb_to_record('{"d": {"x": 1}}') AS x(d edj)
==== domain in the bound of a window
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 1::ed PRECEDING AND CURRENT ROW) FROM customers
==== domain in the size of a sample
SELECT id FROM customers TABLESAMPLE bernoulli (1::ed)
==== domain in a recursive query
WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT (n + 1::ed)::int FROM r WHERE n < 2) SELECT * FROM r
==== view with a domain in a window
SELECT * FROM v_win
==== view with a lateral query
SELECT * FROM v_lat
==== view with a query in a column
SELECT b FROM v_sub
==== materialized view with an index
SELECT * FROM m_ix
==== materialized view with an index, behind a view
SELECT * FROM v_m
==== index of a partition
SELECT * FROM top WHERE id = 1
==== operator in extended statistics
SELECT id FROM jt
==== prefix operator
SELECT !! 3
==== prefix operator with its schema
SELECT OPERATOR(public.!!) 3
==== function that returns rows of a table
SELECT * FROM tbl_evil()
==== fields of a function's rows
SELECT (tbl_evil()).*
==== percentile by an own operator class
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY z) FROM shirts
==== intersection by an own operator class
SELECT z FROM shirts INTERSECT SELECT z FROM shirts
==== grouping set by an own operator class
SELECT count(*) FROM shirts GROUP BY GROUPING SETS ((z), ())
==== bucket by an own operator class
SELECT width_bucket('m'::size, ARRAY['s', 'l']::size[])
==== array without an element by an own operator class
SELECT array_remove(ARRAY['s', 'm']::size[], 's')
==== element of a range by an own operator class
SELECT '[s,m]'::sizes @> 's'::size
==== cast of the row of a query in a query
SELECT (SELECT customers)::text FROM customers
==== cast behind a concatenation
SELECT 'a' || s FROM salerefs
==== cast behind a concatenation, the other way round
SELECT s || 'a' FROM salerefs
==== cast behind the concatenation of a row
SELECT ROW(2)::saleref || 'x'
==== cast behind quote_literal
SELECT quote_literal(s) FROM salerefs
==== cast behind quote_nullable
SELECT quote_nullable(ROW(2)::saleref)
==== cast behind quote_literal of an array
SELECT quote_literal(ARRAY['low'::tone])
==== cast of a table's row behind a concatenation
SELECT 'a' || c FROM customers c
==== cast behind a concatenation with its schema
SELECT 'a' OPERATOR(pg_catalog.||) c FROM customers c
==== cast behind a concatenation, explained
EXPLAIN (ANALYZE) SELECT 'x' || s FROM salerefs
==== cast behind a concatenation in where
SELECT id FROM salerefs WHERE ('a' || s) = 'x'
==== cast behind quote_literal as a field
SELECT (s).quote_literal FROM salerefs
==== cast behind quote_nullable as an attribute
SELECT c.quote_nullable FROM customers c
==== view with a cast behind a concatenation
SELECT t FROM v_concat
==== view with a cast behind quote_nullable
SELECT t FROM v_quoted
==== domain with a cast behind a concatenation
SELECT '(1)'::joined_ref

==== cast of a row to the parameter of a function, by an attribute
SELECT o.initcap FROM notes o
==== cast of a row, by an attribute of the table
SELECT notes.reverse FROM notes
==== cast of a row, by an attribute with its schema
SELECT public.notes.ascii FROM notes
==== cast of a row, by an attribute beside another table
SELECT x.md5 FROM notes x, customers c WHERE c.id = 1
==== cast of a row whose columns are renamed, by an attribute
SELECT o.length FROM notes o(a, b)
==== cast of a row, by an attribute that names a function of the database
SELECT o.own_text FROM notes o
==== cast of a row, by a field
SELECT (o).btrim FROM notes o
==== cast of a row, by a field that names a function of the database
SELECT (o).own_text FROM notes o
==== cast of the row of a query, by a field
SELECT (SELECT o FROM notes o).initcap
==== cast of a row in an array, by a field
SELECT (array_agg(o))[1].initcap FROM notes o
==== cast of the row of a function, by an attribute
SELECT t.initcap FROM jsonb_populate_record(NULL::notes, '{"id": 1}') t
==== cast of a row as an argument
SELECT length(o) FROM notes o

==== function of the database on the value of a function, by an attribute
SELECT c.spied_n FROM generate_series(1, 3) c
==== function on the value of a function without an alias
SELECT generate_series.spied_n FROM generate_series(1, 3)
==== function on the value of a function whose column has a name
SELECT g.spied_n FROM generate_series(1, 3) g(n)
==== function on the value of a function in ROWS FROM
SELECT g.spied_n FROM ROWS FROM (generate_series(1, 3)) g
==== function on the value of a function, in a condition
SELECT 1 FROM customers o LEFT JOIN LATERAL generate_series(1, 3) c ON true WHERE c.spied_n > 0
==== function on the value of a function, in a subquery
SELECT (SELECT c.spied_n) FROM generate_series(1, 3) c

==== function of Postgres's own that may not be called, on the value of a function | refused limited
SELECT c.setseed FROM unnest(ARRAY[0.5::float8]) c
==== lock on the value of a function | refused limited
SELECT c.pg_advisory_lock FROM generate_series(1, 1) c
==== statement in a text on the value of a function | refused limited
SELECT c.ts_stat FROM unnest(ARRAY['select to_tsvector(''a'')']) c
==== name of a role on the value of a function | refused limited
SELECT c.pg_get_userbyid FROM unnest(ARRAY[10::oid]) c
==== sequence on the value of a function | refused limited
SELECT c.nextval FROM unnest(ARRAY[1259::regclass]) c

==== sort by an operator of a class that is not the default
SELECT id FROM pts ORDER BY p USING <<
==== sort downwards by an operator of a class that is not the default
SELECT id FROM pts ORDER BY p USING >>
==== view with a sort by an operator of a class that is not the default
SELECT id FROM v_pts
==== window with a sort by an operator of a class that is not the default
SELECT sum(id) OVER (ORDER BY p USING <<) FROM pts
==== aggregate with a sort by an operator of a class that is not the default
SELECT array_agg(id ORDER BY p USING OPERATOR(pg_catalog.<<)) FROM pts
==== distinct rows sorted by an operator of a class that is not the default
SELECT DISTINCT ON (p) id FROM pts ORDER BY p USING <<
==== hash join by an operator of a class that is not the default
SELECT count(*) FROM orders a JOIN orders b ON a.id === b.id
==== list by an operator of a class that is not the default
SELECT id FROM orders WHERE id === ANY (ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
==== list by the negator of an operator of a class that is not the default
SELECT id FROM orders WHERE id <!> ALL (ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
==== subquery by an operator of a class that is not the default
SELECT id FROM orders WHERE id OPERATOR(public.===) ANY (SELECT id FROM customers)
==== COALESCE in the expression of an index
SELECT id FROM lost_coalesce
==== CASE in the condition of an index
SELECT id FROM lost_case
==== OR in the condition of an index
SELECT id FROM lost_or
==== NULL in the expression of an index
SELECT id FROM lost_null
==== constant that is NULL in the expression of an index
SELECT id FROM lost_to_null
==== NULLIF in the expression of an index
SELECT id FROM lost_nullif
==== field of a row in the expression of an index
SELECT id FROM lost_field
==== argument that a function drops in the expression of an index
SELECT id FROM lost_argument
==== function in SQL in the expression of an index
SELECT id FROM planned_body
==== function in SQL in a partition key
SELECT id FROM planned_key
==== operator in SQL in the expression of an index
SELECT id FROM planned_operator
==== default of a function in the expression of an index
SELECT id FROM default_index
==== cast behind a concatenation in the expression of an index
SELECT id FROM planned_concat
==== cast behind quote_literal in the expression of an index
SELECT id FROM quote_index
==== partitions by arrays
SELECT id FROM key_array
==== partitions by arrays that a function makes
SELECT id FROM made_key
==== partitions by ranges
SELECT id FROM range_key

==== array of a type that reveals users | refused limited
SELECT '{10}'::_regrole
==== array of oids as users | refused limited
SELECT ARRAY[10::oid]::pg_catalog._regrole
==== array of functions | refused limited
SELECT '{"pg_sleep(float8)"}'::_regprocedure
==== array of a type that reveals users, written with brackets | refused limited
SELECT '{10}'::regrole[]
==== domain over a type that reveals users | refused limited
SELECT 10::owner_role
==== composite type with a type that reveals users | refused limited
SELECT '(1,{10})'::owned_by
==== record of a type that reveals users | refused limited
SELECT d FROM json_to_record('{"d": "10"}') AS x(d _regrole)
==== type that reveals users, called | refused limited
SELECT _regrole('{10}')
==== function added to a known extension
SELECT sneaky(1)

==== cast to an array of Postgres's own, as a whole
SELECT l::text[] FROM sizeds
==== cast of an array's elements, by the name of the type of arrays
SELECT ARRAY[s]::_name FROM sizeds
==== cast of an array's elements, by the name of the type of arrays with its schema
SELECT array_agg(s)::pg_catalog._name FROM sizeds
==== cast to a domain of Postgres's own
SELECT s::information_schema.sql_identifier FROM sizeds
==== cast to an array of a domain of Postgres's own
SELECT array_agg(s)::information_schema.sql_identifier[] FROM sizeds
==== cast of an array's elements in a field
SELECT ROW(ARRAY[s])::names_of FROM sizeds
==== cast of an array's elements to a domain
SELECT array_agg(s)::own_names FROM sizeds
==== cast of a field to the row type of a table of Postgres's own
SELECT ROW(1, 1, 1, s)::pg_enum FROM sizeds
==== function on the value of a function without an alias, whose name is the alias of a table elsewhere
SELECT generate_series.label, (SELECT 1 FROM holding generate_series LIMIT 1) FROM generate_series(1, 3)
==== function on the value of a function in ROWS FROM, whose name is the alias of a table elsewhere
SELECT generate_series.label, (SELECT 1 FROM holding generate_series) FROM ROWS FROM (generate_series(1, 3))
==== function on the value of coalesce, whose name is the alias of a table elsewhere
SELECT "coalesce".label, (SELECT 1 FROM holding "coalesce") FROM coalesce(1)
==== function on the value of a cast, whose name is the alias of a table elsewhere
SELECT int4.label, (SELECT 1 FROM holding int4) FROM CAST(1 AS int4)
==== function of an extension that calls another by its bare name
SELECT earth_distance(ll_to_earth(1, 2), ll_to_earth(1, 3))

==== aggregate of an own type under a known name
SELECT max(s) FROM salerefs
==== aggregate of an own type under a known name, beside Postgres's own
SELECT max(id), sum(s) FROM salerefs
==== function of an own type under a known name
SELECT lower(s) FROM salerefs
==== function under a known name, by a field
SELECT (s).lower FROM salerefs
==== function of Postgres's own types under a known name
SELECT round(id::double precision, 1) FROM customers
