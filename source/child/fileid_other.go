//go:build !unix

package child

import "os"

// FileID identifies a file independently of its path, where the system can. Here it returns "".
func FileID(os.FileInfo) string { return "" }
