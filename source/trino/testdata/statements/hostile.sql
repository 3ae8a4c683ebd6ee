==== hidden table
SELECT * FROM "orders$partitions"
==== version
SELECT * FROM orders FOR VERSION AS OF 1
==== backslash does not escape
SELECT 'x\'; DELETE FROM customers; --'
==== inline function
WITH FUNCTION f() RETURNS bigint RETURN 1 SELECT f()
