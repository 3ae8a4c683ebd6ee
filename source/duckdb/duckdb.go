// Package duckdb implements a source over data files: CSV, TSV, JSON, Parquet, Excel workbooks, folders of them,
// and DuckDB databases.
//
// Files are loaded, not queried in place. A child process that can read only those files and write to only one
// directory (package child, profile Load) copies them into a DuckDB file with checked types, and renames that into
// place once it is complete. A second child opens the result read-only, with no access to other files, and answers
// queries. A file that changes is reloaded before the next query. Parquet is loaded as well, although DuckDB could
// query it in place: one code path serves all formats, queries are independent of the file, and the limit on file
// size applies.
//
// A gate checks each statement by DuckDB's own grammar. An engine that holds no data parses the text, which must be
// one SELECT. The gate must know every node of its tree: functions and table functions are listed, and relations
// must be in the catalog. Statements that DuckDB's parser does not treat as SELECT (EXPLAIN, PRAGMA table_info,
// PIVOT without values) are rewritten as one and pass through the same gate.
//
// DuckDB needs cgo. Without it, Open returns an error and Available is false.
//
// A program that opens one must call
//
//	child.Main(map[string]child.OpenFunc{duckdb.Kind: duckdb.OpenEngine})
//
// first thing in main.
package duckdb

import (
	"log/slog"
	"time"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb/tidy"
)

// Kind names the engine in the table passed to child.Main.
const Kind = "duckdb"

// Options configure a source; the zero value is ready to use.
type Options struct {
	// Dir is the directory for loaded files, which are kept so that an unchanged file is loaded only once. All
	// sources and several processes may share it. The default is footnote/files in the user's cache directory.
	Dir string
	// Limits of queries; zero fields take source.DefaultLimits.
	Limits source.Limits
	// Load limits what is loaded; zero fields mean 2 GB per file, and 50 million rows and 4,096 columns per table.
	Load tidy.Limits
	// LoadMemory limits the memory of a loading child process; default 1 GB.
	LoadMemory int64
	// LoadPool limits the loading child processes; default Pool. LoadWait limits how long one waits there for a
	// place and memory; default LoadTime.
	LoadPool *child.Pool
	LoadWait time.Duration
	// LoadTime limits how long loading may take; default 30 minutes.
	LoadTime time.Duration
	// Progress, when set, is called while files load and once at the end of each table, always from one goroutine.
	Progress func(table string, rows int64)

	// Filters maps names of tables and views in the schema main to conditions, in the syntax of internal/rowfilter.
	// When there are any, a query sees those rows of a table for which its condition holds for the principal, and
	// nothing of other tables.
	Filters map[string]string

	Concurrency int           // queries at once; default 4
	Idle        time.Duration // how long an unused child lives; default 5 minutes
	Pool        *child.Pool   // shared by the sources of the process
	TempDir     string        // default os.TempDir()
	Logger      *slog.Logger  // default: discards
}
