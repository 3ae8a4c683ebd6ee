# Statements that look for rows of others in what DuckDB has of its own.

==== from first
FROM orders
==== from first, qualified
FROM main.orders
==== summarize
SUMMARIZE orders
==== summarize qualified
SUMMARIZE main.orders
==== summarize hidden
SUMMARIZE payroll
==== describe
DESCRIBE orders
==== describe hidden
DESCRIBE payroll
==== describe a select
DESCRIBE SELECT * FROM payroll
==== describe with an enum
DESCRIBE keyed
==== show tables
SHOW TABLES
==== show all tables
SHOW ALL TABLES
==== show databases
SHOW DATABASES
==== pivot
PIVOT orders ON note USING sum(amount)
==== pivot qualified
PIVOT main.orders ON org USING count(*)
==== pivot hidden
PIVOT payroll ON org USING count(*)
==== pivot of a CTE
WITH x AS (SELECT * FROM orders) PIVOT x ON note USING count(*)
==== unpivot
UNPIVOT orders ON amount INTO NAME n VALUE v
==== sample
SELECT count(*) FROM orders USING SAMPLE 100 PERCENT (bernoulli)
==== tablesample
SELECT count(*) FROM orders TABLESAMPLE 100%
==== reservoir
SELECT count(*) FROM (SELECT * FROM orders USING SAMPLE 1000 ROWS)
==== duckdb_tables
SELECT table_name, estimated_size FROM duckdb_tables()
==== duckdb_tables view
SELECT * FROM duckdb_tables
==== duckdb_columns
SELECT * FROM duckdb_columns()
==== duckdb_views
SELECT sql FROM duckdb_views()
==== duckdb_constraints
SELECT * FROM duckdb_constraints()
==== duckdb_indexes
SELECT * FROM duckdb_indexes()
==== duckdb_databases
SELECT * FROM duckdb_databases()
==== duckdb_types
SELECT * FROM duckdb_types() WHERE NOT internal
==== duckdb_schemas
SELECT * FROM duckdb_schemas()
==== duckdb_secrets
SELECT * FROM duckdb_secrets()
==== duckdb_functions
SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal
==== duckdb_settings
SELECT * FROM duckdb_settings()
==== pg_tables
SELECT * FROM pg_catalog.pg_tables
==== pg_class
SELECT * FROM pg_catalog.pg_class
==== pg_views
SELECT * FROM pg_views
==== storage
SELECT * FROM pragma_storage_info('orders')
==== statistics of a column
SELECT stats(note) FROM orders LIMIT 1
==== statistics of a hidden column
SELECT stats(salary) FROM payroll LIMIT 1
==== table_info
PRAGMA table_info('payroll')
==== pragma_table_info
SELECT * FROM pragma_table_info('payroll')
==== pragma_table_info, qualified
SELECT * FROM pragma_table_info('main.orders')
==== pragma_show
PRAGMA show('payroll')
==== database size
PRAGMA database_size
==== metadata
CALL pragma_metadata_info('orders')
==== query
SELECT * FROM query('SELECT * FROM main.orders')
==== query_table
SELECT * FROM query_table('payroll')
==== query_table of several
SELECT * FROM query_table(['orders', 'payroll'])
==== read the file
SELECT * FROM read_csv('shop.duckdb')
==== read text
SELECT * FROM read_text('shop.duckdb')
==== read a blob
SELECT * FROM read_blob('*')
==== glob
SELECT * FROM glob('*')
==== the file as a table
SELECT * FROM 'shop.duckdb'
==== parquet metadata
SELECT * FROM parquet_metadata('x.parquet')
==== sqlite scan
SELECT * FROM sqlite_scan('shop.db', 'orders')
==== macro of the database
SELECT total_of_all() AS t
==== table macro of the database
SELECT * FROM rows_of_all()
==== macro with a column
SELECT hidden_name(5) AS t
==== enum of a column
SELECT enum_range(grade) FROM keyed LIMIT 1
==== first of an enum
SELECT enum_first(grade), enum_last(grade) FROM keyed LIMIT 1
==== enum of a type
SELECT enum_range(NULL::grades) AS r
==== code of an enum
SELECT enum_code(grade) FROM keyed
==== type of an enum
SELECT typeof(grade) FROM keyed LIMIT 1
==== type by its name
SELECT typeof(CAST(NULL AS grades)) AS t
==== describe a type
DESCRIBE SELECT CAST(NULL AS grades) AS t
==== cast to a type
SELECT 'acme-grade'::grades AS t
==== cast to a type that fails
SELECT 'no-grade'::grades AS t
==== cast to a type, tried
SELECT TRY_CAST('another-grade' AS grades) IS NULL AS t
==== type in a list
SELECT typeof([]::grades[]) AS t
==== type in a struct
SELECT typeof(NULL::STRUCT(a grades)) AS t
==== can_cast
SELECT can_cast_implicitly(NULL::VARCHAR, NULL::grades) AS t
==== from_json with a type
SELECT from_json('"x"', '"grades"') AS t
==== json_transform with a type
SELECT json_transform('{"a":"x"}', '{"a":"grades"}') AS t
==== an enum with others' values
SELECT grade FROM keyed
==== schema of its own
SELECT * FROM other.orders
==== sequence
SELECT currval('seq')
==== try
SELECT TRY(CAST(note AS INTEGER)) FROM orders ORDER BY id
==== error quoting a value, integer
SELECT note::INTEGER FROM orders
==== error quoting a value in a condition
SELECT id FROM orders WHERE note::INTEGER = 1
==== error quoting a value in a join
SELECT count(*) FROM orders o JOIN accounts a ON o.note::INTEGER = a.id
==== error quoting a value, date
SELECT id FROM orders WHERE note::DATE > DATE '2024-01-01'
==== error quoting a value, strptime
SELECT id FROM orders WHERE strptime(note, '%Y') IS NOT NULL
==== error function
SELECT id FROM orders WHERE CASE WHEN org <> 'acme' THEN error(note) ELSE true END
==== error function in a select list
SELECT CASE WHEN org <> 'acme' THEN error(note) ELSE id END FROM orders ORDER BY 1
==== error function through a view
SELECT count(*) FROM totals WHERE CASE WHEN region NOT IN ('north', 'south') THEN error(region) ELSE true END
==== error function in an aggregate
SELECT sum(CASE WHEN amount > 900 THEN error(note) ELSE 1 END) FROM orders
==== error function in an outer join
SELECT count(*) FROM products p LEFT JOIN orders o ON o.product_id = p.id AND CASE WHEN o.org <> 'acme' THEN error(o.note) ELSE true END
==== error function in a semi join
SELECT count(*) FROM products p WHERE p.id IN (SELECT product_id FROM orders WHERE CASE WHEN org <> 'acme' THEN error(note) ELSE true END)
==== error function in qualify
SELECT id FROM orders QUALIFY CASE WHEN org <> 'acme' THEN error(note) ELSE row_number() OVER () END > 0
==== error function in a distinct
SELECT DISTINCT CASE WHEN org <> 'acme' THEN error(note) ELSE org END FROM orders
==== error function with a join that is pulled up
SELECT * FROM (SELECT CASE WHEN org <> 'acme' THEN error(note) ELSE org END AS e, account_id FROM orders) x JOIN accounts a ON a.id = x.account_id WHERE x.e = 'acme' ORDER BY ALL
==== positional join
SELECT * FROM orders POSITIONAL JOIN payroll
==== asof join
SELECT count(*) FROM orders o ASOF JOIN payroll p ON o.amount >= p.salary
==== lateral
SELECT * FROM accounts a, LATERAL (SELECT count(*) FROM payroll WHERE org = a.org) x
==== rowid
SELECT rowid FROM orders
==== columns
SELECT COLUMNS('.*') FROM payroll
==== at a version
SELECT * FROM orders AT (VERSION => 1)
==== lambda over hidden
SELECT list_transform([1], x -> (SELECT count(*) FROM payroll)) AS l
==== approximate
SELECT approx_count_distinct(note) FROM orders
==== histogram
SELECT histogram(note) FROM orders
==== current database
SELECT current_database(), current_schema()
==== variable
SELECT getvariable('x')
==== system catalog
SELECT * FROM system.main.duckdb_tables
==== system information schema
SELECT * FROM system.information_schema.tables
==== checkpoint
CHECKPOINT
==== use
USE shop
==== set schema
SET schema = 'main'
==== call
CALL duckdb_tables()
==== export
EXPORT DATABASE 'x'
==== copy
COPY orders TO 'x.csv'
==== CTE of a name that folds to the catalogue's
WITH "ducKdb_tables" AS (SELECT 1 AS a) SELECT table_name, estimated_size FROM duckdb_tables
==== CTE of a name that folds to that of types
WITH "ducKdb_types" AS (SELECT 1 AS a) SELECT type_name, labels FROM duckdb_types WHERE NOT internal
==== CTE of a name that folds to the schema's
WITH "sqlİte_master" AS (SELECT 1 AS a) SELECT * FROM sqlite_master
==== CTE of a name that folds to the list of databases
WITH "pragma_database_lİst" AS (SELECT 1 AS a) SELECT * FROM pragma_database_list
==== recursion that begins with the catalogue
WITH RECURSIVE duckdb_tables(a, b) AS (SELECT table_name, estimated_size FROM duckdb_tables UNION ALL SELECT a, b FROM duckdb_tables WHERE false) SELECT * FROM duckdb_tables
==== recursion that begins with views
WITH RECURSIVE duckdb_views(a) AS (SELECT sql FROM duckdb_views UNION SELECT a FROM duckdb_views WHERE false) SELECT * FROM duckdb_views
==== recursion with a key that begins with the catalogue
WITH RECURSIVE sqlite_master(a) USING KEY (a) AS (SELECT sql FROM sqlite_master UNION SELECT a FROM recurring.sqlite_master WHERE false) SELECT * FROM sqlite_master
==== recursion in a recursion that begins with the catalogue
WITH RECURSIVE o(a) AS (WITH RECURSIVE duckdb_types(a) AS (SELECT labels FROM duckdb_types UNION ALL SELECT a FROM duckdb_types WHERE false) SELECT * FROM duckdb_types UNION ALL SELECT a FROM o WHERE false) SELECT * FROM o
==== a common table expression of the catalogue's name, within itself
WITH duckdb_tables AS (SELECT 1 AS x) SELECT * FROM (WITH duckdb_tables AS (SELECT * FROM duckdb_tables) SELECT * FROM duckdb_tables)
==== the same, materialized
WITH duckdb_tables AS MATERIALIZED (SELECT * FROM duckdb_tables) SELECT * FROM duckdb_tables
==== the same, recursive
WITH RECURSIVE duckdb_tables AS (SELECT * FROM duckdb_tables UNION ALL SELECT * FROM duckdb_tables WHERE false) SELECT * FROM duckdb_tables
==== the same, of a schema of recursion
WITH duckdb_tables AS (SELECT 1 AS x) SELECT * FROM recurring.duckdb_tables
==== the same, described
WITH duckdb_tables AS (SELECT 1 AS x) SELECT * FROM (DESCRIBE duckdb_tables)
==== the same, summarized in a recursion
WITH RECURSIVE duckdb_tables AS (SELECT 1 AS x UNION ALL SELECT count(*) FROM (SUMMARIZE duckdb_tables) HAVING count(*) < 0) SELECT * FROM duckdb_tables
==== a later one of the catalogue's name
WITH a AS NOT MATERIALIZED (SELECT * FROM duckdb_databases), duckdb_databases AS (SELECT 1) SELECT * FROM a
==== whole rows
SELECT list(orders) FROM orders
==== order of a window's argument
SELECT first_value(id ORDER BY (SELECT count(*) FROM duckdb_databases)) OVER () FROM orders
==== time travel
SELECT * FROM orders AT (VERSION => (SELECT count(*) FROM duckdb_databases))
==== error function in a qualify
FROM orders SELECT first(note) OVER (ORDER BY id) QUALIFY CASE WHEN org <> 'acme' THEN error(note) ELSE true END
