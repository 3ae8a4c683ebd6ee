package grammar

import (
	"errors"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
)

// dialects are two that differ in every field.
var (
	plain = &Dialect{
		NameQuote: '"', StringQuotes: "'", Function: func(name string) bool { return Functions("exists")[name] },
		TableFunctions: wordlist.Set("unnest"), BadColumns: wordlist.Set("nextval"),
	}
	other = &Dialect{
		NameQuote: '`', StringQuotes: `'"`, Backslash: true, Escapes: "xu", RawStrings: true, TripleQuotes: true,
		Bytes: 'b', Suffixes: "L", Positional: true, HashComments: true, DottedNames: true, InReadsTable: true,
		Function: plain.Function, TableFunctions: plain.TableFunctions,
	}
)

// tables knows t, u and s.v; t is a query.
func tables(path []string) (Table, error) {
	switch full := strings.Join(path, "."); full {
	case "t":
		return Table{SQL: "( SELECT a FROM s.t )", Name: "t", Listed: "t", Query: true}, nil
	case "u", "s.v", "s.U":
		return Table{SQL: "<" + full + ">", Name: path[len(path)-1], Listed: full}, nil
	}
	return Table{}, source.Refusef("There is no table %s.", strings.Join(path, "."))
}

func TestWritten(t *testing.T) {
	for _, tc := range []struct {
		d         *Dialect
		sql, want string
	}{
		{plain, "select 'it''s' -- x", "SELECT 'it''s'"},
		{plain, `select 'a\' as b`, `SELECT 'a\' AS b`},
		{other, `select 'it\'s', "x", r'\d'`, `SELECT 'it\'s' , 'x' , '\\d'`},
		{other, `select '\d\n' # x`, `SELECT '\\d\n'`},
		{other, `select """x"; delete from u; --""", '\x27\u0027', r"\"" `, `SELECT 'x"; delete from u; --' , '\'\'' , '\\"'`},
		{other, `select b"a'\x00\377\\", 0xFf, 1_000L, $1`, `SELECT b'a\x27\x00\377\\' , 0xFf , 1000L , $1`},
		{other, "select a from u limit 1 union all select 2 order by 1",
			"SELECT a FROM <u> LIMIT 1 UNION ALL SELECT 2 ORDER BY 1"},
		{plain, "select 1 from u group by grouping sets (a, cube (a, b), ())",
			"SELECT 1 FROM <u> GROUP BY GROUPING SETS ( a , CUBE ( a , b ) , ( ) )"},
		{plain, "select a, from u group by distinct a as b", "SELECT a FROM <u> GROUP BY DISTINCT a AS b"},
		{plain, "select left(x, 2), f.*, (f).* as (a), * apply(max) from u as f",
			"SELECT left ( x , 2 ) , f.* , ( f ) . * AS ( a ) , * APPLY ( max ) FROM <u> AS f"},
		{plain, "from u select count(table u, outer => 1) full union all by name select 1",
			"FROM <u> SELECT count ( TABLE <u> , outer => 1 ) FULL UNION ALL BY NAME SELECT 1"},
		{plain, "select exists(a, b -> b > 1), interval 5 hours 30 seconds",
			"SELECT exists ( a , b -> b > 1 ) , INTERVAL 5 HOURS 30 SECONDS"},
		{plain, "select /* ; */ a from u", "SELECT a FROM <u>"},
		{plain, "select u.a from s.U u where u.a>1", "SELECT u.a FROM <s.U> AS u WHERE u.a > 1"},
		{plain, "select t.a from t", "SELECT t.a FROM ( SELECT a FROM s.t ) AS t"},
		{plain, `select "t"."a" from "t"`, `SELECT "t"."a" FROM ( SELECT a FROM s.t ) AS "t"`},
		{other, "select x from `s.v`", "SELECT x FROM <s.v>"},
		{other, "select i from u as o, o.items as i", "SELECT i FROM <u> AS o , o.items AS i"},
		{plain, "with t as (select 1 as a) select * from t", "WITH t AS ( SELECT 1 AS a ) SELECT * FROM t"},
		{plain, "select 1 - -1, a.b.c", "SELECT 1 - - 1 , a.b.c"},
		{plain, "select x::decimal(10, 2), cast(y as timestamp(3) with time zone)",
			"SELECT x :: decimal ( 10 , 2 ) , CAST ( y AS timestamp ( 3 ) WITH TIME ZONE )"},
		{plain, "select sum(a) filter (where b) over (partition by c order by d rows between 1 preceding and current row)",
			"SELECT sum ( a ) FILTER ( WHERE b ) OVER ( PARTITION BY c ORDER BY d ROWS BETWEEN 1 PRECEDING AND CURRENT ROW )"},
		{plain, "explain select 1", "EXPLAIN SELECT 1"},
		{plain, "select a from u minus select 1", "SELECT a FROM <u> MINUS SELECT 1"},
		{other, "select a in (+b, c), a in +(1) from u", "SELECT a IN ( + b , c ) , a IN + ( 1 ) FROM <u>"},
		{plain, "(select 1) union all (select 2) order by 1 limit 1;;",
			"( SELECT 1 ) UNION ALL ( SELECT 2 ) ORDER BY 1 LIMIT 1"},
	} {
		st, err := tc.d.Read(tc.sql, Options{Table: tables})
		if err != nil || st.SQL != tc.want {
			t.Errorf("%s: %s, %v, want %s", tc.sql, st.SQL, err, tc.want)
		}
	}
}

// TestScopes checks that a name means a table wherever the server could take it for one.
func TestScopes(t *testing.T) {
	for _, tc := range []struct {
		d   *Dialect
		sql string
	}{
		{plain, "select * from (with hid as (select 1) select 1) as x, hid"},
		{plain, "select (with hid as (select 1) select 1) from hid"},
		{plain, "with a as (select * from hid), hid as (select 1) select * from a"},
		{plain, "with hid as (select * from hid) select * from hid"},
		{plain, "with a as (select 1) select * from s.a"},
		{other, "select * from u as o, (select * from o.hid)"},
		{other, "select * from (select 1 from u as o), o.hid"},
		{other, "select * from u as o where exists (select 1 from o.hid)"},
		{other, "select (select 1 from u as o), 1 from o.hid"},
		{other, "select 1 from u as o union all select 1 from o.hid"},
		{plain, "select * from u as o, o.hid"},
		{other, "select 1 where 1 in hid"},
		{other, "select 1 where 1 in (hid)"},
		{other, "select 1 where 1 not in ((`hid`))"},
		{other, "select 1 where (1, 2) in (hid as x)"},
		{other, "select 1 where 1 in (hid x)"},
		{other, "select 1 where 1 in (s.hid `as`)"},
		{other, "select 1 where 1 in +hid"},
		{other, "select 1 where 1 not in (+(+s.hid))"},
		{plain, "with recursive hid as y select * from hid"},
		{plain, "select count(table hid)"},
		{plain, "select * apply(pg_sleep) from u"},
		{plain, "select * apply pg_sleep from u"},
		{plain, "select columns('a') apply(x -> pg_sleep(x)) from u"},
		{plain, "from hid select *"},
		{plain, "select merge(a) from u"},
		{plain, "select 1_a"},
		{plain, "select 0xfg"},
		{plain, `select b'a'`},
		{other, `select b'\u0027'`},
		{other, `select b'\''`},
		{other, `select '\U00000027'`},
		{other, `select '\ud800', '\x00'`},
		{plain, "select s.nextval"},
		{plain, `select "s" . "NextVal"`},
		{plain, "select ſ from u"},
	} {
		if st, err := tc.d.Read(tc.sql, Options{Table: tables}); err == nil {
			t.Errorf("%s was read: %s", tc.sql, st.SQL)
		}
	}
}

// TestCut checks that no statement can use the name of a common table expression for a table.
func TestCut(t *testing.T) {
	st, err := plain.Read("with hid as (select 1 as a) select hid.a, s.hid.a from hid",
		Options{Table: tables, Cut: true})
	const want = "WITH footnote_with_1 AS ( SELECT 1 AS a ) SELECT hid.a , s.hid.a FROM footnote_with_1 AS hid"
	if err != nil || st.SQL != want {
		t.Errorf("%s, %v", st.SQL, err)
	}
	if _, err := plain.Read("explain select 1", Options{Table: tables, Cut: true}); err == nil {
		t.Error("a plan tells of hidden columns")
	}
	if st, err := other.Read("select * from unnest([1]) as s, s.hid", Options{Table: tables, Cut: true}); err == nil {
		t.Errorf("a table is taken for an array: %s", st.SQL)
	}
}

func TestArgs(t *testing.T) {
	st, err := other.Read("select $1, $2, $3, $4, $5, $6 limit $7", Options{Table: tables, Args: []any{
		nil, true, int64(-3), 2.5, "it's \\ ; --", "字", int64(5),
	}})
	if want := `SELECT NULL , TRUE , (-3) , (2.5e+00) , 'it\'s \\ ; --' , '字' LIMIT 5`; err != nil || st.SQL != want {
		t.Errorf("%s, %v", st.SQL, err)
	}
	for _, args := range [][]any{{}, {int64(1), int64(2)}, {struct{}{}}, {"\x00"}} {
		_, err := plain.Read("select $1", Options{Table: tables, Args: args})
		if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Failed {
			t.Errorf("arguments %v: %v", args, err)
		}
	}
}

// TestBounds checks that no text takes long or ends the program.
func TestBounds(t *testing.T) {
	for _, sql := range []string{
		"select " + strings.Repeat("(", 20_000) + "1" + strings.Repeat(")", 20_000),
		"select " + strings.Repeat("(select ", 7_000) + "1" + strings.Repeat(")", 7_000),
		strings.Repeat("((select 1)+", 3_000), "select " + strings.Repeat("case when ", 6_000),
		"select " + strings.Repeat("array<", 9_000), "select " + strings.Repeat("[", 60_000),
		"select * from " + strings.Repeat("(", 60_000), "select " + strings.Repeat("interval ", 7_000),
		strings.Repeat("select 1 union ", 4_000), "select " + strings.Repeat("not ", 16_000),
		"with " + strings.Repeat("x as (with ", 5_000), "select 1" + strings.Repeat(" x", 30_000),
	} {
		if _, err := plain.Read(sql, Options{Table: tables}); err == nil {
			t.Errorf("%.40s… was read", sql)
		}
	}
}

// FuzzRead checks that whatever is read is read again as the same statement, so that it has no other meaning.
func FuzzRead(f *testing.F) {
	for _, sql := range []string{
		"select 'a''b' || \"x\" from u where a in (1, 2) and b is not null -- x", "select x[1:2], y.z:w::int from s.v",
		`select "a"."b", 'c\'d', 1.5e3, .5, x.1 from u as x`,
		"with recursive r as (select 1) select * exclude (a) from r",
	} {
		f.Add(sql)
	}
	any := Options{Table: func(path []string) (Table, error) {
		quoted := make([]string, len(path))
		for i, n := range path {
			quoted[i] = plain.Quote(n)
		}
		name := strings.Join(quoted, ".")
		return Table{SQL: name, Name: path[len(path)-1], Listed: name}, nil
	}}
	f.Fuzz(func(t *testing.T, sql string) {
		one, err := plain.Read(sql, any)
		if err != nil {
			return
		}
		two, err := plain.Read(one.SQL, any)
		if err != nil || two.SQL != one.SQL {
			t.Errorf("%q was written as %q, which was read as %q, %v", sql, one.SQL, two.SQL, err)
		}
	})
}

// TestProjects checks that the dashes of a project need no quotes.
func TestProjects(t *testing.T) {
	var got []string
	_, err := other.Read("select x - y from my-project-2.s.v as v", Options{Table: func(path []string) (Table, error) {
		got = path
		return Table{SQL: "x", Name: "v"}, nil
	}})
	if err != nil || strings.Join(got, "|") != "my-project-2|s|v" {
		t.Errorf("%q, %v", got, err)
	}
}
