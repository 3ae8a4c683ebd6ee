package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/storetest"
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

func TestStore(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) store.Store { return open(tb, tb.TempDir()) })
}

func TestDurable(t *testing.T) {
	storetest.RunDurable(t, func(tb testing.TB, dir string) store.Store { return open(tb, dir) })
}

func TestMovable(t *testing.T) {
	storetest.RunMovable(t, func(tb testing.TB) store.Movable { return open(tb, tb.TempDir()) })
}

func BenchmarkSettle(b *testing.B) { storetest.BenchSettle(b, open(b, b.TempDir())) }
