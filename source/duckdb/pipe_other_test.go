//go:build cgo && !unix

package duckdb

import "os"

// makePipe makes a directory instead: no regular file either.
func makePipe(path string) error { return os.Mkdir(path, 0o700) }
