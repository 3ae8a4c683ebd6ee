package e2e

import (
	"context"
	encoding "encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/internal/ptrace"
)

// skewEnv makes this test binary run the program in programEnv with a clock that is off by this duration.
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

func init() { // before TestMain, which other systems use, too
	if by, err := time.ParseDuration(os.Getenv(skewEnv)); err == nil {
		fmt.Fprintln(os.Stderr, "skew:", skew(by, os.Getenv(programEnv), os.Args[1:]))
		os.Exit(1)
	}
}

// skew runs a program under ptrace and changes the time that the kernel returns to it. It returns when the
// program has ended.
func skew(by time.Duration, program string, args []string) error {
	runtime.LockOSThread() // this thread traces
	pid, err := ptrace.Start(program, args, os.Environ(), 0, 1, 2)
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
	if err := withoutVDSO(pid); err != nil {
		return err
	}
	ws, err := ptrace.Follow(pid, clockReads{seconds: int64(by / time.Second), at: map[int]uintptr{}}.stop)
	switch {
	case err != nil:
		return err
	case ws.Signaled():
		return fmt.Errorf("it was killed by %v", ws.Signal())
	}
	os.Exit(ws.ExitStatus())
	return nil
}

// clockReads maps each thread that is reading the clock to the address of the result, and holds the offset to add.
type clockReads struct {
	seconds int64
	at      map[int]uintptr
}

// stop adds the offset to the time that a thread has read.
func (a clockReads) stop(thread int, s ptrace.Syscall) error {
	switch at, ok := a.at[thread]; {
	case s.Op == ptrace.Entry && s.Body[0] == unix.SYS_CLOCK_GETTIME && s.Body[1] == unix.CLOCK_REALTIME:
		a.at[thread] = uintptr(s.Body[2])
	case s.Op == ptrace.Exit && ok:
		delete(a.at, thread)
		var word [8]byte
		if _, err := unix.PtracePeekData(thread, at, word[:]); err != nil {
			return err
		}
		encoding.LittleEndian.PutUint64(word[:], uint64(int64(encoding.LittleEndian.Uint64(word[:]))+a.seconds))
		_, err := unix.PtracePokeData(thread, at, word[:])
		return err
	}
	return nil
}

// withoutVDSO hides the vDSO from a program that has just started, because it could read the time there
// without a system call.
func withoutVDSO(pid int) error {
	begun, err := ptrace.Look(pid)
	if err != nil {
		return err
	}
	word := func(at uint64) (uint64, error) {
		var b [8]byte
		_, err := unix.PtracePeekData(pid, uintptr(at), b[:])
		return encoding.LittleEndian.Uint64(b[:]), err
	}
	const vdso, ignore = 33, 1    // AT_SYSINFO_EHDR, AT_IGNORE
	at, nulls := begun.Stack+8, 0 // after the argument count: the arguments and the environment
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

// TestClocksDisagree checks that servers whose clocks are off by a day and by an hour use the database's
// clock: nobody takes over a run whose owner is alive, a run whose owner was killed continues within seconds,
// and the log has the right time.
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
	var lease time.Time // when the owner's lease would have expired without a renewal
	if err := db.QueryRow(t.Context(), "SELECT lease_expires FROM footnote.streams WHERE id = $1",
		id).Scan(&lease); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lease is over by the database's clock", func() (over bool) {
		if err := db.QueryRow(t.Context(), "SELECT now() > $1", lease).Scan(&over); err != nil {
			t.Fatal(err)
		}
		return over
	})
	if events := s[1].log(t, id, ""); has(events, "run_resumed", "") || !running(events) {
		t.Fatalf("the run of a live server was taken over: %s", events[len(events)-1].line)
	}
	s[0].kill()
	eventually(t, "another server takes over", func() bool {
		return has(s[1].log(t, id, ""), "run_resumed", `"recovered"`)
	})
	s[1].ended(t, id)
	s[1].answered(t, question{text: "Hello?", conversation: id})
	s[2].answered(t, question{text: "Hello again?", conversation: id})
	for _, e := range s[2].log(t, id, "") {
		var at struct{ Time time.Time }
		if err := json.Unmarshal([]byte(e.line), &at); err != nil || at.Time.Before(begun.Add(-time.Minute)) ||
			at.Time.After(time.Now().Add(time.Minute)) {
			t.Errorf("at %v, by the database's clock, the log has %s", time.Now(), e.line)
		}
	}
	checkSound(t, settings...)
}
