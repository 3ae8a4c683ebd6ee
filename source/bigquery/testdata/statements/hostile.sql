==== double quotes are strings
SELECT "x"; DELETE FROM customers
==== triple quotes
SELECT """x"""; DELETE FROM customers; --"
==== time travel
SELECT * FROM customers FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01'
==== wildcard
SELECT * FROM `other.events_*`
==== named window on a table function
SELECT * FROM my_table_function(1)
