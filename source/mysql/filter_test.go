package mysql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
	"github.com/footnotehq/footnote/source/sourcetest"
)

func TestFilters(t *testing.T) {
	sourcetest.RunFiltered(t, func(t testing.TB, variant int) source.Source {
		d := mariatest.New(t)
		d.Do(t, sourcetest.FilterSetup(variant)...)
		d.Do(t, fmt.Sprintf("CREATE TABLE keyed (k VARCHAR(200) PRIMARY KEY, org VARCHAR(80), grade ENUM('own', "+
			"'canary-%d'), shout VARCHAR(200) AS (UPPER(k)) VIRTUAL)", variant),
			"INSERT INTO keyed (k, org, grade) VALUES ('m', 'acme', 'own')",
			fmt.Sprintf("INSERT INTO keyed (k, org, grade) SELECT note, org, 2 FROM orders WHERE org <> 'acme' AND "+
				"id > %d", variant))
		return open(t, d, Options{Filters: sourcetest.Filters})
	})
}

// TestFiltersThatCannotBeApplied checks that such filters stop the start.
func TestFiltersThatCannotBeApplied(t *testing.T) {
	d := mariatest.New(t)
	d.Do(t, "CREATE TABLE a (id INT, org VARCHAR(20))", "CREATE TABLE b (id INT)", "CREATE VIEW v AS SELECT * FROM b",
		"CREATE VIEW seen AS SELECT * FROM a")
	for want, filters := range map[string]map[string]string{
		"has no table missing":      {"missing": "all"},
		"Reading b is not allowed":  {"v": "all"},
		"refers to itself":          {"a": "id IN (SELECT id FROM a)"},
		"Unknown column":            {"a": "nothing = {org}"},
		"The function SLEEP is not": {"a": "SLEEP(1) = {org}"},
		"ends too early":            {"a": "org ="},
	} {
		_, err := Open(t.Context(), "shop", d.Address(d.Reader), Options{Filters: filters})
		if footnote.CodeOf(err) != footnote.InvalidRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", filters, err, want)
		}
	}
	d.Do(t, "REVOKE SHOW VIEW ON "+d.Name+".* FROM "+d.Reader+"@localhost")
	_, err := Open(t.Context(), "shop", d.Address(d.Reader), Options{Filters: map[string]string{
		"seen": "all", "a": "org = {org}",
	}})
	if footnote.CodeOf(err) != footnote.InvalidRequest || !strings.Contains(err.Error(), "GRANT SHOW VIEW") {
		t.Errorf("a view whose definition is hidden: %v", err)
	}
}

// TestMistakenScopes tries to make the server read a name as another table than the gate does.
func TestMistakenScopes(t *testing.T) {
	d := mariatest.New(t)
	d.Do(t, "CREATE TABLE orders (id INT, org VARCHAR(20))", "INSERT INTO orders VALUES (1, 'acme'), (2, 'globex')",
		"CREATE TABLE payroll (id INT)", "INSERT INTO payroll VALUES (7)")
	src := open(t, d, Options{Filters: map[string]string{"orders": "org = {org}"}})
	ctx := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "acme"})
	for _, sql := range []string{
		"WITH Payroll AS (SELECT 1 AS x) SELECT * FROM payroll",
		"WITH RECURSIVE a AS (SELECT * FROM payroll), payroll AS (SELECT 1 AS id) SELECT id FROM a",
		"WITH RECURSIVE a AS (SELECT 1 AS id) (SELECT id FROM payroll) ORDER BY id, payroll",
		"WITH RECURSIVE a AS (SELECT 1 AS id) SELECT * FROM a, (SELECT 2) payroll, payroll p",
		"SELECT * FROM (WITH payroll AS (SELECT 1 AS id) SELECT * FROM payroll) x, payroll",
		"WITH a AS (WITH payroll AS (SELECT 1 AS id) SELECT * FROM payroll) SELECT * FROM a, payroll",
		"SELECT (WITH payroll AS (SELECT 1 AS id) SELECT id FROM payroll), (SELECT id FROM payroll)",
		"(WITH payroll AS (SELECT 1 AS id) SELECT id FROM payroll) UNION SELECT id FROM payroll",
		"WITH payroll AS (SELECT 1 AS id) SELECT * FROM " + d.Name + ".payroll",
		"WITH payroll AS (SELECT id FROM payroll) SELECT * FROM payroll",
		"WITH `with payroll` AS (SELECT 1 AS id) SELECT * FROM payroll",
		"SELECT * FROM `orders`, " + d.Name + ".`payroll`",
		"SELECT " + d.Name + ".orders.org FROM " + d.Name + ".orders", "SELECT * FROM " + d.Name + ".ORDERS",
		"SELECT * FROM orders PARTITION (p0)", "SELECT * FROM orders FOR SYSTEM_TIME ALL",
		"TABLE payroll", "TABLE " + d.Name + ".orders",
	} {
		r, _, err := source.Collect(ctx, src, source.Query{SQL: sql})
		if seen := sourcetest.Text(r.Rows); strings.Contains(seen, "7") || strings.Contains(seen, "globex") {
			t.Errorf("%s: shows %s", sql, seen)
		}
		if _, ok := errors.AsType[*source.Error](err); err != nil && !ok {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
