package cite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/cite"
)

// BenchmarkAnswer resolves a typical answer: 150 words, 12 numerals.
func BenchmarkAnswer(b *testing.B) {
	t := cite.Table{ID: "r1", SQL: "SELECT city, revenue, orders, customers FROM shops ORDER BY revenue DESC"}
	for _, name := range strings.Fields("city revenue orders customers") {
		kind := footnote.KindInteger
		if name == "city" {
			kind = footnote.KindText
		}
		t.Result.Columns = append(t.Result.Columns, footnote.Column{Name: name, Kind: kind})
	}
	cities := strings.Fields("Berlin Hamburg Munich Cologne Frankfurt Stuttgart Leipzig Dresden Bremen Essen")
	for i, c := range cities {
		t.Result.Rows = append(t.Result.Rows, []any{c, int64(98431 - 7919*i), int64(1204 - 97*i), int64(871 - 53*i)})
	}
	t.RowCount = len(cities)
	var text strings.Builder
	for i := range 4 {
		r := t.Result.Rows[i]
		fmt.Fprintf(&text, "The shop in %v did well over the period that you asked about and earned revenue of €%v, "+
			"which came from %v orders placed by %v customers, most of whom had already bought something from us in "+
			"an earlier season. ", r[0], r[1], r[2], r[3])
	}
	b.Run("none", func(b *testing.B) {
		for b.Loop() {
			cite.Resolve(text.String(), nil, "How did the shops do?")
		}
	})
	b.Run("10x4", func(b *testing.B) {
		for b.Loop() {
			cite.Resolve(text.String(), []cite.Table{t}, "How did the shops do?")
		}
	})
}

// BenchmarkVerify checks an answer with 2,000 numerals, each with a footnote.
func BenchmarkVerify(b *testing.B) {
	const rows = 500
	t := cite.Table{ID: "r1", RowCount: rows}
	for _, name := range strings.Fields("shop revenue orders customers") {
		t.Result.Columns = append(t.Result.Columns, footnote.Column{Name: name, Kind: footnote.KindInteger})
	}
	var text strings.Builder
	var cites []footnote.Cite
	for i := range rows {
		row := []any{int64(i + 7001)}
		for c := range 3 {
			row = append(row, int64(98431+31*i+c))
		}
		t.Result.Rows = append(t.Result.Rows, row)
		for c, cell := range row {
			s := fmt.Sprint(cell)
			cites = append(cites, footnote.Cite{
				Start: text.Len(), End: text.Len() + len(s), Text: s, Result: "r1", Row: &i,
				Column: t.Result.Columns[c].Name,
			})
			text.WriteString(s + [...]string{" made ", " from ", " for ", ".\n"}[c])
		}
	}
	for b.Loop() {
		if problems := cite.Verify(text.String(), cites, []cite.Table{t}); len(problems) > 0 {
			b.Fatal(problems[0])
		}
	}
}
