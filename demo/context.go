package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
)

//go:embed context
var company embed.FS

// tests is a suite of questions about the shop.
//
//go:embed tests.yaml
var tests []byte

// WriteContext writes what the shop's company says about its data into a folder, and creates the folder if needed. It
// leaves an existing folder unchanged.
func WriteContext(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	files, err := fs.Sub(company, "context")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		return fmt.Errorf("the demo's context: %w", err)
	}
	return nil
}

// Tests returns a suite of questions about the shop, in YAML.
func Tests() []byte { return tests }
