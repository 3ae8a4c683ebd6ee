package audit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// TestFullDisk fills a small file system. If mounting one is not permitted, it uses /dev/full, on which every
// write fails in the same way.
func TestFullDisk(t *testing.T) {
	log := sqlitetest.New(t)
	put(t, log, "run_1", question("q", "a", "t")...)
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"file": audit.File{Path: "/dev/full"}}})
	} else {
		t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
		filler := filepath.Join(dir, "filler")
		_ = os.WriteFile(filler, bytes.Repeat([]byte("x"), 64<<10), 0o600) // as much as fits
		once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"file": audit.File{Path: path}}})
		if data, _ := os.ReadFile(path); len(data) != 0 {
			t.Fatalf("the disk is not full: %q", data)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
	put(t, log, "run_2", question("q", "a", "t")...)
	once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"file": audit.File{Path: path}}})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := runs(t, string(data)); len(got) != 2 || got[0] != "run_1" || got[1] != "run_2" {
		t.Errorf("runs = %v, want run_1 and run_2", got)
	}
}
