package postgres

import (
	"os"
	"testing"

	"github.com/footnotehq/footnote/internal/pgtest"
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

func TestOnlyOneLeader(t *testing.T) {
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
