//go:build cgo && !noduckdb

package duckdb

import (
	"context"
	"fmt"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb/dialect"
)

type tables struct{ *child.Client }

// Origins implements source.Tables.
func (t tables) Origins(ctx context.Context, sql string, row int) (o source.Origins, err error) {
	return o, t.Call(ctx, "origins", originsRequest{SQL: sql, Row: row}, &o)
}

// OpenTables returns a source of tables that a child process reads from Parquet files and holds in memory. The files
// are read at the first query. Of o, it uses Limits, Pool and Logger.
func OpenTables(files []source.TableFile, o Options) source.Tables {
	read := append([]string(nil), system...)
	for _, t := range files {
		read = append(read, t.Path)
	}
	limits := o.Limits.Within(source.DefaultLimits())
	return tables{child.New(Kind, config{Tables: files, Memory: limits.Memory}, child.Options{
		Dialect: dialect.DuckDB, Limits: limits, Pool: o.Pool, Logger: o.Logger, MaxFile: maxSpill, Read: read,
	})}
}

// readTables returns the statements that create the tables, in the order of the files.
func readTables(files []source.TableFile) []string {
	var create []string
	for _, f := range files {
		create = append(create, fmt.Sprintf("CREATE TABLE %s AS FROM read_parquet(%s)", quote(f.Name), literal(f.Path)))
	}
	return create
}
