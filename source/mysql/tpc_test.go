package mysql

import (
	"testing"

	"github.com/footnotehq/footnote/source/mysql/grammar"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// TestTPC reads the statements of TPC-H and TPC-DS in the spelling of MySQL, which has no FULL JOIN.
func TestTPC(t *testing.T) {
	r := &reader{e: &engine{}, cat: &catalog{}}
	sourcetest.TPC(t, []string{
		`"([^"]*)"`, "`$1`", `(?i)\s+NULLS (FIRST|LAST)`, "", `(,\s*)\*\s+FROM (\w+)`, "$1$2.* FROM $2",
	}, `(?i)\bFULL OUTER JOIN\b`, 2, func(sql string) error {
		_, err := grammar.Read(sql, grammar.Options{Call: r.call, Table: func(_, name string) (grammar.Table, error) {
			return grammar.Table{SQL: grammar.Quote(name), Name: name, Listed: name}, nil
		}})
		return err
	})
}
