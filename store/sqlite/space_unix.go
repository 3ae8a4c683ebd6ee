//go:build unix

package sqlite

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// spare is what a disk must have left to be ready for more than the newest pages, which
// SQLite may be able to write into places that the file has already.
const spare = 64 << 10

// checkSpace is ENOSPC when the disk of a folder is full for this user. What cannot be
// found out is left to the next write.
func checkSpace(folder string) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return nil //nolint:nilerror // see above
	}
	if full(&disk) {
		return syscall.ENOSPC
	}
	return nil
}

// full reports whether a disk has less than spare left for this user. A file system that
// counts no blocks, such as one without a limit in memory, does not tell.
func full(disk *unix.Statfs_t) bool {
	//nolint:unconvert // the types differ between systems
	return disk.Blocks > 0 && int64(disk.Bavail)*int64(disk.Bsize) < spare
}
