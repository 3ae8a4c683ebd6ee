//go:build cgo && !noduckdb

package duckdb

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// TestRowOrderHidesKeys checks that the order of rows does not follow a hidden column that is a key or in an index: it
// is the same whether the hidden values ascend, descend or are mixed. DuckDB returns rows as they were stored.
func TestRowOrderHidesKeys(t *testing.T) {
	const rows = 6000 // of several vectors
	var sources []source.Source
	for variant, pay := range []string{"i", "100000 - i", "(i * 7919) % 104729"} {
		path := filepath.Join(t.TempDir(), "staff.duckdb")
		write(t, path,
			"CREATE TABLE staff (id INTEGER, region VARCHAR, salary INTEGER PRIMARY KEY, iban VARCHAR)",
			fmt.Sprintf("INSERT INTO staff SELECT i, 'r' || (i %% 7), %s, 'x' FROM range(%d) r(i)", pay, rows),
			"CREATE INDEX pair ON staff (region, salary)", "CREATE INDEX single ON staff (region)",
			"CREATE TABLE visits (staff INTEGER, n INTEGER)",
			"INSERT INTO visits SELECT i, i % 5 FROM range(3000) r(i)",
			"CREATE TABLE dossiers (id INTEGER, remark VARCHAR)", "CHECKPOINT")
		s, err := Open(t.Context(), "staff", path, Options{Dir: t.TempDir(), Hiding: sourcetest.Hiding{}})
		if err != nil {
			t.Fatal(variant, err)
		}
		t.Cleanup(func() { s.Close() })
		sources = append(sources, s)
	}
	ctx := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "acme", User: "clerk"})
	for _, sql := range []string{
		"SELECT id FROM staff", "SELECT * FROM staff LIMIT 50", "SELECT id FROM staff OFFSET 5900",
		"SELECT id FROM staff WHERE region = 'r3'", "SELECT id FROM staff WHERE region IN ('r3', 'r5') LIMIT 20",
		"SELECT id FROM staff WHERE region > 'r4'", "SELECT id, region FROM staff ORDER BY region LIMIT 30",
		"SELECT id FROM staff ORDER BY region DESC, id % 2 LIMIT 30", "SELECT first(id), last(id) FROM staff",
		"SELECT region, first(id) FROM staff GROUP BY region ORDER BY region", "SELECT list(id)[1:20] FROM staff",
		"SELECT any_value(id) FROM staff", "SELECT arg_max(id, region), arg_min(id, region) FROM staff",
		"SELECT string_agg(id::VARCHAR, ',') FROM staff WHERE region = 'r1' AND id < 400",
		"SELECT DISTINCT ON (region) region, id FROM staff ORDER BY region", "SELECT id, row_number() OVER () FROM staff",
		"SELECT id, row_number() OVER (PARTITION BY region) AS n FROM staff ORDER BY id",
		"SELECT id, lag(id) OVER () FROM staff ORDER BY id", "SELECT id FROM staff UNION ALL SELECT id FROM staff",
		"SELECT s.id FROM staff s JOIN visits v ON v.staff = s.id WHERE v.n = 2",
		"SELECT (SELECT id FROM staff s WHERE s.region = 'r' || v.n LIMIT 1) FROM visits v LIMIT 9",
		"SELECT id FROM staff WHERE id IN (SELECT staff FROM visits) AND region = 'r2' LIMIT 12",
		"SELECT id FROM staff USING SAMPLE 5 ROWS (reservoir, 7)",
		"FROM staff SELECT id WHERE region = 'r6' LIMIT 9", "SELECT mode(region), median(id) FROM staff",
		"SELECT approx_top_k(region, 3) FROM staff", "SELECT id FROM (FROM staff LIMIT 100) WHERE id % 3 = 0",
	} {
		var seen []string
		for _, src := range sources {
			res, _, err := source.Collect(ctx, src, source.Query{SQL: sql})
			if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			seen = append(seen, fmt.Sprint(res.Rows))
		}
		if seen[0] != seen[1] || seen[0] != seen[2] {
			t.Errorf("%s: it depends on the hidden column:\n%.300s\n%.300s\n%.300s", sql, seen[0], seen[1], seen[2])
		}
	}
}
