# Statements that the gate must refuse, beyond those that every engine gets.
==== replace
REPLACE INTO customers VALUES (1, 'x', NULL, NULL, NULL)
==== insert select
INSERT INTO orders SELECT * FROM orders
==== insert set
INSERT customers SET id = 9
==== insert on duplicate key
INSERT INTO customers (id) VALUES (1) ON DUPLICATE KEY UPDATE name = 'x'
==== insert returning
INSERT INTO customers VALUES (9, 'x', NULL, NULL, NULL) RETURNING id
==== update of several tables
UPDATE customers c JOIN orders o ON o.customer_id = c.id SET c.name = 'x'
==== delete from several tables
DELETE c FROM customers c JOIN orders o ON o.customer_id = c.id
==== delete in a with
WITH x AS (SELECT 1) DELETE FROM orders WHERE id IN (SELECT * FROM x)
==== update in a with
WITH x AS (SELECT 1) UPDATE customers SET name = 'x'
==== insert in a with
INSERT INTO orders WITH x AS (SELECT * FROM orders) SELECT * FROM x
==== into outfile
SELECT * FROM customers INTO OUTFILE '/tmp/footnote-out-1'
==== into outfile before from
SELECT * INTO OUTFILE '/tmp/footnote-out-2' FROM customers
==== into dumpfile
SELECT 'x' INTO DUMPFILE '/tmp/footnote-out-3'
==== into a variable
SELECT id INTO @a FROM customers LIMIT 1
==== into a local variable
SELECT id INTO a FROM customers LIMIT 1
==== into after limit
SELECT id FROM customers LIMIT 1 INTO @a
==== into in a subquery
SELECT (SELECT id FROM customers LIMIT 1 INTO @a)
==== into in a union
SELECT 1 UNION SELECT 2 INTO OUTFILE '/tmp/footnote-out-4'
==== into in brackets
(SELECT 1 INTO OUTFILE '/tmp/footnote-out-5')
==== into hidden in a comment
SELECT 1 /*!50000 INTO OUTFILE '/tmp/footnote-out-6' */
==== into hidden in a comment of MariaDB
SELECT 1 /*M! INTO OUTFILE '/tmp/footnote-out-7' */
==== into hidden in a versioned comment of MariaDB
SELECT 1 /*M!100000 INTO OUTFILE '/tmp/footnote-out-8' */
==== comment without a version
SELECT 1 /*! , SLEEP(1) */
==== comment of MySQL 8
SELECT /*!80000 SLEEP(1), */ 1
==== comment with a high version
SELECT 1 /*!99999 + 1 */
==== comment of TiDB
SELECT 1 /*T! , SLEEP(1) */
==== comment as the first thing
/*! DROP TABLE customers */
==== comment that holds a statement
/*!50000 DELETE FROM orders */
==== comment inside a comment
SELECT 1 /* /*! */ , SLEEP(1) */
==== unfinished comment
SELECT 1 /* and then
==== unfinished code comment
SELECT 1 /*! , SLEEP(1)
==== for update
SELECT * FROM orders FOR UPDATE
==== for update nowait
SELECT * FROM orders FOR UPDATE NOWAIT
==== for update skip locked
SELECT * FROM orders FOR UPDATE SKIP LOCKED
==== for update wait
SELECT * FROM orders FOR UPDATE WAIT 1
==== for share
SELECT * FROM orders FOR SHARE
==== for share of a table
SELECT * FROM orders FOR SHARE OF orders
==== lock in share mode
SELECT * FROM orders LOCK IN SHARE MODE
==== lock in a subquery
SELECT * FROM (SELECT * FROM orders FOR UPDATE) x
==== lock in brackets
(SELECT * FROM orders FOR UPDATE)
==== lock in an expression
SELECT (SELECT id FROM orders LIMIT 1 FOR UPDATE)
==== lock in a with
WITH x AS (SELECT id FROM orders FOR UPDATE) SELECT * FROM x
==== procedure analyse
SELECT * FROM orders PROCEDURE ANALYSE()
==== sleep
SELECT SLEEP(10)
==== sleep in backticks
SELECT `sleep`(10)
==== sleep with a blank
SELECT sleep (10)
==== sleep with a comment
SELECT sleep/**/(10)
==== sleep in where
SELECT * FROM orders WHERE SLEEP(1) = 0
==== sleep in order by
SELECT id FROM orders ORDER BY SLEEP(1)
==== sleep in group by
SELECT count(*) FROM orders GROUP BY SLEEP(1)
==== sleep in having
SELECT count(*) FROM orders HAVING SLEEP(1) = 0
==== sleep in a join
SELECT * FROM orders a JOIN orders b ON SLEEP(1)
==== sleep in limit
SELECT * FROM orders LIMIT SLEEP(1)
==== sleep in a window
SELECT sum(total) OVER (ORDER BY SLEEP(1)) FROM orders
==== sleep in a named window
SELECT sum(total) OVER w FROM orders WINDOW w AS (PARTITION BY SLEEP(1))
==== sleep in an aggregate
SELECT GROUP_CONCAT(id ORDER BY SLEEP(1)) FROM orders
==== sleep in case
SELECT CASE WHEN SLEEP(1) THEN 1 END
==== sleep in an interval
SELECT NOW() + INTERVAL SLEEP(1) DAY
==== sleep in in
SELECT 1 IN (SLEEP(1))
==== sleep in between
SELECT 1 BETWEEN SLEEP(1) AND 2
==== sleep in like
SELECT 'a' LIKE SLEEP(1)
==== sleep in cast
SELECT CAST(SLEEP(1) AS CHAR)
==== sleep in convert
SELECT CONVERT(SLEEP(1) USING utf8mb4)
==== sleep in extract
SELECT EXTRACT(DAY FROM SLEEP(1))
==== sleep in trim
SELECT TRIM(LEADING SLEEP(1) FROM 'a')
==== sleep in substring
SELECT SUBSTRING('a' FROM SLEEP(1))
==== sleep in position
SELECT POSITION('a' IN SLEEP(1))
==== sleep in timestampdiff
SELECT TIMESTAMPDIFF(DAY, SLEEP(1), NOW())
==== sleep in match
SELECT MATCH (words) AGAINST (SLEEP(1)) FROM docs
==== sleep in values
VALUES (SLEEP(1))
==== sleep in json_table
SELECT * FROM JSON_TABLE(SLEEP(1), '$' COLUMNS (a INT PATH '$')) t
==== sleep in exists
SELECT EXISTS (SELECT SLEEP(1))
==== sleep in a row
SELECT (1, SLEEP(1)) = (1, 1)
==== sleep in explain
EXPLAIN SELECT SLEEP(1)
==== sleep qualified
SELECT mysql.sleep(1)
==== benchmark
SELECT BENCHMARK(100000000, MD5('x'))
==== get_lock
SELECT GET_LOCK('mine', 1)
==== release_lock
SELECT RELEASE_LOCK('mine')
==== release_all_locks
SELECT RELEASE_ALL_LOCKS()
==== is_used_lock
SELECT IS_USED_LOCK('mine')
==== load_file
SELECT LOAD_FILE('/etc/passwd')
==== load_file in a join
SELECT * FROM customers JOIN (SELECT LOAD_FILE('/etc/passwd') AS f) x
==== last_insert_id with a value
SELECT LAST_INSERT_ID(7)
==== found_rows
SELECT FOUND_ROWS()
==== row_count
SELECT ROW_COUNT()
==== uuid_short
SELECT UUID_SHORT()
==== master_pos_wait
SELECT MASTER_POS_WAIT('x', 1, 100)
==== master_gtid_wait
SELECT MASTER_GTID_WAIT('0-1-1', 100)
==== name_const
SELECT NAME_CONST('a', 1)
==== user
SELECT USER()
==== current_user
SELECT CURRENT_USER
==== current_user with brackets
SELECT CURRENT_USER()
==== session_user
SELECT SESSION_USER()
==== connection_id
SELECT CONNECTION_ID()
==== sys_exec
SELECT sys_exec('touch /tmp/footnote-out-9')
==== nextval
SELECT NEXTVAL(seq)
==== next value for
SELECT NEXT VALUE FOR seq
==== previous value for
SELECT PREVIOUS VALUE FOR seq
==== lastval
SELECT LASTVAL(seq)
==== setval
SELECT SETVAL(seq, 100)
==== nextval in backticks
SELECT `nextval`(seq)
==== nextval as a column of Oracle
SELECT seq.nextval()
==== function that writes
SELECT wipe()
==== function that writes, qualified
SELECT test1.wipe()
==== function that writes, in backticks
SELECT `wipe`()
==== function that shows a secret
SELECT peek()
==== function that writes, in a condition
SELECT * FROM customers WHERE wipe() = 1
==== view with a function
SELECT * FROM peeking
==== view over a view with a function
SELECT * FROM below
==== view that sleeps
SELECT * FROM sleepy
==== view that reads a file
SELECT * FROM files
==== view that takes a number
SELECT * FROM nextone
==== call
CALL tidy()
==== call in backticks
CALL `tidy`
==== do
DO SLEEP(1)
==== handler open
HANDLER customers OPEN
==== handler read
HANDLER customers READ FIRST
==== user variable
SELECT @a
==== assignment
SELECT @a := 1
==== assignment in a subquery
SELECT * FROM (SELECT @a := @a + 1 AS n FROM orders) x
==== assignment to a name
SELECT a := 1
==== system variable
SELECT @@version
==== global variable
SELECT @@GLOBAL.secure_file_priv
==== session variable
SELECT @@SESSION.sql_mode
==== variable as a name
SELECT @`a`
==== variable as a string
SELECT @'a'
==== set
SET @a = 1
==== set session
SET SESSION max_statement_time = 0
==== set global
SET GLOBAL general_log = 1
==== set names
SET NAMES gbk
==== set password
SET PASSWORD = PASSWORD('x')
==== set transaction
SET TRANSACTION READ WRITE
==== set role
SET ROLE NONE
==== set statement
SET STATEMENT max_statement_time = 0 FOR SELECT 1
==== set statement with a write
SET STATEMENT sql_mode = '' FOR DELETE FROM orders
==== start transaction read write
START TRANSACTION READ WRITE
==== start transaction
START TRANSACTION
==== savepoint
SAVEPOINT a
==== release
RELEASE SAVEPOINT a
==== xa
XA START 'a'
==== lock tables
LOCK TABLES orders WRITE
==== unlock tables
UNLOCK TABLES
==== flush
FLUSH TABLES WITH READ LOCK
==== reset
RESET QUERY CACHE
==== kill
KILL 1
==== kill query
KILL QUERY 1
==== shutdown
SHUTDOWN
==== use
USE mysql
==== load data
LOAD DATA INFILE '/etc/passwd' INTO TABLE customers
==== load data local
LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE customers
==== load xml
LOAD XML INFILE '/etc/passwd' INTO TABLE customers
==== load index
LOAD INDEX INTO CACHE orders
==== cache index
CACHE INDEX orders IN hot
==== prepare from a string
PREPARE s FROM 'DELETE FROM orders'
==== execute immediate
EXECUTE IMMEDIATE 'DELETE FROM orders'
==== deallocate
DEALLOCATE PREPARE s
==== begin not atomic
BEGIN NOT ATOMIC DELETE FROM orders; END
==== compound statement
IF 1 THEN DELETE FROM orders; END IF
==== declare
DECLARE a INT
==== signal
SIGNAL SQLSTATE '45000'
==== create temporary table
CREATE TEMPORARY TABLE x (a INT)
==== create temporary table as
CREATE TEMPORARY TABLE x SELECT * FROM orders
==== create function of a library
CREATE FUNCTION sys_exec RETURNS INTEGER SONAME 'udf.so'
==== create function
CREATE FUNCTION f() RETURNS INT RETURN 1
==== create procedure
CREATE PROCEDURE p() DELETE FROM orders
==== create trigger
CREATE TRIGGER t BEFORE INSERT ON orders FOR EACH ROW SET @a = 1
==== create event
CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO DELETE FROM orders
==== create or replace view
CREATE OR REPLACE VIEW revenue AS SELECT 1
==== create sequence
CREATE SEQUENCE s
==== alter sequence
ALTER SEQUENCE seq RESTART 100
==== alter table
ALTER TABLE customers ADD COLUMN a INT
==== alter user
ALTER USER CURRENT_USER() IDENTIFIED BY 'x'
==== create user
CREATE USER evil
==== create server
CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')
==== install plugin
INSTALL PLUGIN x SONAME 'x.so'
==== install soname
INSTALL SONAME 'x'
==== change master
CHANGE MASTER TO MASTER_HOST = 'x'
==== start slave
START SLAVE
==== purge logs
PURGE BINARY LOGS TO 'x'
==== binlog
BINLOG 'x'
==== optimize
OPTIMIZE TABLE orders
==== repair
REPAIR TABLE orders
==== check table
CHECK TABLE orders
==== checksum
CHECKSUM TABLE orders
==== analyze table
ANALYZE TABLE orders
==== analyze a select
ANALYZE SELECT SLEEP(1)
==== analyze as json
ANALYZE FORMAT=JSON SELECT 1
==== explain a delete
EXPLAIN DELETE FROM orders
==== explain an update
EXPLAIN UPDATE customers SET name = 'x'
==== explain an insert
EXPLAIN INSERT INTO orders SELECT * FROM orders
==== explain for a connection
EXPLAIN FOR CONNECTION 1
==== show explain
SHOW EXPLAIN FOR 1
==== show processlist
SHOW PROCESSLIST
==== show grants
SHOW GRANTS
==== show variables
SHOW VARIABLES
==== show status
SHOW GLOBAL STATUS
==== show create user
SHOW CREATE USER root@localhost
==== show warnings
SHOW WARNINGS
==== show engine
SHOW ENGINE INNODB STATUS
==== show master status
SHOW MASTER STATUS
==== show databases
SHOW DATABASES
==== show tables of another database
SHOW TABLES FROM mysql
==== help
HELP 'select'
==== users
SELECT * FROM mysql.user
==== users in backticks
SELECT * FROM `mysql`.`global_priv`
==== users in mixed case
SELECT * FROM MySQL.User
==== users in a subquery
SELECT * FROM customers WHERE EXISTS (SELECT 1 FROM mysql.user)
==== users by table
TABLE mysql.user
==== users in a join
SELECT * FROM customers, mysql.user
==== describe users
DESCRIBE mysql.user
==== processlist
SELECT * FROM information_schema.PROCESSLIST
==== user privileges
SELECT * FROM information_schema.USER_PRIVILEGES
==== system variables
SELECT * FROM information_schema.SYSTEM_VARIABLES
==== global status
SELECT * FROM information_schema.GLOBAL_STATUS
==== routines
SELECT * FROM information_schema.ROUTINES
==== definitions of views
SELECT VIEW_DEFINITION FROM information_schema.VIEWS
==== performance schema
SELECT * FROM performance_schema.events_statements_current
==== sys schema
SELECT * FROM sys.processlist
==== stacked after a dash comment
SELECT 1 -- ; DROP TABLE customers
; DROP TABLE customers
==== two dashes without a blank
SELECT 1--1; DROP TABLE customers
==== stacked after a hash comment
SELECT 1 # x
; DROP TABLE customers
==== stacked behind a delimiter
DELIMITER //
DROP TABLE customers//
==== backslash before the closing quote
SELECT 'a\'; DROP TABLE customers; -- '
; DROP TABLE customers
==== backslash for a server without escapes
SELECT 'a\' OR SLEEP(1) OR '\'' = '
==== quote in double quotes
SELECT "a' INTO OUTFILE '/tmp/footnote-out-10'
==== backtick that is not closed
SELECT `a
==== string in another character set
SELECT _gbk'a' INTO OUTFILE '/tmp/footnote-out-11'
==== introducer
SELECT _gbk'縗' OR SLEEP(1)
==== binary of GBK |  | quoted
"SELECT '\xbf\x27' OR SLEEP(1)"
==== full-width letters
ＳＥＬＥＣＴ ＳＬＥＥＰ(1)
==== no-break space |  | quoted
"SELECT\u00a01"
==== zero-width space |  | quoted
"SELECT 1\u200b; DROP TABLE customers"
==== semicolon in full width
SELECT 1； DROP TABLE customers
==== vertical tab and a statement |  | quoted
"DROP\vTABLE\fcustomers"
==== carriage return ends no comment |  | quoted
"SELECT 1 -- x\rINTO OUTFILE '/tmp/footnote-out-12'\n, SLEEP(1)"
==== question mark
SELECT ?
==== odbc escape
SELECT {fn SLEEP(1)}
==== odbc join
SELECT * FROM {oj customers LEFT JOIN orders ON 1}
==== default of a column
SELECT DEFAULT(name) FROM customers
==== values of a column
SELECT VALUES(name) FROM customers
==== weight_string
SELECT WEIGHT_STRING('a')
==== encrypt
SELECT ENCRYPT('a')
==== dynamic columns
SELECT COLUMN_GET(word, 'a' AS CHAR) FROM secret
==== unknown function
SELECT no_such_function(1)
==== returning
SELECT 1 RETURNING 2
==== oracle rownum with a write
BEGIN; DELETE FROM orders; END
==== limit rows examined
SELECT * FROM orders LIMIT 1 ROWS EXAMINED SLEEP(1)
==== sql_calc_found_rows
SELECT SQL_CALC_FOUND_ROWS * FROM orders
==== a set operation with a write
SELECT 1 UNION DELETE FROM orders
==== a subquery with a write
SELECT (DELETE FROM orders)
==== table function of a server
SELECT * FROM customers, LOAD_FILE('/etc/passwd')
==== select into a column list
SELECT 1 INTO (@a)
==== signal in a string of or
SELECT 1 || SLEEP(1)
==== partition that sleeps
SELECT * FROM parted PARTITION (SLEEP(1))
==== past that sleeps
SELECT * FROM old FOR SYSTEM_TIME AS OF SLEEP(1)
==== index hint that sleeps
SELECT * FROM orders USE INDEX (SLEEP(1))
==== into behind a condition
SELECT * FROM customers WHERE id = 1 INTO @x
==== table into a file
TABLE customers INTO OUTFILE '/tmp/footnote-out-13'
==== values into a file
VALUES (1) INTO OUTFILE '/tmp/footnote-out-14'
==== with into a file
WITH x AS (SELECT 1 AS a) SELECT * FROM x INTO OUTFILE '/tmp/footnote-out-15'
==== lock behind a union
SELECT 1 UNION (SELECT 2) FOR UPDATE
==== lock behind a limit
SELECT * FROM orders LIMIT 1 FOR UPDATE
==== sleep in values in from
SELECT * FROM (VALUES (SLEEP(1))) v
==== sleep in char
SELECT CHAR(SLEEP(1) USING utf8mb4)
==== sleep in lateral
SELECT * FROM customers c JOIN LATERAL (SELECT SLEEP(1)) x
==== sleep in the default of a window
SELECT SUM(total) OVER (ORDER BY id ROWS SLEEP(1) PRECEDING) FROM orders
==== sleep in repeat
SELECT REPEAT('a', SLEEP(1))
==== sleep in an arrow
SELECT SLEEP(1)->'$.a'
==== sleep in collate
SELECT SLEEP(1) COLLATE utf8mb4_bin
==== sleep under not
SELECT NOT SLEEP(1)
==== sleep under binary
SELECT BINARY SLEEP(1)
==== sleep in is null
SELECT SLEEP(1) IS NULL
==== sleep in rollup
SELECT COUNT(*) FROM orders GROUP BY ROLLUP (SLEEP(1))
==== sleep in a recursive with
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + SLEEP(1) FROM n) SELECT * FROM n
==== call in an expression
SELECT 1 WHERE 1 = (CALL tidy())
==== nextval of a sequence in its database
SELECT NEXTVAL(test1.seq)
==== describe a view of the server
DESC information_schema.PROCESSLIST
==== show create of users
SHOW CREATE TABLE mysql.user
==== show columns of users
SHOW COLUMNS FROM mysql.user
==== show index of users
SHOW INDEX FROM mysql.user
==== show tables of sys
SHOW TABLES IN sys
==== explain over users
EXPLAIN SELECT * FROM mysql.user
==== transactions of others
SELECT * FROM information_schema.INNODB_TRX
==== tables beside users
SELECT * FROM information_schema.TABLES t JOIN mysql.proc p
==== count of users in a function
SELECT COALESCE((SELECT COUNT(*) FROM mysql.global_priv), 0)
==== lock in a derived table in brackets
SELECT * FROM ((SELECT * FROM orders FOR UPDATE)) x
==== set in a comment of another version
SELECT 1 /*!100100 ; SET GLOBAL general_log = 1 */
==== comment that begins as a hint
SELECT /*!+ MAX_EXECUTION_TIME(1) */ SLEEP(1)
==== two statements in a comment
SELECT 1 /* ; */ ; /* */ SET @a = 1
==== statement behind a hash in a string |  | quoted
"SELECT '#' ; DELETE FROM orders"
==== backslash at the end of a string |  | quoted
"SELECT 'a\\\\' ; DELETE FROM orders -- '"
==== double quotes and a backslash |  | quoted
"SELECT \"a\\\"\" ; DELETE FROM orders -- \""
