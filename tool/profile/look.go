package profile

import (
	"context"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// Sample reads the first rows of a table, for a person browsing the data.
func Sample(ctx context.Context, src source.Source, table source.Table, limit int) (footnote.Result, error) {
	sql := "SELECT * FROM " + src.Dialect().Table(table) + src.Dialect().First(limit)
	result, _, err := source.Collect(ctx, src, source.Query{SQL: sql, Limits: source.Limits{Rows: limit}})
	return result, err
}

// Look returns the statistics of a column by name (rows, nulls, distinct, min, max, mean, …, as far as they apply
// to its kind), and the distribution of its values. The rows of that are value and count; or from, to and count for
// ranges; or month or year and count. Binary data has no distribution.
func Look(ctx context.Context, src source.Source, table source.Table, column source.Column,
	limit int) (map[string]any, footnote.Result, error) {
	at := place{src: src, dialect: src.Dialect(), table: table, column: column}
	r, _, err := source.Collect(ctx, src, source.Query{SQL: at.statsSQL()})
	if err != nil {
		return nil, footnote.Result{}, err
	}
	stats := onlyRow(r)
	if column.Kind == footnote.KindBlob {
		return stats, footnote.Result{}, nil
	}
	sql, _, err := distribution{}.plan(ctx, at, limit)
	if err != nil {
		return nil, footnote.Result{}, err
	}
	values, _, err := source.Collect(ctx, src, source.Query{SQL: sql})
	return stats, values, err
}

// onlyRow returns the cells of a result with one row by the names of their columns.
func onlyRow(r footnote.Result) map[string]any {
	cells := map[string]any{}
	for i, c := range r.Columns {
		if len(r.Rows) == 1 {
			cells[c.Name] = r.Rows[0][i]
		}
	}
	return cells
}
