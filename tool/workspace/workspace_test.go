package workspace_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/sandbox"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/tooltest"
	"github.com/footnotehq/footnote/tool/workspace"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// bench is one conversation's workspace under test.
type bench struct {
	t      *testing.T
	log    store.Store
	folder string
	spaces *workspace.Workspaces
	dir    string // the conversation's folder
	calls  int
	in     string // the conversation that calls belong to; "" means conversation
}

const conversation = "conv-1"

func newBench(t *testing.T, change ...func(*workspace.Options)) *bench {
	t.Helper()
	b := &bench{t: t, log: sqlitetest.New(t), folder: filepath.Join(t.TempDir(), "workspaces")}
	b.dir = filepath.Join(b.folder, conversation)
	b.start(change...)
	return b
}

// start opens the workspaces, as a server does when it starts or restarts.
func (b *bench) start(change ...func(*workspace.Options)) {
	b.t.Helper()
	o := workspace.Options{Folder: b.folder, Log: b.log, Commands: true, Time: 20 * time.Second}
	for _, c := range change {
		c(&o)
	}
	spaces, err := workspace.Open(o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { spaces.Close() })
	b.spaces = spaces
}

func (b *bench) call(name string, input map[string]any) tool.Output {
	b.t.Helper()
	out, err := b.callIn(b.t.Context(), name, input)
	if err != nil {
		b.t.Fatalf("%s(%v) = %v", name, input, err)
	}
	return out
}

func (b *bench) callIn(ctx context.Context, name string, input map[string]any) (tool.Output, error) {
	b.t.Helper()
	data, err := json.Marshal(input)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, tl := range b.spaces.Tools() {
		if tl.Spec().Name != name {
			continue
		}
		if err := tooltest.CheckInput(tl, data); err != nil {
			b.t.Fatalf("%s does not accept %s: %v", name, data, err)
		}
		b.calls++
		out, err := tl.Call(ctx, tool.Call{
			ID: fmt.Sprintf("call_%d", b.calls), Name: name, Input: data, Conversation: cmp.Or(b.in, conversation),
			Principal: footnote.Principal{Org: "o", User: "u"},
		})
		if len(out.Detail) > 0 && !json.Valid(out.Detail) || len(out.Detail) > 256<<10 {
			b.t.Errorf("%s: detail is not JSON or has %d bytes", name, len(out.Detail))
		}
		return out, err
	}
	b.t.Fatalf("no tool %s", name)
	return tool.Output{}, nil
}

// ok makes a call that must succeed; fails makes one that must not.
func (b *bench) ok(name string, input map[string]any) string {
	b.t.Helper()
	out := b.call(name, input)
	if out.IsError {
		b.t.Fatalf("%s(%v) failed: %s", name, input, out.Content)
	}
	return out.Content
}

func (b *bench) fails(want, name string, input map[string]any) {
	b.t.Helper()
	if out := b.call(name, input); !out.IsError || !strings.Contains(out.Content, want) {
		b.t.Errorf("%s(%v) = %v %q, want a failure with %q", name, input, out.IsError, out.Content, want)
	}
}

func (b *bench) put(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) file(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// history returns the changes in the log, oldest first.
func (b *bench) history() []footnote.WorkspaceChanged {
	b.t.Helper()
	var all []footnote.WorkspaceChanged
	for ev, err := range b.log.Events(b.t.Context(), workspace.StreamOf(conversation), 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, ev.Body.(footnote.WorkspaceChanged))
	}
	return all
}

func (b *bench) blob(d footnote.Digest) string {
	b.t.Helper()
	data, err := b.log.Blob(b.t.Context(), workspace.StreamOf(conversation), d)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

type in = map[string]any

func TestWriteReadEdit(t *testing.T) {
	b := newBench(t)
	if got := b.ok("Write", in{
		"file_path": "src/a.py",
		"content":   "one\ntwo\nthree\n",
	}); !strings.HasPrefix(got, "Created src/a.py (+3 −0 lines, 14 bytes).") {
		t.Errorf("Write = %q", got)
	}
	if got, want := b.ok("Read", in{"file_path": "/workspace/src/a.py"}),
		"     1\tone\n     2\ttwo\n     3\tthree\n"; got != want {
		t.Errorf("Read = %q, want %q", got, want)
	}
	if got, want := b.ok("Read", in{"file_path": "src/a.py", "offset": 2, "limit": 1}),
		"     2\ttwo\n(lines 2 to 2 of 3)\n"; got != want {
		t.Errorf("Read = %q, want %q", got, want)
	}
	out := b.call("Edit", in{"file_path": "src/a.py", "old_string": "two", "new_string": "2"})
	if want := "Changed src/a.py (+1 −1 lines, 12 bytes).\n\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@\n " +
		"one\n-two\n+2\n three\n"; out.Content != want || out.IsError {
		t.Errorf("Edit = %q, want %q", out.Content, want)
	}
	var d struct {
		Kind, Path, Op, Diff string
		Added, Removed       int
		Hunks                []struct{ Lines []string }
	}
	if err := json.Unmarshal(out.Detail,
		&d); err != nil || d.Kind != "file" || d.Path != "src/a.py" || d.Op != "write" || d.Added != 1 ||
		len(d.Hunks) != 1 || !strings.Contains(d.Diff, "+2") {
		t.Errorf("detail = %s, %v", out.Detail, err)
	}
	if b.file("src/a.py") != "one\n2\nthree\n" {
		t.Errorf("file = %q", b.file("src/a.py"))
	}
	h := b.history()
	if len(h) != 2 || h[0].Op != "create" || h[1].Op != "write" || h[0].After != h[1].Before || h[1].Tool != "Edit" ||
		h[1].CallID != "call_4" || h[1].Conversation != conversation {
		t.Fatalf("history = %+v", h)
	}
	if b.blob(h[1].Before) != "one\ntwo\nthree\n" || b.blob(h[1].After) != "one\n2\nthree\n" {
		t.Error("the contents before and after are not in the log")
	}
	if s, err := b.log.Get(t.Context(), workspace.StreamOf(conversation)); err != nil || s.Kind != "document" ||
		s.Org != "o" || s.User != "u" {
		t.Errorf("stream = %+v, %v", s, err)
	}
}

func TestEditErrors(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "x = 1\n\tx = 1\ny = 2\n")
	b.fails("has not been read yet", "Edit", in{"file_path": "a.txt", "old_string": "y = 2", "new_string": "z"})
	b.fails("has not been read yet", "Write", in{"file_path": "a.txt", "content": "z"})
	b.ok("Read", in{"file_path": "a.txt"})
	for want, input := range map[string]in{
		"is in a.txt 2 times":            {"old_string": "x = 1", "new_string": "q"},
		"is not in a.txt. Read":          {"old_string": "zebra", "new_string": "q"},
		"spaces or line breaks differ":   {"old_string": "y  =  2", "new_string": "q"},
		"old_string is empty":            {"old_string": "", "new_string": "q"},
		"nothing to change":              {"old_string": "y", "new_string": "y"},
		"There is no file b.txt":         {"file_path": "b.txt", "old_string": "y", "new_string": "z"},
		"Did you mean a.txt?":            {"file_path": "sub/A.TXT", "old_string": "y", "new_string": "z"},
		"is outside of the workspace":    {"file_path": "../a.txt", "old_string": "y", "new_string": "z"},
		"/etc/passwd is outside of the ": {"file_path": "/etc/passwd", "old_string": "y", "new_string": "z"},
	} {
		if input["file_path"] == nil {
			input["file_path"] = "a.txt"
		}
		b.fails(want, "Edit", input)
	}
	b.ok("Edit", in{"file_path": "a.txt", "old_string": "x = 1", "new_string": "x = 3", "replace_all": true})
	if b.file("a.txt") != "x = 3\n\tx = 3\ny = 2\n" {
		t.Errorf("file = %q", b.file("a.txt"))
	}
	b.put("a.txt", "somebody else\n")
	b.fails("has changed since it was read", "Edit", in{
		"file_path":  "a.txt",
		"old_string": "somebody",
		"new_string": "q",
	})
	b.fails("has changed since it was read", "Write", in{"file_path": "a.txt", "content": "q"})
	if b.file("a.txt") != "somebody else\n" {
		t.Error("a stale write went through")
	}
	b.ok("Read", in{"file_path": "a.txt"})
	b.ok("Edit", in{"file_path": "a.txt", "old_string": "somebody", "new_string": "nobody"})
	var by []string
	for _, h := range b.history() {
		by = append(by, h.Tool+" "+h.Op)
	}
	if got, want := strings.Join(by, ", "), "outside create, Edit write, outside write, Edit write"; got != want {
		t.Errorf("history = %s, want %s", got, want)
	}
}

func TestWindowsLines(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one\r\ntwo\r\n")
	if got := b.ok("Read", in{"file_path": "a.txt"}); got != "     1\tone\n     2\ttwo\n" {
		t.Errorf("Read = %q", got)
	}
	b.ok("Edit", in{"file_path": "a.txt", "old_string": "one\ntwo", "new_string": "1\n2"})
	if b.file("a.txt") != "1\r\n2\r\n" {
		t.Errorf("file = %q", b.file("a.txt"))
	}
}

// TestEditAfterRestart checks an edit that is approved only after a server restart: it still applies if the file is
// as the conversation left it.
func TestEditAfterRestart(t *testing.T) {
	b := newBench(t)
	b.ok("Write", in{"file_path": "a.txt", "content": "one\n"})
	b.start()
	b.ok("Edit", in{"file_path": "a.txt", "old_string": "one", "new_string": "two"})
	b.start()
	b.put("a.txt", "outside\n")
	b.fails("has changed since it was read", "Edit", in{
		"file_path":  "a.txt",
		"old_string": "outside",
		"new_string": "x",
	})
	b.put("new.txt", "n\n")
	b.fails("has not been read yet", "Edit", in{"file_path": "new.txt", "old_string": "n", "new_string": "x"})
}

// TestRestore checks that a lost folder is restored from the log.
func TestRestore(t *testing.T) {
	b := newBench(t)
	b.ok("Write", in{"file_path": "d/a.txt", "content": "one\n"})
	b.ok("Edit", in{"file_path": "d/a.txt", "old_string": "one", "new_string": "two"})
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	b.start()
	if got := b.ok("Read", in{"file_path": "d/a.txt"}); got != "     1\ttwo\n" {
		t.Errorf("Read = %q", got)
	}
}

func TestTemplate(t *testing.T) {
	b := newBench(t)
	template := filepath.Join(b.folder, workspace.Template)
	for name, text := range map[string]string{"README.md": "read me\n", "bin/run.sh": "#!/bin/sh\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(template, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(template, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(template, "link")); err != nil {
		t.Fatal(err)
	}
	if got := b.ok("Glob", in{
		"pattern": "**/*",
	}); !strings.Contains(got, "README.md (8 bytes)") || !strings.Contains(got, "bin/run.sh") ||
		strings.Contains(got, "link") {
		t.Errorf("Glob = %q", got)
	}
	if h := b.history(); len(h) != 2 || h[0].Tool != "template" || b.blob(h[0].After) != "read me\n" {
		t.Errorf("history = %+v", h)
	}
	b.fails("has not been read yet", "Write", in{"file_path": "README.md", "content": "x"})
	b.ok("Read", in{"file_path": "README.md"})
	b.ok("Write", in{"file_path": "README.md", "content": "x"})
	if data, err := os.ReadFile(filepath.Join(template, "README.md")); err != nil || string(data) != "read me\n" {
		t.Errorf("the template has changed: %q, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(b.dir, "bin/run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("run.sh: %v, %v; want it executable", info, err)
	}
}

func TestRead(t *testing.T) {
	b := newBench(t)
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	b.put("long.txt", long.String())
	b.put("empty", "")
	b.put("bin.dat", "a\x00b")
	b.put("latin1.txt", "caf\xe9")
	b.put("wide.txt", strings.Repeat("é", 5000)+"\nnext\n")
	b.put("hidden.txt", "a\u202eb\x1b[31mc\n")
	b.put("big.txt", strings.Repeat(strings.Repeat("x", 999)+"\n", 1000))
	if got := b.ok("Read", in{
		"file_path": "long.txt",
	}); !strings.HasSuffix(got, "  2000\tline 2000\n(lines 1 to 2000 of 5000)\n") {
		t.Errorf("long: …%q", got[len(got)-80:])
	}
	if got := b.ok("Read", in{
		"file_path": "long.txt",
		"offset":    4999,
		"limit":     10,
	}); got != "  4999\tline 4999\n  5000\tline 5000\n(lines 4999 to 5000 of 5000)\n" {
		t.Errorf("end: %q", got)
	}
	b.fails("has 5000 lines", "Read", in{"file_path": "long.txt", "offset": 5001})
	if got := b.ok("Read", in{"file_path": "big.txt"}); len(got) > 110_000 || !strings.Contains(got, "of 1000)") {
		t.Errorf("big: %d bytes", len(got))
	}
	for name, want := range map[string]string{
		"empty": "is empty", "bin.dat": "binary file of 3 bytes", "latin1.txt": "binary file of 4 bytes",
		"wide.txt": "é… (the line is longer)\n     2\tnext\n", "hidden.txt": "a<U+202E>b<U+001B>[31mc\n",
	} {
		if got := b.ok("Read", in{"file_path": name}); !strings.Contains(got, want) || strings.Contains(got, "\x00") {
			t.Errorf("%s: %.200q, want %q in it", name, got, want)
		}
	}
	b.fails("is a folder", "Read", in{"file_path": "."})
}

// TestRefusedFiles checks that every tool refuses paths that lead out of the workspace or are not regular
// files.
func TestRefusedFiles(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(filepath.Dir(b.folder), "secret.txt")
	if err := os.WriteFile(outside, []byte("canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.put("own.txt", "own\n")
	b.put("dir/own.txt", "own\n")
	b.put("../other-conversation/a.txt", "canary\n")
	for name, target := range map[string]string{
		"abs": outside, "rel": "../../secret.txt", "up": "..", "other": "../other-conversation", "etc": "/etc",
		"dangling": "/tmp/nowhere-" + conversation, "root": "/", "loop": "loop", "inside": "own.txt",
		"proc": "/proc/self/environ",
	} {
		if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(outside, filepath.Join(b.dir, "hard")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(b.dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	paths := []string{
		"abs", "rel", "abs/", "rel/.", "up/secret.txt", "other/a.txt", "etc/passwd", "root/etc/passwd", "loop", "hard",
		"fifo", "proc",
		"../secret.txt", "dir/../../secret.txt", outside, "/etc/passwd", "/workspace/../etc/passwd",
		"/workspace/../secret.txt", "/workspacex/own.txt",
		"own.txt\n", "o\u202ewn.txt", `..\secret.txt`, strings.Repeat("a", 256),
		strings.Repeat("a/", 33) + "a", strings.Repeat("a/", 2100), "own.txt/below", "etc/../own.txt/",
	}
	for _, p := range paths {
		for tool, input := range map[string]in{
			"Read": {"file_path": p}, "Write": {"file_path": p, "content": "written\n"},
			"Edit": {"file_path": p, "old_string": "canary", "new_string": "written"},
			"Grep": {"pattern": ".", "path": p, "output_mode": "content"}, "Glob": {"pattern": "**/*", "path": p},
		} {
			out := b.call(tool, input)
			if strings.Contains(out.Content, "canary") || strings.Contains(out.Content, "root:") ||
				strings.Contains(out.Content, "PATH=") {
				t.Errorf("%s(%q) read what it must not: %s", tool, p, out.Content)
			}
			if (tool == "Read" || tool == "Write" || tool == "Edit") && !out.IsError && p != "etc/../own.txt/" {
				t.Errorf("%s(%q) = %s, want a refusal", tool, p, out.Content)
			}
		}
	}
	nul := "own.txt\x00.txt" // no schema accepts it, so no call has it
	if _, err := b.spaces.File(t.Context(), conversation, nul, ""); footnote.CodeOf(err) != footnote.InvalidRequest {
		t.Errorf("a path with NUL: %v", err)
	}
	for path, want := range map[string]string{
		outside: "canary\n",
		filepath.Join(b.folder, "other-conversation", "a.txt"): "canary\n",
	} {
		if data, err := os.ReadFile(path); err != nil || string(data) != want {
			t.Errorf("%s = %q, %v", path, data, err)
		}
	}
	if _, err := os.Stat("/tmp/nowhere-" + conversation); err == nil {
		t.Error("a dangling link was written through")
	}
	b.ok("Read", in{"file_path": "inside"}) // a link to a file inside the workspace
	b.fails("is a link", "Write", in{"file_path": "inside", "content": "x"})
	if got := b.ok("Grep", in{"pattern": "canary"}); !strings.Contains(got, "Nothing matches") {
		t.Errorf("Grep = %q", got)
	}
}

func TestProtectedNames(t *testing.T) {
	b := newBench(t)
	for _, p := range []string{
		".git/hooks/pre-commit", ".GIT/Hooks/x", "sub/.git/config", ".gitmodules", ".mcp.json", ".claude/settings.json",
		".Claude/x", ".vscode/tasks.json", "a/.idea/x", ".bashrc", "x/.PROFILE", ".envrc",
	} {
		b.fails("is protected", "Write", in{"file_path": p, "content": "x"})
		b.put(p, "y\n")
		b.ok("Read", in{"file_path": p})
		b.fails("is protected", "Edit", in{"file_path": p, "old_string": "y", "new_string": "x"})
	}
	if err := os.MkdirAll(filepath.Join(b.dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".git", filepath.Join(b.dir, "other")); err != nil {
		t.Fatal(err)
	}
	b.fails("is a link", "Write", in{"file_path": "other/hooks/pre-commit", "content": "x"})
	b.fails("is a link", "Write", in{"file_path": "other/plain", "content": "x"})
	for _, p := range []string{".gitignore", "git/hooks/x", "claude/x", "bashrc", ".github/workflows/ci.yml"} {
		b.ok("Write", in{"file_path": p, "content": "x"})
	}
}

func TestSizes(t *testing.T) {
	b := newBench(t, func(o *workspace.Options) { o.Size = 10_000 })
	b.ok("Write", in{"file_path": "a", "content": strings.Repeat("x", 6000)})
	b.fails("The workspace is full", "Write", in{"file_path": "b", "content": strings.Repeat("x", 6000)})
	b.ok("Write", in{"file_path": "a", "content": strings.Repeat("y", 9000)}) // it replaces the file
	b.fails("at most 4.0 MB", "Write", in{"file_path": "c", "content": strings.Repeat("x", 5<<20)})
	b.ok("Edit", in{"file_path": "a", "old_string": "y", "new_string": "", "replace_all": true})
	big := newBench(t)
	big.ok("Write", in{"file_path": "big", "content": strings.Repeat("x\n", 1<<20)})
	if h := big.history(); h[0].Kept || h[0].Diff != "" || h[0].Size != 2<<20 {
		t.Errorf("a large file: kept %v, %d bytes of diff", h[0].Kept, len(h[0].Diff))
	}
}

func TestGlob(t *testing.T) {
	b := newBench(t)
	for _, n := range []string{
		"a.py", "b.txt", "src/c.py", "src/deep/d.py", "src/e.js", ".git/x.py", "we ird[1].py", "größe.md",
	} {
		b.put(n, "x\n")
	}
	for pattern, want := range map[string]int{
		"*.py": 4, "**/*.py": 4, "src/*.py": 1, "src/**": 3, "*.{py,js}": 5, "?.txt": 1, "[ab].*": 2, "**/*": 7,
		"gr*ße.md": 1, "größe.*": 1, "gr??e.md": 1, "none": 0, "/workspace/src/*.py": 1, "[!a].txt": 1, "a[": 0,
		"**/d.py": 1,
	} {
		got := b.ok("Glob", in{"pattern": pattern})
		if n := strings.Count(got, "bytes)"); n != want {
			t.Errorf("%s: %d files, want %d:\n%s", pattern, n, want, got)
		}
	}
	if got := b.ok("Glob", in{"pattern": "*.py", "path": "src"}); strings.Count(got, "\n") != 2 ||
		!strings.Contains(got, "src/deep/d.py") {
		t.Errorf("Glob below src = %q", got)
	}
	b.fails("There is no folder", "Glob", in{"pattern": "*", "path": "nowhere"})
	for i := range 250 {
		b.put(fmt.Sprintf("many/%d.txt", i), "")
	}
	if got := b.ok("Glob", in{"pattern": "many/*"}); !strings.Contains(got, "and 50 more") {
		t.Errorf("Glob = …%q", got[len(got)-60:])
	}
}

func TestGrep(t *testing.T) {
	b := newBench(t)
	b.put("a.py", "import os\n\ndef f():\n    return os\n\nprint(f())\n")
	b.put("b.txt", "OS and os\nend")
	b.put("c.bin", "os\x00os")
	for _, c := range []struct {
		input in
		want  string
	}{
		{in{"pattern": "os"}, "a.py\nb.txt\n"},
		{in{"pattern": "os", "output_mode": "count"}, "a.py:2\nb.txt:1\n"},
		{in{"pattern": "os", "output_mode": "content"}, "a.py:1:import os\na.py:4:    return os\nb.txt:1:OS and os\n"},
		{
			in{"pattern": "os$", "output_mode": "content", "-n": false, "glob": "*.py"},
			"a.py:import os\na.py:    return os\n",
		},
		{
			in{"pattern": "DEF", "output_mode": "content", "-i": true, "-C": 1},
			"a.py-2-\na.py:3:def f():\na.py-4-    return os\n",
		},
		{
			in{
				"pattern":     "^import|^print",
				"output_mode": "content",
				"-A":          1,
			}, "a.py:1:import os\na.py-2-\n--\na.py:6:print(f())\n",
		},
		{
			in{
				"pattern":     `f\(\):.*?os`,
				"output_mode": "content",
				"multiline":   true,
			}, "a.py:3:def f():\na.py:4:    return os\n",
		},
		{
			in{"pattern": "os", "output_mode": "content", "head_limit": 1, "offset": 1},
			"a.py:4:    return os\n(1 more lines; use offset 2 for them, or search for less.)\n",
		},
		{in{"pattern": "end", "output_mode": "content"}, "b.txt:2:end\n"},
		{in{"pattern": "zebra"}, "Nothing matches zebra."},
		{in{"pattern": "os", "path": "b.txt", "output_mode": "count"}, "b.txt:1\n"},
	} {
		if got := b.ok("Grep", c.input); got != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.input, got, c.want)
		}
	}
	b.fails("cannot be read", "Grep", in{"pattern": "("})
	b.put("bad.txt", strings.Repeat("a", 100_000)+"!\n")
	begun := time.Now()
	b.ok("Grep", in{"pattern": "(a+)+$"}) // exponential for engines that backtrack
	if time.Since(begun) > 10*time.Second {
		t.Errorf("took %v", time.Since(begun))
	}
}

// TestGrepEnds checks that every search ends at its deadline: each of these matches reads the whole rest of the
// file.
func TestGrepEnds(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", strings.Repeat("a\n", 1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(100*time.Millisecond, cancel).Stop()
	data, err := json.Marshal(in{"pattern": "a(.*b)?", "multiline": true})
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range b.spaces.Tools() {
		if tl.Spec().Name == "Grep" {
			_, err = tl.Call(ctx, tool.Call{Name: "Grep", Input: data, Conversation: conversation})
		}
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	b.put("a.txt", strings.Repeat("\n", 1<<20)+"end\n")
	if got := b.ok("Grep", in{"pattern": "end", "output_mode": "content", "-C": 100}); strings.Count(got, "\n") != 101 {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
}

func TestLook(t *testing.T) {
	b := newBench(t)
	if files, err := b.spaces.Files(t.Context(), conversation); err != nil || len(files) != 0 {
		t.Errorf("before its first call: %v, %v", files, err)
	}
	b.ok("Write", in{"file_path": "d/a.txt", "content": "one\n"})
	b.ok("Write", in{"file_path": "b.txt", "content": "x"})
	b.ok("Edit", in{"file_path": "d/a.txt", "old_string": "one", "new_string": "two"})
	if err := os.Symlink("/etc/passwd", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	files, err := b.spaces.Files(t.Context(), conversation)
	if err != nil || len(files) != 2 || files[0].Path != "b.txt" || files[1].Size != 4 {
		t.Errorf("files = %v, %v", files, err)
	}
	changes, err := b.spaces.Changes(t.Context(), conversation, 2)
	if err != nil || len(changes) != 2 || changes[1].Seq != 3 {
		t.Fatalf("changes = %v, %v", changes, err)
	}
	before := changes[1].Body.(footnote.WorkspaceChanged).Before
	for _, c := range []struct{ path, digest, want string }{{"d/a.txt", "", "two\n"}, {"d/a.txt", before, "one\n"}} {
		if data, err := b.spaces.File(t.Context(), conversation, c.path, c.digest); err != nil ||
			string(data) != c.want {
			t.Errorf("%v = %q, %v", c, data, err)
		}
	}
	for path, code := range map[string]footnote.Code{
		"none": footnote.NotFound, "link": footnote.NotFound, "../x": footnote.InvalidRequest,
		"/etc/passwd": footnote.InvalidRequest, "d": footnote.InvalidRequest,
	} {
		if data, err := b.spaces.File(t.Context(), conversation, path, ""); footnote.CodeOf(err) != code {
			t.Errorf("%s = %q, %v; want %s", path, data, err, code)
		}
	}
	if _, err := b.spaces.File(t.Context(), "another", "", before); footnote.CodeOf(err) != footnote.NotFound {
		t.Errorf("a digest of another conversation: %v", err)
	}
}

func TestRevert(t *testing.T) {
	b := newBench(t)
	revert := func(path, digest string) error {
		return b.spaces.Revert(t.Context(), footnote.Principal{Org: "o", User: "u"}, conversation, path, digest)
	}
	if err := revert("a.txt", ""); footnote.CodeOf(err) != footnote.NotFound {
		t.Errorf("before there is a workspace: %v", err)
	}
	if _, err := os.Stat(b.dir); !os.IsNotExist(err) {
		t.Errorf("a refused revert made the folder: %v", err)
	}
	b.ok("Write", in{"file_path": "a.txt", "content": "one\n"})
	b.ok("Edit", in{"file_path": "a.txt", "old_string": "one", "new_string": "two"})
	b.ok("Write", in{"file_path": "b.txt", "content": "b\n"})
	one, b1 := b.history()[0].After, b.history()[2].After
	if err := revert("/workspace/a.txt", one); err != nil || b.file("a.txt") != "one\n" {
		t.Fatalf("revert = %v, a.txt = %q", err, b.file("a.txt"))
	}
	if c := b.history()[3]; c.Tool != "revert" || c.Op != "write" || c.After != one || c.CallID != "" ||
		!strings.Contains(c.Diff, "-two\n+one") {
		t.Errorf("recorded as %+v", c)
	}
	// The model may not change what it has not seen, neither now nor after a restart.
	b.fails("has not been read yet", "Edit", in{"file_path": "a.txt", "old_string": "one", "new_string": "x"})
	b.start()
	b.fails("has not been read yet", "Edit", in{"file_path": "a.txt", "old_string": "one", "new_string": "x"})

	// A file is removed and restored.
	if err := revert("b.txt", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("b.txt is still there: %v", err)
	}
	made, gone := b.history()[2].Diff, b.history()[4].Diff
	if made != "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n" ||
		gone != "--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n" {
		t.Errorf("created: %q, removed: %q", made, gone)
	}
	if err := revert("b.txt", b1); err != nil || b.file("b.txt") != "b\n" {
		t.Errorf("b.txt = %q, %v", b.file("b.txt"), err)
	}

	for _, c := range []struct {
		path, digest string
		code         footnote.Code
	}{
		{"a.txt", b1, footnote.NotFound}, // digest of another file
		{"a.txt", "sha256:none", footnote.NotFound},
		{"c.txt", "", footnote.NotFound},
		{"../a.txt", one, footnote.InvalidRequest},
	} {
		if err := revert(c.path, c.digest); footnote.CodeOf(err) != c.code {
			t.Errorf("%s to %q: %v; want %s", c.path, c.digest, err, c.code)
		}
	}
	// A link in place of the file is not followed.
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("safe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(b.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if err := revert("a.txt", one); footnote.CodeOf(err) != footnote.InvalidRequest {
		t.Errorf("through a link: %v", err)
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "safe" {
		t.Errorf("outside = %q, %v", data, err)
	}
}

// TestRevertWhileBusy checks that a revert does not wait for a long command.
func TestRevertWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.ok("Write", in{"file_path": "a.txt", "content": "one\n"})
		release := workspace.Occupy(b.spaces, conversation)
		start := time.Now()
		err := b.spaces.Revert(t.Context(), footnote.Principal{Org: "o", User: "u"}, conversation, "a.txt", "")
		if footnote.CodeOf(err) != footnote.Conflict || time.Since(start) > 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		release()
		if err := b.spaces.Revert(t.Context(), footnote.Principal{
			Org:  "o",
			User: "u",
		}, conversation, "a.txt", ""); err != nil {
			t.Error(err)
		}
	})
}

func TestRemove(t *testing.T) {
	b := newBench(t)
	b.ok("Write", in{"file_path": "a", "content": "x"})
	if err := b.spaces.Remove(t.Context(), conversation); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if _, err := b.log.Get(t.Context(), workspace.StreamOf(conversation)); footnote.CodeOf(err) != footnote.NotFound {
		t.Errorf("the stream is still there: %v", err)
	}
	if err := b.spaces.Remove(t.Context(), conversation); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// TestFolderNames checks that an odd ID stays inside the folder.
func TestFolderNames(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"../escape", "a/b", "", ".", "..", workspace.Template, strings.Repeat("x", 500), "ü"} {
		for _, tl := range b.spaces.Tools() {
			if tl.Spec().Name == "Write" {
				out, err := tl.Call(context.Background(), tool.Call{
					ID: "c", Name: "Write", Input: json.RawMessage(`{"file_path":"f","content":"x"}`), Conversation: id,
				})
				if err != nil || out.IsError {
					t.Errorf("%q: %v, %v", id, out.Content, err)
				}
			}
		}
	}
	entries, err := os.ReadDir(b.folder)
	if err != nil || len(entries) != 8 {
		t.Errorf("%d folders, %v; want 8", len(entries), err)
	}
	if info, err := os.Stat(b.folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, want it closed to others", info.Mode())
	}
}
