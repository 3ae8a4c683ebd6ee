==== sequence
SELECT seq.NEXTVAL
==== sequence in quotes
SELECT "seq"."NEXTVAL"
==== sequence with its schema
SELECT public.seq.nextval FROM customers
==== sequence in a function
SELECT COALESCE(seq.NEXTVAL, 1)
==== sequence behind a value
SELECT (seq).nextval
==== dollar quotes
SELECT $$x$$
==== session variable
SELECT $x
==== time travel
SELECT * FROM customers AT (OFFSET => -60)
==== changes
SELECT * FROM customers CHANGES (INFORMATION => DEFAULT) AT (OFFSET => -60)
==== connect by
SELECT id FROM customers START WITH id = 1 CONNECT BY PRIOR id = id
