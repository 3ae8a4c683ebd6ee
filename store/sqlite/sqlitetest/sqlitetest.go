// Package sqlitetest opens stores for the tests of other packages.
package sqlitetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote/store/sqlite"
)

// New opens an empty store in a temporary folder and closes it when the test ends.
func New(tb testing.TB) *sqlite.Store {
	tb.Helper()
	return NewAt(tb, time.Now)
}

// NewAt is New with a clock.
func NewAt(tb testing.TB, now func() time.Time) *sqlite.Store {
	tb.Helper()
	data, err := emptyFile()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "footnote.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{Now: now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// emptyFile returns a migrated data file. Copying it saves each store the migrations.
var emptyFile = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp("", "footnote-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "footnote.db")
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
