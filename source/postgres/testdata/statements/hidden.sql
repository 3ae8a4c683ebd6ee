# Statements that look for hidden columns in what Postgres has of its own.

==== with its schema
SELECT salary FROM public.staff
==== with its schema, quoted
SELECT "salary" FROM "public"."staff"
==== with its schema and spaces
SELECT salary FROM public . staff
==== with its schema and a comment
SELECT salary FROM public/**/./**/staff
==== with its database
SELECT salary FROM postgres.public.staff
==== a column with its schema
SELECT public.staff.salary FROM public.staff
==== Unicode escapes in the table
SELECT salary FROM U&"st\0061ff"
==== Unicode escapes in the column
SELECT U&"s\0061lary" FROM staff
==== ONLY
SELECT salary FROM ONLY staff
==== ONLY in parentheses
SELECT * FROM ONLY (staff)
==== with its children
SELECT salary FROM staff*
==== TABLE in a union
SELECT 1, 'a', 'b', 2 UNION ALL TABLE staff
==== TABLE in IN
SELECT 1 WHERE (1, 'a') IN (TABLE staff)
==== a sample
SELECT salary FROM staff TABLESAMPLE bernoulli (100)
==== a row to JSON
SELECT row_to_json(s) FROM staff s ORDER BY s.id
==== a row to JSON by the table's name
SELECT row_to_json(staff) FROM staff ORDER BY id
==== to_json
SELECT to_jsonb(staff) FROM staff ORDER BY id
==== a field of JSON
SELECT to_jsonb(s) ->> 'salary' FROM staff s
==== the keys of a row
SELECT DISTINCT jsonb_object_keys(to_jsonb(s)) FROM staff s ORDER BY 1
==== json_agg
SELECT json_agg(s ORDER BY s.id) FROM staff s
==== array_agg
SELECT array_agg(s ORDER BY s.id) FROM staff s
==== ROW
SELECT ROW(s.*) FROM staff s ORDER BY s.id
==== a row as text
SELECT s::text FROM staff s ORDER BY s.id
==== a field of the row
SELECT (s).salary FROM staff s
==== a field of a subquery
SELECT (SELECT s FROM staff s LIMIT 1).salary
==== all fields of the row
SELECT (s).* FROM staff s ORDER BY 1
==== a column as a function
SELECT salary(s) FROM staff s
==== a row type
SELECT (NULL::staff).salary
==== a row type with its schema
SELECT (NULL::public.staff).*
==== a row type of a view
SELECT (NULL::paid).*
==== an array of the row type
SELECT NULL::staff[]
==== an array of the row type by its name
SELECT NULL::_staff
==== a cast by a function
SELECT staff(NULL)
==== json_populate_record
SELECT * FROM json_populate_record(NULL::staff, '{"salary": 1}')
==== jsonb_populate_recordset
SELECT * FROM jsonb_populate_recordset(NULL::staff, '[{}]')
==== json_populate_record of a row
SELECT (json_populate_record(s, '{"salary": 1}')).salary FROM staff s
==== json_to_record
SELECT * FROM staff s, json_to_record(row_to_json(s)) AS x(salary integer)
==== XML
SELECT table_to_xml('staff', true, false, '')
==== query_to_xml
SELECT query_to_xml('SELECT salary FROM staff', true, false, '')
==== XML of the schema
SELECT schema_to_xml('public', true, false, '')
==== xmlforest
SELECT xmlforest(salary) FROM staff
==== statistics
SELECT most_common_vals FROM pg_stats WHERE tablename = 'staff'
==== statistics with their schema
SELECT histogram_bounds FROM pg_catalog.pg_stats
==== pg_statistic
SELECT stavalues1 FROM pg_statistic
==== extended statistics
SELECT * FROM pg_stats_ext
==== columns
SELECT attname FROM pg_attribute WHERE attrelid = 'staff'::regclass
==== columns of information_schema
SELECT column_name FROM information_schema.columns
==== privileges on columns
SELECT column_name FROM information_schema.column_privileges
==== usage of columns
SELECT column_name FROM information_schema.constraint_column_usage
==== usage by views
SELECT column_name FROM information_schema.view_column_usage
==== constraints
SELECT conname FROM pg_constraint
==== definitions of constraints
SELECT pg_get_constraintdef(oid) FROM pg_constraint
==== indexes
SELECT indexdef FROM pg_indexes
==== names of indexes
SELECT relname FROM pg_class WHERE relkind = 'i'
==== definitions of indexes
SELECT pg_get_indexdef(indexrelid) FROM pg_index
==== views
SELECT definition FROM pg_views
==== a view's definition
SELECT pg_get_viewdef('rich'::regclass)
==== materialized views
SELECT definition FROM pg_matviews
==== comments
SELECT description FROM pg_description
==== a comment by a function
SELECT col_description('staff'::regclass, 3)
==== a comment of the table
SELECT obj_description('staff'::regclass, 'pg_class')
==== defaults
SELECT * FROM pg_attrdef
==== types
SELECT typname FROM pg_type WHERE typrelid > 0
==== EXPLAIN VERBOSE
EXPLAIN (VERBOSE) SELECT * FROM staff
==== EXPLAIN of a condition
EXPLAIN SELECT name FROM staff WHERE salary > 1
==== a plan in JSON
EXPLAIN (FORMAT JSON) SELECT salary FROM staff
==== a whole row in a view
SELECT * FROM whole
==== a materialized view
SELECT * FROM paid_once
==== a view that joins by it
SELECT * FROM joined
==== a view of what inherits
SELECT * FROM rich_heirs
==== what inherits
SELECT salary FROM heirs
==== what inherits, all
SELECT * FROM heirs
==== what inherits, a row
SELECT h FROM heirs h
==== tableoid
SELECT tableoid FROM staff
==== ctid
SELECT ctid FROM staff
==== xmin
SELECT xmin FROM staff
==== LATERAL
SELECT x.p FROM staff s, LATERAL (SELECT s.salary AS p) x
==== LATERAL VALUES
SELECT x.* FROM staff s CROSS JOIN LATERAL (VALUES (s.salary)) x
==== a function in FROM
SELECT * FROM staff s, unnest(ARRAY[s.salary]) u
==== ROWS FROM
SELECT * FROM staff s, ROWS FROM (generate_series(1, s.salary))
==== USING with an alias
SELECT u.salary FROM bonuses JOIN staff USING (salary) AS u
==== an alias of a join
SELECT j.salary FROM (staff CROSS JOIN teams) AS j
==== DISTINCT ON
SELECT DISTINCT ON (salary) name FROM staff ORDER BY salary
==== GROUPING SETS
SELECT count(*) FROM staff GROUP BY GROUPING SETS ((salary), ())
==== by the primary key
SELECT id, salary FROM staff GROUP BY id
==== ordered aggregate
SELECT string_agg(name, ',' ORDER BY salary) FROM staff
==== percentile
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY salary) FROM staff
==== SEARCH
WITH RECURSIVE r AS (SELECT id, salary FROM staff UNION ALL SELECT id, salary FROM r WHERE false) SEARCH DEPTH FIRST BY salary SET o SELECT * FROM r
==== a CTE with MATERIALIZED
WITH x AS MATERIALIZED (SELECT * FROM staff) SELECT salary FROM x
==== two CTEs of the name
WITH staff AS (SELECT * FROM staff), x AS (SELECT * FROM staff) SELECT salary FROM x
==== a nested WITH of the name
SELECT * FROM (WITH staff AS (TABLE bonuses) SELECT * FROM staff) y, staff ORDER BY 1, 4
==== a nested WITH that ends
SELECT (WITH staff AS (SELECT 1 AS salary) SELECT salary FROM staff), salary FROM staff
==== a JSON path
SELECT jsonb_path_query(to_jsonb(s), '$.salary') FROM staff s
==== a long name
SELECT salary FROM staff AS aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
==== a name with a mark behind
SELECT salary FROM staff/* )*/AS/*(*/ s
==== a dollar quote
SELECT $$ FROM staff $$, salary FROM staff
==== an escaped text before the table
SELECT E'\' FROM staff', salary FROM staff
==== a text with quotes before the table
SELECT 'it''s " FROM staff', "salary" FROM staff
==== letters beyond ASCII before the table
SELECT 'ÄÖÜß€' AS "größe", salary FROM staff
==== a nested comment
SELECT /* /* FROM staff */ */ salary FROM staff
==== two statements
SELECT 1; SELECT salary FROM staff
==== the size of a column's index
SELECT pg_relation_size('staff_salary')
==== an index by its name
SELECT 'staff_salary'::regclass
==== an index by its name, as a function
SELECT regclass('staff_salary')
==== a type by a value
SELECT pg_typeof(s) FROM staff s
