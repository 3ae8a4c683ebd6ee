//go:build !cgo || noduckdb

package duckdb

import (
	"context"
	"encoding/json"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// Available reports whether this program was built with DuckDB.
const Available = false

var errUnavailable = footnote.Errorf(footnote.DatabaseUnavailable,
	"this binary was built without DuckDB (no C compiler): CSV, Parquet, JSON and XLSX files cannot be "+
		"opened; SQLite can")

// Open returns an error: DuckDB needs cgo.
func Open(context.Context, string, string, Options) (source.Source, error) {
	return nil, errUnavailable
}

// OpenEngine returns an error: DuckDB needs cgo.
func OpenEngine(context.Context, json.RawMessage) (child.Engine, error) {
	return nil, errUnavailable
}

// OpenTables must not be called: DuckDB needs cgo.
func OpenTables([]source.TableFile, Options) source.Tables {
	panic("this binary was built without DuckDB")
}

// OpenCopies returns an error: DuckDB needs cgo.
func OpenCopies(context.Context, string, string, ListFunc, Options) (source.Source, error) {
	return nil, errUnavailable
}

// Footers returns an error: DuckDB needs cgo.
func Footers(context.Context, []string, []string, Options, func(Chunk) error) error {
	return errUnavailable
}

// Format returns "": no file can be loaded.
func Format(string) string { return "" }

// TableName must not be called: DuckDB needs cgo.
func TableName(string) string { panic("this binary was built without DuckDB") }
