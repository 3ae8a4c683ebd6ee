package child

import (
	"fmt"
	"os"
	"os/signal"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/confine"
)

const maxOpenFiles = 256

// dropPrivileges drops the privileges the engine does not need. What the kernel cannot restrict is reported but not
// fatal: the gate and the engine's own read-only mode still apply.
func dropPrivileges(l launch) (Confinement, error) {
	var c Confinement
	if l.Temp != "" {
		os.Setenv("TMPDIR", l.Temp)
		if err := os.Chdir(l.Temp); err != nil {
			return c, err
		}
	}
	c.limits(l)
	if err := confine.NoNewPrivileges(); err != nil {
		c.Missing = append(c.Missing, "no new privileges: "+err.Error())
	}
	if abi := confine.Landlock(); abi > 0 {
		if err := restrictPaths(l); err != nil {
			return c, fmt.Errorf("landlock: %w", err)
		}
		c.Landlock = abi
	}
	if err := filterSyscalls(); err != nil {
		c.Missing = append(c.Missing, "seccomp: "+err.Error())
	} else {
		c.Seccomp = true
	}
	return c, nil
}

// limits sets the resource limits. The address space has none: Go and DuckDB map far more than they use.
func (c *Confinement) limits(l launch) {
	set := func(name string, resource int, n uint64, words string) {
		if err := confine.Limit(resource, n); err != nil {
			c.Missing = append(c.Missing, name+": "+err.Error())
			return
		}
		c.Limits = append(c.Limits, words)
	}
	set("core size", unix.RLIMIT_CORE, 0, "no core files")
	set("open files", unix.RLIMIT_NOFILE, maxOpenFiles, fmt.Sprintf("%d open files", maxOpenFiles))
	if l.Profile == Serve {
		signal.Ignore(unix.SIGXFSZ) // a write beyond the limit returns an error instead of ending the process
		set("file size", unix.RLIMIT_FSIZE, uint64(l.MaxFile), "files to "+bytesText(l.MaxFile))
	}
	if data := confine.DataSize(); data > 0 && !confine.Race { // RLIMIT_DATA counts shadow memory
		n := data + l.Memory + dataSlack
		set("data size", unix.RLIMIT_DATA, uint64(n), "data to "+bytesText(n))
	}
}

// dataSlack is added to the memory limit for RLIMIT_DATA, to allow for mapped but unused memory: Go's arenas of 64 MB
// and thread stacks. The server's watch on the resident size enforces the exact limit; this one holds between its
// checks.
const dataSlack = 384 << 20

// restrictPaths limits the child to the files of its launch and, where the kernel can, blocks binding and
// connecting sockets and signaling other processes.
func restrictPaths(l launch) error {
	rules := []landlock.Rule{
		landlock.ROFiles("/dev/urandom", "/proc/meminfo", "/proc/cpuinfo").IgnoreIfMissing(),
		landlock.RWFiles(os.DevNull).IgnoreIfMissing(),
	}
	allow := func(paths []string, file, folder landlock.AccessFSSet) {
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				rules = append(rules, landlock.PathAccess(folder, path))
			} else if err == nil {
				rules = append(rules, landlock.PathAccess(file, path))
			}
		}
	}
	allow(l.Read, ll.AccessFSReadFile, ll.AccessFSReadFile|ll.AccessFSReadDir)
	allow(append(l.Write, l.Temp), writeFile, writeFile|ll.AccessFSReadDir|ll.AccessFSRemoveFile|ll.AccessFSRemoveDir|
		ll.AccessFSMakeReg|ll.AccessFSMakeDir)
	return landlock.V11.BestEffort().Restrict(rules...)
}

const writeFile = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate

// refusedCalls lists system calls that no engine needs and that an attacker would use: sockets, other programs, other
// processes' memory, namespaces, kernel surfaces. Each returns EPERM rather than killing the process, so that a
// library that merely tries one can continue.
var refusedCalls = []int{
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
func filterSyscalls() error { return confine.Filter(confine.Refuse(0, refusedCalls...)) }
