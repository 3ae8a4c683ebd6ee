//go:build unix

package redistest

import (
	"os/exec"
	"syscall"
)

type signal = syscall.Signal

const (
	killed  = syscall.SIGKILL
	stopped = syscall.SIGTERM
	frozen  = syscall.SIGSTOP
	thawed  = syscall.SIGCONT
)

func send(pid int, what signal) error { return syscall.Kill(pid, what) }

// ownGroup makes a Ctrl-C only reach the tests, which then stop the server.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
