// Package dialect describes DuckDB's SQL. It is apart from the engine because browsers run DuckDB, too: what writes
// statements for them must not link the engine.
package dialect

import "github.com/footnotehq/footnote/source"

// DuckDB is DuckDB's SQL.
var DuckDB = &source.Dialect{
	Name: "duckdb",
}
