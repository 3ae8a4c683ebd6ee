package offline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/sqlite"
)

// TestLongNamesAreCutForMatching checks that the compared part of column and table names is limited. Statements contain
// the whole name.
func TestLongNamesAreCutForMatching(t *testing.T) {
	for what, piece := range map[string]string{
		"one word": "a", "many words": "ab ", "snake case": "a1_", "camel case": "aB", "abbreviations": "no qty ",
		"brackets": "(a)", "umlauts": "ü", "question marks": "?",
	} {
		long := strings.Repeat(piece, 10_000/len(piece))
		st := source.Table{Name: long, Columns: make([]source.Column, 60)}
		for i := range st.Columns {
			st.Columns[i].Name = fmt.Sprintf("%s%d", long, i)
		}
		p := &profile{source: "wide", dialect: sqlite.Dialect}
		table := newTable(p, st)
		const most = 4 * nameBytes // abbreviations are spelled out
		if n := len(strings.Join(table.words, " ")); n > most {
			t.Errorf("%s: the table is matched by %d bytes, want at most %d", what, n, most)
		}
		for i, c := range table.cols {
			words := strings.Join(slices.Concat(c.words, c.optional, splitName(c.core), []string{c.title()}), " ")
			if len(words) > 3*most {
				t.Fatalf("%s: a column is matched by %d bytes, want at most %d", what, len(words), 3*most)
			}
			if c.name != st.Columns[i].Name {
				t.Fatalf("%s: the column is called %.20q", what, c.name)
			}
		}
	}
}
