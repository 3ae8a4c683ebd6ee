// Package ptrace runs a program and observes every system call of it, for tests. It works only on Linux. The
// goroutine that starts a program must be locked to its thread, and must make all other calls here, too.
package ptrace

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Start starts a program and stops it before its first instruction. It dies with the calling process. Start
// returns EPERM if the kernel or the container forbids it.
func Start(path string, args, env []string, files ...uintptr) (pid int, err error) {
	pid, err = syscall.ForkExec(path, append([]string{path}, args...),
		&syscall.ProcAttr{Env: env, Files: files, Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		return 0, err
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil || !ws.Stopped() {
		return 0, fmt.Errorf("it did not stop: %v %w", ws, err)
	}
	return pid, unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL)
}

// Follow runs a program to its end and returns its status. It calls seen when a thread enters or has left a
// system call; the thread continues when seen returns. Follow ignores ESRCH, which means that the thread was
// killed meanwhile, and returns any other error.
func Follow(pid int, seen func(thread int, s Syscall) error) (ws unix.WaitStatus, err error) {
	for thread := pid; ; {
		deliver := 0
		if sig := ws.StopSignal(); ws.Stopped() && sig == unix.SIGTRAP|0x80 {
			s, err := Look(thread)
			if err == nil {
				err = seen(thread, s)
			}
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return ws, err
			}
		} else if ws.Stopped() && sig != unix.SIGTRAP && sig != unix.SIGSTOP { // these two mark a new thread
			deliver = int(sig)
		}
		if err := unix.PtraceSyscall(thread, deliver); err != nil && !errors.Is(err, unix.ESRCH) {
			return ws, err
		}
		for ws = 0; !ws.Stopped(); {
			thread, err = unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
			if err != nil && !errors.Is(err, unix.EINTR) || thread == pid && (ws.Exited() || ws.Signaled()) {
				return ws, err
			}
		}
	}
}

// Values of Syscall.Op.
const (
	Entry = unix.PTRACE_SYSCALL_INFO_ENTRY
	Exit  = unix.PTRACE_SYSCALL_INFO_EXIT
)

// Syscall is struct ptrace_syscall_info: the state of a thread.
type Syscall struct {
	Op    uint8
	_     [3]uint8
	_     uint32
	_     uint64
	Stack uint64
	// Body holds the number and the arguments on entry, and the result and an error flag on exit.
	Body [8]uint64
}

// Look returns the state of a stopped thread.
func Look(thread int) (s Syscall, err error) {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(thread), unsafe.Sizeof(s),
		uintptr(unsafe.Pointer(&s)), 0, 0)
	if e != 0 {
		return s, e
	}
	return s, nil
}
