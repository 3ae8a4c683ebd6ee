//go:build linux

package sqlite

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/footnotehq/footnote/source/child"
)

// manyColumns creates a file with the given numbers of tables and of columns per table, whose names are padded to
// length.
func manyColumns(t *testing.T, tables, columns, length int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "many.db")
	statements := []string{"PRAGMA synchronous = OFF", "BEGIN"}
	pad := strings.Repeat("x", max(length-8, 0))
	for i := range tables {
		names := make([]string, columns)
		for j := range names {
			names[j] = fmt.Sprintf("c%04d%s INTEGER", j, pad)
		}
		statements = append(statements, fmt.Sprintf("CREATE TABLE t%d (%s)", i, strings.Join(names, ",")))
	}
	write(t, path, append(statements, "COMMIT")...)
	return path
}

// TestSchemaLargerThanFrame checks that a file opens when its schema takes several frames.
func TestSchemaLargerThanFrame(t *testing.T) {
	const tables, columns, length = 20, 100, 10_000
	s := open(t, manyColumns(t, tables, columns, length), Options{})
	schema, err := s.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for _, table := range schema.Tables {
		listed += len(table.Columns)
	}
	if len(schema.Tables) != tables || listed != tables*columns {
		t.Errorf("%d tables with %d columns", len(schema.Tables), listed)
	}
	if rows, _ := collect(t, s, "SELECT count(*) FROM t19"); rows[0][0] != int64(0) {
		t.Errorf("rows = %v", rows)
	}
}

// TestProbeReadsSchemaRarely checks that probing a file with many tables reads its schema only a few times rather
// than once per attempt to write.
func TestProbeReadsSchemaRarely(t *testing.T) {
	config, err := json.Marshal(config{Path: manyColumns(t, 300, 60, 12)})
	if err != nil {
		t.Fatal(err)
	}
	var opened child.Engine
	read := processorTime(t, func() {
		if opened, err = OpenEngine(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	})
	defer opened.Close()
	probe := processorTime(t, func() {
		if err := opened.Probe(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if probe > 20*read {
		t.Errorf("the probe took %d µs, and to read the schema %d µs", probe, read)
	}
}

// processorTime returns the microseconds of processor time a function takes, which do not depend on how busy the
// machine is.
func processorTime(t *testing.T, f func()) int64 {
	t.Helper()
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return (u.Utime.Nano() + u.Stime.Nano()) / 1000
	}
	before := used()
	f()
	return used() - before
}
