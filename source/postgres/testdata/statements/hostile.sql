# Statements that must change nothing and show nothing that is not data.
==== insert on conflict
INSERT INTO customers VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = 'x'
==== create table
CREATE TABLE x (a integer)
==== temp table that hides another
CREATE TEMPORARY TABLE customers (id integer)
==== select into
SELECT * INTO x FROM customers
==== select into temp
SELECT * INTO TEMP customers FROM orders
==== create function
CREATE FUNCTION pg_temp.sum(text) RETURNS text LANGUAGE sql AS 'SELECT $1'
==== create operator
CREATE OPERATOR === (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4eq)
==== create extension
CREATE EXTENSION dblink
==== create role
CREATE ROLE x SUPERUSER
==== alter table
ALTER TABLE customers ADD COLUMN x integer
==== disable row security
ALTER TABLE customers DISABLE ROW LEVEL SECURITY
==== alter role
ALTER ROLE CURRENT_USER SUPERUSER
==== alter system
ALTER SYSTEM SET work_mem = '1GB'
==== delete in a with
WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d
==== update in a deep with
SELECT * FROM (WITH a AS (WITH u AS (UPDATE orders SET total = 0 RETURNING *) SELECT * FROM u) SELECT * FROM a) x
==== insert in a with of a set
SELECT 1 UNION ALL (WITH i AS (INSERT INTO customers VALUES (9, 'x') RETURNING id) SELECT id FROM i)
==== for update
SELECT * FROM customers FOR UPDATE
==== for share in a subquery
SELECT * FROM (SELECT * FROM customers FOR SHARE) x
==== stacked commit
COMMIT; DROP TABLE customers; SELECT 1
==== unfinished comment
SELECT 1 /* DROP
==== nested subqueries || template
SELECT {{repeat 300 "(SELECT "}}1{{repeat 300 ")"}}
==== read write
SET TRANSACTION READ WRITE
==== begin read write
BEGIN READ WRITE
==== savepoint
SAVEPOINT a
==== set timeout
SET statement_timeout = 0
==== set role
SET ROLE postgres
==== set session authorization
SET SESSION AUTHORIZATION DEFAULT
==== set local org
SET LOCAL footnote.org = 'other'
==== set search_path
SET search_path = other
==== reset
RESET ALL
==== discard
DISCARD ALL
==== set_config
SELECT set_config('footnote.org', 'other', true)
==== set_config in a with
WITH x AS MATERIALIZED (SELECT set_config('footnote.org', 'other', true) AS c) SELECT * FROM x, customers
==== set_config qualified
SELECT pg_catalog.set_config('statement_timeout', '0', false)
==== set_config in unicode escapes
SELECT U&"\0073et_config"('statement_timeout', '0', false)
==== set_config in order by
SELECT 1 ORDER BY set_config('statement_timeout', '0', false)
==== set_config in limit
SELECT 1 LIMIT length(set_config('statement_timeout', '0', false))
==== set_config in a window
SELECT sum(1) OVER (PARTITION BY set_config('a.b', 'c', false))
==== set_config in a filter
SELECT count(*) FILTER (WHERE set_config('a.b', 'c', false) = 'c') FROM orders
==== set_config in a join
SELECT 1 FROM orders JOIN customers ON set_config('a.b', 'c', false) = 'c'
==== set_config in values
VALUES (set_config('a.b', 'c', false))
==== set_config in a case
SELECT CASE WHEN set_config('a.b', 'c', false) = 'c' THEN 1 END
==== set_config in an array
SELECT ARRAY[set_config('a.b', 'c', false)]
==== set_config in a subscript
SELECT (ARRAY[1])[length(set_config('a.b', 'c', false))]
==== set_config in from
SELECT * FROM set_config('a.b', 'c', false)
==== set_config in rows from
SELECT * FROM ROWS FROM (set_config('a.b', 'c', false)) AS x
==== set_config in lateral
SELECT * FROM customers, LATERAL set_config('a.b', name, false)
==== set_config in having
SELECT 1 FROM orders GROUP BY id HAVING set_config('a.b', 'c', false) = 'c'
==== set_config as an argument of an aggregate's order
SELECT string_agg(note, ',' ORDER BY set_config('a.b', 'c', false)) FROM orders
==== set_config in tablesample
SELECT * FROM orders TABLESAMPLE bernoulli (length(set_config('a.b', 'c', false)))
==== set_config in grouping sets
SELECT 1 FROM orders GROUP BY GROUPING SETS ((set_config('a.b', 'c', false)))
==== set_config in a window frame
SELECT sum(1) OVER (ORDER BY 1 ROWS length(set_config('a.b', 'c', false)) PRECEDING)
==== set_config in explain analyze
EXPLAIN ANALYZE SELECT set_config('a.b', 'c', false)
==== current_setting
SELECT current_setting('footnote.org', true)
==== show all
SHOW ALL
==== show a setting
SHOW data_directory
==== current_user
SELECT current_user
==== session_user
SELECT session_user
==== current_database
SELECT current_database(), version()
==== pg_read_file
SELECT pg_read_file('PG_VERSION')
==== pg_read_file in from
SELECT * FROM pg_read_file('PG_VERSION')
==== pg_read_binary_file
SELECT pg_read_binary_file('PG_VERSION')
==== pg_ls_dir
SELECT pg_ls_dir('.')
==== pg_stat_file
SELECT * FROM pg_stat_file('PG_VERSION')
==== lo_create
SELECT lo_create(1)
==== lo_from_bytea
SELECT lo_from_bytea(0, 'x')
==== lo_import
SELECT lo_import('/etc/passwd')
==== lo_export
SELECT lo_export(1, '/tmp/footnote-hostile')
==== lo_get
SELECT lo_get(1)
==== copy to program
COPY customers TO PROGRAM 'cat > /tmp/footnote-hostile'
==== copy to file
COPY customers TO '/tmp/footnote-hostile'
==== copy to stdout
COPY customers TO STDOUT
==== copy from stdin
COPY customers FROM STDIN
==== pg_terminate_backend
SELECT pg_terminate_backend(1)
==== pg_cancel_backend over all
SELECT pg_cancel_backend(pid) FROM pg_stat_activity
==== pg_sleep
SELECT pg_sleep(10)
==== pg_sleep_for
SELECT pg_sleep_for('1 minute')
==== pg_reload_conf
SELECT pg_reload_conf()
==== pg_rotate_logfile
SELECT pg_rotate_logfile()
==== pg_switch_wal
SELECT pg_switch_wal()
==== pg_notify
SELECT pg_notify('a', 'b')
==== listen
LISTEN a
==== notify
NOTIFY a, 'b'
==== advisory lock
SELECT pg_advisory_lock(1)
==== try advisory lock
SELECT pg_try_advisory_xact_lock(1)
==== lock table
LOCK TABLE customers
==== nextval
SELECT nextval('seq')
==== setval
SELECT setval('seq', 100)
==== sequence as a table
SELECT last_value FROM seq
==== txid_current
SELECT txid_current()
==== pg_current_xact_id
SELECT pg_current_xact_id()
==== export snapshot
SELECT pg_export_snapshot()
==== logical message
SELECT pg_logical_emit_message(false, 'a', 'b')
==== create replication slot
SELECT pg_create_physical_replication_slot('x')
==== query_to_xml
SELECT query_to_xml('DELETE FROM orders', true, true, '')
==== table_to_xml
SELECT table_to_xml('customers', true, true, '')
==== database_to_xml
SELECT database_to_xml(true, true, '')
==== cursor_to_xml
SELECT cursor_to_xml('c', 1, true, true, '')
==== xmltable
SELECT * FROM XMLTABLE('/a' PASSING '<a/>' COLUMNS b text PATH 'b')
==== xmlparse
SELECT XMLPARSE(DOCUMENT '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>')
==== xpath
SELECT xpath('/a', '<a/>')
==== ts_stat
SELECT * FROM ts_stat('SELECT to_tsvector(name) FROM customers')
==== ts_rewrite
SELECT ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery')
==== dblink | refused
SELECT * FROM dblink('dbname=postgres', 'DELETE FROM orders') AS t(a text)
==== dblink_exec | refused
SELECT dblink_exec('dbname=postgres', 'DELETE FROM orders')
==== crosstab | refused
SELECT * FROM crosstab('SELECT 1, 2, 3') AS t(a int, b int)
==== own function that writes
SELECT wipe()
==== own function that is a definer's
SELECT peek()
==== own function in from
SELECT * FROM peek()
==== own function of another schema
SELECT other.peek()
==== own function as an attribute of a row
SELECT c.leak FROM customers c
==== own function as an attribute of a row in brackets
SELECT (c).leak FROM customers c
==== own function under a known name
SELECT upper(1)
==== own operator
SELECT 1 @@@ 2
==== own operator qualified
SELECT 1 OPERATOR(public.@@@) 2
==== volatile function of an extension
SELECT set_limit(0.1)
==== pg_authid
SELECT * FROM pg_authid
==== pg_roles
SELECT * FROM pg_roles
==== pg_shadow
SELECT * FROM pg_catalog.pg_shadow
==== pg_stat_activity
SELECT query FROM pg_stat_activity
==== pg_settings
SELECT * FROM pg_settings
==== pg_proc
SELECT prosrc FROM pg_proc
==== pg_stats
SELECT * FROM pg_stats
==== pg_hba
SELECT * FROM pg_hba_file_rules
==== pg_stat_activity as a name in a with elsewhere
SELECT * FROM (WITH pg_stat_activity AS (SELECT 1) SELECT 1) x, pg_stat_activity
==== relation named like a later with
WITH a AS (SELECT * FROM pg_roles), pg_roles AS (SELECT 1) SELECT * FROM a
==== relation hidden by its own name in a with that is not recursive
WITH pg_roles AS (SELECT * FROM pg_roles) SELECT * FROM pg_roles
==== table that may not be read
SELECT * FROM secret
==== partition of a table
SELECT * FROM parted_1
==== another database
SELECT * FROM postgres.public.customers
==== no such table
SELECT * FROM nowhere
==== temp schema
SELECT * FROM pg_temp.customers
==== toast
SELECT * FROM pg_toast.pg_toast_1262
==== regrole
SELECT 10::regrole
==== deallocate
DEALLOCATE ALL
==== declare cursor
DECLARE c CURSOR WITH HOLD FOR SELECT 1
==== fetch
FETCH ALL FROM c
==== do
DO $$ BEGIN DELETE FROM orders; END $$
==== call
CALL tidy()
==== load
LOAD 'auto_explain'
==== reindex
REINDEX TABLE customers
==== refresh
REFRESH MATERIALIZED VIEW counted
==== cluster
CLUSTER customers
==== explain a write
EXPLAIN UPDATE orders SET total = 0
==== explain analyze create
EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1
==== explain execute
EXPLAIN EXECUTE p
==== create policy
CREATE POLICY p ON customers USING (true)
==== security label
SECURITY LABEL ON TABLE customers IS 'x'
==== import foreign schema
IMPORT FOREIGN SCHEMA public FROM SERVER s INTO public
==== pg_file_write
SELECT pg_file_write('x', 'y', false)
==== inet_server_addr
SELECT inet_server_addr()
==== has_table_privilege
SELECT has_table_privilege('secret', 'SELECT')
==== pg_get_functiondef
SELECT pg_get_functiondef(1)
==== to_regclass
SELECT to_regclass('secret')
==== row_security_active
SELECT row_security_active('customers')
