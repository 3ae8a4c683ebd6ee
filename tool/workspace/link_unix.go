//go:build unix

package workspace

import (
	"io/fs"
	"syscall"
)

// nonBlock opens a pipe or a device without waiting for anybody.
const nonBlock = syscall.O_NONBLOCK

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
