//go:build linux

package sqlite

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// tenants creates the tables for the filters' suite and a few that only SQLite has.
func tenants(t testing.TB, variant int) string {
	path := filepath.Join(t.TempDir(), "shop.db")
	write(t, path, sourcetest.FilterSetup(variant)...)
	write(t, path,
		`CREATE TABLE keyed (k TEXT PRIMARY KEY, org TEXT, name TEXT, shout TEXT GENERATED ALWAYS AS (upper(name))) `+
			`WITHOUT ROWID`,
		`INSERT INTO keyed (k, org, name) VALUES ('m', 'acme', 'own')`,
		fmt.Sprintf(`INSERT INTO keyed (k, org, name) SELECT note, org, note FROM orders WHERE org <> 'acme' AND %d `+
			`= 0`, variant),
		`CREATE TABLE "ÖFFENTLICH" (id INTEGER, org TEXT)`,
		`INSERT INTO "ÖFFENTLICH" SELECT id, note FROM orders WHERE org <> 'acme'`,
		`CREATE VIRTUAL TABLE docs USING fts5(body)`, `INSERT INTO docs SELECT note FROM orders`,
		`CREATE VIRTUAL TABLE docs_words USING fts5vocab('docs', 'row')`,
		`CREATE VIRTUAL TABLE searched USING fts5(note, content='orders', content_rowid='id')`,
		`INSERT INTO searched (searched) VALUES ('rebuild')`,
		`CREATE VIRTUAL TABLE places USING rtree(id, x0, x1)`,
		`INSERT INTO places SELECT abs(id), 0, amount FROM orders WHERE id > 900`,
		`CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, n)`,
		`INSERT INTO counted (n) SELECT id FROM orders`,
		`ANALYZE`,
	)
	return path
}

func TestFilters(t *testing.T) {
	sourcetest.RunFiltered(t, func(t testing.TB, variant int) source.Source {
		return open(t, tenants(t, variant), Options{Filters: sourcetest.Filters})
	})
}

// TestHidden hides columns of a source without filters, and of one whose filters let everybody see all rows.
func TestHidden(t *testing.T) {
	database := func(t testing.TB, variant int) string {
		path := filepath.Join(t.TempDir(), "staff.db")
		write(t, path, sourcetest.HiddenSetup(variant)...)
		return path
	}
	t.Run("without filters", func(t *testing.T) {
		sourcetest.RunHidden(t, func(t testing.TB, variant int) source.Source {
			return open(t, database(t, variant), Options{Hiding: sourcetest.Hiding{}})
		})
	})
	t.Run("with filters", func(t *testing.T) {
		sourcetest.RunHidden(t, func(t testing.TB, variant int) source.Source {
			filters := map[string]string{"staff": "id < 10", "teams": "all", "bonuses": "all", "roster": "all"}
			if variant < 2 {
				maps.Copy(filters, map[string]string{
					"rich": "all", "paid": "all", "paid_twice": "all", "dossiers": "id < 10",
				})
			}
			return open(t, database(t, variant), Options{Filters: filters, Hiding: sourcetest.Hiding{}})
		})
	})
}

// TestHiddenViews checks that a view that needs a hidden column leaves no trace, and that readable views are listed.
func TestHiddenViews(t *testing.T) {
	setup := []string{"CREATE TABLE staff (id, name, salary)", "INSERT INTO staff VALUES (1, 'Ada', 5100)",
		"CREATE TABLE files (a)", "CREATE VIEW names AS SELECT name FROM staff"}
	with, without := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "b.db")
	write(t, with, append(setup, "CREATE VIEW rich AS SELECT name FROM staff WHERE salary > 5000",
		"CREATE VIEW richer AS SELECT * FROM rich", "CREATE VIEW same AS SELECT * FROM rich JOIN names USING (name)",
		"CREATE TABLE dossiers (name)")...)
	write(t, without, setup...)
	a, b := open(t, with, Options{Hiding: sourcetest.Hiding{}}), open(t, without, Options{Hiding: sourcetest.Hiding{}})
	for _, sql := range []string{
		"SELECT * FROM {}", "SELECT * FROM [{}]", "SELECT * FROM '{}'", "SELECT '{}' AS x", "SELECT 1 AS {}",
		"SELECT count(*) FROM staff AS {}", "WITH {} AS (SELECT 1 AS a) SELECT a FROM {}", "SELECT 1 IN {}",
		"SELECT name FROM staff JOIN {} USING (name)", "SELECT name FROM names NATURAL JOIN {}",
		"SELECT {}.name FROM staff", "SELECT EXISTS (SELECT 1 FROM {})", "SELECT * FROM {} INDEXED BY x",
		"SELECT * FROM {}(1)", "SELECT name FROM names UNION SELECT name FROM {}", "PRAGMA table_info({})",
		"SELECT * FROM pragma_table_info('{}')", "SELECT * FROM main.{}", "SELECT * FROM temp.{}", "SELECT {}(1)",
		"SELECT * FROM sqlite_schema WHERE name = '{}'",
	} {
		for _, name := range []string{"rich", "richer", "same", "RICH", "dossiers"} {
			sql := strings.ReplaceAll(sql, "{}", name)
			r1, _, err1 := source.Collect(t.Context(), a, source.Query{SQL: sql})
			r2, _, err2 := source.Collect(t.Context(), b, source.Query{SQL: sql})
			if one, two := fmt.Sprint(r1.Rows, err1), fmt.Sprint(r2.Rows, err2); one != two {
				t.Errorf("%s gave %s, want %s", sql, one, two)
			}
		}
	}
	_, _, err := source.Collect(t.Context(), a, source.Query{SQL: "SELECT * FROM main.staff"})
	if err == nil || !strings.HasSuffix(err.Error(), "You may read: files, names, staff.") {
		t.Error(err)
	}
}

// TestHiddenOrder checks that rows do not come in the order of an index of a hidden column.
func TestHiddenOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "staff.db")
	write(t, path, `CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT, team TEXT, salary INTEGER, iban TEXT)`,
		`CREATE INDEX staff_salary ON staff (salary)`, `CREATE INDEX staff_bank ON staff (team, -salary, name)`,
		`INSERT INTO staff VALUES (1, 'Ada', 'a', 30, 'x'), (2, 'Bob', 'a', 10, 'y'), (3, 'Cyd', 'a', 40, 'z')`,
		`CREATE VIEW roster AS SELECT id, name FROM staff`)
	src := open(t, path, Options{Hiding: sourcetest.Hiding{}})
	payroll := footnote.WithPrincipal(t.Context(), footnote.Principal{Roles: []string{"payroll"}})
	for _, sql := range []string{
		"SELECT id FROM staff", "SELECT name FROM staff", "SELECT id FROM roster", "SELECT group_concat(id) FROM staff",
		"SELECT id FROM staff WHERE team = 'a'", "SELECT s.id FROM (SELECT 1) AS x, staff AS s",
	} {
		r, _, err := source.Collect(t.Context(), src, source.Query{SQL: sql})
		got := sourcetest.Text(r.Rows)
		if err != nil || got != "[[1],[2],[3]]" && got != `[["Ada"],["Bob"],["Cyd"]]` && got != `[["1,2,3"]]` {
			t.Errorf("%s: %s, %v", sql, got, err)
		}
		r, _, err = source.Collect(payroll, src, source.Query{SQL: sql})
		if all := sourcetest.Text(r.Rows); err != nil || all == got {
			t.Errorf("%s: the order without hiding proves nothing: %s, %v", sql, all, err)
		}
	}
}

// TestUnenforceableFilterIsRefused checks that a source with a filter that cannot be enforced does not open.
func TestUnenforceableFilterIsRefused(t *testing.T) {
	path := tenants(t, 0)
	for table, c := range map[string][2]string{
		"nothing": {"org = {org}", "no such table"}, "orders": {"orgg = {org}", "no such column"},
		"accounts": {`"orgg" = {org}`, "no such column"},
		"docs":     {"body = {org}", "neither a table nor a view"}, "searched": {"note = {org}", "neither a table"},
		"sqlite_stat1": {"all", "neither a table"},
		"leaky":        {"nowhere = {org}", "no such column"}, "payroll": {"load_extension({org})", "load_extension"},
		"products": {"{orgs}", "must be {org}"}, "tickets": {"org = {org", "brace"},
		"keyed": {"org = {org} LIMIT 1", "syntax error"},
	} {
		filters := map[string]string{"orders": "all"}
		maps.Copy(filters, map[string]string{table: c[0]})
		s, err := Open(t.Context(), "shop", path, Options{Filters: filters})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), table) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %q gave %v, want %q", table, c[0], err, c[1])
		}
	}
	write(t, path, `CREATE VIEW far AS SELECT note FROM main.orders FULL JOIN (SELECT '' AS note) USING (note)`,
		`CREATE VIEW beside AS SELECT person FROM payroll FULL JOIN (SELECT '' AS person) USING (person)`,
		`CREATE VIEW pages AS SELECT name FROM dbstat FULL JOIN (SELECT '' AS name) USING (name)`,
		`CREATE VIEW spoken AS SELECT id, "own" AS word FROM orders`)
	for table, c := range map[string][2]string{
		"far": {"all", "with its schema"}, "beside": {"all", "Reading payroll"}, "pages": {"all", "dbstat"},
		"spoken": {`"wrod" <> 'x'`, "no such column"},
	} {
		s, err := Open(t.Context(), "shop", path, Options{Filters: map[string]string{"orders": "all", table: c[0]}})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), table) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %q gave %v, want %q", table, c[0], err, c[1])
		}
	}
	// Nor can a filter on a view over a table without a filter.
	if s, err := Open(t.Context(), "shop", path, Options{
		Filters: map[string]string{"totals": "all", "accounts": "all"},
	}); err == nil || !strings.Contains(err.Error(), "totals") {
		s.Close()
		t.Errorf("a view over a hidden table: %v", err)
	}
}

// TestFilteredChange checks that the name of a dropped column in a filter is not read as text.
func TestFilteredChange(t *testing.T) {
	path := tenants(t, 0)
	s := open(t, path, Options{Filters: map[string]string{"orders": `"org" <> {org}`}})
	ctx := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "globex-1"})
	const ask = "SELECT count(*) FROM orders WHERE id > 0"
	r, _, err := source.Collect(ctx, s, source.Query{SQL: ask})
	if got := fmt.Sprint(r.Rows, err); got != "[[10]] <nil>" {
		t.Fatal(got)
	}
	write(t, path, `DROP VIEW totals`, `DROP VIEW large`, `DROP VIEW leaky`,
		`ALTER TABLE orders RENAME COLUMN org TO owner`)
	if r, _, err := source.Collect(ctx, s, source.Query{SQL: ask}); err == nil ||
		!strings.Contains(err.Error(), "cannot be enforced") {
		t.Errorf("without its column: %v, %v", r.Rows, err)
	}
}

// TestFilteredParameters checks that a quote or a comment inside a parameter hides no part of the statement.
func TestFilteredParameters(t *testing.T) {
	s := open(t, tenants(t, 0), Options{Filters: sourcetest.Filters})
	ctx := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "acme"})
	for _, sql := range []string{
		`SELECT $a(') AS a, note FROM main.orders FULL JOIN (SELECT '' AS note) x USING (note) -- '`,
		`SELECT @a(") AS a, person FROM payroll FULL JOIN (SELECT '' AS person) x USING (person) -- "`,
		`SELECT :a(/*) AS a, person FROM payroll FULL JOIN (SELECT '' AS person) x USING (person) -- */`,
		`SELECT $a::b(--) AS a, person FROM payroll FULL JOIN (SELECT '' AS person) x USING (person)`,
		"SELECT $a([) AS a, person FROM payroll FULL JOIN (SELECT '' AS person) x USING (person) -- ]",
		`SELECT person FROM payroll JOIN (SELECT 1) ON ?1NATURAL FULL JOIN (SELECT '' AS person)`,
	} {
		r, _, err := source.Collect(ctx, s, source.Query{SQL: sql, Args: []any{int64(1)}})
		if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Refused {
			t.Errorf("%s gave %v, %v", sql, r.Rows, err)
		}
	}
	for _, sql := range []string{"SELECT ?", "SELECT ?1", "SELECT :a", "SELECT $a::b(c)", "SELECT @a(')"} {
		if r, _, err := source.Collect(ctx, s, source.Query{
			SQL:  sql,
			Args: []any{int64(7)},
		}); fmt.Sprint(r.Rows, err) != "[[7]] <nil>" {
			t.Errorf("%s gave %v, %v", sql, r.Rows, err)
		}
	}
}

// TestOpenSearch checks that an unfiltered search index works beside filters.
func TestOpenSearch(t *testing.T) {
	s := open(t, tenants(t, 0), Options{
		Filters: map[string]string{"docs": "all", "orders": "org = {org}", "places": "all"},
	})
	rows, _ := collect(t, s,
		"SELECT snippet(docs, 0, '[', ']', '…', 5) FROM docs WHERE docs MATCH 'own' ORDER BY rank LIMIT 1")
	if len(rows) != 1 || !strings.Contains(rows[0][0].(string), "[own]") {
		t.Error(rows)
	}
	if rows, _ := collect(t, s, "SELECT count(*) > 0 FROM places WHERE x1 > 900"); rows[0][0] != int64(1) {
		t.Error(rows)
	}
}

// BenchmarkFilters measures a small query with and without filters on eight tables.
func BenchmarkFilters(b *testing.B) {
	path := tenants(b, 0)
	for name, filters := range map[string]map[string]string{"none": nil, "eight": sourcetest.Filters} {
		b.Run(name, func(b *testing.B) {
			s := open(b, path, Options{Filters: filters})
			for b.Loop() {
				collect(b, s, "SELECT count(*) FROM orders WHERE amount > 10")
			}
		})
	}
}
