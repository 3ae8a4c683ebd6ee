// Package dialect describes DuckDB's SQL. It is apart from the engine because browsers run DuckDB, too: what writes
// statements for them must not link the engine.
package dialect

import (
	"fmt"
	"strings"

	"github.com/footnotehq/footnote/source"
)

// DuckDB is DuckDB's SQL.
var DuckDB = source.NewDialect(source.Dialect{
	Plans:            plans,
	Name:             "duckdb",
	Editor:           "PostgreSQL", // the closest that it has
	FromSeconds:      "epoch_ms(CAST({x} AS BIGINT) * 1000)",
	FromMilliseconds: "epoch_ms({x})",
	Periods: map[string]source.Expr{
		"year":    "strftime({x}, '%Y')",
		"quarter": "year({x}) || '-Q' || quarter({x})",
		"month":   "strftime({x}, '%Y-%m')",
		"week":    "strftime(date_trunc('week', {x}), '%Y-%m-%d')",
		"day":     "strftime({x}, '%Y-%m-%d')",
	},
	Parts: map[string]source.Part{
		"weekday":           {Name: "dayname({x})", Order: "isodow({x})"},
		"month of the year": {Name: "monthname({x})", Order: "month({x})"},
	},
	Before: func(day string, n int, unit string) string {
		return fmt.Sprintf("DATE '%s' - INTERVAL %d %s", day, n, strings.ToUpper(unit))
	},
	Elapsed:      "date_diff('day', {x}, {y})",
	ElapsedTime:  "(epoch({y}) - epoch({x})) / 86400", // date_diff counts the midnights between
	CalendarDays: "date_diff('day', CAST({x} AS DATE), CAST({y} AS DATE))",
	Median:       "MEDIAN(CAST({x} AS DOUBLE))", // a decimal's median would be rounded
	StdDev:       "stddev_samp({x})",
	Materialized: true,
	Fold:         "strip_accents(lower(CAST({x} AS VARCHAR)))",
	TextSearch: source.TextSearch{Scanned: source.SearchMethod{
		Remark: "ILIKE, without an index; neither case nor accents matter",
		Advice: "Words are found as they are written, also inside longer ones; accents do not matter.",
	}},
	Position:  "instr({x}, {y})",
	Divide:    "{x} // {y}", // by zero it gives NULL
	SameBytes: "encode({x}) = encode(CAST({y} AS VARCHAR))",
})
