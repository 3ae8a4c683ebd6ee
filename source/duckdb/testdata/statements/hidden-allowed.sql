# DuckDB refuses a natural join over no common column.

==== every engine: a natural join over no common column that is visible
SELECT count(*) FROM staff CROSS JOIN bonuses
