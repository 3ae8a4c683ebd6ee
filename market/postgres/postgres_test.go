package postgres_test

import (
	"os"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/postgres"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func open(tb testing.TB, url string) market.Store {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// TestDown checks that errors report a database that is down without its address, and that queries work when it is
// back.
func TestDown(t *testing.T) {
	server := pgtest.New(t)
	s := open(t, server.Database(t))
	server.Kill(t)
	if _, err := s.Symbols(t.Context()); footnote.CodeOf(err) != footnote.MarketUnavailable ||
		strings.Contains(footnote.MessageOf(err), server.Folder()) {
		t.Errorf("want an error without the address: %v, %q", err, footnote.MessageOf(err))
	}
	server.Start(t)
	for { // the pool may hold connections that were closed
		_, err := s.Symbols(t.Context())
		if err == nil {
			break
		}
		if footnote.CodeOf(err) != footnote.MarketUnavailable || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	for _, url := range []string{"mysql://x", "postgres://a:secret@[::1"} {
		if _, err := postgres.Open(t.Context(), url); footnote.CodeOf(err) != footnote.InvalidRequest ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
