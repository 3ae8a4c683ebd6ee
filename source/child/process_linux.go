package child

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// self returns the path of the running program, which works even when its file has been replaced.
func self() string { return "/proc/self/exe" }

// processAttr puts a child into its own process group, so that a Ctrl-C at the server's terminal does not reach it
// before the server has drained.
func processAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killProcess(p *os.Process) {
	p.Kill() // Kill knows whether the process was waited for, so it cannot hit another one
}

// residentMemory returns the memory of a process without file contents, in bytes.
func residentMemory(pid int) (int64, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, false
	}
	var size, all, shared int64
	_, err = fmt.Sscan(string(data), &size, &all, &shared)
	return (all - shared) * int64(os.Getpagesize()), err == nil
}
