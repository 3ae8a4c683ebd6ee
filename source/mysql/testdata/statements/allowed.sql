# Statements of the analyst that must run, beyond those that every engine gets.
==== every engine: string_agg with order
SELECT GROUP_CONCAT(name ORDER BY id DESC SEPARATOR '|') FROM customers WHERE id < 4
==== own function
SELECT twice(21)
----
[[42]]
==== own function with its database in backticks
SELECT `twice`(4) + twice(1) AS n
----
[[10]]
==== name in double quotes where a name must be
SELECT "name" FROM "customers" WHERE "id" = 1
----
[["Ada"]]
==== string in double quotes
SELECT COUNT(*) FROM customers WHERE city = "London"
----
[[1]]
==== format in double quotes
SELECT DATE_FORMAT(placed, "%Y-%m") AS m, COUNT(*) FROM orders GROUP BY m ORDER BY m
----
[["2024-01",1],["2024-02",2],["2024-03",2]]
==== backticks
SELECT `c`.`update` FROM `customers` AS `c` ORDER BY `c`.`id` LIMIT 1
----
[["weekly"]]
==== escaped quotes
SELECT 'it''s', 'it\'s', "say ""hi""", 'a\\b', 'tab\there'
----
[["it's","it's","say \"hi\"","a\\b","tab\there"]]
==== strings beside each other
SELECT 'a' 'b' "c" AS s
----
[["abc"]]
==== comments
SELECT /* the name */ name -- of the customer
FROM customers # all of them
WHERE id = /* first */ 1
----
[["Ada"]]
==== optimizer hint
SELECT /*+ MAX_EXECUTION_TIME(1000) */ COUNT(*) FROM orders
----
[[5]]
==== words that look like commands in strings
SELECT 'INTO OUTFILE', '/*! SLEEP(1) */', '; DROP TABLE customers' AS x
----
[["INTO OUTFILE","/*! SLEEP(1) */","; DROP TABLE customers"]]
==== precedence of and and or
SELECT COUNT(*) FROM orders WHERE total > 100 OR total < 50 AND customer_id = 3
----
[[3]]
==== precedence of not
SELECT NOT 1 = 2 AS a, NOT 0 + 1 AS b, ! 0 + 1 AS c
----
[[1,0,2]]
==== precedence of arithmetic
SELECT 1 + 2 * 3 - 4 / 2 AS a, 2 * (3 + 4) AS b, 7 DIV 2 * 2 AS c, -2 * -3 AS d, 10 % 4 + 1 AS e, 7 MOD 4 AS f
----
[["5.0000",14,6,6,3,3]]
==== precedence of bits
SELECT 1 | 2 & 3 AS a, 1 << 2 + 1 AS b, 5 ^ 1 * 2 AS c, ~0 & 7 AS d
----
[[3,8,8,7]]
==== precedence of comparisons
SELECT 1 = 1 = 1 AS a, 3 > 2 > 1 AS b, NULL <=> NULL AS c, 1 <> 2 IS TRUE AS d, 2 BETWEEN 1 AND 3 AND 1 AS e
----
[[1,0,1,1,1]]
==== left to right
SELECT 10 - 4 - 3 AS a, 100 / 10 / 5 AS b, 2 - 3 + 4 AS c, 8 DIV 3 * 3 AS d
----
[[3,"2.00000000",3,6]]
==== xor
SELECT 1 XOR 1 AS a, 1 XOR 0 OR 0 AS b, 1 && 0 AS c
----
[[0,1,0]]
==== is null
SELECT COUNT(*) FROM orders WHERE note IS NULL AND customer_id IS NOT NULL
----
[[2]]
==== in
SELECT COUNT(*) FROM orders WHERE customer_id IN (1, 2) AND id NOT IN (10)
----
[[2]]
==== in of rows
SELECT COUNT(*) FROM orders WHERE (customer_id, id) IN ((1, 10), (3, 13))
----
[[2]]
==== in of a query
SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE total > 100) ORDER BY id
----
[["Ada"],["Chiyo"]]
==== in of a query in brackets
SELECT COUNT(*) FROM customers WHERE id IN ((SELECT MAX(customer_id) FROM orders))
----
[[1]]
==== between
SELECT COUNT(*) FROM orders WHERE placed BETWEEN '2024-02-01' AND '2024-02-29 23:59:59'
----
[[2]]
==== not between
SELECT COUNT(*) FROM orders WHERE total NOT BETWEEN 50 AND 200
----
[[3]]
==== like
SELECT name FROM customers WHERE name LIKE '%i%' AND name NOT LIKE 'D%' ORDER BY 1
----
[["Chiyo"]]
==== like with an escape
SELECT 'a_b' LIKE 'a\_b' AS x, 'axb' LIKE 'a\_b' AS y, 'a%b' LIKE 'a|%b' ESCAPE '|' AS z
----
[[1,0,1]]
==== regular expression
SELECT name FROM customers WHERE name REGEXP '^[AB]' AND name NOT RLIKE 'x$' ORDER BY 1
----
[["Ada"],["Björn"]]
==== exists
SELECT name FROM customers c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.id AND o.total > 200)
----
[["Chiyo"]]
==== all and any
SELECT COUNT(*) FROM orders WHERE total >= ALL (SELECT total FROM orders) OR total < ANY (SELECT total FROM orders WHERE id = 12)
----
[[1]]
==== scalar subquery with arithmetic
SELECT (SELECT MAX(total) FROM orders) - (SELECT MIN(total) FROM orders) AS spread
----
[[284.75]]
==== subquery plus one
SELECT ((SELECT COUNT(*) FROM orders) + 1) * 2 AS n
----
[[12]]
==== case
SELECT id, CASE WHEN total > 100 THEN 'large' WHEN total > 50 THEN 'medium' ELSE 'small' END AS size FROM orders ORDER BY id
----
[[10,"large"],[11,"medium"],[12,"small"],[13,"large"],[14,"small"]]
==== case of a value
SELECT CASE city WHEN 'London' THEN 'UK' WHEN 'Oslo' THEN 'NO' END AS land FROM customers ORDER BY id LIMIT 3
----
[["UK"],["NO"],[null]]
==== if and coalesce
SELECT IF(city IS NULL, 'none', city) AS a, COALESCE(city, name) AS b, IFNULL(city, '-') AS c, NULLIF(1, 1) AS d FROM customers WHERE id = 4
----
[["none","D'Arcy; DROP TABLE customers","-",null]]
==== group by with rollup
SELECT customer_id, SUM(total) AS s FROM orders GROUP BY customer_id WITH ROLLUP
----
[[1,200.5],[2,15.25],[3,342],[null,557.75]]
==== rollup as a function
SELECT customer_id, COUNT(*) FROM orders GROUP BY ROLLUP (customer_id)
----
[[1,2],[2,1],[3,2],[null,5]]
==== group by an alias
SELECT YEAR(placed) AS y, MONTH(placed) AS m, COUNT(*) AS n FROM orders GROUP BY y, m HAVING n > 1 ORDER BY y, m
----
[[2024,2,2],[2024,3,2]]
==== group by a position
SELECT customer_id, AVG(total) FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 1
----
[[3,171]]
==== count distinct
SELECT COUNT(DISTINCT customer_id), COUNT(DISTINCT customer_id, note), SUM(DISTINCT customer_id) FROM orders
----
[[3,3,6]]
==== group_concat
SELECT GROUP_CONCAT(DISTINCT product ORDER BY product SEPARATOR ', ') FROM `order lines`
----
[["chair, desk, ink, lamp, pen"]]
==== group_concat of several
SELECT GROUP_CONCAT(order_id, ':', product ORDER BY order_id, line) FROM `order lines` WHERE order_id < 12
----
[["10:lamp,10:desk,11:chair"]]
==== statistics
SELECT ROUND(STDDEV_SAMP(total), 2), ROUND(VAR_POP(total), 2), ROUND(STD(total), 2) FROM orders
----
[[112.58,10139.96,100.7]]
==== distinct
SELECT DISTINCT customer_id FROM orders ORDER BY customer_id
----
[[1],[2],[3]]
==== inner join
SELECT c.name, o.total FROM customers c INNER JOIN orders o ON o.customer_id = c.id AND o.total > 100 ORDER BY o.id
----
[["Ada",120.5],["Chiyo",300]]
==== left join
SELECT c.name, COUNT(o.id) AS n FROM customers c LEFT OUTER JOIN orders o ON o.customer_id = c.id GROUP BY c.id ORDER BY c.id
----
[["Ada",2],["Björn",1],["Chiyo",2],["D'Arcy; DROP TABLE customers",0]]
==== right join
SELECT o.id, c.id FROM orders o RIGHT JOIN customers c ON o.customer_id = c.id WHERE o.id IS NULL
----
[[null,4]]
==== cross join
SELECT COUNT(*) FROM customers CROSS JOIN orders
----
[[20]]
==== comma join
SELECT COUNT(*) FROM customers c, orders o WHERE c.id = o.customer_id
----
[[5]]
==== natural join
SELECT COUNT(*) FROM customers NATURAL JOIN (SELECT 1 AS id) x
----
[[1]]
==== straight join
SELECT COUNT(*) FROM customers c STRAIGHT_JOIN orders o ON c.id = o.customer_id
----
[[5]]
==== join using
SELECT COUNT(*) FROM orders JOIN (SELECT DISTINCT customer_id FROM orders WHERE total > 100) big USING (customer_id)
----
[[4]]
==== join in brackets
SELECT COUNT(*) FROM customers c LEFT JOIN (orders o JOIN `order lines` l ON l.order_id = o.id) ON o.customer_id = c.id
----
[[8]]
==== conditions behind several joins
SELECT COUNT(*) FROM customers c JOIN orders o JOIN `order lines` l ON l.order_id = o.id ON o.customer_id = c.id
----
[[7]]
==== self join
SELECT COUNT(*) FROM orders a JOIN orders b ON a.customer_id = b.customer_id AND a.id < b.id
----
[[2]]
==== table in its database
SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'orders'
----
[[1]]
==== derived table
SELECT MAX(n) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS t
----
[[2]]
==== derived table in more brackets
SELECT * FROM ((SELECT 1 AS a) UNION (SELECT 2)) AS t ORDER BY a
----
[[1],[2]]
==== columns of every table
SELECT c.*, o.total FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.id = 12
----
[[2,"Björn","Oslo","daily","2020-07-15",15.25]]
==== union with an order and a limit
SELECT id FROM orders WHERE id < 12 UNION SELECT id FROM customers ORDER BY id DESC LIMIT 3
----
[[11],[10],[4]]
==== union of brackets
(SELECT id FROM orders ORDER BY total DESC LIMIT 1) UNION ALL (SELECT id FROM orders ORDER BY total LIMIT 1)
----
[[13],[12]]
==== except and intersect
SELECT id FROM customers EXCEPT SELECT customer_id FROM orders
----
[[4]]
==== intersect
SELECT id FROM customers INTERSECT SELECT customer_id FROM orders WHERE total > 100 ORDER BY 1
----
[[1],[3]]
==== with of two
WITH a AS (SELECT customer_id, SUM(total) AS s FROM orders GROUP BY customer_id), b AS (SELECT AVG(s) AS m FROM a) SELECT COUNT(*) FROM a, b WHERE a.s > b.m
----
[[2]]
==== with of columns
WITH t (x, y) AS (SELECT 1, 2 UNION ALL SELECT 3, 4) SELECT SUM(x * y) FROM t
----
[[14]]
==== with in another case
WITH Totals AS (SELECT SUM(total) AS t FROM orders) SELECT t FROM TOTALS
----
[[557.75]]
==== calendar
WITH RECURSIVE days AS (SELECT DATE('2024-01-01') AS d UNION ALL SELECT d + INTERVAL 1 DAY FROM days WHERE d < '2024-01-05') SELECT COUNT(*), MAX(d) FROM days
----
[[5,"2024-01-05"]]
==== two recursive ones
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3), m AS (SELECT 10 AS j UNION ALL SELECT j - 1 FROM m WHERE j > 8) SELECT COUNT(*) FROM n, m
----
[[9]]
==== table values
TABLE customers
==== values in a query
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v
----
[[1,"a"],[2,"b"]]
==== values with an order
VALUES (3), (1), (2) ORDER BY 1
----
[[1],[2],[3]]
==== offset and fetch
SELECT id FROM orders ORDER BY id OFFSET 1 ROW FETCH NEXT 2 ROWS ONLY
----
[[11],[12]]
==== fetch first
SELECT id FROM orders ORDER BY id FETCH FIRST 1 ROW ONLY
----
[[10]]
==== fetch with ties
SELECT customer_id FROM orders ORDER BY customer_id FETCH FIRST 1 ROWS WITH TIES
----
[[1],[1]]
==== limit with a comma
SELECT id FROM orders ORDER BY id LIMIT 1, 2
----
[[11],[12]]
==== limit zero
SELECT id FROM orders LIMIT 0
----
[]
==== rank
SELECT id, RANK() OVER (ORDER BY total DESC) AS r, DENSE_RANK() OVER (PARTITION BY customer_id ORDER BY total) AS d, NTILE(2) OVER (ORDER BY id) AS t FROM orders ORDER BY id LIMIT 2
----
[[10,2,2,1],[11,3,1,1]]
==== running total
SELECT id, SUM(total) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s FROM orders ORDER BY id
----
[[10,120.5],[11,200.5],[12,215.75],[13,515.75],[14,557.75]]
==== moving average
SELECT id, AVG(total) OVER (ORDER BY id ROWS 1 PRECEDING) AS a FROM orders ORDER BY id LIMIT 2
----
[[10,120.5],[11,100.25]]
==== lead and first_value
SELECT id, LEAD(total) OVER (ORDER BY id) AS n, FIRST_VALUE(total) OVER (ORDER BY id) AS f, LAG(total, 1) OVER (ORDER BY id) AS l FROM orders ORDER BY id LIMIT 1
----
[[10,80,120.5,null]]
==== share of the whole
SELECT customer_id, ROUND(100 * SUM(total) / SUM(SUM(total)) OVER (), 1) AS pct FROM orders GROUP BY customer_id ORDER BY pct DESC
----
[[3,61.3],[1,35.9],[2,2.7]]
==== named window on another
SELECT id, SUM(total) OVER w2 FROM orders WINDOW w1 AS (PARTITION BY customer_id), w2 AS (w1 ORDER BY id) ORDER BY id LIMIT 2
----
[[10,120.5],[11,200.5]]
==== median
SELECT DISTINCT MEDIAN(total) OVER () AS m FROM orders
----
[[80]]
==== percentile
SELECT DISTINCT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY total) OVER () AS m FROM orders
----
[[80]]
==== top per group
SELECT * FROM (SELECT customer_id, id, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY total DESC) AS rn FROM orders) x WHERE rn = 1 ORDER BY 1
----
[[1,10,1],[2,12,1],[3,13,1]]
==== cast
SELECT CAST('12' AS SIGNED), CAST(1.5 AS DECIMAL(5,2)), CAST('2024-01-02' AS DATE), CAST(1 AS CHAR(5)), CAST('7' AS UNSIGNED INTEGER), CAST('1.5' AS DOUBLE)
----
[[12,"1.50","2024-01-02","1",7,1.5]]
==== cast to types of other databases
SELECT CAST('12' AS INT), CAST(5 AS VARCHAR(10)), CAST('2024-01-02 03:04:05' AS TIMESTAMP), CAST(2 AS TEXT)
----
[[12,"5","2024-01-02T03:04:05","2"]]
==== convert
SELECT CONVERT('12', SIGNED), CONVERT('é' USING utf8mb4), CONVERT(1, CHAR)
----
[[12,"é","1"]]
==== character sets and collations
SELECT 'a' COLLATE utf8mb4_bin = 'A' AS x, _utf8mb4'b' AS y, BINARY 'a' = 'A' AS z, CAST('x' AS CHAR CHARACTER SET utf8mb4) AS w
----
[[0,"b",0,"x"]]
==== hexadecimal and bits
SELECT 0x41 + 0 AS a, HEX(x'ff') AS b, b'101' + 0 AS c
----
[[65,"FF",5]]
==== extract
SELECT EXTRACT(YEAR FROM placed) AS y, EXTRACT(YEAR_MONTH FROM placed) AS ym, QUARTER(placed) AS q, WEEK(placed, 3) AS w FROM orders WHERE id = 10
----
[[2024,202401,1,1]]
==== dates
SELECT DATE_ADD('2024-01-31', INTERVAL 1 MONTH), DATE_SUB('2024-03-01', INTERVAL 1 DAY), '2024-01-01' + INTERVAL 2 WEEK, INTERVAL 1 YEAR + DATE '2024-01-01', DATE '2024-01-10' - INTERVAL '3' DAY
----
[["2024-02-29","2024-02-29","2024-01-15","2025-01-01","2024-01-07"]]
==== intervals of two units
SELECT TIMESTAMP '2024-01-01 00:00:00' + INTERVAL '1:30' HOUR_MINUTE AS a, ADDDATE('2024-01-01', 31) AS b, DATE_ADD('2024-01-01', INTERVAL -1 DAY) AS c, '2024-01-01' + INTERVAL (1 + 1) DAY AS d
----
[["2024-01-01T01:30:00","2024-02-01","2023-12-31","2024-01-03"]]
==== differences of dates
SELECT DATEDIFF('2024-03-01', '2024-02-01'), TIMESTAMPDIFF(MONTH, '2024-01-15', '2024-03-14'), TIMESTAMPADD(HOUR, 3, '2024-01-01 00:00:00'), TIMEDIFF('10:00:00', '09:30:00')
----
[[29,1,"2024-01-01 03:00:00","00:30:00"]]
==== parts of dates
SELECT DAYNAME('2024-05-17'), MONTHNAME('2024-05-17'), DAYOFWEEK('2024-05-17'), WEEKDAY('2024-05-17'), DAYOFYEAR('2024-05-17'), LAST_DAY('2024-02-01'), YEARWEEK('2024-05-17', 3)
----
[["Friday","May",6,4,138,"2024-02-29",202420]]
==== formats of dates
SELECT DATE_FORMAT('2024-05-17 18:45:00', '%W %d %M %Y %H:%i'), STR_TO_DATE('17.05.2024', '%d.%m.%Y'), TIME_FORMAT('18:45:00', '%h:%i %p'), GET_FORMAT(DATE, 'ISO')
----
[["Friday 17 May 2024 18:45","2024-05-17","06:45 PM","%Y-%m-%d"]]
==== seconds
SELECT UNIX_TIMESTAMP('1970-01-02 00:00:00'), FROM_UNIXTIME(86400), SEC_TO_TIME(3661), TIME_TO_SEC('01:01:01'), CONVERT_TZ('2024-01-01 12:00:00', '+00:00', '+02:00')
----
[[86400,"1970-01-02T00:00:00","01:01:01",3661,"2024-01-01T14:00:00"]]
==== now
SELECT NOW() > '2020-01-01' AS a, CURRENT_DATE = CURDATE() AS b, CURRENT_TIMESTAMP(3) > UTC_DATE() AS c, LOCALTIME() IS NOT NULL AS d
----
[[1,1,1,1]]
==== text
SELECT UPPER(name), LOWER(name), LENGTH(name), CHAR_LENGTH(name), LEFT(name, 2), RIGHT(name, 1), REVERSE(name), LPAD(id, 3, '0') FROM customers WHERE id = 2
----
[["BJÖRN","björn",6,5,"Bj","n","nröjB","002"]]
==== parts of text
SELECT SUBSTRING('abcdef', 2, 3), SUBSTRING('abcdef' FROM 2 FOR 3), SUBSTR('abcdef', -2), MID('abcdef', 1, 1), SUBSTRING_INDEX('a.b.c', '.', -1), POSITION('c' IN 'abc'), LOCATE('b', 'abc'), INSTR('abc', 'c')
----
[["bcd","bcd","ef","a","c",3,2,3]]
==== trim
SELECT TRIM('  a '), TRIM(LEADING 'x' FROM 'xxa'), TRIM(BOTH FROM ' b '), TRIM('y' FROM 'yby'), LTRIM(' c')
----
[["a","a","b","b","c"]]
==== joining texts
SELECT CONCAT(name, ' (', city, ')') AS a, CONCAT_WS('-', 'a', NULL, 'b') AS b, REPEAT('ab', 2) AS c, REPLACE('aXb', 'X', '-') AS d, INSERT('abc', 2, 1, 'ZZ') AS e, FORMAT(1234567.891, 2) AS f FROM customers WHERE id = 1
----
[["Ada (London)","a-b","abab","a-b","aZZc","1,234,567.89"]]
==== characters
SELECT CHAR(65, 66 USING utf8mb4), ASCII('A'), ORD('A'), ELT(2, 'a', 'b'), FIELD('b', 'a', 'b'), FIND_IN_SET('b', 'a,b')
----
[["AB",65,65,"b",2,2]]
==== regular expressions in functions
SELECT REGEXP_REPLACE('a1b2', '[0-9]', '#'), REGEXP_SUBSTR('a1b2', '[0-9]'), REGEXP_INSTR('abc', 'c')
----
[["a#b#","1",3]]
==== numbers
SELECT ROUND(2.345, 2), CEIL(1.2), FLOOR(-1.2), ABS(-3), MOD(7, 3), POWER(2, 10), SQRT(16), SIGN(-5), TRUNCATE(1.999, 1), GREATEST(1, 5, 3), LEAST(4, 2), PI() > 3
----
[["2.35",2,-2,3,1,1024,4,-1,"1.9",5,2,1]]
==== literals of numbers
SELECT 1, 1.5, .5, 2., 1e3, 1.5E-2, -7
----
[[1,"1.5","0.5",2,1000,0.015,-7]]
==== constants
SELECT TRUE, FALSE, NULL, TRUE IS TRUE, UNHEX('41')
----
[[1,0,null,1,"blob, 1 byte"]]
==== hashes
SELECT MD5('a'), SHA1('a') IS NOT NULL, CRC32('a'), LENGTH(SHA2('a', 256)), TO_BASE64('a')
----
[["0cc175b9c0f1b6a831c399e269772661",1,3904355907,64,"YQ=="]]
==== documents
SELECT JSON_EXTRACT(body, '$.a[0]'), JSON_UNQUOTE(JSON_EXTRACT(body, '$.a[2].b')), JSON_LENGTH(body), JSON_VALUE(body, '$.a[1]'), JSON_CONTAINS(body, '1', '$.a') FROM docs WHERE id = 1
----
[["1","x",2,"2",1]]
==== arrows
SELECT body->'$.a[0]' AS a, body->>'$.a[2].b' AS b FROM docs WHERE id = 1
----
[["1","x"]]
==== making documents
SELECT JSON_OBJECT('a', 1, 'b', JSON_ARRAY(1, 'x')), JSON_KEYS('{"k": 1}'), JSON_TYPE('[]'), JSON_VALID('{')
----
[["{\"a\": 1, \"b\": [1, \"x\"]}","[\"k\"]","ARRAY",0]]
==== aggregates of documents
SELECT JSON_ARRAYAGG(id ORDER BY id DESC), JSON_OBJECTAGG(id, city) FROM customers WHERE id < 3
----
[["[2,1]","{\"1\":\"London\", \"2\":\"Oslo\"}"]]
==== json_table
SELECT t.n, t.v FROM docs, JSON_TABLE(docs.body, '$.a[*]' COLUMNS (n FOR ORDINALITY, v VARCHAR(20) PATH '$' NULL ON EMPTY DEFAULT 'x' ON ERROR)) AS t WHERE docs.id = 1 AND t.n < 3
----
[[1,"1"],[2,"2"]]
==== json_table with nested paths
SELECT a, b FROM JSON_TABLE('[{"a": 1, "l": [5, 6]}]', '$[*]' COLUMNS (a INT PATH '$.a', e INT EXISTS PATH '$.z', NESTED PATH '$.l[*]' COLUMNS (b INT PATH '$'))) t
----
[[1,5],[1,6]]
==== full text
SELECT id, MATCH (words) AGAINST ('boiler') > 0 AS hit FROM docs WHERE MATCH (words) AGAINST ('+boiler -pump' IN BOOLEAN MODE)
----
[[1,1]]
==== the past of a table
SELECT COUNT(*) FROM old FOR SYSTEM_TIME ALL
----
[[1]]
==== partition
SELECT COUNT(*) FROM parted PARTITION (p0, p1, p2) AS p
----
[[2]]
==== index hint
SELECT COUNT(*) FROM orders USE INDEX (PRIMARY) WHERE id > 10
----
[[4]]
==== force index
SELECT o.id FROM orders AS o FORCE INDEX FOR ORDER BY (PRIMARY) ORDER BY o.id LIMIT 1
----
[[10]]
==== order by an expression
SELECT id FROM orders ORDER BY note IS NULL, total * -1 LIMIT 2
----
[[13],[10]]
==== order by field
SELECT city FROM customers WHERE city IS NOT NULL ORDER BY FIELD(city, 'Oslo', 'Kyoto', 'London')
----
[["Oslo"],["Kyoto"],["London"]]
==== alias in quotes
SELECT total AS 'the total', id "the id" FROM orders LIMIT 1
----
[[120.5,10]]
==== words that only some servers reserve
SELECT 1 AS system, 2 AS `groups`, 3 AS rank, 4 AS rows_, 5 AS date, 6 AS year, 7 AS value, 8 AS status
----
[[1,2,3,4,5,6,7,8]]
==== columns named like functions
SELECT date, year, count, month FROM (SELECT 1 AS date, 2 AS year, 3 AS count, 4 AS month) t
----
[[1,2,3,4]]
==== names that begin with digits
SELECT 1 AS 2024_sales, 2nd FROM (SELECT 2 AS 2nd) 1st
----
[[1,2]]
==== words that are names although they begin statements
SELECT handler, execute, prepare, do FROM (SELECT 1 AS handler, 2 AS execute, 3 AS prepare, 4 AS do) t
----
[[1,2,3,4]]
==== order by a column named as a string
SELECT 'city', id FROM customers ORDER BY city, id
----
[["city",1],["city",2],["city",3],["city",4]]
==== tables in brackets
SELECT COUNT(*) FROM (customers c, orders o) LEFT JOIN `order lines` l ON l.order_id = o.id WHERE c.id = o.customer_id
----
[[7]]
==== dates as a range of comparisons
SELECT COUNT(*) FROM orders WHERE '2024-02-01' <= placed AND placed < '2024-03-01' AND NOT (total BETWEEN 10 AND 20)
----
[[1]]
==== a row compared with a query
SELECT name FROM customers WHERE (id, city) = (SELECT 2, 'Oslo')
----
[["Björn"]]
==== conditional counts
SELECT COUNT(DISTINCT CASE WHEN total > 100 THEN customer_id END) AS n, SUM(total > 100) AS big, AVG(total > 100) AS share FROM orders
----
[[2,2,"0.4000"]]
==== group_concat with a limit
SELECT GROUP_CONCAT(DISTINCT product ORDER BY product DESC SEPARATOR ';' LIMIT 2) FROM `order lines`
----
[["pen;lamp"]]
==== random order
SELECT COUNT(*) FROM (SELECT id FROM orders ORDER BY RAND() LIMIT 3) t
----
[[3]]
==== bars and padding
SELECT REPEAT('*', total / 50) AS bar, CONCAT('[', SPACE(2), ']') AS s, LPAD(id, 5, '0') AS l, RPAD(name, CHAR_LENGTH(name) + 2, '.') AS r FROM orders JOIN customers USING (id) RIGHT JOIN (SELECT 1) x ON 1 = 1
----
[[null,"[  ]",null,null]]
==== a bar of stars
SELECT id, REPEAT('*', ROUND(total / 50)) AS bar, LPAD(id, 5, '0') AS l, RPAD(note, 8, '.') AS r FROM orders ORDER BY id LIMIT 2
----
[[10,"**","00010","first..."],[11,"**","00011",null]]
==== every kind of value
SELECT i, u, d, f, x, b, y, t, dt, z, bin, e, s, big, bl FROM kinds
----
[[-1,"18446744073709551615","1234567890123456.7800",0.1,0.1,5,2024,"-10:00:00.500","2024-05-17T18:45:00.123456",null,"blob, 2 bytes","b","p,q","123456789012345678901234567890","blob, 3 bytes"]]
==== sum of integers
SELECT SUM(quantity), AVG(quantity), SUM(quantity) * 1.0 FROM `order lines`
----
[[26,"3.7143","26.0"]]
==== sounds like
SELECT 'Robert' SOUNDS LIKE 'Rupert' AS x
----
[[1]]
==== explain with a format
EXPLAIN FORMAT=JSON SELECT * FROM orders WHERE id = 10
==== describe
DESCRIBE customers
----
[["id","int(11)","NO","PRI",null,""],["name","varchar(80)","NO","",null,""],["city","varchar(80)","YES","",null,""],["update","varchar(20)","YES","",null,""],["since","date","YES","",null,""]]
==== describe a query
DESC SELECT 1
==== show tables
SHOW TABLES LIKE 'ord%'
----
[["order lines"],["orders"]]
==== show columns
SHOW COLUMNS FROM `order lines` LIKE 'q%'
----
[["quantity","int(11)","NO","",null,""]]
==== show create table
SHOW CREATE TABLE orders
==== show index
SHOW INDEX FROM orders
==== columns of the schema
SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'customers' ORDER BY ORDINAL_POSITION LIMIT 2
----
[["id","int"],["name","varchar"]]
==== cohorts
SELECT DATE_FORMAT(f.first, '%Y-%m') AS cohort, TIMESTAMPDIFF(MONTH, f.first, o.placed) AS age, COUNT(DISTINCT o.customer_id) AS n FROM orders o JOIN (SELECT customer_id, MIN(placed) AS first FROM orders GROUP BY customer_id) f ON f.customer_id = o.customer_id GROUP BY cohort, age ORDER BY cohort, age
----
[["2024-01",0,1],["2024-01",1,1],["2024-02",0,1],["2024-03",0,1]]
==== pivot
SELECT SUM(CASE WHEN MONTH(placed) = 1 THEN total ELSE 0 END) AS jan, SUM(IF(MONTH(placed) = 2, total, 0)) AS feb, COUNT(CASE WHEN note IS NULL THEN 1 END) AS n FROM orders
----
[[120.5,95.25,2]]
==== change from month to month
WITH m AS (SELECT DATE_FORMAT(placed, '%Y-%m') AS month, SUM(total) AS t FROM orders GROUP BY 1) SELECT month, t, ROUND((t / LAG(t) OVER (ORDER BY month) - 1) * 100, 1) AS pct FROM m ORDER BY month
----
[["2024-01",120.5,null],["2024-02",95.25,-21],["2024-03",342,259.1]]
==== correlated in the list
SELECT c.name, (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) AS n FROM customers AS c ORDER BY n DESC, c.id LIMIT 2
----
[["Ada",2],["Chiyo",2]]
==== full join by hand
SELECT a.id, b.id FROM (SELECT 1 AS id UNION SELECT 2) a LEFT JOIN (SELECT 2 AS id UNION SELECT 3) b ON a.id = b.id UNION SELECT a.id, b.id FROM (SELECT 1 AS id UNION SELECT 2) a RIGHT JOIN (SELECT 2 AS id UNION SELECT 3) b ON a.id = b.id ORDER BY 1, 2
----
[[null,3],[1,null],[2,2]]
==== error of a missing table | failed
SELECT * FROM no_such_table
==== error of a missing function argument | failed
SELECT ROUND()
==== division by zero
SELECT 1 / 0 AS x, 5 DIV 0 AS y, 5 % 0 AS z
----
[[null,null,null]]
