//go:build cgo && !noduckdb && unix

package duckdb

import "syscall"

func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }
