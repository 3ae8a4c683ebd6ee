package postgres

import (
	"cmp"
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

var grammar = NewGrammar(nil, nil) // shared by all tests: starting one takes seconds

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{Kind: OpenEngine})
	code := pgtest.Run(m)
	grammar.Close()
	os.Exit(code)
}

func read(t *testing.T, sql string) facts {
	t.Helper()
	f, err := grammar.read(t.Context(), sql)
	if err != nil {
		t.Fatalf("%.100s: %v", sql, err)
	}
	return f
}

func TestFacts(t *testing.T) {
	f := read(t, `WITH a AS (SELECT 1), b AS (SELECT * FROM a, later) SELECT s.f(x.y)::p.q, x OPERATOR(pg_catalog.+) 1, (r).z
		FROM b, "T t", v.w TABLESAMPLE system (1), ROWS FROM (g(), h()), LATERAL (WITH c AS (TABLE inner1) SELECT * FROM c), c ORDER BY 1 USING <`)
	want := facts{
		Root:      "SelectStmt",
		Relations: []name{{"later"}, {"T t"}, {"v", "w"}, {"inner1"}, {"c"}},
		Reads: []place{
			{Name: name{"later"}, At: 45}, {Name: name{"T t"}, At: 118}, {Name: name{"v", "w"}, At: 125},
			{Name: name{"inner1"}, At: 201}, {Name: name{"c"}, At: 227},
		},
		Functions:  []name{{"s", "f"}, {"system"}, {"g"}, {"h"}},
		Operators:  []name{{"pg_catalog", "+"}, {"<"}},
		Types:      []name{{"p", "q"}},
		Attributes: []name{{"x", "y"}},
		Rows: map[string]rows{"a": {Other: true}, "later": {Relations: []name{{"later"}}}, "b": {Other: true},
			"T t": {Relations: []name{{"T t"}}}, "w": {Relations: []name{{"v", "w"}}},
			"inner1": {Relations: []name{{"inner1"}}}, "c": {Relations: []name{{"c"}}, Other: true},
			"g": {Other: true, Function: true}, "h": {Other: true, Function: true}},
		Fields:  []string{"z"},
		Columns: []string{"r", "x", "y"},
		All:     true,

		Constant: []name{{"g"}, {"h"}},
	}
	for _, lists := range [][2]any{
		{&f.Relations, &want.Relations}, {&f.Functions, &want.Functions}, {&f.Operators, &want.Operators},
		{&f.Types, &want.Types}, {&f.Constant, &want.Constant},
	} {
		sortNames(lists[0].(*[]name))
		sortNames(lists[1].(*[]name))
	}
	sortStrings(f.Columns)
	if !reflect.DeepEqual(f, want) {
		t.Errorf("facts\n%+v\nwant\n%+v", f, want)
	}
}

// TestFactsOfConstants checks what is applied only to constants, in expressions as Postgres writes them.
func TestFactsOfConstants(t *testing.T) {
	for sql, want := range map[string]string{
		"(id > f(1))": "f", "lower(name), (id + f(id, 2))": "", "(f(g(1)) + id)": "f g",
		"((1 OPERATOR(s.+) 2) + id)": "s.+",
		"(id = ANY (ARRAY[1, f()]))": "f", "CASE WHEN (id > 1) THEN s.f('x'::text) ELSE NULL END": "s.f",
		"((name)::text = 'a'::text)": "", "f(VARIADIC ARRAY[id])": "",
		"f(COALESCE(1, id))": "f", "f(COALESCE(id, 1))": "", "f((id + NULL::integer))": "f", "f((id + g(1)))": "f g",
		"f(CASE WHEN (id > 1) THEN 1 ELSE 2 END)": "", "f(CASE WHEN true THEN 1 ELSE id END)": "f",
		"f(((id > 0) OR true))": "f", "f(((id > 0) OR (id < 9)))": "", "f((ROW(id, 1)).f2)": "f",
		"f(NULLIF(id, 1))":            "f",
		"f((id = ANY (ARRAY[1, 2])))": "", "f((id = ANY (NULL::integer[])))": "f",
	} {
		f := read(t, "SELECT "+sql)
		sortNames(&f.Constant)
		var got []string
		for _, n := range f.Constant {
			got = append(got, n.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: constant are %q, want %q", sql, got, want)
		}
	}
}

// TestFactsOfColumns checks which columns a statement may read: named ones, or all.
func TestFactsOfColumns(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT a, t.b FROM t WHERE c > 1 ORDER BY d": "a b c d", "SELECT count(*) FROM t": "",
		"SELECT * FROM t": "all", "SELECT t.* FROM t": "all", "TABLE t": "all",
		"SELECT t FROM t": "all", "SELECT x FROM t x": "all", "SELECT s.x FROM s.x": "all",
		"SELECT b FROM t AS x(a, b)": "all", "SELECT 1 FROM t NATURAL JOIN u": "all",
		"SELECT 1 FROM t JOIN u USING (k)": "k", "SELECT k.a FROM t JOIN u USING (a) AS k": "a",
		"SELECT b FROM (t JOIN u ON true) AS j(a, b)": "all",
		"SELECT (SELECT y FROM u y) FROM t":           "all", "SELECT s.a FROM (SELECT a FROM t) AS s(a)": "a",
		"WITH w AS (SELECT a FROM t) SELECT w.a FROM w": "a",
	} {
		f := read(t, sql)
		sortStrings(f.Columns)
		if got := strings.Join(f.Columns, " "); f.All != (want == "all") || !f.All && got != want {
			t.Errorf("%s: columns %q, all %v, want %q", sql, got, f.All, want)
		}
	}
}

// TestFactsOfOperators checks that the operators implied by keywords are those that Postgres uses.
func TestFactsOfOperators(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT a IN (1, 2)": "=", "SELECT a IN (SELECT 1)": "=", "SELECT CASE a WHEN 1 THEN 2 END": "=",
		"SELECT CASE WHEN a THEN 2 END": "", "SELECT nullif(a, b)": "=",
		"SELECT a IS DISTINCT FROM b": "=", "SELECT a BETWEEN 1 AND 2": "< <= > >=",
		"SELECT a NOT BETWEEN SYMMETRIC 1 AND 2": "< <= > >=", "SELECT a LIKE b": "~~",
		"SELECT a NOT ILIKE b": "!~~*", "SELECT a SIMILAR TO b": "~", "SELECT a > ANY (b)": ">",
		"SELECT a <> ALL (SELECT 1)": "<>", "SELECT 1 FROM t JOIN u USING (k)": "=",
		"SELECT 1 FROM t NATURAL JOIN u": "=", "SELECT -a": "-", "SELECT 1 ORDER BY 1 USING >": ">",
		"SELECT (a, b) < (c, d)": "<",
	} {
		f := read(t, sql)
		sortNames(&f.Operators)
		var got []string
		for _, o := range f.Operators {
			got = append(got, o.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: operators %q, want %q", sql, got, want)
		}
	}
}

// TestParserRestartsAfterCrash checks that a statement that is too deep for the parser ends only the parser.
func TestParserRestartsAfterCrash(t *testing.T) {
	deep := "SELECT " + strings.Repeat("(SELECT ", 400) + "1" + strings.Repeat(")", 400)
	_, err := grammar.read(t.Context(), deep)
	if e, ok := err.(*source.Error); !ok || e.Kind != source.Refused {
		t.Errorf("a statement of 400 levels: %v", err)
	}
	if f := read(t, "SELECT 1"); f.Root != "SelectStmt" {
		t.Errorf("after that SELECT 1 is %+v", f)
	}
}

// TestParserWithoutMemory checks that a statement waits for memory only within its own deadline, and that a new
// parser is started if the last one was ended to make room.
func TestParserWithoutMemory(t *testing.T) {
	need := child.Need(GrammarMemory)
	budget := child.NewBudget(need)
	g := NewGrammar(budget.Pool(1), nil)
	defer g.Close()
	if _, err := g.read(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	release, err := budget.Reserve(t.Context(), need) // this ends the idle parser
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	got := make(chan error)
	go func() {
		_, err := g.read(ctx, "SELECT 1")
		got <- err
	}()
	cancel(gone)
	if err := <-got; !errors.Is(err, gone) {
		t.Errorf("a statement that was given up: %v", err)
	}
	release()
	if f, err := g.read(t.Context(), "SELECT 1"); err != nil || f.Root != "SelectStmt" {
		t.Errorf("with memory again: %+v, %v", f, err)
	}
}

func sortNames(list *[]name) {
	slices.SortFunc(*list, func(a, b name) int { return cmp.Compare(a.String(), b.String()) })
}

func sortStrings(list []string) { slices.Sort(list) }
