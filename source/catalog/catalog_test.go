package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/catalog"
)

var (
	ada = footnote.Principal{Org: "acme", User: "ada"}
	bob = footnote.Principal{Org: "acme", User: "bob"}
	// Another org's ada. Her org and user, concatenated, equal ada's.
	adb = footnote.Principal{Org: "acm", User: "eada"}
)

// file is a source that contains the text of a file.
type file struct {
	source.Source
	text   string
	closed atomic.Bool
}

func (f *file) Dialect() *source.Dialect { return &source.Dialect{Name: "sqlite"} }
func (f *file) Schema(context.Context) (source.Schema, error) {
	return source.Schema{Tables: []source.Table{{Name: "t", Rows: int64(len(f.text))}}}, nil
}
func (f *file) Close() error { f.closed.Store(true); return nil }

// open reads files. A file that says "bad" cannot be opened.
func open(_ context.Context, name, path, scratch string) (source.Source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if string(data) == "bad" {
		return nil, footnote.Errorf(footnote.DatabaseUnavailable, "database %s: it is bad.", name)
	}
	return &file{text: string(data)}, os.WriteFile(filepath.Join(scratch, "loaded"), data, 0o600)
}

func newCatalog(t *testing.T, folder string, change ...func(*catalog.Options)) *catalog.Catalog {
	t.Helper()
	o := catalog.Options{Fixed: map[string]source.Source{"shop": &file{}}, Open: open, Folder: folder, Shared: true}
	for _, f := range change {
		f(&o)
	}
	c, err := catalog.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func add(t *testing.T, c *catalog.Catalog, p footnote.Principal, name, text string) catalog.Entry {
	t.Helper()
	e, err := c.Add(t.Context(), p, name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func names(c *catalog.Catalog, p footnote.Principal) string {
	var list []string
	for _, e := range c.List(p) {
		list = append(list, e.Name)
	}
	return strings.Join(list, " ")
}

// files lists the files below a folder.
func files(t *testing.T, folder string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, " ")
}

func TestUploadIsVisibleOnlyToOwner(t *testing.T) {
	c := newCatalog(t, t.TempDir())
	e := add(t, c, ada, "Sales 2026.csv", "a,b")
	if !e.Uploaded || e.Engine != "sqlite" || e.Tables != 1 || e.Rows != 3 ||
		!strings.HasPrefix(e.Name, "sales_2026_") {
		t.Errorf("upload: %+v", e)
	}
	if got := names(c, ada); got != "shop "+e.Name {
		t.Error(got)
	}
	for _, p := range []footnote.Principal{bob, adb} {
		if got := names(c, p); got != "shop" {
			t.Errorf("%v sees %s", p, got)
		}
		_, errFound := c.Find(p, e.Name)
		_, errMissing := c.Find(p, "nothing")
		if footnote.CodeOf(errFound) != footnote.NotFound ||
			strings.ReplaceAll(errFound.Error(), e.Name, "nothing") != errMissing.Error() {
			t.Errorf("%v finds it: %v, and a missing one: %v", p, errFound, errMissing)
		}
		if _, err := c.Choose(p, []string{e.Name}); footnote.CodeOf(err) != footnote.InvalidRequest ||
			strings.Contains(err.Error(), "are: shop, ") {
			t.Errorf("%v chooses it: %v", p, err)
		}
		if err := c.Remove(p, e.Name); footnote.CodeOf(err) != footnote.NotFound {
			t.Errorf("%v removes it: %v", p, err)
		}
		if other := add(t, c, p, "Sales 2026.csv", "x"); other.Name == e.Name || strings.HasSuffix(other.Name, "_2") {
			t.Errorf("the name %s reveals that another user has the file", other.Name)
		}
	}
	if src, err := c.Find(ada, e.Name); err != nil || src.(*file).text != "a,b" {
		t.Errorf("ada finds %v, %v", src, err)
	}
}

func TestChoose(t *testing.T) {
	c := newCatalog(t, t.TempDir(), func(o *catalog.Options) { o.Shared = false })
	add(t, c, ada, "a.csv", "1")
	for _, tc := range []struct{ asked, want string }{{"", "shop a"}, {"a", "a"}, {"a shop a", "a shop"}} {
		got, err := c.Choose(ada, strings.Fields(tc.asked))
		if err != nil || strings.Join(got, " ") != tc.want {
			t.Errorf("%q gives %v, %v; want %s", tc.asked, got, err, tc.want)
		}
	}
	c = newCatalog(t, t.TempDir(), func(o *catalog.Options) { o.Fixed, o.Shared = nil, false })
	add(t, c, ada, "a.csv", "1")
	if got, err := c.Choose(ada, nil); err != nil || strings.Join(got, " ") != "a" {
		t.Errorf("without configured sources: %v, %v", got, err)
	}
}

func TestUploadsSurviveRestart(t *testing.T) {
	folder := t.TempDir()
	first := newCatalog(t, folder)
	e := add(t, first, ada, "a.csv", "abc")
	gone := add(t, first, ada, "b.csv", "abc")
	if err := first.Remove(ada, gone.Name); err != nil {
		t.Fatal(err)
	}
	// An interrupted upload leaves a file without its description.
	torn := filepath.Join(filepath.Dir(filepath.Dir(folderOf(t, folder, e.Name))), "x", "torn")
	if err := os.MkdirAll(torn, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(torn, "torn.csv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var opened atomic.Int32
	second := newCatalog(t, folder, func(o *catalog.Options) {
		o.Open = func(ctx context.Context, name, path, scratch string) (source.Source, error) {
			opened.Add(1)
			return open(ctx, name, path, scratch)
		}
	})
	if got := second.List(ada); len(got) != 2 || got[1] != e || opened.Load() != 0 {
		t.Errorf("%+v, %d opened", got, opened.Load())
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if src, err := second.Source(e.Name); err != nil || src.(*file).text != "abc" {
				t.Error(src, err)
			}
		})
	}
	wg.Wait()
	if opened.Load() != 1 {
		t.Errorf("opened %d times", opened.Load())
	}
	if got := files(t, folder); strings.Contains(got, "torn") || strings.Contains(got, "b.csv") {
		t.Errorf("there still is %s", got)
	}
	if strings.Contains(fmt.Sprint(filepathsOf(t, folder)), "ada") {
		t.Error("a path contains a user's name")
	}
}

func filepathsOf(t *testing.T, folder string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		list = append(list, strings.TrimPrefix(path, folder))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func folderOf(t *testing.T, root, name string) string {
	t.Helper()
	for _, path := range filepathsOf(t, root) {
		if filepath.Base(path) == name {
			return filepath.Join(root, path)
		}
	}
	t.Fatal("no folder of", name)
	return ""
}

func TestHostileNames(t *testing.T) {
	folder := t.TempDir()
	c := newCatalog(t, folder, func(o *catalog.Options) { o.Shared = false; o.MaxFiles = 100 })
	for name, want := range map[string]string{
		"../../etc/passwd.csv": "passwd", `..\..\boot.csv`: "boot", "a\x00b.csv": "a_b", ".csv": "data",
		"....csv":        "data",
		"a?b#c%2f:d.csv": "a_b_c_2f_d", strings.Repeat("x", 300) + ".csv": strings.Repeat("x", 48),
		"SHOP.csv": "shop_2",
		"日本.csv":   "日本", "\xff\xfe.csv": "data_2", "con fig.CSV": "con_fig", "-rf.csv": "rf", "about.json": "about",
	} {
		e, err := c.Add(t.Context(), ada, name, strings.NewReader("1"))
		if err != nil || e.Name != want && !strings.HasPrefix(e.Name, "data") {
			t.Errorf("%q: %+v, %v; want %s", name, e, err, want)
		}
	}
	for _, path := range filepathsOf(t, folder) {
		if strings.Contains(path, "..") || strings.ContainsAny(path, "?#%:\\") {
			t.Errorf("there is %q", path)
		}
	}
	for _, name := range []string{"", "x", "x.exe", "x.csv.sh", "x.csv/"} {
		if _, err := c.Add(t.Context(), ada, name,
			strings.NewReader("1")); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestFileCannotReplaceDescription checks that a file with the name of the catalog's own files is kept like any other.
func TestFileCannotReplaceDescription(t *testing.T) {
	c := newCatalog(t, t.TempDir(), func(o *catalog.Options) { o.Shared = false })
	for _, name := range []string{"about.json", "upload.json", "loaded.json"} {
		e := add(t, c, ada, name, "mine")
		if src, err := c.Source(e.Name); err != nil || src.(*file).text != "mine" || e.Rows != 4 {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func TestRefusedUploadLeavesNoFiles(t *testing.T) {
	folder := t.TempDir()
	c := newCatalog(t, folder, func(o *catalog.Options) {
		o.MaxBytes, o.MaxTotal, o.MaxFiles, o.Shared = 10, 15, 2, false
	})
	broken := errors.New("the client has gone")
	for _, tc := range []struct {
		what    string
		content io.Reader
		want    footnote.Code
	}{
		{"bad", strings.NewReader("bad"), footnote.InvalidRequest},
		{"large", strings.NewReader("12345678901"), footnote.TooLarge},
		{"broken", io.MultiReader(strings.NewReader("123"), failing{broken}), footnote.Internal},
	} {
		_, err := c.Add(t.Context(), ada, "a.csv", tc.content)
		if footnote.CodeOf(err) != tc.want || tc.want == footnote.Internal && !errors.Is(err, broken) {
			t.Errorf("%s: %v", tc.what, err)
		}
		if tc.what == "bad" && !strings.HasPrefix(err.Error(), "The file cannot be used: it is bad.") {
			t.Errorf("a bad file is refused with %q", err)
		}
		if got := files(t, folder); got != "" || names(c, ada) != "shop" {
			t.Errorf("%s leaves %s, %s", tc.what, got, names(c, ada))
		}
	}
	add(t, c, ada, "a.csv", "1234567890")
	if _, err := c.Add(t.Context(), ada, "b.csv",
		strings.NewReader("123456")); footnote.CodeOf(err) != footnote.TooLarge {
		t.Errorf("a file beyond MaxTotal: %v", err)
	}
	add(t, c, ada, "b.csv", "12345")
	if _, err := c.Add(t.Context(), ada, "c.csv", strings.NewReader("1")); footnote.CodeOf(err) != footnote.Conflict {
		t.Errorf("a third file: %v", err)
	}
	add(t, c, bob, "a.csv", "1") // bob has his own limits
	if err := c.Remove(ada, "a"); err != nil {
		t.Fatal(err)
	}
	add(t, c, ada, "c.csv", "1")
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestRemoveClosesAndDeletes(t *testing.T) {
	folder := t.TempDir()
	c := newCatalog(t, folder)
	e := add(t, c, ada, "a.csv", "1")
	src, err := c.Find(ada, e.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(ada, e.Name); err != nil {
		t.Fatal(err)
	}
	if !src.(*file).closed.Load() || files(t, folder) != "" {
		t.Errorf("closed: %v; there still is %s", src.(*file).closed.Load(), files(t, folder))
	}
	if _, err := c.Source(e.Name); footnote.CodeOf(err) != footnote.NotFound {
		t.Error(err)
	}
}

// TestOwnerOpensOneFileAtATime checks that each owner has at most one file opened at a time.
func TestOwnerOpensOneFileAtATime(t *testing.T) {
	begun, resume := make(chan string), make(chan struct{})
	c := newCatalog(t, t.TempDir(), func(o *catalog.Options) {
		o.Open = func(ctx context.Context, name, path, scratch string) (source.Source, error) {
			begun <- name
			<-resume
			return open(ctx, name, path, scratch)
		}
	})
	done := make(chan error, 3)
	send := func(p footnote.Principal, name string) {
		_, err := c.Add(t.Context(), p, name, strings.NewReader("x"))
		done <- err
	}
	go send(ada, "one.csv")
	<-begun
	go send(ada, "two.csv")
	go send(bob, "three.csv")
	if name := <-begun; !strings.HasPrefix(name, "three") {
		t.Errorf("%s is opened beside another one of its owner", name)
	}
	resume <- struct{}{}
	resume <- struct{}{}
	if name := <-begun; !strings.HasPrefix(name, "two") {
		t.Errorf("%s is opened last", name)
	}
	resume <- struct{}{}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestBusyServerAsksToRetry checks that Add asks the user to retry, and does not blame the file, when memory is short.
func TestBusyServerAsksToRetry(t *testing.T) {
	c := newCatalog(t, t.TempDir(), func(o *catalog.Options) {
		o.Open = func(context.Context, string, string, string) (source.Source, error) {
			return nil, &footnote.Error{
				Code:       footnote.RateLimited,
				Message:    "database x: busy",
				RetryAfter: time.Second,
			}
		}
	})
	_, err := c.Add(t.Context(), ada, "a.csv", strings.NewReader("x"))
	e, ok := errors.AsType[*footnote.Error](err)
	if !ok || e.Code != footnote.RateLimited || e.RetryAfter != time.Second ||
		strings.Contains(e.Message, "database x") {
		t.Errorf("want rate_limited without the name of the database: %v", err)
	}
}

func TestUploadsTurnedOff(t *testing.T) {
	c := newCatalog(t, "")
	if _, err := c.Add(t.Context(), ada, "a.csv", strings.NewReader("1")); footnote.CodeOf(err) != footnote.Forbidden {
		t.Error(err)
	}
	if _, ok := c.Uploads(); ok || names(c, ada) != "shop" {
		t.Error("it reports that files can be added")
	}
}

func TestWritableUploadKeepsItsError(t *testing.T) {
	c := newCatalog(t, t.TempDir(), func(o *catalog.Options) {
		o.Open = func(context.Context, string, string, string) (source.Source, error) {
			return nil, fmt.Errorf("source x: %w", source.ErrWritable)
		}
	})
	if _, err := c.Add(t.Context(), ada, "a.csv", strings.NewReader("1")); !errors.Is(err, source.ErrWritable) ||
		footnote.CodeOf(err) != footnote.Internal {
		t.Error(err)
	}
}

// TestCloseDoesNotWaitForOpening checks that Close does not wait for a file that takes long to open.
func TestCloseDoesNotWaitForOpening(t *testing.T) {
	folder := t.TempDir()
	first := newCatalog(t, folder)
	name := add(t, first, ada, "slow.csv", "a,b").Name
	begun := make(chan struct{})
	c, err := catalog.New(catalog.Options{Folder: folder, Shared: true,
		Open: func(ctx context.Context, _, _, _ string) (source.Source, error) {
			close(begun)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() { _, err := c.Source(name); opened <- err }()
	<-begun
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-opened; footnote.CodeOf(err) != footnote.DatabaseUnavailable {
		t.Error(err)
	}
}

func text(t *testing.T, c *catalog.Catalog, name string) string {
	t.Helper()
	src, err := c.Find(ada, name)
	if err != nil {
		t.Fatal(err)
	}
	return src.(*file).text
}

// TestChange replaces an upload and appends to it. Whatever is left of an interrupted change, the next start has either
// the old version or the new one, and nothing else.
func TestChange(t *testing.T) {
	folder := t.TempDir()
	c := newCatalog(t, folder)
	e := add(t, c, ada, "lines.jsonl", "1\n")
	first, err := c.Find(ada, e.Name)
	if err != nil {
		t.Fatal(err)
	}
	where, _ := filepath.Glob(filepath.Join(folder, "*", "*", e.Name))
	copied := func() string { // the upload as it is on disk
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		return to
	}
	check := func(folder, want string) {
		t.Helper()
		c := newCatalog(t, folder)
		if got := text(t, c, e.Name); got != want {
			t.Errorf("the text is %q, want %q", got, want)
		}
		var files []string
		_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, _ error) error {
			if !d.IsDir() {
				files = append(files, filepath.Base(path))
			}
			return nil
		})
		if len(files) != 3 { // the description, the file and what the engine made of it
			t.Errorf("left over: %v", files)
		}
	}
	// The new file has arrived, but its description has not.
	half := copied()
	inside := strings.Replace(where[0], folder, half, 1)
	for _, dir := range []string{"1/loaded", "appended/loaded"} {
		if err := os.MkdirAll(filepath.Join(inside, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(inside, "1", "lines.jsonl"), []byte("ne"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(half, "1\n")
	if _, err := c.Replace(t.Context(), ada, e.Name, "other.jsonl", strings.NewReader("2\n3")); err != nil {
		t.Fatal(err)
	}
	if got := text(t, c, e.Name); got != "2\n3" || !first.(*file).closed.Load() {
		t.Errorf("replaced: %q", got)
	}
	// The description is the new one, but the old files are still there.
	both := copied()
	if err := os.CopyFS(strings.Replace(where[0], folder, both, 1), os.DirFS(inside)); !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(strings.Replace(where[0], folder, both, 1), "lines.jsonl"), nil,
		0o600); err != nil {
		t.Fatal(err)
	}
	check(both, "2\n3")
	for _, tc := range []struct{ filename, content, words string }{
		{"x.jsonl", "bad", "it is bad"}, {"x.csv", "4", "same kind"},
		{"x.jsonl", "4\n", "do not fit together: 3 and 2"},
	} { // the source of these tests counts bytes, not rows, and a line break was missing
		if _, err := c.Append(t.Context(), ada, e.Name, tc.filename, strings.NewReader(tc.content)); err == nil ||
			!strings.Contains(footnote.MessageOf(err), tc.words) {
			t.Errorf("append %s: %v", tc.filename, err)
		}
	}
	check(copied(), "2\n3")
	if _, err := c.Replace(t.Context(), ada, e.Name, "x.jsonl", strings.NewReader("5\n")); err != nil {
		t.Fatal(err)
	}
	after, err := c.Append(t.Context(), ada, e.Name, "x.jsonl", strings.NewReader("6\n"))
	if err != nil || text(t, c, e.Name) != "5\n6\n" || after.Changed.IsZero() || after.Rows != 4 {
		t.Errorf("appended: %+v, %v", after, err)
	}
	check(copied(), "5\n6\n")
	for _, p := range []footnote.Principal{bob, adb} {
		_, err1 := c.Replace(t.Context(), p, e.Name, "x.jsonl", strings.NewReader("7"))
		_, err2 := c.Append(t.Context(), p, e.Name, "x.jsonl", strings.NewReader("7"))
		if footnote.CodeOf(err1) != footnote.NotFound || footnote.CodeOf(err2) != footnote.NotFound ||
			!c.Changed(p, e.Name).IsZero() {
			t.Errorf("%v may change an upload of somebody else: %v, %v", p, err1, err2)
		}
	}
	if _, err := c.Replace(t.Context(), ada, "shop", "x.jsonl", nil); footnote.CodeOf(err) != footnote.NotFound {
		t.Errorf("a configured source was replaced: %v", err)
	}
}

// TestChangeBounds checks that a change counts against the space of its owner, and that one upload has one at a time.
func TestChangeBounds(t *testing.T) {
	c := newCatalog(t, t.TempDir(), func(o *catalog.Options) { o.MaxBytes, o.MaxTotal = 10, 15 })
	e, other := add(t, c, ada, "a.jsonl", "12345678"), add(t, c, ada, "b.jsonl", "12345")
	replace := func(content io.Reader) error {
		_, err := c.Replace(t.Context(), ada, e.Name, "a.jsonl", content)
		return err
	}
	if err := replace(strings.NewReader("12345678901")); footnote.CodeOf(err) != footnote.TooLarge {
		t.Errorf("a file that is too large: %v", err)
	}
	_, err := c.Replace(t.Context(), ada, other.Name, "b.jsonl", strings.NewReader("12345678"))
	if footnote.CodeOf(err) != footnote.TooLarge {
		t.Errorf("more than all files may have: %v", err)
	}
	r, w := io.Pipe()
	done := make(chan error)
	go func() { done <- replace(r) }()
	_, _ = w.Write([]byte("1"))
	if err := replace(strings.NewReader("2")); footnote.CodeOf(err) != footnote.Conflict {
		t.Errorf("two changes at once: %v", err)
	}
	if err := c.Remove(ada, e.Name); footnote.CodeOf(err) != footnote.Conflict {
		t.Errorf("deleted while it changes: %v", err)
	}
	w.Close()
	if err := <-done; err != nil || text(t, c, e.Name) != "1" {
		t.Error(err)
	}
	if err := replace(strings.NewReader("1234567890")); err != nil {
		t.Errorf("the space of the old version is not free again: %v", err)
	}
	if err := c.Remove(ada, e.Name); err != nil {
		t.Error(err)
	}
}
