package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/ptrace"
)

// TestPowerLoss records every write and sync of the data file by a child process with ptrace. It then rebuilds the
// files as a power loss at many moments could have left them: with everything that was synced and, for each later
// write, none, part or all of it at random. No acknowledged event may be missing. FOOTNOTE_POWER sets the number of
// moments, and FOOTNOTE_POWER_SEED the seed that selects them.
func TestPowerLoss(t *testing.T) {
	moments, seed := 40, uint64(time.Now().UnixNano())
	for name, set := range map[string]func(uint64){
		"FOOTNOTE_POWER":      func(n uint64) { moments = int(n) },
		"FOOTNOTE_POWER_SEED": func(n uint64) { seed = n },
	} {
		if v := os.Getenv(name); v != "" {
			n, err := strconv.ParseUint(v, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			set(n)
		}
	}
	seed &= 1<<32 - 1
	t.Logf("FOOTNOTE_POWER_SEED=%d", seed)
	dir := t.TempDir()
	ops, err := record(t, filepath.Join(dir, "footnote.db"))
	if errors.Is(err, unix.EPERM) {
		t.Skip("the kernel or the container forbids ptrace, without which no write can be watched")
	}
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	writes, syncs, dropped := 0, 0, 0
	for _, o := range ops {
		writes, syncs = writes+count(o.kind == wrote), syncs+count(o.kind == synced)
	}
	if writes < 100 || syncs < 20 {
		t.Fatalf("%d writes and %d syncs were seen", writes, syncs)
	}
	events := 0
	for range moments {
		at := rnd.IntN(len(ops))
		left := t.TempDir()
		acked, lost := leave(t, ops[:at+1], left, rnd)
		dropped += lost
		if len(acked) == 0 {
			continue // the store was not open yet
		}
		events = max(events, checkAfterKill(t, filepath.Join(left, "footnote.db"), acked))
		if t.Failed() {
			t.Fatalf("after %d of %d operations", at+1, len(ops))
		}
	}
	t.Logf("%d writes, %d syncs; %d moments, in which %d writes were lost or torn; up to %d events acknowledged, "+
		"none lost", writes, syncs, moments, dropped, events)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// The kinds of operations of a process on its files.
const (
	wrote   = iota
	cut     // truncates a file to a size
	removed // removes a file; any later sync makes that durable, as on file systems with a journal
	synced  // syncs a file; everything before upTo is on the disk
	said    // acknowledges events to the parent process
)

type operation struct {
	kind   int
	file   string // its base name
	offset int64  // or size
	data   []byte
	upTo   int
}

// leave creates the files as a power loss after the last of the operations could have left them. It returns the
// acknowledged events.
func leave(t *testing.T, ops []operation, dir string, rnd *rand.Rand) (acked map[string]int64, lost int) {
	t.Helper()
	safe, names := map[string]int{}, 0 // number of operations that are on the disk
	for _, o := range ops {
		if o.kind == synced {
			safe[o.file], names = max(safe[o.file], o.upTo), max(names, o.upTo)
		}
	}
	files := map[string][]byte{}
	var output bytes.Buffer
	for i, o := range ops {
		data := files[o.file]
		switch o.kind {
		case said:
			output.Write(o.data)
		case removed:
			if i < names || rnd.IntN(2) == 0 {
				delete(files, o.file)
			}
		case cut:
			if i >= safe[o.file] && rnd.IntN(2) == 0 {
				lost++
				continue
			}
			files[o.file] = append(data[:min(o.offset, int64(len(data)))],
				make([]byte, max(0, o.offset-int64(len(data))))...)
		case wrote:
			part := o.data
			if i >= safe[o.file] && rnd.IntN(2) == 0 { // disks write whole sectors
				part = part[:rnd.IntN(len(part)/512+1)*512]
				lost++
			}
			if end := o.offset + int64(len(part)); len(part) > 0 && end > int64(len(data)) {
				data = append(data, make([]byte, end-int64(len(data)))...)
			}
			copy(data[min(o.offset, int64(len(data))):], part)
			files[o.file] = data
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	acked = map[string]int64{}
	for line := range strings.Lines(output.String()) {
		var id string
		var seq int64
		// the first line acknowledges nothing
		if n, _ := fmt.Sscanf(line, "%s %d\n", &id, &seq); n == 2 && strings.HasSuffix(line, "\n") {
			acked[id] = max(acked[id], seq)
		}
	}
	return acked, lost
}

// enough is the number of bytes to record, chosen so that SQLite checkpoints the WAL more than once.
const enough = 16 << 20

// record lets a child append to a file until it has written enough, and returns its operations.
func record(t *testing.T, path string) ([]operation, error) {
	t.Helper()
	runtime.LockOSThread() // ptrace requires one thread
	defer runtime.UnlockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	pid, err := ptrace.Start(os.Args[0], []string{
		"-test.run=^$",
	}, append(os.Environ(), childEnv+"="+path), null.Fd(), null.Fd(), null.Fd())
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Kill(pid, unix.SIGKILL) }()
	r := &recorder{
		dir: filepath.Dir(path), pid: pid, end: time.Now().Add(time.Minute), entered: map[int]entry{},
		at: map[int64]int64{},
	}
	_, err = ptrace.Follow(pid, r.stop)
	return r.ops, err
}

// sysUnlink is the number of unlink(2) on amd64; newer architectures lack this call.
var sysUnlink = map[string]uint64{"amd64": 87}[runtime.GOARCH]

// recorder follows the threads of a process.
type recorder struct {
	dir     string
	pid     int
	end     time.Time // deadline of the recording
	killed  bool
	ops     []operation
	size    int
	entered map[int]entry   // by thread
	at      map[int64]int64 // positions of open files
}

// entry is a system call that has begun.
type entry struct {
	nr   uint64
	args [6]uint64
	ops  int // number of operations recorded before it
}

// stop handles the beginning or end of a system call.
func (r *recorder) stop(thread int, s ptrace.Syscall) error {
	if !r.killed && (r.size > enough || time.Now().After(r.end)) {
		if r.killed = true; unix.Kill(r.pid, unix.SIGKILL) != nil {
			return errors.New("the child cannot be killed")
		}
	}
	err := r.look(thread, s)
	if r.killed {
		return nil // the thread may have ended during the call
	}
	return err
}

func (r *recorder) look(thread int, s ptrace.Syscall) error {
	switch s.Op {
	case ptrace.Entry:
		en := entry{nr: s.Body[0], args: [6]uint64(s.Body[1:7]), ops: len(r.ops)}
		if en.nr == unix.SYS_WRITE && en.args[0] == 1 { // the parent may read it as soon as the call begins
			data, err := r.memory(en.args[1], int(en.args[2]))
			if err != nil {
				return err
			}
			r.ops = append(r.ops, operation{kind: said, data: data})
		}
		r.entered[thread] = en
	case ptrace.Exit:
		if result := int64(s.Body[0]); result >= 0 {
			return r.done(r.entered[thread], result)
		}
	}
	return nil
}

// done records a system call that succeeded.
func (r *recorder) done(en entry, result int64) error {
	fd := int64(en.args[0])
	if en.nr == sysUnlink && en.nr != 0 {
		return r.unlinked(en.args[0])
	}
	switch en.nr {
	case unix.SYS_CLOSE:
		delete(r.at, fd)
	case unix.SYS_LSEEK:
		r.at[fd] = result
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		if name := r.file(fd); name != "" {
			r.ops = append(r.ops, operation{kind: synced, file: name, upTo: en.ops})
		}
	case unix.SYS_UNLINKAT:
		return r.unlinked(en.args[1])
	case unix.SYS_FTRUNCATE:
		if name := r.file(fd); name != "" {
			r.ops = append(r.ops, operation{kind: cut, file: name, offset: int64(en.args[1])})
		}
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		name := r.file(fd)
		if name == "" {
			return nil
		}
		data, err := r.memory(en.args[1], int(result))
		if err != nil {
			return err
		}
		offset := int64(en.args[3])
		if en.nr == unix.SYS_WRITE {
			offset = r.at[fd]
			r.at[fd] += result
		}
		r.ops = append(r.ops, operation{kind: wrote, file: name, offset: offset, data: data})
		r.size += len(data)
	}
	return nil
}

// unlinked records that a file was removed.
func (r *recorder) unlinked(address uint64) error {
	var path []byte
	for !bytes.ContainsRune(path, 0) {
		next, err := r.memory(address+uint64(len(path)), 16)
		if err != nil {
			return err
		}
		path = append(path, next...)
	}
	name, _, _ := strings.Cut(string(path), "\x00")
	if filepath.Dir(name) == r.dir {
		r.ops = append(r.ops, operation{kind: removed, file: filepath.Base(name)})
	}
	return nil
}

// file returns the name of an open file of the store, or "" for files that are recreated at each start.
func (r *recorder) file(fd int64) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", r.pid, fd))
	if err != nil || filepath.Dir(path) != r.dir || !strings.HasPrefix(filepath.Base(path), "footnote.db") ||
		strings.HasSuffix(path, "-shm") {
		return ""
	}
	return filepath.Base(path)
}

func (r *recorder) memory(address uint64, n int) ([]byte, error) {
	data := make([]byte, n)
	if n == 0 {
		return data, nil
	}
	local := []unix.Iovec{{Base: &data[0], Len: uint64(n)}}
	got, err := unix.ProcessVMReadv(r.pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: n}}, 0)
	if err == nil && got != n {
		err = fmt.Errorf("%d of %d bytes were read", got, n)
	}
	return data, err
}
