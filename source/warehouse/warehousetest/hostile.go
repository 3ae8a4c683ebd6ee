package warehousetest

import (
	_ "embed"
	"fmt"
	"testing"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source/sourcetest"
)

//go:embed hostile.sql
var hostileFile string

//go:embed honest.sql
var honestFile string

// hostile returns statements, one a line, that every database must refuse.
func hostile(t testing.TB) (list []sourcetest.Statement) {
	for i, sql := range wordlist.Lines(hostileFile) {
		list = append(list, sourcetest.Statement{
			Name: fmt.Sprintf("shared %d", i+1), SQL: sql, Want: []string{sourcetest.Refused},
		})
	}
	if len(list) < 100 {
		t.Fatalf("only %d shared statements", len(list))
	}
	return list
}
