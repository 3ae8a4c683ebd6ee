package child

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusedCalls are the system calls no engine needs and every break-out wants:
// sockets, other programs, other processes' memory, namespaces, kernel surfaces.
// Each gives EPERM, so that a library that only tries goes on.
var refusedCalls = []uint32{
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN,
	unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG,
	unix.SYS_EXECVE, unix.SYS_EXECVEAT,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY,
	unix.SYS_IO_URING_SETUP, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID,
	unix.SYS_MKNODAT, unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT, unix.SYS_OPEN_BY_HANDLE_AT,
}

// filterSyscalls installs the filter on all threads.
func filterSyscalls() error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("no filter for %s", runtime.GOARCH)
	}
	const (
		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		above   = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		give    = unix.BPF_RET | unix.BPF_K
		refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		x32     = 0x40000000 // calls of the second ABI of amd64 begin here
		archAt  = 4          // offsets in struct seccomp_data
		numbrAt = 0
	)
	n := uint8(len(refusedCalls))
	prog := []unix.SockFilter{
		{Code: load, K: archAt},
		{Code: equal, K: arch, Jt: 0, Jf: n + 3}, // to refuse
		{Code: load, K: numbrAt},
		{Code: above, K: x32, Jt: n + 1}, // to refuse
	}
	for i, nr := range refusedCalls {
		prog = append(prog, unix.SockFilter{Code: equal, K: nr, Jt: n - uint8(i)}) // to refuse
	}
	prog = append(prog, unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW}, unix.SockFilter{Code: give, K: refuse})
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return errno
	}
	if r != 0 {
		return fmt.Errorf("thread %d could not be filtered", r)
	}
	return nil
}
