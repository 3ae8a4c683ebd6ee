package postgres

import (
	"cmp"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

var grammar = NewGrammar(nil, nil) // of all tests: to start one costs seconds

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
		Root:       "SelectStmt",
		Relations:  []name{{"later"}, {"T t"}, {"v", "w"}, {"inner1"}, {"c"}},
		Functions:  []name{{"s", "f"}, {"system"}, {"g"}, {"h"}},
		Operators:  []name{{"pg_catalog", "+"}, {"<"}},
		Types:      []name{{"p", "q"}},
		Attributes: []string{"y", "z"},
	}
	for _, lists := range [][2]any{{&f.Relations, &want.Relations}, {&f.Functions, &want.Functions}, {&f.Operators, &want.Operators}, {&f.Types, &want.Types}} {
		sortNames(lists[0].(*[]name))
		sortNames(lists[1].(*[]name))
	}
	sortStrings(f.Attributes)
	if !reflect.DeepEqual(f, want) {
		t.Errorf("facts\n%+v\nwant\n%+v", f, want)
	}
}

// A statement that is too deep for the parser ends the parser, and nothing else.
func TestParserThatBroke(t *testing.T) {
	deep := "SELECT " + strings.Repeat("(SELECT ", 400) + "1" + strings.Repeat(")", 400)
	_, err := grammar.read(t.Context(), deep)
	if e, ok := err.(*source.Error); !ok || e.Kind != source.Refused {
		t.Errorf("a statement of 400 levels: %v", err)
	}
	if f := read(t, "SELECT 1"); f.Root != "SelectStmt" {
		t.Errorf("after that SELECT 1 is %+v", f)
	}
}

func sortNames(list *[]name) {
	slices.SortFunc(*list, func(a, b name) int { return cmp.Compare(a.String(), b.String()) })
}

func sortStrings(list []string) { slices.Sort(list) }
