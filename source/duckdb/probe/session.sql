# Statements that change only a connection. The engine allows them, so the gate must not.
CREATE TEMP TABLE footnote_probe (a INTEGER)
CREATE TEMP MACRO sum(x) AS 0
SET VARIABLE footnote_probe = 1
SET schema = 'information_schema'
PREPARE footnote_probe AS SELECT 1
BEGIN
CHECKPOINT
CALL enable_logging()
PRAGMA enable_profiling
SELECT 1; CREATE TEMP TABLE footnote_probe (a INTEGER)
