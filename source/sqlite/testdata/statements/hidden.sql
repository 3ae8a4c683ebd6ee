# Statements that look for hidden columns in what SQLite has of its own.

==== table_info
PRAGMA table_info(staff)
==== table_info, main
PRAGMA main.table_info(staff)
==== table_info, temp
PRAGMA temp.table_info(staff)
==== table_xinfo
PRAGMA table_xinfo('staff')
==== table_info as a function
SELECT name FROM pragma_table_info('staff') ORDER BY name
==== table_info as a function, main
SELECT name FROM pragma_table_info('staff', 'main') ORDER BY name
==== table_xinfo as a function, main
SELECT name FROM pragma_table_xinfo('staff', 'main') ORDER BY name
==== table_info by schema
SELECT name FROM pragma_table_info('staff') WHERE schema = 'main' ORDER BY name
==== table_info of a hidden table
PRAGMA table_info(dossiers)
==== table_info of a hidden table, as a function
SELECT * FROM pragma_table_info('dossiers')
==== table_info of a view
PRAGMA table_info(paid)
==== table_list
SELECT name FROM pragma_table_list
==== index_list
PRAGMA index_list(staff)
==== foreign keys
PRAGMA foreign_key_list(staff)
==== the schema
SELECT sql FROM sqlite_schema
==== the temporary schema
SELECT sql FROM sqlite_temp_schema
==== the temporary schema, older name
SELECT sql FROM temp.sqlite_temp_master
==== statistics
SELECT * FROM sqlite_stat1
==== sampled statistics
SELECT sample FROM sqlite_stat4
==== query plan
EXPLAIN QUERY PLAN SELECT * FROM staff
==== rowid
SELECT rowid FROM staff
==== rowid by another name
SELECT _rowid_, oid FROM staff
==== in brackets
SELECT [salary] FROM [staff]
==== in backticks
SELECT `salary` FROM `staff`
==== in apostrophes
SELECT s.'salary' FROM staff s
==== double-quoted in WHERE
SELECT name FROM staff WHERE "salary" > 6000
==== indexed
SELECT name FROM staff INDEXED BY staff_salary WHERE salary > 6000
==== not indexed
SELECT salary FROM staff NOT INDEXED
==== in a bare column of an aggregate
SELECT max(since), salary FROM staff
==== json
SELECT json_object('a', salary) FROM staff
==== json of a group
SELECT json_group_array(iban) FROM staff
==== json of a row
SELECT json_each.value FROM staff, json_each(staff.salary)
==== printf
SELECT printf('%d', salary) FROM staff
==== group_concat
SELECT group_concat(salary, ',') FROM staff
==== main in brackets
SELECT salary FROM [main].staff
==== main in quotes
SELECT salary FROM "main"."staff"
==== main beside a comment
SELECT salary FROM main/* */./* */staff
==== a compound
SELECT 1, 2, 3, 4, 5, 6 UNION ALL SELECT * FROM staff
==== a table-valued function of the name
SELECT * FROM staff(1)
==== IS
SELECT name FROM staff WHERE salary IS 5100
==== a CTE that stands for the catalogue
WITH sqlite_schema AS (SELECT * FROM sqlite_schema) SELECT * FROM sqlite_schema
==== dbstat
SELECT * FROM dbstat WHERE name = 'staff'
==== two statements
SELECT 1; SELECT salary FROM staff
