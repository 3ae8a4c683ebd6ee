# Statements of the analyst that must run, beyond those that every engine gets.
==== every engine: string_agg with order
SELECT GROUP_CONCAT(name ORDER BY id DESC SEPARATOR '|') FROM customers WHERE id < 4
