# Statements of analysts that the gate must let through, one a line, and after them the 22 shapes of TPC-H in T-SQL.
SELECT COUNT(*) FROM customers
SELECT TOP 10 * FROM orders ORDER BY total DESC
SELECT TOP (10) PERCENT id, total FROM orders ORDER BY total DESC
SELECT TOP (5) WITH TIES id, total FROM orders ORDER BY total DESC
SELECT DISTINCT TOP 3 country FROM customers ORDER BY country
SELECT DISTINCT country FROM customers;
SELECT [id], [name] FROM [dbo].[customers]
SELECT "id", "name" FROM "dbo"."customers"
SELECT c.id, c.name FROM shop.dbo.customers AS c
SELECT [Order Id], [Unit Price] * Quantity AS [Line Total] FROM [order details]
SELECT r.name FROM sales.regions r
SELECT * FROM customers WITH (NOLOCK)
SELECT c.name, o.total FROM customers c WITH (NOLOCK) INNER JOIN orders o WITH (NOLOCK) ON o.customer_id = c.id
SELECT c.name, COUNT(o.id) AS orders FROM customers AS c LEFT OUTER JOIN orders AS o ON o.customer_id = c.id GROUP BY c.name HAVING COUNT(o.id) > 2 ORDER BY orders DESC
SELECT c.name FROM customers c FULL OUTER JOIN orders o ON o.customer_id = c.id CROSS JOIN products p
SELECT c.name, o.total FROM customers c, orders o WHERE c.id = o.customer_id
SELECT YEAR(placed) AS y, MONTH(placed) AS m, SUM(total) AS revenue FROM orders GROUP BY YEAR(placed), MONTH(placed) ORDER BY y, m
SELECT FORMAT(placed, 'yyyy-MM') AS month, SUM(total) AS revenue FROM orders GROUP BY FORMAT(placed, 'yyyy-MM') ORDER BY month
SELECT CONVERT(char(7), placed, 120) AS month, COUNT(*) AS n FROM orders GROUP BY CONVERT(char(7), placed, 120)
SELECT CONVERT(date, placed) AS day, SUM(total) FROM orders GROUP BY CONVERT(date, placed)
SELECT CONVERT(varchar(10), placed, 103), CONVERT(decimal(18, 2), total) FROM orders
SELECT TRY_CONVERT(int, status), TRY_CAST(status AS int), CAST(total AS money) FROM orders
SELECT CAST(total AS varchar(max)) + N' €' AS price FROM orders
SELECT DATEADD(DAY, -30, GETDATE()), DATEADD(month, DATEDIFF(month, 0, GETDATE()), 0)
SELECT DATEADD(qq, DATEDIFF(qq, 0, placed), 0) AS quarter, SUM(total) FROM orders GROUP BY DATEADD(qq, DATEDIFF(qq, 0, placed), 0)
SELECT DATEPART(quarter, placed) AS q, DATENAME(weekday, placed) AS d FROM orders
SELECT DATETRUNC(month, placed) AS month, SUM(total) FROM orders GROUP BY DATETRUNC(month, placed)
SELECT EOMONTH(placed), EOMONTH(placed, -1), DATEFROMPARTS(YEAR(placed), 1, 1) FROM orders
SELECT AVG(DATEDIFF(hour, placed, shipped) * 1.0) AS hours FROM orders WHERE shipped IS NOT NULL
SELECT placed AT TIME ZONE 'UTC' AT TIME ZONE 'W. Europe Standard Time' AS local FROM orders
SELECT SWITCHOFFSET(SYSDATETIMEOFFSET(), '+02:00'), SYSUTCDATETIME(), CURRENT_TIMESTAMP
SELECT * FROM orders WHERE placed >= '20240101' AND placed < '20250101'
SELECT * FROM orders WHERE placed BETWEEN '2024-01-01' AND '2024-12-31 23:59:59.997'
SELECT * FROM orders WHERE placed >= DATEADD(YEAR, -1, CAST(GETDATE() AS DATE))
SELECT IIF(total > 100, 'large', 'small') AS size, COUNT(*) FROM orders GROUP BY IIF(total > 100, 'large', 'small')
SELECT CASE WHEN total < 10 THEN 'S' WHEN total < 100 THEN 'M' ELSE 'L' END AS size, COUNT(*) AS n FROM orders GROUP BY CASE WHEN total < 10 THEN 'S' WHEN total < 100 THEN 'M' ELSE 'L' END
SELECT CASE status WHEN 1 THEN 'open' WHEN 2 THEN 'paid' END FROM orders
SELECT CHOOSE(DATEPART(weekday, placed), 'Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat') FROM orders
SELECT ISNULL(name, 'unknown'), COALESCE(city, country, '-'), NULLIF(country, '') FROM customers
SELECT name + ', ' + city AS label FROM customers WHERE name LIKE N'%ö%' ESCAPE '\'
SELECT CONCAT(name, ' (', country, ')'), CONCAT_WS(', ', city, country) FROM customers
SELECT LEN(name), DATALENGTH(name), LEFT(name, 3), RIGHT(name, 2), SUBSTRING(name, 2, 3), CHARINDEX('a', name), PATINDEX('%[0-9]%', name) FROM customers
SELECT UPPER(LTRIM(RTRIM(name))), TRIM(BOTH ' ' FROM name), REPLACE(name, 'a', 'b'), STUFF(name, 1, 1, 'X'), REPLICATE('*', 3), QUOTENAME(name) FROM customers
SELECT ROUND(AVG(total), 2), CEILING(AVG(total)), FLOOR(AVG(total)), ABS(-1), POWER(2, 10), SQRT(16), LOG(10), 7 % 3 FROM orders
SELECT STDEV(total), STDEVP(total), VAR(total), VARP(total), COUNT_BIG(*), APPROX_COUNT_DISTINCT(customer_id) FROM orders
SELECT STRING_AGG(name, ', ') FROM customers
SELECT country, STRING_AGG(CAST(name AS nvarchar(max)), '; ') WITHIN GROUP (ORDER BY name) AS names FROM customers GROUP BY country
SELECT STUFF((SELECT ', ' + c.name FROM customers c WHERE c.country = x.country ORDER BY c.name FOR XML PATH('')), 1, 2, '') AS names FROM customers x
SELECT STUFF((SELECT ', ' + c.name FROM customers c FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)'), 1, 2, '') AS names
SELECT c.id, (SELECT o.id, o.total FROM orders o WHERE o.customer_id = c.id FOR JSON PATH, INCLUDE_NULL_VALUES) AS orders FROM customers c
SELECT (SELECT TOP 1 * FROM orders FOR JSON AUTO, WITHOUT_ARRAY_WRAPPER) AS o
SELECT DISTINCT customer_id, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY total) OVER (PARTITION BY customer_id) AS median FROM orders
SELECT id, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY placed DESC) AS rn FROM orders
SELECT id, RANK() OVER (ORDER BY total DESC), DENSE_RANK() OVER (ORDER BY total DESC), NTILE(4) OVER (ORDER BY total) FROM orders
SELECT placed, SUM(total) OVER (ORDER BY placed ROWS UNBOUNDED PRECEDING) AS running FROM orders
SELECT placed, AVG(total) OVER (ORDER BY placed ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week FROM orders
SELECT placed, total - LAG(total, 1, 0) OVER (ORDER BY placed) AS diff, LEAD(total) OVER (ORDER BY placed), FIRST_VALUE(total) OVER (ORDER BY placed), LAST_VALUE(total) OVER (ORDER BY placed ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM orders
WITH ranked AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY placed DESC) AS rn FROM orders) SELECT * FROM ranked WHERE rn = 1
WITH monthly AS (SELECT DATEFROMPARTS(YEAR(placed), MONTH(placed), 1) AS month, SUM(total) AS revenue FROM orders GROUP BY DATEFROMPARTS(YEAR(placed), MONTH(placed), 1)) SELECT month, revenue, revenue * 1.0 / LAG(revenue) OVER (ORDER BY month) - 1 AS growth FROM monthly ORDER BY month
;WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n
WITH days AS (SELECT CAST('2024-01-01' AS date) AS d UNION ALL SELECT DATEADD(day, 1, d) FROM days WHERE d < '2024-12-31') SELECT d.d, COUNT(o.id) FROM days d LEFT JOIN orders o ON CAST(o.placed AS date) = d.d GROUP BY d.d ORDER BY d.d OPTION (MAXRECURSION 366)
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n
WITH tree AS (SELECT id, manager_id, name, 0 AS level FROM employees WHERE manager_id IS NULL UNION ALL SELECT e.id, e.manager_id, e.name, t.level + 1 FROM employees e JOIN tree t ON e.manager_id = t.id) SELECT level, COUNT(*) FROM tree GROUP BY level
WITH a (x) AS (SELECT 1), b AS (SELECT x + 1 AS y FROM a) SELECT x, y FROM a, b
SELECT id FROM orders ORDER BY id OFFSET 20 ROWS FETCH NEXT 10 ROWS ONLY
SELECT id FROM orders ORDER BY id OFFSET 0 ROWS
SELECT id FROM orders ORDER BY id LIMIT 10
SELECT id FROM orders LIMIT 10 OFFSET 5
SELECT c.name, o.total FROM customers c CROSS APPLY (SELECT TOP 3 total FROM orders WHERE customer_id = c.id ORDER BY total DESC) o
SELECT c.name, o.last FROM customers c OUTER APPLY (SELECT MAX(placed) AS last FROM orders WHERE customer_id = c.id) AS o
SELECT value, COUNT(*) FROM customers CROSS APPLY STRING_SPLIT(name, ' ') GROUP BY value
SELECT e.id, j.kind, j.amount FROM events e CROSS APPLY OPENJSON(e.payload) WITH (kind nvarchar(20) '$.kind', amount decimal(10, 2) '$.amount', raw nvarchar(max) '$' AS JSON) AS j
SELECT JSON_VALUE(payload, '$.kind') AS kind, COUNT(*) FROM events WHERE ISJSON(payload) = 1 GROUP BY JSON_VALUE(payload, '$.kind')
SELECT [key], value FROM events CROSS APPLY OPENJSON(payload, '$.items')
SELECT * FROM (SELECT country, YEAR(created_at) AS y, id FROM customers) AS s PIVOT (COUNT(id) FOR y IN ([2022], [2023], [2024])) AS p
SELECT id, k, v FROM (SELECT id, q1, q2 FROM products) AS s UNPIVOT (v FOR k IN (q1, q2)) AS u
SELECT SUM(CASE WHEN YEAR(placed) = 2023 THEN total ELSE 0 END) AS [2023], SUM(CASE WHEN YEAR(placed) = 2024 THEN total ELSE 0 END) AS [2024] FROM orders
SELECT country, city, COUNT(*) FROM customers GROUP BY ROLLUP (country, city)
SELECT country, city, COUNT(*), GROUPING(country), GROUPING_ID(country, city) FROM customers GROUP BY CUBE (country, city)
SELECT country, city, COUNT(*) FROM customers GROUP BY GROUPING SETS ((country, city), (country), ())
SELECT country, COUNT(*) FROM customers GROUP BY country WITH ROLLUP
SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE total > 100)
SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)
SELECT name FROM customers WHERE country NOT IN ('DE', 'AT') AND name NOT LIKE 'A%' AND city IS NULL
SELECT name FROM customers WHERE id = ANY (SELECT customer_id FROM orders) OR id > ALL (SELECT id FROM products)
SELECT country FROM customers UNION SELECT name FROM sales.regions
SELECT id FROM customers INTERSECT SELECT customer_id FROM orders
SELECT id FROM customers EXCEPT SELECT customer_id FROM orders ORDER BY id
(SELECT id FROM customers) UNION ALL (SELECT id FROM orders)
SELECT v.id, v.label FROM (VALUES (1, 'one'), (2, 'two')) AS v (id, label)
SELECT Revenue = SUM(total), Orders = COUNT(*) FROM orders
SELECT total AS 'Total in €', id 'no' FROM orders
SELECT -total, +total, ~1, 5 & 3, 5 | 3, 5 ^ 3 FROM orders
SELECT name COLLATE Latin1_General_CI_AI AS n FROM customers ORDER BY name COLLATE Latin1_General_BIN2
SELECT 'It''s; DROP TABLE customers --' AS s, N'字 🎉' AS t
SELECT /* the total; */ SUM(total) FROM orders -- of all
SELECT COUNT(DISTINCT customer_id) AS buyers, COUNT(DISTINCT CASE WHEN total > 50 THEN customer_id END) FROM orders WHERE status <> 'cancelled' AND NOT (total = 0 OR total IS NULL)
SELECT o.id FROM orders o WHERE o.total > (SELECT AVG(total) FROM orders WHERE customer_id = o.customer_id)
SELECT HASHBYTES('SHA2_256', name), CHECKSUM(name), NEWID() FROM customers ORDER BY NEWID()
SELECT customer_id, DATEDIFF(day, MIN(placed), MAX(placed)) AS lifetime, MAX(total) - MIN(total) AS spread FROM orders GROUP BY customer_id
SELECT p.name, SUM(i.quantity * i.price * (1 - i.discount)) AS net FROM order_items i JOIN products p ON p.id = i.product_id JOIN orders o ON o.id = i.order_id WHERE o.placed >= '2024-01-01' GROUP BY p.name ORDER BY net DESC OFFSET 0 ROWS FETCH FIRST 5 ROWS ONLY
SELECT TOP 1 WITH TIES customer_id, placed FROM orders ORDER BY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY placed)
SELECT c.*, o.total FROM customers AS c JOIN orders AS o ON o.customer_id = c.id
SELECT active, COUNT(*) FROM customers WHERE active = true GROUP BY active
SELECT total / NULLIF((SELECT SUM(total) FROM orders), 0) * 100.0 AS share FROM orders
SELECT value FROM GENERATE_SERIES(1, 10)
SELECT total FROM revenue WHERE total > 1.5e3 AND total < .5
SELECT SUM(total) OVER w AS s FROM orders WINDOW w AS (PARTITION BY customer_id)
SELECT name FROM customers WHERE CONTAINS(name, 'x') OR FREETEXT(name, 'y')
SELECT name FROM customers WHERE (country = 'DE' AND (city = 'Berlin' OR city = 'Bonn')) OR country IS NULL
SELECT cohort, COUNT(*) FROM (SELECT customer_id, MIN(DATEFROMPARTS(YEAR(placed), MONTH(placed), 1)) AS cohort FROM orders GROUP BY customer_id) AS first GROUP BY cohort
SELECT CAST(YEAR(o.placed) AS varchar(4)) + '-' + RIGHT('0' + CAST(MONTH(o.placed) AS varchar(2)), 2) AS ym, SUM(o.total) FROM orders o GROUP BY CAST(YEAR(o.placed) AS varchar(4)) + '-' + RIGHT('0' + CAST(MONTH(o.placed) AS varchar(2)), 2)
SELECT FORMAT(SUM(total), 'C', 'en-US') FROM orders
SELECT DATENAME(MONTH, placed) + ' ' + DATENAME(YEAR, placed) FROM orders WHERE DATEDIFF(DAY, placed, GETDATE()) <= 30
SELECT name FROM customers ORDER BY CASE WHEN country = 'DE' THEN 0 ELSE 1 END, name
SELECT TOP(1) id, COUNT(*) OVER() AS n FROM orders
SELECT id % 2, ISNULL(SUM(total), 0) FROM orders GROUP BY id % 2
SELECT t.[Name], t.[Count] FROM (SELECT country AS [Name], COUNT(*) AS [Count] FROM customers GROUP BY country) t
SELECT o.id, v.k, v.val FROM orders o CROSS APPLY (VALUES ('total', o.total), ('tax', o.tax)) v(k, val)
SELECT id, (SELECT MAX(v) FROM (VALUES (q1), (q2), (q3)) AS value(v)) AS best FROM products
SELECT DATEADD(wk, DATEDIFF(wk, 0, placed), 0) AS week, COUNT(*) FROM orders GROUP BY DATEADD(wk, DATEDIFF(wk, 0, placed), 0)
SELECT LOWER(CONVERT(varchar(32), HASHBYTES('MD5', name), 2)) FROM customers
SELECT placed, LAST_VALUE(total) IGNORE NULLS OVER (ORDER BY placed) FROM orders
SELECT CAST(CAST(placed AS date) AS datetime), DATEPART(ISO_WEEK, placed) FROM orders
SELECT SUM(1), GETDATE() - 30, 1.0 * SUM(CASE WHEN total > 5 THEN 1 ELSE 0 END) / COUNT(*) FROM orders
SELECT * FROM customers WHERE name LIKE '[A-C]%'
SELECT c.id, c.name, SUM(o.total) FROM customers c RIGHT JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.name WITH CUBE
SELECT AVG(total) FROM orders TABLESAMPLE (1 PERCENT)
SELECT PERCENT_RANK() OVER(ORDER BY total), CUME_DIST() OVER(ORDER BY total) FROM orders
SELECT COUNT(*) FROM orders WHERE CAST(placed AS time) BETWEEN '08:00' AND '17:00' AND placed >= DATEFROMPARTS(2024,1,1)
SELECT TOP 5 name, (SELECT COUNT(*) FROM orders WHERE customer_id = c.id) AS n FROM customers c ORDER BY n DESC
SELECT ROUND(CAST(SUM(total) AS float) / NULLIF(COUNT(DISTINCT customer_id), 0), 2) FROM orders
SELECT IIF(SUM(total) IS NULL, 0, SUM(total)) FROM orders
SELECT size = CASE WHEN total > 5 THEN 'a' ELSE 'b' END FROM orders
SELECT GREATEST(a, b), LEAST(a, b) FROM products
SELECT [order].id FROM orders AS [order]
SELECT CONVERT(VARCHAR, placed, 23), STR(total, 10, 2) FROM orders
SELECT MIN(placed) AS "First Order" FROM orders
select top 100 percent * from (select country, count(*) as n from customers group by country) x order by 1
SELECT COALESCE(CAST(total AS nvarchar), 'n/a') FROM orders
SELECT SUBSTRING(email, CHARINDEX('@', email) + 1, LEN(email)) AS domain, COUNT(*) FROM customers GROUP BY SUBSTRING(email, CHARINDEX('@', email) + 1, LEN(email))
SELECT a.customer_id FROM orders a JOIN orders b ON a.customer_id = b.customer_id AND b.placed = DATEADD(day, 1, a.placed)
SELECT * FROM orders o INNER JOIN (customers c INNER JOIN sales.regions r ON r.id = c.region_id) ON c.id = o.customer_id
SELECT STRING_AGG(CONVERT(NVARCHAR(max), ISNULL(name, 'N/A')), CHAR(13)) AS csv FROM customers
SELECT DATEDIFF(SECOND, '1970-01-01', placed) FROM orders
SELECT country, [2023], [2024] FROM (SELECT c.country, YEAR(o.placed) yr, o.total FROM orders o JOIN customers c ON c.id = o.customer_id) src PIVOT (SUM(total) FOR yr IN ([2023], [2024])) pvt ORDER BY country
SELECT SUM(total) total, MAX(placed) last FROM orders HAVING COUNT(*) > 1
WITH x AS (SELECT customer_id, placed, LAG(placed) OVER (PARTITION BY customer_id ORDER BY placed) prev FROM orders) SELECT AVG(CAST(DATEDIFF(day, prev, placed) AS float)) FROM x WHERE prev IS NOT NULL
SELECT name FROM customers WHERE LEN(REPLACE(name, ' ', '')) > 5 AND ASCII(name) BETWEEN 65 AND 90
SELECT EOMONTH(GETDATE(), -1), DATEADD(day, 1, EOMONTH(GETDATE(), -1)), DAY(EOMONTH(GETDATE()))
SELECT customer_id, SUM(IIF(status = 'open', total, 0)) open_total, SUM(IIF(status = 'paid', total, 0)) paid FROM orders GROUP BY customer_id
SELECT AVG(total) mean, (SELECT DISTINCT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY total) OVER () FROM orders) med FROM orders
SELECT * FROM orders WHERE status IN (N'paid', N'shipped') AND YEAR(placed) = YEAR(GETDATE()) - 1
SELECT id, total, SUM(total) OVER (PARTITION BY customer_id ORDER BY placed ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM orders
SELECT CASE GROUPING(country) WHEN 1 THEN 'All' ELSE country END, COUNT(*) FROM customers GROUP BY ROLLUP(country)
SELECT COUNT(*) AS [count], AVG(1.0 * quantity) [avg] FROM order_items
SELECT name, email FROM customers WHERE email IS NULL OR email = '' UNION ALL SELECT name, NULL FROM employees ORDER BY name OFFSET 10 ROWS FETCH NEXT 10 ROWS ONLY
SELECT TOP 10 p.name, SUM(i.quantity) AS sold FROM products AS p LEFT JOIN order_items AS i ON i.product_id = p.id GROUP BY p.name ORDER BY sold DESC, p.name ASC
SELECT CHARINDEX(' ', name), PARSENAME(REPLACE(name, ' ', '.'), 1), REVERSE(name), UNICODE(name), NCHAR(8364), SPACE(2) FROM customers
SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, AVG(l_discount), COUNT(*) FROM lineitem WHERE l_shipdate <= DATEADD(dd, -90, CAST('1998-12-01' AS date)) GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus
SELECT TOP 100 s_acctbal, s_name, n_name, p_partkey FROM part, supplier, partsupp, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%BRASS' AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE' AND ps_supplycost = (SELECT MIN(ps_supplycost) FROM partsupp, supplier, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE') ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
SELECT TOP 10 l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority FROM customer, orders, lineitem WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < '1995-03-15' AND l_shipdate > '1995-03-15' GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate
SELECT o_orderpriority, COUNT(*) AS order_count FROM orders WHERE o_orderdate >= '1993-07-01' AND o_orderdate < DATEADD(mm, 3, CAST('1993-07-01' AS date)) AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority ORDER BY o_orderpriority
SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM customer, orders, lineitem, supplier, nation, region WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA' AND o_orderdate >= '1994-01-01' AND o_orderdate < DATEADD(YY, 1, CAST('1994-01-01' AS date)) GROUP BY n_name ORDER BY revenue DESC
SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= '1994-01-01' AND l_shipdate < DATEADD(yy, 1, CAST('1994-01-01' AS date)) AND l_discount BETWEEN .06 - 0.01 AND .06 + 0.01 AND l_quantity < 24
SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, DATEPART(yy, l_shipdate) AS l_year, l_extendedprice * (1 - l_discount) AS volume FROM supplier, lineitem, orders, customer, nation n1, nation n2 WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE')) AND l_shipdate BETWEEN '1995-01-01' AND '1996-12-31') AS shipping GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year
SELECT o_year, SUM(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share FROM (SELECT DATEPART(yy, o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31' AND p_type = 'ECONOMY ANODIZED STEEL') AS all_nations GROUP BY o_year ORDER BY o_year
SELECT nation, o_year, SUM(amount) AS sum_profit FROM (SELECT n_name AS nation, DATEPART(yy, o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount FROM part, supplier, lineitem, partsupp, orders, nation WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%') AS profit GROUP BY nation, o_year ORDER BY nation, o_year DESC
SELECT TOP 20 c_custkey, c_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= '1993-10-01' AND o_orderdate < DATEADD(mm, 3, CAST('1993-10-01' AS date)) AND l_returnflag = 'R' AND c_nationkey = n_nationkey GROUP BY c_custkey, c_name, c_acctbal, n_name ORDER BY revenue DESC
SELECT ps_partkey, SUM(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY' GROUP BY ps_partkey HAVING SUM(ps_supplycost * ps_availqty) > (SELECT SUM(ps_supplycost * ps_availqty) * 0.0001 FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY') ORDER BY value DESC
SELECT l_shipmode, SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= '1994-01-01' GROUP BY l_shipmode ORDER BY l_shipmode
SELECT c_count, COUNT(*) AS custdist FROM (SELECT c_custkey, COUNT(o_orderkey) FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS c_orders (c_custkey, c_count) GROUP BY c_count ORDER BY custdist DESC, c_count DESC
SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / SUM(l_extendedprice * (1 - l_discount)) AS promo_revenue FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= '1995-09-01' AND l_shipdate < DATEADD(mm, 1, '1995-09-01')
WITH revenue0 (supplier_no, total_revenue) AS (SELECT l_suppkey, SUM(l_extendedprice * (1 - l_discount)) FROM lineitem WHERE l_shipdate >= '1996-01-01' GROUP BY l_suppkey) SELECT s_suppkey, s_name, total_revenue FROM supplier, revenue0 WHERE s_suppkey = supplier_no AND total_revenue = (SELECT MAX(total_revenue) FROM revenue0) ORDER BY s_suppkey
SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45) AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%') GROUP BY p_brand, p_type, p_size ORDER BY supplier_cnt DESC, p_brand
SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly FROM lineitem, part WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < (SELECT 0.2 * AVG(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)
SELECT TOP 100 c_name, c_custkey, o_orderkey, SUM(l_quantity) FROM customer, orders, lineitem WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 300) AND c_custkey = o_custkey AND o_orderkey = l_orderkey GROUP BY c_name, c_custkey, o_orderkey
SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem, part WHERE (p_partkey = l_partkey AND p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX') AND l_quantity >= 1 AND l_quantity <= 1 + 10 AND p_size BETWEEN 1 AND 5) OR (p_partkey = l_partkey AND p_brand = 'Brand#23' AND l_shipinstruct = 'DELIVER IN PERSON')
SELECT s_name, s_address FROM supplier, nation WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%') AND ps_availqty > (SELECT 0.5 * SUM(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey)) AND s_nationkey = n_nationkey ORDER BY s_name
SELECT TOP 100 s_name, COUNT(*) AS numwait FROM supplier, lineitem l1, orders, nation WHERE s_suppkey = l1.l_suppkey AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey) AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_receiptdate > l3.l_commitdate) GROUP BY s_name ORDER BY numwait DESC, s_name
SELECT cntrycode, COUNT(*) AS numcust, SUM(c_acctbal) AS totacctbal FROM (SELECT SUBSTRING(c_phone, 1, 2) AS cntrycode, c_acctbal FROM customer WHERE SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23') AND c_acctbal > (SELECT AVG(c_acctbal) FROM customer WHERE c_acctbal > 0.00) AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) AS custsale GROUP BY cntrycode ORDER BY cntrycode
SELECT 0x41
