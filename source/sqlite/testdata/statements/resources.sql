# Statements that want too much. Each must end at its limit of 0.3 seconds; a few
# may be refused or cut before.
==== endless recursion | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n
==== endless rows | executed limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n
==== endless after the first row | limited
SELECT 1 UNION ALL SELECT * FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n)
==== endless distinct recursion | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT (i * 16807) % 2147483647 FROM n) SELECT count(*) FROM n
==== growing text recursion | limited
WITH RECURSIVE n(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM n) SELECT count(*) FROM n
==== cross join | limited
SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e, orders f, orders g, orders h, orders i, orders j, orders k, orders l, orders m
==== cross join of a cte | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT count(*) FROM n a, n b, n c
==== huge sort | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT i FROM n ORDER BY hex(i) || i DESC
==== huge distinct | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT count(DISTINCT hex(i)) FROM n
==== huge group by | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT i, count(*) FROM n GROUP BY i ORDER BY 2
==== huge window | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT sum(i) OVER (ORDER BY i DESC) FROM n
==== huge zeroblob | limited
SELECT hex(zeroblob(1000000000))
==== nested zeroblobs | limited
SELECT length(hex(hex(hex(zeroblob(4000000)))))
==== huge randomblob | limited
SELECT length(randomblob(999999999))
==== huge printf width | limited failed
SELECT printf('%1000000000d', 1)
==== huge printf by argument | limited failed
SELECT length(printf('%.*c', 1000000000, 'x'))
==== huge format precision | limited failed executed
SELECT length(format('%.1000000000f', 1.0))
==== replace blow-up | limited
SELECT length(replace(replace(replace(hex(zeroblob(1000)), '0', '0000000000'), '0', '0000000000'), '0', '0000000000000000000000000000000000000000'))
==== group_concat blow-up | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000) SELECT length(group_concat(hex(zeroblob(100)))) FROM n
==== json array blow-up | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT length(json_group_array(i)) FROM n
==== like bomb | limited failed executed || template
SELECT count(*) FROM customers WHERE hex(zeroblob(50000)) LIKE '{{repeat 40 "%0"}}%1'
==== glob bomb | limited failed executed
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT count(*) FROM n WHERE hex(zeroblob(2000)) GLOB '*0*0*0*0*0*0*0*1'
==== like pattern too long | failed limited | template
SELECT 'x' LIKE '{{repeat 5000 "%a"}}'
==== deep expression | failed executed | template
SELECT {{repeat 150 "("}}1{{repeat 150 " + 1)"}}
==== long expression chain | failed | template
SELECT 1{{repeat 3000 " + 1"}}
==== many nots | failed | template
SELECT {{repeat 5000 "NOT "}}1
==== many minus signs | failed executed | template
SELECT {{repeat 5000 "- "}}1
==== deep case | failed executed | template
SELECT {{repeat 150 "CASE WHEN 1 THEN "}}1{{repeat 150 " END"}}
==== thousand-way compound | failed | template
SELECT 1{{repeat 1000 " UNION ALL SELECT 1"}}
==== many columns | failed | template
SELECT 1{{repeat 3000 ",1"}}
==== many function arguments | failed | template
SELECT max(1{{repeat 500 ",1"}})
==== many joins | failed | template
SELECT count(*) FROM orders{{repeat 70 ", orders"}}
==== many ctes | failed limited executed | template
WITH a0 AS (SELECT 1){{repeat 900 ", b AS (SELECT 1)"}} SELECT 1
==== exponential views by cte | limited failed
WITH a AS (SELECT 1 AS x UNION ALL SELECT 2), b AS (SELECT a.x FROM a, a a2, a a3, a a4), c AS (SELECT b.x FROM b, b b2, b b3, b b4), d AS (SELECT c.x FROM c, c c2, c c3, c c4) SELECT count(*) FROM d
==== wide in list | executed failed | template
SELECT count(*) FROM orders WHERE id IN (1{{repeat 10000 ",1"}})
==== too many rows | executed
SELECT a.id FROM orders a, orders b, orders c, orders d, orders e, orders f, orders g
==== json depth | failed executed | template
SELECT json_valid('{{repeat 2000 "["}}{{repeat 2000 "]"}}')
==== json tree of a large text | limited executed
SELECT count(*) FROM json_tree('[' || replace(hex(zeroblob(400000)), '0', '0,') || '0]') a, json_tree('[' || replace(hex(zeroblob(2000)), '0', '0,') || '0]') b
==== large cell | limited
SELECT hex(zeroblob(1500000))
==== scan that finds nothing | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0
==== offset without end | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n LIMIT 1 OFFSET 100000000000
