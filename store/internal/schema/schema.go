// Package schema reads the migrations of a store: numbered scripts, each of which leads from one version to the next.
package schema

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/footnotehq/footnote"
)

// Scripts returns the scripts of the folder migrations in order; the first one leads to version 1.
func Scripts(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	scripts := make([]string, len(names))
	for i, name := range names {
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%04d_", i+1)) {
			return nil, fmt.Errorf("migration %s: its number should be %d", name, i+1)
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		scripts[i] = string(b)
	}
	return scripts, nil
}

// Check returns an error if a newer program has written the store.
func Check(version, known int) error {
	if version <= known {
		return nil
	}
	return footnote.Errorf(footnote.StorageUnavailable,
		"The conversations were written by a newer version of Footnote (schema %d; this one knows %d). Run that "+
			"version, or restore a backup from before it.",
		version, known)
}
