//go:build linux

package child

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLeftoverDirectoriesAreRemoved checks that directories of killed servers are removed and those in use are kept.
func TestLeftoverDirectoriesAreRemoved(t *testing.T) {
	temp := t.TempDir()
	old := time.Now().Add(-time.Hour)
	left, held := filepath.Join(temp, tempPrefix+"left"), filepath.Join(temp, tempPrefix+"held")
	for _, dir := range []string{left, held} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	f, err := holdDir(held)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := newFake(t, Options{TempDir: temp})
	ask(t, c, "rows 1")
	own := c.cur.temp
	if err := os.Chtimes(own, old, old); err != nil {
		t.Fatal(err)
	}
	ask(t, newFake(t, Options{TempDir: temp}), "rows 1") // a second client sweeps, too
	for dir, stays := range map[string]bool{left: false, held: true, own: true} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
