# Statements that must change nothing and show nothing that is not data.
==== insert by name
INSERT INTO customers BY NAME SELECT 9 AS id, 'x' AS name
==== insert returning
INSERT INTO customers SELECT 9, 'x', NULL, NULL, NULL RETURNING id
==== create table
CREATE TABLE x (a INTEGER)
==== create or replace
CREATE OR REPLACE TABLE customers AS SELECT 1
==== create temp table
CREATE TEMP TABLE customers2 AS SELECT 1 AS id
==== temp table that hides another
CREATE TEMPORARY TABLE customers (id INTEGER)
==== temp macro that falsifies
CREATE TEMP MACRO sum(x) AS 0
==== create function
CREATE OR REPLACE TEMPORARY FUNCTION abs(x) AS 42
==== create table macro
CREATE TEMP MACRO t() AS TABLE SELECT 1
==== create sequence
CREATE TEMP SEQUENCE s
==== create type
CREATE TYPE m AS ENUM ('a')
==== create schema
CREATE SCHEMA s
==== create secret
CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')
==== alter
ALTER TABLE customers ADD COLUMN x INTEGER
==== stacked first
DROP TABLE customers; SELECT 1
==== stacked create and select
CREATE TEMP TABLE z AS SELECT 1 AS a; SELECT * FROM z
==== stacked after a tricky quote
SELECT ''';' ; DROP TABLE customers; --'
==== stacked after a dollar quote
SELECT $$;$$; DROP TABLE customers
==== stacked three
;;; SELECT 1; COMMIT; DROP TABLE customers
==== unfinished comment
SELECT 1 /* DROP
==== nested lists || template
SELECT {{repeat 3000 "["}}1{{repeat 3000 "]"}}
==== nested nots || template
SELECT {{repeat 5000 "NOT "}}TRUE
==== nested minus || template
SELECT {{repeat 5000 "- "}}1
==== nested case || template
SELECT {{repeat 500 "CASE WHEN 1=1 THEN "}}1{{repeat 500 " END"}}
==== read_text
SELECT * FROM read_text('/etc/passwd')
==== read_blob of the file itself
SELECT * FROM read_blob('shop.duckdb')
==== read_csv
SELECT * FROM read_csv('secret.csv')
==== read_csv_auto
FROM read_csv_auto('/etc/passwd', delim = ':')
==== read_json
SELECT * FROM read_json_objects('/etc/passwd')
==== read_parquet
SELECT * FROM read_parquet('*.parquet')
==== parquet_scan
SELECT * FROM parquet_scan('x.parquet')
==== parquet_metadata
SELECT * FROM parquet_metadata('x.parquet')
==== read_duckdb
FROM read_duckdb('shop.duckdb')
==== sniff_csv
FROM sniff_csv('/etc/passwd')
==== glob
SELECT * FROM glob('/etc/*')
==== file as a table
SELECT * FROM 'secret.csv'
==== file as a quoted table
SELECT * FROM "secret.csv"
==== file with a path
FROM '/etc/passwd'
==== file in a join
SELECT * FROM customers JOIN 'secret.csv' s ON s.a = id
==== file in a subquery
SELECT (SELECT count(*) FROM 'secret.csv')
==== file in exists
SELECT 1 WHERE EXISTS (FROM 'secret.csv')
==== file in order by
SELECT 1 ORDER BY (SELECT a FROM 'secret.csv' LIMIT 1)
==== file in limit
SELECT 1 LIMIT (SELECT a FROM 'secret.csv')
==== file in a cte
WITH t AS (SELECT * FROM read_text('/etc/hostname')) SELECT 1
==== file in a cte that is not used
WITH t AS (FROM 'secret.csv') SELECT 1
==== file named like an inner cte
SELECT * FROM (WITH "secret.csv" AS (SELECT 1) SELECT 1), "secret.csv"
==== file named like a later cte
WITH a AS (FROM "secret.csv"), "secret.csv" AS (SELECT 1) FROM a
==== file in a lateral join
SELECT * FROM customers, LATERAL (SELECT * FROM read_text('/etc/hostname'))
==== file in a union
SELECT name FROM customers UNION SELECT content FROM read_text('/etc/hostname')
==== file in values
VALUES ((SELECT content FROM read_text('/etc/hostname')))
==== file in a list
SELECT [(SELECT a FROM 'secret.csv')]
==== file in a lambda
SELECT list_transform([1], lambda x: (SELECT a + x FROM 'secret.csv'))
==== file in a window
SELECT sum(1) OVER (ORDER BY (SELECT a FROM 'secret.csv'))
==== file in a filter
SELECT count(*) FILTER (WHERE (SELECT a FROM 'secret.csv') = 1) FROM orders
==== file in qualify
SELECT id FROM orders QUALIFY row_number() OVER () = (SELECT a FROM 'secret.csv')
==== file in grouping
SELECT 1 FROM orders GROUP BY (SELECT a FROM 'secret.csv')
==== file in columns
SELECT * REPLACE ((SELECT a FROM 'secret.csv') AS id) FROM customers
==== describe a file
DESCRIBE SELECT * FROM 'secret.csv'
==== describe a file by name
DESCRIBE 'secret.csv'
==== summarize a file
SUMMARIZE 'secret.csv'
==== summarize a function
SUMMARIZE SELECT * FROM read_csv('secret.csv')
==== explain a file
EXPLAIN SELECT * FROM read_text('/etc/passwd')
==== explain analyze a file
EXPLAIN ANALYZE SELECT * FROM 'secret.csv'
==== explain a write
EXPLAIN DROP TABLE customers
==== explain twice
EXPLAIN EXPLAIN SELECT 1
==== pivot of a file
PIVOT 'secret.csv' ON a USING sum(b)
==== pivot of a function
PIVOT read_csv('secret.csv') ON a USING sum(b)
==== pivot with a file in its values
PIVOT orders ON customer_id IN (SELECT a FROM 'secret.csv') USING sum(total)
==== pivot with a function
PIVOT orders ON (SELECT content FROM read_text('/etc/hostname')) USING sum(total)
==== pivot and stack
PIVOT orders ON customer_id USING sum(total); DROP TABLE customers
==== pivot that reads a setting
PIVOT orders ON current_setting('temp_directory') USING sum(total)
==== unpivot of a file
UNPIVOT 'secret.csv' ON a, b
==== pivot into a table
CREATE TABLE p AS PIVOT orders ON customer_id USING sum(total)
==== query function
SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')
==== query_table
SELECT * FROM query_table('secret.csv')
==== query_table of names
FROM query_table(['customers', 'secret.csv'])
==== json_execute_serialized_sql
SELECT * FROM json_execute_serialized_sql('{}')
==== json_serialize_sql
SELECT json_serialize_sql('SELECT 1')
==== json_deserialize_sql
SELECT json_deserialize_sql(json_serialize_sql('SELECT 1'))
==== json_serialize_plan
SELECT json_serialize_plan('SELECT 1')
==== getenv | refused failed
SELECT getenv('HOME')
==== current_setting
SELECT current_setting('temp_directory')
==== current_setting in upper case, quoted
SELECT "CURRENT_SETTING"('home_directory')
==== current_setting with a schema
SELECT main.current_setting('threads')
==== current_setting in the system database
SELECT system.main.current_setting('threads')
==== current_setting as a method
SELECT 'threads'.current_setting()
==== read_text in the system database
FROM system.main.read_text('/etc/passwd')
==== nextval
SELECT nextval('seq')
==== currval
SELECT currval('seq')
==== setseed
SELECT setseed(0.5)
==== getvariable
SELECT getvariable('x')
==== sleep
SELECT sleep_ms(5000)
==== pg_sleep
SELECT pg_sleep(5)
==== write_log
SELECT write_log('x')
==== current_query
SELECT current_query()
==== connection id
SELECT current_connection_id(), txid_current()
==== which_secret
FROM which_secret('s3://x', 's3')
==== duckdb_settings
SELECT * FROM duckdb_settings()
==== duckdb_databases
SELECT path FROM duckdb_databases()
==== duckdb_secrets
FROM duckdb_secrets()
==== duckdb_logs
FROM duckdb_logs
==== duckdb_logs as a function
FROM duckdb_logs()
==== duckdb_extensions
FROM duckdb_extensions()
==== duckdb_temporary_files
FROM duckdb_temporary_files()
==== duckdb_memory
FROM duckdb_memory()
==== duckdb_variables
FROM duckdb_variables()
==== duckdb_prepared_statements
FROM duckdb_prepared_statements()
==== duckdb_external_file_cache
FROM duckdb_external_file_cache()
==== pg_settings
SELECT * FROM pg_catalog.pg_settings
==== pragma_database_size
FROM pragma_database_size()
==== pragma_storage_info
FROM pragma_storage_info('customers')
==== pragma_table_info of a file
FROM pragma_table_info('secret.csv')
==== pragma_table_info of an expression
FROM pragma_table_info('cust' || 'omers')
==== pragma_show of a file
FROM pragma_show('secret.csv')
==== arrow_scan
FROM arrow_scan(1, 2, 3)
==== seq_scan
FROM seq_scan('customers')
==== histogram macro takes a name
FROM histogram('customers', id)
==== checkpoint function
FROM checkpoint()
==== enable_logging as a table
FROM enable_logging()
==== sql_auto_complete
FROM sql_auto_complete('SEL')
==== copy to
COPY customers TO 'out.csv'
==== copy of a query
COPY (SELECT 1) TO '/tmp/footnote-hostile.csv'
==== copy from
COPY customers FROM 'secret.csv'
==== copy database
COPY FROM DATABASE shop TO memory
==== export
EXPORT DATABASE 'dump'
==== import
IMPORT DATABASE 'dump'
==== attach
ATTACH 'other.duckdb' AS o
==== detach
DETACH shop
==== use
USE memory
==== install
INSTALL httpfs
==== load
LOAD 'x.duckdb_extension'
==== force install
FORCE INSTALL spatial FROM community
==== set
SET threads = 1
==== set global
SET GLOBAL memory_limit = '100GB'
==== set variable
SET VARIABLE x = 1
==== set schema
SET schema = 'information_schema'
==== set search_path
SET search_path = 'temp'
==== reset
RESET threads
==== pragma enable_profiling
PRAGMA enable_profiling
==== pragma as an assignment
PRAGMA memory_limit = '1GB'
==== pragma table_info of a file
PRAGMA table_info('secret.csv')
==== pragma import
PRAGMA import_database('dump')
==== pragma version and stack
PRAGMA table_info('customers'); DROP TABLE customers
==== call
CALL enable_logging()
==== call pragma
CALL pragma_version()
==== deallocate
DEALLOCATE p
==== force checkpoint
FORCE CHECKPOINT shop
==== select into
SELECT * INTO x FROM customers
==== for update
SELECT * FROM customers FOR UPDATE
==== write in a cte
WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d
==== macro of the database that reads a file
SELECT leak('/etc/hostname')
==== view of the database that reads settings
SELECT * FROM leaky
==== view over such a view
SELECT * FROM leaky2
==== describe such a view
DESCRIBE leaky
==== another database
SELECT * FROM temp.main.customers
==== system database
SELECT * FROM system.main.duckdb_settings
==== memory database
SELECT * FROM memory.main.x
==== no such table
SELECT * FROM nowhere
==== sequence as a table
SELECT * FROM seq
==== describe inside a query
FROM (SUMMARIZE 'secret.csv')
==== show a file
SHOW 'secret.csv'
==== table statement of a file
TABLE "secret.csv"
==== table statement of a text
TABLE 'secret.csv'
==== show tables of another database
SHOW TABLES FROM memory
==== table_info of a quoted file
FROM pragma_table_info('"secret.csv"')
==== file as an argument of range
SELECT * FROM range((SELECT a FROM 'secret.csv'))
==== table function as a scalar
VALUES (read_text('x'))
==== query in a lateral join
SELECT * FROM customers c JOIN LATERAL query('SELECT 1') q ON true
==== pivot with a setting
PIVOT customers ON city USING first(current_setting('threads'))
==== pivot on a column and a file
PIVOT customers ON city, (SELECT content FROM read_text('/etc/hostname')) USING count(*)
==== pivot in a with after a file
WITH f AS (FROM 'secret.csv'), p AS (PIVOT f ON a USING sum(b)) FROM p
==== explain options that hide a write
EXPLAIN (ANALYZE) DELETE FROM orders
==== explain options that hide a statement
EXPLAIN (FORMAT json) DROP TABLE customers
==== list_aggregate of a file function | failed refused
SELECT list_aggr(['/etc/hostname'], 'read_text')
==== macro of another schema under a known name
SELECT other.count('/etc/hostname') FROM customers
==== view that calls the macro of its own schema
SELECT * FROM other.leaky
==== describe a view that calls the macro of its own schema
DESCRIBE other.leaky
==== pivot on an expression with a second statement
PIVOT orders ON CAST(note AS VARCHAR) AS v FROM customers; DROP TABLE orders; -- USING sum(total)
==== file behind a common table expression of its name
WITH RECURSIVE "secret.csv" AS (SELECT 1 UNION ALL SELECT * FROM "secret.csv") FROM "./secret.csv"
==== sample size from a file
SELECT * FROM orders LIMIT (SELECT count(*) FROM glob('/*'))
==== explain that copies
EXPLAIN (FORMAT json SELECT 1) COPY orders TO 'out.csv'
==== settings behind a common table expression whose name folds to theirs
WITH "ducKdb_settings" AS (SELECT 1) SELECT * FROM duckdb_settings
==== databases behind a common table expression whose name folds to theirs
WITH "pragma_database_lİst" AS (SELECT 1) SELECT * FROM pragma_database_list
==== recursion that begins with the databases
WITH RECURSIVE duckdb_databases(a) AS (SELECT path FROM duckdb_databases UNION ALL SELECT a FROM duckdb_databases WHERE false) SELECT * FROM duckdb_databases
