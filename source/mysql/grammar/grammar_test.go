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
