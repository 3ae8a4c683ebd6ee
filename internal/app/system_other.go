//go:build !unix

package app

import "errors"

// freeSpace returns how many bytes this user may still write in a folder.
func freeSpace(string) (int64, error) {
	return 0, errors.ErrUnsupported
}

// openFiles returns how many files and connections the process may have open.
func openFiles() uint64 { return assumedFiles }
