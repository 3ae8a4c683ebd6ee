//go:build unix

package app

import (
	"errors"

	"golang.org/x/sys/unix"
)

// freeSpace returns how many bytes this user may still write in a folder.
func freeSpace(folder string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return 0, err
	}
	if disk.Blocks == 0 {
		return 0, errors.New("the file system counts no blocks")
	}
	return int64(disk.Bavail) * int64(disk.Bsize), nil //nolint:unconvert // the types differ between systems
}

// openFiles returns how many files and connections the process may have open.
func openFiles() uint64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return assumedFiles
	}
	return uint64(l.Cur) //nolint:unconvert // the types differ between systems
}
