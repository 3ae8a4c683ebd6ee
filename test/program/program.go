// Package program provides the program that tests start.
package program

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Install puts the program at path. It copies the file that the variable TEST_PROGRAM names, which `make test` builds
// once for all tests, or else builds the program from the checkout at root.
func Install(root, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if built := os.Getenv("TEST_PROGRAM"); built != "" {
		return copyFile(built, path)
	}
	build := exec.Command("go", "build", "-o", path, "./cmd/footnote")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return nil
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		_ = dst.Close()
		return err
	}
	return dst.Close()
}
