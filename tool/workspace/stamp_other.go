//go:build !linux

package workspace

import (
	"io/fs"
	"time"
)

// stamp returns when a file last changed.
func stamp(info fs.FileInfo) time.Time { return info.ModTime() }

// inode is unknown on this system.
func inode(fs.FileInfo) uint64 { return 0 }
