package postgres

import (
	"os"
	"testing"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// openAt opens the store in a database and closes it when the test ends.
func openAt(tb testing.TB, url string, opts Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), url, opts)
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
	storetest.Run(t, func(tb testing.TB) store.Store { return openAt(tb, pgtest.Database(tb), Options{}) })
}

func TestDurable(t *testing.T) {
	urls := map[string]string{} // of the database that stands for a folder
	storetest.RunDurable(t, func(tb testing.TB, dir string) store.Store {
		if urls[dir] == "" {
			urls[dir] = pgtest.Database(tb)
		}
		return openAt(tb, urls[dir], Options{})
	})
}
