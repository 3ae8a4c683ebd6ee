package postgres

import (
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/pgtest"
)

func TestSessions(t *testing.T) {
	url := pgtest.Database(t)
	a, b := openAt(t, url, Options{}), openAt(t, url, Options{})
	ctx := t.Context()
	has := func(s *Store, id, want string) {
		t.Helper()
		sealed, err := s.Session(ctx, []byte(id))
		if string(sealed) != want || err != nil {
			t.Errorf("session %s: %q, %v; want %q", id, sealed, err, want)
		}
	}
	must(t, a.AddSession(ctx, []byte("one"), []byte("ada"), time.Hour))
	must(t, a.AddSession(ctx, []byte("one"), []byte("bob"), time.Hour))
	must(t, a.AddSession(ctx, []byte("over"), []byte("ada"), -time.Second))
	has(b, "one", "ada")
	has(b, "over", "")
	has(b, "none", "")
	must(t, b.AddSession(ctx, []byte("two"), []byte("bob"), time.Hour))
	var left int
	must(t, a.pool.QueryRow(ctx, `SELECT count(*) FROM footnote.sessions`).Scan(&left))
	if left != 2 {
		t.Errorf("%d sessions are kept", left)
	}
	must(t, b.EndSession(ctx, []byte("one")))
	must(t, b.EndSession(ctx, []byte("one")))
	has(a, "one", "")
	has(a, "two", "bob")
}
