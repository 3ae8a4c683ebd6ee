package sourcetest

import (
	"reflect"
	"testing"
)

func TestParse(t *testing.T) {
	got, err := parse(`# a comment
==== plain
SELECT 1;
-- a comment stays
==== two words | refused failed
DROP TABLE t
==== control | failed | quoted
"SELECT\x00 1"
==== nested || template
SELECT {{repeat 3 "("}}1{{repeat 3 ")"}}
----
[[1,
 "a b"]]
`, []string{Executed})
	want := []Statement{
		{Name: "plain", SQL: "SELECT 1;\n-- a comment stays", Want: []string{Executed}},
		{Name: "two words", SQL: "DROP TABLE t", Want: []string{Refused, Failed}},
		{Name: "control", SQL: "SELECT\x00 1", Want: []string{Failed}},
		{Name: "nested", SQL: "SELECT (((1)))", Want: []string{Executed}, Rows: `[[1,"a b"]]`},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("parsed %#v, %v\nwant %#v", got, err, want)
	}
	for _, bad := range []string{
		"==== a\nx\n==== a\ny", "==== a | failed | odd\nx", "==== a\nx\n----\nnot json", "==== a || quoted\nx",
	} {
		if _, err := parse(bad, nil); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestMerge(t *testing.T) {
	shared := func() []Statement {
		return []Statement{
			{Name: "every engine: sum", SQL: "SELECT 1 + 1", Want: []string{Executed}, Rows: "[[2]]"},
			{Name: "every engine: typo", SQL: "SELEC 1", Want: []string{Failed}},
			{Name: "every engine: drop", SQL: "DROP TABLE t", Want: []string{Refused}},
		}
	}
	own := func(text string) []Statement {
		t.Helper()
		list, err := parse(text, []string{Executed})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for text, want := range map[string]Statement{
		"SELECT add(1, 1)":                  {SQL: "SELECT add(1, 1)", Rows: "[[2]]"},
		"SELECT 1.0 + 1\n----\n[[\"2.0\"]]": {SQL: "SELECT 1.0 + 1", Rows: `[["2.0"]]`},
	} {
		got, err := merge(shared(), own("==== mine\nSELECT 3\n==== every engine: sum\n"+text))
		want.Name, want.Want = "every engine: sum", []string{Executed}
		if err != nil || len(got) != 4 || !reflect.DeepEqual(got[0], want) || got[3].SQL != "SELECT 3" {
			t.Errorf("%q gave %#v, %v", text, got, err)
		}
	}
	for _, bad := range []string{
		"==== every engine: product\nSELECT 2", "==== every engine: sum | executed failed\nSELECT 2",
		"==== every engine: drop\nSELECT 2", "==== every engine: typo | failed\nSELECT 2",
	} {
		if got, err := merge(shared(), own(bad)); err == nil {
			t.Errorf("%q was accepted: %#v", bad, got)
		}
	}
}
