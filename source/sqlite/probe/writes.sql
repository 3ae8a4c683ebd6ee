# Ways to write to the file. {target} is a new file in the child's own directory, the one place where nothing else would
# stop a write.
CREATE TABLE footnote_probe (a)
CREATE TABLE IF NOT EXISTS main.footnote_probe AS SELECT 1 AS a
DROP TABLE {table}
DELETE FROM {table}
UPDATE sqlite_schema SET sql = sql
INSERT INTO {table} DEFAULT VALUES
WITH x AS (SELECT 1) DELETE FROM {table}
ALTER TABLE {table} RENAME TO footnote_probe
CREATE INDEX footnote_probe ON {table} (rowid)
CREATE VIEW footnote_probe AS SELECT 1
PRAGMA user_version = 7
PRAGMA application_id = 7
PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql
VACUUM
VACUUM INTO '{target}'
ATTACH '{target}' AS footnote_probe; CREATE TABLE footnote_probe.t (a)
BEGIN IMMEDIATE; CREATE TABLE footnote_probe (a); COMMIT
