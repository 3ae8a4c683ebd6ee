# Statements that must change nothing and show nothing that is not data.
==== stacked after a comment end
SELECT 1 /* ; */ ; DELETE FROM orders
==== stacked after a fake nested comment
SELECT 1 /* /* */ ; DROP TABLE orders -- */
==== stacked after a tricky quote
SELECT ''';' ; DROP TABLE orders; --'
==== stacked after brackets
SELECT [a;b] FROM (SELECT 1 AS [a;b]) ; DELETE FROM customers
==== stacked after an empty statement
;;; SELECT 1; COMMIT
==== stacked transaction end
SELECT 1; COMMIT; DROP TABLE customers
==== semicolon in a backtick name
SELECT `a;` FROM (SELECT 1 AS `a;`); DROP TABLE orders
==== nul at the start || quoted
"\x00DROP TABLE customers"
==== non-breaking space | refused failed | quoted
"SELECT\u00a01; DROP TABLE customers"
==== vertical tab | refused failed | quoted
"DROP\vTABLE customers"
==== unfinished comment | executed refused failed
SELECT 1 /* DROP
==== only a semicolon
;
==== insert
INSERT INTO customers (id, name) VALUES (9, 'Eve')
==== insert or replace
INSERT OR REPLACE INTO customers SELECT * FROM customers
==== replace statement
REPLACE INTO customers VALUES (1, 'Eve', NULL, NULL, NULL)
==== update
UPDATE customers SET name = 'Eve'
==== update from
UPDATE orders SET total = 0 FROM customers WHERE customers.id = customer_id
==== insert returning
INSERT INTO customers (id, name) VALUES (9, 'x') RETURNING id
==== with and insert
WITH x AS (SELECT 7 AS id, 'Eve' AS name) INSERT INTO customers (id, name) SELECT id, name FROM x
==== with and update
WITH x AS (SELECT 1) UPDATE customers SET name = 'Eve'
==== with and delete
WITH x(i) AS (SELECT 1) DELETE FROM orders WHERE id IN (SELECT i FROM x)
==== with and replace
WITH x AS (SELECT 1 AS a) REPLACE INTO customers (id, name) SELECT a, 'Eve' FROM x
==== recursive with and delete
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) DELETE FROM orders WHERE id IN n
==== insert inside a with | refused failed
WITH x AS (INSERT INTO customers (id, name) VALUES (9, 'x') RETURNING id) SELECT * FROM x
==== delete inside from | refused failed
SELECT * FROM (DELETE FROM orders RETURNING *)
==== explain of a delete
EXPLAIN DELETE FROM orders
==== explain query plan of an update
EXPLAIN QUERY PLAN UPDATE orders SET total = 0
==== explain attach
EXPLAIN ATTACH '/tmp/x.db' AS x
==== create table
CREATE TABLE evil (a)
==== create table as
CREATE TABLE evil AS SELECT * FROM customers
==== create temp table
CREATE TEMP TABLE customers AS SELECT 1 AS id
==== create temporary view that forges
CREATE TEMPORARY VIEW customers AS SELECT 1 AS id, 'Eve' AS name
==== create temp trigger
CREATE TEMP TRIGGER t AFTER INSERT ON customers BEGIN SELECT 1; END
==== create view
CREATE VIEW v AS SELECT 1
==== create virtual table
CREATE VIRTUAL TABLE ft USING fts5(a)
==== create virtual table over pages
CREATE VIRTUAL TABLE temp.p USING sqlite_dbpage
==== create trigger
CREATE TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM orders; END
==== alter add
ALTER TABLE customers ADD COLUMN x
==== attach
ATTACH DATABASE '/tmp/other.db' AS other
==== attach by uri
ATTACH 'file:/tmp/other.db?mode=rwc' AS other
==== attach with an expression
ATTACH '/tmp/' || 'x.db' AS x
==== detach
DETACH main
==== vacuum into
VACUUM INTO '/tmp/copy.db'
==== vacuum main into
VACUUM main INTO 'copy.db'
==== reindex
REINDEX
==== analyze
ANALYZE
==== begin exclusive
BEGIN EXCLUSIVE
==== savepoint
SAVEPOINT s
==== release
RELEASE s
==== pragma writable_schema
PRAGMA writable_schema = ON
==== pragma query_only off
PRAGMA query_only = OFF
==== pragma query_only as a call
PRAGMA query_only(0)
==== pragma in a comment disguise
PRAGMA /* table_info */ query_only = 0
==== pragma quoted
PRAGMA "query_only" = 0
==== pragma of main
PRAGMA main.query_only = 0
==== pragma journal_mode
PRAGMA journal_mode = DELETE
==== pragma journal_mode read
PRAGMA journal_mode
==== pragma wal_checkpoint
PRAGMA wal_checkpoint(TRUNCATE)
==== pragma user_version
PRAGMA user_version = 99
==== pragma temp_store_directory
PRAGMA temp_store_directory = '/tmp'
==== pragma hard_heap_limit
PRAGMA hard_heap_limit = 1
==== pragma soft_heap_limit
PRAGMA soft_heap_limit = 1
==== pragma cache_size
PRAGMA cache_size = 10000000
==== pragma mmap_size
PRAGMA mmap_size = 10000000000
==== pragma threads
PRAGMA threads = 8
==== pragma busy_timeout
PRAGMA busy_timeout = 100000
==== pragma trusted_schema
PRAGMA trusted_schema = ON
==== pragma locking_mode
PRAGMA locking_mode = EXCLUSIVE
==== pragma optimize
PRAGMA optimize
==== pragma integrity_check
PRAGMA integrity_check
==== pragma function_list
PRAGMA function_list
==== pragma compile_options
PRAGMA compile_options
==== pragma shrink_memory
PRAGMA shrink_memory
==== explain pragma
EXPLAIN PRAGMA query_only = 0
==== pragma then select
PRAGMA table_info(customers); SELECT 1
==== pragma table database_list
SELECT file FROM pragma_database_list
==== pragma table database_list quoted
SELECT * FROM "pragma_database_list"
==== pragma table database_list in another case
SELECT * FROM PRAGMA_DATABASE_LIST()
==== pragma table in a subquery
SELECT (SELECT group_concat(file) FROM pragma_database_list)
==== pragma table in a with
WITH f AS (SELECT file FROM main.pragma_database_list) SELECT * FROM f
==== pragma table function_list
SELECT name FROM pragma_function_list
==== pragma table module_list
SELECT name FROM pragma_module_list
==== pragma table compile_options
SELECT * FROM pragma_compile_options
==== pragma table query_only
SELECT * FROM pragma_query_only
==== pragma table journal_mode | refused failed
SELECT * FROM pragma_journal_mode('delete')
==== pragma table in a join
SELECT * FROM customers, pragma_database_list
==== pragma table in order by
SELECT 1 ORDER BY (SELECT file FROM pragma_database_list)
==== pragma table in exists
SELECT 1 WHERE EXISTS (SELECT * FROM pragma_database_list)
==== raw pages
SELECT data FROM sqlite_dbpage WHERE pgno = 1
==== raw pages quoted
SELECT hex(data) FROM [sqlite_dbpage]
==== raw pages as a function
SELECT * FROM sqlite_dbpage('main')
==== raw pages in another case
SELECT * FROM "SQLITE_DBPAGE"
==== count of raw pages
SELECT count(*) FROM sqlite_dbpage
==== dbstat
SELECT path FROM dbstat
==== dbstat in a union
SELECT 'x' UNION ALL SELECT name FROM main.dbstat
==== sqlite_stmt | refused failed
SELECT sql FROM sqlite_stmt
==== bytecode | refused failed
SELECT * FROM bytecode('SELECT 1')
==== fts5vocab | refused failed
SELECT * FROM fts5vocab
==== temp schema
SELECT * FROM sqlite_temp_schema
==== temp schema by the old name
SELECT * FROM temp.sqlite_master
==== load_extension
SELECT load_extension('/tmp/evil.so')
==== load_extension with an entry
SELECT load_extension('/tmp/evil', 'init')
==== load_extension quoted
SELECT "load_extension"('/tmp/evil.so')
==== load_extension in brackets and case
SELECT [LOAD_EXTENSION] ('x')
==== load_extension in a window | refused failed
SELECT sum(load_extension('x')) OVER () FROM customers
==== load_extension in order by
SELECT 1 FROM customers ORDER BY load_extension('x')
==== load_extension in limit
SELECT 1 LIMIT load_extension('x')
==== load_extension in a case never taken
SELECT CASE WHEN 0 THEN load_extension('x') END
==== load_extension in a values
VALUES (load_extension('x'))
==== fts3_tokenizer | refused failed
SELECT fts3_tokenizer('simple')
==== readfile | refused failed
SELECT readfile('/etc/passwd')
==== writefile | refused failed
SELECT writefile('/tmp/x', 'data')
==== edit | refused failed
SELECT edit('x', 'sh')
==== fsdir | refused failed
SELECT * FROM fsdir('/')
==== zipfile | refused failed
SELECT * FROM zipfile('/tmp/x.zip')
==== csv module | refused failed
SELECT * FROM csv('/etc/passwd')
==== generate through eval | refused failed
SELECT eval('DROP TABLE customers')
==== sqlite_log
SELECT sqlite_log(1, 'x')
==== sqlite_offset
SELECT sqlite_offset(id) FROM customers
==== compile options by function
SELECT sqlite_compileoption_get(1)
==== changes
SELECT changes(), total_changes(), last_insert_rowid()
==== rtreecheck
SELECT rtreecheck('customers')
==== fts5 internals | refused failed
SELECT fts5(?1)
==== fts5 source
SELECT fts5_source_id()
==== other schema | failed refused
SELECT * FROM other.customers
==== shell command | refused failed
.read /etc/passwd
==== copy | refused failed
COPY customers TO '/tmp/x'
==== select into | refused failed
SELECT * INTO OUTFILE '/tmp/x' FROM customers
==== set
SET x = 1
==== call
CALL evil()
==== truncate
TRUNCATE TABLE customers
==== merge
MERGE INTO customers USING orders ON 1 WHEN MATCHED THEN DELETE
==== end
END
==== too long || template
SELECT '{{repeat 70000 "x"}}'
==== too deep || template
SELECT {{repeat 300 "("}}1{{repeat 300 ")"}}
==== too deep subqueries || template
SELECT {{repeat 210 "(SELECT "}}1{{repeat 210 ")"}}
==== pragma function between others | failed refused
SELECT (SELECT 1 FROM pragma_data_version), (SELECT * FROM pragma_busy_timeout(99999999))
==== explain of a pragma that changes
EXPLAIN QUERY PLAN PRAGMA journal_mode=delete
==== explain of attach
EXPLAIN ATTACH 'x' AS y
==== statement in a bracketed name
SELECT [a;] FROM (SELECT 1 AS [a;]); DELETE FROM customers
==== tcl variable around a semicolon | refused failed
SELECT $x(; DELETE FROM customers)
