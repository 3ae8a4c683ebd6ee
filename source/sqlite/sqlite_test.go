package sqlite

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/sourcetest"
	_ "modernc.org/sqlite"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{Kind: OpenEngine})
	os.Exit(m.Run())
}

// write runs statements on a database file with a driver that may write.
func write(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// shop makes a database of the suite's tables.
func shop(t testing.TB, before ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	write(t, path, append(before, sourcetest.Setup...)...)
	return path
}

func open(t testing.TB, path string, o Options) *Source {
	t.Helper()
	s, err := Open(t.Context(), "shop", path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// contents lists the files of a directory with their hashes.
func contents(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d %x\n", e.Name(), len(data), sha256.Sum256(data))
	}
	return b.String()
}

func TestSource(t *testing.T) {
	for name, before := range map[string][]string{
		"Rollback": nil,
		"WAL":      {"PRAGMA journal_mode = WAL"},
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, "sqlite", func(t testing.TB) (source.Source, func() string) {
				path := shop(t, before...)
				return open(t, path, Options{}), func() string { return contents(t, filepath.Dir(path)) }
			})
		})
	}
}
