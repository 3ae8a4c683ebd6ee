//go:build unix

package leash

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// Signals for Signal and SignalTree.
const (
	Interrupt = syscall.SIGINT
	Quit      = syscall.SIGQUIT
	Terminate = syscall.SIGTERM
	Kill      = syscall.SIGKILL
	Stop      = syscall.SIGSTOP
	Continue  = syscall.SIGCONT
)

// Signal sends a signal to the server's first process.
func (p *Process) Signal(signal syscall.Signal) error { return syscall.Kill(p.pid, signal) }

// SignalTree sends a signal to the server's first process and then to its children, so that no new ones begin.
func (p *Process) SignalTree(signal syscall.Signal) error {
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output()
	if err != nil {
		return fmt.Errorf("ps: %w", err)
	}
	if err := p.Signal(signal); err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if _, err := fmt.Sscan(line, &child, &parent); err == nil && parent == p.pid {
			_ = syscall.Kill(child, signal) // a process may have exited meanwhile
		}
	}
	return nil
}

// OwnGroup makes a Ctrl-C only reach the tests, which then stop the server.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
