//go:build unix

package app

import (
	"golang.org/x/sys/unix"
)

// openFiles returns how many files and connections the process may have open.
func openFiles() uint64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return assumedFiles
	}
	return uint64(l.Cur) //nolint:unconvert // the types differ between systems
}
