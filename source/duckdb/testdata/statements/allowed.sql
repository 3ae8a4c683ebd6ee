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
SELECT "update", count(*) FROM customers GROUP BY ALL ORDER BY 2 DESC, 1 NULLS LAST LIMIT 1
----
[["daily",1]]
==== from first
FROM customers SELECT name WHERE city = 'Oslo'
----
[["Björn"]]
==== from only
FROM customers ORDER BY id LIMIT 1
----
[[1,"Ada","London","weekly","2019-03-01"]]
==== table statement
TABLE revenue ORDER BY id LIMIT 1
----
[[1,"Ada",200.5]]
==== recursive with keys
WITH RECURSIVE n(i) USING KEY (i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 5) SELECT count(*) FROM n
----
[[5]]
==== values in from
SELECT x FROM (VALUES (3), (1), (2)) v(x) ORDER BY 1
----
[[1],[2],[3]]
==== qualify
SELECT id FROM orders QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY total DESC) = 1 ORDER BY id
----
[[10],[12],[13]]
==== ntile, rank, percent_rank, cume_dist
SELECT ntile(2) OVER o, rank() OVER o, percent_rank() OVER o, cume_dist() OVER o FROM orders WINDOW o AS (ORDER BY id) ORDER BY id LIMIT 1
----
[[1,1,0,0.2]]
==== window frame
SELECT avg(total) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM orders ORDER BY id LIMIT 1
----
[[100.25]]
==== filter clause
SELECT count(*) FILTER (WHERE total > 50), count(*) FILTER (note IS NULL) FROM orders
----
[[3,2]]
==== group by all and order by all
SELECT customer_id, count(*) FROM orders GROUP BY ALL ORDER BY ALL
----
[[1,2],[2,1],[3,2]]
==== grouping sets
SELECT customer_id, grouping(customer_id), sum(total) FROM orders GROUP BY ROLLUP (customer_id) ORDER BY 3 DESC LIMIT 1
----
[[null,1,557.75]]
==== quantiles
SELECT median(total), quantile_cont(total, 0.25), percentile_cont(0.5) WITHIN GROUP (ORDER BY total), approx_count_distinct(customer_id), mode(customer_id) IN (1, 3) FROM orders
----
[[80,42,80,3,true]]
==== statistics
SELECT round(stddev(total), 2), round(corr(id, total), 2), arg_max(id, total), max_by(id, total), count_if(total > 100) FROM orders
----
[[112.58,0.09,13,13,2]]
==== list aggregate
SELECT list(id ORDER BY id), array_agg(DISTINCT customer_id ORDER BY customer_id) FROM orders
----
[["[10,11,12,13,14]","[1,2,3]"]]
==== list functions
SELECT list_sum([1, 2, 3]), [x * 2 FOR x IN [1, 2] IF x > 1], list_transform([1, 2], lambda x: x + 1), [3, 1, 2].list_sort(), list_reduce([1, 2, 3], lambda a, b: a + b), len([1])
----
[[6,"[4]","[2,3]","[1,2,3]",6,1]]
==== structs and maps
SELECT {'a': 1, 'b': 'x'}.a, struct_pack(k := 2), map {'x': 1}['x'], map_keys(map {'x': 1})
----
[[1,"{\"k\":2}",1,"[\"x\"]"]]
==== slices
SELECT 'hello'[1:2], [1, 2, 3][2:], 'hello'[-1]
----
[["he","[2,3]","o"]]
==== unnest
SELECT unnest([1, 2, 3]) AS x ORDER BY x
----
[[1],[2],[3]]
==== unnest in from
SELECT id, word FROM customers, unnest(string_split(name, ' ')) AS w(word) WHERE id = 1
----
[[1,"Ada"]]
==== unnest in a lateral join
SELECT o.id, x FROM orders o, LATERAL (SELECT unnest([o.id, o.customer_id]) AS x) WHERE o.id = 10 ORDER BY x
----
[[10,1],[10,10]]
==== range and generate_series
SELECT (SELECT sum(i) FROM range(5) t(i)), (SELECT count(*) FROM generate_series(DATE '2024-01-01', DATE '2024-01-31', INTERVAL 1 DAY))
----
[[10,31]]
==== json
SELECT '{"a":{"b":[1,2,3]}}'::JSON -> 'a' ->> '$.b[2]', json_extract_string('{"x":"y"}', '$.x'), json_array_length('[1,2]')
----
[["3","y",2]]
==== json_each
SELECT key, value FROM json_each('{"a":1,"b":"two"}') ORDER BY key
----
[["a","1"],["b","\"two\""]]
==== pivot with values
PIVOT orders ON customer_id IN (1, 2) USING sum(total) GROUP BY note
==== pivot without values
PIVOT (SELECT customer_id, month(placed) AS m, total FROM orders) ON m USING sum(total) ORDER BY customer_id
----
[[1,120.5,80,null],[2,null,15.25,null],[3,null,null,342]]
==== pivot of a table
PIVOT "order lines" ON product USING sum(quantity) GROUP BY line ORDER BY line;
----
[[1,4,2,6,2,10],[2,null,1,null,1,null]]
==== pivot in a with
WITH o AS (SELECT customer_id, month(placed) AS m FROM orders) PIVOT o ON m USING count(*) ORDER BY customer_id LIMIT 1
----
[[1,1,1,0]]
==== pivot as a subquery
SELECT customer_id FROM (PIVOT (SELECT customer_id, month(placed) AS m FROM orders) ON m USING count(*)) ORDER BY 1
----
[[1],[2],[3]]
==== pivot on dates
PIVOT (SELECT placed::DATE AS d, total FROM orders) ON d IN ('2024-01-05') USING sum(total)
----
[[120.5]]
==== standard pivot
FROM orders PIVOT (sum(total) FOR customer_id IN (1, 2, 3) GROUP BY note) SELECT count(*)
----
[[4]]
==== unpivot
UNPIVOT (SELECT id, customer_id FROM orders WHERE id = 10) ON id, customer_id
----
[["id",10],["customer_id",1]]
==== standard unpivot
FROM (SELECT 1 AS a, 2 AS b) UNPIVOT (v FOR n IN (a, b)) ORDER BY n
----
[["a",1],["b",2]]
==== describe a table
DESCRIBE customers
==== describe a table with a space
DESCRIBE "order lines"
==== describe a query
DESCRIBE SELECT id, total FROM orders
==== describe as a subquery
SELECT column_name FROM (DESCRIBE customers) LIMIT 1
----
[["id"]]
==== desc
DESC orders
==== show a table
SHOW orders
==== summarize
SUMMARIZE orders
==== summarize a query
SUMMARIZE SELECT total FROM orders
==== show tables
SHOW TABLES
==== show all tables
SHOW ALL TABLES
==== pragma table_info
PRAGMA table_info('customers')
==== pragma table_info without quotes
PRAGMA table_info(orders);
==== pragma table_info of quoted names
PRAGMA table_info("order lines")
==== pragma show_tables
PRAGMA show_tables
==== pragma as a table
SELECT name FROM pragma_table_info('customers') ORDER BY cid LIMIT 1
----
[["id"]]
==== information_schema
SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema = 'main' ORDER BY 1
----
[["customers"],["order lines"],["orders"]]
==== information_schema columns
SELECT column_name FROM information_schema.columns WHERE table_name = 'orders' ORDER BY ordinal_position LIMIT 1
----
[["id"]]
==== duckdb_tables
SELECT table_name, estimated_size FROM duckdb_tables() WHERE table_name = 'orders'
----
[["orders",5]]
==== sqlite_master
SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1 LIMIT 1
----
[["customers"]]
==== explain analyze
EXPLAIN ANALYZE SELECT count(*) FROM customers
==== explain a pivot
EXPLAIN PIVOT orders ON customer_id USING sum(total)
==== macro of the database
SELECT twice(21)
----
[[42]]
==== type of the database
SELECT 'ok'::mood
----
[["ok"]]
==== schema-qualified
SELECT count(*) FROM main.customers
----
[[4]]
==== database-qualified
SELECT count(*) FROM shop.main.customers, shop.orders
----
[[20]]
==== asof join
SELECT o.id, c.id FROM orders o ASOF JOIN customers c ON o.placed >= c.since ORDER BY o.id LIMIT 1
----
[[10,3]]
==== semi and anti join
SELECT name FROM customers ANTI JOIN orders ON customers.id = orders.customer_id
----
[["D'Arcy; DROP TABLE customers"]]
==== positional join
SELECT count(*) FROM customers POSITIONAL JOIN orders
----
[[5]]
==== natural and using
SELECT count(*) FROM orders o JOIN (SELECT id AS customer_id FROM customers) USING (customer_id)
----
[[5]]
==== any and all
SELECT 1 = ANY (SELECT 1), 2 > ALL (SELECT unnest([0, 1]))
----
[[true,true]]
==== union, intersect, except
SELECT 1 UNION SELECT 2 EXCEPT SELECT 2 INTERSECT SELECT 2
----
[[1]]
==== union by name
SELECT 1 AS a UNION ALL BY NAME SELECT 2 AS b, 3 AS a ORDER BY a
----
[[1,null],[3,2]]
==== exclude and replace
SELECT * EXCLUDE (name, city, "update") REPLACE (id + 1 AS id) FROM customers WHERE id = 1
----
[[2,"2019-03-01"]]
==== columns expression
SELECT min(COLUMNS('^id|total$')) FROM orders
----
[[10,15.25]]
==== columns lambda
SELECT COLUMNS(lambda c: c LIKE 't%') FROM orders WHERE id = 10
----
[[120.5]]
==== distinct on
SELECT DISTINCT ON (customer_id) customer_id, id FROM orders ORDER BY customer_id, id
----
[[1,10],[2,12],[3,13]]
==== sample
SELECT count(*) <= 3 FROM (SELECT * FROM orders USING SAMPLE 3)
----
[[true]]
==== limit percent
SELECT count(*) FROM (SELECT * FROM orders LIMIT 40%)
----
[[2]]
==== offset only
SELECT id FROM orders ORDER BY id OFFSET 4
----
[[14]]
==== in parentheses
(SELECT 1)
----
[[1]]
==== order by after a union of parentheses
(SELECT 2) UNION ALL (SELECT 1) ORDER BY 1
----
[[1],[2]]
==== case, if, coalesce, nullif, greatest
SELECT CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END, if(true, 1, 2), coalesce(NULL, 3), nullif(1, 1), greatest(1, 4), ifnull(NULL, 5)
----
[["b",1,3,null,4,5]]
==== many cases side by side
SELECT CASE 1 WHEN 1 THEN 'a' END || CASE 2 WHEN 2 THEN 'b' END || CASE 3 WHEN 3 THEN 'c' END
----
[["abc"]]
==== casts
SELECT CAST('12' AS INTEGER), '1.50'::DECIMAL(10, 2), TRY_CAST('x' AS INTEGER), '2024-02-29'::DATE, 1::BOOLEAN
----
[[12,"1.50",null,"2024-02-29",true]]
==== dates
SELECT date_trunc('month', DATE '2024-02-17'), date_diff('day', DATE '2024-01-01', DATE '2024-03-01'), strftime(DATE '2024-01-02', '%d.%m.%Y'), DATE '2024-01-31' + INTERVAL 1 MONTH
----
[["2024-02-01T00:00:00",60,"02.01.2024","2024-02-29T00:00:00"]]
==== more dates
SELECT extract(year FROM placed), dayname(placed), year(placed), epoch(placed), last_day(placed) FROM orders WHERE id = 10
----
[[2024,"Friday",2024,1704448800,"2024-01-31"]]
==== parse dates
SELECT strptime('31.12.2023', '%d.%m.%Y'), try_strptime('x', '%Y'), make_date(2024, 2, 29), time_bucket(INTERVAL 7 DAYS, DATE '2024-01-10')
----
[["2023-12-31T00:00:00",null,"2024-02-29","2024-01-08"]]
==== time, interval, timestamp with zone
SELECT TIME '10:30:00', INTERVAL '1 year 2 days 3 hours', TIMESTAMPTZ '2024-01-01 12:00:00+02', age(DATE '2024-03-01', DATE '2024-01-01')
----
[["10:30:00","1 year 2 days 03:00:00","2024-01-01T10:00:00Z","2 months"]]
==== now
SELECT now() > TIMESTAMP '2020-01-01', current_date > DATE '2020-01-01', current_timestamp IS NOT NULL, today() = current_date
----
[[true,true,true,true]]
==== text functions
SELECT upper('a'), length('naïve'), instr('hello', 'l'), substr('hello', 2, 3), trim('  x '), lpad('7', 3, '0'), concat_ws('-', 1, 2), left('abc', 2), split_part('a,b', ',', 2)
----
[["A",5,3,"ell","x","007","1-2","ab","b"]]
==== more text
SELECT format('{:,}', 1234567), printf('%.2f', 3.14159), regexp_extract('a12', '[0-9]+'), 'abc' ~ 'b', 'Abc' ILIKE 'a%', starts_with('abc', 'a'), strip_accents('é'), levenshtein('a', 'b')
----
[["1,234,567","3.14","12",false,true,true,"e",1]]
==== position, overlay, substring, trim with words
SELECT position('b' IN 'abc'), substring('hello' FROM 2 FOR 2), trim(BOTH 'x' FROM 'xax'), 'a' COLLATE NOCASE = 'A'
----
[[2,"el","a",true]]
==== math
SELECT round(sqrt(2), 4), 2 ** 10, ceil(1.2), 7 % 4, round(pi(), 2), 7 // 2, abs(-1), 5 / 2
----
[[1.4142,1024,"2",3,3.14,3,1,2.5]]
==== sum of integers is an integer
SELECT sum(id), sum(id) + 0, count(*) FROM orders
----
[[60,60,5]]
==== huge integers
SELECT 9223372036854775807, 170141183460469231731687303715884105727, 18446744073709551615::UBIGINT
----
[["9223372036854775807","170141183460469231731687303715884105727","18446744073709551615"]]
==== not finite
SELECT 'nan'::DOUBLE, 'inf'::DOUBLE, NULL, TRUE
----
[[null,null,null,true]]
==== uuid, blob, bit
SELECT '12345678-1234-1234-1234-123456789abc'::UUID, '\x00\xFF'::BLOB, '101'::BIT
----
[["12345678-1234-1234-1234-123456789abc","blob, 2 bytes","101"]]
==== bits, blobs and intervals in lists and structs
SELECT ['101'::BIT, NULL], {'b': '1'::BIT, 'x': '\x00'::BLOB, 'i': INTERVAL 1 DAY}, MAP {'0'::BIT: '11'::BIT}
----
[["[\"101\",null]","{\"b\":\"1\",\"i\":\"1 day\",\"x\":\"blob, 1 byte\"}","{\"0\":\"11\"}"]]
==== decimals stay exact
SELECT 0.1 + 0.2, 1.10::DECIMAL(18, 2) * 3, (-0.05)::DECIMAL(4, 2)
----
[["0.3","3.30","-0.05"]]
==== is distinct from
SELECT 1 IS DISTINCT FROM NULL, NULL IS NOT DISTINCT FROM NULL
----
[[true,true]]
==== try
SELECT TRY(1 / 0 + 'x'::INTEGER)
----
[[null]]
==== function with a typo | failed
SELECT strftme(placed, '%Y') FROM orders
==== bad cast | failed
SELECT 'x'::INTEGER
==== row without names says so | failed
SELECT row(1, 2)
==== pivot inside a with
WITH o AS (SELECT customer_id, month(placed) AS m FROM orders), p AS (PIVOT o ON m USING count(*)) SELECT * FROM p ORDER BY 1 LIMIT 1
----
[[1,1,1,0]]
==== pivot on an expression
PIVOT (SELECT customer_id, id FROM orders) ON customer_id % 2 USING count(*) GROUP BY customer_id ORDER BY 1 LIMIT 1
==== pivot on two columns, one with values
PIVOT (SELECT city, "update" FROM customers) ON "update" IN ('weekly'), city USING count(*)
==== explain with options
EXPLAIN (FORMAT json) SELECT 1
==== function of another database | failed
SELECT to_char(placed, 'YYYY') FROM orders
==== infinite dates
SELECT 'infinity'::DATE, '-infinity'::TIMESTAMP
----
[[null,null]]
==== a whole row
SELECT c FROM customers c WHERE id = 1
----
[["{\"city\":\"London\",\"id\":1,\"name\":\"Ada\",\"since\":\"2019-03-01\",\"update\":\"weekly\"}"]]
