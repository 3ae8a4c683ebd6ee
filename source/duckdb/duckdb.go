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
// DuckDB needs cgo. Without it, or with the build tag noduckdb, Open returns an error and Available is false.
//
// A program that opens one must call
//
//	child.Main(map[string]child.OpenFunc{duckdb.Kind: duckdb.OpenEngine})
//
// first thing in main.
package duckdb

import (
	"context"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb/dialect"
	"github.com/footnotehq/footnote/source/engines"
)

// Kind names the engine in the table passed to child.Main.
const Kind = "duckdb"

// Options configure a source; the zero value is ready to use.
type Options = engines.Options

// Engine returns DuckDB for the program's list of engines. It opens everything that no other engine recognises.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect:  dialect.DuckDB,
		Schemes:  []string{"duckdb"},
		Sniff:    sniff,
		Children: map[string]child.OpenFunc{Kind: OpenEngine},
		Filters:  true,
		Proof:    source.Proof{Strength: source.Proven, TestedOn: source.Real},
		Open:     Open,
	}
}

func sniff(_ string, head []byte) engines.Fit {
	if isDuckDB(head) {
		return engines.FitsByContent
	}
	return engines.FitsByDefault
}

// isDuckDB reports whether a file is a DuckDB database. Its magic bytes follow eight bytes of checksum.
func isDuckDB(head []byte) bool { return len(head) >= 12 && string(head[8:12]) == "DUCK" }

// File is a table to load: from one file, or from several Parquet files.
type File struct {
	Path   string   `json:"path,omitempty"`
	Parts  []string `json:"parts,omitempty"` // Parquet files, instead of Path
	Table  string   `json:"table"`
	Format string   `json:"format"` // text, json, parquet or xlsx
	// Shown names the file in errors, instead of its path.
	Shown string `json:"shown,omitempty"`
	// Columns of Parts to load; empty loads all. Hive means that folders such as year=2026 in the paths are columns.
	Columns []string `json:"columns,omitempty"`
	Hive    bool     `json:"hive,omitempty"`
}

func (f File) paths() []string {
	if len(f.Parts) > 0 {
		return f.Parts
	}
	return []string{f.Path}
}

// ListFunc returns the files of a source.
type ListFunc func(ctx context.Context) ([]File, error)

// Chunk is a part of a Parquet file. Either Rows is the number of rows of the file, or Size is that of the part.
type Chunk struct {
	File               string
	Rows, Offset, Size int64
}
