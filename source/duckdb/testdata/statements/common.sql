# What the suite itself needs to say in DuckDB's SQL.
==== endless
WITH RECURSIVE n(i) AS (SELECT 1::HUGEINT UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n
==== rows
SELECT i FROM range(1, 5001) t(i) ORDER BY i
==== echo
SELECT ?
