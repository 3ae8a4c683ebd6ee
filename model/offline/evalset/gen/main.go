// Command gen writes the synthetic sources of the offline planner's evaluation
// set and of its held-out, blind and fresh sets. Its output depends on nothing but
// this code: run it again and the files under the data folders do not change.
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
	out := flag.String("out", filepath.FromSlash("model/offline/evalset"), "folder of the evaluation set")
	flag.Parse()
	err := run(filepath.Join(*out, "data"), clinic, saas, freight, storeSales, expenses, hotel)
	if err == nil {
		err = run(filepath.Join(*out, "heldout", "data"), library, league, deliveries, rentals)
	}
	if err == nil {
		err = run(filepath.Join(*out, "blind", "data"), utility, bakery, traffic)
	}
	if err == nil {
		err = run(filepath.Join(*out, "fresh", "data"), flats, visits, sensors, staff)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run builds the sources and writes them under dir.
func run(dir string, builds ...func() []file) error {
	var files []file
	for _, build := range builds {
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
