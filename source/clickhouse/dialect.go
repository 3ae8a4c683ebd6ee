package clickhouse

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/warehouse"
	"github.com/footnotehq/footnote/source/warehouse/grammar"
)

//go:embed functions.txt
var functionFile string

var functions = wordlist.Set(functionFile)

// families are the beginnings of names whose functions are all harmless: conversions, and functions of arrays and JSON.
var families = []string{
	"to", "array", "json", "map", "bit", "quantile", "uniq", "group", "arg", "topk", "tuple", "subtract", "date",
	"multi", "window", "geohash", "cutto", "ipv4", "ipv6", "snowflakeid", "reinterpret",
}

// combinators are the ends of names of aggregates.
var combinators = []string{
	"if", "array", "map", "ornull", "ordefault", "distinct", "state", "merge", "foreach", "simplestate", "resample",
}

// harmlessFunction reports whether a function neither has an effect nor reads anything but its arguments.
func harmlessFunction(name string) bool {
	if functions[name] {
		return true
	}
	for _, f := range families {
		if strings.HasPrefix(name, f) {
			return true
		}
	}
	for _, c := range combinators {
		if base, ok := strings.CutSuffix(name, c); ok && harmlessFunction(base) {
			return true
		}
	}
	return false
}

// Dialect is the SQL of ClickHouse.
var Dialect = source.NewDialect(source.Dialect{
	Name:   "clickhouse",
	Editor: "MySQL",
	QuoteName: func(name string) string {
		return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(name) + "`"
	},
	Advice: "ClickHouse's own functions, such as toStartOfMonth, countIf, uniqExact and argMax; x IN (SELECT …) and " +
		"never x IN name; outer joins give 0 or an empty text instead of NULL; no SETTINGS and no FORMAT",
	Text:             "toString({x})",
	Timestamp:        "toDateTime({x}, 'UTC')",
	Day:              "toDate({x})",
	DayArgument:      "toDate({x})",
	Date:             "toDate({x})",
	FromSeconds:      "toDateTime({x}, 'UTC')",
	FromMilliseconds: "toDateTime(intDiv({x}, 1000), 'UTC')",
	Periods: map[string]source.Expr{
		"year":    "toString(toYear({x}))",
		"quarter": "concat(toString(toYear({x})), '-Q', toString(toQuarter({x})))",
		"month":   "formatDateTime({x}, '%Y-%m')",
		"week":    "toString(toMonday({x}))",
		"day":     "toString(toDate({x}))",
	},
	Parts: map[string]source.Part{
		"weekday":           {Name: "dateName('weekday', {x})", Order: "toDayOfWeek({x})"},
		"month of the year": {Name: "monthName({x})", Order: "toMonth({x})"},
		"hour":              {Name: "toHour({x})", Order: "toHour({x})"},
	},
	Elapsed:      "dateDiff('second', {x}, {y}) / 86400",
	CalendarDays: "dateDiff('day', {x}, {y})",
	Median:       "quantileExactInclusive(0.5)({x})",
	StdDev:       "stddevSamp({x})",
	Fold:         "lowerUTF8({x})",
	Position:     "positionUTF8({x}, {y})",
	Divide:       "intDiv({x}, {y})",
	TextSearch: source.TextSearch{Scanned: source.SearchMethod{
		Remark: "LIKE, without an index; accents and case matter",
		Advice: "Words are found as they are written, also inside longer ones; accents and case matter.",
	}},
})

var rules = &grammar.Dialect{
	NameQuote: '`', StringQuotes: "'", Backslash: true, Escapes: "x", Bytes: 'x', HashComments: true,
	InReadsTable:   true,
	Function:       harmlessFunction,
	TableFunctions: wordlist.Set("numbers numbers_mt zeros generate_series generateseries values"),
	Advice: map[string]string{
		"kill":   "KILL is not allowed.",
		"system": "SYSTEM is not allowed.",
		"array":  "ARRAY JOIN takes columns or calls of array functions.",
	},
}

// kinds maps the types of ClickHouse to kinds.
var kinds = wordlist.Map(`
	int8 int16 int32 int64 int128 int256 uint8 uint16 uint32 uint64 uint128 uint256: integer
	float32 float64 bfloat16: number
	decimal decimal32 decimal64 decimal128 decimal256: decimal
	bool: boolean
	date date32: date
	datetime datetime64: timestamp
	time time64: time
	array tuple map nested json object variant dynamic: json`)

// kindOf returns the kind of a type, such as LowCardinality(Nullable(String)).
func kindOf(typ string) string {
	for {
		inner, ok := strings.CutPrefix(typ, "Nullable(")
		if !ok {
			inner, ok = strings.CutPrefix(typ, "LowCardinality(")
		}
		if !ok {
			break
		}
		typ = strings.TrimSuffix(inner, ")")
	}
	if typ == "Nothing" {
		return footnote.KindUnknown
	}
	return warehouse.KindOf(kinds, typ)
}

// unread are engines of tables that reading changes, because it takes messages from a queue.
const unread = "'Kafka', 'RabbitMQ', 'NATS', 'FileLog', 'S3Queue', 'AzureQueue', 'Null', 'Set', 'Join'"

// views are engines of tables that show what other tables hold, as a view does.
const views = "'Merge', 'Buffer', 'Dictionary', 'Alias'"

const (
	own    = "NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')"
	tables = `SELECT database, name, if(engine LIKE '%%View' OR engine IN (%s), 'VIEW', 'TABLE'), concat(comment,
		if(partition_key = '', '', concat(' (partitioned by ', partition_key, ')')),
		if(sorting_key = '', '', concat(' (sorted by ', sorting_key, ')'))), ifNull(toString(total_rows), '')
		FROM system.tables WHERE database %s AND NOT is_temporary AND engine NOT IN (%s)
		AND NOT startsWith(name, '.inner') -- the rows of a materialized view
		ORDER BY database != %s, database, name`
	// Columns that are computed from others are not among those of SELECT *, and may reveal hidden ones.
	columnsOf = `SELECT database, table, name, type, if(position(type, 'Nullable(') IN (1, 16), 'YES', 'NO'), comment
		FROM system.columns WHERE database %s AND default_kind NOT IN ('ALIAS', 'MATERIALIZED', 'EPHEMERAL')
		ORDER BY database, table, position`
)

func describe(database string) warehouse.Database {
	return warehouse.Database{
		Dialect: Dialect, Grammar: rules, Kind: kindOf, Home: database,
		Path:    func(schema, table string) string { return rules.Quote(schema) + "." + rules.Quote(table) },
		Tables:  func() string { return fmt.Sprintf(tables, views, own, unread, rules.String(database)) },
		Columns: func() string { return fmt.Sprintf(columnsOf, own) },
		Routines: func() string {
			return "SELECT name FROM system.functions WHERE toString(origin) != 'System'"
		},
		Writes: []string{"ALTER TABLE {table} DELETE WHERE 0", "INSERT INTO {table} SELECT * FROM {table} WHERE 0"},
	}
}
