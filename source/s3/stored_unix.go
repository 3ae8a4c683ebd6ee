//go:build unix

package s3

import (
	"io/fs"
	"syscall"
)

// stored returns the bytes that a file takes on the disk, where holes take none.
func stored(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
