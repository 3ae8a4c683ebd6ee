# Tables with columns that are hidden, for RunHidden. {pay} and {bank} become the hidden columns, or nothing.
CREATE TABLE teams (team VARCHAR(20) PRIMARY KEY, boss INTEGER)
INSERT INTO teams VALUES ('north', 1)
INSERT INTO teams VALUES ('south', 2)
CREATE TABLE staff (id INTEGER PRIMARY KEY, name VARCHAR(40), {pay}team VARCHAR(20), {bank}since INTEGER)
INSERT INTO staff VALUES (1, 'Ada', {pay1}'north', {bank1}2019)
INSERT INTO staff VALUES (2, 'Bob', {pay2}'south', {bank2}2020)
INSERT INTO staff VALUES (3, 'Cyd', {pay3}'north', {bank3}2021)
CREATE TABLE bonuses (staff INTEGER, salary INTEGER, amount INTEGER)
INSERT INTO bonuses VALUES (1, 5100, 10)
INSERT INTO bonuses VALUES (2, 6200, 20)
INSERT INTO bonuses VALUES (3, 7300, 30)
CREATE VIEW roster AS SELECT id, name, team FROM staff
{only}CREATE VIEW rich AS SELECT name FROM staff WHERE salary > 6000
{only}CREATE VIEW paid AS SELECT id, name, salary AS wage FROM staff
{only}CREATE VIEW paid_twice AS SELECT id, wage * 2 AS double_wage FROM paid
{only}CREATE TABLE dossiers (id INTEGER, remark VARCHAR(40))
{only}INSERT INTO dossiers VALUES (1, 'canary-dossier')
{only}CREATE TABLE pay_old (id INTEGER, remark VARCHAR(40))
{only}INSERT INTO pay_old VALUES (1, 'canary-old')
{only}CREATE TABLE unlisted (id INTEGER, remark VARCHAR(40))
{only}INSERT INTO unlisted VALUES (1, 'canary-unlisted')
{only}CREATE VIEW rumours AS SELECT remark FROM unlisted
