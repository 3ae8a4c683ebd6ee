# The rows of {foreign} in filters.sql for one number {i}.
INSERT INTO accounts VALUES ({i}, '{org}', 'north', '{mark}-name-{i}', {i})
INSERT INTO orders VALUES ({i}, '{org}', {account}, 1, {i}, '{mark}-note-{i}')
INSERT INTO tickets VALUES ({i}, {i}, '{mark}-person', '{mark}')
INSERT INTO members VALUES ({i}, '{mark}-person')
INSERT INTO payroll VALUES ('{org}', '{mark}-person', {i}000)
INSERT INTO "öffentlich" VALUES ({i}, '{mark}')
