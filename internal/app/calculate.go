package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/calculate"
)

// calculator returns what runs SQL over stored results, or nil without DuckDB. Each calculation gets a child process.
func (c children) calculator(cfg config.Config, log *slog.Logger) calculate.Engine {
	if !duckdb.Available {
		return nil
	}
	o := engines.Options{Limits: queryLimits(cfg), Pool: c.budget.Pool(calculations), Logger: log}
	return func(tables []source.TableFile) source.Tables { return duckdb.OpenTables(tables, o) }
}

// errNoCalculator is the error of a program that was built without DuckDB.
var errNoCalculator = footnote.Invalidf("This program was built without DuckDB and cannot calculate with results.")

// Calculate implements httpapi.Calculations.
func (d data) Calculate(ctx context.Context, r httpapi.Results, sql string) (footnote.Result, []string, error) {
	if d.calculator == nil {
		return footnote.Result{}, nil, errNoCalculator
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.ToolTimeout, errQueryTime)
	defer cancel()
	c, err := d.calculator.Run(ctx, calculate.Results(r), sql)
	return c.Result, c.Parents, d.calculationError(ctx, err)
}

// Origins implements httpapi.Calculations.
func (d data) Origins(ctx context.Context, r httpapi.Results, of footnote.StoredResult,
	row int) (httpapi.Origins, error) {
	if d.calculator == nil {
		return httpapi.Origins{}, errNoCalculator
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.ToolTimeout, errQueryTime)
	defer cancel()
	found, err := d.calculator.Origins(ctx, calculate.Results(r), of.SQL, row)
	if err != nil {
		return httpapi.Origins{}, d.calculationError(ctx, err)
	}
	rows, err := r.Rows(ctx, of)
	if err != nil {
		return httpapi.Origins{}, err
	}
	o := httpapi.Origins{Columns: columnOrigins(of.Columns, found.Columns), Rows: []httpapi.RowsOf{}}
	// Only an order that the statement left open can give another row than the stored one.
	if row < len(rows) && fmt.Sprint(rows[row]) == fmt.Sprint(decoded(found.Values, of.Columns)) {
		for _, of := range found.Rows {
			o.Rows = append(o.Rows, httpapi.RowsOf{Result: of.Table, Rows: of.Rows, Count: of.Count})
		}
	}
	return o, nil
}

// decoded returns a row as it would be read from the store.
func decoded(row []any, columns []footnote.Column) []any {
	rows, err := footnote.DecodeRows(append(append([]byte{'['}, footnote.AppendRow(nil, row)...), ']'), columns)
	if err != nil || len(rows) != 1 {
		return nil
	}
	return rows[0]
}

// columnOrigins assigns the expressions of a SELECT to the columns of its result. An asterisk stands for all columns
// that the other expressions leave.
func columnOrigins(columns []footnote.Column, found []source.ColumnOrigin) []httpapi.ColumnOrigin {
	out := make([]httpapi.ColumnOrigin, len(columns))
	star := slices.IndexFunc(found, func(o source.ColumnOrigin) bool { return o.Formula == "*" })
	for i, c := range columns {
		out[i] = httpapi.ColumnOrigin{Name: c.Name, Reads: []httpapi.ResultColumn{}}
		at := i
		if fromEnd := i - len(columns) + len(found); star >= 0 && i >= star {
			at = max(star, fromEnd)
		}
		if at >= len(found) || found[at].Formula == "*" {
			continue
		}
		out[i].Formula = found[at].Formula
		for _, read := range found[at].Reads {
			out[i].Reads = append(out[i].Reads, httpapi.ResultColumn{Result: read.Table, Column: read.Column})
		}
	}
	return out
}

// calculationError turns the error of a calculation into one for the person who wrote the statement.
func (d data) calculationError(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errQueryTime) {
		return footnote.Invalidf("The calculation took longer than %s.", d.cfg.ToolTimeout)
	}
	if bad, ok := errors.AsType[*tool.Refusal](err); ok {
		return footnote.Invalidf("%s", bad.Text)
	}
	return personal(err)
}
