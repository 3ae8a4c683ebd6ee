//go:build unix

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// releaseFolder makes the folder that the page on installing starts from, if this is that page. To be quick, the
// program in its archive only calls the one that was built.
func releaseFolder(t *testing.T, dir string, page []block) {
	t.Helper()
	if !slices.ContainsFunc(page, func(b block) bool { return strings.Contains(b.text, "release/install.sh") }) {
		return
	}
	program := filepath.Join(t.TempDir(), "footnote")
	script := "#!/bin/sh\nexec " + filepath.Join(tools, "bin", "footnote") + ` "$@"` + "\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "release")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"archive", out, "v0.0.0", runtime.GOOS, runtime.GOARCH, program, filepath.Join(root, "LICENSE")},
		{"finish", out},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "scripts/release/pack.sh"), args...)
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("pack.sh %q: %v\n%s", args, err, out)
		}
	}
}
