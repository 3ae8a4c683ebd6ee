//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package child

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// holdDir locks a private directory until the file is closed or this process ends.
func holdDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweepAge is the minimum age of a directory to be swept: a younger one may not be locked yet.
const sweepAge = time.Minute

// sweep removes private directories in a folder that killed servers left behind: those of this user that no process
// has locked.
func sweep(folder string) {
	found, err := filepath.Glob(filepath.Join(folder, tempPrefix+"*"))
	if err != nil {
		return // a folder whose name is a pattern
	}
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		if own, ok := info.Sys().(*syscall.Stat_t); !ok || int(own.Uid) != os.Getuid() {
			continue
		}
		if f, err := holdDir(dir); err == nil {
			os.RemoveAll(dir)
			f.Close()
		}
	}
}
