//go:build cgo && !noduckdb

package duckdb

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/footnotehq/footnote/source"
)

// exportPage is the number of rows that the driver holds in memory during an export.
const exportPage = 50_000

// session has the methods of a connection that exports use.
type session interface {
	querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// export runs an admitted text whose rows may not fit in memory. The driver holds all rows of a statement, so they go
// to a temporary table, which the engine spills to its directory, and are read from there page by page. A statement
// that cannot fill a table, such as DESCRIBE, has few rows and runs as it is.
func (e *engine) export(ctx context.Context, on querier, text string, args []any,
	each func(row []any) error) (source.Summary, error) {
	if db, ok := on.(*sql.DB); ok {
		conn, err := db.Conn(ctx)
		if err != nil {
			return source.Summary{}, e.explain(err)
		}
		defer conn.Close()
		on = conn
	}
	s, ok := on.(session)
	if !ok {
		return e.run(ctx, on, text, args, each)
	}
	if _, err := s.ExecContext(ctx, "EXPLAIN CREATE TEMP TABLE exported AS "+text, args...); err != nil {
		return e.run(ctx, on, text, args, each)
	}
	defer func() {
		_, _ = s.ExecContext(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS temp.main.exported")
	}()
	if _, err := s.ExecContext(ctx, "CREATE TEMP TABLE exported AS "+text, args...); err != nil {
		return source.Summary{}, e.explain(err)
	}
	var sum source.Summary
	for first := 0; ; first += exportPage {
		rows := 0
		page := fmt.Sprintf("SELECT * FROM temp.main.exported WHERE rowid >= %d AND rowid < %d ORDER BY rowid", first,
			first+exportPage)
		var err error
		sum, err = e.run(ctx, on, page, nil, func(row []any) error {
			rows++
			return each(row)
		})
		if err != nil || rows == 0 {
			return sum, err
		}
	}
}
