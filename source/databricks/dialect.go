package databricks

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

// Dialect is the SQL of Databricks.
var Dialect = source.NewDialect(source.Dialect{
	Name:      "databricks",
	Editor:    "MySQL",
	QuoteName: rules.Quote,
	Advice: "names in backticks, strings in single quotes, and Spark's functions, such as date_trunc and " +
		"percentile",
	Text:             "CAST({x} AS STRING)",
	FromSeconds:      "timestamp_seconds({x})",
	FromMilliseconds: "timestamp_millis({x})",
	Periods: map[string]source.Expr{
		"year":    "date_format({x}, 'yyyy')",
		"quarter": "concat(date_format({x}, 'yyyy'), '-Q', quarter({x}))",
		"month":   "date_format({x}, 'yyyy-MM')",
		"week":    "date_format(date_trunc('WEEK', {x}), 'yyyy-MM-dd')",
		"day":     "date_format({x}, 'yyyy-MM-dd')",
	},
	Parts: map[string]source.Part{
		"weekday":           {Name: "date_format({x}, 'EEEE')", Order: "weekday({x})"},
		"month of the year": {Name: "date_format({x}, 'MMMM')", Order: "month({x})"},
	},
	Elapsed:      "(unix_timestamp({y}) - unix_timestamp({x})) / 86400",
	CalendarDays: "datediff({y}, {x})",
	Median:       "percentile({x}, 0.5)",
	StdDev:       "stddev_samp({x})",
	Divide:       "{x} DIV {y}",
})

var rules = &grammar.Dialect{
	NameQuote: '`', StringQuotes: `'"`, Backslash: true, RawStrings: true, Escapes: "uU", Bytes: 'x',
	Suffixes: "LSYDFlsydf",
	Function: func(name string) bool { return functions[name] },
	TableFunctions: wordlist.Set(`explode explode_outer posexplode posexplode_outer inline inline_outer stack range
		sequence`),
}

var kinds = wordlist.Map(`
	tinyint smallint int integer bigint long short byte: integer
	float double real: number
	decimal dec numeric: decimal
	boolean: boolean
	date: date
	timestamp timestamp_ntz timestamp_ltz: timestamp
	binary: blob
	array map struct variant object: json`)

const (
	tables = `SELECT table_schema, table_name, table_type, coalesce(comment, ''), ''
		FROM %s.information_schema.tables WHERE table_schema <> 'information_schema' ORDER BY 1, 2`
	columnsOf = `SELECT table_schema, table_name, column_name, full_data_type, is_nullable,
		concat(coalesce(comment, ''), CASE WHEN partition_index IS NULL THEN '' ELSE ' (partitions the table)' END)
		FROM %s.information_schema.columns WHERE table_schema <> 'information_schema'
		ORDER BY table_schema, table_name, ordinal_position`
	keys = `SELECT k.table_schema, k.table_name, k.constraint_name,
		CASE WHEN r.constraint_name IS NULL THEN 'PRIMARY' ELSE 'FOREIGN' END, k.column_name,
		coalesce(u.table_schema, ''), coalesce(u.table_name, ''), coalesce(u.column_name, '')
		FROM %[1]s.information_schema.key_column_usage AS k
		LEFT JOIN %[1]s.information_schema.referential_constraints AS r
		ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name
		LEFT JOIN %[1]s.information_schema.key_column_usage AS u
		ON u.constraint_schema = r.unique_constraint_schema AND u.constraint_name = r.unique_constraint_name
		AND u.ordinal_position = k.position_in_unique_constraint
		ORDER BY k.table_schema, k.table_name, k.constraint_name, k.ordinal_position`
	privileges = `SELECT DISTINCT privilege_type FROM %[1]s.information_schema.table_privileges
		WHERE privilege_type NOT IN ('SELECT', 'BROWSE', 'USE SCHEMA', 'USE CATALOG')
		AND (grantee = current_user() OR is_account_group_member(grantee))
		UNION ALL SELECT concat('ownership of ', table_name) FROM %[1]s.information_schema.tables
		WHERE table_owner = current_user() OR is_account_group_member(table_owner) LIMIT 5`
)

func describe(catalog, schema string) warehouse.Database {
	q := rules.Quote(catalog)
	return warehouse.Database{
		Dialect: Dialect, Grammar: rules, Fold: true, Catalog: catalog, Home: schema,
		Kind: func(typ string) string { return warehouse.KindOf(kinds, typ) },
		Path: func(schema, table string) string {
			return q + "." + rules.Quote(schema) + "." + rules.Quote(table)
		},
		Tables:  func() string { return fmt.Sprintf(tables, q) },
		Columns: func() string { return fmt.Sprintf(columnsOf, q) },
		Keys:    func() string { return fmt.Sprintf(keys, q) },
		Routines: func() string {
			return "SELECT DISTINCT routine_name FROM " + q + ".information_schema.routines"
		},
		Writes: []string{"DELETE FROM {table} WHERE 1 = 0"},
	}
}
