//go:build cgo && !noduckdb

package offline_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
)

// workshop creates the same tables in both engines: repairs of bikes, with a time in seconds since 1970, a date, a
// year, a yes/no column, and some missing numbers.
func workshop(t *testing.T) catalog {
	t.Helper()
	stmts := []string{
		"CREATE TABLE owners (owner_id INTEGER PRIMARY KEY, owner_name VARCHAR, town VARCHAR)",
		"CREATE TABLE bikes (bike_id INTEGER PRIMARY KEY, owner_id INTEGER, brand VARCHAR, built_year INTEGER, " +
			"insured VARCHAR)",
		"CREATE TABLE repairs (repair_id INTEGER PRIMARY KEY, bike_id INTEGER, logged_at BIGINT, picked_up DATE, " +
			"brought_in DATE, cost DOUBLE, hours INTEGER)",
	}
	for i := range 9 {
		stmts = append(stmts,
			fmt.Sprintf("INSERT INTO owners VALUES (%d, 'Owner %c', '%s')", i+1, 'A'+i,
				[]string{"Graz", "Linz", "Wels"}[i%3]))
	}
	for i := range 20 {
		stmts = append(stmts,
			fmt.Sprintf("INSERT INTO bikes VALUES (%d, %d, '%s', %d, '%s')", i+1, i%8+1,
				[]string{"Kettler", "Puch"}[i%2], 2005+i*7%15, []string{"J", "N"}[i*i%3%2]))
	}
	for i := range 150 {
		cost := fmt.Sprintf("%d.5", 10+i*29%170)
		if i%17 == 3 {
			cost = "NULL"
		}
		stmts = append(stmts,
			fmt.Sprintf("INSERT INTO repairs VALUES (%d, %d, %d, '%s', '%s', %s, %d)", i+1, i*7%19+1,
				1704067200+i*86400*4+i*5%11*3600,
				day(i*4+i%6), day(i*4), cost, i%5))
	}
	dir := t.TempDir()
	write := func(driver, path string) {
		db, err := sql.Open(driver, path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, q := range stmts {
			if _, err := db.Exec(q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
	}
	write("sqlite", "file:"+filepath.Join(dir, "workshop.db"))
	write("duckdb", filepath.Join(dir, "workshop.duckdb"))
	duck, err := duckdb.Open(t.Context(), "duck", filepath.Join(dir, "workshop.duckdb"), duckdb.Options{
		Pool: child.NewPool(1),
		Dir:  filepath.Join(dir, "loaded"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { duck.Close() })
	return catalog{"lite": open(t, "lite", filepath.Join(dir, "workshop.db")), "duck": duck}
}

// day returns the n-th day of 2024 and 2025.
func day(n int) string {
	month := []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	year := 2024
	for m := 0; ; m = (m + 1) % 12 {
		if n < month[m] {
			return fmt.Sprintf("%d-%02d-%02d", year, m+1, n+1)
		}
		if n -= month[m]; m == 11 {
			year, month[1] = 2025, 28
		}
	}
}

// TestEnginesGiveEqualRows asks SQLite and DuckDB the same questions and compares the rows with those of SQL for
// SQLite.
func TestEnginesGiveEqualRows(t *testing.T) {
	c := workshop(t)
	p := offline.New(offline.Options{Catalog: c})
	const weekday = "CASE strftime('%w', brought_in) WHEN '0' THEN 'Sunday' WHEN '1' THEN 'Monday' WHEN '2' THEN " +
		"'Tuesday' WHEN '3' THEN 'Wednesday' WHEN '4' THEN 'Thursday' WHEN '5' THEN 'Friday' ELSE 'Saturday' END"
	const middle = "SELECT AVG(v) FROM (SELECT v, ROW_NUMBER() OVER (ORDER BY v) k, COUNT(*) OVER () n FROM (%s)) " +
		"WHERE k IN ((n + 1) / 2, (n + 2) / 2)"
	for _, g := range []struct{ question, sql string }{
		{"repairs by weekday of brought in", "SELECT " + weekday + ", COUNT(*) FROM repairs GROUP BY 1"},
		{"total cost by day of the week brought in", "SELECT " + weekday + ", SUM(cost) FROM repairs GROUP BY 1"},
		{
			"repairs by hour of the day logged",
			"SELECT CAST(strftime('%H', logged_at, 'unixepoch') AS INTEGER), COUNT(*) FROM repairs GROUP BY 1",
		},
		{
			"repairs by quarter brought in",
			"SELECT strftime('%Y', brought_in) || '-Q' || ((CAST(strftime('%m', brought_in) AS INTEGER) + 2) / 3), " +
				"COUNT(*) FROM repairs GROUP BY 1",
		},
		{
			"repairs per week logged",
			"SELECT date(logged_at, 'unixepoch', '-6 days', 'weekday 1'), COUNT(*) FROM repairs GROUP BY 1",
		},
		{
			"repairs logged in March 2024",
			"SELECT COUNT(*) FROM repairs WHERE strftime('%Y-%m', logged_at, 'unixepoch') = '2024-03'",
		},
		{"median cost", fmt.Sprintf(middle, "SELECT cost AS v FROM repairs WHERE cost IS NOT NULL")},
		{
			"average and median cost",
			"SELECT AVG(cost), (" + fmt.Sprintf(middle, "SELECT cost AS v FROM repairs WHERE cost IS NOT NULL") +
				") FROM repairs",
		},
		{"median cost per repair", fmt.Sprintf(middle, "SELECT cost AS v FROM repairs WHERE cost IS NOT NULL")},
		{
			"number of repairs, average cost and highest cost by brand",
			"SELECT brand, COUNT(*), AVG(cost), MAX(cost) FROM repairs JOIN bikes USING (bike_id) GROUP BY 1",
		},
		{
			"average and highest cost by town",
			"SELECT town, AVG(cost), MAX(cost) FROM repairs JOIN bikes USING (bike_id) JOIN owners USING (owner_id) " +
				"GROUP BY 1",
		},
		{"how many insured bikes", "SELECT COUNT(*) FROM bikes WHERE insured = 'J'"},
		{"bikes by insured", "SELECT insured, COUNT(*) FROM bikes GROUP BY 1"},
		{"how many bikes were built before 2010", "SELECT COUNT(*) FROM bikes WHERE built_year < 2010"},
	} {
		want, _, err := source.Collect(t.Context(), c["lite"], source.Query{SQL: g.sql})
		if err != nil {
			t.Fatalf("%s: %v", g.sql, err)
		}
		for _, name := range []string{"lite", "duck"} {
			s := newTalk(t, c, p, name).ask(g.question)
			if s.rows == nil || canonical(s.rows.Rows) != canonical(want.Rows) {
				got := ""
				if s.rows != nil {
					got = canonical(s.rows.Rows)
				}
				t.Errorf("%s: %s\nsql  %s\ngot  %.300s\nwant %.300s\ntext %.300s", name, g.question, s.sql, got,
					canonical(want.Rows), s.text)
			}
		}
	}
}
