package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	seq := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, old, new, want string
	}{
		{"same", "a\n", "a\n", ""},
		{"created", "", "a\nb\n", "--- a/f\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"emptied", "a\n", "", "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n"},
		{"one line", "a\nb\nc\n", "a\nB\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{
			"last line without a break", "a\nb", "a\nb\n",
			"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
		},
		{"two places", seq(1, 20),
			strings.Replace(strings.Replace(seq(1, 20), "2\n", "two\n", 1), "18\n", "eighteen\n", 1),
			"--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n@@ -15,6 +15,6 @@\n 15\n 16\n " +
				"17\n-18\n+eighteen\n 19\n 20\n"},
	} {
		if got := unified("f", c.old, c.new, opWrite); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestPatchApplies checks that patch turns the old text into the new one with the diff, whatever the two
// texts are.
func TestPatchApplies(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Fatal("the test needs patch")
	}
	dir := t.TempDir()
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n", "\n", "long line\n", "- x\n", "+ y\n"})
	text := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(line, 0, 40).Draw(t, "lines"), "")
		if rapid.Bool().Draw(t, "open end") {
			s = strings.TrimSuffix(s, "\n")
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		old, want := text.Draw(t, "old"), text.Draw(t, "new")
		diff := unified("f", old, want, opWrite)
		if diff == "" {
			if old != want {
				t.Fatalf("no diff of %q and %q", old, want)
			}
			return
		}
		hunks, _, _ := parseDiff(diff)
		got := apply(t, old, hunks)
		if got != want {
			t.Fatalf("%q and\n%s\ngive %q, want %q", old, diff, got, want)
		}
		if rapid.IntRange(0, 9).Draw(t, "with patch") > 0 || old == "" || want == "" {
			return // starting a process for each is slow
		}
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(patch, "-s", "--posix", "-o", path+".new", path)
		cmd.Stdin = strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("patch: %v %s\n%s", err, out, diff)
		}
		if data, err := os.ReadFile(path + ".new"); err != nil || string(data) != want {
			t.Fatalf("patch gave %q, %v; want %q of\n%s", data, err, want, diff)
		}
	})
}

// apply applies hunks to a text and checks their counts.
func apply(t *rapid.T, old string, hunks []hunk) string {
	all := strings.SplitAfter(old, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	var out []string
	at := 0
	for _, h := range hunks {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start++
		}
		out = append(out, all[at:start]...)
		at = start
		olds, news := 0, 0
		for i, l := range h.Lines {
			text := l[1:] + "\n"
			if i+1 < len(h.Lines) && h.Lines[i+1][0] == '\\' {
				text = l[1:]
			}
			switch l[0] {
			case '\\':
				continue
			case '+':
				out, news = append(out, text), news+1
				continue
			case ' ':
				out, news = append(out, text), news+1
			}
			if all[at] != text {
				t.Fatalf("line %d is %q, the diff says %q", at+1, all[at], text)
			}
			at, olds = at+1, olds+1
		}
		if olds != h.OldLines || news != h.NewLines {
			t.Fatalf("hunk has %d and %d lines, it says %d and %d", olds, news, h.OldLines, h.NewLines)
		}
	}
	return strings.Join(append(out, all[at:]...), "")
}

func TestLargeTextsAreCompared(t *testing.T) {
	var a, b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&a, "old %d\n", i)
		fmt.Fprintf(&b, "new %d\n", i)
	}
	_, added, removed := parseDiff(unified("f", a.String(), b.String(), opWrite))
	if added != 20_000 || removed != 20_000 {
		t.Errorf("+%d −%d, want 20000 each", added, removed)
	}
}
