# Statements that every database that runs statements over HTTP must refuse, one a line.
INSERT INTO customers VALUES (1, 'x')
INSERT INTO customers SELECT * FROM customers
INSERT OVERWRITE TABLE customers SELECT 1
INSERT ALL INTO customers SELECT 1
UPDATE customers SET name = 'x' WHERE 1 = 1
DELETE FROM customers WHERE 1 = 0
MERGE INTO customers USING orders ON 1 = 1 WHEN MATCHED THEN DELETE
MERGE customers AS t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT ROW
REPLACE INTO customers VALUES (1)
UPSERT INTO customers VALUES (1)
COPY INTO customers FROM 's3://bucket/x'
COPY INTO @stage FROM customers
PUT file:///etc/passwd @stage
GET @stage file:///tmp/x
LIST @stage
REMOVE @stage/x
EXPORT DATA OPTIONS (uri = 'gs://bucket/x-*', format = 'CSV') AS SELECT * FROM customers
LOAD DATA INTO customers FROM FILES (format = 'CSV', uris = ['gs://bucket/x'])
LOAD DATA INPATH 's3://bucket/x' INTO TABLE customers
UNLOAD (SELECT * FROM customers) TO 's3://bucket/x'
CREATE TABLE x (a INT)
CREATE OR REPLACE TABLE customers AS SELECT 1 AS id
CREATE TEMP TABLE x AS SELECT 1
CREATE TEMPORARY FUNCTION f(x INT64) AS (x)
CREATE TEMP FUNCTION f(x INT64) AS (x); SELECT f(1)
CREATE FUNCTION f() RETURNS INT RETURN 1
CREATE PROCEDURE p() BEGIN SELECT 1; END
CREATE EXTERNAL TABLE x OPTIONS (format = 'CSV', uris = ['gs://bucket/x'])
CREATE STAGE s URL = 's3://bucket/x'
CREATE SECRET s (TYPE x)
CREATE SCHEMA x
CREATE CATALOG x USING hive
CREATE ROLE r
CREATE USER u
CREATE SNAPSHOT TABLE x CLONE customers
CREATE VIEW v AS SELECT 1
CREATE MATERIALIZED VIEW v AS SELECT 1
CREATE TASK t SCHEDULE = '1 MINUTE' AS DELETE FROM customers
CREATE MODEL m OPTIONS (model_type = 'linear_reg') AS SELECT 1 AS label
ALTER TABLE customers ADD COLUMN x INT
ALTER TABLE customers RENAME TO c
ALTER SESSION SET TIMEZONE = 'UTC'
ALTER WAREHOUSE w SET WAREHOUSE_SIZE = 'XLARGE'
ALTER USER u SET PASSWORD = 'x'
DROP TABLE IF EXISTS customers
DROP SCHEMA x CASCADE
UNDROP TABLE customers
TRUNCATE TABLE customers
GRANT SELECT ON customers TO PUBLIC
REVOKE SELECT ON customers FROM PUBLIC
SET x = 1
SET SESSION query_max_run_time = '1h'
SET ROLE ALL
SET SESSION AUTHORIZATION other
RESET SESSION query_max_run_time
USE other
USE ROLE ACCOUNTADMIN
USE SECONDARY ROLES ALL
USE WAREHOUSE w
BEGIN TRANSACTION
START TRANSACTION
COMMIT TRANSACTION
ROLLBACK
DECLARE x INT64 DEFAULT 1
DECLARE x INT64 DEFAULT 1; SELECT x
BEGIN SELECT 1; END
BEGIN DELETE FROM customers; END
IF TRUE THEN SELECT 1; END IF
LOOP SELECT 1; END LOOP
CALL p()
CALL system.runtime.kill_query('x')
CALL BQ.ABORT_SESSION()
EXECUTE IMMEDIATE 'DELETE FROM customers'
EXECUTE TASK t
EXPLAIN ANALYZE SELECT 1
EXPLAIN ANALYZE DELETE FROM customers
EXPLAIN DELETE FROM customers
EXPLAIN USING TEXT DROP TABLE customers
DESCRIBE customers
DESC TABLE customers
SHOW TABLES
SHOW GRANTS
SHOW SESSION
SHOW SECRETS
ANALYZE TABLE customers COMPUTE STATISTICS
OPTIMIZE customers
VACUUM customers RETAIN 0 HOURS
REFRESH TABLE customers
CACHE TABLE customers
CLEAR CACHE
MSCK REPAIR TABLE customers
ADD JAR 's3://bucket/x.jar'
LIST JAR
COMMENT ON TABLE customers IS 'x'
KILL QUERY '1'
PREPARE p FROM DELETE FROM customers
EXECUTE p
DEALLOCATE PREPARE p
ASSERT FALSE
RAISE USING MESSAGE = 'x'
SELECT * INTO x FROM customers
SELECT * FROM customers FOR UPDATE
SELECT 1; DELETE FROM customers
SELECT 1; SELECT 2
SELECT 1 /* x */ ; DROP TABLE customers
SELECT 'x\'; DROP TABLE customers; --'; SELECT 2
WITH x AS (DELETE FROM customers RETURNING *) SELECT * FROM x
WITH x AS (INSERT INTO customers VALUES (1)) SELECT 1
SELECT * FROM (DELETE FROM customers)
SELECT (DELETE FROM customers)
SELECT * FROM EXTERNAL_QUERY('connection', 'DELETE FROM x')
SELECT * FROM ML.PREDICT(MODEL m, TABLE customers)
SELECT * FROM AI.GENERATE_TEXT(MODEL m, TABLE customers)
SELECT * FROM APPENDS(TABLE customers)
SELECT * FROM `other-project`.secrets.t
SELECT * FROM `other-project.secrets.t`
SELECT * FROM `region-eu`.INFORMATION_SCHEMA.JOBS
SELECT * FROM INFORMATION_SCHEMA.TABLES
SELECT * FROM information_schema.columns
SELECT * FROM system.runtime.queries
SELECT * FROM SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY
SELECT * FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY())
SELECT * FROM TABLE(RESULT_SCAN(LAST_QUERY_ID()))
SELECT * FROM TABLE(VALIDATE(customers, JOB_ID => 'x'))
SELECT * FROM TABLE(system.query(query => 'DELETE FROM x'))
SELECT * FROM TABLE(postgresql.system.query(query => 'DELETE FROM x'))
SELECT * FROM TABLE('customers')
SELECT * FROM IDENTIFIER('customers')
SELECT * FROM @stage
SELECT $1 FROM @stage/x.csv
SELECT * FROM 's3://bucket/x'
SELECT * FROM csv.`/etc/passwd`
SELECT * FROM delta.`s3://bucket/x`
SELECT * FROM read_files('s3://bucket/x')
SELECT * FROM http_request('x')
SELECT http_request(conn => 'x', method => 'GET', path => '/')
SELECT ai_query('model', 'x')
SELECT reflect('java.lang.System', 'exit', 1)
SELECT java_method('java.lang.System', 'exit', 1)
SELECT secret('scope', 'key')
SELECT current_user()
SELECT session_user()
SELECT SYSTEM$CANCEL_QUERY('x')
SELECT SYSTEM$WAIT(60)
SELECT SYSTEM$ABORT_SESSION(1)
SELECT CURRENT_ROLE()
SELECT GET_DDL('TABLE', 'customers')
SELECT other.my_function(1)
SELECT my_function(1)
SELECT SESSION_USER()
SELECT ERROR('x')
SELECT raise_error('x')
SELECT fail('x')
SELECT @@project_id
SELECT @x
SELECT ?
SELECT :x
SELECT &x
SELECT {{ x }}
SELECT `system`.`exec`(1)
SELECT "exec"(1)
SELECT "exec" (1)
SELECT exec /* */ (1)
SELECT 1 WHERE EXISTS (SELECT * FROM other_schema.secrets)
SELECT 1 UNION ALL SELECT id FROM other_schema.secrets
SELECT 1 WHERE 1 IN (SELECT id FROM other_schema.secrets)
SELECT * FROM customers JOIN other_schema.secrets ON 1 = 1
SELECT * FROM customers, LATERAL (SELECT * FROM other_schema.secrets) AS x
SELECT ARRAY(SELECT id FROM other_schema.secrets)
SELECT (SELECT MAX(id) FROM other_schema.secrets)
SELECT COUNT(*) FILTER (WHERE 1 IN (SELECT id FROM other_schema.secrets)) FROM customers
SELECT SUM(id) OVER (ORDER BY (SELECT 1 FROM other_schema.secrets)) FROM customers
SELECT CASE WHEN 1 = 1 THEN (SELECT 1 FROM other_schema.secrets) END
SELECT * FROM customers ORDER BY (SELECT 1 FROM other_schema.secrets)
SELECT * FROM customers LIMIT (SELECT 1 FROM other_schema.secrets)
SELECT * FROM customers MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS TRUE)
FROM customers INSERT INTO customers SELECT *
FROM customers |> AGGREGATE COUNT(*)
TABLE customers
