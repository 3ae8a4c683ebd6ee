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
		{Name: "nested", SQL: "SELECT (((1)))", Want: []string{Executed}, Rows: "[[1,\n \"a b\"]]"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("parsed %#v, %v\nwant %#v", got, err, want)
	}
	if Compact(want[3].Rows) != `[[1,"a b"]]` {
		t.Fatalf("compact gave %s", Compact(want[3].Rows))
	}
	for _, bad := range []string{
		"==== a\nx\n==== a\ny", "==== a | failed | odd\nx", "==== a\nx\n----\nnot json", "==== a || quoted\nx",
	} {
		if _, err := parse(bad, nil); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
