//go:build cgo && !noduckdb

package search_test

import (
	"context"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/duckdb"
)

func init() {
	openers["duckdb"] = func(ctx context.Context, path string) (source.Source, error) {
		return duckdb.Open(ctx, "docs", "duckdb:"+path, duckdb.Options{})
	}
}

func TestDuckDB(t *testing.T) {
	g := newRig(t, open(t, "duckdb", create("duckdb")...), config(nil))
	everyEngine(t, g)
	g.t = t
	g.want(query("manutencao"), 1)
	g.want(query("PRODUÇÕES"), 2)
	g.want(query("100%"), 2)
	g.want(query("1%s"))
}
