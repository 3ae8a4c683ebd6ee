package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// fillWith adds a stream with a number of random megabytes to a store.
func fillWith(t *testing.T, s *Store, id string, megabytes int) (digests []footnote.Digest) {
	t.Helper()
	a := store.Append{Bodies: []footnote.Body{footnote.UserMessage{Text: "x"}}, Blobs: map[footnote.Digest][]byte{}}
	for range megabytes {
		data := make([]byte, 1<<20)
		_, _ = rand.Read(data) // never fails
		d := footnote.DigestOf(data)
		a.Blobs[d], digests = data, append(digests, d)
	}
	if _, err := s.CreateAppend(t.Context(), store.Stream{
		ID: id, Kind: "document", Org: "o", User: "u",
	}, a); err != nil {
		t.Fatal(err)
	}
	return digests
}

// shrinksTo waits until the file and its WAL have at most maxBytes.
func shrinksTo(t *testing.T, path string, maxBytes int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	size := int64(-1)
	for ctx.Err() == nil {
		size = 0
		for _, name := range []string{path, path + "-wal"} {
			if info, err := os.Stat(name); err == nil {
				size += info.Size()
			}
		}
		if size <= maxBytes {
			return
		}
		runtime.Gosched()
	}
	t.Fatalf("the file has %d bytes, want at most %d", size, maxBytes)
}

func TestFileShrinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "footnote.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fillWith(t, s, "first", 8)
	digests := fillWith(t, s, "second", 24)
	fillWith(t, s, "third", 8) // its pages are after the deleted ones and must be moved
	if info, err := os.Stat(path); err != nil || info.Size() < 24<<20 {
		t.Fatalf("size before deleting: %v, %v", info, err)
	}
	if err := s.DropBlobs(t.Context(), "second", digests[:12]); err != nil {
		t.Fatal(err)
	}
	shrinksTo(t, path, 32<<20)
	if err := s.Delete(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	shrinksTo(t, path, 20<<20)
	if sizes, err := s.Blobs(t.Context(), "third"); err != nil || len(sizes) != 8 {
		t.Errorf("the third stream has %d blobs, %v", len(sizes), err)
	}
	var ok string
	if err := s.read.QueryRow("PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		t.Errorf("the file is %s, %v", ok, err)
	}
}

// TestOlderFilesShrink checks that a file of an earlier release, which cannot shrink, is rewritten when it is
// opened, with the same content.
func TestOlderFilesShrink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "footnote.db")
	open := func() *Store {
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	fillWith(t, s, "first", 4)
	fillWith(t, s, "second", 16)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"PRAGMA journal_mode = DELETE", "PRAGMA auto_vacuum = 0", "VACUUM"} {
		if _, err := db.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	if state, err := Inspect(t.Context(), path); err != nil || !state.Compacts {
		t.Fatalf("the old file can already shrink: %+v, %v", state, err)
	}
	if err := s.Delete(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	shrinksTo(t, path, 7<<20)
	if sizes, err := s.Blobs(t.Context(), "first"); err != nil || len(sizes) != 4 {
		t.Errorf("the first stream has %d blobs, %v", len(sizes), err)
	}
}

// TestFileShrinksAfterAbandonedWrite checks that the writer returns free pages even if the caller of a queued write has
// left.
func TestFileShrinksAfterAbandonedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "footnote.db")
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	defer s.Close()
	digests := fillWith(t, s, "first", 24)

	busy, release := make(chan struct{}), make(chan struct{})
	dropped := make(chan error, 1)
	go func() {
		dropped <- s.do(t.Context(), "drop blobs", &request{
			exec: func(ctx context.Context, w *writer) error {
				for _, d := range digests {
					if _, err := w.stmts.dropRef.ExecContext(ctx, 1, d); err != nil {
						return err
					}
					if _, err := w.stmts.dropBlob.ExecContext(ctx, d); err != nil {
						return err
					}
				}
				return nil
			},
			done: func() {
				s.writer.deleted, s.writer.spare = true, true
				close(busy)
				<-release
			},
		})
	}()
	<-busy
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { gone <- s.Delete(ctx, "first") }()
	for s.queue.Len() == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-gone; err == nil {
		t.Error("a caller who left has no error")
	}
	close(release)
	must(t, <-dropped)
	shrinksTo(t, path, 8<<20)
	must(t, s.Delete(t.Context(), "first")) // the writer still works
}
