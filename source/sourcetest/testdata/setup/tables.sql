# The tables for Run, in SQL that the engines share.
CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(80) NOT NULL, city VARCHAR(80), "update" VARCHAR(20), since DATE)
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id), placed TIMESTAMP NOT NULL, total DOUBLE PRECISION NOT NULL, note VARCHAR(200))
CREATE TABLE "order lines" (order_id INTEGER NOT NULL REFERENCES orders (id), line INTEGER NOT NULL, product VARCHAR(80) NOT NULL, quantity INTEGER NOT NULL, PRIMARY KEY (order_id, line))
INSERT INTO customers VALUES (1, 'Ada', 'London', 'weekly', '2019-03-01'), (2, 'Björn', 'Oslo', 'daily', '2020-07-15'), (3, 'Chiyo', 'Kyoto', NULL, '2021-11-30'), (4, 'D''Arcy; DROP TABLE customers', NULL, 'never', NULL)
INSERT INTO orders VALUES (10, 1, '2024-01-05 10:00:00', 120.5, 'first'), (11, 1, '2024-02-10 11:30:00', 80, NULL), (12, 2, '2024-02-11 09:15:00', 15.25, 'gift -- wrap'), (13, 3, '2024-03-20 16:45:00', 300, 'please update /* soon */'), (14, 3, '2024-03-21 08:00:00', 42, NULL)
INSERT INTO "order lines" VALUES (10, 1, 'lamp', 2), (10, 2, 'desk', 1), (11, 1, 'chair', 4), (12, 1, 'pen', 10), (13, 1, 'desk', 2), (13, 2, 'lamp', 1), (14, 1, 'ink', 6)
CREATE VIEW revenue AS SELECT c.id, c.name, sum(o.total) AS total FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.name
