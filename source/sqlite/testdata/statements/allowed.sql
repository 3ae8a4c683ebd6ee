# Statements that must run, with their rows where these are the point.
==== leading comment
/* how many? */ SELECT count(*) FROM customers
----
[[4]]
==== leading line comment
-- DROP TABLE customers;
SELECT count(*) FROM customers
----
[[4]]
==== comment that does not nest
SELECT 1 /* a /* b */ + 1
----
[[2]]
==== comment marks inside a string
SELECT note FROM orders WHERE note LIKE '%--%' OR note LIKE '%/*%' ORDER BY id
----
[["gift -- wrap"],["please update /* soon */"]]
==== a column named update
SELECT "update", count(*) FROM customers GROUP BY "update" ORDER BY 2 DESC, 1 LIMIT 1
----
[[null,1]]
==== update in brackets
SELECT [update] FROM customers WHERE [update] = 'daily'
----
[["daily"]]
==== update in backticks
SELECT `update` FROM customers WHERE `update` = 'daily'
----
[["daily"]]
==== table with a space in brackets
SELECT max(quantity) FROM [order lines]
----
[[10]]
==== lower case keywords
select name from customers where city = 'Oslo'
----
[["Björn"]]
==== mixed case
SeLeCt COUNT(*) FrOm Orders
----
[[5]]
==== values in from
SELECT column1 FROM (VALUES (3), (1), (2)) ORDER BY 1
----
[[1],[2],[3]]
==== lag and named window
SELECT placed, total - lag(total) OVER w FROM orders WHERE customer_id = 3 WINDOW w AS (ORDER BY placed)
----
[["2024-03-20T16:45:00",null],["2024-03-21T08:00:00",-258]]
==== ntile and percent_rank
SELECT ntile(2) OVER (ORDER BY id), round(percent_rank() OVER (ORDER BY id), 2) FROM orders LIMIT 1
----
[[1,0]]
==== window frame
SELECT avg(total) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM orders LIMIT 1
----
[[100.25]]
==== filter clause
SELECT count(*) FILTER (WHERE total > 50), sum(total) FILTER (WHERE note IS NULL) FROM orders
----
[[3,122]]
==== json_each
SELECT value FROM json_each('[1,"two",null]')
----
[[1],["two"],[null]]
==== json_tree and extract
SELECT json_extract('{"a":{"b":[1,2,3]}}', '$.a.b[2]'), (SELECT count(*) FROM json_tree('{"a":[1,2]}'))
----
[[3,4]]
==== json arrows
SELECT '{"a":{"b":5}}' -> 'a' ->> 'b'
----
[[5]]
==== json aggregate
SELECT json_group_array(id) FROM customers WHERE id < 3
----
[["[1,2]"]]
==== explain query plan
EXPLAIN QUERY PLAN SELECT * FROM customers WHERE id = 1
==== pragma table_info
PRAGMA table_info(customers)
==== pragma with quotes
PRAGMA table_info("order lines")
==== pragma index_list
PRAGMA index_list('order lines')
==== pragma foreign_key_list
PRAGMA foreign_key_list(orders)
==== pragma as a table
SELECT name FROM pragma_table_info('customers') WHERE pk > 0
----
[["id"]]
==== schema table
SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name
----
[["customers"],["order lines"],["orders"]]
==== schema table by its new name
SELECT count(*) FROM sqlite_schema WHERE type = 'view'
----
[[1]]
==== printf
SELECT printf('%.2f|%05d|%s', 3.14159, 42, 'x'), format('%,d', 1234567)
----
[["3.14|00042|x","1,234,567"]]
==== dates
SELECT date('2024-02-28', '+2 days'), strftime('%Y-%m', placed) AS m FROM orders WHERE id = 10
----
[["2024-03-01","2024-01"]]
==== julianday
SELECT CAST(julianday('2024-03-01') - julianday('2024-02-01') AS INTEGER), unixepoch('1970-01-02')
----
[[29,86400]]
==== datetime
SELECT datetime('2024-01-01 10:00:00', '-1 hour')
----
[["2024-01-01T09:00:00"]]
==== collate
SELECT name FROM customers WHERE name = 'ADA' COLLATE NOCASE
----
[["Ada"]]
==== case
SELECT sum(CASE WHEN total >= 100 THEN 1 ELSE 0 END) FROM orders
----
[[2]]
==== group_concat
SELECT group_concat(product, ', ') FROM (SELECT DISTINCT product FROM "order lines" ORDER BY 1)
----
[["chair, desk, ink, lamp, pen"]]
==== union, intersect, except
SELECT 1 UNION SELECT 2 EXCEPT SELECT 2 INTERSECT SELECT 1
----
[[1]]
==== outer joins
SELECT count(*) FROM customers c FULL OUTER JOIN orders o ON o.customer_id = c.id
----
[[6]]
==== natural join and using
SELECT count(*) FROM orders o JOIN "order lines" l ON l.order_id = o.id JOIN customers c ON c.id = o.customer_id
----
[[7]]
==== having
SELECT customer_id FROM orders GROUP BY customer_id HAVING count(*) > 1 ORDER BY 1
----
[[1],[3]]
==== schema-qualified
SELECT count(*) FROM main.customers
----
[[4]]
==== big integer
SELECT 9223372036854775807, -9007199254740993
----
[["9223372036854775807","-9007199254740993"]]
==== nulls and booleans
SELECT NULL, TRUE, 1 = 1, NULL IS NULL
----
[[null,1,1,1]]
==== blob literal
SELECT x'00ff'
----
[["blob, 2 bytes"]]
==== math
SELECT round(sqrt(2), 4), power(2, 10), ceil(1.2), mod(7, 4), round(pi(), 2)
----
[[1.4142,1024,2,3,3.14]]
==== text functions
SELECT upper('a'), length('naïve'), instr('hello', 'l'), substr('hello', 2, 3), trim('  x '), hex('a'), unicode('€'), char(65)
----
[["A",5,3,"ell","x","61",8364,"A"]]
==== is distinct from
SELECT 1 IS DISTINCT FROM NULL
----
[[1]]
==== row values
SELECT id FROM orders WHERE (customer_id, total) = (3, 42.0)
----
[[14]]
==== upsert words as text
SELECT 'ON CONFLICT DO UPDATE SET' AS "insert into"
==== parenthesised expression
SELECT ((((1 + 2)) * (3)))
----
[[9]]
==== random and zeroblob are harmless
SELECT length(zeroblob(10)), random() IS NOT NULL
----
[[10,1]]
==== iif, coalesce, nullif, ifnull
SELECT iif(1 > 0, 'y', 'n'), coalesce(NULL, 2), nullif(1, 1), ifnull(NULL, 'z')
----
[["y",2,null,"z"]]
==== regexp-like glob
SELECT name FROM customers WHERE name GLOB '[AB]*' ORDER BY 1
----
[["Ada"],["Björn"]]
==== distinct count
SELECT count(DISTINCT product) FROM "order lines"
----
[[5]]
==== between and in
SELECT count(*) FROM orders WHERE total BETWEEN 40 AND 130 AND customer_id IN (1, 3)
----
[[3]]
==== indexed by nothing
SELECT count(*) FROM orders NOT INDEXED
----
[[5]]
==== vertical layout
SELECT
	name	-- the name
	,
	city
FROM
	customers
WHERE	id=1
----
[["Ada","London"]]
==== windows line ends || quoted
"SELECT 1\r\n,2\r\nFROM customers\r\nWHERE id = 1\r\n"
----
[[1,2]]
==== form feed || quoted
"SELECT\f1"
----
[[1]]
