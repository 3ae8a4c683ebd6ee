// Package ptrace runs a program of which every system call is seen, for tests. Linux alone
// can do it. The goroutine that starts a program must be locked to its thread, and makes
// all other calls here, too.
package ptrace

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Start starts a program, which then stands before its first instruction. It dies with
// the calling process. The error is EPERM where the kernel or the container forbids it.
func Start(path string, args, env []string, files ...uintptr) (pid int, err error) {
	pid, err = syscall.ForkExec(path, append([]string{path}, args...), &syscall.ProcAttr{Env: env, Files: files, Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		return 0, err
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil || !ws.Stopped() {
		return 0, fmt.Errorf("it did not stop: %v %w", ws, err)
	}
	return pid, unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL)
}

// Follow lets a program run to its end, which it returns. Seen is called when a thread
// begins or has ended a system call, and the thread goes on when it returns. A thread
// that is killed meanwhile is no error; any other ends Follow.
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
		} else if ws.Stopped() && sig != unix.SIGTRAP && sig != unix.SIGSTOP { // with these a thread begins
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

// What a Syscall is.
const (
	Entry = unix.PTRACE_SYSCALL_INFO_ENTRY
	Exit  = unix.PTRACE_SYSCALL_INFO_EXIT
)

// Syscall is struct ptrace_syscall_info: where a thread stands.
type Syscall struct {
	Op    uint8
	_     [3]uint8
	_     uint32
	_     uint64
	Stack uint64
	// Body of an entry is the number and the arguments; that of an exit the result, and
	// whether it is an error.
	Body [8]uint64
}

// Look says where a thread stands that is stopped.
func Look(thread int) (s Syscall, err error) {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(thread), unsafe.Sizeof(s), uintptr(unsafe.Pointer(&s)), 0, 0)
	if e != 0 {
		return s, e
	}
	return s, nil
}
