package postgres

import (
	"testing"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// TestTPC reads the statements of TPC-H and TPC-DS.
func TestTPC(t *testing.T) {
	sourcetest.TPC(t, nil, "", 0, func(sql string) error {
		f, err := grammar.read(t.Context(), sql)
		if err == nil && (f.Bad != "" || f.Refused != "") {
			return source.Refusef("%s%s", f.Bad, f.Refused)
		}
		for _, n := range f.Functions {
			if !callable(n[len(n)-1]) {
				return source.Refusef("the function %v", n)
			}
		}
		return err
	})
}
