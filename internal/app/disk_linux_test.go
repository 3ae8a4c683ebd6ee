package app

import (
	"testing"
)

// TestFreeSpaceUnknown checks that freeSpace fails for a file system that counts no blocks.
func TestFreeSpaceUnknown(t *testing.T) {
	if free, err := freeSpace("/proc"); err == nil {
		t.Errorf("%d bytes are free", free)
	}
	if free, err := freeSpace(t.TempDir()); err != nil || free <= 0 {
		t.Errorf("%d bytes are free, %v", free, err)
	}
}
