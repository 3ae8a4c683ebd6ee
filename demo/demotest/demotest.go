// Package demotest gives tests the demo shop. Its rows are made once for a test
// process: they are the same each time, and cost more than most tests over them.
package demotest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/footnotehq/footnote/demo"
)

// Shop returns the path of a database file with the demo shop, which is the test's own
// until it ends.
func Shop(tb testing.TB) string {
	tb.Helper()
	data, err := shop()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "shop.db")
	if err := os.WriteFile(path, data, 0o444); err != nil {
		tb.Fatal(err)
	}
	return path
}

var shop = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "footnote-shop-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.db")
	if err := demo.Write(context.Background(), path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
