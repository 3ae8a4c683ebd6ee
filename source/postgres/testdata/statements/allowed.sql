# Statements that must run, with their rows where these are the point.
==== leading comments
/* how /* many */ */ -- DROP TABLE customers;
SELECT count(*) FROM customers
----
[[4]]
==== dollar quoted
SELECT $$it's; DROP$$ AS a, $x$ $$ $x$ AS b
----
[["it's; DROP"," $$ "]]
==== escape string
SELECT E'a\'b\n'
----
[["a'b\n"]]
==== a column named update
SELECT "update", count(*) FROM customers GROUP BY 1 ORDER BY 2 DESC, 1 NULLS LAST LIMIT 1
----
[["daily",1]]
==== table statement
TABLE revenue ORDER BY id LIMIT 1
----
[[1,"Ada",200.5]]
==== filter clause
SELECT count(*) FILTER (WHERE total > 50), count(*) FILTER (WHERE note IS NULL) FROM orders
----
[[3,2]]
==== rollup
SELECT customer_id, grouping(customer_id), sum(total) FROM orders GROUP BY ROLLUP (customer_id) ORDER BY 3 DESC LIMIT 1
----
[[null,1,557.75]]
==== percentiles
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total), mode() WITHIN GROUP (ORDER BY customer_id) IN (1, 3) FROM orders
----
[[80,true]]
==== statistics
SELECT round(stddev(total)::numeric, 2), round(corr(id, total)::numeric, 2) FROM orders
----
[["112.58","0.09"]]
==== arrays
SELECT array_agg(id ORDER BY id), ARRAY['a"b', NULL, 'c,d'], ARRAY[[1, 2], [3, 4]], '{}'::text[], ARRAY[1.50, 2], ARRAY[true, false] FROM orders
----
[["[10,11,12,13,14]","[\"a\\\"b\",null,\"c,d\"]","[[1,2],[3,4]]","[]","[1.50,2]","[true,false]"]]
==== arrays with bounds, several dimensions and quoted texts
SELECT '[0:1]={1,2}'::int[], '{{{1},{NULL}},{{3},{4}}}'::int[], '{"NULL",NULL,""," x ","\\"}'::text[],
  ARRAY['{"a": [1]}'::jsonb], '{}'::int[]
----
[["[1,2]","[[[1],[null]],[[3],[4]]]","[\"NULL\",null,\"\",\" x \",\"\\\\\"]","[{\"a\": [1]}]","[]"]]
==== array subscripts
SELECT (ARRAY[1, 2, 3])[2], (ARRAY[1, 2, 3])[2:3], 2 = ANY (ARRAY[1, 2])
----
[[2,"[2,3]",true]]
==== unnest
SELECT x, i FROM unnest(ARRAY['a', 'b']) WITH ORDINALITY AS u(x, i) ORDER BY i
----
[["a",1],["b",2]]
==== rows from
SELECT * FROM ROWS FROM (generate_series(1, 2), unnest(ARRAY['x', 'y'])) AS t(a, b)
----
[[1,"x"],[2,"y"]]
==== lateral
SELECT c.name, o.total FROM customers c CROSS JOIN LATERAL (SELECT total FROM orders WHERE customer_id = c.id ORDER BY total DESC LIMIT 1) o ORDER BY c.id LIMIT 1
----
[["Ada",120.5]]
==== distinct on
SELECT DISTINCT ON (customer_id) customer_id, total FROM orders ORDER BY customer_id, total DESC
----
[[1,120.5],[2,15.25],[3,300]]
==== json
SELECT '{"a": {"b": [1, 2]}}'::jsonb -> 'a' -> 'b' ->> 1, jsonb_build_object('k', 1), '{"x": 1}'::json
----
[["2","{\"k\": 1}","{\"x\": 1}"]]
==== jsonpath
SELECT jsonb_path_query_first('{"a": [1, 5]}', '$.a[*] ? (@ > 2)')
----
[["5"]]
==== json to rows
SELECT key, value FROM jsonb_each_text('{"a": 1}')
----
[["a","1"]]
==== numeric is exact
SELECT 0.1::numeric + 0.2, '1.50'::numeric(10, 2), 12345678901234567890::numeric, 10 / 4.0, avg(x) FROM (VALUES (1), (2)) v(x)
----
[["0.3","1.50","12345678901234567890","2.5","1.5"]]
==== money
SELECT '$1,234.50'::money
----
[["1234.50"]]
==== nan and infinity
SELECT 'NaN'::float8, 'Infinity'::numeric, 'infinity'::timestamp, NULL
----
[[null,null,null,null]]
==== big integers
SELECT 9223372036854775807, 2147483647::int4, 7::int2
----
[["9223372036854775807",2147483647,7]]
==== dates and times
SELECT DATE '2024-02-29', TIMESTAMP '2024-02-29 10:11:12.5', TIMESTAMPTZ '2024-02-29 10:00:00+02', TIME '08:09:10', INTERVAL '1 year 2 days 3 hours'
----
[["2024-02-29","2024-02-29T10:11:12.5","2024-02-29T08:00:00Z","08:09:10","1 year 2 days 03:00:00"]]
==== date arithmetic
SELECT date_trunc('month', placed)::date, count(*), extract(year FROM min(placed)) FROM orders GROUP BY 1 ORDER BY 1 LIMIT 1
----
[["2024-01-01",1,"2024"]]
==== at time zone
SELECT TIMESTAMPTZ '2024-01-01 12:00:00+00' AT TIME ZONE 'Asia/Tokyo', age(DATE '2024-03-01', DATE '2024-01-01'), to_char(DATE '2024-03-01', 'YYYY-MM')
----
[["2024-01-01T21:00:00","2 mons","2024-03"]]
==== now
SELECT now() > '2020-01-01', current_date > '2020-01-01', current_timestamp IS NOT NULL
----
[[true,true,true]]
==== series of dates
SELECT d::date FROM generate_series(DATE '2024-01-01', DATE '2024-02-01', INTERVAL '1 month') AS g(d)
----
[["2024-01-01"],["2024-02-01"]]
==== bytea
SELECT '\xDEADBEEF'::bytea
----
[["blob, 4 bytes"]]
==== other types
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, '10.0.0.1'::inet, int4range(1, 5), point(1, 2), B'101', 'ok'::mood, 5::score
----
[["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","10.0.0.1","[1,5)","(1,2)","101","ok",5]]
==== row value
SELECT c FROM customers c WHERE id = 1
----
[["(1,Ada,London,weekly,2019-03-01)"]]
==== schema-qualified
SELECT count(*) FROM public.customers, other.things
----
[[4]]
==== catalog-qualified function and operator
SELECT pg_catalog.lower('A'), 1 OPERATOR(pg_catalog.+) 2
----
[["a",3]]
==== regular expressions
SELECT name ~ '^A', regexp_replace(name, 'a', 'o'), substring(name FROM 1 FOR 2), name ILIKE '%da', position('d' IN name) FROM customers WHERE id = 1
----
[[true,"Ado","Ad",true,2]]
==== case and coalesce
SELECT CASE WHEN city IS NULL THEN 'none' ELSE city END, coalesce(city, 'none'), nullif(id, 4), greatest(1, 2) FROM customers WHERE id = 4
----
[["none","none",null,2]]
==== set operations
SELECT 1 UNION SELECT 2 EXCEPT SELECT 1
----
[[2]]
==== exists and in
SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id) AND id IN (SELECT customer_id FROM orders WHERE total > 200)
----
[["Chiyo"]]
==== full text search
SELECT ts_rank(to_tsvector('portuguese', 'As vendas aumentaram'), websearch_to_tsquery('portuguese', 'venda')) > 0
----
[[true]]
==== tablesample
SELECT count(*) >= 0 FROM orders TABLESAMPLE bernoulli (50)
----
[[true]]
==== natural and using
SELECT count(*) FROM orders JOIN (SELECT id AS customer_id FROM customers) c USING (customer_id)
----
[[5]]
==== fetch first
SELECT id FROM orders ORDER BY id FETCH FIRST 1 ROW ONLY
----
[[10]]
==== explain analyze
EXPLAIN (ANALYZE, COSTS off, FORMAT json) SELECT count(*) FROM orders
==== show the version
SHOW server_version
==== information schema
SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1 LIMIT 1
----
[["customers"]]
==== unicode escapes
SELECT U&'\0041' AS U&"\0062"
----
[["A"]]
==== is distinct from
SELECT 1 IS DISTINCT FROM NULL, NULL IS NOT DISTINCT FROM NULL
----
[[true,true]]
==== extension function
SELECT similarity('word', 'words') > 0.5, unaccent('é'), 'abc' % 'xyz'
----
[[true,"e",false]]
==== function that the operator allows
SELECT twice(21)
----
[[42]]
==== two columns of one name
SELECT 1 AS a, 2 AS a
----
[[1,2]]
==== column without a name
SELECT 1 + 1
----
[[2]]
==== pg_typeof
SELECT pg_typeof(total)::text FROM orders LIMIT 1
----
[["double precision"]]
==== division by zero | failed
SELECT 1 / 0
==== bad cast | failed
SELECT 'x'::integer
==== statement with a parameter and no argument | failed
SELECT * FROM orders WHERE id = $1
==== partitioned table
SELECT count(*) FROM parted
----
[[2]]
==== materialized view
SELECT n FROM counted
----
[[5]]
