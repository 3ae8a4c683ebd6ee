# Honest statements in a database that has functions of its own, and types, casts,
# operators and views with and without them.
==== domain with a check of postgres's own
SELECT 50::percent
----
[["50"]]
==== domain with a regular expression
SELECT 'a@b.c'::mail
----
[["a@b.c"]]
==== domain that does not hold | failed
SELECT 101::percent
==== array of a domain
SELECT ARRAY[1, 2]::percent[]
----
[["[1,2]"]]
==== enum
SELECT 'ok'::mood, enum_range(NULL::mood)
----
[["ok","[\"ok\",\"bad\"]"]]
==== enum compared and sorted
SELECT state FROM people ORDER BY state DESC
----
[["bad"],["ok"]]
==== enum grouped
SELECT state, count(*) FROM people GROUP BY state ORDER BY 1
----
[["ok",1],["bad",1]]
==== composite type
SELECT ROW('Lane', '1')::address
----
[["(Lane,1)"]]
==== composite type by its literal
SELECT ('(Lane,1)'::address).zip
----
[["1"]]
==== field of a field
SELECT ((p).home).street FROM people WHERE id = 1
----
[["Lane 1"]]
==== composite column
SELECT p FROM people WHERE id = 2
----
[["(Bob,,)"]]
==== all columns
SELECT * FROM people WHERE id = 2
----
[[2,"(Bob,,)","50","b@b.c",null,"bad",null]]
==== whole row
SELECT x FROM people x WHERE id = 2
----
[["(2,\"(Bob,,)\",50,b@b.c,,bad,)"]]
==== row to json
SELECT row_to_json(x) FROM people x WHERE id = 2
----
[["{\"id\":2,\"p\":{\"name\":\"Bob\",\"home\":null,\"moods\":null},\"share\":50,\"m\":\"b@b.c\",\"hours\":null,\"state\":\"bad\",\"tags\":null}"]]
==== record of a harmless domain
SELECT d FROM json_to_record('{"d": 7}') AS x(d percent)
----
[["7"]]
==== set of harmless types
SELECT a, m FROM jsonb_to_recordset('[{"a": {"street": "x", "zip": "y"}, "m": "ok"}]') AS x(a address, m mood)
----
[["(x,y)","ok"]]
==== own range
SELECT hours FROM people WHERE hours @> TIME '09:00'
----
[["[08:00:00,12:00:00)"]]
==== own range made
SELECT lower(shifts(TIME '08:00', TIME '09:00'))
----
[["08:00:00"]]
==== arrays
SELECT tags[1], 'x' = ANY (tags), tags || ARRAY['z'] FROM people WHERE id = 1
----
[["x",true,"[\"x\",\"y\",\"z\"]"]]
==== column beside one with a function
SELECT id, label FROM holding
----
[[1,"l"]]
==== column beside one with a function, by its table
SELECT h.label FROM holding h WHERE h.id = 1 ORDER BY h.label
----
[["l"]]
==== rows beside one with a function, counted
SELECT count(*) FROM holding
----
[[1]]
==== join of a table with one
SELECT c.name FROM customers c JOIN holding h ON h.id = c.id
----
[["Ada"]]
==== join by using of a table with one
SELECT label FROM holding JOIN customers USING (id)
----
[["l"]]
==== sort beside an own operator class
SELECT id FROM shirts ORDER BY id LIMIT 1
----
[[1]]
==== type with an own cast to text, as it is
SELECT ROW(2)::saleref
----
[["(2)"]]
==== column named like a function of another type
SELECT even.id FROM customers even LIMIT 1
----
[[1]]
==== view
SELECT id, name, share FROM rich
----
[[2,"Bob","50"]]
==== view over a view
SELECT * FROM richer
----
[["BOB","50.0"]]
==== view with a window
SELECT id, rank, k FROM ranked WHERE rank = 1
----
[[13,1,"large"]]
==== view of the suite
SELECT name FROM revenue ORDER BY total DESC LIMIT 1
----
[["Chiyo"]]
==== materialized view
TABLE counted
----
[[5]]
==== partitions
SELECT count(*) FROM parted
----
[[2]]
==== listed function
SELECT even(2), public.even(3)
----
[[true,false]]
==== domain with a listed function
SELECT 4::evens, '{2,4}'::evens[]
----
[[4,"[2,4]"]]
==== domain with a listed function that does not hold | failed
SELECT 3::evens
==== composite type of such a domain
SELECT ('(2,4)'::pairs).b
----
[[4]]
==== view with a listed function
SELECT id FROM v_even ORDER BY id
----
[[2],[4]]
==== cast with a listed function
SELECT r::text FROM ratios ORDER BY id
----
[["1:2"],["2:4"]]
==== operator with a listed function
SELECT count(*) FROM ratios a, ratios b WHERE a.r == b.r
----
[[4]]
==== listed extension
SELECT '1..2'::seg && '1.5'::seg
----
[[true]]
==== citext
SELECT count(DISTINCT c), min(c) = 'ADA' FROM extended
----
[[1,true]]
==== citext compared and sorted
SELECT id FROM extended WHERE c = 'ADA' AND c LIKE 'ad%' ORDER BY c, id
----
[[1],[2]]
==== citext to text and back
SELECT c::text, 'x'::citext, lower(c::text) FROM extended WHERE id = 1
----
[["Ada","x","ada"]]
==== hstore
SELECT h -> 'a', h ? 'a', akeys(h) FROM extended WHERE id = 1
----
[["1",true,"[\"a\"]"]]
==== hstore to json
SELECT to_jsonb(h) FROM extended WHERE id = 1
----
[["{\"a\": \"1\"}"]]
==== ltree
SELECT l, nlevel(l) FROM extended WHERE l <@ 'top' ORDER BY l LIMIT 1
----
[["top.left",2]]
==== trigrams with their index
SELECT id FROM extended WHERE v LIKE '%words%' AND similarity(v, 'words') > 0.5
----
[[2]]
==== all columns of types of extensions
SELECT * FROM extended WHERE id = 1
----
[[1,"Ada","\"a\"=\u003e\"1\"","top.left","word"]]
==== collation of postgres's own
SELECT name FROM customers ORDER BY name COLLATE "C" LIMIT 1
----
[["Ada"]]
==== collation with its schema
SELECT 'a' < 'b' COLLATE pg_catalog."C"
----
[[true]]
==== text search beside unaccent
SELECT to_tsvector('english', 'The sales rose') @@ to_tsquery('english', 'sale')
----
[[true]]
==== own function of postgres's as a field
SELECT (name::text).length FROM customers WHERE id = 1
----
[[3]]
==== key and value as fields
SELECT (jsonb_each_text('{"a": 1}')).key
----
[["a"]]
==== the version
SELECT version() LIKE 'PostgreSQL %'
----
[[true]]
==== the version with its schema
SELECT pg_catalog.version() IS NOT NULL
----
[[true]]
==== rows as the planner counts them
SELECT relname, reltuples >= -1 FROM pg_class WHERE relname = 'orders'
----
[["orders",true]]
==== rows of a table by its name
SELECT reltuples::bigint >= -1 FROM pg_class WHERE oid = 'public.orders'::regclass
----
[[true]]
==== rows of all tables
SELECT c.relname, c.reltuples IS NOT NULL FROM pg_catalog.pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind = 'r' ORDER BY 1 LIMIT 1
----
[["customers",true]]
==== all of pg_class
SELECT * FROM pg_class WHERE relname = 'nothing'
----
[]
==== size of a table
SELECT pg_size_pretty(pg_total_relation_size('orders')) <> '', pg_relation_size('orders'::regclass) > 0
----
[[true,true]]
==== comments and types of columns
SELECT a.attname, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum), obj_description(a.attrelid, 'pg_class') FROM pg_attribute a WHERE a.attrelid = 'orders'::regclass AND a.attnum = 1
----
[["id","integer",null,null]]
==== indexes
SELECT count(*) FROM pg_indexes WHERE tablename = 'customers'
----
[[1]]
==== constraints
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype = 'f'
----
[["FOREIGN KEY (customer_id) REFERENCES customers(id)"]]
==== schemas
SELECT current_schema, current_schema() = 'public', 'public' = ANY (current_schemas(false))
----
[["public",true,true]]
==== explain
EXPLAIN SELECT id FROM richer, customers
==== explain of a domain
EXPLAIN SELECT share::percent FROM people
==== column beside one with a function, behind a view
SELECT id FROM v_ids
----
[[1]]
==== values of a type whose array has a cast
SELECT c, array_agg(id) FROM sung GROUP BY c
----
[["low","[1]"]]
==== number of a book
SELECT isbn13('978-0-393-04002-9')
----
[["978-0-393-04002-9"]]
==== range that has a cast from its multirange
SELECT range_agg(hours) FROM people
----
[["{[08:00:00,12:00:00)}"]]
==== column named like a function of another table
SELECT o.total IS NOT NULL FROM orders o LIMIT 1
----
[[true]]
==== column named like a function, beside the table of the function
SELECT o.total IS NOT NULL, b.sum FROM public.orders o, invoices b LIMIT 1
----
[[true,1]]
==== column named like a type, of a query beside a table with a function
SELECT s.name FROM (SELECT id, name FROM customers) s JOIN holding h ON h.id = s.id
----
[["Ada"]]
==== table with an index, a check and a column made by a function of its columns
SELECT id, generated FROM legitimate_index WHERE id = 1
----
[[1,1]]
==== large orders of each customer
SELECT c.name, count(*) FILTER (WHERE o.total > 100) AS large, sum(o.total) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.name ORDER BY 3 DESC NULLS LAST
==== change from one order to the next
SELECT customer_id, total - lag(total) OVER (PARTITION BY customer_id ORDER BY id) FROM orders
==== moving sum
SELECT sum(total) FILTER (WHERE id > 10) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM orders
==== totals and their total
SELECT customer_id, sum(total) FROM orders GROUP BY ROLLUP (customer_id)
==== histogram
SELECT width_bucket(total, 0, 1000, 5), count(*) FROM orders GROUP BY 1 ORDER BY 1
==== median
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM orders
==== most frequent
SELECT mode() WITHIN GROUP (ORDER BY customer_id) FROM orders
==== months
SELECT generate_series('2024-01-01'::date, '2024-03-01', '1 month')::date
==== customers without orders
SELECT a.id FROM customers a WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = a.id)
==== largest order of each
SELECT x.* FROM customers c CROSS JOIN LATERAL (SELECT total FROM orders o WHERE o.customer_id = c.id ORDER BY total DESC LIMIT 1) x
==== rows as json
SELECT jsonb_agg(to_jsonb(o)) FROM (SELECT id, total FROM orders) o
==== parts of json
SELECT doc->'a'->>0, doc @> '{"a":[1]}', jsonb_array_length(doc->'a') FROM (VALUES ('{"a":[1]}'::jsonb)) v(doc)
==== arrays taken apart
SELECT tags @> ARRAY['x'], array_length(tags, 1), unnest(tags) FROM people WHERE tags IS NOT NULL
==== domain in sums
SELECT share + 1, round(share), max(share) FROM people GROUP BY share
==== own ranges that overlap
SELECT hours && '[09:00,10:00)'::shifts FROM people
==== named window
SELECT first_value(name) OVER w, last_value(name) OVER w FROM customers WINDOW w AS (ORDER BY id)
==== correlation
SELECT corr(id, total), regr_slope(id, total) FROM orders
==== rows in a list of rows
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(n, s) WHERE (n, s) IN ((1, 'a'))
==== customers less those with orders
SELECT id FROM customers EXCEPT SELECT customer_id FROM orders
==== time in another zone
SELECT now() AT TIME ZONE 'Europe/Berlin' IS NOT NULL, current_date - 7
==== column beside one with a cast
SELECT id, d FROM custs WHERE d > '2023-01-01'
==== texts joined
SELECT 'a' || name || ' ' || id FROM customers WHERE id = 1
----
[["aAda 1"]]
==== texts joined with a number, a date and an enum
SELECT 1 || 'x' || DATE '2024-01-02' || 'ok'::mood
----
[["1x2024-01-02ok"]]
==== arrays and json joined
SELECT ARRAY[1] || 2, '{"a": 1}'::jsonb || '{"b": 2}'
----
[["[1,2]","{\"a\": 1, \"b\": 2}"]]
==== text joined with a composite value that has no cast
SELECT 'a' || ROW('x', 'y')::address
----
[["a(x,y)"]]
==== value quoted
SELECT quote_literal(name), quote_nullable(NULL), quote_literal(5) FROM customers WHERE id = 1
----
[["'Ada'","NULL","'5'"]]
==== text joined beside a column with a cast
SELECT 'n' || id FROM salerefs
----
[["n1"]]
==== text joined beside a row with a listed cast
SELECT 'r: ' || r FROM ratios ORDER BY id
----
[["r: 1:2"],["r: 2:4"]]
==== text joined in a sort and a group
SELECT lower(left(name, 1)) || '.', count(*) FROM customers GROUP BY 1 ORDER BY lower(left(name, 1)) || '.' LIMIT 1
----
[["a.",1]]

==== columns of a table whose rows have a cast
SELECT o.t, o.id, n.length FROM notes o JOIN (SELECT id, length(t) AS length FROM notes) n ON n.id = o.id
----
[["a",1,1]]
==== columns named like functions
SELECT c.length, c.left FROM (SELECT length(name), left(name, 2) FROM customers WHERE id = 1) c
----
[[3,"Ad"]]

==== sorts beside classes that are not the default
SELECT id FROM customers ORDER BY id USING > LIMIT 1
----
[[4]]
==== long lists beside classes that are not the default
SELECT id FROM orders WHERE id NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) AND id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 13)
----
[[13]]
==== hash join and merge join beside classes that are not the default
SELECT count(*) FROM orders a JOIN orders b ON a.id = b.id AND a.id <> 10 AND b.id > 10
----
[[4]]
==== points compared
SELECT id FROM pts WHERE p <-> '(0,3)' < 1
----
[[3]]
==== distinct, grouped and united
SELECT customer_id FROM orders GROUP BY 1 INTERSECT SELECT DISTINCT id FROM customers WHERE id BETWEEN 1 AND 1
----
[[1]]
==== window over a range of values
SELECT id, sum(id) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM customers ORDER BY id LIMIT 2
----
[[1,1],[2,3]]

==== table with many expressions of its columns
SELECT id, name, state FROM planned WHERE lower(name) = 'ada' AND id = 1
----
[[1,"Ada","ok"]]
==== expressions of indexes in a query
SELECT name || '-' || id, date_trunc('month', at)::date FROM planned WHERE name || '-' || id = 'Ada-1' ORDER BY at
----
[["Ada-1","2024-05-01"]]
==== listed function of an index in a query
SELECT count(*) FROM planned WHERE even(id * 2) AND NOT even(id)
----
[[1]]
==== groups by the expression of an index
SELECT lower(name), count(*), max(COALESCE(id, 0)) FROM planned GROUP BY lower(name) HAVING count(*) > 0
----
[["ada",1,1]]
==== join on the expressions of indexes
SELECT c.name FROM customers c LEFT JOIN planned p ON lower(p.name) = lower(c.name) WHERE p.id IS NOT NULL
----
[["Ada"]]
==== case and coalesce over a table with checks
SELECT CASE state WHEN 'ok' THEN 'fine' ELSE 'no' END, COALESCE(name, 'none'), NULLIF(id, 2) FROM planned
----
[["fine","Ada",1]]
==== listed function, quoted and joined
SELECT quote_literal(even(id)::text) || ':' || quote_nullable(name) FROM planned
----
[["'false':'Ada'"]]
==== value of a function by its alias
SELECT g.g + 1 AS n FROM generate_series(1, 2) AS g
----
[[2],[3]]
==== function that may be called, on the value of a function
SELECT c.initcap FROM unnest(ARRAY['x']) c
----
[["X"]]
==== columns of a function
SELECT x.key, x.value FROM json_each('{"a": 1}') x
----
[["a","1"]]
==== columns of a function that are named like functions
SELECT t.name, t.date FROM unnest(ARRAY['x'], ARRAY['y']) AS t(name, date)
----
[["x","y"]]

==== arrays by the names of their types
SELECT '{1,2}'::_int4, '{a}'::_text, '{orders}'::regclass[] IS NOT NULL
----
[["[1,2]","[\"a\"]",true]]
==== functions of a known extension that are written in SQL
SELECT replace(c, 'A', 'o')::text, strpos(c, 'D') FROM extended WHERE id = 1
----
[["odo",2]]

==== types with others in them
SELECT ARRAY[id]::text[], '{a}'::_name, name::information_schema.sql_identifier FROM customers WHERE id = 1
----
[["[\"1\"]","[\"a\"]","Ada"]]
==== column by the alias of a table beside a function without an alias
SELECT c.name, generate_series FROM holding h, customers c, generate_series(1, 1) WHERE h.id = c.id AND h.label = 'l'
----
[["Ada",1]]
==== value of a keyword with an alias
SELECT today IS NOT NULL FROM current_date AS today
----
[[true]]
==== function of an extension that calls no other
SELECT earth() > 0
----
[[true]]

==== functions that the database has for types of its own, too
SELECT max(id), count(*), sum(id), avg(id), count(DISTINCT name), lower(min(name)), round(avg(id), 1) FROM customers
----
[[4,4,10,"2.5",4,"ada","2.5"]]
==== such functions in other places
WITH n AS (SELECT 'ß' AS x, max(id) OVER (PARTITION BY lower(name)) AS m, "max"(2) AS n FROM customers GROUP BY id, name HAVING count(*) FILTER (WHERE id > 1) > 0 ORDER BY lower(name)) SELECT lower, "max", (SELECT max (m) FROM n) FROM lower('ÄB'), LATERAL (SELECT sum(m) AS max FROM n) s
----
[["Äb",9,4]]
==== such a function explained
EXPLAIN SELECT max(id) FROM customers
==== function that the database has for the type of a column | refused
SELECT count(s) FROM salerefs
==== Postgres's own in its place
SELECT pg_catalog.count(s) FROM salerefs
----
[[1]]
==== such a function that fails | failed
SELECT max(1 / 0)

==== allowed function of an extension by a known name that the database takes, too | refused
SELECT max(c) FROM extended
