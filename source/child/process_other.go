//go:build !linux

package child

import (
	"os"
	"syscall"
)

// self returns the path of the running program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func processAttr() *syscall.SysProcAttr { return nil }

func killProcess(p *os.Process) { p.Kill() }

// residentMemory is unknown on this system; only the engine enforces its memory limit.
func residentMemory(int) (int64, bool) { return 0, false }
