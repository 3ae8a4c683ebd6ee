package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
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
	files, err := fs.Sub(workspace, "workspace")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err == nil {
		err = os.Chmod(filepath.Join(dir, "report.sh"), 0o755)
	}
	if err != nil {
		return fmt.Errorf("sample files: %w", err)
	}
	return nil
}
