package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// smallDisk is a folder with little space. fill uses up the rest of it, and free releases it.
type smallDisk struct {
	dir        string
	fill, free func()
	mounted    bool
}

// newSmallDisk mounts a file system of 8 MB. If that is not permitted, it limits the size of files for this process
// instead: the same system calls of SQLite then fail with EFBIG.
func newSmallDisk(t *testing.T) smallDisk {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err == nil {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		ballast := filepath.Join(dir, "ballast")
		return smallDisk{
			dir: dir,
			fill: func() {
				f, err := os.Create(ballast)
				must(t, err)
				_, err = io.Copy(f, zeros{})
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("filling the disk: %v", err)
				}
				must(t, f.Close())
			},
			free:    func() { must(t, os.Remove(ballast)) },
			mounted: true,
		}
	}
	signal.Ignore(syscall.SIGXFSZ) // the write then fails with EFBIG
	var was syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	limit := func(n uint64) func() {
		return func() { must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: was.Max})) }
	}
	t.Cleanup(limit(was.Cur))
	return smallDisk{dir: dir, fill: limit(300 << 10), free: limit(was.Cur)}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestPingOnFullDisk checks that the next Ping reports a full disk, even directly after a successful write and while
// small writes would still succeed.
func TestPingOnFullDisk(t *testing.T) {
	disk := newSmallDisk(t)
	if !disk.mounted {
		return // only writes notice a limit on the size of files
	}
	s, err := Open(t.Context(), filepath.Join(disk.dir, "footnote.db"), Options{})
	must(t, err)
	defer s.Close()
	for n := range int64(3) {
		must(t, s.SetCursor(t.Context(), "x", n))
		must(t, s.Ping(t.Context()))
		disk.fill()
		if err := s.Ping(t.Context()); footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Errorf("ping on a full disk: %v", err)
		}
		disk.free()
	}
}

func TestDiskFull(t *testing.T) {
	disk := newSmallDisk(t)
	s, err := Open(t.Context(), filepath.Join(disk.dir, "footnote.db"), Options{})
	must(t, err)
	defer s.Close()
	const writers = 8
	acked := make([]int64, writers)
	for i := range acked {
		must(t, s.Create(t.Context(), store.Stream{
			ID: fmt.Sprint("c", i), Kind: store.Conversation, Org: "o", User: "u",
		}))
	}
	for round := range 3 {
		disk.fill()
		writeUntilFull(t, s, acked)
		for n := int64(0); s.SetCursor(t.Context(), "x", n) == nil; n++ {
			// A single page may still fit where no event does.
		}
		if err := s.Ping(t.Context()); footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Fatalf("ping on a full disk: %v", err)
		}
		checkAcked(t, s, acked) // reads still work
		disk.free()
		must(t, s.Ping(t.Context()))
		for i := range acked { // writes work again without a restart
			id := fmt.Sprint("c", i)
			_, err := s.Append(t.Context(), store.Append{
				Stream: id,
				After:  acked[i],
				Bodies: []footnote.Body{footnote.UserMessage{Text: "again"}},
			})
			if err != nil {
				t.Fatalf("round %d, append after there is space again: %v", round, err)
			}
			acked[i]++
		}
		checkAcked(t, s, acked)
	}
	must(t, s.Close())
	s, err = Open(t.Context(), filepath.Join(disk.dir, "footnote.db"), Options{})
	must(t, err)
	defer s.Close()
	checkAcked(t, s, acked)
	checkIntegrity(t, s)
}

// writeUntilFull appends to all streams concurrently until each append fails.
func writeUntilFull(t *testing.T, s *Store, acked []int64) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range acked {
		wg.Go(func() {
			for {
				_, err := s.Append(t.Context(), store.Append{Stream: fmt.Sprint("c", i), After: acked[i],
					Bodies: []footnote.Body{footnote.UserMessage{Text: strings.Repeat("x", 5000)}}})
				if err == nil {
					acked[i]++
					continue
				}
				if e, ok := errors.AsType[*footnote.Error](err); !ok || e.Code != footnote.StorageUnavailable ||
					e.RetryAfter == 0 {
					t.Errorf("append on a full disk: %v", err)
				}
				return
			}
		})
	}
	wg.Wait()
}

func checkAcked(t *testing.T, s *Store, acked []int64) {
	t.Helper()
	for i, want := range acked {
		id := fmt.Sprint("c", i)
		var n int64
		for ev, err := range s.Events(t.Context(), id, 0) {
			if n++; err != nil || ev.Seq != n {
				t.Fatalf("%s event %d has seq %d: %v", id, n, ev.Seq, err)
			}
		}
		h, err := s.Get(t.Context(), id)
		if err != nil || n != want || h.Last != want {
			t.Fatalf("%s has %d events and last %d, want %d: %v", id, n, h.Last, want, err)
		}
	}
}

// TestReadOnlyFolder opens a store as a user without write permission. Since root may write anywhere, the thread drops
// root's file rights during the call.
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o555))
	for _, path := range []string{filepath.Join(dir, "footnote.db"), filepath.Join(dir, "data", "footnote.db")} {
		var err error
		asNobody(t, func() { _, err = Open(context.Background(), path, Options{}) })
		if footnote.CodeOf(err) != footnote.StorageUnavailable ||
			!strings.Contains(footnote.MessageOf(err), "cannot be written") {
			t.Errorf("Open(%s): %v", path, err)
		}
	}
}

// asNobody runs f on a thread that accesses files as the user nobody.
func asNobody(t *testing.T, f func()) {
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0); errno != 0 {
			done <- errno
			return
		}
		f()
		done <- nil
	}()
	must(t, <-done)
}

// TestSpaceUnknown checks that a file system without block counts, such as /proc, does not count as full.
func TestSpaceUnknown(t *testing.T) {
	if err := checkSpace("/proc"); err != nil {
		t.Error(err)
	}
}
