package app

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
)

// fourEngines returns the addresses of databases of four engines. Each has customers and a number of orders.
func fourEngines(t *testing.T, orders int) map[string]string {
	t.Helper()
	tables := func(series string) []string {
		return []string{
			"CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(40))",
			"CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, total DOUBLE PRECISION)",
			"INSERT INTO customers SELECT i, 'Customer ' || i FROM " + fmt.Sprintf(series, 1000),
			"INSERT INTO orders SELECT i, 1 + i % 1000, i * 1.5 FROM " + fmt.Sprintf(series, orders),
		}
	}
	dir := t.TempDir()
	file := func(driver, name, series string) string {
		path := filepath.Join(dir, name)
		db, err := sql.Open(driver, path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, statement := range tables(series) {
			if _, err := db.Exec(statement); err != nil {
				t.Fatalf("%s: %s: %v", driver, statement, err)
			}
		}
		return path
	}
	maria := mariatest.New(t)
	maria.Do(t, "SET sql_mode = PIPES_AS_CONCAT")
	maria.Do(t, tables("(SELECT seq AS i FROM seq_1_to_%d) s")...)
	maria.Do(t, "ANALYZE TABLE orders, customers")
	return map[string]string{
		"lite": file("sqlite", "lite.db",
			"(WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < %d) SELECT i FROM t)"),
		"duck":  file("duckdb", "duck.duckdb", "range(1, %d + 1) AS s(i)"),
		"maria": maria.Address(maria.Reader),
		"post":  pgtest.Reader(t, append(tables("generate_series(1, %d) AS s(i)"), "ANALYZE")...),
	}
}
