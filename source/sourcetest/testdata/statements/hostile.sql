# Statements that every engine must refuse.
==== drop
DROP TABLE customers
==== drop in lower case
drop table if exists customers
==== drop after a comment
/* SELECT */ DROP TABLE customers
==== drop after a line comment
-- SELECT 1
DROP TABLE customers
==== stacked
SELECT 1; DROP TABLE customers
==== stacked with a comment between
SELECT 1;/**/DROP TABLE customers
==== stacked selects
SELECT 1; SELECT 2
==== nul hides the rest |  | quoted
"SELECT 1\x00; DROP TABLE customers"
==== invalid utf-8 |  | quoted
"SELECT '\xff'"
==== bom and drop |  | quoted
"\uFEFFDROP TABLE customers"
==== unfinished quote
SELECT 'abc
==== only a comment
/* nothing */ -- here
==== empty

==== delete
DELETE FROM orders
==== delete returning
DELETE FROM orders RETURNING *
==== explain and stack
EXPLAIN SELECT 1; DROP TABLE customers
==== create index
CREATE INDEX i ON orders (total)
==== rename
ALTER TABLE customers RENAME TO c
==== attach in memory
ATTACH ':memory:' AS m
==== vacuum
VACUUM
==== begin
BEGIN
==== commit
COMMIT
==== rollback
ROLLBACK
==== pragma database_list
PRAGMA database_list
==== grant
GRANT ALL ON customers TO PUBLIC
==== truncate
TRUNCATE orders
==== update
UPDATE customers SET name = 'x'
==== insert
INSERT INTO customers VALUES (9, 'x', NULL, NULL, NULL)
==== merge
MERGE INTO customers USING (SELECT 1 AS id) s ON customers.id = s.id WHEN MATCHED THEN DELETE
==== create table as
CREATE TABLE x AS SELECT * FROM customers
==== temp view
CREATE TEMP VIEW orders AS SELECT 1
==== comment on
COMMENT ON TABLE customers IS 'x'
==== stacked after an escaped quote
SELECT E'\'; SELECT 2; --'; DROP TABLE customers
==== stacked after a tagged dollar quote
SELECT $a$ $$ ; $a$; DELETE FROM orders
==== stacked after a comment that nests
SELECT 1 /* /* */ */ ; DROP TABLE orders -- */
==== only semicolons
;;;
==== too long |  | template
SELECT {{repeat 40000 "1+"}}1
==== nested parentheses |  | template
SELECT {{repeat 5000 "("}}1{{repeat 5000 ")"}}
==== explain analyze a write
EXPLAIN ANALYZE DELETE FROM orders
==== prepare
PREPARE p AS SELECT 1
==== execute
EXECUTE p
==== checkpoint
CHECKPOINT
==== analyze
ANALYZE customers
==== do not know
FLY ME TO THE MOON
