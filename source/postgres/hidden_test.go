package postgres

import (
	"testing"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// moreHidden is setup that the statements need in addition to sourcetest.HiddenSetup. Lines for the variants with
// hidden columns alone are in onlyHidden.
var moreHidden = []string{
	`CREATE SCHEMA hr`, `CREATE TABLE hr.wages (id integer, amount integer)`,
	`CREATE TABLE heirs () INHERITS (staff)`,
	`CREATE TABLE people (id integer PRIMARY KEY, name text)`, `GRANT USAGE ON SCHEMA public, hr TO reader`,
}

var onlyHidden = []string{
	`COMMENT ON COLUMN staff.salary IS 'canary'`, `COMMENT ON TABLE staff IS 'with the salary'`,
	`CREATE INDEX staff_salary ON staff (salary)`, `ALTER TABLE staff ADD CHECK (salary > 0)`,
	`CREATE VIEW whole AS SELECT row_to_json(s) AS j FROM staff s`,
	`CREATE MATERIALIZED VIEW paid_once AS SELECT iban FROM staff`,
	`CREATE VIEW joined AS SELECT s.name FROM staff s JOIN bonuses b USING (salary)`,
	`CREATE VIEW rich_heirs AS SELECT name FROM heirs WHERE salary > 0`,
}

// TestHidden hides columns of tables, of their views, and of what inherits from them.
func TestHidden(t *testing.T) {
	sourcetest.RunHidden(t, func(t testing.TB, variant int) source.Source {
		list := append(sourcetest.HiddenSetup(variant), moreHidden...)
		if variant < 2 {
			list = append(list, onlyHidden...)
		}
		_, reader := database(t, append(list, `GRANT SELECT ON ALL TABLES IN SCHEMA public, hr TO reader`)...)
		return open(t, reader, Options{Hiding: sourcetest.Hiding{}})
	})
}
