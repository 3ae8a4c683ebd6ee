//go:build cgo && !noduckdb

package profile_test

import (
	"database/sql"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/duckdb/dialect"
	"github.com/footnotehq/footnote/tool/internal/tooltest"
)

func TestDuckDB(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, q := range table("DATE") {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	src := &tooltest.Source{DB: db, SQL: dialect.DuckDB}
	r, _, err := source.Collect(t.Context(), src, source.Query{
		SQL: `SELECT table_name, column_name, data_type FROM duckdb_columns() ORDER BY table_name, column_index`,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		name := row[0].(string)
		if n := len(src.Tables); n == 0 || src.Tables[n-1].Name != name {
			src.Tables = append(src.Tables, source.Table{Name: name, Rows: -1})
		}
		last := &src.Tables[len(src.Tables)-1]
		last.Columns = append(last.Columns, source.Column{
			Name: row[1].(string),
			Type: row[2].(string),
			Kind: tooltest.Kind(row[2].(string)),
		})
	}
	t.Run("Stats", func(t *testing.T) { testStats(t, src) })
	t.Run("Distribution", func(t *testing.T) { testDistribution(t, src) })
}
