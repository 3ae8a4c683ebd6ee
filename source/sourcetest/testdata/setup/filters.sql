# The tables for RunFiltered. {foreign} becomes rows that acme may not see.
CREATE TABLE products (id INTEGER PRIMARY KEY, name VARCHAR(80) NOT NULL)
INSERT INTO products VALUES (1, 'lamp'), (2, 'pen')
CREATE TABLE accounts (id INTEGER PRIMARY KEY, org VARCHAR(80) NOT NULL, region VARCHAR(80), name VARCHAR(80), age INTEGER)
CREATE TABLE orders (id INTEGER PRIMARY KEY, org VARCHAR(80) NOT NULL, account_id INTEGER, product_id INTEGER, amount INTEGER, note VARCHAR(200))
CREATE TABLE members (account INTEGER, person VARCHAR(80))
CREATE TABLE tickets (id INTEGER PRIMARY KEY, account INTEGER, person VARCHAR(80), note VARCHAR(80))
CREATE TABLE payroll (org VARCHAR(80), person VARCHAR(80), salary INTEGER)
CREATE TABLE "öffentlich" (id INTEGER, org VARCHAR(80))
{foreign}
INSERT INTO accounts VALUES (1, 'acme', 'north', 'Ada', 5), (2, 'acme', 'south', 'Bob', 6)
INSERT INTO accounts VALUES (3, 'acme', 'asia', 'canary-of-asia-{variant}', {variant})
INSERT INTO orders VALUES (1, 'acme', 1, 1, 10, 'own note 1'), (2, 'acme', 2, 1, 20, 'own note 2'), (3, 'acme', 1, 1, 30, 'own note 3'), (4, 'acme', 9, 2, 40, 'own note 4')
INSERT INTO tickets VALUES (1, 1, 'ada', 'own'), (2, 1, 'canary-bob', 'canary'), (3, 2, 'ada', 'own'), (4, 3, 'ada', 'canary')
INSERT INTO members VALUES (1, 'ada'), (2, 'ada')
{foreign}
CREATE VIEW totals AS SELECT a.region, sum(o.amount) AS total FROM orders o JOIN accounts a ON a.id = o.account_id GROUP BY a.region
CREATE VIEW large AS SELECT id, org, amount, note FROM orders
CREATE VIEW leaky AS SELECT * FROM orders
CREATE INDEX orders_note ON orders (note)
