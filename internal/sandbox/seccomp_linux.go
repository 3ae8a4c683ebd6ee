package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/confine"
)

// newNamespaces are the flags of clone that create namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// setIDs are the mode bits that give the owner's rights to anybody who runs a file.
const setIDs = unix.S_ISUID | unix.S_ISGID

func except(arg int, is uint32) []confine.Test {
	return []confine.Test{{Arg: arg, Mask: 0xffffffff, Is: is, Not: true}}
}

func bits(arg int, mask uint32) []confine.Test {
	return []confine.Test{{Arg: arg, Mask: mask, Is: 0, Not: true}}
}

func equals(arg int, is uint32) confine.Test {
	return confine.Test{Arg: arg, Mask: 0xffffffff, Is: is}
}

// refused lists the system calls that commands may not use: new namespaces, other processes' memory, rarely
// used kernel interfaces, sockets that are not local, and modes that give away rights; and those of uncounted.
var refused = slices.Concat(
	confine.Refuse(0,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
		unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
		unix.SYS_MOUNT_SETATTR,
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
		unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY,
		unix.SYS_REQUEST_KEY,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
		unix.SYS_SYSLOG,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_PERSONALITY, unix.SYS_QUOTACTL,
		unix.SYS_FANOTIFY_INIT,
		unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SEMGET, unix.SYS_MSGGET,
		unix.SYS_MQ_OPEN,
		unix.SYS_VMSPLICE, unix.SYS_MBIND, unix.SYS_SET_MEMPOLICY, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	),
	// Their arguments are in memory, where a filter cannot look. Programs fall back to the older calls.
	confine.Refuse(unix.ENOSYS, unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_FCHMODAT2),
	// The kernel keeps attributes in memory that no limit counts. Programs continue without them, as on a
	// file system that has none.
	confine.Refuse(unix.EOPNOTSUPP, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT),
	[]confine.Rule{
		{Call: unix.SYS_CLONE, When: bits(0, newNamespaces)},
		{Call: unix.SYS_SOCKET, When: except(0, unix.AF_UNIX), Errno: unix.EAFNOSUPPORT},
		{Call: unix.SYS_SOCKETPAIR, When: except(0, unix.AF_UNIX), Errno: unix.EAFNOSUPPORT},
		{Call: unix.SYS_FCHMOD, When: bits(1, setIDs)},
		{Call: unix.SYS_FCHMODAT, When: bits(2, setIDs)},
		{Call: unix.SYS_MKNODAT, When: bits(2, setIDs)},
		{Call: unix.SYS_OPENAT, When: append(bits(2, unix.O_CREAT), bits(3, setIDs)...)},
		{Call: unix.SYS_IOCTL, When: []confine.Test{{Arg: 1, Mask: 0xffffffff, Is: unix.TIOCSTI}}},
		{Call: unix.SYS_IOCTL, When: []confine.Test{{Arg: 1, Mask: 0xffffffff, Is: unix.TIOCLINUX}}},
	},
	uncounted,
	refusedHere,
)

// Constants that the unix package lacks: PR_FUTEX_HASH, PR_FUTEX_HASH_SET_SLOTS.
const (
	prFutexHash         = 78
	prFutexHashSetSlots = 1
)

// maxSharedMapping is the length from which shared memory without a file is refused.
const maxSharedMapping = 1 << 20

// uncounted lists the calls that take memory where the watch does not see it, or hide from the watch what it
// counts. Programs have fallbacks for the errors: they are those of kernels or file systems without the call.
var uncounted = slices.Concat(
	confine.Refuse(unix.EOPNOTSUPP, unix.SYS_LANDLOCK_CREATE_RULESET), // rules; as when Landlock is off
	confine.Refuse(unix.ENOSYS, unix.SYS_IO_SETUP),
	// They put pages of files into pipes and sockets, and a page may be part of one of 2 MB.
	confine.Refuse(unix.EINVAL, unix.SYS_SPLICE, unix.SYS_TEE, unix.SYS_SENDFILE),
	[]confine.Rule{
		// A shared mapping keeps its pages when no page table shows them any more, and when all but one page
		// of it was unmapped. So a small one counts in full, and large ones must be files.
		{Call: unix.SYS_MMAP, When: sharedMemory(bits(1, ^uint32(maxSharedMapping-1))), Errno: unix.ENOMEM},
		{Call: unix.SYS_MMAP, When: sharedMemory(upperBits(1)), Errno: unix.ENOMEM},
		{Call: unix.SYS_MMAP, When: bits(3, unix.MAP_HUGETLB), Errno: unix.ENOMEM},
		// One call takes up to 2 GB.
		{
			Call:  unix.SYS_PRCTL,
			When:  []confine.Test{equals(0, prFutexHash), equals(1, prFutexHashSetSlots)},
			Errno: unix.EINVAL,
		},
		// The default size of a socket's buffer is the largest.
		{Call: unix.SYS_SETSOCKOPT, When: []confine.Test{equals(1, unix.SOL_SOCKET), equals(2, unix.SO_SNDBUF)}},
		{Call: unix.SYS_SETSOCKOPT, When: []confine.Test{equals(1, unix.SOL_SOCKET), equals(2, unix.SO_ATTACH_FILTER)}},
		{Call: unix.SYS_FCNTL, When: []confine.Test{equals(1, unix.F_SETPIPE_SZ)}},
		// These locks move to other processes inside messages, where nobody can count them.
		{Call: unix.SYS_FCNTL, When: []confine.Test{equals(1, unix.F_OFD_SETLK)}, Errno: unix.EINVAL},
		{Call: unix.SYS_FCNTL, When: []confine.Test{equals(1, unix.F_OFD_SETLKW)}, Errno: unix.EINVAL},
		// The meter sees the descriptors of one thread of each process, and only of a process that lets it.
		{Call: unix.SYS_CLONE, When: []confine.Test{threadWithoutFiles}, Errno: unix.EINVAL},
		{Call: unix.SYS_CLOSE_RANGE, When: bits(2, unix.CLOSE_RANGE_UNSHARE), Errno: unix.EINVAL},
		{Call: unix.SYS_PRCTL, When: []confine.Test{equals(0, unix.PR_SET_DUMPABLE), equals(1, 0)}},
	},
)

// threadWithoutFiles is for a new thread with descriptors of its own.
var threadWithoutFiles = confine.Test{Arg: 0, Mask: unix.CLONE_THREAD | unix.CLONE_FILES, Is: unix.CLONE_THREAD}

// sharedMemory returns tests for a mapping that is shared and not of a file, besides others.
func sharedMemory(others []confine.Test) []confine.Test {
	const flags = unix.MAP_SHARED | unix.MAP_ANONYMOUS
	return append([]confine.Test{{Arg: 3, Mask: flags, Is: flags}}, others...)
}

func upperBits(arg int) []confine.Test {
	return []confine.Test{{Arg: arg, Mask: 0xffffffff, Is: 0, Not: true, Upper: true}}
}
