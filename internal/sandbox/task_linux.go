package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
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
	if err := json.NewDecoder(control).Decode(&t); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	if err := restrict(t.Limits, t.Full); err != nil {
		return err
	}
	reserveThreads(16)
	i := &initial{limits: t.Limits, out: out, full: t.Full, late: make(chan struct{})}
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

// reserveThreads starts n threads, which the runtime keeps. A command that has used up its processes would otherwise
// end this one, when its runtime needs another thread and gets none.
func reserveThreads(n int) {
	var started, ended sync.WaitGroup
	started.Add(n)
	release := make(chan struct{})
	for range n {
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			<-release
		})
	}
	started.Wait()
	close(release)
	ended.Wait()
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
	full   bool          // the folder was full before
	late   chan struct{} // closed when the time is up: processes are then asked to exit
	kernel atomic.Int64  // bytes that the kernel needs for the processes, as the meter last read
}

// end sends the report and exits. Only the first report counts.
func (i *initial) end(r report) {
	i.once.Do(func() {
		if i.isLate() {
			r.Ended = ByTime
		}
		data, _ := json.Marshal(r)
		_, _ = i.out.Write(data)
		os.Exit(0)
	})
	select {} // another goroutine is exiting
}

// isLate reports whether the time is up.
func (i *initial) isLate() bool {
	select {
	case <-i.late:
		return true
	default:
		return false
	}
}

// emptying lists what may be done to a folder that is already full. Empty files and folders would take no
// room in the copy, but do so on the host.
const emptying = ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSExecute | ll.AccessFSRemoveFile |
	ll.AccessFSRemoveDir

// restrict removes the remaining privileges, for this process and all that it starts.
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
		{unix.RLIMIT_SIGPENDING, 1024}, // and timers
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
		// Not /dev/zero: a shared mapping of it, which needs the right to write, is memory without a limit.
		landlock.RWFiles("/dev/null", "/dev/full", "/dev/random", "/dev/urandom"),
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

// spawn starts the shell, and the overseer of what it runs.
func (i *initial) spawn(t task) (pid int, err error) {
	m, err := newMeter()
	if err != nil {
		return 0, fmt.Errorf("count the memory: %w", err)
	}
	started := make(chan struct{})
	go func() {
		// Landlock restricted each thread of this process by itself. Only the thread that starts the shell may
		// signal what runs in it, and see its descriptors and mappings.
		runtime.LockOSThread() // never unlocked
		pid, err = startShell(t)
		close(started)
		if err == nil {
			i.oversee(m)
		}
	}()
	<-started
	return pid, err
}

// startShell starts the shell in its own session, at lower priority, with none of the server's environment.
func startShell(t task) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	// ulimit limits the memory of one process; the watch counts all of them together.
	shell := filepath.Base(t.Shell)
	limited := fmt.Sprintf(`ulimit -d %d && exec %s -c "$1"`, t.Limits.Memory>>10, shell)
	p, err := os.StartProcess(t.Shell, []string{shell, "-c", limited, shell, t.Script}, &os.ProcAttr{
		Dir: Folder,
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + Folder, "LANG=C.UTF-8",
		},
		Files: []*os.File{null, os.Stdout, os.Stdout},
		Sys:   &unix.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, err
	}
	_ = unix.Setpriority(unix.PRIO_PGRP, p.Pid, 19) // the overseer keeps its own
	return p.Pid, nil
}

// oversee reads the meter again and again, and asks all processes to exit when the time is up.
func (i *initial) oversee(m *meter) {
	late := i.late
	for {
		i.kernel.Store(m.read(i.limits.Memory))
		select {
		case <-late:
			late = nil
			_ = unix.Kill(-1, unix.SIGTERM)
		case <-time.After(meterEvery):
		}
	}
}

// How often the watch checks.
const (
	lookEvery = 25 * time.Millisecond
	diskEvery = 10          // in checks
	diskTimes = 4           // consecutive disk checks with a full folder until the command is ended
	softEnd   = time.Second // from the request to exit until the command is ended
)

// watch ends the command when it reaches a limit.
func (i *initial) watch() {
	deadline := time.NewTimer(i.limits.Time)
	tick := time.NewTicker(lookEvery)
	filled := 0
	for n := 0; ; n++ {
		select {
		case <-deadline.C:
			if i.isLate() {
				i.end(report{Exit: 128 + int(unix.SIGKILL), Ended: ByTime})
			}
			close(i.late)
			deadline.Reset(softEnd)
		case <-tick.C:
			why := i.look()
			if !i.full && n%diskEvery == 0 {
				if filled++; !folderFull() {
					filled = 0
				}
			}
			if why == "" && filled >= diskTimes { // it got the error and continues
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
	pids, err := processes()
	if err != nil {
		return ByFault
	}
	if len(pids) > i.limits.Processes {
		return ByProcesses
	}
	threads, memory := int64(0), i.kernel.Load()
	for _, pid := range pids {
		_, status := living(pid)
		for _, name := range []string{"RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"} {
			memory += confine.StatusBytes(status, name)
		}
		threads += confine.StatusNumber(status, "Threads:")
	}
	switch {
	case memory > i.limits.Memory:
		return ByMemory
	case threads > int64(i.limits.Processes):
		return ByProcesses
	}
	return ""
}

// folderFull reports whether the folder has no room left.
func folderFull() bool {
	var st unix.Statfs_t
	return unix.Statfs(Folder, &st) == nil && isFull(st)
}
