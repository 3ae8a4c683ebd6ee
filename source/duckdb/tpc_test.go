//go:build cgo && !noduckdb

package duckdb

import (
	"testing"

	"github.com/footnotehq/footnote/source/sourcetest"
)

// TestTPC passes the statements of TPC-H and TPC-DS through the gate.
func TestTPC(t *testing.T) {
	e, err := openEngine(t.Context(), config{Memory: 512 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, table := range sourcetest.TPCTables {
		e.gate.catalog.add("main", table)
	}
	sourcetest.TPC(t, nil, "", 0, func(sql string) error {
		_, err := e.gate.admit(t.Context(), sql, 100)
		return err
	})
}
