package sqlite

import (
	"path/filepath"
	"testing"
)

// open opens the store of a folder and closes it when the test ends.
func open(tb testing.TB, dir string) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), filepath.Join(dir, "footnote.db"), Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
