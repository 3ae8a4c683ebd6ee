package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/confine"
)

// work is the second stage, and the first process of the sandbox. It confines itself, starts the shell, and
// watches it. It returns only if nothing was run.
func work() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("it is process %d of its namespace, not the first", os.Getpid())
	}
	control, out := os.NewFile(controlFD, "control"), os.NewFile(reportFD, "report")
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(reportFD)
	var t task
	if err := readFrame(control, &t); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	if err := restrict(t.Limits, t.Full); err != nil {
		return err
	}
	i := &initial{limits: t.Limits, out: out, full: t.Full}
	pid, err := i.spawn(t)
	if err != nil {
		return fmt.Errorf("start %s: %w", t.Shell, err)
	}
	go func() { // until the server exits or stops the command
		_, _ = io.Copy(io.Discard, control)
		i.end(report{Exit: 128 + int(unix.SIGKILL)})
	}()
	go i.watch()
	for { // reap orphans, which become children of this process
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("wait: %w", err)
		case got == pid:
			i.end(report{Exit: exitCode(status)})
		}
	}
}

func exitCode(s unix.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// initial is the first process. When it exits, the kernel kills all others.
type initial struct {
	limits Limits
	out    *os.File
	once   sync.Once
	full   bool // the folder was full before
	late   bool // the time is up, and processes were asked to exit
}

// end sends the report and exits. Only the first report counts.
func (i *initial) end(r report) {
	i.once.Do(func() {
		if i.late {
			r.Ended = ByTime
		}
		data, _ := json.Marshal(r)
		_, _ = i.out.Write(data)
		os.Exit(0)
	})
	select {} // another goroutine is exiting
}

// emptying lists what may be done to a folder that is already full. Empty files and folders would take no
// room in the copy, but do so on the host.
const emptying = ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSExecute | ll.AccessFSRemoveFile | ll.AccessFSRemoveDir

// restrict removes the remaining rights, for this process and all that it starts.
func restrict(l Limits, full bool) error {
	// No process in the sandbox may inspect this one.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide the first process: %w", err)
	}
	if err := confine.NoNewPrivileges(); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	for _, lim := range []struct {
		resource int
		n        uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_NOFILE, 256},
		{unix.RLIMIT_FSIZE, uint64(l.File)},
		{unix.RLIMIT_NPROC, uint64(l.Processes) + 64}, // a backstop; unlike the watch, it ignores the host's root
		{unix.RLIMIT_CPU, uint64(l.Time/time.Second) + 1},
		{unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_MEMLOCK, 64 << 10},
	} {
		if err := confine.Limit(lim.resource, lim.n); err != nil {
			return fmt.Errorf("limit %d: %w", lim.resource, err)
		}
	}
	if confine.Landlock() == 0 {
		return fmt.Errorf("the kernel has no Landlock")
	}
	folder := landlock.RWDirs(Folder).WithRefer()
	if full {
		folder = landlock.PathAccess(emptying, Folder)
	}
	if err := landlock.V11.BestEffort().Restrict(
		landlock.RODirs(append([]string{"/etc"}, system...)...).IgnoreIfMissing(),
		landlock.PathAccess(ll.AccessFSReadFile|ll.AccessFSReadDir, "/proc", "/dev"),
		landlock.PathAccess(ll.AccessFSReadDir, "/"),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
		folder,
		landlock.RWDirs("/tmp", "/dev/shm").WithRefer(),
	); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := confine.Filter(refused); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

// spawn starts the shell in its own session, at lower priority, with none of the server's environment.
func (i *initial) spawn(t task) (pid int, err error) {
	type started struct {
		pid int
		err error
	}
	done := make(chan started)
	go func() {
		runtime.LockOSThread() // never unlocked: the child inherits the thread's priority, and the thread dies with it
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19)
		var s started
		null, err := os.Open(os.DevNull)
		if err != nil {
			done <- started{err: err}
			return
		}
		// ulimit limits the memory of one process; the watch counts all of them together.
		shell := filepath.Base(t.Shell)
		limited := fmt.Sprintf(`ulimit -d %d && exec %s -c "$1"`, t.Limits.Memory>>10, shell)
		p, err := os.StartProcess(t.Shell, []string{shell, "-c", limited, shell, t.Script}, &os.ProcAttr{
			Dir:   Folder,
			Env:   []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + Folder, "LANG=C.UTF-8"},
			Files: []*os.File{null, os.Stdout, os.Stdout},
			Sys:   &unix.SysProcAttr{Setsid: true},
		})
		if s.err = err; err == nil {
			s.pid = p.Pid
		}
		done <- s
	}()
	s := <-done
	return s.pid, s.err
}

// How often the watch checks.
const (
	lookEvery = 25 * time.Millisecond
	diskEvery = 10 // in checks
	diskTimes = 4  // consecutive disk checks with a full folder until the command is ended
	softEnd   = 300 * time.Millisecond
	maxSocks  = 512
)

// watch ends the command when it reaches a limit.
func (i *initial) watch() {
	deadline := time.NewTimer(i.limits.Time)
	tick := time.NewTicker(lookEvery)
	filled := 0
	for n := 0; ; n++ {
		select {
		case <-deadline.C:
			if i.late {
				i.end(report{Exit: 128 + int(unix.SIGKILL), Ended: ByTime})
			}
			i.late = true
			_ = unix.Kill(-1, unix.SIGTERM)
			deadline.Reset(softEnd)
		case <-tick.C:
			why := i.look()
			if !i.full && n%diskEvery == 0 {
				if filled++; !folderFull() {
					filled = 0
				}
			}
			if why == "" && filled >= diskTimes { // it got the error and goes on
				why = ByDisk
			}
			if why != "" {
				i.end(report{Exit: 128 + int(unix.SIGKILL), Ended: why})
			}
		}
	}
}

// look returns the limit that the processes exceed, or "".
func (i *initial) look() string {
	dir, err := os.Open("/proc")
	if err != nil {
		return ByFault
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return ByFault
	}
	var pids []string
	for _, name := range names {
		if name[0] >= '1' && name[0] <= '9' && name != "1" {
			pids = append(pids, name)
		}
	}
	if len(pids) > i.limits.Processes {
		return ByProcesses
	}
	threads, memory := 0, int64(0)
	for _, pid := range pids {
		data, err := os.ReadFile("/proc/" + pid + "/status")
		if err != nil {
			continue // it has exited
		}
		status := string(data)
		memory += confine.StatusBytes(status, "RssAnon:") + confine.StatusBytes(status, "RssShmem:") + confine.StatusBytes(status, "VmSwap:")
		threads += number(status, "\nThreads:")
	}
	switch {
	case memory > i.limits.Memory:
		return ByMemory
	case threads > i.limits.Processes:
		return ByProcesses
	}
	if data, err := os.ReadFile("/proc/net/sockstat"); err == nil && number("\n"+string(data), "\nsockets: used") > maxSocks {
		return ByMemory // pipe buffers are memory, too
	}
	return ""
}

// number returns the integer after a name, or 0 if the name is missing.
func number(text, name string) int {
	_, rest, ok := strings.Cut(text, name)
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0
	}
	return n
}

// folderFull reports whether the folder has no room left.
func folderFull() bool {
	var st unix.Statfs_t
	return unix.Statfs(Folder, &st) == nil && isFull(st)
}
