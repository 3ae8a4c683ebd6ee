package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Install installs the npm packages that dir/package.json pins into dir/node_modules, unless they are there.
// Tests of several packages may call it concurrently.
func Install(ctx context.Context, dir string) error {
	there, err := installed(dir)
	if there || err != nil {
		return err
	}
	temp, err := os.MkdirTemp(dir, ".install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(temp, name), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir = temp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	target := filepath.Join(dir, "node_modules")
	if there, err = installed(dir); there || err != nil {
		return err // another process was faster
	}
	// An old version is in the way. Move it rather than remove it, so that there is never half of it.
	if err := os.Rename(target, filepath.Join(temp, "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(filepath.Join(temp, "node_modules"), target); err != nil {
		if there, _ := installed(dir); there {
			return nil
		}
		return err
	}
	return nil
}

// installed reports whether the packages that package.json pins are installed.
func installed(dir string) (bool, error) {
	var want struct{ Dependencies map[string]string }
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		return false, err
	}
	for name, version := range want.Dependencies {
		var got struct{ Version string }
		data, err := os.ReadFile(filepath.Join(dir, "node_modules", name, "package.json"))
		if err != nil || json.Unmarshal(data, &got) != nil || got.Version != version {
			return false, nil //nolint:nilerr // a package that cannot be read is not installed
		}
	}
	return true, nil
}
