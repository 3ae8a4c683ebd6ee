package duckdb

import (
	"context"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb/dialect"
	"github.com/footnotehq/footnote/source/engines"
)

// Engine returns DuckDB for the program's list of engines. It opens everything that no other engine recognizes.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect:  dialect.DuckDB,
		Schemes:  []string{"duckdb"},
		Sniff:    sniff,
		Children: map[string]child.OpenFunc{Kind: OpenEngine},
		Filters:  true,
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			return Open(ctx, name, address, Options{
				Dir: o.Folder, Limits: o.Limits, Filters: o.Filters, Pool: o.Pool, Logger: o.Logger,
				LoadPool: o.LoadPool, LoadMemory: o.LoadMemory, LoadWait: o.LoadWait, Progress: o.Progress,
			})
		},
	}
}

func sniff(_ string, head []byte) engines.Fit {
	if isDuckDB(head) {
		return engines.FitsByContent
	}
	return engines.FitsByDefault
}

// isDuckDB reports whether a file is a DuckDB database. Its magic bytes follow eight bytes of checksum.
func isDuckDB(head []byte) bool { return len(head) >= 12 && string(head[8:12]) == "DUCK" }
