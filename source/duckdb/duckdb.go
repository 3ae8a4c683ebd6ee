// Package duckdb is a source over files of data: CSV, TSV, JSON, Parquet, Excel
// workbooks, folders of them, and DuckDB databases.
//
// Files are loaded, not queried in place: a child process that may read only
// them and write only one directory (package child, profile Load) copies them
// into a DuckDB file with checked types, and renames it into place when it is
// whole. Another child opens that file read-only, without any access to other
// files, and answers queries. A file that changes is loaded again before the next
// query. Parquet is loaded like the rest, which keeps one road for all of them
// and makes queries independent of the file; the limit on a file's size applies.
//
// A statement passes a gate that stands on DuckDB's own grammar: the text is
// parsed by an engine that holds no data, it must be one SELECT, and every node of
// its tree must be known here: functions and table functions are listed,
// relations must be those of the catalogue. What DuckDB's parser does not call a
// SELECT (EXPLAIN, PRAGMA table_info, PIVOT without values) is rewritten to what
// it does, and goes through the same gate.
//
// DuckDB needs cgo. Without it Open says so and Available is false.
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

// Kind is the name of the engine in the table given to child.Main.
const Kind = "duckdb"

// Options of a source; the zero value is good.
type Options struct {
	// Dir is where loaded files are kept, so that an unchanged file is loaded
	// once. It may be shared by all sources and by several processes. The default
	// is footnote/files in the user's cache directory.
	Dir string
	// Limits of queries; zero fields take source.DefaultLimits.
	Limits source.Limits
	// Load bounds what is loaded; zero fields take 2 GB for a file, 50 million
	// rows and 4,096 columns for a table.
	Load tidy.Limits
	// LoadMemory is what a child process that loads may use; default 1 GB.
	LoadMemory int64
	// LoadPool bounds the child processes that load, and LoadWait is how long one waits
	// for its place and memory there; default Pool, and LoadTime.
	LoadPool *child.Pool
	LoadWait time.Duration
	// LoadTime is how long loading may take; default 30 minutes.
	LoadTime time.Duration
	// Progress, when set, is called while files are loaded, and once at the end of
	// each table, from one goroutine.
	Progress func(table string, rows int64)

	// Filters, when there are any, are conditions by the names of tables and views of
	// the schema main, as internal/rowfilter reads them. A query sees of a table the
	// rows for which its condition holds for the principal that acts; of other tables
	// nothing.
	Filters map[string]string

	Concurrency int           // queries at once; default 4
	Idle        time.Duration // how long a child stays unused; default 5 minutes
	Pool        *child.Pool   // shared by the sources of a process
	TempDir     string        // default os.TempDir()
	Logger      *slog.Logger  // default: discards
}
