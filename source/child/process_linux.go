package child

import (
	"os"
	"strconv"
	"strings"
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

// resident returns the memory of a process without file contents, in bytes.
func resident(pid int) (int64, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(data))
	if len(fields) < 3 {
		return 0, false
	}
	all, err1 := strconv.ParseInt(fields[1], 10, 64)
	shared, err2 := strconv.ParseInt(fields[2], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, false
	}
	return (all - shared) * int64(os.Getpagesize()), true
}
