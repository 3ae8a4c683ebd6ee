package app

import (
	"testing"
)

// TestFreeSpaceUnknown: the free space of a file system that counts no blocks is unknown.
func TestFreeSpaceUnknown(t *testing.T) {
	if free, err := freeSpace("/proc"); err == nil {
		t.Errorf("%d bytes are free", free)
	}
	if free, err := freeSpace(t.TempDir()); err != nil || free <= 0 {
		t.Errorf("%d bytes are free, %v", free, err)
	}
}
