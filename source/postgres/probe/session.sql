# Statements that need no write, and some of them no right, so only the gate stops them.
CREATE TEMP TABLE footnote_probe (a integer)
SELECT lo_create(0)
SET statement_timeout = 0
SET TRANSACTION READ WRITE
SELECT set_config('footnote.org', 'another', false)
SELECT pg_advisory_lock(1)
SELECT pg_notify('footnote', 'probe')
LISTEN footnote
PREPARE footnote_probe AS SELECT 1
DISCARD ALL
COMMIT
SELECT 1; SELECT 2
DO $$ BEGIN END $$
COPY (SELECT 1) TO PROGRAM 'true'
COPY (SELECT 1) TO STDOUT
SELECT pg_read_file('PG_VERSION')
SELECT pg_terminate_backend(1)
SELECT pg_sleep(1)
