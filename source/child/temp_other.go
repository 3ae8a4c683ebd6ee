//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package child

import "os"

// holdDir does nothing: this system has no such lock.
func holdDir(string) (*os.File, error) { return nil, nil }

// sweep does nothing: without locks it cannot know which directories are in use.
func sweep(string) {}
