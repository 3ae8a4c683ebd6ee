package mysql

import (
	"context"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
)

// Dialect is the SQL that MySQL and MariaDB share.
var Dialect = source.NewDialect(source.Dialect{
	Plans:     plans,
	Name:      "mysql",
	Editor:    "MariaSQL",
	QuoteName: quote,
	Advice: "names in backticks, strings in single quotes, CONCAT instead of ||, and no FULL JOIN, FILTER, QUALIFY, " +
		"ILIKE or NULLS LAST",
	Text:             "CAST({x} AS CHAR)",
	Timestamp:        "CAST({x} AS DATETIME)",
	FromSeconds:      "FROM_UNIXTIME({x})",
	FromMilliseconds: "FROM_UNIXTIME({x} / 1000)",
	Periods: map[string]source.Expr{
		"year":    "DATE_FORMAT({x}, '%Y')",
		"quarter": "CONCAT(YEAR({x}), '-Q', QUARTER({x}))",
		"month":   "DATE_FORMAT({x}, '%Y-%m')",
		"week":    "DATE_FORMAT(DATE_SUB({x}, INTERVAL WEEKDAY({x}) DAY), '%Y-%m-%d')",
		"day":     "DATE_FORMAT({x}, '%Y-%m-%d')",
	},
	Parts: map[string]source.Part{
		"weekday":           {Name: "DAYNAME({x})", Order: "WEEKDAY({x})"},
		"month of the year": {Name: "MONTHNAME({x})", Order: "MONTH({x})"},
	},
	Elapsed:      "TIMESTAMPDIFF(SECOND, {x}, {y}) / 86400e0",
	CalendarDays: "DATEDIFF({y}, {x})",
	StdDev:       "STDDEV_SAMP({x})",
	Divide:       "{x} DIV {y}",
	SameBytes:    "{x} = {y} AND CAST(CONVERT({x} USING utf8mb4) AS BINARY) = CAST({y} AS BINARY)",
	TextSearch: source.TextSearch{Scanned: source.SearchMethod{
		Remark: "LIKE, without an index; the column's collation decides on case and accents",
		Advice: "Words are found as they are written, also inside longer ones; the column's collation decides " +
			"whether case and accents matter.",
	}},
})

// Engine returns MySQL and MariaDB for the program's list of engines.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect:   Dialect,
		Schemes:   schemes,
		Hosts:     Hosts,
		Filters:   true,
		Functions: true,
		Versions:  true,
		Proof:     source.Proof{Strength: source.Gated, TestedOn: source.Imitation},
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			return Open(ctx, name, address, Options{
				Limits: o.Limits, Filters: o.Filters, Functions: o.Functions, VersionSQL: o.VersionSQL,
				Hiding: o.Hiding, Logger: o.Logger,
			})
		},
	}
}
