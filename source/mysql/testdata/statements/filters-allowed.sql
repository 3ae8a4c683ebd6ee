# Statements of the analyst over filtered tables, in the SQL of MySQL and MariaDB.
==== every engine: a full join of two results
WITH a AS (SELECT org, count(*) AS n FROM orders GROUP BY org), b AS (SELECT org, count(*) AS m FROM accounts GROUP BY org) SELECT org, n, m FROM a LEFT JOIN b USING (org)
==== every engine: a full join with an open table
SELECT p.id, name, n FROM (SELECT product_id AS id, count(*) AS n FROM orders GROUP BY 1) x RIGHT JOIN products p ON p.id = x.id ORDER BY p.id
==== its own database
SELECT COUNT(*) FROM orders o WHERE o.org = 'acme'
----
[[4]]
==== the columns of a table
SELECT orders.* FROM orders WHERE orders.id = 1
----
[[1,"acme",1,1,10,"own note 1"]]
