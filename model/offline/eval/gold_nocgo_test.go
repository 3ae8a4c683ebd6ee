//go:build !cgo || noduckdb

package eval_test

import (
	"database/sql"
	"testing"

	"github.com/footnotehq/footnote/model/offline/evalset"
)

// openLogical fails, because DuckDB needs cgo; openSet skips CSV sources then.
func openLogical(t *testing.T, _ evalset.Source, _ string) *sql.DB {
	t.Helper()
	t.Fatal("this program was built without DuckDB")
	return nil
}
