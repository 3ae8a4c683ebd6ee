package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// TestLayersAlone checks that the transaction and the user's privileges are enough without the gate.
func TestLayersAlone(t *testing.T) {
	d := shop(t)
	src := open(t, d, Options{})
	admin := d.Admin(t)
	if _, err := admin.ExecContext(t.Context(), "USE "+d.Name); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, d, admin)
	ran := 0
	for _, st := range sourcetest.Statements(t, "hostile", sourcetest.Refused) {
		low := strings.ToLower(st.SQL)
		if slices.ContainsFunc([]string{"sleep", "benchmark", "lock", "kill", "wait", "handler"},
			func(w string) bool { return strings.Contains(low, w) }) || len(st.SQL) > 10_000 {
			continue // these only wait or lock, which the gate alone refuses
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		s, err := src.engine.begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.query(ctx, st.SQL, func([]any) error { return nil }) // whatever comes of it
		s.broken = true
		s.end()
		cancel()
		ran++
	}
	if after := snapshot(t, d, admin); after != before || ran < 150 {
		t.Errorf("%d statements past the gate changed something.\nbefore:\n%s\nafter:\n%s", ran, before, after)
	}
	t.Logf("%d statements past the gate", ran)
}

func TestUsersWhoMayWriteAreRefused(t *testing.T) {
	d := shop(t)
	for grants, want := range map[string]string{
		"INSERT ON {db}.*":                          "INSERT on `" + d.Name + "`.*",
		"SELECT, UPDATE (name) ON {db}.customers":   "UPDATE on `" + d.Name + "`.`customers`",
		"FILE ON *.*":                               "FILE on *.*",
		"CREATE TEMPORARY TABLES ON {db}.*":         "CREATE TEMPORARY TABLES on",
		"LOCK TABLES ON {db}.*":                     "LOCK TABLES on",
		"SELECT ON {db}.* {user} WITH GRANT OPTION": "GRANT OPTION on",
		"ALL ON *.*":                                "ALL PRIVILEGES on *.*",
		"SELECT ON mysql.*":                         "",
		"PROCESS ON *.*":                            "PROCESS on *.*",
		"EXECUTE ON {db}.*":                         "EXECUTE on",
		"SHOW DATABASES ON *.*":                     "",
	} {
		user := "w" + strings.ToLower(strings.NewReplacer(" ", "", "*", "", ".", "", "{", "", "}", "", ",", "", "(", "",
			")", "").Replace(grants))
		user = user[:min(len(user), 30)]
		to := user + "@localhost"
		d.Do(t, "CREATE USER "+to, "GRANT SELECT ON "+d.Name+".* TO "+to)
		text := strings.ReplaceAll(grants, "{db}", d.Name)
		if before, after, ok := strings.Cut(text, "{user}"); ok {
			text = before + "TO " + to + after
		} else {
			text += " TO " + to
		}
		d.Do(t, "GRANT "+text)
		t.Cleanup(func() { d.Do(t, "DROP USER "+to) })
		s, err := Open(t.Context(), "shop", d.Address(user), Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Probe(t.Context())
		s.Close()
		if want == "" && err != nil || want != "" && (!errors.Is(err, source.ErrWritable) ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "CREATE USER footnote_reader")) {
			t.Errorf("%s: %v, want %q", grants, err, want)
		}
	}
}

// TestRolesCount checks that the privileges of an active role are seen.
func TestRolesCount(t *testing.T) {
	d := shop(t)
	d.Do(t, "CREATE ROLE changer", "GRANT DELETE ON "+d.Name+".* TO changer", "GRANT changer TO "+d.Reader+"@localhost",
		"SET DEFAULT ROLE changer FOR "+d.Reader+"@localhost")
	t.Cleanup(func() { d.Do(t, "DROP ROLE changer") })
	if err := open(t, d, Options{}).Probe(t.Context()); !errors.Is(err, source.ErrWritable) ||
		!strings.Contains(err.Error(), "DELETE on") {
		t.Errorf("a user with a role that deletes: %v", err)
	}
}

func TestGrantsOfOtherServers(t *testing.T) {
	for line, want := range map[string]string{
		"GRANT USAGE ON *.* TO `r`@`%`":                    "[]",
		"GRANT SELECT, SHOW VIEW ON `shop`.* TO `r`@`%`":   "[]",
		"GRANT SELECT (`a`, `b`) ON `shop`.`t` TO `r`@`%`": "[]",
		"GRANT `reader`@`%` TO `r`@`%`":                    "[]",
		"REVOKE INSERT ON `shop`.* FROM `r`@`%`":           "[]",
		"GRANT ROLE_ADMIN,SYSTEM_VARIABLES_ADMIN ON *.* TO `r`@`%`": "[ROLE_ADMIN on *.* " +
			"SYSTEM_VARIABLES_ADMIN on *.*]",
		"GRANT EXECUTE ON FUNCTION `shop`.`f` TO `r`@`%`":                      "[]",
		"GRANT PROXY ON ``@`` TO 'root'@'localhost' WITH GRANT OPTION":         "[PROXY on ``@`` GRANT OPTION on ``@``]",
		"GRANT SELECT, INSERT, DELETE HISTORY ON `a, TO b`.* TO `r`@`%`":       "[INSERT on `a, TO b`.* DELETE HISTORY on `a, TO b`.*]",
		"GRANT SELECT (`a ON b`, `c), d`), INSERT (`e`) ON `x`.`y` TO `r`@`%`": "[INSERT on `x`.`y`]",
		"something else entirely":                                              "[a privilege that is not known here (something else entirely)]",
	} {
		if got := fmt.Sprint(excessOf(line, true)); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	d := mariatest.New(t)
	address := d.Address(d.Reader)
	for url, want := range map[string]footnote.Code{
		"mysql://reader:hu%ZZsh@nowhere/x":                        footnote.InvalidRequest,
		"mysql://reader:hush@host":                                footnote.InvalidRequest,
		"mysql://reader:hush@/x":                                  footnote.InvalidRequest,
		"mysql://reader:hush@host/x?readOnly=true":                footnote.InvalidRequest,
		"mysql://reader:hush@host/x?readonly=true":                footnote.InvalidRequest,
		"mysql://reader:hush@host/x?TLS=true":                     footnote.InvalidRequest,
		"mysql://reader:hush@host/x?tls=maybe":                    footnote.InvalidRequest,
		"mysql://reader:hush@host/x?multiStatements=true":         footnote.InvalidRequest,
		"mysql://reader:hush@host/x?allowAllFiles=true":           footnote.InvalidRequest,
		"mysql://reader:hush@host/x?socket=/s":                    footnote.InvalidRequest,
		"mysql://reader:hush@host/x/y":                            footnote.InvalidRequest,
		"nosuch://a@b/c":                                          footnote.InvalidRequest,
		"mysql://reader:hush@127.0.0.1:1/x":                       footnote.DatabaseUnavailable,
		"mysql://reader:hush@/x?socket=/nowhere":                  footnote.DatabaseUnavailable,
		strings.Replace(address, "/"+d.Name, "/missing", 1):       footnote.DatabaseUnavailable,
		strings.Replace(address, d.Reader+"@", "nobody:hush@", 1): footnote.DatabaseUnavailable,
	} {
		_, err := Open(t.Context(), "shop", url, Options{})
		if footnote.CodeOf(err) != want || strings.Contains(footnote.MessageOf(err), "hu") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
	for url, want := range map[string]string{
		"mysql://a:b@db.example:3307/x": "[db.example]", "mariadb://a@[::1]/x?tls=true": "[::1]",
		"mysql://a@/x?socket=/s": "[]", "mysql://a@h/x?nothing=1": "[]",
	} {
		if got := fmt.Sprint(Hosts(url)); got != want {
			t.Errorf("Hosts(%s) = %s, want %s", url, got, want)
		}
	}
}

// slow is a statement that takes a long time.
const slow = "SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, " +
	"information_schema.COLUMNS c WHERE a.COLUMN_NAME < b.COLUMN_NAME AND b.COLUMN_NAME < c.COLUMN_NAME"

// running waits until the reader runs a statement, or until it runs none.
func running(t *testing.T, admin *sql.DB, reader string, want bool) (id int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		err := admin.QueryRowContext(t.Context(), "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = ? AND "+
			"INFO LIKE '%COUNT(*)%'", reader).Scan(&id)
		if (err == nil) == want {
			return id
		}
	}
	t.Fatalf("a statement runs: %v is not so after 20 s", want)
	return 0
}

// TestStoppedStatementsEnd measures how long the server works on after a client has left.
func TestStoppedStatementsEnd(t *testing.T) {
	d := mariatest.New(t)
	admin, src := d.Admin(t), open(t, d, Options{})
	var all []time.Duration
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, _, err := source.Collect(ctx, src, source.Query{SQL: slow})
			ended <- err
		}()
		running(t, admin, d.Reader, true)
		begun := time.Now()
		cancel()
		running(t, admin, d.Reader, false)
		all = append(all, time.Since(begun))
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled query: %v", err)
		}
	}
	slices.Sort(all)
	t.Logf("from the shortest to the longest: %v", all)
	if all[2] > time.Second {
		t.Errorf("the server worked on for %v", all)
	}
}

// TestServerEndsByItself checks the server's own deadline, which holds if this program dies.
func TestServerEndsByItself(t *testing.T) {
	d := mariatest.New(t)
	src := open(t, d, Options{Limits: source.Limits{Time: 200 * time.Millisecond}})
	s, err := src.engine.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	begun := time.Now()
	_, err = s.query(t.Context(), slow, func([]any) error { return nil })
	bad, ok := errors.AsType[*source.Error](err)
	if took := time.Since(begun); !ok || bad.Kind != source.Limited || took > 4*time.Second {
		t.Errorf("without our deadline: %v after %v", err, took)
	}
}

// TestKilledConnectionFailsOnlyItsQuery checks that an administrator who ends a connection fails its query alone.
func TestKilledConnectionFailsOnlyItsQuery(t *testing.T) {
	d := mariatest.New(t)
	admin, src := d.Admin(t), open(t, d, Options{})
	failed := make(chan error, 1)
	go func() {
		_, _, err := source.Collect(t.Context(), src, source.Query{SQL: slow})
		failed <- err
	}()
	if _, err := admin.ExecContext(t.Context(), fmt.Sprintf("KILL %d", running(t, admin, d.Reader, true))); err != nil {
		t.Fatal(err)
	}
	if bad, ok := errors.AsType[*source.Error](<-failed); !ok || bad.Kind != source.Failed {
		t.Errorf("a killed connection gave %v", bad)
	}
	for range 5 {
		if _, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT 1"}); err != nil {
			t.Errorf("after that: %v", err)
		}
	}
}

// TestLockedTable checks that a query does not wait for a lock of somebody else for long.
func TestLockedTable(t *testing.T) {
	d := shop(t)
	admin, src := d.Admin(t), open(t, d, Options{})
	for _, sql := range []string{"USE " + d.Name, "LOCK TABLES orders WRITE"} {
		if _, err := admin.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT COUNT(*) FROM orders"})
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Limited ||
		!strings.Contains(bad.Reason, "locked") {
		t.Errorf("a locked table: %v", err)
	}
}

// TestFrozenServer checks that a server that does not answer keeps nobody waiting, neither before nor during a query.
func TestFrozenServer(t *testing.T) {
	d := mariatest.New(t)
	admin, src := d.Admin(t), open(t, d, Options{Limits: source.Limits{Time: time.Second}})
	ask := func(sql string) {
		t.Helper()
		begun := time.Now()
		_, _, err := source.Collect(t.Context(), src, source.Query{
			SQL: sql, Limits: source.Limits{Time: 500 * time.Millisecond},
		})
		if bad, ok := errors.AsType[*source.Error](err); !ok || !bad.TimedOut || time.Since(begun) > 10*time.Second {
			t.Errorf("%.20s: %v after %v", sql, err, time.Since(begun))
		}
	}
	time.AfterFunc(200*time.Millisecond, func() { d.Freeze(t) })
	ask(slow)
	ask("SELECT 1")
	d.Thaw(t)
	running(t, admin, d.Reader, false) // the server notices by itself, at its own deadline at the latest
	if _, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT 1"}); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// TestLargeRow checks that a row which is too large for this program ends its query alone.
func TestLargeRow(t *testing.T) {
	d := mariatest.New(t)
	d.Do(t, "CREATE TABLE large (id INT, a LONGTEXT, b LONGTEXT)",
		"INSERT INTO large VALUES (1, REPEAT('a', 9000000), REPEAT('b', 9000000)), (2, 'x', 'y')")
	src := open(t, d, Options{})
	_, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT a, b FROM large"})
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Limited ||
		!strings.Contains(bad.Reason, "larger than 16 MB") {
		t.Errorf("a row of 18 MB: %v", err)
	}
	r, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT id, LENGTH(a), b FROM large WHERE id = 2"})
	if got := sourcetest.Text(r.Rows); err != nil || got != `[[2,1,"y"]]` {
		t.Errorf("after that: %s, %v", got, err)
	}
}

// TestIncompleteResults checks that values of which the server only warns that they are wrong are errors.
func TestIncompleteResults(t *testing.T) {
	src := open(t, shop(t), Options{})
	for _, sql := range []string{
		"WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
		"SELECT length(group_concat(repeat('x', 20000))) FROM (WITH RECURSIVE r AS " +
			"(SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 100) SELECT n FROM r) AS r",
	} {
		_, err := src.Query(t.Context(), source.Query{SQL: sql}, func([]any) error { return nil })
		if e, ok := errors.AsType[*source.Error](err); !ok || e.Kind != source.Limited {
			t.Errorf("%s: %v", sql, err)
		}
		_, err = src.Query(t.Context(), source.Query{SQL: "SELECT 1"}, func([]any) error { return nil })
		if err != nil {
			t.Errorf("after %s: %v", sql, err)
		}
	}
}

func TestSchemaDescribesTables(t *testing.T) {
	d := shop(t)
	d.Do(t, "ALTER TABLE customers COMMENT 'who buys', MODIFY since DATE COMMENT 'first order'",
		"CREATE DATABASE "+d.Name+"_other", "CREATE TABLE "+d.Name+"_other.things (a INT PRIMARY KEY, b VARCHAR(9))",
		"GRANT SELECT ON "+d.Name+"_other.* TO "+d.Reader+"@localhost", "CREATE DATABASE "+d.Name+"_hidden",
		"CREATE TABLE "+d.Name+"_hidden.x (a INT)")
	t.Cleanup(func() { d.Do(t, "DROP DATABASE "+d.Name+"_other", "DROP DATABASE "+d.Name+"_hidden") })
	src := open(t, d, Options{})
	s, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, _ := s.Table("customers")
	since, _ := c.Column("since")
	if c.Comment != "who buys" || since.Comment != "first order" || since.Type != "date" || c.Rows != 4 {
		t.Errorf("customers: %+v", c)
	}
	parted, _ := s.Table("parted")
	if parted.Comment != "(partitioned)" {
		t.Errorf("parted: %+v", parted)
	}
	for name, want := range map[string]bool{
		d.Name + "_other.things": true, d.Name + "_hidden.x": false, "secret": true, "user": false,
	} {
		if _, ok := s.Table(name); ok != want {
			t.Errorf("the schema has %s: %v", name, ok)
		}
	}
	if r, _, err := source.Collect(t.Context(), src, source.Query{
		SQL: "SELECT COUNT(*) FROM " + d.Name + "_other.things",
	}); err != nil || r.Rows[0][0] != int64(0) {
		t.Errorf("another database: %v, %v", r.Rows, err)
	}
	for _, change := range []string{
		"INSERT INTO customers VALUES (5, 'Eve', NULL, NULL, NULL)", "UPDATE customers SET city = 'Rome' WHERE id = 5",
		"DELETE FROM customers WHERE id = 5", "ALTER TABLE customers ADD COLUMN extra INT",
		"CREATE TABLE newer (id INT)", "TRUNCATE TABLE newer", "DROP TABLE newer",
	} {
		before, err := src.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := src.Version(t.Context()); err != nil || again != before {
			t.Errorf("the version changed from %q to %q, %v", before, again, err)
		}
		d.Do(t, change)
		if after, err := src.Version(t.Context()); err != nil || after == before {
			t.Errorf("%s: the version is %q as before, %v", change, after, err)
		}
	}
}

// TestVersionIgnoresQueries checks that queries change no version, although the server makes temporary tables for them.
func TestVersionIgnoresQueries(t *testing.T) {
	d := shop(t)
	src := open(t, d, Options{})
	before, err := src.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"SELECT city, COUNT(*) FROM customers GROUP BY city ORDER BY 2", "SELECT * FROM revenue UNION SELECT * FROM revenue",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT DISTINCT i % 7 FROM n",
		"SELECT COUNT(*) FROM information_schema.COLUMNS", "DELETE FROM orders",
	} {
		_, _, _ = source.Collect(t.Context(), src, source.Query{SQL: sql}) // the last one is refused
		if after, err := src.Version(t.Context()); err != nil || after != before {
			t.Errorf("%s: the version changed from %q to %q, %v", sql, before, after, err)
		}
	}
}

// TestVersionSeesCommits checks that the end of a transaction changes the version, because its rows become visible
// only then.
func TestVersionSeesCommits(t *testing.T) {
	d := shop(t)
	src, admin := open(t, d, Options{}), d.Admin(t)
	do := func(sql string) {
		t.Helper()
		if _, err := admin.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	do("USE " + d.Name)
	do("START TRANSACTION")
	do("DELETE FROM secret")
	before, err := src.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	do("COMMIT")
	if after, err := src.Version(t.Context()); err != nil || after == before {
		t.Errorf("the version is %q before and after a commit, %v", after, err)
	}
}

func TestOwnVersion(t *testing.T) {
	d := shop(t)
	o := Options{VersionSQL: "SELECT MAX(id) FROM orders"}
	src := open(t, d, o)
	before, err := src.Version(t.Context())
	if err != nil || !strings.HasPrefix(before, "[14]") {
		t.Errorf("version %q, %v", before, err)
	}
	d.Do(t, "INSERT INTO orders VALUES (15, 1, '2024-05-05 00:00:00', 1, NULL)")
	if after, err := src.Version(t.Context()); err != nil || after == before {
		t.Errorf("after a row: %q, %v", after, err)
	}
	for _, bad := range []string{"SELECT id FROM orders", "SELECT 1, 2", "DELETE FROM orders", "SELECT nothing"} {
		o.VersionSQL = bad
		_, err := Open(t.Context(), "shop", d.Address(d.Reader), o)
		if footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestManyTables measures the schema of a database with 5,000 tables. Most are links to the file that defines one,
// because the server takes seconds to make so many.
func TestManyTables(t *testing.T) {
	d := mariatest.New(t)
	const columns = " (id INT PRIMARY KEY, a VARCHAR(20) COMMENT 'c', b DECIMAL(10,2), c DATETIME, d INT) ENGINE="
	var sql []string
	for i := range 100 {
		sql = append(sql, fmt.Sprintf("CREATE TABLE t%d%sInnoDB", i, columns))
	}
	d.Do(t, append(sql, "CREATE TABLE t100"+columns+"MEMORY",
		"ALTER TABLE t1 ADD FOREIGN KEY (d) REFERENCES t0 (id)")...)
	folder := filepath.Join(d.Folder(), "data", d.Name)
	for i := 101; i < 5000; i++ {
		table := filepath.Join(folder, fmt.Sprintf("t%d.frm", i))
		if err := os.Link(filepath.Join(folder, "t100.frm"), table); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // much faster than to drop the tables
		for i := 101; i < 5000; i++ {
			_ = os.Remove(filepath.Join(folder, fmt.Sprintf("t%d.frm", i)))
		}
	})
	src := open(t, d, Options{})
	begun := time.Now()
	s, err := src.Schema(t.Context())
	if err != nil || len(s.Tables) != 5000 {
		t.Fatalf("%d tables, %v", len(s.Tables), err)
	}
	took := time.Since(begun)
	begun = time.Now()
	if _, err := src.Schema(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("the schema took %v, and %v again", took, time.Since(begun))
	if took > 20*time.Second { // on a busy machine; it takes about one second alone
		t.Errorf("the schema of 5,000 tables took %v", took)
	}
	if one, _ := s.Table("t1"); len(one.ForeignKeys) != 1 || one.ForeignKeys[0].RefTable != "t0" ||
		len(one.Columns) != 5 {
		t.Errorf("t1: %+v", one)
	}
}

// TestStatementsNameThePrincipal checks that an administrator of the database sees whom it works for.
func TestStatementsNameThePrincipal(t *testing.T) {
	d := shop(t)
	admin, src := d.Admin(t), open(t, d, Options{})
	ctx, cancel := context.WithCancel(footnote.WithOrigin(t.Context(), footnote.Origin{Run: "run_7", Request: "req_9"}))
	go func() { _, _, _ = source.Collect(ctx, src, source.Query{SQL: slow}) }() // ends with cancel
	running(t, admin, d.Reader, true)
	var seen string
	err := admin.QueryRowContext(t.Context(), "SELECT INFO FROM information_schema.PROCESSLIST WHERE USER = ? AND INFO "+
		"LIKE '%COUNT(*)%'", d.Reader).Scan(&seen)
	cancel()
	running(t, admin, d.Reader, false)
	if err != nil || !strings.HasPrefix(seen, "/* footnote run=run_7 request=req_9 */ SELECT COUNT(*)") {
		t.Errorf("the server works on %q (%v)", seen, err)
	}
}

// TestDocumentedSetup checks that the statements in docs/sources.md make a user who passes the probe.
func TestDocumentedSetup(t *testing.T) {
	page, err := os.ReadFile("../../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## MySQL and MariaDB\n")
	_, block, ok := strings.Cut(section, "```sql\n")
	block, _, _ = strings.Cut(block, "```")
	if !ok {
		t.Fatal("docs/sources.md has no statements for a user")
	}
	d := mariatest.New(t)
	block = strings.NewReplacer("shop.", d.Name+".", "'…'", "''").Replace(block)
	for sql := range strings.SplitSeq(strings.TrimSpace(block), ";") {
		if strings.TrimSpace(sql) != "" {
			d.Do(t, sql)
		}
	}
	t.Cleanup(func() { d.Do(t, "DROP USER footnote_reader") })
	src, err := Open(t.Context(), "shop", d.Address("footnote_reader"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if err := src.Probe(t.Context()); err != nil {
		t.Errorf("probe: %v", err)
	}
	if _, remarks := src.Role(); len(remarks) != 0 {
		t.Errorf("remarks: %q", remarks)
	}
}

// TestModesOfTheServer checks that the server's own modes change nothing about how a statement is read.
func TestModesOfTheServer(t *testing.T) {
	d := shop(t)
	t.Cleanup(func() { d.Do(t, "SET GLOBAL sql_mode = DEFAULT", "SET GLOBAL time_zone = DEFAULT") })
	for _, mode := range []string{
		"ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "PIPES_AS_CONCAT", "ORACLE", "IGNORE_SPACE", "ANSI",
	} {
		d.Do(t, "SET GLOBAL sql_mode = '"+mode+"'", "SET GLOBAL time_zone = '+05:00'")
		src := open(t, d, Options{})
		r, _, err := source.Collect(t.Context(), src, source.Query{
			SQL: `SELECT "a\"b" AS x, 'c\\d' AS y, FROM_UNIXTIME(0) AS z, (SELECT COUNT(*) FROM customers) AS n`,
		})
		if got := sourcetest.Text(r.Rows); err != nil || got != `[["a\"b","c\\d","1970-01-01T00:00:00",4]]` {
			t.Errorf("%s: %s, %v", mode, got, err)
		}
	}
}

// TestTimeAdded compares a query of one row with the bare driver.
func TestTimeAdded(t *testing.T) {
	d := shop(t)
	src := open(t, d, Options{})
	const statement = "SELECT name FROM customers WHERE id = 1"
	measure := func(run func() error) time.Duration {
		t.Helper()
		var all []time.Duration
		for range 300 {
			begun := time.Now()
			if err := run(); err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Since(begun))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	with := measure(func() error {
		_, _, err := source.Collect(t.Context(), src, source.Query{SQL: statement})
		return err
	})
	bare, err := src.engine.connector.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	without := measure(func() error {
		rows, err := bare.(*conn).Conn.(driver.QueryerContext).QueryContext(t.Context(), statement, nil)
		if err != nil {
			return err
		}
		if err := rows.Next(make([]driver.Value, 1)); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return rows.Close()
	})
	t.Logf("median of 300: %v with, %v without", with, without)
	if with-without > 2*time.Millisecond {
		t.Errorf("the source adds %v to a query of one row", with-without)
	}
}

// TestFunctionsAreTheServersOwn checks that the server itself has every function that a statement may call. Another one
// would be looked for in the database.
func TestFunctionsAreTheServersOwn(t *testing.T) {
	d := mariatest.New(t)
	src := open(t, d, Options{})
	s, err := src.engine.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	asked := 0
	for name, where := range builtins {
		if where == "mysql" {
			continue
		}
		asked++
		unknown := 0
		for _, arguments := range []string{"'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'", "1, 2"} {
			err := s.conn.exec(t.Context(), "SELECT "+name+"("+arguments+")")
			// The server does not say whether a function that the user may not call exists.
			if bad, ok := errors.AsType[*mysql.MySQLError](err); ok && (bad.Number == 1305 || bad.Number == 1370) {
				unknown++
			}
		}
		if unknown == 2 {
			t.Errorf("%s is not the server's own", name)
		}
	}
	t.Logf("%d functions", asked)
	d.Do(t, "CREATE FUNCTION to_char(a INT) RETURNS INT RETURN 1", "CREATE FUNCTION own(a INT) RETURNS INT RETURN 1",
		"GRANT EXECUTE ON "+d.Name+".* TO "+d.Reader+"@localhost")
	again := open(t, d, Options{})
	for _, call := range []string{"TO_CHAR(1)", "own(1)", d.Name + ".own(1)"} {
		_, _, err := source.Collect(t.Context(), again, source.Query{SQL: "SELECT " + call})
		if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Refused {
			t.Errorf("%s, a function of the database: %v", call, err)
		}
	}
}

func ExampleOpen() {
	_, err := Open(context.Background(), "shop", "mysql://reader:secret@127.0.0.1:1/shop", Options{})
	fmt.Println(footnote.MessageOf(err))
	// Output:
	// database shop: The database at 127.0.0.1:1 cannot be reached. Check that it runs, and the address of the source.
}
