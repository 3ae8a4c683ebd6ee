//go:build !linux

package child

import (
	"os"
	"syscall"
)

// self is the running program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func processAttr() *syscall.SysProcAttr { return nil }

func killProcess(p *os.Process) { p.Kill() }

// resident is not known here; the memory limit is the engine's own.
func resident(int) (int64, bool) { return 0, false }
