//go:build cgo && !noduckdb

package duckdb

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/sourcetest"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{Kind: OpenEngine})
	if path := os.Getenv(holdMarker); path != "" { // see TestLocked
		hold(path)
	}
	os.Exit(m.Run())
}

const holdMarker = "FOOTNOTE_TEST_HOLD"

// hold keeps a database open for writing until standard input ends.
func hold(path string) {
	db, err := sql.Open("duckdb", path)
	if err == nil {
		_, err = db.Exec("SELECT 1")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("open")
	io.Copy(io.Discard, os.Stdin)
	db.Close()
	os.Exit(0)
}

// write runs statements on a writable database file.
func write(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// contents describes every file below a directory.
func contents(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&b, path)
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %d %x\n", path, len(data), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// openShop opens the suite's tables, with a file that holds a secret next to them.
func openShop(t testing.TB) (source.Source, func() string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.duckdb")
	write(t, path, sourcetest.Setup...)
	write(t, path, "CREATE MACRO twice(x) AS x * 2", "CREATE MACRO leak(f) AS (SELECT content FROM read_text(f))",
		"CREATE VIEW leaky AS SELECT * FROM duckdb_settings()", "CREATE VIEW leaky2 AS SELECT * FROM leaky",
		"CREATE SEQUENCE seq", "CREATE TYPE mood AS ENUM ('sad', 'ok')",
		"CREATE SCHEMA other", "CREATE MACRO other.count(x) AS current_setting('temp_directory')",
		"CREATE VIEW other.leaky AS SELECT count(name) AS n FROM main.customers")
	if err := os.WriteFile(filepath.Join(dir, "secret.csv"), []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), "shop", path, Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, func() string { return contents(t, dir) }
}

// TestErrorsDoNotSuggestSET checks that no error suggests SET, which is refused.
func TestErrorsDoNotSuggestSET(t *testing.T) {
	s, _ := openShop(t)
	_, _, err := source.Collect(t.Context(), s, source.Query{SQL: "SELECT " + strings.Repeat("1+", 1500) + "1"})
	bad, ok := errors.AsType[*source.Error](err)
	if !ok || !strings.Contains(bad.Reason, "expression depth") || strings.Contains(bad.Reason, "SET") {
		t.Errorf("it says %v", err)
	}
}

func TestContract(t *testing.T) { sourcetest.Run(t, openShop) }
