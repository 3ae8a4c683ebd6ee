==== path as a table
SELECT * FROM parquet.`/mnt/x`
==== text file
SELECT * FROM text.`dbfs:/etc/passwd`
==== version
SELECT * FROM customers VERSION AS OF 1
==== version in the name
SELECT * FROM customers@v1
==== variable
SELECT ${x}
==== transform with a script
SELECT TRANSFORM (id) USING 'cat' FROM customers
