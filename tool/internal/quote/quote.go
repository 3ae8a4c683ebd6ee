// Package quote writes identifiers into SQL. Pass it only names from a source's catalog, never names from an input.
package quote

import (
	"strings"

	"github.com/footnotehq/footnote/source"
)

// Name quotes one identifier for a dialect.
func Name(dialect, name string) string {
	switch dialect {
	case "mysql":
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	case "clickhouse":
		return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(name) + "`"
	default: // the standard syntax, also of SQLite, DuckDB and Postgres
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
}

// Table quotes a table's full name.
func Table(dialect string, t source.Table) string {
	if t.Schema == "" {
		return Name(dialect, t.Name)
	}
	return Name(dialect, t.Schema) + "." + Name(dialect, t.Name)
}
