// Package demotest provides the demo shop to tests. It writes the database once per test process, because that costs
// more than most tests that use it.
package demotest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/footnotehq/footnote/demo"
)

// Shop returns the path of a database file with the demo shop. The file belongs to the test and is deleted at its
// end.
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
