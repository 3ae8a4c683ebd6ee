package postgres

import (
	"bytes"
	_ "embed"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// spies creates objects in a database that run functions of its own. Each of these writes a line to the server's
// log, which no rollback undoes.
//
//go:embed testdata/functions.sql
var spies string

// spy ends the definition of a function that writes to the log.
const spy = ` LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RAISE LOG ''spy_ran''; RETURN NULL; END'`

// makeReader makes the role that reads, unless it exists.
const makeReader = `DO $$ BEGIN CREATE ROLE reader LOGIN NOSUPERUSER NOINHERIT; EXCEPTION WHEN duplicate_object THEN ` +
	`END $$`

// spied is a database with spies, and a source over it.
type spied struct {
	*Source
	past   *Source // of other connections, for statements past the gate
	server *pgtest.Server
	owner  string
	log    *spyLog
}

// spyLog counts the lines of spies in the part of the server's log that was read.
type spyLog struct{ read, lines int }

func newSpied(t testing.TB, server *pgtest.Server, functions ...string) spied {
	t.Helper()
	owner := server.Database(t)
	statements := slices.Concat([]string{makeReader}, sourcetest.Setup, more, strings.Split(spies, "\n\n"), []string{
		`GRANT USAGE ON SCHEMA public, other, deep TO reader`,
		`GRANT SELECT ON ALL TABLES IN SCHEMA public, other, deep TO reader`,
		`REVOKE ALL ON secret FROM reader`,
	})
	do(t, owner, statements...)
	return over(t, server, owner, strings.Replace(owner, "footnote@", "reader@", 1), functions...)
}

func over(t testing.TB, server *pgtest.Server, owner, reader string, functions ...string) spied {
	t.Helper()
	return spied{open(t, reader, Options{Functions: functions}), open(t, reader, Options{}), server, owner, new(spyLog)}
}

// ran returns how often a spy has run.
func (s spied) ran() int {
	news := s.server.Log(int64(s.log.read))
	news = news[:bytes.LastIndexByte(news, '\n')+1] // the last line may be incomplete
	s.log.read += len(news)
	s.log.lines += bytes.Count(news, []byte("LOG:  spy_ran"))
	return s.log.lines
}

// withoutGate runs a statement without the gate.
func (s spied) withoutGate(t *testing.T, sql string) error {
	t.Helper()
	session, err := s.past.engine.begin(t.Context(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer session.end()
	session.broken = true // a connection that planned a query of a table once does not simplify its expressions again
	_, err = session.query(t.Context(), sql, nil, nil, s.engine.cat, func([]any) error { return nil })
	return err
}

var listed = []string{"public.even", "public.ratio_text", "public.ratio_same", "seg"}

// TestFunctionsOfTheDatabase tries many ways to run functions of the database.
func TestFunctionsOfTheDatabase(t *testing.T) {
	server := pgtest.New(t, "autovacuum=off") // autovacuum would run spies, too
	for name, test := range map[string]func(*testing.T, *pgtest.Server){
		"Statements": functionsRefused,
		"NotListed":  functionsNotListed,
		"Later":      functionsThatComeLater,
		"Names":      namesOfPostgresTaken,
		"Sizes":      sizesUnderRowSecurity,
		"Arguments":  argumentsOfOwnTypes,
		"Databases":  namesWithTheDatabase,
		"Casts":      castsBetweenTypesOfPostgres,
		"Families":   functionsInFamiliesOfPostgres,
		"Search":     parsersOfTextSearch,
		"InSQL":      functionsOfPostgresInSQL,
		"Encodings":  namesInOtherEncodings,
		"Counts":     countingRowsRunsNothing,
	} {
		t.Run(name, func(t *testing.T) { test(t, server) })
	}
}

// functionsRefused runs each refused statement without the gate and checks in the server's log that it would have
// run a function of the database. Statements that also list the outcome "limited" are refused for other reasons.
func functionsRefused(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server, listed...)
	hostile := sourcetest.Statements(t, "functions", sourcetest.Refused)
	for _, st := range hostile {
		before := s.ran()
		outcome, _, err := sourcetest.Outcome(t.Context(), s, st.SQL, source.Limits{})
		if outcome != sourcetest.Refused {
			t.Errorf("%s: %s (%v), want refused\n%s", st.Name, outcome, err, st.SQL)
		}
		if n := s.ran() - before; n > 0 {
			t.Errorf("%s: a function ran %d times\n%s", st.Name, n, st.SQL)
		}
		if slices.Contains(st.Want, sourcetest.Limited) {
			continue
		}
		before = s.ran()
		if err := s.withoutGate(t, st.SQL); s.ran() == before {
			t.Errorf("%s: past the gate nothing of the database's ran (%v)\n%s", st.Name, err, st.SQL)
		}
	}
	before := s.ran()
	allowed := sourcetest.Statements(t, "functions-allowed", sourcetest.Executed)
	for _, st := range allowed {
		outcome, rows, err := sourcetest.Outcome(t.Context(), s, st.SQL, source.Limits{})
		if !st.Allows(outcome) {
			t.Errorf("%s: %s (%v), want %v\n%s", st.Name, outcome, err, st.Want, st.SQL)
		} else if st.Rows != "" && sourcetest.Text(rows) != st.Rows {
			t.Errorf("%s: rows %s, want %s", st.Name, sourcetest.Text(rows), st.Rows)
		}
	}
	if s.ran() != before {
		t.Error("an allowed statement ran a spy")
	}
	if len(hostile) < 290 || len(allowed) < 120 {
		t.Errorf("there are %d hostile and %d allowed statements only", len(hostile), len(allowed))
	}
	t.Logf("%d hostile and %d allowed statements", len(hostile), len(allowed))
}

// functionsNotListed checks that functions that the operator does not list are refused, even harmless ones.
func functionsNotListed(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server)
	for _, sql := range []string{
		"SELECT even(2)", "SELECT 2::evens", "SELECT * FROM v_even", "SELECT '(2,4)'::pairs",
		"SELECT ROW(1, 2)::ratio::text", "SELECT r == r FROM ratios",
	} {
		outcome, _, err := sourcetest.Outcome(t.Context(), s, sql, source.Limits{})
		if outcome != sourcetest.Refused {
			t.Errorf("%s: %s, %v", sql, outcome, err)
		}
	}
	known := "SELECT '1..2'::seg && '1'::seg" // its extension needs no listing
	if outcome, _, err := sourcetest.Outcome(t.Context(), s, known, source.Limits{}); outcome != sourcetest.Executed {
		t.Errorf("%s: %s, %v", known, outcome, err)
	}
}

// namesWithTheDatabase checks names qualified by the name of the database.
func namesWithTheDatabase(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server)
	u, err := url.Parse(s.owner)
	if err != nil {
		t.Fatal(err)
	}
	db := `"` + strings.Trim(u.Path, "/") + `"`
	do(t, s.owner, `CREATE SCHEMA `+db, `GRANT USAGE ON SCHEMA `+db+` TO reader`) // a schema of that name hides nothing
	for _, sql := range []string{
		"SELECT '(1)' OPERATOR(" + db + ".public.^^) '(1)'", "SELECT " + db + ".public.spied(1)",
		"SELECT 1::" + db + ".public.ed",
		"SELECT z FROM shirts ORDER BY z USING OPERATOR(" + db + ".public.<~)",
		"SELECT 1 FROM places WHERE p OPERATOR(" + db + ".public.^^) ANY (SELECT p FROM places)",
	} {
		before := s.ran()
		outcome, _, err := sourcetest.Outcome(t.Context(), s, sql, source.Limits{})
		if outcome != sourcetest.Refused || s.ran() != before {
			t.Errorf("%s: %s (%v), a spy_ran %d times", sql, outcome, err, s.ran()-before)
		}
		if err := s.withoutGate(t, sql); s.ran() == before {
			t.Errorf("%s: past the gate nothing of the database's ran (%v)", sql, err)
		}
	}
}

// castsBetweenTypesOfPostgres adds casts between two of Postgres's own types. Only the server knows where it
// applies an implicit cast, so every statement is refused, with the name of the function that an operator may list.
// A cast that must be written out causes only statements that contain it to be refused.
func castsBetweenTypesOfPostgres(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server)
	do(t, s.owner, `CREATE FUNCTION int_point(integer) RETURNS point`+spy,
		`CREATE FUNCTION int_text(integer) RETURNS text`+spy)
	t.Cleanup(func() { do(t, s.owner, `DROP CAST IF EXISTS (integer AS text)`) }) // a cast is in no schema
	listed := open(t, strings.Replace(s.owner, "footnote@", "reader@", 1),
		Options{Functions: []string{"public.int_text", "pg_catalog.chr"}})
	for _, step := range []struct{ change, sql, reason string }{
		{`CREATE CAST (integer AS point) WITH FUNCTION int_point(integer)`, "SELECT 1", ""},
		{"", "SELECT 1::point", "The cast from integer to point runs public.int_point, "},
		{`CREATE CAST (integer AS text) WITH FUNCTION int_text(integer) AS IMPLICIT`, "SELECT 1",
			"The cast from integer to text, which the server may add to any statement, runs public.int_text, "},
		{"", "SELECT lower(1)", "a function of the database that has not been approved. " +
			`An operator who trusts it can add "shop=public.int_text" to the setting functions.`},
		{`DROP CAST (integer AS text)`, "SELECT 1", ""},
		{`CREATE CAST (integer AS text) WITH FUNCTION chr(integer) AS IMPLICIT`, "SELECT 1",
			`runs pg_catalog.chr, a Postgres function that is not intended for casts. ` +
				`An operator who trusts it can add "shop=pg_catalog.chr" to `},
	} {
		if step.change != "" {
			do(t, s.owner, step.change)
		}
		before := s.ran()
		outcome, _, err := sourcetest.Outcome(t.Context(), s, step.sql, source.Limits{})
		refused := outcome == sourcetest.Refused && step.reason != "" && strings.Contains(err.Error(), step.reason)
		if !refused && (outcome != sourcetest.Executed || step.reason != "") || s.ran() != before {
			t.Errorf("%s: %s (%v), a spy_ran %d times; want %q", step.sql, outcome, err, s.ran()-before, step.reason)
		}
		outcome, _, err = sourcetest.Outcome(t.Context(), listed, "SELECT 1", source.Limits{})
		if outcome != sourcetest.Executed {
			t.Errorf("%s: with the functions listed: %s, %v", step.change, outcome, err)
		}
	}
}

// functionsInFamiliesOfPostgres checks that functions added to Postgres's own operator families are judged. A superuser
// can add them: here for window frames over integers with a range of text.
func functionsInFamiliesOfPostgres(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server)
	do(t, s.owner, `CREATE FUNCTION in_range(integer, integer, text, boolean, boolean) RETURNS boolean`+
		` LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG ''spy_ran''; RETURN true; END'`,
		`ALTER OPERATOR FAMILY integer_ops USING btree ADD FUNCTION 3 (integer, text)
			in_range(integer, integer, text, boolean, boolean)`)
	s.refuses(t, "SELECT sum(id) OVER (ORDER BY id RANGE BETWEEN '1'::text PRECEDING AND CURRENT ROW) FROM customers")
}

// namesInOtherEncodings checks names that Postgres does not cut where the parser does, because the database's encoding
// is not UTF-8.
func namesInOtherEncodings(t *testing.T, server *pgtest.Server) {
	do(t, server.Database(t), `CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
	u, err := url.Parse(server.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/latin"
	long := strings.Repeat("é", 40)
	u.RawQuery += "&client_encoding=UTF8"
	do(t, u.String(), makeReader, `CREATE FUNCTION `+long+`(integer) RETURNS boolean`+spy)
	u.User = url.User("reader")
	s := over(t, server, "", u.String())
	s.refuses(t, "SELECT (1)."+long)
	for _, sql := range []string{`SELECT é, "größe" FROM (SELECT 1 AS é, 'É' AS "größe") AS ñ`, `SELECT 'É' AS "É"`} {
		if outcome, _, err := sourcetest.Outcome(t.Context(), s, sql, source.Limits{}); outcome != sourcetest.Executed {
			t.Errorf("%s: %s (%v)", sql, outcome, err)
		}
	}
}

// TestViewsThatHideRows checks that a statement's own conditions cannot see the rows that a view hides: an error would
// tell of them.
func TestViewsThatHideRows(t *testing.T) {
	const rows = ` AS SELECT id, name FROM customers WHERE city = current_setting('footnote.org', true)`
	_, reader := database(t, append(slices.Clone(sourcetest.Setup), `CREATE VIEW guarded WITH (security_barrier)`+rows,
		`CREATE VIEW leaky`+rows, `CREATE VIEW outer_view AS SELECT * FROM leaky`,
		`GRANT USAGE ON SCHEMA public TO reader`, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`)...)
	s := open(t, reader, Options{})
	for table, want := range map[string]string{"customers": sourcetest.Failed, "guarded": sourcetest.Executed,
		"leaky": sourcetest.Refused, "outer_view": sourcetest.Refused} {
		outcome, _, err := sourcetest.Outcome(t.Context(), s, `SELECT id FROM `+table+` WHERE name LIKE 'Ad\'`,
			source.Limits{})
		if outcome != want {
			t.Errorf("%s: %s (%v), want %s", table, outcome, err, want)
		}
	}
}

// parsersOfTextSearch has the operator @@ convert a text to a tsvector with a text search configuration whose
// template belongs to the database. The template's functions are C or internal, so the test can only check that
// they are examined.
func parsersOfTextSearch(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server)
	do(t, s.owner, `CREATE FUNCTION lexize(internal, internal, internal, internal) RETURNS internal
			LANGUAGE internal AS 'dsimple_lexize'`,
		`CREATE TEXT SEARCH TEMPLATE own (INIT = pg_catalog.dsimple_init, LEXIZE = lexize)`)
	for sql, want := range map[string]string{
		"SELECT name @@ 'ada' FROM customers":     sourcetest.Refused,
		"SELECT to_tsvector(name) FROM customers": sourcetest.Refused,
		"SELECT 'a'::tsvector IS NOT NULL":        sourcetest.Executed,
	} {
		if outcome, _, err := sourcetest.Outcome(t.Context(), s, sql, source.Limits{}); outcome != want {
			t.Errorf("%s: %s (%v), want %s", sql, outcome, err, want)
		}
	}
}

// functionsOfPostgresInSQL lists those of Postgres's own functions that are written in SQL and take values of any
// type. A cast in such a function has the type of the argument, so the judge must know each of them; see rendering. A
// newer version of Postgres may add more.
func functionsOfPostgresInSQL(t *testing.T, server *pgtest.Server) {
	rows, err := dial(t, server.Database(t)).Query(t.Context(), `SELECT p.oid::regprocedure::text FROM pg_proc p
		WHERE p.oid < 16384 AND p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'sql') AND EXISTS (
			SELECT FROM pg_type t WHERE t.oid = ANY (p.proargtypes::oid[]) AND (t.typtype = 'p' OR t.typelem <> 0
				AND t.typname IN ('_record', '_cstring')))
		ORDER BY p.proname`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	want := []string{"information_schema._pg_expandarray(anyarray)", "anytextcat(anynonarray,text)",
		"quote_literal(anyelement)", "quote_nullable(anyelement)", "textanycat(text,anynonarray)"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// countingRowsRunsNothing checks that the source does not count the rows of tables where that runs functions of the
// database. There is no foreign table, because one would keep it from counting the rows of any partitioned table.
func countingRowsRunsNothing(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server)
	do(t, s.owner, `DROP EXTENSION file_fdw CASCADE`)
	late := open(t, strings.Replace(s.owner, "footnote@", "reader@", 1), Options{})
	before := s.ran()
	schema, err := late.Schema(t.Context())
	if n := s.ran() - before; err != nil || n > 0 {
		t.Errorf("counting rows ran functions of the database %d times (%v)", n, err)
	}
	counted := map[string]int64{}
	for _, table := range schema.Tables {
		counted[table.Name] = table.Rows
	}
	for name, want := range map[string]int64{"parted": 2, "top": -1, "split": -1, "outer_split": -1, "key_array": -1,
		"made_key": -1, "key_sum": -1, "customers": 4} {
		if got, ok := counted[name]; !ok || got != want {
			t.Errorf("%s has %d rows, want %d", name, got, want)
		}
	}
}

// refuses checks that a statement that would run a spy is refused.
func (s spied) refuses(t *testing.T, sql string) {
	t.Helper()
	before := s.ran()
	outcome, _, err := sourcetest.Outcome(t.Context(), s, sql, source.Limits{})
	if outcome != sourcetest.Refused || s.ran() != before {
		t.Errorf("%s: %s (%v), a spy_ran %d times", sql, outcome, err, s.ran()-before)
	}
	before = s.ran()
	if err := s.withoutGate(t, sql); s.ran() == before {
		t.Errorf("%s: past the gate nothing of the database's ran (%v)", sql, err)
	}
}

// functionsThatComeLater checks that the next statement sees what was created after the source had read its
// catalog.
func functionsThatComeLater(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server)
	do(t, s.owner, `CREATE FUNCTION ratio_date(ratio) RETURNS date`+spy,
		`CREATE FUNCTION box_text(box) RETURNS text`+spy,
		`CREATE FUNCTION texts(text, text) RETURNS text`+spy)
	for _, step := range []struct{ change, sql string }{
		{`CREATE FUNCTION lower(integer) RETURNS text` + spy, "SELECT lower(1)"},
		{`CREATE CAST (ratio AS date) WITH FUNCTION ratio_date(ratio) AS IMPLICIT`, "SELECT r::date FROM ratios"},
		{`CREATE OR REPLACE VIEW richer AS SELECT upper(name) AS name, round(share, 1) AS share FROM rich
			WHERE spied(name)`, "SELECT * FROM richer"},
		{`ALTER DOMAIN percent ADD CHECK (spied(VALUE::integer))`, "SELECT 5::percent"},
		{`ALTER TYPE address ADD ATTRIBUTE late ed`, "SELECT '(a,b,1)'::address"},
		{`ALTER TABLE orders ALTER COLUMN note TYPE ed USING 1`, "SELECT note FROM orders"},
		{`CREATE OPERATOR # (LEFTARG = text, RIGHTARG = text, FUNCTION = texts)`, "SELECT 'a'::text # 'b'::text"},
		{`CREATE FUNCTION name(address) RETURNS text` + spy, "SELECT ('(a,b,)'::address).name"},
		{`CREATE CAST (box AS text) WITH FUNCTION box_text(box)`, "SELECT '(1,1),(0,0)'::box::text"},
	} {
		do(t, s.owner, step.change)
		before := s.ran()
		outcome, _, err := sourcetest.Outcome(t.Context(), s, step.sql, source.Limits{})
		if outcome != sourcetest.Refused || s.ran() != before {
			t.Errorf("%s: %s (%v), a spy_ran %d times", step.change, outcome, err, s.ran()-before)
		}
	}
}

// namesOfPostgresTaken creates functions with the names of Postgres's own, which the role's search_path puts first.
// The source's own statements must not use them.
func namesOfPostgresTaken(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server)
	do(t, s.owner, `CREATE SCHEMA shadow`, `GRANT USAGE ON SCHEMA shadow TO reader`,
		`CREATE FUNCTION shadow.current_setting(text) RETURNS text`+spy,
		`CREATE FUNCTION shadow.lower(text) RETURNS text`+spy,
		`CREATE FUNCTION shadow.array_to_string(name[], text) RETURNS text`+spy,
		`CREATE FUNCTION shadow.concat_ws(text, VARIADIC oid[]) RETURNS text`+spy,
		`CREATE FUNCTION shadow.set_config(text, text, boolean) RETURNS text`+spy,
		`CREATE FUNCTION shadow.obj_description(oid, name) RETURNS text`+spy,
		`CREATE FUNCTION shadow.same(oid, oid) RETURNS boolean`+spy,
		`CREATE OPERATOR shadow.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = shadow.same)`,
		`CREATE FUNCTION shadow.same(name, text) RETURNS boolean`+spy,
		`CREATE OPERATOR shadow.= (LEFTARG = name, RIGHTARG = text, FUNCTION = shadow.same)`,
		`CREATE DOMAIN shadow.date AS text CHECK (public.spied(VALUE))`,
		`CREATE DOMAIN shadow.json AS text CHECK (public.spied(VALUE))`,
		`CREATE FUNCTION shadow.joined(text, text) RETURNS text`+spy,
		`CREATE OPERATOR shadow.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = shadow.joined)`,
		`CREATE VIEW shadow.pg_class AS SELECT 1 AS one WHERE public.spied(1)`,
		`GRANT SELECT ON ALL TABLES IN SCHEMA shadow TO reader`,
		`DO $$ BEGIN EXECUTE 'ALTER ROLE reader IN DATABASE ' || current_database() ||
		' SET search_path = shadow, public, pg_catalog'; END $$`)
	t.Cleanup(func() {
		do(t, s.owner, `DO $$ BEGIN EXECUTE 'ALTER ROLE reader IN DATABASE ' || current_database() ||
			' RESET search_path'; END $$`)
	})
	before := s.ran()
	late := open(t, strings.Replace(s.owner, "footnote@", "reader@", 1), Options{})
	if err := late.Probe(t.Context()); err != nil {
		t.Errorf("probe: %v", err)
	}
	if _, err := late.Schema(t.Context()); err != nil {
		t.Errorf("schema: %v", err)
	}
	if n := s.ran() - before; n > 0 {
		t.Errorf("the source's own statements ran functions of the database %d times", n)
	}
	for sql, want := range map[string]string{
		"SELECT lower('A')": sourcetest.Refused, "SELECT pg_catalog.lower('A')": sourcetest.Executed,
		"SELECT regexp_match(c, 'a', 'g') FROM extended": sourcetest.Refused, // its body has ||
		"SELECT 'x'::date": sourcetest.Refused, "SELECT json '1'": sourcetest.Refused,
		"SELECT '1'::json":         sourcetest.Refused,
		"SELECT DATE '2024-01-01'": sourcetest.Refused, "SELECT one FROM pg_class": sourcetest.Refused,
		"SELECT id FROM customers":                        sourcetest.Executed,
		"SELECT relname FROM pg_catalog.pg_class LIMIT 1": sourcetest.Executed,
	} {
		outcome, _, err := sourcetest.Outcome(t.Context(), late, sql, source.Limits{})
		if outcome != want || s.ran() != before {
			t.Errorf("%s: %s (%v), a spy_ran %d times; want %s", sql, outcome, err, s.ran()-before, want)
		}
	}
}

// sizesUnderRowSecurity checks that if users see different rows, whatever reveals other users' rows is refused.
func sizesUnderRowSecurity(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server)
	statements := []string{"SELECT relname, reltuples FROM pg_class", "SELECT * FROM pg_class",
		"SELECT c FROM pg_catalog.pg_class c", "SELECT pg_total_relation_size('orders')",
		"SELECT c.pg_relation_size FROM unnest(ARRAY['orders'::regclass]) c",
		"SELECT max(c.ctid::text) FROM customers c",
		"SELECT (c).ctid FROM customers c",
		"SELECT ('orders'::regclass).pg_relation_size", "TABLE pg_class"}
	for _, sql := range statements {
		if outcome, _, err := sourcetest.Outcome(t.Context(), s, sql, source.Limits{}); outcome != sourcetest.Executed {
			t.Errorf("%s: %s, %v", sql, outcome, err)
		}
	}
	var late *Source
	for _, change := range [][]string{
		{`CREATE FUNCTION own_org() RETURNS text LANGUAGE sql STABLE RETURN current_setting('footnote.org', true)`,
			`CREATE TABLE hidden AS SELECT 1 AS id`, `GRANT SELECT ON hidden TO reader`},
		{`DROP FUNCTION own_org`, `CREATE VIEW own_rows AS SELECT id FROM customers
			WHERE current_setting('footnote.org', true) IS NULL AND current_user <> 'nobody'`,
			`GRANT SELECT ON own_rows TO reader`},
		{`DROP VIEW own_rows`, `ALTER TABLE hidden ENABLE ROW LEVEL SECURITY`},
		{`ALTER TABLE hidden DISABLE ROW LEVEL SECURITY`, `ALTER TABLE orders ENABLE ROW LEVEL SECURITY`,
			`CREATE POLICY own ON orders USING (even(id))`},
	} {
		do(t, s.owner, change...)
		late = open(t, strings.Replace(s.owner, "footnote@", "reader@", 1), Options{})
		for _, sql := range append(statements, "EXPLAIN SELECT id FROM customers",
			"SELECT pg_relation_size('hidden')") {
			if outcome, _, err := sourcetest.Outcome(t.Context(), late, sql,
				source.Limits{}); outcome != sourcetest.Refused {
				t.Errorf("%s: %s: %s, %v", change[0], sql, outcome, err)
			}
		}
	}
	// A policy belongs to the operator: the functions it calls do not count as the statement's.
	for sql, want := range map[string]string{"SELECT id FROM orders ORDER BY id": "[[10],[12],[14]]",
		"SELECT relname FROM pg_class WHERE relname = 'orders'": `[["orders"]]`} {
		if outcome, rows, err := sourcetest.Outcome(t.Context(), late, sql,
			source.Limits{}); outcome != sourcetest.Executed || sourcetest.Text(rows) != want {
			t.Errorf("%s: %s %v, %v", sql, outcome, rows, err)
		}
	}
}

// argumentsOfOwnTypes checks that an argument takes the type that the statement gives it.
func argumentsOfOwnTypes(t *testing.T, server *pgtest.Server) {
	s := newSpied(t, server)
	before := s.ran()
	_, _, err := source.Collect(t.Context(), s, source.Query{SQL: "SELECT $1::ct", Args: []any{"(1,x)"}})
	if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Refused || s.ran() != before {
		t.Errorf("%v, a spy_ran %d times", err, s.ran()-before)
	}
}
