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
SELECT id, generated FROM honest_index WHERE id = 1
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
