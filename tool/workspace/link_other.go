//go:build !unix

package workspace

import "io/fs"

const nonBlock = 0

// links is unknown on this system.
func links(fs.FileInfo) uint64 { return 1 }
