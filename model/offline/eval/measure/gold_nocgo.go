//go:build !cgo

package measure

import (
	"context"
	"database/sql"
	"errors"

	"github.com/footnotehq/footnote/model/offline/evalset"
)

// openLogical returns an error: DuckDB needs cgo. Run asks nothing about CSV
// sources then.
func openLogical(context.Context, evalset.Source, string) (*sql.DB, error) {
	return nil, errors.New("this program was built without DuckDB")
}
