//go:build !unix

package child

import "os"

// FileID names a file independently of its path, where the system can.
func FileID(os.FileInfo) string { return "" }
