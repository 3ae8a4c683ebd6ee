package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/tool/workspace"
)

// DemoShop returns the demo database in a data folder, and writes it if it is missing.
func DemoShop(ctx context.Context, data string) (map[string]string, error) {
	path := filepath.Join(data, "shop.db")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(data, 0o700); err != nil {
			return nil, folderError(data, err)
		}
		if err := demo.Write(ctx, path); err != nil {
			return nil, err
		}
	}
	return map[string]string{"shop": path}, nil
}

// DemoWorkspaces creates the demo's folder for workspaces in a data folder, and the files that new workspaces start
// with.
func DemoWorkspaces(data string) (string, error) {
	folder := filepath.Join(data, "workspaces")
	return folder, demo.WriteWorkspace(filepath.Join(folder, workspace.Template))
}
