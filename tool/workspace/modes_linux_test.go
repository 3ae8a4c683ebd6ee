package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/nobodytest"
)

// TestModesOfCommands checks that a server without root's rights records what a command did, whatever modes the
// command left.
func TestModesOfCommands(t *testing.T) {
	if !nobodytest.Here(t) {
		return
	}
	for _, script := range []string{
		"chmod 000 .", "chmod 555 .", "chmod 1777 .", "chmod 000 d", "chmod 000 d/f d .", "! mv /workspace /x",
		"chmod 000 .; exit 3",
	} {
		b := newBench(t)
		out := b.call("Bash", in{"command": "mkdir d; echo x >d/f; echo y >e; " + script})
		const want = "(created d/f, e)\n"
		if !strings.HasSuffix(out.Content, want) || out.IsError != strings.Contains(script, "exit") {
			t.Errorf("%s: %v %q", script, out.IsError, out.Content)
		}
		if h := b.history(); len(h) != 2 || h[0].Tool != "Bash" || b.blob(h[0].After) != "x\n" {
			t.Errorf("%s: recorded %+v", script, h)
		}
		b.ok("Read", in{"file_path": "d/f"})
		b.ok("Write", in{"file_path": "d/g", "content": "z"})
		if got := b.ok("Bash", in{"command": "cat d/f d/g e; rm -r *"}); got != "x\nzy\n(deleted d/f, d/g, e)\n" {
			t.Errorf("%s: the next command gives %q", script, got)
		}
	}
}

// TestClosedFolderIsNotDeleted checks that files in a folder without permissions do not count as deleted.
func TestClosedFolderIsNotDeleted(t *testing.T) {
	if !nobodytest.Here(t) {
		return
	}
	b := newBench(t)
	b.ok("Bash", in{"command": "mkdir d; echo x >d/f; echo y >e"})
	if err := os.Chmod(filepath.Join(b.dir, "d"), 0); err != nil {
		t.Fatal(err)
	}
	b.fails("permission denied", "Read", in{"file_path": "d/f"})
	if got := b.ok("Bash", in{"command": "cat d/f; rm e"}); got != "x\n(deleted e)\n" {
		t.Errorf("Bash = %q", got)
	}
	if h := b.history(); len(h) != 3 {
		t.Errorf("recorded: %+v", h)
	}
}

// TestFilesOfAnotherUser checks that files that the server may not read or write are named, and that changes of other
// files are recorded.
func TestFilesOfAnotherUser(t *testing.T) {
	if !nobodytest.Here(t, func(dir string) error {
		theirs := filepath.Join(dir, "theirs")
		err := os.Mkdir(theirs, 0o755)
		return errors.Join(err, os.WriteFile(filepath.Join(theirs, "f"), []byte("old\n"), 0o644),
			os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600))
	}) {
		return
	}
	b := newBench(t)
	dir := nobodytest.Prepared(t)
	if err := os.Rename(dir, b.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Rename(b.dir, dir) }) // only root can remove it
	b.fails("The command was not run: secret cannot be copied: permission denied.", "Bash", in{"command": "echo x >f"})
	if err := os.Remove(filepath.Join(b.dir, "secret")); err != nil {
		t.Fatal(err)
	}
	b.fails("(could not be kept: theirs/f (permission denied))\n(created z)\n",
		"Bash", in{"command": "echo new >theirs/f; echo z >z"})
	if b.file("theirs/f") != "old\n" || b.file("z") != "z\n" {
		t.Errorf("theirs/f = %q, z = %q", b.file("theirs/f"), b.file("z"))
	}
}
