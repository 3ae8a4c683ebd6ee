//go:build !cgo

package measure

import (
	"context"
	"database/sql"
	"errors"

	"github.com/footnotehq/footnote/model/offline/evalset"
)

// openLogical returns an error, because DuckDB needs cgo. Run then skips CSV sources.
func openLogical(context.Context, evalset.Source, string) (*sql.DB, error) {
	return nil, errors.New("this program was built without DuckDB")
}
