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

// refused lists the system calls that commands may not use: new namespaces, other processes' memory, rarely
// used kernel interfaces, memory that no limit counts, sockets that are not local, and modes that give away
// rights.
var refused = slices.Concat(
	confine.Refuse(0,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
		unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SYSLOG,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_PERSONALITY, unix.SYS_QUOTACTL, unix.SYS_FANOTIFY_INIT,
		unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SEMGET, unix.SYS_MSGGET, unix.SYS_MQ_OPEN,
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
	refusedHere,
)
