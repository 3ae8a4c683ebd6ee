//go:build cgo && !noduckdb && unix

package duckdb

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/footnotehq/footnote/internal/plainfile"
)

// TestPathsThatBecamePipes checks that a path replaced by a named pipe after it was checked is refused and does not
// block.
func TestPathsThatBecamePipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := recogniseFile(path); err == nil {
		t.Error("recognised a pipe")
	}
	if _, err := plainfile.Head(path, 16); err == nil {
		t.Error("read")
	}
}
