# What the suite itself needs to say in the SQL of MySQL and MariaDB.
==== endless
SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, information_schema.COLUMNS c WHERE a.COLUMN_NAME < b.COLUMN_NAME AND b.COLUMN_NAME < c.COLUMN_NAME
==== rows
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n ORDER BY i
==== echo
SELECT $1
