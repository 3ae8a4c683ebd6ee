# Statements that want more than they may have. 0.3 seconds each.
==== endless recursion
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n
==== cross join | limited
SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b
==== large sort | limited failed
SELECT i, repeat('x', 100) FROM generate_series(1, 30000000) t(i) ORDER BY md5(i::text)
==== one large text | limited failed
SELECT length(repeat('x', 1000000000))
==== one cell of 100 MB | limited
SELECT repeat('x', 100000000)
==== wide rows | executed limited
SELECT repeat('x', 900000) FROM generate_series(1, 100000)
==== all rows of a large range | executed limited
SELECT * FROM generate_series(1, 1000000000)
==== many joins | limited executed failed refused | template
SELECT count(*) FROM orders o0{{repeat 60 " JOIN (SELECT * FROM orders) AS x USING (customer_id)"}}
==== many unions | executed limited failed refused | template
SELECT 1{{repeat 300 " UNION ALL SELECT 1"}}
==== long chain of operators | executed limited failed refused | template
SELECT 1{{repeat 500 "+1"}}
==== long chain of ands | executed limited failed refused | template
SELECT 1=1{{repeat 6000 " AND true"}}
==== nested cases | refused failed limited executed | template
SELECT {{repeat 90 "CASE WHEN 1=1 THEN "}}1{{repeat 90 " END"}}
==== cube of many columns | refused failed limited executed
SELECT count(*) FROM orders GROUP BY CUBE (id, customer_id, placed, total, note, id + 1, id + 2, id + 3, id + 4, id + 5, id + 6)
