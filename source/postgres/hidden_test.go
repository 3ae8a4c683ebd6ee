package postgres

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/footnotehq/footnote"
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

// TestHiddenOrder checks that rows do not come in the order of an index of a hidden column.
func TestHiddenOrder(t *testing.T) {
	_, reader := database(t,
		`CREATE TABLE staff (id integer PRIMARY KEY, name text, team text, salary integer, iban text)`,
		`INSERT INTO staff SELECT i, repeat(md5(i::text), 20), 't' || i % 500, (i * 7919) % 10007, 'x' `+
			`FROM generate_series(1, 5000) AS i`,
		`CREATE INDEX ON staff (salary, id)`, `CREATE INDEX ON staff (team, salary)`, `VACUUM ANALYZE staff`,
		`CREATE VIEW roster AS SELECT id, team FROM staff`, `GRANT SELECT ON staff, roster TO reader`)
	src := open(t, reader, Options{Hiding: sourcetest.Hiding{}})
	payroll := footnote.WithPrincipal(t.Context(), footnote.Principal{Roles: []string{"payroll"}})
	for _, sql := range []string{
		"SELECT id FROM staff", "SELECT id FROM roster", "SELECT id FROM staff WHERE team = 't7' LIMIT 5",
	} {
		inOrder := func(ctx context.Context) bool {
			r, _, err := source.Collect(ctx, src, source.Query{SQL: sql})
			if err != nil || len(r.Rows) < 5 {
				t.Fatalf("%s: %d rows, %v", sql, len(r.Rows), err)
			}
			return slices.IsSortedFunc(r.Rows, func(a, b []any) int { return cmp.Compare(a[0].(int64), b[0].(int64)) })
		}
		if !inOrder(t.Context()) {
			t.Errorf("%s: the rows come in another order than that of the table", sql)
		}
		if inOrder(payroll) {
			t.Errorf("%s: the order without hiding proves nothing", sql)
		}
	}
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
