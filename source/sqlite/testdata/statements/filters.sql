# Statements that look for rows of others in what SQLite has of its own.

==== table_list
SELECT * FROM pragma_table_list
==== PRAGMA table_list
PRAGMA table_list
==== table_info of a hidden table
PRAGMA table_info(payroll)
==== table_info, main
PRAGMA main.table_info(payroll)
==== table_info by a value
SELECT * FROM pragma_table_info('payroll')
==== table_info for each name
SELECT * FROM (SELECT 'payroll' AS t) JOIN pragma_table_info(t)
==== index_list
SELECT * FROM pragma_index_list('orders', 'main')
==== index_info
PRAGMA index_info(orders_note)
==== database_list
SELECT * FROM pragma_database_list
==== foreign keys
PRAGMA foreign_key_list(orders)
==== foreign key check
PRAGMA foreign_key_check
==== integrity check
PRAGMA integrity_check
==== quick check of a table
PRAGMA quick_check(orders)
==== page count
PRAGMA page_count
==== schema version
PRAGMA schema_version
==== stats
PRAGMA stats
==== temporary schema
SELECT * FROM sqlite_temp_schema
==== temporary master
SELECT * FROM sqlite_temp_master
==== temp.sqlite_schema
SELECT name, sql FROM temp.sqlite_schema
==== main.sqlite_schema
SELECT name, sql FROM main.sqlite_schema
==== stat4
SELECT * FROM sqlite_stat4
==== stat1, main
SELECT stat FROM main.sqlite_stat1 WHERE tbl = 'orders'
==== pages
SELECT * FROM sqlite_dbpage
==== dbstat
SELECT * FROM dbstat
==== statements
SELECT * FROM sqlite_stmt
==== bytecode
SELECT * FROM bytecode('SELECT * FROM orders')
==== tables_used
SELECT * FROM tables_used('SELECT * FROM orders')
==== FTS shadow content
SELECT * FROM docs_content
==== FTS shadow data
SELECT * FROM docs_data
==== FTS shadow index
SELECT * FROM main.docs_idx
==== FTS shadow sizes
SELECT count(*) FROM docs_docsize
==== FTS table without a filter
SELECT * FROM docs WHERE docs MATCH 'canary'
==== FTS table, qualified
SELECT highlight(docs, 0, '<', '>') FROM main.docs WHERE docs MATCH 'globex'
==== FTS vocabulary
SELECT * FROM docs_words
==== FTS rank
SELECT bm25(docs) FROM docs WHERE docs MATCH 'own'
==== FTS over a filtered table
SELECT * FROM searched WHERE searched MATCH 'canary'
==== FTS over a filtered table, its rows
SELECT * FROM searched
==== FTS over a filtered table, counted
SELECT count(*) FROM searched
==== rtree shadow
SELECT * FROM places_node
==== rtree
SELECT * FROM places
==== index by name
SELECT * FROM orders INDEXED BY orders_note WHERE note > ''
==== not indexed
SELECT * FROM main.orders NOT INDEXED
==== rowid names
SELECT oid, _rowid_ FROM orders
==== rowid of main
SELECT main.orders.rowid FROM orders
==== json table named as a table
SELECT * FROM json_each((SELECT json_group_array(note) FROM main.orders))
==== json of what may be seen
SELECT value FROM json_each((SELECT json_group_array(note) FROM orders)) ORDER BY value
==== function on a hidden cell
SELECT zeroblob((SELECT max(salary) FROM payroll))
==== without rowid
SELECT * FROM keyed
==== generated column
SELECT shout FROM keyed
==== right join
SELECT * FROM orders RIGHT JOIN main.accounts ON 1 = 1
==== full join
SELECT count(*) FROM orders FULL JOIN payroll ON 1 = 1
==== row values
SELECT * FROM orders WHERE (id, org) IN (SELECT id, org FROM main.orders)
==== an error by an index expression
SELECT count(*) FROM orders WHERE json(note) > 1
==== an error by iif
SELECT sum(iif(amount > 900, abs(-9223372036854775807 - 1), 0)) FROM orders
==== an error in a large value
SELECT count(*) FROM orders WHERE length(zeroblob(amount * 100000)) > 0
==== an error by unistr
SELECT count(unistr('\' || note)) FROM orders
==== like with a bad escape
SELECT count(*) FROM orders WHERE note LIKE 'x' ESCAPE substr(note, 1, 2)
==== printf of a pointer
SELECT printf('%s', (SELECT note FROM main.orders LIMIT 1))
==== changes
SELECT changes(), total_changes(), last_insert_rowid()
==== sqlite_offset
SELECT sqlite_offset(note) FROM orders
==== guessed view
SELECT * FROM temp.v00000000000000000000000000
==== CTE as a guessed view
WITH v00000000000000000000000000 AS (SELECT * FROM main.orders) SELECT * FROM v00000000000000000000000000
==== table function on a hidden name
SELECT * FROM fts5vocab('main', 'docs', 'row')
==== generate_series
SELECT * FROM generate_series(1, (SELECT count(*) FROM payroll))
==== view in a trigger's way
SELECT * FROM temp.totals
==== full join with statistics
SELECT stat FROM sqlite_stat1 FULL JOIN (SELECT '' AS stat) x USING (stat)
==== full join with the filters themselves
SELECT sql FROM sqlite_temp_schema FULL JOIN (SELECT '' AS sql) x USING (sql)
==== full join with pages
SELECT data FROM sqlite_dbpage FULL JOIN (SELECT x'00' AS data) x USING (data)
==== full join with a shadow table
SELECT c0 FROM docs_content FULL JOIN (SELECT '' AS c0) x USING (c0)
==== full join with a name in brackets
SELECT note FROM [main].[orders] FULL JOIN orders USING (note)
==== full join with a name in other quotes
SELECT person FROM 'payroll' FULL JOIN (SELECT '' AS person) x USING (person)
==== full join with a list of tables
SELECT name FROM pragma_table_list FULL JOIN (SELECT '' AS name) x USING (name)
==== join in the right of IN
SELECT count(*) FROM orders WHERE 1 IN (SELECT 1 FROM main.orders NATURAL JOIN (SELECT '' AS note) x)
==== hidden table in IN
SELECT 'x' IN (SELECT person FROM payroll), (1, 'x') IN members
==== no column of a hidden table in an outer join
SELECT o.id FROM orders o LEFT JOIN payroll ON 1 = 1
==== no column of a hidden table in parentheses
SELECT count(*) FROM ((payroll AS orders))
==== an outer column of a hidden table
SELECT (SELECT sum(p.salary)) FROM payroll p
==== an open table's name for a hidden one
WITH products AS MATERIALIZED (SELECT person AS name FROM payroll) SELECT name FROM products
==== window over a hidden table
SELECT sum(id) OVER w FROM orders WINDOW w AS (ORDER BY (SELECT max(person) FROM payroll))
==== order of an aggregate by a hidden table
SELECT group_concat(note, ',' ORDER BY (SELECT max(salary) FROM payroll)) FROM orders
==== full-text table as a function
SELECT count(*) FROM searched('canary')
==== pages as a function
SELECT count(*) FROM sqlite_dbpage('main')
==== an error through the filter of a view
SELECT * FROM large WHERE abs(CASE WHEN amount <= 25 THEN -9223372036854775807 - 1 ELSE 1 END)
==== a quote within a parameter
SELECT $a(') AS a, note FROM main.orders FULL JOIN (SELECT '' AS note) x USING (note) -- '
