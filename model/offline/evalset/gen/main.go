// Command gen writes the synthetic sources of the offline planner's evaluation
// set. Its output depends on nothing but this code: run it again and the files
// under data do not change.
//
//	go run ./model/offline/evalset/gen
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// file is one output: a slash-separated path under the data folder and its
// exact bytes.
type file struct {
	path string
	data []byte
}

func main() {
	out := flag.String("out", filepath.FromSlash("model/offline/evalset/data"), "folder to write the sources into")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run builds every source and writes it under dir.
func run(dir string) error {
	var files []file
	for _, build := range []func() []file{clinic, saas, freight, storeSales, expenses, hotel} {
		files = append(files, build()...)
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making the folder of %s: %w", f.path, err)
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", f.path, err)
		}
	}
	return nil
}
