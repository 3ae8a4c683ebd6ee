//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// owner returns the user that the server runs as: Postgres refuses to run as root.
func owner() (uid, gid int, err error) {
	if os.Getuid() != 0 {
		return os.Getuid(), os.Getgid(), nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, lerr := user.Lookup(name)
		if lerr != nil {
			err = lerr
			continue
		}
		uid, err = strconv.Atoi(u.Uid)
		if err == nil {
			gid, err = strconv.Atoi(u.Gid)
		}
		return uid, gid, err
	}
	return 0, 0, fmt.Errorf("postgres cannot run as root, and there is no user postgres: %w", err)
}

// giveAway makes the server's user the owner of a folder.
func giveAway(dir string) error {
	uid, gid, err := owner()
	if err != nil {
		return err
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return err
	}
	return os.Chmod(dir, 0o711) // so that the tests reach the socket in it
}

func asUser(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C only reaches the tests, which then stop the server
	if os.Getuid() != 0 {
		return
	}
	uid, gid, err := owner()
	if err != nil {
		return // giveAway has reported the error
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func interrupt(pid int) error { return syscall.Kill(pid, syscall.SIGINT) }

func quit(pid int) error { return syscall.Kill(pid, syscall.SIGQUIT) }

// freezeTree stops a server's processes, the first one first, so that no new ones begin.
func freezeTree(pid int) error { return signalTree(pid, syscall.SIGSTOP) }

// thawTree continues a server's processes.
func thawTree(pid int) error { return signalTree(pid, syscall.SIGCONT) }

// killTree kills a server's first process and then its children, which would otherwise exit a little later.
func killTree(pid int) error { return signalTree(pid, syscall.SIGKILL) }

// signalTree sends a signal to a process and then to its children.
func signalTree(pid int, signal syscall.Signal) error {
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output()
	if err != nil {
		return fmt.Errorf("ps: %w", err)
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if _, err := fmt.Sscan(line, &child, &parent); err == nil && parent == pid {
			_ = syscall.Kill(child, signal) // a process may have exited meanwhile
		}
	}
	return nil
}
