# Statements that want more than they may have. 0.3 seconds each.
==== endless recursion
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT COUNT(*) FROM n
==== cross join | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT COUNT(*) FROM n a, n b, n c WHERE a.i + b.i + c.i > 0
==== large sort | limited failed
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900000) SELECT i, REPEAT('x', 100) FROM n ORDER BY MD5(i)
==== one large text | refused
SELECT LENGTH(REPEAT('x', 1000000000))
==== one cell of 2 MB | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100), s AS (SELECT GROUP_CONCAT(SPACE(1000)) AS x FROM n) SELECT CONCAT(x, x) FROM s
==== long text in a long text | refused
SELECT LOCATE(CONCAT(REPEAT('a', 500000), 'b'), REPEAT('a', 1000000))
==== long texts of a computed length | executed limited
SELECT LOCATE(CONCAT(REPEAT('a', 500 * 1000), 'b'), REPEAT('a', 1000 * 1000)), LENGTH(REPEAT(REPEAT('a', 20000), 1000)), LENGTH(SPACE(POW(10, 9))), LENGTH(LPAD('a', 10 * 1000000, 'b'))
==== replacing in a long text | refused
SELECT LENGTH(REGEXP_REPLACE(REPEAT('a', 1e7), 'a', 'b'))
==== text filled with zeros | refused
SELECT LENGTH(CAST('a' AS BINARY(16000000)))
==== wide rows | executed limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT REPEAT('x', 20000), i FROM n
==== regular expression that goes back | limited failed executed
SELECT REGEXP_SUBSTR(REPEAT('a', 20000), '(a+)+b')
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
==== nested brackets as deep as they may be | refused failed limited executed | template
SELECT {{repeat 70 "(1+"}}1{{repeat 70 ")"}}
==== nested queries | refused failed limited executed | template
SELECT * FROM {{repeat 60 "(SELECT * FROM "}}orders{{repeat 60 ") AS x"}}
==== group_concat of everything | executed limited failed
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900000) SELECT LENGTH(GROUP_CONCAT(i)) FROM n
