# Statements, one a line, that must be read, with the databases whose SQL they are. Their tables and functions exist.
all: SELECT region, count(*) AS n, round(avg(total), 2) AS mean FROM orders WHERE total > 10 GROUP BY region ORDER BY n DESC LIMIT 5
all: WITH paid AS (SELECT customer, sum(total) AS spent FROM orders GROUP BY customer) SELECT c.name, coalesce(p.spent, 0) AS spent FROM customers AS c LEFT JOIN paid AS p ON p.customer = c.id
all: SELECT id, total, row_number() OVER (PARTITION BY customer ORDER BY day DESC) AS n, sum(total) OVER w AS running FROM orders WINDOW w AS (PARTITION BY customer ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)
all: SELECT CASE WHEN total >= 100 THEN 'large' WHEN total >= 10 THEN 'medium' ELSE 'small' END AS size, count(DISTINCT customer) FROM orders GROUP BY 1 HAVING count(*) > 1
all: SELECT left(name, 3) AS begins, right(name, 2) AS ends, replace(name, 'a', 'b') FROM customers WHERE name LIKE '%ann%' OR name IN ('Ada', 'Bob')
all: SELECT region, sum(total) AS t FROM orders GROUP BY GROUPING SETS ((region), CUBE (region, day), ())
all: SELECT id FROM orders UNION DISTINCT SELECT id FROM returns EXCEPT DISTINCT SELECT id FROM tests ORDER BY 1
all: SELECT * FROM orders AS o WHERE EXISTS (SELECT 1 FROM returns AS r WHERE r.id = o.id) AND o.total = (SELECT max(total) FROM orders)
clickhouse bigquery snowflake databricks trino: SELECT cast(day AS date) AS d, extract(year FROM day) AS y FROM orders WHERE day >= DATE '2026-01-01' AND day < DATE '2026-01-01' + INTERVAL '1' DAY
all: WITH RECURSIVE steps AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM steps WHERE n < 10) SELECT n FROM steps
bigquery snowflake databricks: SELECT customer, total FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY total DESC) = 1
bigquery snowflake databricks clickhouse: SELECT id, total, FROM orders GROUP BY ALL
bigquery: SELECT * EXCEPT (note) REPLACE (round(total) AS total), items[OFFSET(0)].name, tags[SAFE_OFFSET(1)] FROM `shop.orders` AS o, o.items AS i WITH OFFSET AS place
bigquery: SELECT FORMAT_TIMESTAMP('%Y-%m', at, 'Europe/Berlin'), TIMESTAMP_DIFF(CURRENT_TIMESTAMP(), at, HOUR), DATE_TRUNC(day, WEEK(MONDAY)), SAFE.PARSE_DATE('%F', text), SAFE_CAST(text AS NUMERIC), APPROX_QUANTILES(total, 100)[OFFSET(50)] FROM orders
bigquery: SELECT ARRAY_AGG(STRUCT(id, total) ORDER BY total DESC LIMIT 3)[SAFE_OFFSET(0)].id, STRING_AGG(DISTINCT name, ', ' ORDER BY name), JSON_VALUE(body, '$.a.b'), REGEXP_EXTRACT(name, r'^(\w+)\'s') FROM orders
bigquery: SELECT * FROM orders PIVOT (sum(total) AS t FOR region IN ('north' AS n, 'south' AS s)) UNION ALL BY NAME SELECT * FROM UNNEST([STRUCT('a' AS region, 1 AS id), ('b', 0xFF)])
bigquery: SELECT """one " two""", b'\x00\377', '\u00e9', ST_DISTANCE(ST_GEOGPOINT(lon, lat), home), x.y.*, CAST(day AS STRING FORMAT 'YYYY' AT TIME ZONE 'UTC') FROM places AS x
bigquery: SELECT * FROM GAP_FILL(TABLE readings, ts_column => 'at', bucket_width => INTERVAL 1 HOUR, value_columns => [('v', 'linear')]) ORDER BY at
snowflake: SELECT body:items[0].price::NUMBER(10, 2) AS price, f.value:name::STRING, f.index FROM orders, LATERAL FLATTEN(input => body:items, outer => TRUE) AS f WHERE name ILIKE ANY ('a%', 'b%')
snowflake: SELECT DATE_TRUNC('MONTH', at), DATEADD(day, -7, CURRENT_DATE()), DATEDIFF('hour', a, b), IFF(x > 0, 1, 0), ZEROIFNULL(y), LISTAGG(DISTINCT name, ', ') WITHIN GROUP (ORDER BY name), TRY_TO_NUMBER(text), OBJECT_CONSTRUCT('a', a, 'b', b) FROM events
snowflake: SELECT * EXCLUDE (note) RENAME (total AS amount) FROM orders SAMPLE (10) ASOF JOIN rates MATCH_CONDITION (orders.at >= rates.at) ON orders.currency = rates.currency
snowflake: SELECT $1 AS id, $2 AS name FROM VALUES (1, 'it''s'), (2, '\u26c4') ORDER BY 1 NULLS LAST FETCH FIRST 5 ROWS ONLY
snowflake: SELECT TOP 10 MAX_BY(name, total), APPROX_COUNT_DISTINCT(id), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY total), MODE(region), insert(name, 1, 2, 'x') FROM orders GROUP BY ROLLUP (region, day)
snowflake: SELECT * FROM orders PIVOT (SUM(total) FOR region IN (ANY ORDER BY region)) AS p UNPIVOT INCLUDE NULLS (v FOR k IN (a, b)) WHERE id % 2 = 0 AND name RLIKE '^a.*'
databricks: SELECT window.start, count(*), approx_percentile(total, array(0.5, 0.9)) FROM events GROUP BY window(at, '5 minutes') HAVING exists(collect_list(total), x -> x > 2L)
databricks: SELECT o.id, item.name, body:a.b[0]::double, transform(tags, t -> upper(t)), aggregate(prices, 0D, (left, right) -> left + right), filter(tags, (t, i) -> i > 0) FROM orders AS o LATERAL VIEW OUTER explode(items) AS item
databricks: SELECT date_format(at, 'yyyy-MM'), datediff(b, a), make_interval(1), interval 5 hours 30 seconds, x'00ff', 1.5D, named_struct('a', 1).a, map('k', 1)['k'] FROM events TABLESAMPLE (10 PERCENT)
databricks: SELECT `region`, MEASURE(`total`) FROM sales LEFT ANTI JOIN returns USING (id) GROUP BY ALL ORDER BY ALL LIMIT 10 OFFSET 5
clickhouse: SELECT toStartOfMonth(at) AS month, countIf(total > 1_000), uniqExact(customer), quantile(0.9)(total), argMax(name, at), sumIfOrNull(total, paid) FROM orders FINAL PREWHERE region = 'north' GROUP BY month WITH TOTALS ORDER BY month WITH FILL STEP INTERVAL 1 MONTH
clickhouse: FROM orders SELECT * EXCEPT (note) APPLY max, COLUMNS('^t') APPLY (x -> round(x, 2)), arrayMap((x, i) -> x * i, xs, arrayEnumerate(xs)), (a, b).1, tuple(1, 'x') AS pair, pair.2
clickhouse: WITH (SELECT max(at) FROM events) AS newest, addDays(newest, -7) AS since SELECT id, dictionary AS merge FROM events ARRAY JOIN tags AS tag WHERE at > since LIMIT 3 BY id LIMIT 10 UNION ALL SELECT 1, 2
clickhouse: SELECT runningDifference(v), transform(k, [1, 2], ['a', 'b'], 'c'), multiIf(v > 1, 'x', 'y'), JSONExtractString(body, 'a', 'b'), '\x41', toDateTime64('2026-01-01', 3) FROM (SELECT number AS v, v AS k FROM numbers(10)) ASOF LEFT JOIN rates USING (k, v)
trino: SELECT date_trunc('week', at), date_diff('day', a, b), at AT TIME ZONE 'Europe/Berlin', approx_percentile(total, 0.5), map_agg(k, v), array_agg(x ORDER BY x) FILTER (WHERE x > 0), try_cast(t AS decimal(10, 2)), json_extract_scalar(body, '$.a') FROM events
trino: SELECT o.id, t.k, t.v FROM orders AS o CROSS JOIN UNNEST(map(ARRAY[1, 2], ARRAY['a', 'b'])) WITH ORDINALITY AS t (k, v, n) WHERE 3 > ALL (VALUES 1, 2) AND regexp_like(name, '^a') AND X'00ff' IS NOT NULL
trino: SELECT (row_of_values).*, cardinality(merge(sketch)), transform(xs, x -> x + 1), reduce(xs, 0, (s, x) -> s + x, s -> s), if(a > 0, 'p', 'n'), listagg(name, ', ') WITHIN GROUP (ORDER BY name), CAST(ROW(1, 'a') AS ROW(n integer, t varchar)) FROM t TABLESAMPLE BERNOULLI (10)
trino: SELECT region, sum(total) FROM orders GROUP BY DISTINCT ROLLUP (region, day), CUBE (day) OFFSET 5 ROWS FETCH FIRST 5 ROWS WITH TIES
