//go:build !unix

package main

// openFiles is how many files and connections the process may have open.
func openFiles() uint64 { return assumedFiles }
