package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/nobodytest"
	"github.com/footnotehq/footnote/internal/sandbox"
)

// TestModesDoNotLoseChanges checks that a server without root's rights copies back what a command did, whatever modes
// the command left.
func TestModesDoNotLoseChanges(t *testing.T) {
	if !nobodytest.Here(t) {
		return
	}
	scripts := map[string]string{
		"from another process": "(chmod 000 .) & wait",
		"subfolder":            "chmod 000 d",
		"nested subfolders":    "chmod 000 d/e/h d/e d/g d",
		"only writable":        "chmod 300 d/e; chmod 200 d/g d",
		"everything":           "chmod 000 d/e/h d/e d/g d f .",
		"removed":              "cd /; ! rm -r /workspace; mkdir -p /workspace/d/e; cd /workspace; " + fill,
		"moved":                "! mv /workspace /elsewhere",
		"killed":               "chmod 000 .; kill -9 $$",
	}
	for _, mode := range []string{"000", "111", "222", "333", "444", "555", "1000", "1777", "2700", "2555", "7000"} {
		scripts["mode "+mode] = "chmod " + mode + " . || true" // some bits are forbidden
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "gone"), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
			res := run(t, dir, "mkdir -p d/e && "+fill+" && rm gone; "+script, sandbox.Limits{})
			if res.Exit != 0 && name != "killed" || res.Ended != "" || res.Lost != 0 || res.Filled {
				t.Errorf("result: %+v: %s", res, res.Output)
			}
			const want = "d\nd/e\nd/e/h\nd/g\nf\n"
			check := func() {
				t.Helper()
				var names []string
				err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
					if err == nil && path != dir {
						names = append(names, strings.TrimPrefix(path, dir+"/"))
					}
					return err
				})
				if got := strings.Join(names, "\n") + "\n"; got != want || err != nil {
					t.Errorf("the folder has\n%s%v", got, err)
				}
				for _, file := range []string{"f", "d/g", "d/e/h"} {
					if data, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(data) != "x\n" {
						t.Errorf("%s = %q, %v", file, data, err)
					}
				}
			}
			check()
			// The next command can work with it.
			res = run(t, dir, "find . -mindepth 1 | cut -c3- | LC_ALL=C sort", sandbox.Limits{})
			if string(res.Output) != want {
				t.Errorf("the next command sees\n%s", res.Output)
			}
			check()
			if res := run(t, dir, "rm -rf * && ls -A", sandbox.Limits{}); len(res.Output) != 0 || res.Exit != 0 {
				t.Errorf("left: %s", res.Output)
			}
		})
	}
}

const fill = "for f in f d/g d/e/h; do echo x >$f; done"

// TestFilesOfAnotherUser checks that changes that the server may not make on the host do not lose the others, and that
// a file that it may not read is named.
func TestFilesOfAnotherUser(t *testing.T) {
	const count = 12
	if !nobodytest.Here(t, func(dir string) error {
		theirs := filepath.Join(dir, "theirs")
		err := os.Mkdir(theirs, 0o755)
		for i := range count {
			err = errors.Join(err, os.WriteFile(filepath.Join(theirs, fmt.Sprint(i)), []byte("old"), 0o644))
		}
		return err
	}) {
		return
	}
	dir := nobodytest.Prepared(t)
	res := run(t, dir, `echo a >a; echo new >theirs/new; rm theirs/0; echo z >z
for i in $(seq 11); do echo $i >theirs/$i; done`, sandbox.Limits{})
	if res.Exit != 0 || res.Lost != count+1 || len(res.LostFirst) != 10 {
		t.Fatalf("result: %+v: %s", res, res.Output)
	}
	for _, e := range res.LostFirst {
		if !strings.HasPrefix(e.Path, "theirs/") || !errors.Is(e.Err, os.ErrPermission) ||
			strings.Contains(e.Error(), dir) {
			t.Errorf("lost: %v", &e)
		}
	}
	for name, want := range map[string]string{"a": "a\n", "z": "z\n", "theirs/0": "old", "theirs/1": "old"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s = %q, %v", name, data, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "theirs")); err != nil || len(entries) != count {
		t.Errorf("their folder has %v, %v", entries, err)
	}
}

func TestUnreadableFileIsNamed(t *testing.T) {
	if !nobodytest.Here(t, func(dir string) error {
		err := os.Mkdir(filepath.Join(dir, "d"), 0o755)
		return errors.Join(err, os.WriteFile(filepath.Join(dir, "d", "secret"), []byte("old"), 0o600))
	}) {
		return
	}
	dir := nobodytest.Prepared(t)
	_, err := sandbox.Run(t.Context(), sandbox.Command{Dir: dir, Script: "echo x >f"})
	if e, ok := errors.AsType[*sandbox.FileError](err); !ok || e.Path != "d/secret" ||
		!errors.Is(err, os.ErrPermission) {
		t.Errorf("Run = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); !os.IsNotExist(err) {
		t.Errorf("the command was run: %v", err)
	}
}
