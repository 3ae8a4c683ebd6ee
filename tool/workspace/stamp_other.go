//go:build !linux

package workspace

import (
	"io/fs"
	"time"
)

// stamp is when a file last changed.
func stamp(info fs.FileInfo) time.Time { return info.ModTime() }

// inode is not known here.
func inode(fs.FileInfo) uint64 { return 0 }
