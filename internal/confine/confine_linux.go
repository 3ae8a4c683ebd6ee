package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// NoNewPrivileges ensures, for all threads, that no program executed from now on gains privileges.
func NoNewPrivileges() error { return ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// Landlock returns the kernel's Landlock version, or 0 if it has none.
func Landlock() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return abi
}

// Limit sets a hard resource limit. It keeps an existing limit that is stricter.
func Limit(resource int, n uint64) error {
	lim := unix.Rlimit{Cur: n, Max: n}
	var old unix.Rlimit
	if unix.Getrlimit(resource, &old) == nil && old.Max < n {
		lim = unix.Rlimit{Cur: old.Max, Max: old.Max}
	}
	return unix.Setrlimit(resource, &lim)
}

// DataSize returns VmData of this process, which RLIMIT_DATA counts, in bytes; 0 if unknown.
func DataSize() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return StatusBytes(string(status), "VmData:")
}

// StatusBytes returns a size from the text of /proc/PID/status, in bytes; 0 if it is missing.
func StatusBytes(status, name string) int64 { return StatusNumber(status, name) << 10 }

// StatusNumber returns the integer after the name that begins a line; 0 if it is missing.
func StatusNumber(text, name string) (n int64) {
	rest, first := strings.CutPrefix(text, name)
	if !first {
		_, rest, _ = strings.Cut(text, "\n"+name)
	}
	_, _ = fmt.Sscan(rest, &n)
	return n
}

// Rule rejects a system call.
type Rule struct {
	Call  int
	When  []Test     // all must hold; none: always reject the call
	Errno unix.Errno // returned to the caller; 0: EPERM
}

// Test checks half of an argument, counted from 0: half&Mask == Is, or the opposite with Not. It is the lower
// half unless Upper is set.
type Test struct {
	Arg        int
	Mask, Is   uint32
	Not, Upper bool
}

// offset returns where the half is in struct seccomp_data. All supported architectures are little-endian.
func (t Test) offset() uint32 {
	at := argsAt + 8*uint32(t.Arg)
	if t.Upper {
		at += 4
	}
	return at
}

// Refuse returns rules that always reject calls.
func Refuse(errno unix.Errno, calls ...int) []Rule {
	rules := make([]Rule, len(calls))
	for i, c := range calls {
		rules[i] = Rule{Call: c, Errno: errno}
	}
	return rules
}

// Instructions of a filter, and offsets in struct seccomp_data.
const (
	bpfLoad  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	bpfAnd   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	bpfEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	bpfAbove = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	bpfGive  = unix.BPF_RET | unix.BPF_K

	numberAt, archAt, argsAt = 0, 4, 16

	x32 = 0x40000000 // first call number of the second ABI of amd64
)

// Filter installs, on all threads, a filter that rejects the calls in rules and every call of another
// architecture. It cannot be removed, and children inherit it.
func Filter(rules []Rule) error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("no filter for %s", runtime.GOARCH)
	}
	prog, err := program(arch, rules)
	if err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return errno
	}
	if r != 0 {
		return fmt.Errorf("thread %d could not be filtered", r)
	}
	return nil
}

func refusal(errno unix.Errno) unix.SockFilter {
	if errno == 0 {
		errno = unix.EPERM
	}
	return unix.SockFilter{Code: bpfGive, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func program(arch uint32, rules []Rule) ([]unix.SockFilter, error) {
	prog := []unix.SockFilter{
		{Code: bpfLoad, K: archAt},
		{Code: bpfEqual, K: arch, Jt: 1},
		refusal(0),
		{Code: bpfLoad, K: numberAt},
		{Code: bpfAbove, K: x32, Jf: 1},
		refusal(0),
	}
	for _, r := range rules {
		var body []unix.SockFilter
		for _, t := range r.When {
			body = append(body, unix.SockFilter{Code: bpfLoad, K: t.offset()}, unix.SockFilter{Code: bpfAnd, K: t.Mask},
				unix.SockFilter{Code: bpfEqual, K: t.Is})
		}
		body = append(body, refusal(r.Errno))
		if len(r.When) > 0 {
			body = append(body, unix.SockFilter{Code: bpfLoad, K: numberAt}) // load it again for the next rule
		}
		if len(body) > 255 {
			return nil, errors.New("a rule has too many tests")
		}
		over := len(body) // instructions to the next rule
		if len(r.When) > 0 {
			over-- // which reloads the number
		}
		for i, t := range r.When {
			at := 3*i + 2
			skip := uint8(over - at - 1)
			if t.Not {
				body[at].Jt = skip
			} else {
				body[at].Jf = skip
			}
		}
		prog = append(prog, unix.SockFilter{Code: bpfEqual, K: uint32(r.Call), Jf: uint8(len(body))})
		prog = append(prog, body...)
	}
	return append(prog, unix.SockFilter{Code: bpfGive, K: unix.SECCOMP_RET_ALLOW}), nil
}
