package bigquery

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/warehouse"
	"github.com/footnotehq/footnote/source/warehouse/grammar"
)

//go:embed functions.txt
var functionFile string

var functions = grammar.Functions(functionFile)

// Dialect is the SQL of BigQuery.
var Dialect = source.NewDialect(source.Dialect{
	Name:      "bigquery",
	Editor:    "MySQL",
	QuoteName: rules.Quote,
	Advice: "names in backticks, GoogleSQL's functions, such as DATE_TRUNC(day, MONTH), SAFE_DIVIDE and " +
		"UNNEST(array); queries are billed by the bytes of the columns that they read, so select few columns",
	Text:             "CAST({x} AS STRING)",
	FromSeconds:      "TIMESTAMP_SECONDS({x})",
	FromMilliseconds: "TIMESTAMP_MILLIS({x})",
	Periods: map[string]source.Expr{
		"year":    "FORMAT_DATE('%Y', DATE({x}))",
		"quarter": "FORMAT_DATE('%Y-Q%Q', DATE({x}))",
		"month":   "FORMAT_DATE('%Y-%m', DATE({x}))",
		"week":    "FORMAT_DATE('%Y-%m-%d', DATE_TRUNC(DATE({x}), WEEK(MONDAY)))",
		"day":     "FORMAT_DATE('%Y-%m-%d', DATE({x}))",
	},
	Parts: map[string]source.Part{
		"weekday":           {Name: "FORMAT_DATE('%A', DATE({x}))", Order: "MOD(EXTRACT(DAYOFWEEK FROM {x}) + 5, 7)"},
		"month of the year": {Name: "FORMAT_DATE('%B', DATE({x}))", Order: "EXTRACT(MONTH FROM {x})"},
	},
	Before: func(day string, n int, unit string) string {
		return fmt.Sprintf("DATE_SUB(DATE '%s', INTERVAL %d %s)", day, n, strings.ToUpper(unit))
	},
	Elapsed:      "TIMESTAMP_DIFF(TIMESTAMP({y}), TIMESTAMP({x}), SECOND) / 86400",
	CalendarDays: "DATE_DIFF(DATE({y}), DATE({x}), DAY)",
	StdDev:       "STDDEV_SAMP({x})",
	Position:     "STRPOS({x}, {y})",
	Divide:       "DIV({x}, {y})",
})

var rules = &grammar.Dialect{
	NameQuote: '`', StringQuotes: `'"`, Backslash: true, Escapes: "xuU", RawStrings: true, TripleQuotes: true,
	Bytes: 'b', HashComments: true, DottedNames: true,
	Function: func(name string) bool {
		return functions[strings.TrimPrefix(name, "safe.")]
	},
	TableFunctions: wordlist.Set("unnest gap_fill range_sessionize vector_search"),
}

var kinds = wordlist.Map(`
	integer int64: integer
	float float64: number
	numeric bignumeric: decimal
	boolean bool: boolean
	date: date
	datetime timestamp: timestamp
	time: time
	bytes: blob
	json record struct array: json`)

// The catalog of a dataset. A description is an option, written as a string literal.
const (
	tables = `SELECT t.table_schema, t.table_name, t.table_type, IFNULL(TRIM(o.option_value, '"'), ''),
		IFNULL(CAST(p.total_rows AS STRING), ''), '' AS n FROM %[1]s.INFORMATION_SCHEMA.TABLES AS t
		LEFT JOIN %[1]s.INFORMATION_SCHEMA.TABLE_OPTIONS AS o
		ON o.table_name = t.table_name AND o.option_name = 'description'
		LEFT JOIN (SELECT table_name, SUM(total_rows) AS total_rows FROM %[1]s.INFORMATION_SCHEMA.PARTITIONS
		GROUP BY table_name) AS p ON p.table_name = t.table_name`
	columnsOf = `SELECT c.table_schema, c.table_name, c.column_name, c.data_type, c.is_nullable,
		CONCAT(IFNULL(f.description, ''), IF(c.is_partitioning_column = 'YES', ' (partitions the table)', '')),
		c.ordinal_position AS n FROM %[1]s.INFORMATION_SCHEMA.COLUMNS AS c
		LEFT JOIN %[1]s.INFORMATION_SCHEMA.COLUMN_FIELD_PATHS AS f
		ON f.table_name = c.table_name AND f.column_name = c.column_name AND f.field_path = c.column_name`
	// Foreign keys of several columns are left out, because the views do not tell which belong together.
	keysOf = `SELECT k.table_schema, k.table_name, k.constraint_name,
		IF(c.constraint_type = 'PRIMARY KEY', 'PRIMARY', 'FOREIGN'), k.column_name, IFNULL(u.table_schema, ''),
		IFNULL(u.table_name, ''), IFNULL(u.column_name, ''),
		CONCAT(k.constraint_name, FORMAT('%%05d', k.ordinal_position)) AS n
		FROM %[1]s.INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS k
		JOIN %[1]s.INFORMATION_SCHEMA.TABLE_CONSTRAINTS AS c ON c.constraint_name = k.constraint_name
		LEFT JOIN %[1]s.INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE AS u
		ON u.constraint_name = k.constraint_name AND c.constraint_type = 'FOREIGN KEY'
		WHERE c.constraint_type = 'PRIMARY KEY'
		OR 1 = (SELECT COUNT(*) FROM %[1]s.INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS o
		WHERE o.constraint_name = k.constraint_name)`
)

func describe(project string, datasets []string) warehouse.Database {
	quoted := func(schema string) string { return rules.Quote(project) + "." + rules.Quote(schema) }
	all := func(format string) func() string {
		return func() string {
			var parts []string
			for _, d := range datasets {
				parts = append(parts, fmt.Sprintf(format, quoted(d)))
			}
			return "SELECT * EXCEPT (n) FROM (" + strings.Join(parts, " UNION ALL ") + ") ORDER BY 1, 2, n"
		}
	}
	return warehouse.Database{
		Dialect: Dialect, Grammar: rules, Catalog: project, Home: datasets[0],
		Kind:   func(typ string) string { return warehouse.KindOf(kinds, typ) },
		Path:   func(schema, table string) string { return quoted(schema) + "." + rules.Quote(table) },
		Tables: all(tables), Columns: all(columnsOf), Keys: all(keysOf),
		Writes: []string{"DELETE FROM {table} WHERE 1 = 0"},
	}
}
