package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/footnotehq/footnote/internal/confine"
	"golang.org/x/sys/unix"
)

// The only variables in the environment of the stages: the stage, and the input of the first one.
const (
	marker          = "FOOTNOTE_SANDBOX"
	containerMarker = "FOOTNOTE_SANDBOX_CONTAINER"
)

// The stages.
const (
	stageWorld = "world"
	stageTask  = "task"
)

// Main runs a stage and does not return if the process was started as one; otherwise it returns at once. Call
// it before anything else looks at the arguments or opens files.
func Main() {
	stage := os.Getenv(marker)
	if stage == "" {
		return
	}
	runtime.LockOSThread() // capabilities belong to a thread
	// Do not pass on descriptors that the server left open.
	_ = unix.CloseRange(reportFD+1, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	var err error
	switch stage {
	case stageWorld:
		err = enter()
	case stageTask:
		err = work()
	default:
		err = errors.New("no such stage")
	}
	data, _ := json.Marshal(report{Error: stage + ": " + err.Error()})
	_, _ = os.NewFile(reportFD, "report").Write(data)
	os.Exit(1)
}

// enter is the first stage: it builds the sandbox and executes the second stage in it. It returns only if
// that fails.
func enter() error {
	var c container
	if err := json.Unmarshal([]byte(os.Getenv(containerMarker)), &c); err != nil {
		return fmt.Errorf("read the container: %w", err)
	}
	if err := build(c); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("workspace")); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return fmt.Errorf("execute the second stage: %w",
		syscall.Exec("/proc/self/exe", []string{"footnote-sandbox"}, confine.Environment(marker+"="+stageTask)))
}

// build builds a file system from mounts that only this process and its children see, and makes it the root.
func build(c container) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// Any folder can serve as the mount point of the new root; it appears again below old.
	if err := unix.Mount("root", c.Dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
		"mode=0755,size=1m,nr_inodes=1000"); err != nil {
		return fmt.Errorf("mount the new root: %w", err)
	}
	const old = "/old"
	if err := os.Mkdir(c.Dir+old, 0o700); err != nil {
		return err
	}
	if err := unix.PivotRoot(c.Dir, c.Dir+old); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return systemFolders(old) },
		func() error { return devices(old) },
		func() error { return etc(old) },
		func() error { return workspace(c) },
		proc,
		func() error { return scratch("/tmp", tempSize) },
		func() error { return scratch("/dev/shm", sharedSize) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := unix.Unmount(old, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := os.Remove(old); err != nil {
		return err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &attr); err != nil {
		return fmt.Errorf("make the new root read-only: %w", err)
	}
	return os.Chdir(Folder)
}

// bind shows a file or folder of the host at a path in the new root.
func bind(from, to string, attrs uint64) error {
	info, err := os.Stat(from)
	if err != nil {
		return fmt.Errorf("bind %s: %w", to, err)
	}
	if err := os.MkdirAll(path.Dir(to), 0o755); err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else {
		err = os.WriteFile(to, nil, 0o644)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", to, err)
	}
	attr := unix.MountAttr{Attr_set: attrs}
	if err := unix.MountSetattr(unix.AT_FDCWD, to, unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("restrict %s: %w", to, err)
	}
	return nil
}

const readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// systemFolders shows the folders of programs and libraries. A link among them (/bin → usr/bin) stays a link.
func systemFolders(old string) error {
	for _, dir := range system {
		info, err := os.Lstat(old + dir)
		if err != nil {
			continue // does not exist on this system
		}
		if info.Mode()&os.ModeSymlink != 0 {
			target, err := os.Readlink(old + dir)
			if err != nil {
				return err
			}
			if err := os.Symlink(target, dir); err != nil {
				return err
			}
			continue
		}
		if err := bind(old+dir, dir, readOnly); err != nil {
			return err
		}
	}
	return nil
}

func devices(old string) error {
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		if err := bind(old+"/dev/"+name, "/dev/"+name, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, "/dev/"+name); err != nil {
			return err
		}
	}
	return nil
}

// etc provides the files that programs need to start and to look up their user, and nothing that describes
// the host.
func etc(old string) error {
	for _, name := range []string{
		"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone",
	} {
		from, err := filepath.EvalSymlinks(old + "/etc/" + name)
		if err != nil || !strings.HasPrefix(from, old+"/") {
			continue // leave out absolute links, which would lead into the new root
		}
		if err := bind(from, "/etc/"+name, readOnly); err != nil {
			return err
		}
	}
	if err := os.MkdirAll("/etc", 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"passwd": fmt.Sprintf("coder:x:%d:%d::%s:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n", commandUID, commandUID,
			Folder),
		"group":         fmt.Sprintf("coder:x:%d:\nnogroup:x:65534:\n", commandUID),
		"hosts":         "127.0.0.1 localhost workspace\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	} {
		if err := os.WriteFile("/etc/"+name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// hiddenProc lists files in /proc that describe the host or the kernel.
var hiddenProc = []string{
	"kcore", "keys", "key-users", "kallsyms", "kmsg", "sysrq-trigger", "timer_list", "sched_debug", "latency_stats",
	"config.gz", "modules", "iomem", "ioports",
}

// proc shows the processes of this namespace. It is read-only: a process that runs as the host's root could
// otherwise set the host's kernel parameters through it.
func proc() error {
	if err := os.Mkdir("/proc", 0o555); err != nil {
		return err
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	capPIDs()
	if err := capWatches(); err != nil {
		return err
	}
	if err := unix.Mount("", "/proc", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, ""); err != nil {
		return fmt.Errorf("make /proc read-only: %w", err)
	}
	for _, name := range hiddenProc {
		if _, err := os.Lstat("/proc/" + name); err != nil {
			continue
		}
		if err := unix.Mount("/dev/null", "/proc/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("hide /proc/%s: %w", name, err)
		}
	}
	return nil
}

// maxPIDs is the largest process id in the sandbox. The kernel accepts no limit below 301, and the first
// process needs some for its own threads.
const maxPIDs = 1024

// capPIDs makes the kernel itself limit the processes: the watch checks only periodically, and RLIMIT_NPROC
// does not apply to the host's root. Kernels before 6.14 have one pid_max for the whole host, which must not
// be changed.
func capPIDs() {
	var name unix.Utsname
	var major, minor int
	if unix.Uname(&name) != nil {
		return
	}
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor); n != 2 || major < 6 ||
		major == 6 && minor < 14 {
		return
	}
	_ = os.WriteFile("/proc/sys/kernel/pid_max", strconv.AppendInt(nil, maxPIDs, 10), 0) // else only the watch counts
}

// Limits of the kernel on the watching of files. The queue of one instance takes up to 8 MB, and a watch keeps
// an inode in memory.
var maxWatches = map[string]int{"max_inotify_instances": 4, "max_inotify_watches": 8192}

// capWatches sets maxWatches for the users of this namespace.
func capWatches() error {
	for name, n := range maxWatches {
		err := os.WriteFile("/proc/sys/user/"+name, strconv.AppendInt(nil, int64(n), 10), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without it has no inotify
			return fmt.Errorf("limit %s: %w", name, err)
		}
	}
	return nil
}

// scratch mounts a memory file system that ends with the command.
func scratch(at string, size int64) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("mode=1777,nr_inodes=10000,size=%d", size)); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	return nil
}

// workspace creates the file system of the workspace, whose size the kernel limits, and sends its folder to
// the server, which fills it.
func workspace(c container) error {
	options := fmt.Sprintf("mode=0700,size=%d,nr_inodes=%d", c.Size, c.Inodes)
	if err := os.Mkdir(Folder, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("workspace", Folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount the workspace: %w", err)
	}
	fd, err := unix.Open(Folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Sendmsg(reportFD, []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
		return fmt.Errorf("send the workspace: %w", err)
	}
	return nil
}

// dropCapabilities drops all capabilities of this thread and of what it executes.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); c < 64; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break // that was the last one
		} else if err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
