//go:build cgo && !noduckdb

package duckdb

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb/dialect"
)

type tables struct{ *child.Client }

// Origins implements source.Tables.
func (t tables) Origins(ctx context.Context, sql string, row int) (o source.Origins, err error) {
	return o, t.Call(ctx, "origins", originsRequest{SQL: sql, Row: row}, &o)
}

// OpenTables returns a source of tables that a child process reads from files and holds in memory. The files
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

// readTables returns the statements that create the tables, in the order of the files. Of columns whose names differ
// only in case, DuckDB numbers all but the first.
func readTables(files []source.TableFile) []string {
	var create []string
	for _, f := range files {
		types := make([]string, len(f.Columns))
		names := make([]string, len(f.Columns))
		for i, c := range f.Columns {
			types[i] = fmt.Sprintf("c%d: %s", i, literal(c.Type))
			names[i] = fmt.Sprintf("c%d AS %s", i, quote(cmp.Or(c.Name, fmt.Sprintf("C%d", i))))
		}
		create = append(create, fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM read_csv(%s, auto_detect = false, "+
			"header = false, delim = ',', quote = '\"', escape = '\"', nullstr = 'N', allow_quoted_nulls = false, "+
			"parallel = false, max_line_size = %d, buffer_size = %d, columns = {%s})", quote(f.Name),
			strings.Join(names, ", "), literal(f.Path), max(f.Longest, minLine), 2*max(f.Longest, minLine),
			strings.Join(types, ", ")))
	}
	return create
}

// minLine is the smallest limit of a line's length, in bytes.
const minLine = 1 << 20
