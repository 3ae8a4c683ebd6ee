package sqlite

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/engines"
)

// Dialect is SQLite's SQL.
var Dialect = &source.Dialect{
	Name: "sqlite",
}

// Engine returns SQLite for the program's list of engines.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect:  Dialect,
		Schemes:  []string{"sqlite", "file"},
		Sniff:    sniff,
		Children: map[string]child.OpenFunc{Kind: OpenEngine},
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			return Open(ctx, name, address, Options{
				Limits: o.Limits, Filters: o.Filters, Pool: o.Pool, Logger: o.Logger,
			})
		},
	}
}

// sniff recognizes a database by its first bytes, or by its name.
func sniff(path string, head []byte) engines.Fit {
	if strings.HasPrefix(string(head), "SQLite format 3\x00") {
		return engines.FitsByContent
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".db", ".sqlite", ".sqlite3", ".db3":
		return engines.FitsByName
	}
	return engines.NoFit
}
