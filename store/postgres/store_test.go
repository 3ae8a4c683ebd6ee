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

func TestMovable(t *testing.T) {
	storetest.RunMovable(t, func(tb testing.TB) store.Movable { return openAt(tb, pgtest.Database(tb), Options{}) })
}

func TestOneLeads(t *testing.T) {
	url := pgtest.Database(t)
	a, b := openAt(t, url, Options{}), openAt(t, url, Options{})
	release, ok, err := a.Lead(t.Context(), "task")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for task, want := range map[string]bool{"task": false, "another": true} {
		r, ok, err := b.Lead(t.Context(), task)
		if err != nil || ok != want {
			t.Errorf("%s: %v, %v", task, ok, err)
		}
		if ok {
			r()
		}
	}
	release()
	if release, ok, err = b.Lead(t.Context(), "task"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	release()
}

func BenchmarkSettle(b *testing.B) {
	storetest.BenchSettle(b, openAt(b, pgtest.Database(b), Options{}))
}
