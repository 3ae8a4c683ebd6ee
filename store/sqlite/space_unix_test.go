//go:build unix

package sqlite

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestFull: a file system is full when this user may write nothing more to it, whatever else is free, and never when it
// does not count blocks.
func TestFull(t *testing.T) {
	for name, c := range map[string]struct {
		disk unix.Statfs_t
		want bool
	}{
		"space":                     {unix.Statfs_t{Bsize: 4096, Blocks: 1000, Bfree: 100, Bavail: 100}, false},
		"as much as is spared":      {unix.Statfs_t{Bsize: 4096, Blocks: 1000, Bfree: 16, Bavail: 16}, false},
		"less":                      {unix.Statfs_t{Bsize: 4096, Blocks: 1000, Bfree: 15, Bavail: 15}, true},
		"a quota that is used up":   {unix.Statfs_t{Bsize: 4096, Blocks: 1000}, true},
		"space for others only":     {unix.Statfs_t{Bsize: 4096, Blocks: 1000, Bfree: 100}, true},
		"one that counts no blocks": {unix.Statfs_t{Bsize: 4096}, false},
		"one that says nothing":     {unix.Statfs_t{}, false},
	} {
		if got := full(&c.disk); got != c.want {
			t.Errorf("%s: full: %t", name, got)
		}
	}
}
