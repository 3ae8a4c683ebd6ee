//go:build cgo && !noduckdb

package eval_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2" // the driver that runs gold for CSV sources

	"github.com/footnotehq/footnote/model/offline/evalset"
)

// openLogical loads the logical table of a CSV source into DuckDB until the test ends, through a file at path.
func openLogical(t *testing.T, s evalset.Source, path string) *sql.DB {
	t.Helper()
	if err := os.WriteFile(path, s.Logical, 0o600); err != nil {
		t.Fatalf("write the logical table: %v", err)
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatalf("open DuckDB: %v", err)
	}
	closeAfter(t, db)
	load := fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM read_csv('%s', header = true, delim = ',', nullstr = '')",
		s.Name, strings.ReplaceAll(path, "'", "''"))
	if _, err := db.ExecContext(t.Context(), load); err != nil {
		t.Fatalf("load the logical table: %v", err)
	}
	return db
}
