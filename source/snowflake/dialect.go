package snowflake

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

// Dialect is the SQL of Snowflake.
var Dialect = source.NewDialect(source.Dialect{
	Name: "snowflake",
	Advice: "Snowflake's functions, such as DATE_TRUNC, DATEDIFF and IFF; names without quotes are read in upper " +
		"case, so others need double quotes",
	Text:             "CAST({x} AS VARCHAR)",
	Timestamp:        "CAST({x} AS TIMESTAMP_NTZ)",
	FromSeconds:      "TO_TIMESTAMP_NTZ({x})",
	FromMilliseconds: "TO_TIMESTAMP_NTZ({x}, 3)",
	Periods: map[string]source.Expr{
		"year":    "TO_CHAR({x}, 'YYYY')",
		"quarter": "CONCAT(YEAR({x}), '-Q', QUARTER({x}))",
		"month":   "TO_CHAR({x}, 'YYYY-MM')",
		"week":    "TO_CHAR(DATEADD('day', 1 - DAYOFWEEKISO({x}), {x}), 'YYYY-MM-DD')",
		"day":     "TO_CHAR({x}, 'YYYY-MM-DD')",
	},
	Parts: map[string]source.Part{
		"weekday": {Name: "DECODE(DAYOFWEEKISO({x}), 1, 'Monday', 2, 'Tuesday', 3, 'Wednesday', 4, 'Thursday', 5, " +
			"'Friday', 6, 'Saturday', 7, 'Sunday')", Order: "DAYOFWEEKISO({x})"},
		"month of the year": {Name: "TO_CHAR({x}, 'MMMM')", Order: "MONTH({x})"},
	},
	Before: func(day string, n int, unit string) string {
		return fmt.Sprintf("DATEADD('%s', -%d, DATE '%s')", unit, n, day)
	},
	Elapsed:      "DATEDIFF('second', {x}, {y}) / 86400",
	CalendarDays: "DATEDIFF('day', {x}, {y})",
	Median:       "MEDIAN({x})",
	StdDev:       "STDDEV_SAMP({x})",
	Position:     "POSITION({y}, {x})",
	Divide:       "TRUNC({x} / {y})",
})

var rules = &grammar.Dialect{
	NameQuote: '"', StringQuotes: "'", Backslash: true, Escapes: "xu", Bytes: 'x', Positional: true,
	Function:       func(name string) bool { return functions[name] },
	TableFunctions: wordlist.Set("flatten generator split_to_table strtok_split_to_table"),
	BadColumns:     wordlist.Set("nextval currval"), // of sequences
}

var kinds = wordlist.Map(`
	fixed integer: integer
	real float double: number
	decimal number numeric: decimal
	boolean: boolean
	date: date
	timestamp_ntz timestamp_ltz timestamp_tz timestamp datetime: timestamp
	time: time
	binary: blob
	variant object array map: json`)

const (
	tables = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE,
		CONCAT(COALESCE(COMMENT, ''), IFF(CLUSTERING_KEY IS NULL, '', CONCAT(' (clustered by ', CLUSTERING_KEY, ')'))),
		COALESCE(TO_VARCHAR(ROW_COUNT), '')
		FROM %s.INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA <> 'INFORMATION_SCHEMA' ORDER BY 1, 2`
	columnsOf = `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME,
		CASE WHEN DATA_TYPE <> 'NUMBER' THEN DATA_TYPE WHEN NUMERIC_SCALE = 0 THEN 'INTEGER'
		ELSE CONCAT('NUMBER(', NUMERIC_PRECISION, ', ', NUMERIC_SCALE, ')') END, IS_NULLABLE, COALESCE(COMMENT, '')
		FROM %s.INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA <> 'INFORMATION_SCHEMA'
		ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION`
)

// describe describes a database. Its keys are not in INFORMATION_SCHEMA.
func describe(database, schema string) warehouse.Database {
	q := rules.Quote(database)
	return warehouse.Database{
		Dialect: Dialect, Grammar: rules, Fold: true, Catalog: database, Home: schema,
		Kind: func(typ string) string { return warehouse.KindOf(kinds, typ) },
		Path: func(schema, table string) string {
			return q + "." + rules.Quote(schema) + "." + rules.Quote(table)
		},
		Tables:  func() string { return fmt.Sprintf(tables, q) },
		Columns: func() string { return fmt.Sprintf(columnsOf, q) },
		Routines: func() string {
			return "SELECT DISTINCT FUNCTION_NAME FROM " + q + ".INFORMATION_SCHEMA.FUNCTIONS"
		},
		Writes: []string{"DELETE FROM {table} WHERE 1 = 0"},
	}
}
