# What the suite itself needs to say in Postgres's SQL.
==== endless
WITH RECURSIVE n(i) AS (SELECT 1::numeric UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n
==== rows
SELECT i FROM generate_series(1, 5000) AS t(i) ORDER BY i
==== echo
SELECT $1
