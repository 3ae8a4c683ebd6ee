# Statements that every engine must run.
==== plain
SELECT id, name FROM customers ORDER BY id LIMIT 2
----
[[1,"Ada"],[2,"Björn"]]
==== trailing semicolon
SELECT count(*) FROM orders;
----
[[5]]
==== injection inside a string
SELECT id FROM customers WHERE name = 'D''Arcy; DROP TABLE customers'
----
[[4]]
==== statement as a string
SELECT '; DELETE FROM orders; --' AS s
----
[["; DELETE FROM orders; --"]]
==== alias named delete
SELECT total AS "delete" FROM orders WHERE id = 12
----
[[15.25]]
==== table with a space
SELECT sum(quantity) FROM "order lines"
----
[[26]]
==== replace is a function
SELECT replace(name, 'ö', 'oe') FROM customers WHERE id = 2
----
[["Bjoern"]]
==== with
WITH t AS (SELECT customer_id, sum(total) AS s FROM orders GROUP BY 1) SELECT name, s FROM t JOIN customers ON id = customer_id ORDER BY s DESC
----
[["Chiyo",342],["Ada",200.5],["Björn",15.25]]
==== recursive with
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT sum(i) FROM n
----
[[55]]
==== materialized with
WITH t AS MATERIALIZED (SELECT 1 AS a), u AS NOT MATERIALIZED (SELECT a + 1 AS b FROM t) SELECT a, b FROM t, u
----
[[1,2]]
==== values
VALUES (1, 'a'), (2, 'b')
----
[[1,"a"],[2,"b"]]
==== window functions
SELECT id, row_number() OVER (ORDER BY total DESC) AS r, sum(total) OVER (PARTITION BY customer_id ORDER BY placed) FROM orders ORDER BY r LIMIT 2
----
[[13,1,300],[10,2,120.5]]
==== explain
EXPLAIN SELECT * FROM customers
==== string_agg with order
SELECT string_agg(name, '|' ORDER BY id DESC) FROM customers WHERE id < 4
----
[["Chiyo|Björn|Ada"]]
==== not exists
SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)
----
[["D'Arcy; DROP TABLE customers"]]
==== correlated subquery
SELECT name, (SELECT max(total) FROM orders o WHERE o.customer_id = c.id) FROM customers c WHERE id = 1
----
[["Ada",120.5]]
==== view
SELECT name, total FROM revenue ORDER BY total DESC LIMIT 1
----
[["Chiyo",342]]
==== limit with offset
SELECT id FROM orders ORDER BY id LIMIT 2 OFFSET 2
----
[[12],[13]]
==== no rows
SELECT * FROM orders WHERE id < 0
----
[]
==== unicode
SELECT '字 🎉 ñ' AS "über"
----
[["字 🎉 ñ"]]
==== semicolons and a comment at the end
SELECT 1;; -- done
----
[[1]]
==== mixed case names
SeLeCt COUNT(*) FrOm ORDERS WHERE Customer_ID = 3
----
[[2]]
==== with that hides a table
WITH orders AS (SELECT 1 AS a) SELECT * FROM orders
----
[[1]]
==== with in with
WITH a AS (WITH b AS (SELECT 2 AS x) SELECT x FROM b), c AS (SELECT x + 1 AS y FROM a) SELECT y FROM c
----
[[3]]
==== lag and named window
SELECT placed, total - lag(total) OVER w FROM orders WHERE customer_id = 3 WINDOW w AS (ORDER BY placed) ORDER BY placed
----
[["2024-03-20T16:45:00",null],["2024-03-21T08:00:00",-258]]
==== error text names what is wrong | failed
SELECT nme FROM customers
