//go:build !unix

package s3

import "io/fs"

// stored returns the bytes of a file.
func stored(info fs.FileInfo) int64 { return info.Size() }
