package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/workspace"
)

func TestBash(t *testing.T) {
	b := newBench(t)
	b.ok("Write", in{"file_path": "data.csv", "content": "a,b\n1,2\n3,4\n"})
	b.ok("Write", in{"file_path": "old.txt", "content": "old\n"})
	out := b.call("Bash", in{
		"command": "wc -l <data.csv; sed -i s/3/5/ data.csv; echo new >new.txt; rm old.txt; mkdir d && printf " +
			"'x\\0' >d/bin",
		"description": "Change files",
	})
	if want := "3\n(created d/bin, new.txt; changed data.csv; deleted old.txt)\n"; out.Content != want || out.IsError {
		t.Errorf("Bash = %q, want %q", out.Content, want)
	}
	var d struct {
		Kind, Command, Description, Output string
		Exit                               int
		Changes                            []struct{ Path, Op, Diff string }
	}
	if err := json.Unmarshal(out.Detail, &d); err != nil || d.Kind != "command" || d.Output != "3\n" ||
		d.Description != "Change files" || len(d.Changes) != 4 {
		t.Fatalf("detail = %s, %v", out.Detail, err)
	}
	if c := d.Changes[1]; c.Path != "data.csv" || c.Op != "write" || !strings.Contains(c.Diff, "-3,4\n+5,4") {
		t.Errorf("change = %+v", c)
	}
	h := b.history()
	if len(h) != 6 || h[2].Tool != "Bash" || h[2].CallID != "call_3" || b.blob(h[3].Before) != "a,b\n1,2\n3,4\n" ||
		h[5].Op != "delete" || !strings.Contains(h[5].Diff, "-old") {
		t.Errorf("history = %+v", h)
	}
	b.fails("has changed since it was read", "Edit", in{"file_path": "data.csv", "old_string": "5", "new_string": "6"})
}

func TestBashEndings(t *testing.T) {
	b := newBench(t, func(o *workspace.Options) { o.Memory, o.Size = 200<<20, 32<<20 })
	for want, command := range map[string]string{
		"(exit code 3)":          "exit 3",
		"command not found":      "nonsense-program",
		"it printed without end": "yes",
		"it started too many":    ":(){ :|:& };: ; sleep 10",
		"more than 200.0 MB": "for i in 1 2 3; do python3 -c 'x=bytearray(150<<20)\nimport " +
			"time\ntime.sleep(10)' & done; wait",
		"the workspace is full":      "i=0; while :; do i=$((i+1)); head -c 4000000 /dev/zero >f$i; done",
		"A command must have 1 to":   "  ",
		"Network is unreachable|not": "exec 3<>/dev/tcp/127.0.0.1/80",
	} {
		out := b.call("Bash", in{"command": command})
		if !out.IsError || !strings.Contains(out.Content, strings.Split(want, "|")[0]) &&
			!strings.Contains(out.Content, "not supported") {
			t.Errorf("%s: %v %.300q, want %q", command, out.IsError, out.Content, want)
		}
		if len(out.Content) > 40_000 {
			t.Errorf("%s: %d bytes of content", command, len(out.Content))
		}
	}
	// In a full workspace, only commands that delete files work.
	b.fails("the workspace is full: the command could read", "Bash", in{
		"command": "echo x >g || mkdir g || ln -s f1 g || mv f1 g || echo x >>f1",
	})
	b.ok("Bash", in{"command": "rm -f f*"})
	b.ok("Bash", in{"command": "echo x >g"})
	begun := time.Now()
	b.fails("longer than 300ms", "Bash", in{"command": "sleep 20", "timeout": 300})
	if time.Since(begun) > 8*time.Second {
		t.Errorf("took %v", time.Since(begun))
	}
	if got := b.ok("Bash", in{"command": "true"}); got != "(no output)\n" {
		t.Errorf("true = %q", got)
	}
	if got := b.ok("Bash", in{
		"command": "seq 1 50000",
	}); !strings.Contains(got, "left out") || !strings.HasPrefix(got, "1\n2\n") || !strings.HasSuffix(got, "50000\n") {
		t.Errorf("seq: %d bytes, …%q", len(got), got[len(got)-50:])
	}
}

// TestTooManyFiles checks that a workspace with more files than are tracked can be emptied.
func TestTooManyFiles(t *testing.T) {
	b := newBench(t, func(o *workspace.Options) { o.Time = time.Minute })
	b.put("d/0", "")
	for i := range 50_000 {
		if err := os.Symlink("0", filepath.Join(b.dir, "d", strconv.Itoa(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	b.ok("Bash", in{"command": "rm -rf d"})
	if got := b.ok("Bash", in{"command": "ls; echo x >f"}); !strings.HasPrefix(got, "(no output)") {
		t.Errorf("it stays full: %s", got)
	}
}

// TestSparseFilesAreNotRead checks that sparse files cost nothing: neither running commands next to them nor
// finding changes.
func TestSparseFilesAreNotRead(t *testing.T) {
	b := newBench(t, func(o *workspace.Options) { o.Time = time.Minute })
	b.ok("Bash", in{
		"command": "for i in $(seq 110); do truncate -s 64M big$i; done; for i in $(seq 2000); do truncate -s 1M " +
			"small$i; done; truncate -s 30K tiny",
	})
	h := b.history()
	if len(h) != 2111 {
		t.Fatalf("%d changes are recorded", len(h))
	}
	kept := 0
	for _, c := range h {
		if c.Kept {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d files are kept, want the tiny one", kept)
	}
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		t.Fatal(err)
	}
	b.ok("Bash", in{
		"command": "touch -c -d yesterday *; printf x | dd of=big7 bs=1 seek=1000000 conv=notrunc 2>/dev/null",
	})
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		t.Fatal(err)
	}
	// Hashing the apparent 9 GB of these files would take more than ten times as long.
	if took := time.Duration(after.Utime.Nano() - before.Utime.Nano()); took > 3*time.Second {
		t.Errorf("the processor was busy for %v", took)
	}
	if h = b.history()[2111:]; len(h) != 1 || h[0].Path != "big7" || h[0].Before == h[0].After {
		t.Errorf("changes = %+v", h)
	}
}

// TestPlacesAreReleasedFirst checks that a command waits for a place, but not for recording the changes of another
// conversation.
func TestPlacesAreReleasedFirst(t *testing.T) {
	slow := &slowLog{Store: sqlitetest.New(t), entered: make(chan struct{}, 1), leave: make(chan struct{})}
	b := newBench(t, func(o *workspace.Options) { o.Log, o.Places = slow, 1 })
	run := func(conversation, command string) tool.Output {
		for _, tl := range b.spaces.Tools() {
			if tl.Spec().Name == "Bash" {
				input, err := json.Marshal(in{"command": command})
				if err != nil {
					t.Error(err)
				}
				out, err := tl.Call(t.Context(), tool.Call{
					ID: "c", Name: "Bash", Input: input, Conversation: conversation,
					Principal: footnote.Principal{Org: "o", User: conversation},
				})
				if err != nil {
					t.Errorf("%s: %v", command, err)
				}
				return out
			}
		}
		return tool.Output{}
	}
	done := make(chan tool.Output, 1)
	go func() { done <- run("slow", "echo x >f") }()
	<-slow.entered
	if out := run("other", "echo y"); out.Content != "y\n" {
		t.Errorf("the other conversation's command gave %q", out.Content)
	}
	close(slow.leave)
	if out := <-done; out.Content != "(no output)\n(created f)\n" {
		t.Errorf("the slow one gave %q", out.Content)
	}
}

// TestMemoryOfCommands checks that a command reserves its memory from the process's budget, releases it, and fails
// with a message when there is none.
func TestMemoryOfCommands(t *testing.T) {
	const wantReserved = 512<<20 + 256<<20 + 80<<20
	var reserved int64
	var refusal error
	b := newBench(t, func(o *workspace.Options) {
		o.Reserve = func(_ context.Context, bytes int64) (func(), error) {
			if refusal != nil {
				return nil, refusal
			}
			reserved += bytes
			if reserved != wantReserved {
				t.Errorf("%d bytes are reserved, not %d", reserved, wantReserved)
			}
			return func() { reserved -= bytes }, nil
		}
	})
	b.ok("Bash", in{"command": "echo x >f"})
	if reserved != 0 {
		t.Errorf("%d bytes were not given back", reserved)
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{context.DeadlineExceeded, "Try again in a moment."},
		{footnote.Errorf(footnote.RateLimited, "busy"), "Try again in a moment."},
		{footnote.Invalidf("Raise limits.child_memory."), "Raise limits.child_memory."},
	} {
		refusal = test.err
		out := b.call("Bash", in{"command": "echo y >f"})
		if !out.IsError || !strings.HasPrefix(out.Content, "The command was not run: ") ||
			!strings.HasSuffix(out.Content, test.want) {
			t.Errorf("%v: %q", test.err, out.Content)
		}
	}
	if got := b.ok("Read", in{"file_path": "f"}); !strings.Contains(got, "x") {
		t.Errorf("f = %q", got)
	}
}

// slowLog is slow to create streams.
type slowLog struct {
	store.Store
	entered, leave chan struct{}
}

func (l *slowLog) CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error) {
	l.entered <- struct{}{}
	<-l.leave
	return l.Store.CreateAppend(ctx, s, a)
}

// TestLinksMadeByCommands checks that the other tools do not follow links created by a command.
func TestLinksMadeByCommands(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(filepath.Dir(b.folder), "secret.txt")
	if err := os.WriteFile(outside, []byte("canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.ok("Bash", in{
		"command": "ln -s " + outside +
			" a; ln -s ../../secret.txt b; ln -s / root; echo x >f; ln f g; mkdir -p sub && cd sub && ln -s ../../.. " +
			"up",
	})
	for _, name := range []string{"a", "b", "root" + outside, "f", "g", "sub/up/secret.txt", "root/etc/passwd"} {
		for tool, input := range map[string]in{
			"Read":  {"file_path": name},
			"Write": {"file_path": name, "content": "x"},
			"Edit":  {"file_path": name, "old_string": "canary", "new_string": "x"},
		} {
			if out := b.call(tool, input); !out.IsError || strings.Contains(out.Content, "canary") {
				t.Errorf("%s(%s) = %s", tool, name, out.Content)
			}
		}
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "canary\n" {
		t.Errorf("outside = %q, %v", data, err)
	}
	if got := b.ok("Grep", in{"pattern": "canary|root:"}); !strings.HasPrefix(got, "Nothing") {
		t.Errorf("Grep = %q", got)
	}
	// Resetting the modification time does not hide a change.
	b.ok("Write", in{"file_path": "h", "content": "aa"})
	n := len(b.history())
	b.ok("Bash", in{"command": "touch -r h stamp; printf bb >h; touch -r stamp h; rm stamp"})
	if h := b.history(); len(h) != n+1 || h[n].Path != "h" {
		t.Errorf("a change with the old time was not noticed: %+v", h[n:])
	}
}

func TestConfine(t *testing.T) {
	folder := t.TempDir()
	if err := workspace.Confine(t.Context(), folder, filepath.Join(folder, "footnote.db")); err != nil {
		t.Errorf("commands cannot be confined here: %v", err)
	}
	if err := workspace.Confine(t.Context(), folder, "/usr/lib/footnote/data"); err == nil ||
		!strings.Contains(err.Error(), "move it") {
		t.Errorf("Confine = %v, want a refusal", err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Errorf("the probe leaves %v, %v", entries, err)
	}
	b := newBench(t, func(o *workspace.Options) { o.Commands = false })
	for _, tool := range b.spaces.Tools() {
		if tool.Spec().Name == "Bash" {
			t.Error("Bash is offered where commands are not")
		}
	}
	if err := errors.Unwrap(workspace.Confine(t.Context(), "/proc/nowhere")); err == nil {
		t.Error("a folder that cannot be made was accepted")
	}
}

// TestRecordsOfCancelledCommands checks that a command's changes are attributed to it even after its run was
// cancelled, and that looking for changes made by others ends with the run.
func TestRecordsOfCancelledCommands(t *testing.T) {
	errGone := errors.New("gone")
	t.Run("after the command", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		b := newBench(t, func(o *workspace.Options) {
			o.Reserve = func(context.Context, int64) (func(), error) {
				return func() { cancel(errGone) }, nil // the command has ended; recording comes next
			}
		})
		if _, err := b.callIn(ctx, "Bash", in{"command": "echo x >f; echo y >g"}); err != nil &&
			!errors.Is(err, errGone) {
			t.Fatal(err)
		}
		all := b.history()
		if len(all) != 2 || all[0].Tool != "Bash" || all[1].Tool != "Bash" {
			t.Errorf("recorded: %+v", all)
		}
	})
	t.Run("before the command", func(t *testing.T) {
		log := &leavingLog{Store: sqlitetest.New(t)}
		b := newBench(t, func(o *workspace.Options) { o.Log = log })
		b.log = log
		b.ok("Bash", in{"command": "echo 1 >a"})
		for i := range 600 {
			b.put(fmt.Sprintf("f%d", i), "x")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		log.leave = func() { cancel(errGone) }
		if _, err := b.callIn(ctx, "Bash", in{"command": "echo 2 >a"}); !errors.Is(err, errGone) {
			t.Errorf("Bash = %v", err)
		}
		if all := b.history(); len(all) >= 601 {
			t.Errorf("all %d changes are recorded although the run has ended", len(all))
		}
		b.ok("Bash", in{"command": "true"}) // changes that were not examined then are found now
		if all := b.history(); len(all) != 601 {
			t.Errorf("%d changes are recorded, want 601", len(all))
		}
	})
}

// leavingLog calls leave after an append.
type leavingLog struct {
	store.Store
	leave func()
}

func (l *leavingLog) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	events, err := l.Store.Append(ctx, a)
	if l.leave != nil {
		l.leave()
	}
	return events, err
}

// TestManyDifferences checks that a command's changes are all recorded, whatever diffs of them fit: new files,
// rewritten and deleted ones, at sizes around the limits of the budget.
func TestManyDifferences(t *testing.T) {
	b := newBench(t)
	n := 0
	step := func(command string, files int) {
		t.Helper()
		b.ok("Bash", in{"command": command})
		h := b.history()[n:]
		n += len(h)
		if d := diffBytes(h); len(h) != files || d > 1<<20 || d == 0 {
			t.Errorf("%s: %d changes with %d bytes of diffs, want %d", command, len(h), d, files)
		}
	}
	const perl = `perl -e 'for $i(1..%d){open F,">","n$i.txt"; print F (("%s"x99)."\n")x%d}'`
	step(fmt.Sprintf(perl, 130, "x", 90), 130)
	step(fmt.Sprintf(perl, 130, "y", 91), 130)
	step("rm n*.txt", 130)
	for _, lines := range []int{645, 655, 660, 5200} { // maxDiff is 655 lines, maxDiffed 5242
		step(fmt.Sprintf(perl, 18, "x", lines), 18)
		step("rm n*.txt", 18)
	}
}
