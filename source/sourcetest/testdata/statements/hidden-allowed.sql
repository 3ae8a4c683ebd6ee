# Honest statements over tables with hidden columns, for every engine.

==== all columns
SELECT * FROM staff ORDER BY id
----
[[1,"Ada","north",2019],[2,"Bob","south",2020],[3,"Cyd","north",2021]]
==== all columns of an alias
SELECT s.* FROM staff AS s WHERE s.id = 2
----
[[2,"Bob","south",2020]]
==== an alias without AS
SELECT x.name FROM staff x ORDER BY x.id DESC
----
[["Cyd"],["Bob"],["Ada"]]
==== the table's own name
SELECT staff.name FROM staff WHERE staff.id = 1
----
[["Ada"]]
==== a quoted name
SELECT "name" FROM "staff" WHERE "id" = 3
----
[["Cyd"]]
==== another case
SELECT NAME FROM STAFF WHERE ID = 3
----
[["Cyd"]]
==== a count
SELECT count(*) FROM staff
----
[[3]]
==== groups
SELECT team, count(*) FROM staff GROUP BY team ORDER BY team
----
[["north",2],["south",1]]
==== a join
SELECT s.name, t.boss FROM staff s JOIN teams t ON t.team = s.team ORDER BY s.id
----
[["Ada",1],["Bob",2],["Cyd",1]]
==== a join by USING
SELECT name, boss FROM staff JOIN teams USING (team) ORDER BY id
----
[["Ada",1],["Bob",2],["Cyd",1]]
==== a natural join
SELECT name, boss FROM staff NATURAL JOIN teams ORDER BY id
----
[["Ada",1],["Bob",2],["Cyd",1]]
==== a natural join over no common column that is visible
SELECT count(*) FROM staff NATURAL JOIN bonuses
----
[[9]]
==== a column of the same name in another table
SELECT sum(salary) FROM bonuses
----
[[18600]]
==== a column of the same name beside the table
SELECT s.name, salary FROM staff s JOIN bonuses b ON b.staff = s.id ORDER BY s.id
----
[["Ada",5100],["Bob",6200],["Cyd",7300]]
==== twice
SELECT a.name, b.name FROM staff a, staff b WHERE a.id = 1 AND b.id = 2
----
[["Ada","Bob"]]
==== a subquery
SELECT name FROM teams, staff WHERE boss = id ORDER BY name
----
[["Ada"],["Bob"]]
==== a correlated subquery
SELECT name, (SELECT count(*) FROM staff o WHERE o.team = s.team) FROM staff s ORDER BY id
----
[["Ada",2],["Bob",1],["Cyd",2]]
==== EXISTS
SELECT team FROM teams WHERE EXISTS (SELECT * FROM staff WHERE staff.team = teams.team AND since > 2020)
----
[["north"]]
==== a common table expression
WITH s AS (SELECT * FROM staff) SELECT count(*) FROM s
----
[[3]]
==== a common table expression of the table's name
WITH staff AS (SELECT 1 AS salary) SELECT salary FROM staff
----
[[1]]
==== a union
SELECT name FROM staff UNION SELECT team FROM teams ORDER BY 1
----
[["Ada"],["Bob"],["Cyd"],["north"],["south"]]
==== a view without hidden columns
SELECT * FROM roster ORDER BY id
----
[[1,"Ada","north"],[2,"Bob","south"],[3,"Cyd","north"]]
==== a window
SELECT name, rank() OVER (ORDER BY since DESC) FROM staff ORDER BY id
----
[["Ada",3],["Bob",2],["Cyd",1]]
==== text with the name
SELECT 'salary' FROM staff WHERE id = 1
----
[["salary"]]
==== an alias with the name
SELECT since AS salary FROM staff WHERE id = 1
----
[[2019]]
==== a comment with the name
SELECT name /* not the salary */ FROM staff WHERE id = 1 -- nor the iban
----
[["Ada"]]
