// Package program provides the program that tests start.
package program

import (
	"fmt"
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
		data, err := os.ReadFile(built)
		if err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o755)
	}
	build := exec.Command("go", "build", "-o", path, "./cmd/footnote")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return nil
}
