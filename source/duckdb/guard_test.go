//go:build cgo && !noduckdb

package duckdb

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// tenants creates the tables for the filters' suite and a few that only DuckDB has.
func tenants(t testing.TB, variant int) string {
	path := filepath.Join(t.TempDir(), "shop.duckdb")
	write(t, path, sourcetest.FilterSetup(variant)...)
	write(t, path,
		fmt.Sprintf(`CREATE TYPE grades AS ENUM ('acme-grade', 'canary-grade-%d')`, variant),
		`CREATE TABLE keyed (k VARCHAR PRIMARY KEY, org VARCHAR, grade grades, many grades[])`,
		fmt.Sprintf(`INSERT INTO keyed VALUES ('a', 'acme', 'acme-grade', ['acme-grade']), ('b', 'globex', `+
			`'canary-grade-%[1]d', ['canary-grade-%[1]d'])`, variant),
		`CREATE SCHEMA other`, `CREATE TABLE other.orders AS SELECT * FROM main.orders`,
		`CREATE MACRO total_of_all() AS (SELECT sum(amount) FROM main.orders)`,
		`CREATE MACRO rows_of_all() AS TABLE SELECT * FROM main.orders`,
		`CREATE MACRO hidden_name(i) AS (SELECT max(note) FROM main.orders WHERE id > i)`, `CREATE SEQUENCE seq`,
		`SELECT nextval('seq')`,
	)
	return path
}

func guardedOpen(t testing.TB, path string, filters map[string]string) (source.Source, error) {
	s, err := Open(t.Context(), "shop", path, Options{
		Dir: t.TempDir(), Filters: filters, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func TestFilters(t *testing.T) {
	sourcetest.RunFiltered(t, func(t testing.TB, variant int) source.Source {
		s, err := guardedOpen(t, tenants(t, variant), sourcetest.Filters)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// TestHidden hides columns of a source without filters.
func TestHidden(t *testing.T) {
	sourcetest.RunHidden(t, func(t testing.TB, variant int) source.Source {
		path := filepath.Join(t.TempDir(), "staff.duckdb")
		write(t, path, sourcetest.HiddenSetup(variant)...)
		s, err := Open(t.Context(), "staff", path, Options{Dir: t.TempDir(), Hiding: sourcetest.Hiding{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}

// TestUnenforceableFilterIsRefused checks that a source with a filter that cannot be enforced does not open.
func TestUnenforceableFilterIsRefused(t *testing.T) {
	path := tenants(t, 0)
	write(t, path, `CREATE VIEW far AS SELECT * FROM main.orders`, `CREATE VIEW counting AS SELECT total_of_all() AS t`)
	for table, c := range map[string][2]string{
		"nothing": {"org = {org}", "no such table"}, "orders": {"orgg = {org}", "orgg"},
		"accounts": {`"orgg" = {org}`, "orgg"}, "other.orders": {"all", "no such table"},
		"leaky": {"nowhere = {org}", "nowhere"}, "far": {"all", "without schema"}, "counting": {"all", "total_of_all"},
		"products": {"{orgs}", "must be {org}"},
		"payroll":  {"org = {org} LIMIT 1", "syntax error"},
		"tickets":  {"person IN (SELECT person FROM members)", "members"},
	} {
		filters := map[string]string{"orders": "all"}
		maps.Copy(filters, map[string]string{table: c[0]})
		_, err := guardedOpen(t, path, filters)
		if err == nil || !strings.Contains(err.Error(), table) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %q gave %v, want %q", table, c[0], err, c[1])
		}
	}
}

// TestFilteredFiles checks that filters work the same on files, which have no policies of their own.
func TestFilteredFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "sales.csv"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("org,product,amount\nacme,anvil,1\nglobex,zeppelin,2\n")
	s, err := guardedOpen(t, dir, map[string]string{"sales": "org = {org}"})
	if err != nil {
		t.Fatal(err)
	}
	count := func(want string) {
		t.Helper()
		ctx := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "acme"})
		r, _, err := source.Collect(ctx, s, source.Query{SQL: "SELECT count(*), max(product) FROM sales"})
		if got := fmt.Sprint(r.Rows, err); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	count("[[1 anvil]] <nil>")
	put("org,product,amount\nacme,anvil,1\nacme,rocket,1\nglobex,zeppelin,2\n")
	count("[[2 rocket]] <nil>")
	// Without the column that the filter reads, nothing can be read.
	put("who,product,amount\nacme,anvil,1\n")
	if _, _, err := source.Collect(t.Context(), s, source.Query{SQL: "SELECT product FROM sales"}); err == nil ||
		!strings.Contains(err.Error(), "cannot be enforced") {
		t.Errorf("without the column: %v", err)
	}
}

// BenchmarkFilters measures a small query with and without filters on eight tables.
func BenchmarkFilters(b *testing.B) {
	path := tenants(b, 0)
	for name, filters := range map[string]map[string]string{"none": nil, "eight": sourcetest.Filters} {
		b.Run(name, func(b *testing.B) {
			s, err := guardedOpen(b, path, filters)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, _, err := source.Collect(b.Context(), s, source.Query{
					SQL: "SELECT count(*) FROM orders WHERE amount > 10",
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestFilteredNames checks that both the engine and the gate compare letters beyond ASCII by case.
func TestFilteredNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.duckdb")
	write(t, path, `CREATE TABLE "Änderungen" (org VARCHAR)`, `INSERT INTO "Änderungen" VALUES ('acme'), ('globex')`)
	s, err := guardedOpen(t, path, map[string]string{"Änderungen": "org = {org}"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "acme"})
	schema, err := s.Schema(ctx)
	if err != nil || len(schema.Tables) != 1 {
		t.Errorf("the schema has %v, %v", schema.Tables, err)
	}
	r, _, err := source.Collect(ctx, s, source.Query{SQL: `SELECT count(*) FROM "ÄnderungEN"`})
	if got := fmt.Sprint(r.Rows, err); got != "[[1]] <nil>" {
		t.Error(got)
	}
}
