//go:build linux

package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/sourcetest"
	_ "modernc.org/sqlite"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{Kind: OpenEngine})
	if path := os.Getenv(openMarker); path != "" { // see TestUnreadableFile
		_, err := Open(context.Background(), "shop", path, Options{})
		fmt.Println(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const openMarker = "FOOTNOTE_TEST_OPEN"

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

// shop creates a database with the suite's tables.
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
			sourcetest.Run(t, func(t testing.TB) (source.Source, func() string) {
				path := shop(t, before...)
				return open(t, path, Options{}), func() string { return contents(t, filepath.Dir(path)) }
			}, "customers", "orders") // the authorizer sees the tables behind a view
		})
	}
}

func collect(t testing.TB, s source.Source, sql string, args ...any) ([][]any, source.Summary) {
	t.Helper()
	r, sum, err := source.Collect(t.Context(), s, source.Query{SQL: sql, Args: args})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return r.Rows, sum
}

func TestAddresses(t *testing.T) {
	path := shop(t)
	odd := filepath.Join(filepath.Dir(path), "a b%20c?d#é.db")
	if err := os.Rename(path, odd); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(odd)
	write := func(name string) {
		data, err := os.ReadFile(odd)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("x.db")
	t.Chdir(dir)
	for _, address := range []string{odd, "x.db", "./x.db", "sqlite:x.db", "sqlite://" + dir + "/x.db",
		"sqlite:" + dir + "/x.db",
		"file:x.db", "file://" + dir + "/x.db?mode=ro", "sqlite:x.db?immutable=1",
		"file:" + strings.NewReplacer("%", "%25", "?", "%3f", " ", "%20").Replace(odd)} {
		s := open(t, address, Options{})
		if rows, _ := collect(t, s, "SELECT count(*) FROM customers"); rows[0][0] != int64(4) {
			t.Errorf("%s: %v", address, rows)
		}
		s.Close()
	}
	for _, address := range []string{"", ":memory:", "sqlite::memory:", "sqlite:", "file:x.db?mode=rw",
		"file:x.db?mode=rwc", "sqlite:x.db?mode=ro&mode=rw",
		"file:x.db?cache=shared", "file:x.db?_pragma=query_only(0)", "file:x.db?vfs=unix-none", "sqlite:%zz",
		"x\x00.db"} {
		s, err := Open(t.Context(), "shop", address, Options{})
		if err == nil {
			s.Close()
		}
		if footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, err := os.ReadFile(shop(t))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing.db"): "not there",
		dir:                              "directory",
		put("empty.db", ""):              "empty (0 bytes)",
		put("short.db", "SQLite"):        "not a SQLite database",
		put("text.db", strings.Repeat("name,city\n", 100)):              "not a SQLite database, or is encrypted",
		put("encrypted.db", strings.Repeat("\x8f\x01\xf3z", 2048)):      "encrypted",
		put("damaged.db", string(good[:100])+strings.Repeat("?", 8000)): "damaged",
	} {
		s, err := Open(t.Context(), "shop", path, Options{})
		if err == nil {
			s.Close()
		}
		if footnote.CodeOf(err) != footnote.DatabaseUnavailable || !strings.Contains(footnote.MessageOf(err), want) ||
			!strings.Contains(footnote.MessageOf(err), "shop") {
			t.Errorf("%s: %v, want words %q", path, err, want)
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	path := shop(t)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755) // others may enter, so that only the file's own mode refuses
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{openMarker + "=" + path}
	if os.Geteuid() == 0 { // root can read every file, so read this one as the user nobody
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "permission denied") {
		t.Errorf("opening an unreadable file said %q, %v", out, err)
	}
}

func TestLockedByWriter(t *testing.T) {
	path := shop(t)
	s := open(t, path, Options{})
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	writer, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if _, err := writer.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	_, _, err = source.Collect(t.Context(), s, source.Query{SQL: "SELECT * FROM customers"})
	if e, ok := errors.AsType[*source.Error](err); !ok || e.Kind != source.Failed ||
		!strings.Contains(e.Reason, "locked") || time.Since(begun) > 5*time.Second {
		t.Errorf("a locked database: %v after %v", err, time.Since(begun))
	}
	other, err := Open(t.Context(), "shop", path, Options{})
	if err == nil {
		other.Close()
	}
	if footnote.CodeOf(err) != footnote.DatabaseUnavailable || !strings.Contains(err.Error(), "locked") {
		t.Errorf("opening a locked database: %v", err)
	}
	if _, err := writer.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	collect(t, s, "SELECT * FROM customers")
}

// TestLiveWriter checks that a source reads what another program writes, in both journal modes, and that the
// version changes with the data.
func TestLiveWriter(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			path := shop(t)
			db, err := sql.Open("sqlite", "file:"+path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			exec := func(sql string) {
				t.Helper()
				if _, err := db.Exec(sql); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, path, Options{})
			collect(t, s, "SELECT 1 FROM customers")
			exec("PRAGMA journal_mode = " + mode)
			last, err := s.Version(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				exec(fmt.Sprintf("INSERT INTO customers (id, name) VALUES (%d, 'new')", 100+i))
				if i == 10 && mode == "WAL" {
					exec("PRAGMA wal_checkpoint(TRUNCATE)")
				}
				rows, _ := collect(t, s, "SELECT count(*) FROM customers")
				if rows[0][0] != int64(5+i) {
					t.Fatalf("after insert %d: %v", i, rows)
				}
				v, err := s.Version(t.Context())
				if err != nil || v == last {
					t.Fatalf("after insert %d the version is still %q, %v", i, v, err)
				}
				last = v
			}
			pid := s.PID()
			collect(t, s, "SELECT 1")
			if s.PID() != pid {
				t.Error("the child was restarted although nothing changed")
			}
			exec("ALTER TABLE customers ADD COLUMN extra TEXT")
			schema, err := s.Schema(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if table, _ := schema.Table("customers"); len(table.Columns) != 6 || table.Rows != 24 {
				t.Errorf("the schema did not follow: %+v", table)
			}
			db.Close()
			if rows, _ := collect(t, s, "SELECT count(*) FROM customers"); rows[0][0] != int64(24) {
				t.Fatalf("after the writer left: %v", rows)
			}
		})
	}
}

// TestLeftoverWAL opens a database whose last writer died: the log holds data, and its index is missing. Nothing
// next to the file may be created or changed.
func TestLeftoverWAL(t *testing.T) {
	live := shop(t, "PRAGMA journal_mode = WAL")
	db, err := sql.Open("sqlite", "file:"+live)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO customers (id, name) VALUES (77, 'in the log')"); err != nil {
		t.Fatal(err)
	}
	for _, index := range []bool{false, true} {
		dir := t.TempDir()
		for _, end := range []string{"", "-wal", "-shm"} {
			if end == "-shm" && !index {
				continue
			}
			data, err := os.ReadFile(live + end)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "copy.db"+end), data, 0o400)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		before := contents(t, dir)
		s := open(t, filepath.Join(dir, "copy.db"), Options{})
		if rows, _ := collect(t, s, "SELECT name FROM customers WHERE id = 77"); len(rows) != 1 {
			t.Errorf("index %v: the log was not read: %v", index, rows)
		}
		if err := s.Probe(t.Context()); err != nil {
			t.Errorf("index %v: probe: %v", index, err)
		}
		if after := contents(t, dir); after != before {
			t.Errorf("index %v: reading changed\n%sto\n%s", index, before, after)
		}
	}
}

func TestVanishedAndReplaced(t *testing.T) {
	path := shop(t)
	s := open(t, path, Options{})
	collect(t, s, "SELECT * FROM customers")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error {
			_, _, err := source.Collect(t.Context(), s, source.Query{SQL: "SELECT 1"})
			return err
		},
		func() error { _, err := s.Schema(t.Context()); return err },
		func() error { _, err := s.Version(t.Context()); return err },
	} {
		if err := f(); footnote.CodeOf(err) != footnote.DatabaseUnavailable {
			t.Errorf("a vanished file: %v", err)
		}
	}
	other := filepath.Join(t.TempDir(), "other.db")
	write(t, other, "CREATE TABLE replaced (a)")
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	collect(t, s, "SELECT * FROM replaced")
	schema, err := s.Schema(t.Context())
	if err != nil || len(schema.Tables) != 1 {
		t.Errorf("the schema of the new file: %+v, %v", schema, err)
	}
	// Open it through a symbolic link, as deployments do.
	link := filepath.Join(t.TempDir(), "current.db")
	for i, target := range []string{path, path + ".away"} {
		os.Remove(link)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			s = open(t, link, Options{})
		}
		table := []string{"replaced", "customers"}[i]
		collect(t, s, "SELECT * FROM "+table)
	}
}

func TestCells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells.db")
	write(t, path,
		`CREATE TABLE c (i INTEGER, b BOOLEAN, d DATE, ts DATETIME, epoch TIMESTAMP, dec DECIMAL(10,2), r REAL, j `+
			`JSON, bl BLOB, txt TEXT, day TEXT, mix, p POINT, none TEXT)`,
		`INSERT INTO c VALUES (1, 1, '2024-01-02', '2024-01-02 03:04:05', 1700000000, 1.50, 2, '{"a":1}', x'0011', `+
			`'x', '2024-05-06', 1, 1, NULL)`,
		`INSERT INTO c VALUES (9007199254740993, 0, '2024-01-03', '2024-01-02T03:04:05.25+02:00', 1700000001, 3, `+
			`9e999, '[]', x'', CAST(x'61ff62' AS TEXT), '2024-05-07', 'two', 2, NULL)`,
	)
	s := open(t, path, Options{})
	rows, sum := collect(t, s, "SELECT * FROM c")
	want := [][]any{
		{
			int64(1), true, "2024-01-02", "2024-01-02T03:04:05", int64(1700000000), 1.5, 2.0, `{"a":1}`,
			"blob, 2 bytes", "x", "2024-05-06", int64(1), int64(1), nil,
		},
		{
			int64(9007199254740993), false, "2024-01-03", "2024-01-02T03:04:05.25+02:00", int64(1700000001), int64(3),
			nil, "[]", "blob, 0 bytes", "a\uFFFDb", "2024-05-07", "two", int64(2), nil,
		},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("rows\n%#v, want\n%#v", rows, want)
	}
	var kinds []string
	for _, c := range sum.Columns {
		kinds = append(kinds, c.Kind)
	}
	if got, want := strings.Join(kinds, " "),
		"integer boolean date timestamp integer number number json blob text date  integer text"; got != want {
		t.Errorf("kinds %q, want %q", got, want)
	}
	// Without rows, the declared types decide.
	_, sum = collect(t, s, "SELECT i, b, d, ts, dec, r, j, bl, txt, p, i + 1 AS e FROM c WHERE 0")
	kinds = nil
	for _, c := range sum.Columns {
		kinds = append(kinds, c.Name+":"+c.Kind)
	}
	if got, want := strings.Join(kinds, " "),
		"i:integer b:boolean d:date ts:timestamp dec:number r:number j:json bl:blob txt:text p: e:"; got != want {
		t.Errorf("kinds %q, want %q", got, want)
	}
	// From the first text that does not look like a timestamp, texts stay as they are.
	rows, sum = collect(t, s, "VALUES ('2024-01-02 03:04:05'), ('soon'), ('2024-01-02 03:04:05')")
	if rows[2][0] != "2024-01-02 03:04:05" || sum.Columns[0].Kind != footnote.KindText {
		t.Errorf("mixed text: %v, %+v", rows, sum)
	}
	_, _, err := source.Collect(t.Context(), s, source.Query{
		SQL:    "SELECT hex(zeroblob(600))",
		Limits: source.Limits{Cell: 1000},
	})
	if e, ok := errors.AsType[*source.Error](err); !ok || e.Kind != source.Limited ||
		!strings.Contains(e.Reason, "1200 bytes") {
		t.Errorf("a large cell: %v", err)
	}
}

func TestTimeKind(t *testing.T) {
	for s, want := range map[string]string{
		"2024-01-02": footnote.KindDate, "2024-13-02": footnote.KindText, "2024-01-32": footnote.KindText,
		"20240102": footnote.KindText,
		"12:30:45": footnote.KindTime, "24:00:00": footnote.KindText, "2024-01-02 12:30:45": footnote.KindTimestamp,
		"2024-01-02T12:30:45Z": footnote.KindTimestamp, "2024-01-02T12:30:45.123456789-07:00": footnote.KindTimestamp,
		"2024-01-02 12:30": footnote.KindText, "2024-01-02 12:30:45 UTC": footnote.KindText,
		"2024-01-02x12:30:45":  footnote.KindText,
		"2024-01-02T12:30:45.": footnote.KindText, "": footnote.KindText, "2024-01-0é": footnote.KindText,
	} {
		if got := timeKind(s); got != want {
			t.Errorf("timeKind(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestSchemaOfOddTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd.db")
	write(t, path,
		`CREATE TABLE "Parent" (a INTEGER, b TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID`,
		`CREATE TABLE child (x INTEGER, y TEXT, z INTEGER REFERENCES gone (id), w AS (x + 1) STORED, FOREIGN KEY (y, `+
			`x) REFERENCES parent)`,
		`CREATE TABLE "quo""te; DROP TABLE child" (a)`,
		`CREATE VIRTUAL TABLE docs USING fts5(title, body)`,
		`INSERT INTO docs VALUES ('one', 'the quick fox'), ('two', 'lazy dog')`,
		`CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1)`,
		`INSERT INTO boxes VALUES (1, 0, 10), (2, 5, 20)`,
		`CREATE TABLE gone (id INTEGER PRIMARY KEY)`,
		`CREATE VIEW broken AS SELECT id FROM gone`,
		`DROP TABLE gone`,
		`CREATE TABLE seq (id INTEGER PRIMARY KEY AUTOINCREMENT)`,
		`INSERT INTO seq DEFAULT VALUES`,
		`ANALYZE`,
	)
	s := open(t, path, Options{})
	schema, err := s.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range schema.Tables {
		names = append(names, fmt.Sprintf("%s:%d", table.Name, table.Rows))
	}
	if got, want := strings.Join(names, " "),
		`Parent:0 boxes:2 child:0 docs:2 quo"te; DROP TABLE child:0 seq:1`; got != want {
		t.Errorf("tables %s, want %s", got, want)
	}
	c, _ := schema.Table("child")
	if len(c.Columns) != 4 || len(c.ForeignKeys) != 2 {
		t.Fatalf("child: %+v", c)
	}
	if k := c.ForeignKeys[1]; k.RefTable != "Parent" && c.ForeignKeys[0].RefTable != "Parent" {
		t.Errorf("foreign keys %+v", c.ForeignKeys)
	}
	for _, k := range c.ForeignKeys {
		if k.RefTable == "Parent" &&
			(strings.Join(k.Columns, ",") != "y,x" || strings.Join(k.RefColumns, ",") != "b,a") {
			t.Errorf("implicit reference %+v", k)
		}
	}
	if rows, _ := collect(t, s,
		"SELECT title, highlight(docs, 1, '<', '>') FROM docs WHERE docs MATCH 'fox' ORDER BY bm25(docs)"); len(rows) !=
		1 || rows[0][1] != "the quick <fox>" {
		t.Errorf("full text: %v", rows)
	}
	if rows, _ := collect(t, s, "SELECT id FROM boxes WHERE x0 <= 4"); len(rows) != 1 {
		t.Errorf("rtree: %v", rows)
	}
	collect(t, s, "SELECT * FROM sqlite_sequence")
	collect(t, s, "SELECT tbl, stat FROM sqlite_stat1")
	for _, sql := range []string{
		"INSERT INTO docs(docs) VALUES ('rebuild')", "INSERT INTO boxes VALUES (3, 1, 2)", "DELETE FROM boxes_node",
	} {
		_, _, err := source.Collect(t.Context(), s, source.Query{SQL: sql})
		if e, ok := errors.AsType[*source.Error](err); !ok || e.Kind != source.Refused {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestErrorReasons(t *testing.T) {
	s := open(t, shop(t), Options{})
	for sql, want := range map[string]string{
		"SELECT 1; SELECT 2":                       "Only one statement is allowed",
		"ATTACH 'x' AS y":                          "ATTACH is not allowed",
		"WITH x AS (SELECT 1) DELETE FROM orders":  "DELETE is not allowed",
		"SELECT load_extension('x')":               "load_extension is not allowed",
		"PRAGMA journal_mode":                      "PRAGMA journal_mode is not allowed. Allowed are table_list",
		"SELECT * FROM pragma_database_list":       "pragma_database_list is not allowed",
		"SELECT nam FROM customers":                "no such column: nam",
		"SELECT * FROM custmers":                   "no such table: custmers",
		"SELEC 1":                                  "must begin with SELECT",
		"SELECT FROM WHERE":                        "syntax error",
		"SELECT 'abc":                              "not closed",
		"EXPLAIN DELETE FROM orders":               "DELETE is not allowed",
		"SELECT id FROM customers WHERE id = ?":    "1 parameters and was given 0 arguments",
		"SELECT sum(total) OVER (ORDER BY nowhere": "incomplete input",
	} {
		_, _, err := source.Collect(t.Context(), s, source.Query{SQL: sql})
		e, ok := errors.AsType[*source.Error](err)
		if !ok || !strings.Contains(e.Reason, want) {
			t.Errorf("%s: %v, want words %q", sql, err, want)
		}
	}
}

// TestSortBeyondCache checks that a large sort gets its temporary files in a directory of its own.
func TestSortBeyondCache(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s := open(t, shop(t), Options{Limits: source.Limits{Memory: 128 << 20, Time: 5 * time.Minute}})
	rows, _ := collect(t, s,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT hex(i) || "+
			"'................................................................' FROM n ORDER BY 1 LIMIT 1")
	if len(rows) != 1 {
		t.Fatalf("rows %v", rows)
	}
	st, err := s.Status(t.Context())
	if err != nil || st.Resident > 192<<20 {
		t.Errorf("the child holds %d MB after the sort, %v", st.Resident>>20, err)
	}
	s.Close()
	if left := contents(t, temp); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// TestLayersAlone shows what the layers behind the gate stop without it.
func TestLayersAlone(t *testing.T) {
	path := shop(t)
	uri := uri(path, plain)
	before := contents(t, filepath.Dir(path))
	hostile := sourcetest.Statements(t, "hostile", sourcetest.Refused)
	t.Chdir(t.TempDir())
	for _, authorize := range []bool{true, false} {
		stopped, all := 0, 0
		for _, st := range hostile {
			c, err := dial(uri, authorize)
			if err != nil {
				t.Fatal(err)
			}
			all++
			if err := c.exec(strings.ReplaceAll(st.SQL, "/tmp/", "")); err != nil {
				stopped++
			}
			c.close()
		}
		t.Logf("authorizer %v: %d of %d hostile statements gave an error without the gate", authorize, stopped, all)
		if after := contents(t, filepath.Dir(path)); after != before {
			t.Fatalf("authorizer %v: without the gate the file changed", authorize)
		}
		if left := contents(t, "."); left != "" {
			t.Errorf("authorizer %v: without the gate files were made:\n%s", authorize, left)
		}
	}
}

// FuzzGate checks the promise behind the layers: whatever passes the gate changes nothing on a read-only
// connection, even without the authorizer.
func FuzzGate(f *testing.F) {
	for _, name := range []string{"hostile", "allowed"} {
		for _, st := range sourcetest.Statements(f, name) {
			f.Add(st.SQL)
		}
	}
	path := shop(f)
	uri := uri(path, plain)
	work := f.TempDir()
	f.Chdir(work)
	before := contents(f, filepath.Dir(path))
	f.Fuzz(func(t *testing.T, sql string) {
		if gate(sql) != nil {
			return
		}
		for _, authorize := range []bool{true, false} {
			c, err := dial(uri, authorize)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			stop := c.interruptOn(ctx)
			n := 0
			c.query(source.Query{SQL: sql, Limits: source.DefaultLimits()}, func([]any) error {
				if n++; n > 100 {
					return errors.New("enough")
				}
				return nil
			})
			stop()
			cancel()
			c.close()
		}
		if after := contents(t, filepath.Dir(path)); after != before {
			t.Fatalf("%q changed the database", sql)
		}
		if left := contents(t, work); left != "" {
			t.Fatalf("%q made files:\n%s", sql, left)
		}
	})
}

func FuzzQuotes(f *testing.F) {
	f.Add("SELECT 1; SELECT 2")
	f.Add("SELECT ';' -- ;\n/* ; */ [;] `;` \";\"")
	c, err := dial("file::memory:", false)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.close)
	f.Fuzz(func(t *testing.T, sql string) {
		if gate(sql) != nil {
			return
		}
		// SQLite must not see two statements where the gate sees one.
		st, tail, err := c.prepare(sql)
		if err == nil && st != nil {
			st.close()
			if !blank(tail) {
				t.Fatalf("%q passed the gate, and SQLite leaves %q", sql, tail)
			}
		}
	})
}

func BenchmarkOneRow(b *testing.B) {
	path := shop(b)
	const sql = "SELECT name FROM customers WHERE id = ?"
	b.Run("driver", func(b *testing.B) {
		db := openDriver(b, path)
		for b.Loop() {
			var name string
			if err := db.QueryRowContext(b.Context(), sql, 2).Scan(&name); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("child", func(b *testing.B) {
		s := open(b, path, Options{})
		for b.Loop() {
			collect(b, s, sql, int64(2))
		}
	})
}

func BenchmarkRows(b *testing.B) {
	path := shop(b)
	const query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT i, 'some " +
		"text ' || i, i * 0.5 FROM n"
	b.Run("driver", func(b *testing.B) {
		db := openDriver(b, path)
		for b.Loop() {
			rows, err := db.QueryContext(b.Context(), query)
			if err != nil {
				b.Fatal(err)
			}
			var i, s, f any
			for rows.Next() {
				if err := rows.Scan(&i, &s, &f); err != nil {
					b.Fatal(err)
				}
			}
			rows.Close()
		}
	})
	b.Run("child", func(b *testing.B) {
		s := open(b, path, Options{})
		for b.Loop() {
			collect(b, s, query)
		}
	})
}

func BenchmarkStart(b *testing.B) {
	path := shop(b)
	for b.Loop() {
		s := open(b, path, Options{})
		collect(b, s, "SELECT 1")
		s.Close()
	}
}

func openDriver(b *testing.B, path string) *sql.DB {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

func TestFunctionsOfOtherDatabases(t *testing.T) {
	s := open(t, shop(t), Options{})
	for sql, want := range map[string]string{
		"SELECT MEDIAN(total) FROM orders":                      "row_number()",
		"SELECT stddev(total) FROM orders":                      "sqrt(",
		"SELECT name FROM customers WHERE name REGEXP '^A'":     "LIKE",
		"SELECT date_trunc('month', placed) FROM orders":        "strftime(",
		"SELECT * FROM generate_series(1, 10)":                  "WITH RECURSIVE",
		"SELECT nonsense(total) FROM orders":                    "no such function: nonsense",
		"SELECT generate_series FROM orders WHERE placed > 'a'": "no such column",
	} {
		_, _, err := source.Collect(t.Context(), s, source.Query{SQL: sql})
		if e, ok := errors.AsType[*source.Error](err); !ok || e.Kind != source.Failed ||
			!strings.Contains(e.Reason, want) {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
	// The suggested statement runs.
	const advice = "WITH n AS (SELECT total AS x, row_number() OVER (ORDER BY total) AS i, count(*) OVER () AS n " +
		"FROM orders) SELECT avg(x) FROM n WHERE i IN ((n + 1) / 2, (n + 2) / 2)"
	r, _, err := source.Collect(t.Context(), s, source.Query{SQL: advice})
	if err != nil || len(r.Rows) != 1 || r.Rows[0][0] != 80.0 {
		t.Errorf("the median: %v, %v", r.Rows, err)
	}
}
