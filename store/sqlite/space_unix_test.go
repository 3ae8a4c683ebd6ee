//go:build unix

package sqlite

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestFull checks that a file system counts as full when this user may not write to it, even if blocks are reserved for
// root, and never if it does not count blocks.
func TestFull(t *testing.T) {
	for name, c := range map[string]struct {
		disk unix.Statfs_t
		want bool
	}{
		"space":                   {unix.Statfs_t{Bsize: 4096, Blocks: 1000, Bfree: 100, Bavail: 100}, false},
		"exactly the spare space": {unix.Statfs_t{Bsize: 4096, Blocks: 1000, Bfree: 16, Bavail: 16}, false},
		"less":                    {unix.Statfs_t{Bsize: 4096, Blocks: 1000, Bfree: 15, Bavail: 15}, true},
		"a quota that is used up": {unix.Statfs_t{Bsize: 4096, Blocks: 1000}, true},
		"space reserved for root": {unix.Statfs_t{Bsize: 4096, Blocks: 1000, Bfree: 100}, true},
		"no block counts":         {unix.Statfs_t{Bsize: 4096}, false},
		"no information":          {unix.Statfs_t{}, false},
	} {
		if got := full(&c.disk); got != c.want {
			t.Errorf("%s: full: %t", name, got)
		}
	}
}
