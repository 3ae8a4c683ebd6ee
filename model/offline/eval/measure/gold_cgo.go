//go:build cgo

package measure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2" // the driver that runs gold for CSV sources

	"github.com/footnotehq/footnote/model/offline/evalset"
)

// openLogical loads the logical table of a CSV source into DuckDB, through a file that it writes to path.
func openLogical(ctx context.Context, s evalset.Source, path string) (*sql.DB, error) {
	if err := os.WriteFile(path, s.Logical, 0o600); err != nil {
		return nil, fmt.Errorf("write the logical table: %w", err)
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, fmt.Errorf("open DuckDB: %w", err)
	}
	load := fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM read_csv('%s', header = true, delim = ',', nullstr = '')",
		s.Name, strings.ReplaceAll(path, "'", "''"))
	if _, err := db.ExecContext(ctx, load); err != nil {
		return nil, errors.Join(fmt.Errorf("load the logical table: %w", err), db.Close())
	}
	return db, nil
}
