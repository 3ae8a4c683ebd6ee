package relatives

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/postgres"
	"github.com/footnotehq/footnote/source/sourcetest"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{postgres.Kind: postgres.OpenEngine})
	os.Exit(pgtest.Run(m))
}

// The versions of the relatives, as their documentation shows them.
const (
	cockroach  = "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15 21:28:29, go1.22.2)"
	redshift   = "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.12103"
	motherDuck = "PostgreSQL 16.0 (DuckDB v1.4.1)"
)

// imitate returns the URL of a database that claims a version. More are statements that take entries of the catalog
// away, or give the role rights. The role finds what imitates the relative before Postgres's own.
func imitate(t *testing.T, version string, more ...string) string {
	t.Helper()
	address := pgtest.Reader(t, slices.Concat(sourcetest.Setup, []string{
		"CREATE SCHEMA fake",
		"CREATE FUNCTION fake.version() RETURNS text LANGUAGE sql AS $$ SELECT '" + version + "' $$",
		"GRANT USAGE ON SCHEMA fake TO reader",
	}, more)...)
	return address + "&options=-csearch_path%3Dfake,pg_catalog,public"
}

func open(t *testing.T, address string, o engines.Options) *Source {
	t.Helper()
	src, err := Open(t.Context(), "shop", address, o)
	if err != nil || src == nil {
		t.Fatalf("open: %v, %v", src, err)
	}
	t.Cleanup(func() { src.Close() })
	return src.(*Source)
}

func query(ctx context.Context, src source.Source, sql string) (string, error) {
	r, _, err := source.Collect(ctx, src, source.Query{SQL: sql})
	return sourcetest.Text(r.Rows), err
}

// TestRelatives opens an imitation of each relative, proves it read-only, and reads its schema and rows.
func TestRelatives(t *testing.T) {
	for name, version := range map[string]string{
		"cockroachdb": cockroach, "redshift": redshift, "motherduck": motherDuck,
	} {
		t.Run(name, func(t *testing.T) {
			more := []string{}
			if name == "motherduck" { // its home has another name
				more = append(more, "CREATE SCHEMA main", "ALTER TABLE orders SET SCHEMA main",
					"GRANT USAGE ON SCHEMA main TO reader", "GRANT SELECT ON main.orders TO reader")
			}
			src := open(t, imitate(t, version, more...), engines.Options{})
			if src.Dialect().Name != name {
				t.Errorf("the dialect is %s", src.Dialect().Name)
			}
			if err := src.Probe(t.Context()); err != nil {
				t.Error(err)
			}
			s, err := src.Schema(t.Context())
			if table, ok := s.Table("orders"); !ok || table.Schema != "" || err != nil {
				t.Errorf("orders: %+v, %v", s.Tables, err)
			}
			got, err := query(t.Context(), src, "SELECT count(*), max(total) IS NULL, CAST('2024-05-17' AS date), "+
				"CAST(1.50 AS numeric(5, 2)) FROM orders -- a comment")
			if err != nil || !strings.HasSuffix(got, `,false,"2024-05-17","1.50"]]`) {
				t.Errorf("rows: %s, %v", got, err)
			}
			if name != "motherduck" { // Postgres, which imitates it, has no DuckDB SQL
				sourcetest.RunDialect(t, src)
			}
			for _, sql := range []string{
				"DELETE FROM orders", "SELECT * INTO x FROM orders", "SELECT pg_sleep(9)", "SELECT * FROM pg_user",
				"SELECT current_user", "SELECT set_config('a.b', 'c', false)", "SELECT 1; SELECT 2", "SET a.b = 'c'",
				"SELECT * FROM orders FOR UPDATE", "WITH x AS (DELETE FROM orders RETURNING 1) SELECT * FROM x",
			} {
				_, err := query(t.Context(), src, sql)
				if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Refused {
					t.Errorf("%s: %v", sql, err)
				}
			}
		})
	}
}

// TestHostileStatements runs the statements that must not pass Postgres's gate. None of them runs, and none changes
// anything.
func TestHostileStatements(t *testing.T) {
	address := imitate(t, cockroach)
	src := open(t, address, engines.Options{})
	admin, err := pgx.Connect(t.Context(), strings.Replace(address, "reader@", "footnote@", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	snapshot := func() (all string) {
		if err := admin.QueryRow(t.Context(), "SELECT concat_ws(' ', (SELECT string_agg(c::text, ';' ORDER BY id) "+
			"FROM customers c), (SELECT string_agg(o::text, ';' ORDER BY id) FROM orders o), (SELECT count(*) FROM "+
			"pg_class), (SELECT count(*) FROM pg_proc), (SELECT count(*) FROM pg_roles), (SELECT count(*) FROM "+
			"pg_largeobject_metadata))").Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := snapshot()
	t.Chdir("..")
	hostile := sourcetest.Statements(t, "hostile", sourcetest.Refused)
	for _, st := range hostile {
		outcome, _, err := sourcetest.Outcome(t.Context(), src, st.SQL, source.Limits{Time: 5 * time.Second})
		if outcome == sourcetest.Executed && !st.Allows(outcome) {
			t.Errorf("%s: %s (%v)\n%.300s", st.Name, outcome, err, st.SQL)
		}
	}
	if after := snapshot(); after != before {
		t.Errorf("something changed.\nbefore: %s\nafter: %s", before, after)
	}
	t.Logf("%d hostile statements", len(hostile))
}

// TestHonestStatements runs what analysts ask.
func TestHonestStatements(t *testing.T) {
	src := open(t, imitate(t, cockroach), engines.Options{})
	for _, sql := range []string{
		"SELECT c.name, sum(o.total) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY 1 ORDER BY 2 DESC",
		"SELECT coalesce(city, 'none'), nullif(id, 4), greatest(1, 2), least(1, 2) FROM customers",
		"SELECT customer_id, grouping(customer_id), sum(total) FROM orders GROUP BY ROLLUP (customer_id)",
		"SELECT customer_id, count(*) FROM orders GROUP BY GROUPING SETS ((customer_id), ())",
		"SELECT CASE WHEN city IS NULL THEN 'none' ELSE city END AS place FROM customers",
		"SELECT id, row_number() OVER (PARTITION BY customer_id ORDER BY total DESC) FROM orders",
		"SELECT sum(total) FILTER (WHERE total > 10) FROM orders",
		"SELECT name FROM customers WHERE name ~ '^A' OR name ILIKE '%da' OR name NOT LIKE 'x%'",
		"SELECT CAST('{\"a\": {\"b\": 1}}' AS jsonb) -> 'a' ->> 'b', '[1]'::jsonb ->> 0",
		"SELECT date_trunc('month', TIMESTAMP '2024-05-17 18:45:00'), extract(year FROM DATE '2024-05-17')",
		"SELECT DATE '2024-05-17' - INTERVAL '1 month', now() > '2020-01-01'::timestamptz",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n",
		"SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders) AND EXISTS (SELECT 1 FROM orders)",
		"SELECT 2 = ANY (ARRAY[1, 2]), (ARRAY[1, 2, 3])[2], array_agg(id ORDER BY id) FROM orders",
		"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM orders",
		"SELECT string_agg(name, ', ' ORDER BY name), count(DISTINCT city) FROM customers",
		"SELECT DISTINCT ON (customer_id) customer_id, total FROM orders ORDER BY customer_id, total DESC",
		"SELECT id FROM orders UNION SELECT id FROM customers EXCEPT SELECT 1 INTERSECT SELECT 2 LIMIT 3 OFFSET 1",
		"SELECT c.name, x.n FROM customers c CROSS JOIN LATERAL (SELECT count(*) AS n FROM orders o WHERE " +
			"o.customer_id = c.id) x",
		"SELECT round(avg(total)::numeric, 2), stddev_samp(total), substring(name FROM 1 FOR 2), position('d' IN name) " +
			"FROM customers JOIN orders ON orders.customer_id = customers.id GROUP BY name",
		"SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(x, y)", "SELECT \"line\" FROM \"order lines\"",
		"EXPLAIN SELECT count(*) FROM orders", "SELECT 1.5e3::float8, 'a' || 'b', 7 % 3, trim(both ' ' from ' x ')",
	} {
		if got, err := query(t.Context(), src, sql); err != nil {
			t.Errorf("%s: %s, %v", sql, got, err)
		}
	}
}

// TestPostgresIsNoRelative leaves Postgres to its own source.
func TestPostgresIsNoRelative(t *testing.T) {
	src, err := Open(t.Context(), "shop", pgtest.Reader(t), engines.Options{})
	if src != nil || err != nil {
		t.Errorf("Postgres: %v, %v", src, err)
	}
	src, err = Open(t.Context(), "shop", "postgres://a@127.0.0.1:1/x", engines.Options{})
	if src != nil || err != nil {
		t.Errorf("no server: %v, %v", src, err)
	}
	_, err = Open(t.Context(), "shop", imitate(t, "QuestDB 8"), engines.Options{})
	if footnote.CodeOf(err) != footnote.InvalidRequest || !strings.Contains(err.Error(), "none that is known") {
		t.Errorf("another server: %v", err)
	}
	_, err = Open(t.Context(), "shop", imitate(t, redshift), engines.Options{Functions: []string{"public.f"}})
	if footnote.CodeOf(err) != footnote.InvalidRequest || !strings.Contains(err.Error(), "Redshift has no setting") {
		t.Errorf("a setting that would be ignored: %v", err)
	}
}

// TestMissingEntries opens relatives that lack parts of the catalog. Each is a remark, and nothing else breaks.
func TestMissingEntries(t *testing.T) {
	src := open(t, imitate(t, redshift,
		"CREATE FUNCTION fake.has_table_privilege(text, text) RETURNS boolean LANGUAGE plpgsql AS "+
			"$$ BEGIN RAISE 'function has_table_privilege does not exist' USING ERRCODE = '42883'; END $$",
		"REVOKE SELECT ON information_schema.table_constraints FROM PUBLIC"), engines.Options{})
	if err := src.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	_, remarks := src.Role()
	if got := strings.Join(remarks, "\n"); !strings.Contains(got, "does not list keys") ||
		src.Proof().Strength != source.Unproven {
		t.Errorf("remarks: %s", got)
	}
	if _, err := src.Schema(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWriters refuses roles that may write.
func TestWriters(t *testing.T) {
	for grant, want := range map[string]string{
		"GRANT UPDATE ON orders TO reader": "the right to change public.orders",
	} {
		src := open(t, imitate(t, cockroach, grant), engines.Options{})
		if err := src.Probe(t.Context()); !errors.Is(err, source.ErrWritable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", grant, err)
		}
	}
}

// TestBackslash refuses what Redshift may read in another way than the gate.
func TestBackslash(t *testing.T) {
	src := open(t, imitate(t, redshift), engines.Options{})
	_, err := query(t.Context(), src, `SELECT '\' || 'x'`)
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Refused {
		t.Errorf("a backslash: %v", err)
	}
}

// TestHidden hides a table and a column.
func TestHidden(t *testing.T) {
	src := open(t, imitate(t, cockroach), engines.Options{Hiding: hiding{}})
	if _, err := query(t.Context(), src, "SELECT * FROM customers"); err == nil {
		t.Error("a hidden table can be read")
	}
	if _, err := query(t.Context(), src, "SELECT total FROM orders"); err == nil {
		t.Error("a hidden column can be read")
	}
	if _, err := query(t.Context(), src, "SELECT count(*) FROM orders"); err != nil {
		t.Error(err)
	}
}

type hiding struct{}

func (hiding) Any() bool { return true }
func (hiding) For(context.Context) source.Hidden {
	return source.Hidden{{Table: "customers"}, {Table: "orders", Columns: []string{"total"}}}
}

// TestStop checks that a limit and a cancelled query leave nothing running on the server.
func TestStop(t *testing.T) {
	address := imitate(t, cockroach)
	src := open(t, address, engines.Options{})
	const endless = "SELECT count(*) FROM generate_series(1, 10000000000) a"
	_, _, err := source.Collect(t.Context(), src, source.Query{
		SQL: endless, Limits: source.Limits{Time: 300 * time.Millisecond},
	})
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Limited || !bad.TimedOut {
		t.Errorf("the time limit: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	if _, err := query(ctx, src, endless); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	r, _, err := source.Collect(t.Context(), src, source.Query{
		SQL: "SELECT a FROM generate_series(1, 10000000) a", Limits: source.Limits{Rows: 5},
	})
	if err != nil || len(r.Rows) != 5 || !r.Truncated {
		t.Errorf("the row limit: %d rows, %v", len(r.Rows), err)
	}
	admin, err := pgx.Connect(t.Context(), strings.Replace(address, "reader@", "footnote@", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	for end := time.Now().Add(time.Second); ; {
		var running int
		if err := admin.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader' AND "+
			"state = 'active'").Scan(&running); err != nil {
			t.Fatal(err)
		}
		if running == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d statements still run", running)
		}
	}
}

// TestPooler says what to do about a pooler that takes no settings, as those of Neon and Supabase do not.
func TestPooler(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b := pgproto3.NewBackend(conn, conn)
			if _, err := b.ReceiveStartupMessage(); err == nil {
				b.Send(&pgproto3.ErrorResponse{
					Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: row_security",
				})
				_ = b.Flush()
			}
			conn.Close()
		}
	}()
	address := "postgres://a@" + l.Addr().String() + "/x?sslmode=disable"
	_, err = postgres.Open(t.Context(), "shop", address, postgres.Options{})
	if err == nil || !strings.Contains(err.Error(), "host without -pooler") {
		t.Errorf("a pooler: %v", err)
	}
}
