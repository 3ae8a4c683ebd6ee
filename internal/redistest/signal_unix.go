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

// ownGroup keeps a Ctrl-C for the tests, which then end the server.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
