package trino

import (
	_ "embed"
	"fmt"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/warehouse"
	"github.com/footnotehq/footnote/source/warehouse/grammar"
)

//go:embed functions.txt
var functionFile string

var functions = grammar.Functions(functionFile)

// Dialect is the SQL of Trino.
var Dialect = source.NewDialect(source.Dialect{
	Name:             "trino",
	Advice:           "Trino's functions, such as date_trunc, date_diff and approx_percentile; no QUALIFY and no ILIKE",
	Text:             "CAST({x} AS VARCHAR)",
	Roundable:        "CAST({x} AS DOUBLE)",
	FromSeconds:      "from_unixtime({x})",
	FromMilliseconds: "from_unixtime({x} / 1000.0)",
	Periods: map[string]source.Expr{
		"year":    "date_format({x}, '%Y')",
		"quarter": "concat(date_format({x}, '%Y'), '-Q', CAST(quarter({x}) AS VARCHAR))",
		"month":   "date_format({x}, '%Y-%m')",
		"week":    "date_format(date_trunc('week', {x}), '%Y-%m-%d')",
		"day":     "date_format({x}, '%Y-%m-%d')",
	},
	Parts: map[string]source.Part{
		"weekday":           {Name: "date_format({x}, '%W')", Order: "day_of_week({x})"},
		"month of the year": {Name: "date_format({x}, '%M')", Order: "month({x})"},
	},
	Before: func(day string, n int, unit string) string {
		if unit == "week" {
			n, unit = 7*n, "day"
		}
		return fmt.Sprintf("DATE '%s' - INTERVAL '%d' %s", day, n, unit)
	},
	Elapsed:      "date_diff('second', CAST({x} AS TIMESTAMP), CAST({y} AS TIMESTAMP)) / 86400e0",
	CalendarDays: "date_diff('day', CAST({x} AS DATE), CAST({y} AS DATE))",
	StdDev:       "stddev_samp({x})",
	Position:     "strpos({x}, {y})",
})

var rules = &grammar.Dialect{
	NameQuote: '"', StringQuotes: "'", Bytes: 'x',
	Function:       func(name string) bool { return functions[name] },
	TableFunctions: wordlist.Set("unnest sequence"),
}

var kinds = wordlist.Map(`
	tinyint smallint integer bigint: integer
	real double: number
	decimal: decimal
	boolean: boolean
	date: date
	timestamp: timestamp
	time: time
	varbinary: blob
	json array map row: json`)

const (
	tables = `SELECT t.table_schema, t.table_name, t.table_type, coalesce(c.comment, ''), ''
		FROM %[1]s.information_schema.tables AS t LEFT JOIN system.metadata.table_comments AS c
		ON c.catalog_name = %[2]s AND c.schema_name = t.table_schema AND c.table_name = t.table_name
		WHERE t.table_schema <> 'information_schema' ORDER BY 1, 2`
	columnsOf = `SELECT table_schema, table_name, column_name, data_type, is_nullable, ''
		FROM %s.information_schema.columns WHERE table_schema <> 'information_schema'
		ORDER BY table_schema, table_name, ordinal_position`
	privileges = `SELECT DISTINCT privilege_type FROM %s.information_schema.table_privileges
		WHERE privilege_type <> 'SELECT' AND grantee = current_user`
)

func describe(catalog, schema string) warehouse.Database {
	return warehouse.Database{
		Dialect: Dialect, Grammar: rules, Fold: true, Catalog: catalog, Home: schema,
		Kind: func(typ string) string { return warehouse.KindOf(kinds, typ) },
		Path: func(schema, table string) string {
			return rules.Quote(catalog) + "." + rules.Quote(schema) + "." + rules.Quote(table)
		},
		Tables:  func() string { return fmt.Sprintf(tables, rules.Quote(catalog), rules.String(catalog)) },
		Columns: func() string { return fmt.Sprintf(columnsOf, rules.Quote(catalog)) },
		Writes:  []string{"DELETE FROM {table} WHERE 1 = 0"},
	}
}
