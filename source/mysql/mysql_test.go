package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
	"github.com/footnotehq/footnote/source/sourcetest"
)

func TestMain(m *testing.M) { os.Exit(mariatest.Run(m)) }

// more is setup that the statements need in addition to sourcetest.Setup.
var more = []string{
	`CREATE SEQUENCE seq`, `CREATE TABLE secret AS SELECT 'hush' AS word`,
	`CREATE TABLE docs (id INT PRIMARY KEY, body JSON, words TEXT, FULLTEXT (words))`,
	`INSERT INTO docs VALUES (1, '{"a": [1, 2, {"b": "x"}], "n": null}', 'The old boiler was repaired.'), ` +
		`(2, '[]', 'A new pump.')`,
	`CREATE TABLE kinds (i TINYINT, u BIGINT UNSIGNED, d DECIMAL(20,4), f FLOAT, x DOUBLE, b BIT(8), y YEAR, t TIME(3),
		dt DATETIME(6), z DATE, bin VARBINARY(10), e ENUM('a', 'b'), s SET('p', 'q'), big DECIMAL(30,0), bl BLOB)`,
	`INSERT INTO kinds VALUES (-1, 18446744073709551615, 1234567890123456.7800, 0.1, 0.1, b'101', 2024, '-10:00:00.5',
		'2024-05-17 18:45:00.123456', '0000-00-00', x'00ff', 'b', 'p,q', 123456789012345678901234567890, 'abc')`,
	`CREATE TABLE parted (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3`, `INSERT INTO parted VALUES (1), (2)`,
	`CREATE TABLE old (id INT PRIMARY KEY) WITH SYSTEM VERSIONING`, `INSERT INTO old VALUES (1)`,
	`CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2`,
	`CREATE FUNCTION wipe() RETURNS INT BEGIN DELETE FROM orders; RETURN 1; END`,
	`CREATE FUNCTION peek() RETURNS TEXT READS SQL DATA SQL SECURITY DEFINER RETURN (SELECT word FROM secret)`,
	`CREATE PROCEDURE tidy() DELETE FROM orders`,
	`CREATE VIEW peeking AS SELECT peek() AS word`, `CREATE VIEW below AS SELECT word FROM peeking`,
	`CREATE VIEW sleepy AS SELECT SLEEP(100) AS n`, `CREATE VIEW files AS SELECT LOAD_FILE('/etc/passwd') AS text`,
	`CREATE VIEW nextone AS SELECT NEXTVAL(seq) AS n`,
}

// shop makes the tables of the tests.
func shop(t testing.TB) *mariatest.Database {
	t.Helper()
	d := mariatest.New(t)
	d.Do(t, slices.Concat(sourcetest.Setup, more)...)
	d.Do(t, "GRANT EXECUTE ON "+d.Name+".* TO "+d.Reader+"@localhost")
	return d
}

func open(t testing.TB, d *mariatest.Database, o Options) *Source {
	t.Helper()
	s, err := Open(t.Context(), "shop", d.Address(d.Reader), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// watched is a source whose server can be asked whether it is still working for the source.
type watched struct {
	*Source
	admin  *sql.DB
	reader string
}

// Working is called by sourcetest.
func (w watched) Working() bool {
	var n int
	err := w.admin.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = ? AND COMMAND <> 'Sleep'",
		w.reader).Scan(&n)
	return err != nil || n > 0
}

// snapshot returns everything that a statement might change: tables and their rows, routines, sequences, users,
// locks, prepared statements, global settings and files.
func snapshot(t testing.TB, d *mariatest.Database, admin *sql.DB) string {
	t.Helper()
	var b strings.Builder
	for _, q := range []string{
		"SELECT TABLE_NAME, TABLE_TYPE, CREATE_TIME, AUTO_INCREMENT, TABLE_COMMENT FROM information_schema.TABLES " +
			"WHERE TABLE_SCHEMA = '" + d.Name + "' ORDER BY 1",
		"SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '" + d.Name +
			"' ORDER BY 1, ORDINAL_POSITION",
		"SELECT ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '" + d.Name +
			"' ORDER BY 1",
		"SELECT INDEX_NAME, TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '" +
			d.Name + "' ORDER BY 2, 1, 3",
		"SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT LIKE 'test%' ORDER BY 1",
		"SELECT User, Host, Priv FROM mysql.global_priv WHERE User NOT LIKE 'reader%' OR User = '" + d.Reader +
			"' ORDER BY 1, 2",
		"SELECT Db, User, Select_priv, Insert_priv FROM mysql.db WHERE Db = '" + d.Name + "' ORDER BY 1, 2",
		"SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES WHERE GRANTEE LIKE '%" + d.Reader +
			"%' ORDER BY 1, 2",
		"SELECT VARIABLE_NAME, GLOBAL_VALUE FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_SCOPE <> " +
			"'SESSION ONLY' AND VARIABLE_NAME NOT IN ('GTID_BINLOG_STATE', 'GTID_CURRENT_POS') ORDER BY 1",
		"SELECT COUNT(*) FROM information_schema.EVENTS", "SELECT * FROM mysql.func",
		"SELECT IS_USED_LOCK('mine')", "SELECT next_not_cached_value FROM seq",
		"SELECT * FROM customers ORDER BY 1", "SELECT * FROM orders ORDER BY 1",
		`SELECT * FROM "order lines" ORDER BY 1, 2`, "SELECT * FROM secret", "SELECT * FROM docs ORDER BY 1",
		"SELECT * FROM parted ORDER BY 1", "SELECT id, ROW_START FROM old ORDER BY 1",
	} {
		rows, err := admin.Query(q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		b.WriteString(texts(t, rows))
	}
	for _, dir := range []string{d.Folder(), d.Folder() + "/data/" + d.Name, os.TempDir()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "footnote-out") || dir != os.TempDir() {
				fmt.Fprintln(&b, dir, e.Name())
			}
		}
	}
	return b.String()
}

func texts(t testing.TB, rows *sql.Rows) string {
	t.Helper()
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for rows.Next() {
		cells, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			to[i] = &cells[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, cells)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSource(t *testing.T) {
	sourcetest.Run(t, func(t testing.TB) (source.Source, func() string) {
		d := shop(t)
		admin := d.Admin(t)
		if _, err := admin.ExecContext(context.Background(), "USE "+d.Name); err != nil {
			t.Fatal(err)
		}
		src := open(t, d, Options{Functions: []string{"twice"}})
		return watched{src, admin, d.Reader}, func() string { return snapshot(t, d, admin) }
	})
}

// TestSameRows checks that the server returns the same rows for the statements that the gate writes as for those that
// it read, in the same modes.
func TestSameRows(t *testing.T) {
	d := shop(t)
	src := open(t, d, Options{Functions: []string{"twice"}})
	compared := 0
	for _, st := range sourcetest.Statements(t, "allowed", sourcetest.Executed) {
		if strings.Contains(st.SQL, "->") || !st.Allows(sourcetest.Executed) || slices.Contains(translated, st.Name) {
			continue // only the gate understands it
		}
		written, _, err := source.Collect(t.Context(), src, source.Query{SQL: st.SQL})
		if err != nil {
			t.Errorf("%s: %v", st.Name, err)
			continue
		}
		s, err := src.engine.begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]any
		sum, err := s.query(t.Context(), strings.TrimRight(st.SQL, "; "), func(row []any) error {
			rows = append(rows, row)
			return nil
		})
		s.end()
		if got, want := sourcetest.Text(written.Rows), sourcetest.Text(rows); err != nil || got != want {
			t.Errorf("%s: %s, but as written by its author %s, %v", st.Name, got, want, err)
		}
		if got, want := fmt.Sprint(written.Columns), fmt.Sprint(sum.Columns); got != want &&
			!slices.Contains(renamed, st.Name) {
			t.Errorf("%s: columns %s, but as written by its author %s", st.Name, got, want)
		}
		compared++
	}
	t.Logf("%d statements compared", compared)
}

// translated are the statements whose SQL the server does not understand as it was written: the gate translates them.
var translated = []string{
	"every engine: table with a space", "every engine: materialized with", "every engine: mixed case names",
	"every engine: semicolons and a comment at the end", "name in double quotes where a name must be",
	"with in another case", "rollup as a function", "cast to types of other databases", "table values",
}

// renamed are the statements in which the name of a column without an alias differs: blanks in it become one, and it
// has at most 64 characters.
var renamed = []string{"trim", "group_concat with a limit"}
