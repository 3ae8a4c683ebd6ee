# What a person of acme, who may see the regions north and south, asks of the tables
# of filters.go. Each must be answered, and with these rows.

==== count
SELECT count(*) FROM orders
----
[[4]]
==== whole table
SELECT id, org, amount FROM orders ORDER BY id
----
[[1,"acme",10],[2,"acme",20],[3,"acme",30],[4,"acme",40]]
==== star
SELECT * FROM accounts ORDER BY id
----
[[1,"acme","north","Ada",5],[2,"acme","south","Bob",6]]
==== a condition
SELECT id FROM orders WHERE amount > 15 AND note LIKE 'own%' ORDER BY id
----
[[2],[3],[4]]
==== a join
SELECT a.name, sum(o.amount) FROM orders o JOIN accounts a ON a.id = o.account_id GROUP BY a.name ORDER BY a.name
----
[["Ada",40],["Bob",20]]
==== outer join
SELECT o.id, a.name FROM orders o LEFT JOIN accounts a ON a.id = o.account_id ORDER BY o.id
----
[[1,"Ada"],[2,"Bob"],[3,"Ada"],[4,null]]
==== subquery
SELECT name FROM accounts WHERE id IN (SELECT account_id FROM orders WHERE amount = 20)
----
[["Bob"]]
==== correlated
SELECT name, (SELECT count(*) FROM orders o WHERE o.account_id = a.id) AS n FROM accounts a ORDER BY name
----
[["Ada",2],["Bob",1]]
==== with
WITH big AS (SELECT * FROM orders WHERE amount > 25) SELECT count(*) FROM big
----
[[2]]
==== union
SELECT id FROM orders WHERE amount = 10 UNION ALL SELECT id FROM accounts WHERE name = 'Bob'
----
[[1],[2]]
==== window
SELECT id, row_number() OVER (ORDER BY amount DESC) AS n FROM orders ORDER BY n LIMIT 2
----
[[4,1],[3,2]]
==== recursive
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT n.i, o.amount FROM n JOIN orders o ON o.id = n.i ORDER BY 1
----
[[1,10],[2,20],[3,30]]
==== an open table
SELECT name FROM products ORDER BY name
----
[["lamp"],["pen"]]
==== an open and a filtered table
SELECT p.name, sum(o.amount) FROM products p JOIN orders o ON o.product_id = p.id GROUP BY 1 ORDER BY 1
----
[["lamp",60],["pen",40]]
==== a view over filtered tables
SELECT region, total FROM totals ORDER BY region
----
[["north",40],["south",20]]
==== a view with a filter of its own
SELECT id FROM large ORDER BY id
----
[[3],[4]]
==== a table that is asked who may
SELECT id FROM tickets ORDER BY id
----
[[1],[3]]
==== upper case
SELECT COUNT(*) FROM ORDERS AS O WHERE O.ORG = 'acme'
----
[[4]]
==== quoted
SELECT "orders"."id" FROM "orders" WHERE "orders"."id" = 3
----
[[3]]
==== no table
SELECT 1 + 1 AS two
----
[[2]]
==== group and having
SELECT account_id, count(*) AS n FROM orders GROUP BY account_id HAVING count(*) > 1
----
[[1,2]]
==== distinct
SELECT DISTINCT org FROM orders
----
[["acme"]]
==== least and most
SELECT min(amount), max(amount), sum(amount) FROM orders
----
[[10,40,100]]
==== exists
SELECT EXISTS (SELECT 1 FROM orders WHERE amount = 40) AS e, EXISTS (SELECT 1 FROM orders WHERE amount > 1000) AS f FROM products WHERE name = 'pen' AND 1 = 1
==== limit and offset
SELECT id FROM orders ORDER BY id LIMIT 2 OFFSET 1
----
[[2],[3]]
==== nobody else's
SELECT count(*) FROM orders WHERE org <> 'acme'
----
[[0]]
==== a column of one name with a table
SELECT orders.note FROM orders WHERE orders.id = 1
----
[["own note 1"]]
==== an error that only others would make
SELECT count(*) FROM tickets WHERE abs(CASE WHEN note = 'canary' THEN -9223372036854775807 - 1 ELSE 1 END) > 0
----
[[2]]
==== an error that only others would make, on an index
SELECT count(*) FROM orders WHERE note IN ('canary-globex-1-note-901', 'own note 1') AND abs(CASE WHEN note LIKE 'canary%' THEN -9223372036854775807 - 1 ELSE 1 END) > 0
----
[[1]]
==== an error that only others would make, in a join
SELECT count(*) FROM products p JOIN tickets t ON t.id = p.id AND abs(CASE WHEN t.note = 'canary' THEN -9223372036854775807 - 1 ELSE 1 END) > 0
----
[[1]]
==== a join by a column of one name
SELECT id, n FROM orders JOIN (SELECT account_id, count(*) AS n FROM orders GROUP BY account_id) x USING (account_id) ORDER BY id
----
[[1,2],[2,1],[3,2],[4,1]]
==== a full join of two results
WITH a AS (SELECT org, count(*) AS n FROM orders GROUP BY org), b AS (SELECT org, count(*) AS m FROM accounts GROUP BY org) SELECT org, n, m FROM a FULL JOIN b USING (org)
----
[["acme",4,2]]
==== a full join with an open table
SELECT id, name, n FROM (SELECT product_id AS id, count(*) AS n FROM orders GROUP BY 1) x FULL JOIN products USING (id) ORDER BY id
----
[[1,"lamp",3],[2,"pen",1]]
==== a join with an alias that is called as a hidden table
SELECT members.n FROM orders JOIN (SELECT 1 AS id, 7 AS n) members USING (id)
----
[[7]]
