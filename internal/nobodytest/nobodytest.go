//go:build linux

// Package nobodytest runs tests without root's rights, which modes of files do not bind.
package nobodytest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534 // the user and the group

// Here reports whether the calling test runs as a user without root's rights. Otherwise it runs the test again, as
// nobody, in another process, and fails if the test fails there: the caller must return. As root, prepare may put
// files into the folder that Prepared returns in the other process.
func Here(t *testing.T, prepare ...func(dir string) error) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	temp := t.TempDir()
	for _, dir := range []string{temp, filepath.Dir(temp)} {
		if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range prepare {
		dir := filepath.Join(temp, prepared)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, nobody, nobody), f(dir)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "TMPDIR="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	return false
}

const prepared = "prepared"

// Prepared returns the folder that Here prepared as root. It skips the test if there was no root to do so.
func Prepared(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), prepared)
	if _, err := os.Stat(dir); err != nil {
		t.Skip("only root can make files of another user")
	}
	return dir
}
