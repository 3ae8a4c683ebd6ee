# What the probe tries. Every one of them must fail: as a query, and without the gate in a READ ONLY transaction.
INSERT INTO {table} SELECT * FROM {table} WHERE 1 = 0
INSERT INTO {table} VALUES ()
UPDATE {table} SET footnote_none = 1
DELETE FROM {table} WHERE 1 = 0
REPLACE INTO {table} SELECT * FROM {table} WHERE 1 = 0
TRUNCATE TABLE footnote_none
DROP TABLE footnote_none
DROP DATABASE footnote_none
ALTER TABLE footnote_none ADD COLUMN a INT
RENAME TABLE footnote_none TO footnote_none2
SELECT * FROM {table} LIMIT 1 INTO OUTFILE '/nonexistent/footnote'
SELECT 1 INTO DUMPFILE '/nonexistent/footnote'
LOAD DATA INFILE '/nonexistent/footnote' INTO TABLE {table}
DROP USER footnote_none
GRANT SELECT ON *.* TO footnote_none
CALL footnote_none()
