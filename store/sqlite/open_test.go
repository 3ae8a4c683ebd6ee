package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

func TestOpenTwice(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	_, err := Open(t.Context(), filepath.Join(dir, "footnote.db"), Options{})
	if footnote.CodeOf(err) != footnote.StorageUnavailable ||
		!strings.Contains(footnote.MessageOf(err), fmt.Sprint("process ", os.Getpid(), " on ")) {
		t.Fatalf("second open: %v", err)
	}
}

// TestEmptyFile checks that Open rejects an existing empty file, which may have been truncated, but creates a missing
// one.
func TestEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "footnote.db")
	for _, want := range []bool{false, true} {
		if want {
			must(t, os.Truncate(path, 0))
			if _, err := Inspect(t.Context(), path); footnote.CodeOf(err) != footnote.StorageUnavailable ||
				!strings.Contains(footnote.MessageOf(err), "is empty") {
				t.Errorf("inspect: %v", err)
			}
		}
		empty := false
		s, err := Open(t.Context(), path, Options{Empty: func() { empty = true }})
		must(t, err)
		must(t, s.Close())
		if empty != want {
			t.Errorf("empty is %v, want %v", empty, want)
		}
		if state, err := Inspect(t.Context(), path); err != nil || state.Have != state.Want {
			t.Errorf("inspect: %+v, %v", state, err)
		}
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // Windows has no such modes
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	if err := s.Create(t.Context(), store.Stream{ID: "c", Kind: store.Conversation}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{
		".": 0o700, "..": 0o700, "footnote.db": 0o600, "footnote.db-wal": 0o600, "footnote.db-shm": 0o600,
		"footnote.db.lock": 0o600,
	} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v: %v", name, st.Mode(), want, err)
		}
	}
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{"a b", "100%", "q?x=1", "#1", "ü", "%41", "a&b", "+", ";"} {
		if runtime.GOOS == "windows" && strings.Contains(name, "?") {
			continue // not a valid name on Windows
		}
		dir := filepath.Join(t.TempDir(), name)
		path := filepath.Join(dir, name)
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		files, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*"))
		if st, err2 := os.Stat(path); err != nil || err2 != nil || st.Size() == 0 || len(files) != 1 {
			t.Errorf("%s: %v %v %v", name, files, err, err2)
		}
	}
}

// TestDurability checks the settings of every connection that writes: SQLite documents that WAL with synchronous=FULL
// syncs at each commit.
func TestDurability(t *testing.T) {
	s := open(t, t.TempDir())
	for range 2 {
		err := s.do(t.Context(), "check", &request{exec: func(ctx context.Context, w *writer) error {
			return checkDurable(ctx, w.conn)
		}})
		must(t, err)
		var failed error
		nothing := func(context.Context, *writer) error { return nil }
		again := func() { failed = s.writer.reconnect(t.Context()) }
		must(t, s.do(t.Context(), "reconnect", &request{exec: nothing, done: again}))
		must(t, failed)
	}
	if err := s.Create(t.Context(), store.Stream{ID: "c", Kind: store.Conversation}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.read.ExecContext(t.Context(), "DELETE FROM streams"); err == nil {
		t.Fatal("a connection for reading wrote")
	}
}

// TestLostConnection breaks the writer's connection in the middle of a transaction. The next write must succeed.
func TestLostConnection(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	if err := s.Create(ctx, store.Stream{ID: "c", Kind: store.Conversation}); err != nil {
		t.Fatal(err)
	}
	for i, breakIt := range []func(*writer){
		func(w *writer) { _, _ = w.conn.ExecContext(ctx, "BEGIN; UPDATE streams SET title = 'half'") },
		func(w *writer) { _ = w.conn.Close() },
	} {
		err := s.do(ctx, "break",
			&request{exec: func(_ context.Context, w *writer) error { return nil }, done: func() { breakIt(s.writer) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(ctx, store.Append{
			Stream: "c",
			After:  int64(i),
			Bodies: []footnote.Body{footnote.UserMessage{}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if h, err := s.Get(ctx, "c"); err != nil || h.Title != "" || h.Last != 2 {
		t.Fatalf("head: %+v, %v", h, err)
	}
}

// TestHardFailure puts a request that breaks the transaction into one batch with others. Only that request may fail,
// and a rejected request must still be rejected when the batch is retried.
func TestHardFailure(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	must(t, s.Create(ctx, store.Stream{ID: "c1", Kind: "k"}))
	create := func(id string) func(context.Context, *writer) error {
		return func(ctx context.Context, w *writer) error {
			_, err := w.create(ctx, store.Stream{ID: id, Kind: "k"}, time.Now(), 0, store.Change{})
			return err
		}
	}
	broken := func(ctx context.Context, w *writer) error {
		if err := create("half")(ctx, w); err != nil {
			return err
		}
		_, err := w.conn.ExecContext(ctx, "INSERT INTO nowhere VALUES (1)")
		return err
	}
	// The first request keeps the writer busy, so that the others become one batch.
	writing, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.do(ctx, "wait",
			&request{exec: func(context.Context, *writer) error { close(writing); <-goOn; return nil }})
	})
	<-writing
	errs := make([]error, 5)
	for i := range errs {
		exec := create(fmt.Sprint("c", i))
		if i == 2 {
			exec = broken
		}
		wg.Go(func() { errs[i] = s.do(ctx, "batch", &request{exec: exec}) })
		for s.queue.Len() <= i {
			runtime.Gosched()
		}
	}
	close(goOn)
	wg.Wait()
	for i, err := range errs {
		if (err != nil) != (i == 1 || i == 2) || i == 1 && footnote.CodeOf(err) != footnote.Conflict {
			t.Errorf("request %d: %v", i, err)
		}
		if _, err := s.Get(ctx, fmt.Sprint("c", i)); (err != nil) != (i == 2) {
			t.Errorf("stream %d: %v", i, err)
		}
	}
	if _, err := s.Get(ctx, "half"); footnote.CodeOf(err) != footnote.NotFound {
		t.Errorf("half of a request was written: %v", err)
	}
}

// TestRefusedFiles checks that Open rejects damaged files and files of other programs and versions.
func TestRefusedFiles(t *testing.T) {
	other := func(path, script string) error {
		db, err := sql.Open("sqlite", dsn(path, nil))
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.Exec(script)
		return err
	}
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"newer": {func(p string) error { return other(p, "PRAGMA user_version = 99") }, "newer version"},
		"foreign": {
			func(p string) error {
				return other(p, "CREATE TABLE songs (title); PRAGMA application_id = 0")
			}, "another program",
		},
		"text": {
			func(p string) error {
				return os.WriteFile(p, bytes.Repeat([]byte("not a database. "), 1000), 0o600)
			}, "damaged",
		},
		"folder": {func(p string) error { return os.Mkdir(p, 0o700) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "footnote.db")
			if name == "newer" {
				s, err := Open(t.Context(), path, Options{})
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
			}
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the lock is released after a failure
				_, err := Open(t.Context(), path, Options{})
				if footnote.CodeOf(err) != footnote.StorageUnavailable ||
					!strings.Contains(footnote.MessageOf(err), c.want) {
					t.Fatalf("open: %v", err)
				}
			}
		})
	}
}

// TestDamagedFile overwrites pages after the header.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "footnote.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), store.Stream{ID: "c", Kind: store.Conversation}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const pageSize = 4096
	for i := 2 * pageSize; i < len(data); i++ {
		data[i] = 0xa5
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), path, Options{})
	if err == nil {
		defer s.Close()
		_, err = s.Get(t.Context(), "c")
	}
	if footnote.CodeOf(err) != footnote.StorageUnavailable || !strings.Contains(footnote.MessageOf(err), "damaged") {
		t.Fatalf("a damaged file: %v", err)
	}
}

// TestMovedFile moves the file away from a running store. The store must stop writing, because the events would be
// lost.
func TestMovedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // Windows does not let an open file be moved
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "footnote.db")
	s := open(t, dir)
	if err := s.Create(t.Context(), store.Stream{ID: "c", Kind: store.Conversation}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Append(t.Context(), store.Append{Stream: "c", Bodies: []footnote.Body{footnote.UserMessage{}}})
	if footnote.CodeOf(err) != footnote.StorageUnavailable || !strings.Contains(footnote.MessageOf(err), "moved") {
		t.Fatalf("append: %v", err)
	}
	if err := s.Ping(t.Context()); footnote.CodeOf(err) != footnote.StorageUnavailable {
		t.Fatalf("ping: %v", err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), store.Append{
		Stream: "c",
		Bodies: []footnote.Body{footnote.UserMessage{}},
	}); err != nil {
		t.Fatal(err)
	}
}

// TestDeleteLeavesNothing checks that the bytes of the files contain no deleted text.
func TestDeleteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	ctx := t.Context()
	secret := []byte("very-secret-words")
	big := bytes.Repeat(secret, 2000)
	st := store.Stream{ID: "c", Kind: store.Conversation, Title: string(secret), ClientID: string(secret)}
	if _, err := s.CreateAppend(ctx, st,
		store.Append{Bodies: []footnote.Body{
			footnote.UserMessage{Text: string(secret)}, footnote.UserMessage{Text: string(big)},
		},
			Blobs: map[footnote.Digest][]byte{footnote.DigestOf(big): big}}); err != nil {
		t.Fatal(err)
	}
	found := func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, ".db") {
				if bytes.Contains(data, secret) {
					return true
				}
			}
		}
		return false
	}
	if !found() {
		t.Fatal("the text is not in the files before the deletion")
	}
	if err := s.Delete(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	// The writer empties the WAL before it takes the next request.
	if err := s.SetCursor(ctx, "x", 1); err != nil {
		t.Fatal(err)
	}
	if found() {
		t.Fatal("the deleted text is still in the files")
	}
}

// TestClock checks that leases expire by the clock in Options.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir())
		ctx := t.Context()
		a := store.Append{
			Stream: "c", Run: "r", Bodies: []footnote.Body{footnote.RunStarted{}},
			Take: &footnote.Take{Owner: "me", TTL: time.Minute},
		}
		events, err := s.CreateAppend(ctx, store.Stream{ID: "c", Kind: store.Conversation}, a)
		if err != nil || !events[0].Time.Equal(time.Now()) {
			t.Fatalf("events: %v, %v", events, err)
		}
		a = store.Append{Stream: "c", After: 1, Lease: 1, Bodies: []footnote.Body{footnote.UserMessage{}}}
		time.Sleep(time.Minute - time.Nanosecond)
		if _, err := s.Append(ctx, a); err != nil {
			t.Fatal(err)
		}
		if heads, err := s.Unfinished(ctx, time.Now(), 1); err != nil || len(heads) != 0 {
			t.Fatalf("want no expired lease: %v, %v", heads, err)
		}
		time.Sleep(time.Nanosecond)
		a.After = 2
		if _, err := s.Append(ctx, a); footnote.CodeOf(err) != footnote.Conflict {
			t.Fatalf("append under an expired lease: %v", err)
		}
		if heads, err := s.Unfinished(ctx, time.Now(), 1); err != nil || len(heads) != 1 {
			t.Fatalf("want an expired lease: %v, %v", heads, err)
		}
	})
}

// TestCloseWaits closes the store during many writes. Each append must either be stored or fail.
func TestCloseWaits(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "footnote.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		id   string
		last int64
		err  error
	}
	results := make(chan result)
	started := make(chan struct{}, 16)
	for i := range 16 {
		go func() {
			id := fmt.Sprint("c", i)
			err := s.Create(context.Background(), store.Stream{ID: id, Kind: store.Conversation})
			started <- struct{}{}
			var last int64
			for err == nil {
				if _, err = s.Append(context.Background(), store.Append{
					Stream: id,
					After:  last,
					Bodies: []footnote.Body{footnote.UserMessage{}},
				}); err == nil {
					last++
				}
			}
			results <- result{id, last, err}
		}()
	}
	for range 16 {
		<-started
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for range 16 {
		r := <-results
		if footnote.CodeOf(r.err) != footnote.StorageUnavailable {
			t.Errorf("append to a closed store: %v", r.err)
		}
		want[r.id] = r.last
	}
	s = open(t, dir)
	for id, last := range want {
		if h, err := s.Get(t.Context(), id); err != nil || h.Last != last {
			t.Errorf("%s ends at %d, want %d: %v", id, h.Last, last, err)
		}
	}
}
