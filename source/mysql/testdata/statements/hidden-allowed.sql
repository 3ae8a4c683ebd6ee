# Honest statements over tables with hidden columns, in the SQL of MySQL and MariaDB.

==== backticks
SELECT `s`.`name` FROM `staff` `s` WHERE `s`.`id` = 1
----
[["Ada"]]
==== a view over a view
SELECT * FROM rostered ORDER BY team
----
[["north",2],["south",1]]
==== a view with a common table expression
SELECT name FROM named ORDER BY since
----
[["Bob"],["Cyd"]]
==== a view of another table
SELECT * FROM plain
----
[[1,"Eve"]]
==== a view under an alias, twice
SELECT a.name, b.name FROM roster a JOIN roster b ON b.id = a.id + 1 ORDER BY a.id
----
[["Ada","Bob"],["Bob","Cyd"]]
==== the table's name before columns and stars
SELECT staff.*, teams.boss FROM staff, teams WHERE teams.team = staff.team AND staff.id = 2
----
[[2,"Bob","south",2020,2]]
==== TABLE
TABLE teams ORDER BY boss
----
[["north",1],["south",2]]
==== a hint
SELECT id FROM staff USE INDEX (staff_since) WHERE since = 2020
----
[[2]]
==== hidden rows of no table
SELECT COUNT(*) FROM people p JOIN staff s ON s.id = p.id
----
[[1]]
==== aggregates with a window
SELECT team, since - MIN(since) OVER (PARTITION BY team) AS d FROM staff ORDER BY id
----
[["north",0],["south",0],["north",2]]
==== WITH RECURSIVE
WITH RECURSIVE n(i) AS (SELECT MIN(id) FROM staff UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT COUNT(*) FROM n
----
[[3]]
