# Ways to change the database or to reach outside it. READ ONLY refuses each, or the role lacks the right.
CREATE TABLE footnote_probe (a integer)
CREATE TABLE footnote_probe AS SELECT 1 AS a
SELECT 1 AS a INTO footnote_probe
DELETE FROM {table}
UPDATE {table} SET footnote_probe = 1
WITH x AS (DELETE FROM {table} RETURNING 1) SELECT * FROM x
TRUNCATE {table}
DROP TABLE {table}
ALTER TABLE {table} RENAME TO footnote_probe
CREATE VIEW footnote_probe AS SELECT 1
CREATE FUNCTION footnote_probe() RETURNS integer LANGUAGE sql AS 'SELECT 1'
CREATE SCHEMA footnote_probe
CREATE SEQUENCE footnote_probe
CREATE ROLE footnote_probe
CREATE EXTENSION dblink
GRANT ALL ON {table} TO PUBLIC
COMMENT ON TABLE {table} IS 'footnote_probe'
VACUUM
CREATE DATABASE footnote_probe
ALTER SYSTEM SET work_mem = '1GB'
