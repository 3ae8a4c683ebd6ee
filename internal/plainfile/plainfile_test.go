//go:build unix

package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte("12345"), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(file, 5); string(data) != "12345" || err != nil {
		t.Errorf("Read: %q, %v", data, err)
	}
	if _, err := Read(file, 4); err == nil || !strings.Contains(err.Error(), "larger than 4 bytes") {
		t.Errorf("a file that is too large: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "nowhere"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	for path, want := range map[string]string{pipe: "named pipe", dir: "folder", os.DevNull: "not a regular file"} {
		if _, err := Read(path, 4); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
