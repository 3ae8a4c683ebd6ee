package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/sqlite"
)

// TestForeignFiles checks that files other than markets are rejected: another program's database, and garbage.
func TestForeignFiles(t *testing.T) {
	folder := t.TempDir()
	other, garbage := filepath.Join(folder, "other.db"), filepath.Join(folder, "garbage.db")
	db, err := sql.Open("sqlite", "file:"+other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE mine (x)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other, garbage, folder} {
		s, err := sqlite.Open(t.Context(), path)
		if footnote.CodeOf(err) != footnote.MarketUnavailable || strings.Contains(footnote.MessageOf(err), folder) {
			t.Errorf("%s: %v, %q", path, err, footnote.MessageOf(err))
		}
		if s != nil && err == nil {
			s.Close()
		}
	}
}

// TestOpenDuringALoad opens and reads a file that another process is loading: the load may take minutes, and the
// server must be able to start.
func TestOpenDuringALoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "market.db")
	first, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	l, err := first.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Rollback()
	if err := l.Symbol(t.Context(), market.Symbol{Symbol: "EURUSD"}); err != nil {
		t.Fatal(err)
	}
	second, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if list, err := second.Symbols(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("symbols: %v, %v", list, err)
	}
}
