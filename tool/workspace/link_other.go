//go:build !unix

package workspace

import "io/fs"

const nonBlock = 0

// links is not known here.
func links(fs.FileInfo) uint64 { return 1 }
