# Statements that look for hidden columns in what DuckDB has of its own.

==== DESCRIBE
DESCRIBE staff
==== DESCRIBE a statement
DESCRIBE SELECT * FROM staff
==== SUMMARIZE
SUMMARIZE staff
==== SHOW
SHOW TABLES
==== SHOW ALL
SHOW ALL TABLES
==== PRAGMA
PRAGMA table_info('staff')
==== PRAGMA as a function
SELECT * FROM pragma_table_info('staff')
==== the columns
SELECT column_name FROM duckdb_columns()
==== the tables
SELECT sql FROM duckdb_tables()
==== the views
SELECT sql FROM duckdb_views()
==== the constraints
SELECT * FROM duckdb_constraints()
==== storage
SELECT * FROM pragma_storage_info('staff')
==== statistics
SELECT stats(salary) FROM staff
==== FROM first
FROM staff ORDER BY id
==== FROM first, the column
FROM staff SELECT salary
==== EXCLUDE
SELECT * EXCLUDE (name) FROM staff ORDER BY id
==== EXCLUDE the column
SELECT * EXCLUDE (salary) FROM staff ORDER BY id
==== REPLACE
SELECT * REPLACE (salary + 1 AS salary) FROM staff
==== RENAME
SELECT * RENAME (salary AS pay) FROM staff
==== COLUMNS
SELECT COLUMNS('s.*') FROM staff ORDER BY id
==== COLUMNS of all
SELECT COLUMNS(*)::VARCHAR FROM staff ORDER BY id
==== COLUMNS by a lambda
SELECT COLUMNS(c -> c LIKE 'sal%') FROM staff
==== COLUMNS in WHERE
SELECT name FROM staff WHERE COLUMNS(*)::VARCHAR LIKE 'canary%'
==== star LIKE
SELECT * LIKE 'sal%' FROM staff
==== star of a struct
SELECT s.* FROM (SELECT staff AS s FROM staff) ORDER BY 1
==== a field of the row
SELECT staff.salary FROM (SELECT staff FROM staff)
==== a field by its text
SELECT s['salary'] FROM (SELECT s FROM staff s)
==== struct_extract
SELECT struct_extract(s, 'salary') FROM (SELECT s FROM staff s)
==== struct_extract by position
SELECT struct_extract_at(s, 3) FROM staff s
==== row to JSON
SELECT to_json(s) FROM staff s ORDER BY s.id
==== unnest of the row
SELECT unnest(s) FROM staff s ORDER BY s.id
==== rowid
SELECT rowid FROM staff
==== GROUP BY ALL
SELECT salary, count(*) FROM staff GROUP BY ALL
==== ORDER BY ALL
SELECT * FROM staff ORDER BY ALL
==== QUALIFY
SELECT name FROM staff QUALIFY row_number() OVER (ORDER BY salary) = 1
==== arg_max
SELECT arg_max(name, salary) FROM staff
==== a list
SELECT list(salary) FROM staff
==== PIVOT
PIVOT staff ON salary USING count(*)
==== PIVOT of all
PIVOT staff ON team USING max(salary)
==== UNPIVOT
UNPIVOT staff ON COLUMNS(* EXCLUDE (id, name, team)) INTO NAME n VALUE v
==== UNPIVOT of the column
SELECT * FROM staff UNPIVOT (v FOR n IN (salary, since))
==== positional join
SELECT * FROM staff POSITIONAL JOIN bonuses ORDER BY id
==== ASOF join
SELECT s.name FROM staff s ASOF JOIN bonuses b ON s.salary >= b.amount
==== semi join
SELECT * FROM bonuses SEMI JOIN staff USING (salary)
==== anti join
SELECT * FROM bonuses ANTI JOIN staff USING (salary)
==== lateral
SELECT x.p FROM staff s, LATERAL (SELECT s.salary AS p) AS x
==== sample
SELECT salary FROM staff USING SAMPLE 3
==== a macro
SELECT getvariable('salary')
==== the database before the name
SELECT salary FROM staff.main.staff
==== query by text
SELECT * FROM query('SELECT salary FROM staff')
==== query_table
SELECT * FROM query_table('staff') ORDER BY id
==== the whole row compared
SELECT count(*) FROM staff s WHERE s.salary = 5100
==== a list comprehension
SELECT [x.salary FOR x IN list(s)] FROM staff s
==== alias in WHERE
SELECT salary AS p FROM staff WHERE p > 6000
