package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
)

//go:embed context
var words embed.FS

// Context returns what the shop says about its data: its glossary, the model of its tables, verified queries and tests.
func Context() fs.FS { return within(words, "context") }

// WriteContext writes the files of Context into a folder, and creates the folder if needed. It leaves an existing
// folder unchanged.
func WriteContext(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.CopyFS(dir, Context())
	}
	if err != nil {
		return fmt.Errorf("context of the demo shop: %w", err)
	}
	return nil
}

// within returns a folder of embedded files.
func within(all embed.FS, folder string) fs.FS {
	files, err := fs.Sub(all, folder)
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return files
}
