//go:build !cgo || noduckdb

package duckdb

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
)

func TestUnavailable(t *testing.T) {
	_, err := Open(t.Context(), "x", "x.csv", Options{})
	if Available || footnote.CodeOf(err) != footnote.DatabaseUnavailable ||
		!strings.Contains(footnote.MessageOf(err), "built without DuckDB") {
		t.Errorf("without cgo: %v", err)
	}
}
