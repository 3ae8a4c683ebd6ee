package relatives

import (
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/duckdb/dialect"
	"github.com/footnotehq/footnote/source/postgres"
	"github.com/footnotehq/footnote/source/warehouse"
	"github.com/footnotehq/footnote/source/warehouse/grammar"
)

// kind is a relative of Postgres.
type kind struct {
	title, mark string // mark is in its version
	dialect     *source.Dialect
	home        string // the schema of names without one
	noBackslash bool   // it is not known how the server reads backslashes in strings
	functions   string // harmless ones, besides Postgres's
	// excess are queries of one cell that names a right beyond reading, or has no row.
	excess []string
}

// tableRights finds a table that the user may change.
const tableRights = "SELECT 'the right to change ' || table_schema || '.' || table_name FROM " +
	"information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN " + system + " AND (" +
	"has_table_privilege(quote_ident(table_schema) || '.' || quote_ident(table_name), 'INSERT') OR " +
	"has_table_privilege(quote_ident(table_schema) || '.' || quote_ident(table_name), 'UPDATE') OR " +
	"has_table_privilege(quote_ident(table_schema) || '.' || quote_ident(table_name), 'DELETE')) LIMIT 1"

// system lists the schemas of the servers themselves.
const system = "('information_schema', 'pg_catalog', 'pg_internal', 'pg_automv', 'pg_auto_copy', 'crdb_internal', " +
	"'pg_extension')"

// kindOf returns the relative with a version, or nil.
func kindOf(version string) *kind {
	for _, k := range []*kind{
		{
			title: "CockroachDB", mark: "CockroachDB", dialect: named(postgres.Dialect, "cockroachdb"), home: "public",
			excess: []string{
				"SELECT 'the rights of an administrator' FROM pg_roles WHERE rolname = current_user AND rolsuper",
				tableRights,
			},
		},
		{
			title: "Redshift", mark: "Redshift", dialect: named(postgres.Dialect, "redshift"), home: "public",
			noBackslash: true,
			functions: `listagg nvl nvl2 dateadd datediff getdate months_between add_months last_day next_day charindex
				len strtol ratio_to_report median isnull json_extract_path_text json_array_length`,
			excess: []string{
				"SELECT 'the rights of a superuser' FROM pg_user WHERE usename = current_user AND usesuper",
				tableRights,
			},
		},
		// Its has_table_privilege says yes to everything, so only attempts tell what a token may do.
		{
			title: "MotherDuck", mark: "DuckDB", dialect: named(dialect.DuckDB, "motherduck"), home: "main",
			functions: `strftime strptime date_diff datediff date_sub epoch epoch_ms median quantile_cont quantile_disc
				arg_max arg_min max_by min_by last_day monthname dayname year month day hour quarter week dayofweek
				list_value list_aggregate list_contains list string_split len contains prefix suffix regexp_extract
				regexp_full_match try_cast ifnull approx_count_distinct time_bucket`,
		},
	} {
		if strings.Contains(version, k.mark) {
			return k
		}
	}
	return nil
}

// named returns a dialect under another name. What searches text needs catalogs that the relatives lack.
func named(d *source.Dialect, name string) *source.Dialect {
	other := *d
	other.Name, other.TextSearch = name, source.TextSearch{}
	return source.NewDialect(other)
}

// harmless reports whether a function neither has an effect nor reads anything but its arguments.
func (k *kind) harmless(name string) bool {
	return postgres.Harmless(name) || slices.Contains(strings.Fields(k.functions), name)
}

// columnKinds maps types to kinds. The others are texts.
var columnKinds = wordlist.Map(`
	bool boolean: boolean
	int2 int4 int8 smallint integer bigint oid tinyint: integer
	float4 float8 real double: number
	numeric decimal hugeint: decimal
	date: date
	timestamp timestamptz: timestamp
	time timetz: time
	bytea blob: blob`)

func (s *service) database() warehouse.Database {
	k := s.kind
	d := warehouse.Database{
		Dialect: k.dialect, Home: k.home, Fold: true,
		Grammar: &grammar.Dialect{
			NameQuote: '"', StringQuotes: "'", Function: k.harmless,
			TableFunctions: wordlist.Set("generate_series unnest"),
			BadColumns: wordlist.Set("current_user session_user user current_role current_catalog current_database " +
				"system_user"),
		},
		Kind: func(typ string) string { return warehouse.KindOf(columnKinds, typ) },
		Tables: func() string {
			return "SELECT table_schema, table_name, table_type, '' AS remarks, '' AS n FROM " +
				"information_schema.tables " + k.where() + " ORDER BY 1, 2"
		},
		Columns: func() string {
			return "SELECT table_schema, table_name, column_name, data_type, is_nullable, '' AS remarks FROM " +
				"information_schema.columns " + k.where() + " ORDER BY table_schema, table_name, ordinal_position"
		},
		Writes: []string{"DELETE FROM {table} WHERE 1 = 0"},
		Path:   func(schema, table string) string { return fmt.Sprintf(`"%s"."%s"`, schema, table) },
	}
	if s.keys {
		d.Keys = func() string { return k.keysSQL() + " ORDER BY 1, 2, 3, u.ordinal_position" }
	}
	return d
}

func (k *kind) where() string {
	return "WHERE table_catalog = current_database() AND table_schema NOT IN " + system
}

// keysSQL reads the primary keys. The standard's views do not say well which columns a foreign key refers to.
func (k *kind) keysSQL() string {
	return "SELECT u.table_schema, u.table_name, u.constraint_name, 'PRIMARY' AS kind, u.column_name, '' AS a, " +
		"'' AS b, '' AS c FROM information_schema.table_constraints t JOIN information_schema.key_column_usage u ON " +
		"u.constraint_schema = t.constraint_schema AND u.constraint_name = t.constraint_name AND " +
		"u.table_name = t.table_name WHERE t.constraint_type = 'PRIMARY KEY' AND t.table_schema NOT IN " + system
}
