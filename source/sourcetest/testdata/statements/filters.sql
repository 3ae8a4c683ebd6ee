# Statements that look for rows of others, for every engine with filters. Whatever
# comes of one, it must be the same over two databases that differ in the rows of
# others alone.

==== qualified
SELECT * FROM main.orders
==== qualified count
SELECT count(*) FROM main.orders
==== qualified aggregate
SELECT min(note), max(note), sum(amount) FROM main.orders
==== qualified quoted
SELECT * FROM "main"."orders"
==== qualified upper
SELECT * FROM MAIN.ORDERS
==== shadowed by a CTE of the table's name
WITH orders AS (SELECT * FROM main.orders) SELECT * FROM orders
==== shadowed by what may be seen
WITH orders AS (SELECT * FROM orders WHERE amount > 25) SELECT count(*) FROM orders
==== shadowed twice
WITH orders AS (SELECT * FROM main.orders), x AS (SELECT * FROM orders) SELECT * FROM x
==== CTE named as another table
WITH accounts AS (SELECT * FROM main.orders) SELECT * FROM accounts
==== alias of the table's name
SELECT * FROM (SELECT * FROM main.orders) AS orders
==== CTE in a subquery
SELECT * FROM (WITH orders AS (SELECT * FROM main.orders) SELECT * FROM orders) AS orders
==== recursive CTE of the table's name
WITH RECURSIVE orders(id) AS (SELECT id FROM main.orders UNION SELECT id FROM orders) SELECT count(*) FROM orders
==== CTE that catches what a filter asks
WITH members(account, person) AS (SELECT id, 'ada' FROM products UNION SELECT 5, 'ada' UNION SELECT 6, 'ada' UNION SELECT 901, 'ada' UNION SELECT 902, 'ada') SELECT * FROM tickets ORDER BY id
==== CTE that catches it, materialized
WITH members AS MATERIALIZED (SELECT account, 'ada' AS person FROM tickets) SELECT count(*) FROM tickets
==== CTE of the table that a filter asks
WITH accounts(id) AS (SELECT 3 UNION SELECT id FROM tickets) SELECT * FROM tickets
==== recursive CTE of the table that a filter asks
WITH RECURSIVE accounts(id) AS (SELECT 3 UNION SELECT id + 1 FROM accounts WHERE id < 950) SELECT * FROM tickets
==== CTE of the table that a view reads
WITH orders(account_id, amount) AS (SELECT 1, 123456) SELECT * FROM totals
==== view beside the filter
SELECT * FROM leaky
==== view beside the filter, qualified
SELECT * FROM main.leaky
==== count of a view beside the filter
SELECT count(*) FROM leaky
==== view of the database, qualified
SELECT * FROM main.totals
==== view with a filter, qualified
SELECT * FROM main.large
==== table without a filter
SELECT * FROM payroll
==== count of a table without a filter
SELECT count(*) FROM payroll
==== table without a filter in a CTE of its name
WITH payroll AS (SELECT * FROM main.payroll) SELECT * FROM payroll
==== the table a filter asks
SELECT * FROM members
==== the table a filter asks, counted
SELECT count(*) FROM members
==== exists in a table without a filter
SELECT 1 AS x WHERE EXISTS (SELECT 1 FROM payroll WHERE salary > 10)
==== temporary
SELECT * FROM temp.orders
==== temporary main
SELECT count(*) FROM temp.main.orders
==== another database
SELECT * FROM shop.main.orders
==== its file's name
SELECT * FROM shop.orders
==== catalogue of tables
SELECT * FROM sqlite_master
==== catalogue of tables, qualified
SELECT * FROM main.sqlite_master
==== schema
SELECT * FROM sqlite_schema
==== information_schema
SELECT * FROM information_schema.tables
==== columns
SELECT * FROM information_schema.columns WHERE table_name = 'payroll'
==== statistics
SELECT * FROM sqlite_stat1
==== sequences
SELECT * FROM sqlite_sequence
==== explain
EXPLAIN SELECT * FROM orders WHERE note = 'canary-globex-1-note-901'
==== explain analyze
EXPLAIN ANALYZE SELECT * FROM orders
==== explain query plan
EXPLAIN QUERY PLAN SELECT * FROM orders
==== rowid
SELECT rowid, * FROM orders
==== largest rowid
SELECT max(rowid) FROM orders
==== condition that looks for others
SELECT count(*) FROM orders WHERE org = 'globex' OR 1 = 1
==== condition that negates
SELECT * FROM orders WHERE NOT (org = 'acme')
==== or in parentheses
SELECT * FROM orders WHERE (org = 'acme') OR (org = 'globex')
==== union with others
SELECT id FROM orders UNION SELECT id FROM main.orders
==== except
SELECT id FROM main.orders EXCEPT SELECT id FROM orders
==== intersect
SELECT id FROM orders INTERSECT SELECT id FROM main.orders
==== error in a condition, cast
SELECT count(*) FROM orders WHERE CAST(note AS INTEGER) > 0
==== error in a condition, division
SELECT count(*) FROM orders WHERE 1 / (amount - 901) > 0
==== error in a condition, overflow
SELECT count(*) FROM orders WHERE abs(CASE WHEN amount > 900 THEN -9223372036854775807 - 1 ELSE 1 END) > 0
==== error in a condition on an index
SELECT count(*) FROM orders WHERE note > '' AND abs(CASE WHEN note LIKE 'canary%' THEN -9223372036854775807 - 1 ELSE 1 END) > 0
==== error in a condition on an index, listed
SELECT count(*) FROM orders WHERE note IN ('canary-globex-1-note-901', 'own note 1') AND abs(CASE WHEN note LIKE 'canary%' THEN -9223372036854775807 - 1 ELSE 1 END) > 0
==== error in a condition, json
SELECT count(*) FROM orders WHERE json_extract(note, '$.a') IS NOT NULL
==== error in a select list
SELECT CAST(note AS INTEGER) FROM orders WHERE org = 'globex'
==== error under a case
SELECT sum(CASE WHEN org = 'globex' THEN CAST(note AS DATE) ELSE NULL END) FROM orders
==== error in a join
SELECT count(*) FROM orders o JOIN accounts a ON CAST(o.note AS INTEGER) = a.id
==== error in an order
SELECT id FROM orders ORDER BY CAST(note AS INTEGER)
==== error in a group
SELECT CAST(substr(note, 1, 3) AS INTEGER), count(*) FROM orders GROUP BY 1
==== error in having
SELECT org FROM orders GROUP BY org HAVING CAST(org AS INTEGER) > 1
==== error in a correlated subquery
SELECT (SELECT CAST(o.note AS INTEGER) FROM orders o WHERE o.account_id = a.id LIMIT 1) FROM accounts a
==== error in an aggregate's filter
SELECT count(*) FILTER (WHERE CAST(note AS INTEGER) > 0) FROM orders
==== error in a lateral
SELECT * FROM accounts a JOIN (SELECT account_id, CAST(note AS INTEGER) AS n FROM orders) x ON x.account_id = a.id
==== regular expression as a condition
SELECT count(*) FROM orders WHERE note LIKE 'canary%'
==== long pattern
SELECT count(*) FROM orders WHERE note GLOB '*globex*' OR note LIKE '%'
==== self join
SELECT count(*) FROM orders a, orders b
==== cross join with others
SELECT count(*) FROM orders, payroll
==== natural join
SELECT count(*) FROM orders NATURAL JOIN payroll
==== using
SELECT count(*) FROM orders JOIN main.accounts USING (org)
==== in a subquery of others
SELECT count(*) FROM accounts WHERE id IN (SELECT account_id FROM main.orders)
==== scalar of others
SELECT (SELECT count(*) FROM main.orders) AS n
==== scalar of others in a default
SELECT coalesce((SELECT note FROM main.orders WHERE org = 'globex' LIMIT 1), 'none') AS n
==== in order by
SELECT id FROM orders ORDER BY (SELECT count(*) FROM main.orders)
==== in limit
SELECT 1 AS a FROM products LIMIT (SELECT count(*) FROM main.payroll)
==== in a window
SELECT id, sum((SELECT count(*) FROM payroll)) OVER (ORDER BY id) FROM orders
==== in values
VALUES ((SELECT count(*) FROM main.orders))
==== two statements
SELECT 1; SELECT * FROM main.orders
==== writing a view
CREATE TEMP VIEW orders2 AS SELECT * FROM main.orders
==== dropping the filter
DROP VIEW orders
==== dropping the filter, qualified
DROP VIEW temp.orders
==== attaching
ATTACH 'shop.db' AS other
==== ending the transaction
COMMIT
==== rolling back
ROLLBACK
==== comment
SELECT * /* FROM orders */ FROM main /* */ . /* */ orders
==== unicode spaces
SELECT * FROM main . orders
==== name in brackets
SELECT * FROM [main].[orders]
==== other case of a letter beyond ASCII
SELECT * FROM ÖFFENTLICH
==== its own case
SELECT * FROM öffentlich
==== foreign in an aggregate of text
SELECT group_concat(note) FROM orders
==== foreign in json
SELECT json_group_array(note) FROM main.orders
==== unknown column of a hidden table
SELECT nothing FROM payroll
==== unknown table
SELECT * FROM orders_backup
==== a column of the view below
SELECT * FROM orders WHERE payroll.salary > 1
==== sampled
SELECT count(*) FROM (SELECT * FROM orders LIMIT 100)
==== table named in a string
SELECT * FROM 'orders'
==== hidden table named in a string
SELECT * FROM 'payroll'
==== a literal that ends the condition
SELECT * FROM orders WHERE note = 'x'') OR (''1''=''1'
==== full join by columns of one name
SELECT note FROM main.orders FULL JOIN orders USING (note)
==== full join with one row
SELECT note, org, amount FROM main.orders FULL JOIN (SELECT '' AS note, '' AS org, 0 AS amount) x USING (note, org, amount)
==== full join with a table without a filter
SELECT person, salary FROM payroll FULL JOIN (SELECT '' AS person, 0 AS salary) x USING (person, salary)
==== natural full join with a table without a filter
SELECT * FROM "payroll" NATURAL FULL JOIN (SELECT '' AS person, '' AS org, 0 AS salary) x
==== natural left join
SELECT count(*) FROM main.orders NATURAL LEFT JOIN (SELECT '' AS note) x
==== join that asks for a value
SELECT x.salary FROM (SELECT 901000 AS salary UNION SELECT 900000) x LEFT JOIN payroll USING (salary)
==== join that counts
SELECT count(*) FROM members JOIN orders ON 1 = 1 JOIN payroll USING (person)
==== join by columns of one name, qualified in comments
SELECT note FROM "main"/**/./**/"orders" FULL JOIN orders USING (note)
==== join by columns of one name in a CTE
WITH m AS (SELECT note FROM main.orders FULL JOIN (SELECT '' AS note) x USING (note)) SELECT * FROM m
==== full join with the catalogue
SELECT sql FROM sqlite_master FULL JOIN (SELECT '' AS sql) x USING (sql)
