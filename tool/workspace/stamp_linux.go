package workspace

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp returns when a file last changed in any way, including its metadata. Commands cannot set this time.
func stamp(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}

// inode distinguishes a file from another that has taken its name.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
