# Statements that look for rows of others in the SQL of MySQL and MariaDB.
==== bigint overflow
SELECT id FROM orders WHERE 9223372036854775807 + amount > 0
==== overflow in a join
SELECT COUNT(*) FROM products p LEFT JOIN orders o ON p.id = o.product_id AND EXP(o.amount) > 1
==== error by a subquery of two rows
SELECT id FROM orders o WHERE (SELECT id FROM orders x WHERE x.amount >= o.amount) > 0
==== error of an xml path
SELECT EXTRACTVALUE('<a/>', CONCAT('/', (SELECT note FROM orders LIMIT 1)))
==== error of updatexml
SELECT UPDATEXML('<a/>', CONCAT('~', note), 'x') FROM orders
==== error of a document
SELECT JSON_EXTRACT(note, CONCAT('$.', note)) FROM orders
==== explain
EXPLAIN SELECT * FROM orders
==== describe
DESCRIBE orders
==== show create
SHOW CREATE TABLE orders
==== show index
SHOW INDEX FROM orders
==== show table status
SHOW TABLE STATUS
==== estimates
SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_NAME = 'orders'
==== cardinality
SELECT CARDINALITY FROM information_schema.STATISTICS
==== statistics of the engine
SELECT * FROM mysql.innodb_table_stats
==== table
TABLE orders
==== table without a filter
TABLE payroll
==== index hint
SELECT * FROM orders FORCE INDEX (orders_note) WHERE note > 'canary'
==== full scan of an index
SELECT note FROM orders USE INDEX (orders_note) ORDER BY note
==== group_concat of others
SELECT GROUP_CONCAT(note ORDER BY note) FROM orders
==== rollup
SELECT org, COUNT(*) FROM orders GROUP BY org WITH ROLLUP
==== windows
SELECT id, COUNT(*) OVER (), LAG(note) OVER (ORDER BY id), LEAD(note) OVER (ORDER BY id) FROM orders
==== except
SELECT id FROM orders EXCEPT SELECT id FROM orders
==== lateral
SELECT * FROM accounts a, LATERAL (SELECT * FROM orders o WHERE o.account_id = a.id) x
==== json_table over notes
SELECT t.* FROM orders, JSON_TABLE(CONCAT('["', note, '"]'), '$[*]' COLUMNS (v VARCHAR(80) PATH '$')) t
==== right join
SELECT o.note, a.name FROM orders o RIGHT JOIN accounts a ON 1 = 1
==== straight join
SELECT STRAIGHT_JOIN o.note FROM accounts a, orders o WHERE o.account_id = a.id
==== view by its tables
SELECT o.note FROM totals, orders o
==== columns of the view's tables
SELECT o.amount FROM totals
==== user variable
SELECT @x := note FROM orders
==== procedure
SELECT * FROM orders PROCEDURE ANALYSE()
==== past
SELECT * FROM orders FOR SYSTEM_TIME ALL
==== a limit of its own
SELECT * FROM orders LIMIT 18446744073709551615
==== a condition that is always true
SELECT * FROM orders WHERE 1 = 1 OR org <> 'acme'
==== a comment in the filter's place
SELECT * FROM orders -- WHERE org = 'acme'
==== a collation
SELECT * FROM orders WHERE org COLLATE utf8mb4_bin > ''
==== a function that fails for others
SELECT POW(999, amount) FROM orders
==== generated column
SELECT shout FROM keyed
==== position in an enumeration
SELECT grade + 0, grade FROM keyed ORDER BY grade
==== conversion to an enumeration
SELECT k FROM keyed WHERE grade = 2 OR grade LIKE 'canary%'
==== duplicate key
SELECT k, COUNT(*) FROM keyed GROUP BY k HAVING COUNT(*) > 1
==== key of others
SELECT * FROM keyed WHERE k = 'canary-globex-1-note-901'
