package workspace_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool/workspace"
)

// held returns how many bytes the log keeps of a conversation's workspace.
func (b *bench) held(conversation string) (total int64) {
	b.t.Helper()
	sizes, err := b.log.Blobs(b.t.Context(), workspace.StreamOf(conversation))
	if footnote.CodeOf(err) == footnote.NotFound {
		return 0
	}
	if err != nil {
		b.t.Fatal(err)
	}
	for _, n := range sizes {
		total += n
	}
	return total
}

func TestHistoryIsBounded(t *testing.T) {
	const bound = 1 << 20
	b := newBench(t, func(o *workspace.Options) { o.History = bound })
	text := func(i int) string { return strings.Repeat(fmt.Sprintf("line %d\n", i), 12_000) } // about 120 KB
	b.ok("Write", in{"file_path": "keep.txt", "content": "as it is"})
	b.ok("Write", in{"file_path": "a.txt", "content": text(0)})
	for i := 1; i < 30; i++ {
		b.ok("Write", in{"file_path": "a.txt", "content": text(i)})
		if n := b.held(conversation); n > bound {
			t.Fatalf("after %d changes %d bytes are kept", i, n)
		}
	}
	h := b.history()
	if len(h) != 31 {
		t.Fatalf("%d changes are recorded", len(h))
	}
	// Current contents are kept longest, however old they are.
	if got := b.blob(h[0].After); got != "as it is" {
		t.Errorf("keep.txt = %q", got)
	}
	first, last := h[1].After, h[30].After
	p := footnote.Principal{Org: "o", User: "u"}
	for what, err := range map[string]error{
		"revert": b.spaces.Revert(t.Context(), p, conversation, "a.txt", first),
		"file":   second(b.spaces.File(t.Context(), conversation, "a.txt", first)),
	} {
		if footnote.CodeOf(err) != footnote.NotFound || !strings.Contains(err.Error(), "no longer kept") {
			t.Errorf("%s: %v, want that it is no longer kept", what, err)
		}
	}
	if err := b.spaces.Revert(t.Context(), p, conversation, "a.txt", h[29].After); err != nil {
		t.Errorf("a version that is kept: %v", err)
	}
	if b.file("a.txt") != text(28) || last == first {
		t.Error("the file was not reverted")
	}
	// The same content does not take space twice.
	before := b.held(conversation)
	if err := b.spaces.Revert(t.Context(), p, conversation, "a.txt", last); err != nil ||
		b.held(conversation) != before {
		t.Errorf("%v; %d bytes are kept, want %d", err, b.held(conversation), before)
	}
	// The limit also holds after a restart.
	b.start(func(o *workspace.Options) { o.History = bound })
	b.ok("Read", in{"file_path": "a.txt"})
	for i := range 20 {
		b.ok("Write", in{"file_path": "a.txt", "content": text(100 + i)})
	}
	if n := b.held(conversation); n > bound {
		t.Errorf("after a restart %d bytes are kept", n)
	}
}

func second[T any](_ T, err error) error { return err }

// TestHistoryOfCommandsIsBounded checks that the contents a command rewrites are kept only within the limit, and
// that its changes are recorded anyway.
func TestHistoryOfCommandsIsBounded(t *testing.T) {
	const bound = 4 << 20
	b := newBench(t, func(o *workspace.Options) { o.History = bound })
	for range 3 {
		b.ok("Bash", in{"command": "for i in $(seq 40); do head -c 500000 /dev/urandom | base64 >f$i; done"})
		if n := b.held(conversation); n > bound {
			t.Fatalf("%d bytes are kept", n)
		}
	}
	diffs := 0
	h := b.history()
	for _, c := range h {
		diffs += len(c.Diff)
	}
	if len(h) != 120 || diffs > 3*(1<<20)+100_000 {
		t.Errorf("%d changes with %d bytes of differences", len(h), diffs)
	}
}

// TestDifferencesAreBounded checks that diffs stay in the log, and that a workspace with many of them gets only few
// more per call.
func TestDifferencesAreBounded(t *testing.T) {
	b := newBench(t, func(o *workspace.Options) { o.History = 1 << 20 })
	for range 6 {
		b.ok("Bash", in{"command": "for i in $(seq 8); do head -c 60000 /dev/urandom | base64 >f$i; done"})
	}
	total := 0
	for _, c := range b.history() {
		total += len(c.Diff)
	}
	if total > 2<<20+4*80_000 || total < 1<<20 {
		t.Errorf("the differences have %d bytes", total)
	}
	b.ok("Write", in{"file_path": "new.txt", "content": "one\n"})
	if got := b.ok("Edit", in{
		"file_path":  "new.txt",
		"old_string": "one",
		"new_string": "two",
	}); !strings.Contains(got, "-one\n+two") {
		t.Errorf("an edit says %q", got)
	}
}

func TestOrgHistoryIsBounded(t *testing.T) {
	const bound = 1 << 20
	b := newBench(t, func(o *workspace.Options) { o.OrgHistory = bound })
	total := func() (all int64) {
		for i := range 8 {
			all += b.held(fmt.Sprintf("conv-%d", i))
		}
		return all
	}
	for i := range 8 {
		b.in = fmt.Sprintf("conv-%d", i)
		for j := range 3 {
			b.ok("Write", in{
				"file_path": fmt.Sprintf("f%d", j),
				"content":   strings.Repeat(fmt.Sprintf("%d in %d\n", j, i), 14_000),
			})
		}
		if n := total(); n > bound+bound/8+200_000 {
			t.Fatalf("after conversation %d all keep %d bytes", i, n)
		}
	}
	if b.held("conv-0") != 0 || b.held("conv-7") == 0 {
		t.Errorf("the oldest keeps %d bytes, the newest %d", b.held("conv-0"), b.held("conv-7"))
	}
	// A lost folder is restored as far as its contents are kept.
	b.dir = filepath.Join(b.folder, "conv-7")
	if got := b.file("f0"); !strings.HasPrefix(got, "0 in 7") {
		t.Errorf("f0 = %.20q", got)
	}
}
