==== every engine: values
SELECT * FROM VALUES('n Int32, s String', (1, 'a'), (2, 'b')) ORDER BY n
==== every engine: string_agg with order
SELECT arrayStringConcat(groupArray(name), '|') FROM (SELECT name FROM customers WHERE id < 4 ORDER BY id DESC)
==== every engine: correlated subquery
SELECT name, m FROM customers AS c LEFT JOIN (SELECT customer_id, max(total) AS m FROM orders GROUP BY customer_id) AS o ON o.customer_id = c.id WHERE id = 1
==== every engine: mixed case names
SeLeCt COUNT(*) FrOm orders WhErE customer_id = 3
==== every engine: lag and named window
SELECT placed, total - lagInFrame(toNullable(total)) OVER w FROM orders WHERE customer_id = 3 WINDOW w AS (ORDER BY placed ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) ORDER BY placed
==== rollup
SELECT customer_id, sum(total) FROM orders GROUP BY customer_id WITH ROLLUP ORDER BY customer_id LIMIT 1
----
[[0,557.75]]
==== limit by
SELECT customer_id, id FROM orders ORDER BY id LIMIT 1 BY customer_id
----
[[1,10],[2,12],[3,13]]
==== combinators
SELECT countIf(total > 50), sumIf(total, note = 'first'), uniqExact(customer_id), quantile(0.5)(total), argMax(id, total) FROM orders
----
[[3,120.5,3,80,13]]
==== array join
SELECT x FROM orders ARRAY JOIN [1, 2] AS x WHERE id = 10
----
[[1],[2]]
==== lambda
SELECT arrayMap(x -> x * 2, [1, 2]), arrayFilter((x, i) -> i > 1, [5, 6], [1, 2])
----
[["[2,4]","[6]"]]
==== tuple element
SELECT (1, 'a').2, tuple(3, 4).1
----
[["a",3]]
==== with a value
WITH 5 AS five, (SELECT max(id) FROM orders) AS top SELECT five + top
----
[[19]]
==== cast with colons
SELECT '12'::Int32 + 1, CAST('7' AS UInt8), toDecimal64('1.10', 2)
----
[[13,7,"1.1"]]
==== intervals
SELECT toDate('2024-01-31') + INTERVAL 1 MONTH, toStartOfMonth(toDateTime('2024-05-17 10:00:00', 'UTC'))
----
[["2024-02-29","2024-05-01"]]
==== big integers
SELECT 18446744073709551615 AS a, toInt128('170141183460469231731687303715884105727') AS b, -9223372036854775807 - 1 AS c
----
[["18446744073709551615","170141183460469231731687303715884105727","-9223372036854775808"]]
==== nan and infinity
SELECT 0/0, 1/0, 0.1
----
[[null,null,0.1]]
==== fill
SELECT n FROM (SELECT 1 AS n UNION ALL SELECT 3) ORDER BY n WITH FILL
----
[[1],[2],[3]]
==== in a subquery
SELECT count() FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE city = 'Kyoto')
----
[[2]]
==== in a list
SELECT count() FROM orders WHERE (customer_id, id) IN ((1, 10), (3, 13)) AND id NOT IN (13, 14)
----
[[1]]
==== final and sample words
SELECT count() FROM orders AS o WHERE o.id BETWEEN 10 AND 12 AND NOT o.note IS NULL
----
[[2]]
==== qualify
SELECT id FROM orders QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY total DESC) = 1 ORDER BY id
----
[[10],[12],[13]]
==== json
SELECT JSONExtractInt('{"a": 7}', 'a'), map('k', 1)
----
[[7,"{\"k\":1}"]]
==== regular expression
SELECT extract('order 17', '\d+'), replaceRegexpOne('a-b', '(\w)-(\w)', '\2-\1')
----
[["17","b-a"]]
==== prewhere
SELECT id FROM orders PREWHERE total > 100 WHERE customer_id = 3
----
[[13]]
==== union distinct
SELECT sum(n) FROM ((SELECT 1 AS n UNION DISTINCT SELECT 1) UNION ALL SELECT 2)
----
[[3]]
==== except columns
SELECT * EXCEPT (city, since) FROM customers WHERE id = 1
----
[[1,"Ada","weekly"]]
