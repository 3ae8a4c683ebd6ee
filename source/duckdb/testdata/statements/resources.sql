# Statements that want too much. Each must end at its limit of 0.3 seconds.
==== endless recursion | limited
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i > 0) SELECT count(*) FROM n WHERE i < 0
==== cross join | limited
SELECT count(*) FROM range(1000000) a(x), range(1000000) b(y) WHERE x * y % 7 = 3
==== cross join of tables | limited
SELECT sum(length(concat(a.note, b.note, c.note, d.note))) FROM orders a, orders b, orders c, orders d, orders e, orders f, orders g, orders h, orders i, orders j, orders k, orders l, orders m
==== huge sort | limited
SELECT i FROM range(500000000) t(i) ORDER BY hash(i) OFFSET 400000000
==== huge distinct | limited
SELECT count(DISTINCT hash(i)) FROM range(500000000) t(i)
==== huge group by | limited
SELECT md5(i::VARCHAR) AS h, count(*) FROM range(500000000) t(i) GROUP BY 1 ORDER BY 2, 1 LIMIT 1
==== huge window | limited
SELECT max(s) FROM (SELECT sum(i) OVER (ORDER BY hash(i)) AS s FROM range(100000000) t(i))
==== huge list | limited
SELECT len(list(i::VARCHAR)) FROM range(500000000) t(i)
==== huge string aggregate | limited
SELECT length(string_agg(i::VARCHAR, ',')) FROM range(2000000000) t(i)
==== repeat folded at prepare | limited executed failed
SELECT length(repeat('x', 1500000000))
==== repeat at run time | limited executed failed
SELECT length(repeat('x', 1000000000 + id)) FROM orders
==== repeats of repeats | limited failed
SELECT length(repeat(repeat(repeat('x', 1000), 1000), 3000))
==== repeats that change | limited failed executed
SELECT sum(length(repeat(i::VARCHAR, 100000000))) FROM range(100) t(i)
==== range as a list | limited failed
SELECT len(range(2000000000))
==== generate_series as a list | limited failed
SELECT list_sum(generate_series(1, 3000000000))
==== list of lists | limited failed
SELECT len(list_transform(range(30000), lambda x: range(30000)))
==== lpad | limited failed executed
SELECT length(lpad('x', 2000000000, 'y'))
==== regular expression | limited executed
SELECT count(*) FROM range(100000) t(i) WHERE regexp_matches(repeat('a', 20000), '(a*)*(b|c)*d')
==== levenshtein | limited failed
SELECT levenshtein(repeat('ab', 200000), repeat('ba', 200000))
==== damerau | limited failed
SELECT damerau_levenshtein(repeat('ab', 40000), repeat('ba', 40000))
==== factorial and power | executed failed limited
SELECT sum(i ** 100) FROM range(300000000) t(i)
==== all rows of a large range | executed limited
SELECT * FROM range(1000000000)
==== wide rows | executed limited
SELECT repeat('x', 900000) FROM range(100000)
==== one cell of 100 MB | limited
SELECT repeat('x', 100000000)
==== unnest | limited executed
SELECT sum(x) FROM (SELECT unnest(range(1000000)) AS x FROM range(100000))
==== json of a large list | limited failed
SELECT length(to_json(range(100000000))::VARCHAR)
==== pivot with many values | refused limited
PIVOT (SELECT i FROM range(100000) t(i)) ON i USING count(*)
==== subqueries | limited executed failed refused | template
SELECT count(*) FROM range(1000) a(i) WHERE {{repeat 30 "i IN (SELECT i + j FROM range(1000) b(j) WHERE "}}true{{repeat 30 ")"}}
==== many joins | limited executed failed | template
SELECT count(*) FROM orders o0{{repeat 60 " JOIN (SELECT * FROM orders) USING (customer_id)"}}
==== many unions | executed limited failed refused | template
SELECT 1{{repeat 3000 " UNION ALL SELECT 1"}}
==== long chain of operators | executed limited failed refused | template
SELECT 1{{repeat 20000 "+1"}}
==== long chain of ands | executed limited failed refused | template
SELECT 1=1{{repeat 9000 " AND 1"}}
==== grouping sets of many columns | refused failed limited executed
SELECT count(*) FROM orders GROUP BY CUBE (id, customer_id, placed, total, note, id + 1, id + 2, id + 3, id + 4, id + 5, id + 6, id + 7, id + 8)
