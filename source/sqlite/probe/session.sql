# Statements that change the connection rather than the file. The engine's read-only mode does not stop them, so the
# gate and the authorizer must.
CREATE TEMP TABLE footnote_probe (a)
CREATE TEMP VIEW footnote_probe AS SELECT 1
PRAGMA query_only = OFF
PRAGMA journal_mode = DELETE
PRAGMA temp_store_directory = '/tmp'
PRAGMA wal_checkpoint
BEGIN
SAVEPOINT footnote_probe
SELECT load_extension('footnote_probe')
