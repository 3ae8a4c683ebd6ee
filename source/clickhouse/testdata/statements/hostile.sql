==== kill
KILL QUERY WHERE 1
==== kill mutation
KILL MUTATION WHERE 1
==== system
SYSTEM SHUTDOWN
==== system stop merges
SYSTEM STOP MERGES
==== use
USE system
==== set
SET readonly = 0
==== settings
SELECT 1 SETTINGS max_execution_time = 0
==== settings in a subquery
SELECT * FROM (SELECT 1 SETTINGS readonly = 0)
==== settings as an alias
SELECT 1 SETTINGS
==== format
SELECT 1 FORMAT Native
==== format alone
SELECT 1 FORMAT
==== into outfile
SELECT 1 INTO OUTFILE '/tmp/footnote-out'
==== into outfile and format
SELECT * FROM customers INTO OUTFILE '/tmp/footnote-out' FORMAT CSV
==== url
SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')
==== url in capitals
SELECT * FROM URL('http://127.0.0.1:1/', 'CSV', 'a String')
==== url in quotes
SELECT * FROM `url`('http://127.0.0.1:1/', 'CSV', 'a String')
==== url with a comment
SELECT * FROM url/**/('http://127.0.0.1:1/', 'CSV', 'a String')
==== s3
SELECT * FROM s3('http://127.0.0.1:1/x', 'CSV')
==== s3 cluster
SELECT * FROM s3Cluster('c', 'http://127.0.0.1:1/x')
==== remote
SELECT * FROM remote('127.0.0.1', system.one)
==== remote secure
SELECT * FROM remoteSecure('127.0.0.1', 'system', 'one')
==== cluster
SELECT * FROM cluster('default', system.one)
==== file
SELECT * FROM file('/etc/passwd', 'LineAsString')
==== scalar file
SELECT file('/etc/passwd')
==== describe file
DESCRIBE TABLE file('/etc/passwd')
==== describe select
DESCRIBE (SELECT 1)
==== mysql
SELECT * FROM mysql('127.0.0.1:3306', 'a', 'b', 'c', 'd')
==== postgresql
SELECT * FROM postgresql('127.0.0.1:5432', 'a', 'b', 'c', 'd')
==== mongodb
SELECT * FROM mongodb('127.0.0.1:1', 'a', 'b', 'c', 'd', 'x Int32')
==== sqlite
SELECT * FROM sqlite('/tmp/x.db', 't')
==== hdfs
SELECT * FROM hdfs('hdfs://127.0.0.1:1/x', 'CSV')
==== jdbc
SELECT * FROM jdbc('x', 'y', 'z')
==== odbc
SELECT * FROM odbc('x', 'y', 'z')
==== executable
SELECT * FROM executable('x.sh', 'CSV', 'a String')
==== input
SELECT * FROM input('a String')
==== merge
SELECT * FROM merge('system', '.*')
==== view function
SELECT * FROM view(SELECT * FROM system.users)
==== dictionary function
SELECT * FROM dictionary('d')
==== iceberg
SELECT * FROM iceberg('http://127.0.0.1:1/x')
==== delta lake
SELECT * FROM deltaLake('http://127.0.0.1:1/x')
==== gcs
SELECT * FROM gcs('http://127.0.0.1:1/x')
==== azure
SELECT * FROM azureBlobStorage('a', 'b', 'c')
==== redis
SELECT * FROM redis('127.0.0.1:1', 'k', 'k String')
==== null function
SELECT * FROM null('x Int32')
==== fuzz json
SELECT * FROM fuzzJSON('x')
==== loop
SELECT * FROM loop(system.one)
==== generate random
SELECT * FROM generateRandom('x Int32')
==== system tables
SELECT * FROM system.users
==== system tables in a join
SELECT * FROM customers AS c JOIN system.query_log AS q ON 1 = 1
==== system tables in quotes
SELECT * FROM `system`.`one`
==== system tables in a subquery
SELECT (SELECT count() FROM system.processes)
==== system tables behind in
SELECT 1 IN system.one
==== a table behind in and a plus sign
SELECT 1 IN + orders
==== a table behind in, with an alias
SELECT 1 IN (orders o)
==== system tables behind in, in brackets and a plus sign
SELECT 1 IN (+ (system.one))
==== system tables behind in, in brackets
SELECT 1 IN (system.one)
==== table behind in
SELECT id FROM orders WHERE id IN numbers
==== table behind not in
SELECT id FROM orders WHERE id NOT IN (customers)
==== table behind global in
SELECT id FROM orders WHERE id GLOBAL IN customers
==== table behind in, in two brackets
SELECT id FROM orders WHERE id IN ((customers))
==== in as a function
SELECT in(1, system.one)
==== not in as a function
SELECT notIn(1, customers)
==== information schema
SELECT * FROM information_schema.tables
==== information schema in capitals
SELECT * FROM INFORMATION_SCHEMA.TABLES
==== another database
SELECT * FROM other.secrets
==== dict get
SELECT dictGet('d', 'a', 1)
==== join get
SELECT joinGet('j', 'a', 1)
==== sleep
SELECT sleep(3)
==== sleep each row
SELECT sleepEachRow(1) FROM orders
==== sleep in capitals
SELECT SLEEP(3)
==== current user
SELECT currentUser()
==== host name
SELECT hostName()
==== get setting
SELECT getSetting('max_threads')
==== get macro
SELECT getMacro('shard')
==== server uuid
SELECT serverUUID()
==== query id
SELECT queryID()
==== version
SELECT version()
==== throw if
SELECT throwIf(1)
==== introspection
SELECT addressToLine(0)
==== symbol
SELECT addressToSymbol(0)
==== demangle
SELECT demangle('x')
==== zookeeper
SELECT * FROM system.zookeeper WHERE path = '/'
==== filesystem
SELECT filesystemAvailable()
==== has column in table
SELECT hasColumnInTable('system', 'one', 'dummy')
==== catboost
SELECT catboostEvaluate('/tmp/x', 1)
==== model
SELECT modelEvaluate('x', 1)
==== user function
SELECT my_function(1)
==== show processlist
SHOW PROCESSLIST
==== show grants
SHOW GRANTS
==== show create
SHOW CREATE TABLE customers
==== exists
EXISTS TABLE customers
==== check
CHECK TABLE customers
==== optimize
OPTIMIZE TABLE customers FINAL
==== insert into function
INSERT INTO FUNCTION file('/tmp/x', 'CSV') SELECT 1
==== insert into table function url
INSERT INTO TABLE FUNCTION url('http://127.0.0.1:1/', 'CSV', 'a Int32') SELECT 1
==== alter delete
ALTER TABLE customers DELETE WHERE 1
==== alter update
ALTER TABLE customers UPDATE name = 'x' WHERE 1
==== alter freeze
ALTER TABLE customers FREEZE
==== alter fetch
ALTER TABLE customers FETCH PARTITION 1 FROM '/x'
==== detach
DETACH TABLE customers
==== attach
ATTACH TABLE customers
==== create dictionary
CREATE DICTIONARY d (a UInt8) PRIMARY KEY a SOURCE(NULL()) LAYOUT(FLAT()) LIFETIME(1)
==== create function
CREATE FUNCTION f AS x -> x
==== create user
CREATE USER u
==== create named collection
CREATE NAMED COLLECTION c AS a = 1
==== create temporary table
CREATE TEMPORARY TABLE x (a Int32)
==== exchange
EXCHANGE TABLES customers AND orders
==== move
MOVE ROLE r TO s
==== set role
SET ROLE ALL
==== backup
BACKUP TABLE customers TO File('/tmp/x')
==== restore
RESTORE TABLE customers FROM File('/tmp/x')
==== undrop
UNDROP TABLE customers
==== watch
WATCH customers
==== explain of a write
EXPLAIN INSERT INTO customers SELECT 1
==== explain with settings
EXPLAIN SELECT 1 SETTINGS readonly = 0
==== explain table override
EXPLAIN TABLE OVERRIDE mysql('127.0.0.1', 'a', 'b', 'c', 'd')
==== parameter
SELECT {x:UInt8}
==== from first
FROM system.users SELECT *
==== apply
SELECT * APPLY(sleep) FROM customers
==== columns apply
SELECT COLUMNS('.*') APPLY(file) FROM customers
==== lambda that is a function
WITH file AS f SELECT f('/etc/passwd')
==== function behind a dot
SELECT (1).file('/etc/passwd')
==== two statements with a comment
SELECT 1 -- x
; SYSTEM SHUTDOWN
==== string with an escaped quote
SELECT '\'; SYSTEM SHUTDOWN; --'; SELECT 2
==== heredoc
SELECT $x$a$x$
==== name with a quote
SELECT * FROM `a``b`
==== hash comment
# x
SYSTEM SHUTDOWN
==== table override
SELECT * FROM customers AS c, url('http://127.0.0.1:1/', 'CSV', 'a String') AS u
==== url in a union
SELECT 1 UNION ALL SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a Int32')
==== url in a cte
WITH x AS (SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a Int32')) SELECT * FROM x
==== url in exists
SELECT 1 WHERE EXISTS (SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a Int32'))
==== url in a join
SELECT * FROM customers JOIN url('http://127.0.0.1:1/', 'CSV', 'id Int32') AS u USING (id)
==== url behind array join
SELECT * FROM customers ARRAY JOIN url('http://127.0.0.1:1/') AS x
==== file in order by
SELECT 1 ORDER BY file('/etc/passwd')
==== file in limit
SELECT 1 LIMIT length(file('/etc/passwd'))
==== file in a window
SELECT sum(1) OVER (ORDER BY file('/etc/passwd'))
==== file in a combinator
SELECT fileIf('/etc/passwd', 1)
==== file in a lambda
SELECT arrayMap(x -> file(x), ['/etc/passwd'])
==== file in with fill
SELECT 1 AS n ORDER BY n WITH FILL TO length(file('/etc/passwd'))
==== file in sample
SELECT * FROM customers SAMPLE length(file('/etc/passwd'))
