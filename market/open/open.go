// Package open opens the database of a market by its address.
package open

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/postgres"
	"github.com/footnotehq/footnote/market/sqlite"
)

// Store opens the database of a market: Postgres at a URL, SQLite at a path.
func Store(ctx context.Context, where string) (market.Store, error) {
	var store market.Store
	var err error
	if config.PostgresURL(where) {
		store, err = postgres.Open(ctx, where)
	} else {
		store, err = sqlite.Open(ctx, where)
	}
	if err != nil {
		return nil, err // not a Store that holds a nil pointer
	}
	return store, nil
}

// Missing reports whether a market is in a SQLite file that does not exist yet.
func Missing(where string) bool {
	_, err := os.Stat(where)
	return !config.PostgresURL(where) && errors.Is(err, fs.ErrNotExist)
}
