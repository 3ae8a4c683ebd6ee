package mcp

import (
	"fmt"
	"testing"

	"github.com/footnotehq/footnote"
)

// TestNumbers checks that no digit of a number is lost.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{
		`[{"a":1},{"a":9223372036854775807}]`:     footnote.KindInteger + " [[1] [9223372036854775807]]",
		`[{"a":1},{"a":0.25}]`:                    footnote.KindNumber + " [[1] [0.25]]",
		`[{"a":0.000000000000000001}]`:            footnote.KindNumber + " [[1e-18]]",
		`[{"a":1},{"a":9223372036854775808}]`:     footnote.KindDecimal + " [[1] [9223372036854775808]]",
		`[{"a":1e3},{"a":0.1234567890123456789}]`: footnote.KindDecimal + " [[1000] [0.1234567890123456789]]",
		`[{"a":1},{"a":1e999}]`:                   footnote.KindJSON + " [[1] [1e999]]",
	} {
		got := "no rows"
		if rows := rowsOf(nil, text); rows != nil {
			got = fmt.Sprint(rows.Columns[0].Kind, " ", rows.Rows)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
