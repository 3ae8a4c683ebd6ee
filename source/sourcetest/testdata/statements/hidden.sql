# Statements that look for columns and tables that are hidden, for every engine. Whatever comes of one, it must not
# depend on what is hidden, nor name it.

==== the column
SELECT salary FROM staff
==== the column of the table
SELECT staff.salary FROM staff
==== the column of an alias
SELECT s.salary FROM staff s
==== quoted
SELECT "salary" FROM staff ORDER BY id
==== quoted, of an alias
SELECT s."salary" FROM staff AS s
==== upper case
SELECT SALARY FROM STAFF
==== mixed case
SELECT sAlArY FROM sTaFf
==== quoted upper case
SELECT s."SALARY" FROM staff s
==== the other column
SELECT iban FROM staff
==== both
SELECT salary, iban FROM staff
==== star and the column
SELECT *, salary FROM staff
==== in an expression
SELECT salary + 0 FROM staff
==== in a function
SELECT abs(salary) FROM staff
==== in a text function
SELECT upper(iban) FROM staff
==== in a cast
SELECT CAST(salary AS VARCHAR(20)) FROM staff
==== in CASE
SELECT CASE WHEN salary > 6000 THEN 1 ELSE 0 END FROM staff
==== in COALESCE
SELECT coalesce(salary, 0) FROM staff
==== in a sum
SELECT sum(salary) FROM staff
==== in a minimum
SELECT min(iban), max(iban) FROM staff
==== in a count
SELECT count(salary) FROM staff
==== in a distinct count
SELECT count(DISTINCT salary) FROM staff
==== in FILTER
SELECT count(*) FILTER (WHERE salary > 6000) FROM staff
==== in WHERE
SELECT name FROM staff WHERE salary > 6000
==== in WHERE of an alias
SELECT name FROM staff s WHERE s.salary BETWEEN 6000 AND 7000
==== in WHERE with LIKE
SELECT name FROM staff WHERE iban LIKE 'canary%'
==== in WHERE with IS NULL
SELECT name FROM staff WHERE salary IS NOT NULL
==== in WHERE with IN
SELECT name FROM staff WHERE salary IN (5100, 6200, 7300)
==== in GROUP BY
SELECT count(*) FROM staff GROUP BY salary
==== in HAVING
SELECT team FROM staff GROUP BY team HAVING max(salary) > 6000
==== in ORDER BY
SELECT name FROM staff ORDER BY salary
==== in ORDER BY, descending
SELECT name FROM staff s ORDER BY s.salary DESC LIMIT 1
==== in DISTINCT
SELECT DISTINCT salary FROM staff
==== in a window
SELECT name, rank() OVER (ORDER BY salary) FROM staff
==== in a partition
SELECT name, count(*) OVER (PARTITION BY iban) FROM staff
==== in a named window
SELECT name, rank() OVER w FROM staff WINDOW w AS (ORDER BY salary)
==== in lag
SELECT lag(salary) OVER (ORDER BY id) FROM staff
==== in LIMIT
SELECT name FROM staff ORDER BY id LIMIT (SELECT min(salary) - 5099 FROM staff)
==== in a subquery
SELECT (SELECT max(salary) FROM staff)
==== in a subquery in FROM
SELECT * FROM (SELECT salary FROM staff) AS x
==== in EXISTS
SELECT 1 WHERE EXISTS (SELECT * FROM staff WHERE salary = 7300)
==== in IN
SELECT 1 WHERE 7300 IN (SELECT salary FROM staff)
==== in a correlated subquery
SELECT name, (SELECT o.salary FROM staff o WHERE o.id = s.id) FROM staff s
==== of the outer query
SELECT (SELECT s.salary) FROM staff s
==== of the outer query, deep
SELECT (SELECT (SELECT s.salary + 1)) FROM staff s
==== in a common table expression
WITH x AS (SELECT salary FROM staff) SELECT * FROM x
==== in a common table expression with names
WITH x(a) AS (SELECT salary FROM staff) SELECT a FROM x
==== through a common table expression
WITH x AS (SELECT * FROM staff) SELECT salary FROM x
==== through a common table expression of the name
WITH staff AS (SELECT * FROM staff) SELECT salary FROM staff
==== a CTE of another name over the table
WITH roster AS (SELECT * FROM staff) SELECT salary FROM roster
==== in a recursive CTE
WITH RECURSIVE r(n) AS (SELECT max(salary) FROM staff UNION ALL SELECT n - 1 FROM r WHERE n > 7298) SELECT * FROM r
==== recursive of the name
WITH RECURSIVE staff(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM staff WHERE n < 3) SELECT n, salary FROM staff
==== through a subquery with a star
SELECT x.salary FROM (SELECT * FROM staff) AS x
==== through two stars
SELECT y.salary FROM (SELECT * FROM (SELECT * FROM staff) AS x) AS y
==== in a union
SELECT name FROM staff UNION SELECT iban FROM staff
==== in a union of the type
SELECT amount FROM bonuses UNION ALL SELECT salary FROM staff
==== in EXCEPT
SELECT salary FROM bonuses EXCEPT SELECT salary FROM staff
==== in INTERSECT
SELECT salary FROM bonuses INTERSECT SELECT salary FROM staff
==== a union by the number of columns
SELECT * FROM staff UNION ALL SELECT 1, 'x', 2, 'y', 'z', 3
==== join by ON
SELECT b.amount FROM bonuses b JOIN staff s ON b.salary = s.salary
==== join by USING
SELECT amount, name FROM bonuses JOIN staff USING (salary)
==== join by USING, the merged column
SELECT salary FROM bonuses JOIN staff USING (salary)
==== join by USING, the column of the table
SELECT staff.salary FROM bonuses JOIN staff USING (salary)
==== left join by USING
SELECT salary, name FROM bonuses LEFT JOIN staff USING (salary)
==== right join by USING
SELECT salary, name FROM staff RIGHT JOIN bonuses USING (salary)
==== full join by USING
SELECT salary, name FROM bonuses FULL JOIN staff USING (salary)
==== full join with itself
SELECT salary FROM staff a FULL JOIN staff b USING (salary)
==== full join by another column
SELECT salary FROM staff a FULL JOIN teams b USING (team)
==== full join, star
SELECT * FROM staff a FULL JOIN bonuses b ON a.salary = b.salary
==== natural join
SELECT amount, name FROM bonuses NATURAL JOIN staff ORDER BY amount, name
==== natural join, star
SELECT * FROM staff NATURAL JOIN bonuses ORDER BY id, amount
==== natural join with itself
SELECT count(*) FROM staff a NATURAL JOIN staff b
==== natural join with values
SELECT count(*) FROM staff NATURAL JOIN (SELECT 5100 AS salary) AS guess
==== natural full join
SELECT * FROM staff NATURAL FULL JOIN bonuses ORDER BY id, amount
==== natural left join
SELECT name FROM staff NATURAL LEFT JOIN (SELECT 5100 AS salary, 7 AS hit) AS g WHERE hit = 7 ORDER BY name
==== join of three
SELECT s.salary FROM teams t JOIN staff s ON s.team = t.team JOIN bonuses b ON b.staff = s.id
==== cross join
SELECT s.salary FROM teams CROSS JOIN staff s
==== an alias of another table's name
SELECT bonuses.salary FROM staff AS bonuses
==== an alias of the column's name
SELECT salary.salary FROM staff AS salary
==== the alias alone
SELECT salary FROM staff AS salary
==== the table as a value
SELECT staff FROM staff
==== the alias as a value
SELECT s FROM staff s
==== the table compared
SELECT count(*) FROM staff a, staff b WHERE a = b
==== the table in a count
SELECT count(staff) FROM staff
==== the table in a maximum
SELECT max(s) FROM staff s
==== the table as text
SELECT CAST(s AS VARCHAR(200)) FROM staff s
==== the table, its star in a function
SELECT count(s.*) FROM staff s
==== a row value
SELECT name FROM staff WHERE (id, salary) = (1, 5100)
==== row values in IN
SELECT name FROM staff WHERE (id, salary) IN (SELECT staff, salary FROM bonuses)
==== renamed columns
SELECT c FROM staff AS s(a, b, c, d, e, f)
==== renamed columns, all
SELECT * FROM staff AS s(id, name, salary, team, iban, since)
==== renamed columns of a subquery
SELECT c FROM (SELECT * FROM staff) AS s(a, b, c, d, e, f)
==== renamed columns of a CTE
WITH s(a, b, c, d, e, f) AS (SELECT * FROM staff) SELECT c FROM s
==== by position in ORDER BY
SELECT * FROM staff ORDER BY 5
==== by position, one more
SELECT * FROM staff ORDER BY 6
==== a view that selects by it
SELECT * FROM rich
==== a view that shows it
SELECT * FROM paid
==== a view that shows it, the new name
SELECT wage FROM paid
==== a view over that view
SELECT * FROM paid_twice
==== a view in a subquery
SELECT (SELECT max(wage) FROM paid)
==== a view in a join
SELECT s.name, p.wage FROM staff s JOIN paid p ON p.id = s.id
==== a view in a natural join
SELECT * FROM staff NATURAL JOIN paid
==== a view counted
SELECT count(*) FROM rich
==== a view in a CTE of another name
WITH x AS (SELECT * FROM paid_twice) SELECT * FROM x
==== a view, in upper case
SELECT * FROM PAID
==== the view roster
SELECT salary FROM roster
==== a hidden table
SELECT * FROM dossiers
==== a hidden table counted
SELECT count(*) FROM dossiers
==== a hidden table quoted
SELECT * FROM "dossiers"
==== a hidden table in upper case
SELECT remark FROM DOSSIERS
==== a hidden table in a join
SELECT * FROM staff JOIN dossiers USING (id)
==== a hidden table in a natural join
SELECT * FROM staff NATURAL JOIN dossiers
==== a hidden table in a subquery
SELECT name FROM staff WHERE id IN (SELECT id FROM dossiers)
==== a hidden table in a CTE of its name
WITH dossiers AS (SELECT * FROM dossiers) SELECT * FROM dossiers
==== a table that is not there
SELECT * FROM dossier
==== a similar name
SELECT salry FROM staff
==== a similar name of an alias
SELECT s.ibn FROM staff s
==== a longer name
SELECT salarys FROM staff
==== a similar name of a function
SELECT salary(name) FROM staff
==== the column as a function
SELECT salary(staff) FROM staff
==== a beginning of the name
SELECT sal FROM staff
==== no such column
SELECT wage FROM staff
==== ambiguous
SELECT id FROM staff a, staff b
==== missing in GROUP BY
SELECT team, salary FROM staff GROUP BY team
==== an explained statement
EXPLAIN SELECT * FROM staff
==== an explained column
EXPLAIN SELECT salary FROM staff
==== the catalogue's columns
SELECT column_name FROM information_schema.columns WHERE table_name = 'staff'
==== the catalogue's tables
SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'do%'
==== the catalogue's views
SELECT view_definition FROM information_schema.views WHERE table_name = 'paid'
==== the schema's text
SELECT sql FROM sqlite_master
==== pg_attribute
SELECT attname FROM pg_catalog.pg_attribute WHERE attnum > 0 AND attname LIKE 'sal%'
==== VALUES with the column
VALUES ((SELECT salary FROM staff WHERE id = 1))
==== TABLE
TABLE staff
==== a comment in the name
SELECT s./**/salary FROM staff s
==== a line break in the name
SELECT s
.
salary FROM staff s
==== main
SELECT salary FROM main.staff
==== main, star
SELECT * FROM main.staff ORDER BY id
==== public
SELECT salary FROM public.staff
==== temp
SELECT salary FROM temp.staff
==== a CTE of the table's name over the table
WITH staff AS (SELECT name FROM staff WHERE id = 1) SELECT * FROM staff
==== renamed columns that are visible
SELECT b FROM (SELECT * FROM staff WHERE id = 1) AS s(a, b, c, d)

==== a table that a pattern hides
SELECT * FROM pay_old

==== a table that a pattern hides, in capitals
SELECT count(*) FROM PAY_OLD

==== a table that a pattern hides, in a subquery
SELECT name FROM staff WHERE id IN (SELECT id FROM pay_old)

==== a table that no pattern names
SELECT * FROM unlisted

==== a table that no pattern names, joined
SELECT s.name FROM staff s JOIN unlisted u ON u.id = s.id

==== a view of a table that no pattern names
SELECT * FROM rumours
