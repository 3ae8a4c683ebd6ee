package mark_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/mark"
)

func TestPrint(t *testing.T) {
	for content, want := range map[string]string{
		`{"result":"r1","columns":["city","trips"],"rows":[["Berlin",1204],["Bonn",48]],"truncated":false}`: `` +
			`"rows":[["r1:Berlin","Berlin",1204],["r1:Bonn","Bonn",48]]`,
		`{"result":"r1","columns":["city","trips"],"rows":[["Berlin",1204],["Bonn",48]],"truncated":true}`: `` +
			`"rows":[["r1.0","Berlin",1204],["r1.1","Bonn",48]]`,
		`{"result":"r12","columns":["a b","c"],"rows":[["x","5.50"],["x",null]]}`: `1,204[^r12.0.c]`,
		`{"result":"r1","columns":["total (€)"],"rows":[[7]]}`:                    `1,204[^r1.0.\"total (€)\"]`,
		`{"result":"r1","columns":["n"],"rows":[]}`:                               `"rows":[]}`,
		"no JSON": "no JSON",
		`{"a":1}`: `{"a":1}`,
	} {
		if got := mark.Print(content); !strings.Contains(got, want) {
			t.Errorf("Print(%s) = %s, want %s in it", content, got, want)
		}
	}
}
