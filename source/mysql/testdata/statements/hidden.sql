# Statements that look for hidden columns in what MySQL and MariaDB have of their own.

==== backticks
SELECT `salary` FROM `staff`
==== backticks, of an alias
SELECT `s`.`SALARY` FROM `staff` AS `s`
==== backticks with blanks
SELECT s . `salary` FROM staff s
==== a string where a column could be
SELECT 'salary', "salary" FROM staff WHERE id = 1
==== another database
SELECT salary FROM nowhere.staff
==== information_schema in another case
SELECT COLUMN_NAME FROM INFORMATION_SCHEMA.Columns WHERE TABLE_NAME = 'staff'
==== information_schema in backticks
SELECT COLUMN_NAME FROM `information_schema`.`COLUMNS`
==== indexes
SELECT INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS
==== keys
SELECT COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
==== constraints
SELECT CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS
==== checks
SELECT CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS
==== references
SELECT * FROM information_schema.REFERENTIAL_CONSTRAINTS
==== comments
SELECT TABLE_COMMENT FROM information_schema.TABLES
==== partitions
SELECT PARTITION_EXPRESSION FROM information_schema.PARTITIONS
==== databases
SELECT SCHEMA_NAME FROM information_schema.SCHEMATA
==== privileges
SELECT COLUMN_NAME FROM information_schema.COLUMN_PRIVILEGES
==== usage by views
SELECT * FROM information_schema.VIEW_TABLE_USAGE
==== sizes
SELECT DATA_LENGTH, INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_NAME = 'staff'
==== statistics by column
SELECT column_name, min_value, max_value FROM mysql.column_stats
==== statistics by table
SELECT * FROM mysql.table_stats
==== statistics by index
SELECT * FROM mysql.index_stats
==== statistics of InnoDB
SELECT index_name, stat_name FROM mysql.innodb_index_stats
==== histograms
SELECT HISTOGRAM FROM information_schema.COLUMN_STATISTICS
==== dictionary of InnoDB
SELECT NAME FROM information_schema.INNODB_SYS_COLUMNS
==== performance schema
SELECT * FROM performance_schema.table_io_waits_summary_by_index_usage
==== sys
SELECT * FROM sys.schema_index_statistics
==== statements of others
SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest
==== DESCRIBE
DESCRIBE staff
==== DESC
DESC staff
==== EXPLAIN of a table
EXPLAIN staff
==== EXPLAIN of a hidden table
EXPLAIN dossiers
==== EXPLAIN in JSON
EXPLAIN FORMAT=JSON SELECT name FROM staff
==== EXPLAIN EXTENDED
EXPLAIN EXTENDED SELECT salary FROM staff
==== ANALYZE
ANALYZE SELECT * FROM staff
==== SHOW COLUMNS
SHOW COLUMNS FROM staff
==== SHOW FULL COLUMNS
SHOW FULL COLUMNS FROM staff LIKE 'sal%'
==== SHOW FIELDS
SHOW FIELDS IN staff
==== SHOW INDEX
SHOW INDEX FROM staff
==== SHOW KEYS
SHOW KEYS FROM staff
==== SHOW CREATE TABLE
SHOW CREATE TABLE staff
==== SHOW CREATE TABLE of a view
SHOW CREATE TABLE paid
==== SHOW CREATE VIEW
SHOW CREATE VIEW paid
==== SHOW TABLES
SHOW TABLES
==== SHOW FULL TABLES
SHOW FULL TABLES LIKE 'do%'
==== SHOW TABLE STATUS
SHOW TABLE STATUS LIKE 'staff'
==== SHOW WARNINGS
SHOW WARNINGS
==== HELP
HELP 'salary'
==== CHECKSUM
CHECKSUM TABLE staff
==== HANDLER
HANDLER staff OPEN
==== TABLE with ORDER BY
TABLE staff ORDER BY salary
==== TABLE of a hidden table
TABLE dossiers
==== TABLE of a view
TABLE paid
==== TABLE in a union
SELECT 1, 'a', 'b', 2 UNION ALL TABLE staff
==== TABLE in IN
SELECT 1 WHERE (1, 'Ada', 'north', 2019) IN (TABLE staff)
==== VALUES
VALUES (1, (SELECT salary FROM staff LIMIT 1))
==== VALUES of a column
SELECT VALUES(salary) FROM staff
==== VALUE of a column
SELECT VALUE(salary) FROM staff
==== the default of a column
SELECT DEFAULT(salary) FROM staff
==== the default of a visible column
SELECT DEFAULT(since) FROM staff
==== an index of the column by a hint
SELECT id FROM staff FORCE INDEX (staff_salary)
==== an index that is not there by a hint
SELECT id FROM staff FORCE INDEX (staff_nothing)
==== an index to ignore
SELECT id FROM staff IGNORE INDEX (staff_salary) ORDER BY id
==== the primary key by a hint
SELECT id FROM staff USE INDEX (PRIMARY) ORDER BY id
==== a hint of the optimizer
SELECT /*+ INDEX(staff staff_salary) */ id FROM staff
==== an executable comment
SELECT /*! salary */ FROM staff
==== an executable comment of MariaDB
SELECT /*M! salary, */ id FROM staff
==== the order of the smallest index
SELECT id FROM staff
==== the order of the smallest index, for one row
SELECT id FROM staff LIMIT 1
==== the order of the smallest index through a view
SELECT id FROM roster
==== the order of the smallest index in a text
SELECT GROUP_CONCAT(id) FROM staff
==== the order of the smallest index in JSON
SELECT JSON_ARRAYAGG(id) FROM staff
==== the order of the smallest index in a window
SELECT id, ROW_NUMBER() OVER () FROM staff
==== the order of groups
SELECT DISTINCT id FROM staff
==== a partition
SELECT * FROM staff PARTITION (p0)
==== the past
SELECT * FROM staff FOR SYSTEM_TIME ALL
==== the column in JSON
SELECT JSON_OBJECT('a', salary) FROM staff
==== the column in an array
SELECT JSON_ARRAYAGG(salary) FROM staff
==== the column in an object
SELECT JSON_OBJECTAGG(id, iban) FROM staff
==== the column in JSON_TABLE
SELECT t.v FROM staff s, JSON_TABLE(CONCAT('[', s.salary, ']'), '$[*]' COLUMNS (v INT PATH '$')) t
==== a path of a column
SELECT iban->'$.x' FROM staff
==== GROUP_CONCAT
SELECT GROUP_CONCAT(iban SEPARATOR ' ') FROM staff
==== GROUP_CONCAT by the order of the column
SELECT GROUP_CONCAT(name ORDER BY salary DESC) FROM staff
==== INSERT, the function
SELECT INSERT('abc', 1, 1, salary) FROM staff
==== MATCH
SELECT name FROM staff WHERE MATCH (iban) AGAINST ('canary')
==== MATCH of a visible column
SELECT name FROM staff WHERE MATCH (name) AGAINST ('Ada')
==== an interval
SELECT DATE '2024-01-01' + INTERVAL salary DAY FROM staff
==== IF
SELECT IF(salary > 6000, 1, 0) FROM staff
==== BINARY
SELECT BINARY iban FROM staff
==== REGEXP
SELECT name FROM staff WHERE iban REGEXP 'c.n'
==== a collation
SELECT name FROM staff ORDER BY iban COLLATE utf8mb4_bin
==== the null-safe comparison
SELECT name FROM staff WHERE salary <=> NULL
==== XOR
SELECT name FROM staff WHERE id = 1 XOR salary > 6000
==== HAVING without GROUP BY
SELECT name FROM staff HAVING salary > 6000
==== HAVING of an alias
SELECT name AS salary FROM staff HAVING salary > 'B' ORDER BY 1
==== GROUP BY with ROLLUP
SELECT salary, COUNT(*) FROM staff GROUP BY salary WITH ROLLUP
==== ORDER BY a position that is hidden
SELECT id, name, team, since FROM staff ORDER BY 5
==== ORDER BY an expression
SELECT name FROM staff ORDER BY -salary
==== MEDIAN
SELECT MEDIAN(salary) OVER () FROM staff
==== standard deviation
SELECT STDDEV(salary) FROM staff
==== STRAIGHT_JOIN
SELECT s.salary FROM teams t STRAIGHT_JOIN staff s ON s.team = t.team
==== natural left join, star
SELECT * FROM staff NATURAL LEFT JOIN bonuses ORDER BY id, amount
==== natural right join
SELECT amount, name FROM bonuses NATURAL RIGHT JOIN staff ORDER BY amount, name
==== nested joins
SELECT s.salary FROM (teams t JOIN (staff s JOIN bonuses b ON b.staff = s.id) ON s.team = t.team)
==== USING in nested joins
SELECT name FROM teams t JOIN (staff s JOIN bonuses b USING (salary)) ON s.team = t.team
==== LATERAL
SELECT x.salary FROM teams t, LATERAL (SELECT * FROM staff s WHERE s.team = t.team) x
==== a subquery with ALL
SELECT name FROM staff WHERE id = ALL (SELECT s.id FROM staff s WHERE s.salary > 7000)
==== a row of all columns
SELECT name FROM staff WHERE ROW(id, name, salary, team, iban, since) = ROW(1, 'Ada', 5100, 'north', 'x', 2019)
==== a row of a star
SELECT 1 WHERE (SELECT * FROM staff LIMIT 1) = (1, 'Ada', 5100, 'north', 'x', 2019)
==== the number of columns of a star
SELECT (SELECT * FROM staff LIMIT 1) = (1, 'Ada', 'north', 2019)
==== columns twice
SELECT * FROM (SELECT s.*, 1 AS salary FROM staff s) x ORDER BY id
==== columns twice, of two tables
SELECT * FROM (SELECT * FROM staff a, staff b) x
==== the name of a CTE as the gate writes it
SELECT * FROM `with staff`
==== a table with its database and column
SELECT nowhere.staff.salary FROM staff
==== _rowid
SELECT _rowid FROM staff
==== the internal row number
SELECT DB_ROW_ID FROM staff
==== a generated column
SELECT taxed FROM staff
==== a stored generated column
SELECT kept FROM staff
==== a generated column in a condition
SELECT name FROM staff WHERE taxed > 3000
==== a generated column in ORDER BY
SELECT name FROM staff ORDER BY kept DESC
==== a view of a generated column
SELECT * FROM rich_taxed
==== a view counts a view of a generated column
SELECT * FROM rich_many
==== a view that joins by it
SELECT * FROM rich_too
==== a view of a natural join
SELECT * FROM rich_natural
==== a view that sorts by it
SELECT * FROM rich_sorted
==== a view with it in a subquery
SELECT * FROM rich_inside
==== a view with it in a common table expression
SELECT * FROM rich_with
==== a view of a hidden table
SELECT * FROM rich_remarks
==== a column of the table below a view
SELECT staff.salary FROM roster
==== a hidden column of a view over a view
SELECT salary FROM rostered
==== a view with a common table expression
SELECT salary FROM named
==== its star
SELECT * FROM named ORDER BY name
==== an overflow
SELECT name FROM staff WHERE 9223372036854775807 + salary > 0
==== a division by zero
SELECT 1 / (salary - 5100) FROM staff
==== a conversion that fails
SELECT CAST(iban AS DATE) FROM staff
==== the error of an XML path
SELECT EXTRACTVALUE('<a/>', CONCAT('~', (SELECT iban FROM staff LIMIT 1)))
==== two rows where one may be
SELECT (SELECT salary FROM staff)
==== PROCEDURE ANALYSE
SELECT * FROM staff PROCEDURE ANALYSE()
==== into a variable
SELECT salary INTO @x FROM staff
==== a variable
SELECT @x := salary FROM staff
==== the last statement's number
SELECT LAST_INSERT_ID(salary) FROM staff
==== a wrong syntax that is quoted
SELECT id FROM staff WHERE MATCH (name) AGAINST (name IN BOOLEAN MODE)
==== accents
SELECT sálary FROM staff
==== a dotless i
SELECT ıban FROM staff
==== full width
SELECT ｓａｌａｒｙ FROM staff
==== a blank at the end
SELECT `salary ` FROM staff
==== a table with a blank at the end
SELECT * FROM `staff `
==== a table with accents
SELECT salary FROM stáff
