package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// more is setup that the statements need in addition to sourcetest.Setup.
var more = []string{
	`CREATE TYPE mood AS ENUM ('ok', 'bad')`, `CREATE DOMAIN score AS integer CHECK (VALUE < 10)`,
	`CREATE SCHEMA other`, `CREATE TABLE other.things AS SELECT 1 AS a`, `CREATE TABLE secret AS SELECT 'hush' AS word`,
	`CREATE SEQUENCE seq`,
	`CREATE TABLE parted (id integer) PARTITION BY RANGE (id)`,
	`CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (10)`, `INSERT INTO parted VALUES (1), (2)`,
	`CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders`,
	`CREATE FUNCTION twice(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2'`,
	`CREATE FUNCTION wipe() RETURNS bigint LANGUAGE sql AS 'DELETE FROM orders; SELECT 1::bigint'`,
	`CREATE FUNCTION peek() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT word FROM secret'`,
	`CREATE FUNCTION other.peek() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT word FROM ` +
		`public.secret'`,
	`CREATE FUNCTION leak(customers) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT word FROM secret'`,
	`CREATE FUNCTION upper(integer) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT word FROM secret'`,
	`CREATE FUNCTION pair(integer, integer) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT word FROM ` +
		`secret'`,
	`CREATE OPERATOR @@@ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = pair)`,
	`CREATE PROCEDURE tidy() LANGUAGE sql AS 'DELETE FROM orders'`,
	`CREATE EXTENSION pg_trgm SCHEMA public`, `CREATE EXTENSION unaccent SCHEMA public`,
	`CREATE EXTENSION dblink SCHEMA public`, `CREATE EXTENSION tablefunc SCHEMA public`,
	`GRANT USAGE ON SCHEMA public, other TO reader`, `GRANT SELECT ON ALL TABLES IN SCHEMA public, other TO reader`,
	`GRANT USAGE, UPDATE ON SEQUENCE seq TO reader`,
	`REVOKE ALL ON secret FROM reader`,
}

// database creates a database with tables and returns two URLs for it: for its owner and for a read-only user.
func database(t testing.TB, statements ...string) (owner, reader string) {
	t.Helper()
	owner = pgtest.Database(t)
	do(t, owner, makeReader)
	do(t, owner, statements...)
	u, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("reader")
	return owner, u.String()
}

func dial(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func do(t testing.TB, url string, statements ...string) {
	t.Helper()
	conn := dial(t, url)
	defer conn.Close(context.Background())
	for _, sql := range statements {
		if _, err := conn.Exec(context.Background(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func shop(t testing.TB) (owner, reader string) {
	t.Helper()
	return database(t, slices.Concat(sourcetest.Setup, more)...)
}

func open(t testing.TB, url string, o Options) *Source {
	t.Helper()
	o.Grammar = grammar
	s, err := Open(context.Background(), "shop", url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// watched is a source whose server can be asked whether it is still working for the source.
type watched struct {
	*Source
	admin *pgx.Conn
}

// Working is called by sourcetest.
func (w watched) Working() bool {
	var n int
	err := w.admin.QueryRow(context.Background(),
		`SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active'`).Scan(&n)
	return err != nil || n > 0
}

// contents selects everything a statement might change: tables, definitions, sequences, large objects, roles and
// settings.
const contents = `SELECT coalesce(string_agg(x, E'\n' ORDER BY x), '') FROM (
	SELECT 'class ' || relname || relkind::text || coalesce(relacl::text, '') || relrowsecurity FROM pg_class WHERE relname !~ '^pg_'
	UNION ALL SELECT 'proc ' || proname || prosrc FROM pg_proc WHERE pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
	UNION ALL SELECT 'customers ' || c::text FROM customers c UNION ALL SELECT 'orders ' || o::text FROM orders o UNION ALL SELECT 'lines ' || l::text FROM "order lines" l
	UNION ALL SELECT 'secret ' || word FROM secret UNION ALL SELECT 'things ' || a FROM other.things UNION ALL SELECT 'seq ' || last_value || is_called FROM seq
	UNION ALL SELECT 'large ' || oid FROM pg_largeobject_metadata UNION ALL SELECT 'role ' || rolname || rolsuper FROM pg_roles
	UNION ALL SELECT 'comment ' || description FROM pg_description WHERE classoid = 'pg_class'::regclass AND objoid > 16384
	UNION ALL SELECT 'lock ' || locktype FROM pg_locks WHERE locktype = 'advisory' UNION ALL SELECT 'slot ' || slot_name FROM pg_replication_slots
	UNION ALL SELECT 'stamp ' || xmin::text || relname::text FROM pg_class WHERE relname IN ('customers', 'orders')) s(x)`

func TestSource(t *testing.T) {
	sourcetest.Run(t, func(t testing.TB) (source.Source, func() string) {
		owner, reader := shop(t)
		admin := dial(t, owner)
		src := open(t, reader, Options{Functions: []string{"public.twice"}})
		return watched{src, admin}, func() string {
			var all string
			if err := admin.QueryRow(context.Background(), contents).Scan(&all); err != nil {
				t.Fatal(err)
			}
			return all
		}
	})
}

// TestLayersAlone checks that the transaction and the role's rights are enough without the gate.
func TestLayersAlone(t *testing.T) {
	owner, reader := shop(t)
	admin, src := dial(t, owner), open(t, reader, Options{})
	state := func() (all string) {
		if err := admin.QueryRow(t.Context(), contents).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := state()
	ran := 0
	for _, st := range sourcetest.Statements(t, "hostile", sourcetest.Refused) {
		for _, slow := range []string{"pg_sleep", "lo_", "pg_cancel", "stacked", "dblink"} {
			if strings.Contains(st.SQL, slow) || strings.HasPrefix(st.Name, slow) {
				st.SQL = ""
			}
		}
		if st.SQL == "" {
			continue // READ ONLY does not cover large objects; only the gate stops these
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		s, err := src.engine.begin(ctx, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.query(ctx, st.SQL, nil, nil, src.engine.cat, func([]any) error { return nil })
		s.broken = true
		s.end()
		cancel()
		ran++
	}
	if after := state(); after != before || ran < 100 {
		t.Errorf("%d statements past the gate changed something.\nbefore:\n%s\nafter:\n%s", ran, before, after)
	}
}

func TestRolesThatBypassReadOnlyAreRefused(t *testing.T) {
	owner, _ := shop(t)
	err := open(t, owner, Options{}).Probe(t.Context())
	if !errors.Is(err, source.ErrWritable) ||
		!strings.HasPrefix(err.Error(),
			"Database is not read-only. Refusing to start. The role footnote is a superuser") {
		t.Errorf("a superuser: %v", err)
	}
	do(t, owner, `DO $$ BEGIN CREATE ROLE writer LOGIN; EXCEPTION WHEN duplicate_object THEN END $$`,
		`GRANT pg_execute_server_program TO writer`, `GRANT ALL ON ALL TABLES IN SCHEMA public TO writer`,
		`GRANT ALL ON SCHEMA public TO writer`)
	writer := strings.Replace(owner, "footnote@", "writer@", 1)
	if err := open(t, writer, Options{}).Probe(t.Context()); !errors.Is(err, source.ErrWritable) ||
		!strings.Contains(err.Error(), "is a member of pg_execute_server_program") {
		t.Errorf("a role that may run programs: %v", err)
	}
	do(t, owner, `REVOKE pg_execute_server_program FROM writer`)
	if err := open(t, writer, Options{}).Probe(t.Context()); err != nil {
		t.Errorf("a role that may write, in transactions that may not: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	_, reader := shop(t)
	for url, want := range map[string]footnote.Code{
		"postgres://reader:hu%ZZsh@nowhere/x":            footnote.InvalidRequest,
		"nosuch://a@b/c":                                 footnote.InvalidRequest,
		"postgres://reader:hush@/x?host=/nowhere":        footnote.DatabaseUnavailable,
		strings.Replace(reader, "/test", "/missing", 1):  footnote.DatabaseUnavailable,
		strings.Replace(reader, "reader@", "nobody@", 1): footnote.DatabaseUnavailable,
	} {
		_, err := Open(t.Context(), "shop", url, Options{Grammar: grammar})
		if footnote.CodeOf(err) != want || strings.Contains(footnote.MessageOf(err), "hu") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}

// TestKilledBackendFailsOnlyItsQuery checks that killing a backend fails only its current query.
func TestKilledBackendFailsOnlyItsQuery(t *testing.T) {
	owner, reader := shop(t)
	admin, src := dial(t, owner), open(t, reader, Options{})
	failed := make(chan error, 1)
	go func() {
		_, _, err := source.Collect(t.Context(), src, source.Query{
			SQL: "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b",
		})
		failed <- err
	}()
	for n := 0; n == 0; {
		if err := admin.QueryRow(t.Context(),
			`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'reader' AND state = `+
				`'active' AND query LIKE 'SELECT count(*)%'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	if bad, ok := errors.AsType[*source.Error](<-failed); !ok || bad.Kind != source.Failed {
		t.Errorf("a killed backend gave %v", bad)
	}
	if _, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT 1"}); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func TestSchemaDescribesTables(t *testing.T) {
	owner, reader := shop(t)
	do(t, owner, `COMMENT ON TABLE customers IS 'who buys'`, `COMMENT ON COLUMN customers.since IS 'first order'`)
	src := open(t, reader, Options{})
	s, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, _ := s.Table("customers")
	since, _ := c.Column("since")
	if c.Comment != "who buys" || since.Comment != "first order" || since.Type != "date" || c.Rows != 4 {
		t.Errorf("customers: %+v", c)
	}
	for name, want := range map[string]bool{
		"other.things": true, "secret": false, "parted": true, "parted_1": false, "counted": true, "seq": false,
	} {
		if _, ok := s.Table(name); ok != want {
			t.Errorf("the schema has %s: %v", name, ok)
		}
	}
	do(t, owner, `INSERT INTO customers VALUES (5, 'Eve')`)
	for range 500 { // the server reports writes with a delay
		if v, err := src.Version(t.Context()); err != nil || v != s.Version {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("a row was added and the version is the same")
}

// TestDocumentedSetup checks that the statements in docs/sources.md create a role that passes the probe, and a policy
// that shows each org its own rows.
func TestDocumentedSetup(t *testing.T) {
	page, err := os.ReadFile("../../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	owner := pgtest.Database(t)
	do(t, owner, `CREATE TABLE sales (org text, n integer)`,
		`INSERT INTO sales VALUES ('acme', 1), ('globex', 2), ('globex', 3)`)
	_, section, _ := strings.Cut(string(page), "\n## Postgres\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```sql\n")[1:]
	for _, block := range blocks {
		sql, _, _ := strings.Cut(block, "```")
		if _, err := dial(t, owner).PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	t.Cleanup(func() { do(t, owner, `DROP OWNED BY footnote_reader`, `DROP ROLE footnote_reader`) })
	src := open(t, strings.Replace(owner, "footnote@", "footnote_reader@", 1), Options{})
	if err := src.Probe(t.Context()); err != nil || len(blocks) != 2 {
		t.Errorf("%d blocks, probe: %v", len(blocks), err)
	}
	if _, remarks := src.Role(); len(remarks) != 0 {
		t.Errorf("remarks: %q", remarks)
	}
	versions := map[string]bool{}
	for org, want := range map[string]int64{"acme": 1, "globex": 2, "": 0, "other": 0} {
		ctx := t.Context()
		if org != "" {
			ctx = footnote.WithPrincipal(ctx, footnote.Principal{
				Org:        org,
				User:       "ada",
				Attributes: map[string]string{"team": "a'b"},
			})
		}
		r, _, err := source.Collect(ctx, src, source.Query{SQL: "SELECT count(*) FROM sales"})
		if err != nil || r.Rows[0][0] != want {
			t.Errorf("%q sees %v, %v; want %d", org, r.Rows, err, want)
		}
		v, err := src.Version(ctx)
		if err != nil || versions[v] {
			t.Errorf("the version %q of %q is also another's; %v", v, org, err)
		}
		versions[v] = true
	}
	for _, name := range []string{"org", "User", "a b", "x;y", "", "ö"} {
		ctx := footnote.WithPrincipal(t.Context(), footnote.Principal{
			Org:        "acme",
			Attributes: map[string]string{name: "globex"},
		})
		if _, _, err := source.Collect(ctx, src, source.Query{SQL: "SELECT 1"}); err == nil {
			t.Errorf("an attribute may be called %q", name)
		}
	}
	ctx := footnote.WithPrincipal(t.Context(), footnote.Principal{
		Org:   "acme",
		Roles: []string{"reader", "guest,admin"},
	})
	if _, _, err := source.Collect(ctx, src, source.Query{SQL: "SELECT 1"}); err == nil {
		t.Error("a role with a comma could pass as two roles")
	}
}

func ExampleOpen() {
	_, err := Open(context.Background(), "shop", "postgres://reader:secret@localhost:1/shop", Options{})
	fmt.Println(footnote.MessageOf(err))
	// Output:
	// database shop: The database at localhost:1 cannot be reached. Check that it runs, and the address of the source.
}

// TestStatementsNameThePrincipal checks that an administrator of the database sees whom it works for, and that the
// gate and the model's error messages do not include that.
func TestStatementsNameThePrincipal(t *testing.T) {
	owner, reader := shop(t)
	admin, src := dial(t, owner), open(t, reader, Options{})
	ctx := footnote.WithOrigin(t.Context(), footnote.Origin{Run: "run_7", Request: "req_9"})
	const sql = "SELECT name FROM customers ORDER BY name -- by name"
	var seen string
	_, err := src.Query(ctx, source.Query{SQL: sql}, func([]any) error {
		return admin.QueryRow(t.Context(),
			"SELECT query FROM pg_stat_activity WHERE usename = 'reader' AND datname = current_database()").Scan(&seen)
	})
	if want := "/* footnote run=run_7 request=req_9 */ " + sql; err != nil || seen != want {
		t.Errorf("pg_stat_activity has %q, want %q (%v)", seen, want, err)
	}
	for _, bad := range []string{
		"SELECT nowhere FROM customers", "DELETE FROM customers", "/* footnote run=x */ DROP TABLE customers",
		"SELECT 1; SELECT 2",
	} {
		_, with := src.Query(ctx, source.Query{SQL: bad}, func([]any) error { return nil })
		_, without := src.Query(t.Context(), source.Query{SQL: bad}, func([]any) error { return nil })
		if with == nil || without == nil || with.Error() != without.Error() {
			t.Errorf("%s: %v with a mark, %v without", bad, with, without)
		}
	}
	before, err := src.Version(t.Context())
	if after, aerr := src.Version(ctx); err != nil || aerr != nil || after != before {
		t.Errorf("the version is %q with a mark, %q without (%v, %v)", after, before, err, aerr)
	}
}
