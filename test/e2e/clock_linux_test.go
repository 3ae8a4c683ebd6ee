package e2e

import (
	"context"
	encoding "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/pgtest"
)

// skewEnv has this test binary run a program whose clock is wrong by a duration, as
// programEnv names it.
const (
	skewEnv    = "TEST_SKEW"
	programEnv = "TEST_PROGRAM"
)

// skewed starts a server whose clock is wrong.
func skewed(t *testing.T, by time.Duration, settings ...string) *process {
	t.Helper()
	base := []string{"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + t.TempDir(), "FOOTNOTE_SOURCES=shop=" + shopDB,
		skewEnv + "=" + by.String(), programEnv + "=" + binary}
	return launchCommand(t, exec.Command(os.Args[0], "serve"), append(base, settings...))
}

func init() { // before TestMain, which there is on other systems, too
	if by, err := time.ParseDuration(os.Getenv(skewEnv)); err == nil {
		fmt.Fprintln(os.Stderr, "skew:", skew(by, os.Getenv(programEnv), os.Args[1:]))
		os.Exit(1)
	}
}

// skew runs a program under ptrace: it asks the kernel for the time, and gets another.
// It returns when the program has ended.
func skew(by time.Duration, program string, args []string) error {
	runtime.LockOSThread() // which traces
	pid, err := syscall.ForkExec(program, append([]string{program}, args...), &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT)
	go func() { // until the process ends
		for s := range signals {
			_ = unix.Kill(pid, s.(syscall.Signal))
		}
	}()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil || !ws.Stopped() {
		return fmt.Errorf("it did not stop: %w", err)
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return err
	}
	if err := withoutVDSO(pid); err != nil {
		return err
	}
	if err := unix.PtraceSyscall(pid, 0); err != nil {
		return err
	}
	return trace(pid, int64(by/time.Second))
}

// asked is, by thread, where a thread wants the time of day.
type asked map[int]uintptr

func trace(pid int, seconds int64) error {
	wanted := asked{}
	for {
		var ws unix.WaitStatus
		tid, err := unix.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case (ws.Exited() || ws.Signaled()) && tid == pid:
			if ws.Signaled() {
				return fmt.Errorf("it was killed by %v", ws.Signal())
			}
			os.Exit(ws.ExitStatus())
		case !ws.Stopped():
			continue
		}
		deliver := 0
		switch sig := ws.StopSignal(); {
		case sig == unix.SIGTRAP|0x80:
			if err := wanted.stop(tid, seconds); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		case sig == unix.SIGTRAP || sig == unix.SIGSTOP: // a thread begins
		default:
			deliver = int(sig)
		}
		if err := unix.PtraceSyscall(tid, deliver); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
}

// stopInfo is struct ptrace_syscall_info.
type stopInfo struct {
	op   uint8
	_    [3]uint8
	_    uint32
	_    uint64
	sp   uint64
	body [8]uint64
}

func infoOf(tid int) (i stopInfo, err error) {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(i), uintptr(unsafe.Pointer(&i)), 0, 0)
	if e != 0 {
		return i, e
	}
	return i, nil
}

// stop changes the time that a thread was given.
func (a asked) stop(tid int, seconds int64) error {
	i, err := infoOf(tid)
	if err != nil {
		return err
	}
	switch at, ok := a[tid]; {
	case i.op == unix.PTRACE_SYSCALL_INFO_ENTRY && i.body[0] == unix.SYS_CLOCK_GETTIME && i.body[1] == unix.CLOCK_REALTIME:
		a[tid] = uintptr(i.body[2])
	case i.op == unix.PTRACE_SYSCALL_INFO_EXIT && ok:
		delete(a, tid)
		var word [8]byte
		if _, err := unix.PtracePeekData(tid, at, word[:]); err != nil {
			return err
		}
		encoding.LittleEndian.PutUint64(word[:], uint64(int64(encoding.LittleEndian.Uint64(word[:]))+seconds))
		_, err := unix.PtracePokeData(tid, at, word[:])
		return err
	}
	return nil
}

// withoutVDSO hides from a program that has just begun the page by which it could read
// the time without asking the kernel.
func withoutVDSO(pid int) error {
	i, err := infoOf(pid)
	if err != nil {
		return err
	}
	word := func(at uint64) (uint64, error) {
		var b [8]byte
		_, err := unix.PtracePeekData(pid, uintptr(at), b[:])
		return encoding.LittleEndian.Uint64(b[:]), err
	}
	const vdso, ignore = 33, 1 // AT_SYSINFO_EHDR, AT_IGNORE
	at, nulls := i.sp+8, 0     // behind the number of arguments: they, and the environment
	for ; nulls < 2; at += 8 {
		v, err := word(at)
		if err != nil {
			return err
		}
		if v == 0 {
			nulls++
		}
	}
	for ; ; at += 16 {
		kind, err := word(at)
		if err != nil || kind == 0 {
			return err
		}
		if kind == vdso {
			var b [8]byte
			encoding.LittleEndian.PutUint64(b[:], ignore)
			_, err := unix.PtracePokeData(pid, uintptr(at), b[:])
			return err
		}
	}
}

// TestClocksDisagree: servers whose clocks are a day and an hour off keep to the
// database's: a run whose owner lives is nobody else's, one whose owner was killed goes
// on within seconds, and the log has the time that it is.
func TestClocksDisagree(t *testing.T) {
	t.Parallel()
	try := exec.CommandContext(t.Context(), os.Args[0], "version")
	try.Env = environ(skewEnv+"=1h", programEnv+"="+binary)
	if out, err := try.CombinedOutput(); err != nil && strings.Contains(string(out), unix.EPERM.Error()) {
		t.Skip("the kernel or the container forbids ptrace, without which no clock can be made wrong")
	}
	fake, settings := imitate(t, trickle())
	database := pgtest.Database(t)
	settings = append(settings, "FOOTNOTE_STORE="+database, "FOOTNOTE_LIMITS_DEFAULT_USD_PER_USER_DAY=10")
	begun := time.Now()
	s := [3]*process{skewed(t, 24*time.Hour, settings...), skewed(t, -time.Hour, settings...), serve(t, settings...)}
	if out := s[0].stderr.String(); !strings.Contains(out, begun.Add(24*time.Hour).UTC().Format("2006-01-02T")) {
		t.Fatalf("the clock of the first server is right:\n%s", out)
	}
	id := s[0].speaking(t, fake)
	db, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	var lease time.Time // until when the run would have been its owner's, had that not renewed it
	if err := db.QueryRow(t.Context(), "SELECT lease_expires FROM footnote.streams WHERE id = $1", id).Scan(&lease); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lease is over by the database's clock", func() (over bool) {
		if err := db.QueryRow(t.Context(), "SELECT now() > $1", lease).Scan(&over); err != nil {
			t.Fatal(err)
		}
		return over
	})
	if events := s[1].log(t, id, ""); has(events, "run_resumed", "") || !running(events) {
		t.Fatalf("the run of a server that lives was taken: %s", events[len(events)-1].line)
	}
	s[0].kill()
	eventually(t, "another server takes over", func() bool { return has(s[1].log(t, id, ""), "run_resumed", `"recovered"`) })
	s[1].ended(t, id)
	s[1].answered(t, question{text: "Hello?", conversation: id})
	s[2].answered(t, question{text: "Hello again?", conversation: id})
	for _, e := range s[2].log(t, id, "") {
		var at struct{ Time time.Time }
		if err := json.Unmarshal([]byte(e.line), &at); err != nil || at.Time.Before(begun.Add(-time.Minute)) || at.Time.After(time.Now().Add(time.Minute)) {
			t.Errorf("at %v, by the database's clock, the log has %s", time.Now(), e.line)
		}
	}
	sound(t, settings...)
}
