package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool/workspace"
)

// diffBytes returns the size of the diffs of changes.
func diffBytes(changes []footnote.WorkspaceChanged) (n int) {
	for _, c := range changes {
		n += len(c.Diff)
	}
	return n
}

// putTemplate writes a file of the template.
func (b *bench) putTemplate(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.folder, workspace.Template, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// TestManyDifferencesOfATemplate checks that every file of a large template is recorded, whatever diffs fit.
func TestManyDifferencesOfATemplate(t *testing.T) {
	for size, files := range map[int]int{9_000: 130, 60_000: 20, 70_000: 20} { // a little more than fits
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			b := newBench(t)
			line := strings.Repeat("x", 99) + "\n"
			for i := range files {
				b.putTemplate(fmt.Sprintf("d/n%d.txt", i), strings.Repeat(line, size/100))
			}
			b.ok("Read", in{"file_path": "d/n7.txt"})
			h := b.history()
			if n := diffBytes(h); len(h) != files || n > 1<<20 || n == 0 {
				t.Errorf("%d changes with %d bytes of diffs", len(h), n)
			}
		})
	}
}

// brokenLog is a log whose appends may fail.
type brokenLog struct {
	store.Store
	breaks func() error // called before each append
}

func (l *brokenLog) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	if err := l.breaks(); err != nil {
		return nil, err
	}
	return l.Store.Append(ctx, a)
}

func (l *brokenLog) CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error) {
	if err := l.breaks(); err != nil {
		return nil, err
	}
	return l.Store.CreateAppend(ctx, s, a)
}

// attempt makes a call that may fail or panic.
func (b *bench) attempt(name string, input in) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	_, err = b.callIn(b.t.Context(), name, input)
	return err
}

// TestRecordsMissingFromLogAreRetried checks that changes missing from the log are recorded by the next call, whether
// the log failed or something panicked.
func TestRecordsMissingFromLogAreRetried(t *testing.T) {
	for name, fault := range map[string]func() error{
		"error": func() error { return errors.New("no log") },
		"panic": func() error { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			broken := false
			log := &brokenLog{Store: sqlitetest.New(t), breaks: func() error {
				if broken {
					return fault()
				}
				return nil
			}}
			b := newBench(t, func(o *workspace.Options) { o.Log = log })
			b.log = log.Store
			b.putTemplate("a.txt", "template\n")
			broken = true
			if err := b.attempt("Write", in{"file_path": "b.txt", "content": "b\n"}); err == nil {
				t.Fatal("a template was copied without a log")
			}
			broken = false
			b.ok("Write", in{"file_path": "b.txt", "content": "b\n"})
			broken = true
			if err := b.attempt("Write", in{"file_path": "c.txt", "content": "c\n"}); err == nil {
				t.Fatal("a file was written without a log")
			}
			broken = false
			b.ok("Read", in{"file_path": "c.txt"})
			b.ok("Edit", in{"file_path": "c.txt", "old_string": "c", "new_string": "d"})
			b.ok("Read", in{"file_path": "a.txt"})
			b.ok("Edit", in{"file_path": "a.txt", "old_string": "template", "new_string": "mine"})
			var got []string
			for _, c := range b.history() {
				got = append(got, c.Op+" "+c.Path+" by "+c.Tool)
			}
			want := "create b.txt by Write, create c.txt by outside, write c.txt by Edit, " +
				"create a.txt by outside, write a.txt by Edit"
			if s := strings.Join(got, ", "); s != want {
				t.Errorf("recorded: %s\nwant %s", s, want)
			}
		})
	}
}

// forgetfulLog cannot read contents while it is unavailable.
type forgetfulLog struct {
	store.Store
	away bool
}

func (l *forgetfulLog) Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error) {
	if l.away {
		return nil, footnote.Errorf(footnote.StorageUnavailable, "away")
	}
	return l.Store.Blob(ctx, stream, d)
}

// TestRestoreIsAtomic checks that a lost folder is restored in full or not at all: a file that is missing from an
// existing folder would count as deleted.
func TestRestoreIsAtomic(t *testing.T) {
	log := &forgetfulLog{Store: sqlitetest.New(t)}
	b := newBench(t, func(o *workspace.Options) { o.Log = log })
	b.log = log
	for _, name := range []string{"a", "b", "c"} {
		b.ok("Write", in{"file_path": name, "content": name})
	}
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(b.folder, ".new-"+conversation) // as a killed server leaves it
	if err := os.MkdirAll(filepath.Join(left, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	log.away = true
	if err := b.attempt("Read", in{"file_path": "a"}); footnote.CodeOf(err) != footnote.StorageUnavailable {
		t.Errorf("without its log: %v", err)
	}
	if _, err := os.Stat(b.dir); !os.IsNotExist(err) {
		t.Errorf("there is a folder: %v", err)
	}
	log.away = false
	b.ok("Read", in{"file_path": "a"})
	if entries, err := os.ReadDir(b.dir); err != nil || len(entries) != 3 {
		t.Errorf("restored: %v, %v", entries, err)
	}
	if entries, err := os.ReadDir(b.folder); err != nil || len(entries) != 1 {
		t.Errorf("folders: %v, %v", entries, err)
	}
}
