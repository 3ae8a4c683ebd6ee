//go:build unix

package workspace

import (
	"io/fs"
	"syscall"
)

// nonBlock opens a pipe or a device without blocking.
const nonBlock = syscall.O_NONBLOCK

// links returns the number of a file's hard links.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
