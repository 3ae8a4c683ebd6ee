package demo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

//go:embed workspace
var workspace embed.FS

// WriteWorkspace writes the sample files of a coder's workspace into a folder, and creates the folder if needed. It
// leaves an existing folder unchanged.
func WriteWorkspace(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("sample files: %w", err)
	}
	entries, err := workspace.ReadDir("workspace")
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := workspace.ReadFile(path.Join("workspace", e.Name()))
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if path.Ext(e.Name()) == ".sh" {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), data, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("sample files: %w", err)
		}
	}
	return nil
}
