//go:build cgo && !noduckdb && !unix

package duckdb

import "os"

// makePipe creates a directory instead, which is not a regular file either.
func makePipe(path string) error { return os.Mkdir(path, 0o700) }
