package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"
)

// TestProbeOnFilesOfManyShapes checks that files of any shape can be opened and proven read-only. Many statements
// do nothing, and so succeed, when there is nothing for them to change.
func TestProbeOnFilesOfManyShapes(t *testing.T) {
	for name, script := range map[string]string{
		"one table, no index": "CREATE TABLE t (a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (1, 2)",
		"an empty table":      "CREATE TABLE t (a, b)",
		"only a view":         "CREATE VIEW v AS SELECT 1 AS one",
		"no tables left":      "CREATE TABLE t (a); DROP TABLE t",
		"without rowid":       "CREATE TABLE t (a PRIMARY KEY, b) WITHOUT ROWID; INSERT INTO t VALUES (1, 2)",
		"strict, generated":   "CREATE TABLE t (a INTEGER, b INTEGER AS (a + 1)) STRICT; INSERT INTO t (a) VALUES (1)",
		"an odd name":         `CREATE TABLE "a ""b"" c" (x); CREATE TABLE "sqlite-like" (x)`,
		"full text":           "CREATE VIRTUAL TABLE t USING fts5(a); INSERT INTO t VALUES ('x')",
		"with an index":       "CREATE TABLE t (a, b); CREATE INDEX i ON t (a)",
		"with a trigger":      "CREATE TABLE t (a); CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; END",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(script); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			src, err := Open(t.Context(), "x", path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			if err := src.Probe(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
