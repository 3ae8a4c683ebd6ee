package bench_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/internal/mark"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/tool/calculate"
)

// figuresOf measures what is done for the figures of an answer: cutting marks out of its deltas, finding its footnotes,
// and calculating with a result.
func figuresOf(ctx context.Context, r *rig) error {
	const deltas = 100_000
	filter := func(piece string) func(int) (float64, error) {
		return func(int) (float64, error) {
			var f mark.Filter
			begun := time.Now()
			for range deltas {
				f.Add([]byte(piece))
			}
			return since(begun) * 1e6 / deltas, nil
		}
	}
	f, err := alternate(21, filter(" revenue grew by 12 %"), filter(" revenue grew by 12 %[^r1.2.trips]"))
	if err != nil {
		return err
	}
	r.table.absolute("filter of marks for a delta, with a mark", "ns", median(f[ours]), 1000, 500)
	r.table.absolute("the same, without a mark", "ns", median(f[base]), 500, 100)

	table, text := manyNumerals(2000)
	var took []float64
	for range 11 {
		cites, _ := cite.Resolve(text, []cite.Table{table}, "")
		begun := time.Now()
		cite.Verify(text, cites, []cite.Table{table})
		if took = append(took, since(begun)); len(cites) != 2000 {
			return fmt.Errorf("%d of 2000 numerals have a footnote", len(cites))
		}
	}
	r.table.absolute("verifying footnotes, 2000 numerals", "ms", median(took), 5, 2.5)
	if !duckdb.Available {
		return nil
	}
	return calculations(ctx, r)
}

// manyNumerals returns n rows and a text that names the value of each.
func manyNumerals(n int) (cite.Table, string) {
	t := cite.Table{ID: "r1", SQL: "SELECT shop, revenue FROM shops", RowCount: n}
	t.Result.Columns = []footnote.Column{
		{Name: "shop", Kind: footnote.KindText}, {Name: "revenue", Kind: footnote.KindInteger},
	}
	var text strings.Builder
	for i := range n {
		value := int64(100_003 + 7*i)
		name := fmt.Sprintf("shop %c%c%c", 'a'+i/676, 'a'+i/26%26, 'a'+i%26)
		t.Result.Rows = append(t.Result.Rows, []any{name, value})
		fmt.Fprintf(&text, "Revenue was %d. ", value)
	}
	return t, text.String()
}

// calculations measures a sum over a stored result of 100,000 rows, from its stored chunks to the answer.
func calculations(ctx context.Context, r *rig) error {
	result := footnote.StoredResult{ID: "r1", RowCount: 100_000, Columns: []footnote.Column{
		{Name: "day", Kind: footnote.KindDate}, {Name: "revenue", Kind: footnote.KindDecimal},
		{Name: "n", Kind: footnote.KindInteger},
	}}
	var chunks [][]byte
	for at := 0; at < result.RowCount; at += 10_000 {
		chunk := []byte{'['}
		for i := at; i < at+10_000; i++ {
			day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i%9000)
			chunk = append(footnote.AppendRow(chunk, []any{day.Format(time.DateOnly), fmt.Sprintf("%d.%02d", i, i%100),
				int64(i)}), ',')
		}
		chunk[len(chunk)-1] = ']'
		chunks = append(chunks, chunk)
		result.Chunks = append(result.Chunks, footnote.Chunk{Rows: 10_000})
	}
	rows := func(context.Context, footnote.StoredResult) (all [][]any, err error) {
		for _, c := range chunks {
			part, derr := footnote.DecodeRows(c, result.Columns)
			all, err = append(all, part...), errors.Join(err, derr)
		}
		return all, err
	}
	pool := child.NewPool(0)
	engine := calculate.Engine(func(tables []source.TableFile) source.Tables {
		return duckdb.OpenTables(tables, duckdb.Options{Pool: pool})
	})
	var took []float64
	for range 15 {
		begun := time.Now()
		_, err := engine.Run(ctx, calculate.Results{Stored: []footnote.StoredResult{result}, Rows: rows},
			"SELECT year(day) AS year, sum(revenue) AS revenue FROM r1 GROUP BY ALL ORDER BY 1")
		if err != nil {
			return err
		}
		took = append(took, since(begun))
	}
	r.table.absolute("calculate over 100000 rows of 3 columns", "ms", median(took), 150, 75)
	return nil
}
