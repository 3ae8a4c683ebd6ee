//go:build unix

package sqlite

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// spare is the free space in bytes that the store needs to count as writable. With less, SQLite may still be able to
// write into the free pages of the file, but not for long.
const spare = 64 << 10

// checkSpace returns ENOSPC if the disk of a folder is full for this user. If it cannot tell, it leaves the error to
// the next write.
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

// full reports whether a disk has less than spare left for this user. Some file systems, such as a tmpfs without a
// limit, report no blocks; they count as not full.
func full(disk *unix.Statfs_t) bool {
	//nolint:unconvert // the types differ between systems
	return disk.Blocks > 0 && int64(disk.Bavail)*int64(disk.Bsize) < spare
}
