package workspace

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp is when a file last changed in any way; commands cannot set it.
func stamp(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
