package grammar

import (
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/source"
)

// anything lets a statement use every table and function.
var anything = Options{
	MariaDB: true,
	Call:    func(_, name string) (string, error) { return strings.ToUpper(name), nil },
	Table: func(schema, name string) (Table, error) {
		full := Quote("shop") + "." + Quote(name)
		return Table{SQL: full, Name: name, Listed: strings.Trim(schema+"."+name, ".")}, nil
	},
}

func TestWritten(t *testing.T) {
	for statement, want := range map[string]string{
		"select a b, `c``d` from t x -- y": "SELECT `a` AS `b`, `c``d` FROM `shop`.`t` AS `x`",
		"SELECT 1 + 2 * 3":                 "SELECT 1 + (2 * 3) AS `1 + 2 * 3`",
		"SELECT a OR b AND NOT c = 1 FROM t": "SELECT `a` OR (`b` AND (NOT (`c` = 1))) " +
			"AS `a OR b AND NOT c = 1` FROM `shop`.`t`",
		"SELECT 'it\\'s', \"a\"\"b\", 'x' 'y'":                "SELECT 'it''s', 'a\"b', 'xy'",
		`SELECT "a" FROM "t"`:                                 "SELECT `a` FROM `shop`.`t`",
		"SELECT a FROM t LIMIT 2, 3":                          "SELECT `a` FROM `shop`.`t` LIMIT 2, 3",
		"SELECT a FROM t OFFSET 1 ROW FETCH NEXT 2 ROWS ONLY": "SELECT `a` FROM `shop`.`t` LIMIT 2 OFFSET 1",
		"SELECT count(*), -a, !b FROM t":                      "SELECT COUNT(*) AS `count(*)`, -`a` AS `-a`, !`b` AS `!b` FROM `shop`.`t`",
		"SELECT d + INTERVAL 1 DAY FROM t":                    "SELECT `d` + INTERVAL 1 DAY AS `d + INTERVAL 1 DAY` FROM `shop`.`t`",
		"WITH x AS (SELECT 1 AS n) SELECT n FROM X": "WITH `x` AS (SELECT 1 AS `n`) " +
			"SELECT `n` FROM `x` AS `X`",
		"VALUES ROW(1), (2)":                   "VALUES (1), (2)",
		"SELECT a FROM t WHERE b LIKE 'x\\_%'": "SELECT `a` FROM `shop`.`t` WHERE `b` LIKE 'x\\\\_%'",
	} {
		st, err := Read(statement, anything)
		if err != nil || st.SQL != want {
			t.Errorf("%s\n got %s, %v\nwant %s", statement, st.SQL, err, want)
		}
	}
}

// TestWrittenForMySQL checks what is written in another way than for MariaDB.
func TestWrittenForMySQL(t *testing.T) {
	o := anything
	o.MariaDB = false
	const recursive = "WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM a), b AS (SELECT n FROM a) "
	for statement, want := range map[string]string{
		"VALUES (1), (2)":         "VALUES ROW(1), ROW(2)",
		recursive + "TABLE b":     "SELECT * FROM `b`",
		"SELECT a->>'$.x' FROM t": "JSON_UNQUOTE(JSON_EXTRACT(`a`, '$.x'))",
		// In MySQL, a query sees only itself and those before it.
		"WITH RECURSIVE a AS (SELECT * FROM later), later AS (SELECT 1) SELECT 1": "FROM `shop`.`later`)",
		"SELECT * FROM a, LATERAL (SELECT 1 FROM b WHERE b.x = a.x) c":            "LATERAL (SELECT 1",
	} {
		st, err := Read(statement, o)
		if err != nil || !strings.Contains(st.SQL, want) {
			t.Errorf("%s: %s, %v, want %s", statement, st.SQL, err, want)
		}
	}
	o.MariaDB = true
	st, err := Read("WITH RECURSIVE a AS (SELECT * FROM later), later AS (SELECT 1) SELECT 1", o)
	if err != nil || !strings.Contains(st.SQL, "FROM `later` AS `later`)") {
		t.Errorf("MariaDB: %s, %v", st.SQL, err)
	}
}

// TestDeepStatementsEnd checks that statements which are hard to read take no time.
func TestDeepStatementsEnd(t *testing.T) {
	for _, s := range []string{
		"SELECT " + strings.Repeat("(", 20_000), "SELECT * FROM " + strings.Repeat("(", 20_000) + "t",
		"SELECT * FROM " + strings.Repeat("((SELECT * FROM ", 60) + "t", strings.Repeat("(SELECT 1 UNION ", 2000),
		"SELECT * FROM " + strings.Repeat("(t JOIN ", 2000) + "t", "SELECT " + strings.Repeat("((SELECT (", 70) + "1",
		"SELECT 1 IN " + strings.Repeat("((SELECT 1 IN ", 70) + "1", "SELECT " + strings.Repeat("-", 30_000) + "1",
		"SELECT " + strings.Repeat("NOT ", 15_000) + "1", "SELECT " + strings.Repeat("1,", 30_000) + "1",
		"SELECT INTERVAL " + strings.Repeat("(INTERVAL (", 60) + "1", "WITH " + strings.Repeat("a AS (WITH ", 5000),
	} {
		begun := time.Now()
		_, err := Read(s, anything)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%.60s took %v (%v)", s, took, err)
		}
	}
}

// FuzzRead checks that what was written is read again as it is, and that it holds nothing of what the grammar refuses.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"SELECT 1", `SELECT "a" FROM "t"`,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n",
		"SELECT a->>'$.x', CASE WHEN a THEN 1 END, (SELECT 1), (1, 2) IN ((1, 2)) FROM t JOIN u USING (a) ORDER BY 1",
		"SELECT x'00', .5e3, _utf8mb4'x', DATE'2024-01-01' LIMIT 1", "SELECT 1 /*! INTO OUTFILE 'x' */", "SELECT 'a\\'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		begun := time.Now()
		st, err := Read(s, anything)
		if took := time.Since(begun); took > 2*time.Second {
			t.Fatalf("%d bytes took %v", len(s), took)
		}
		if err != nil {
			if _, ok := err.(*source.Error); !ok { //nolint:errorlint // the type itself is the contract
				t.Fatalf("%q: %T", s, err)
			}
			return
		}
		again := anything
		again.Table = func(_, name string) (Table, error) {
			return Table{SQL: Quote("shop") + "." + Quote(name), Name: name}, nil
		}
		second, err := Read(st.SQL, again)
		if err != nil {
			t.Fatalf("%q was written as %q, which is refused: %v", s, st.SQL, err)
		}
		if third, err := Read(second.SQL, again); err != nil || third.SQL != second.SQL {
			t.Fatalf("%q is %q, then %q, then %q (%v)", s, st.SQL, second.SQL, third.SQL, err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for name, s := range map[string]string{
		"short": "SELECT name, COUNT(*) FROM customers WHERE city = 'Oslo' GROUP BY name ORDER BY 2 DESC LIMIT 10",
		"chain": "SELECT 1=1" + strings.Repeat(" AND true", 6000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Read(s, anything); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
