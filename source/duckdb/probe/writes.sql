# Ways to change the database or to reach outside it. {target} is a new file in the child's own directory, the one place
# where nothing else would stop a write.
CREATE TABLE footnote_probe (a INTEGER)
CREATE OR REPLACE TABLE {table} AS SELECT 1
DROP TABLE {table}
DELETE FROM {table}
INSERT INTO {table} SELECT * FROM {table}
ALTER TABLE {table} RENAME TO footnote_probe
CREATE VIEW footnote_probe AS SELECT 1
CREATE MACRO footnote_probe(x) AS x
CREATE SEQUENCE footnote_probe
CREATE TYPE footnote_probe AS ENUM ('a')
CREATE SCHEMA footnote_probe
COPY (SELECT 1) TO '{target}'
ATTACH '{target}' AS footnote_probe
EXPORT DATABASE '{target}'
INSTALL httpfs
LOAD httpfs
SET enable_external_access = true
SET lock_configuration = false
SET memory_limit = '100GB'
SELECT * FROM read_text('/etc/hostname')
