package view_test

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/view"
)

var columns = []footnote.Column{
	{Name: "city", Kind: footnote.KindText}, {Name: "price", Kind: footnote.KindDecimal},
	{Name: "n", Kind: footnote.KindInteger}, {Name: "share", Kind: footnote.KindNumber},
	{Name: "day", Kind: footnote.KindDate}, {Name: "ok", Kind: footnote.KindBoolean}, {Name: "any"},
	{Name: "n:gt", Kind: footnote.KindText}, {Name: "n", Kind: footnote.KindText},
}

var rows = [][]any{
	{"berlin", "10.50", int64(3), 0.5, "2026-01-02", true, int64(9), "a", "x"},
	{"Aachen", "9.99", int64(3), 0.25, "2026-01-10", false, "9", "b", "y"},
	{nil, nil, nil, nil, nil, nil, nil, nil, nil},
	{"Berlin", "100", int64(9007199254740993), 1e10, "2025-12-31", true, "ten", "c", "z"},
	{"Zürich", "-0.01", int64(9007199254740992), -2.0, "2026-01-02", nil, 2.5, "d", "z"},
}

func chunks(yield func([]byte, error) bool) {
	for chunk := range slices.Chunk(rows, 2) {
		data := []byte{'['}
		for i, row := range chunk {
			if i > 0 {
				data = append(data, ',')
			}
			data = footnote.AppendRow(data, row)
		}
		if !yield(append(data, ']'), nil) {
			return
		}
	}
}

func run(t *testing.T, query string) (view.Query, view.View) {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q, err := view.Parse(values, columns)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	v, err := q.Run(chunks)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return q, v
}

func TestFilterAndSort(t *testing.T) {
	for query, want := range map[string]string{
		"sort=city":                    "[1 0 3 4 2]", // without regard to case, missing last
		"sort=city:desc":               "[4 0 3 1 2]", // equal ones keep their order
		"sort=price":                   "[4 1 0 3 2]",
		"sort=n:desc":                  "[3 4 0 1 2]", // more digits than a float has
		"sort=n:asc&sort=price":        "[1 0 4 3 2]",
		"sort=share":                   "[4 1 0 3 2]",
		"sort=day&sort=city:desc":      "[3 4 0 1 2]",
		"sort=ok":                      "[1 0 3 2 4]",
		"sort=any":                     "[4 0 1 3 2]", // numbers before texts
		"sort=n:gt:desc":               "[4 3 1 0 2]", // a column with a colon in its name
		"sort=n_2":                     "[0 1 3 4 2]", // the second column n
		"filter=city:eq:BERLIN":        "[0 3]",
		"filter=city:ne:berlin":        "[1 2 4]",
		"filter=city:contains:Ü":       "[4]",
		"filter=city:empty":            "[2]",
		"filter=ok:filled&sort=day":    "[3 0 1]",
		"filter=ok:eq:true":            "[0 3]",
		"filter=price:gt:9.99":         "[0 3]",
		"filter=price:ge:9.990":        "[0 1 3]",
		"filter=price:lt:0":            "[4]",
		"filter=n:eq:9007199254740993": "[3]",
		"filter=n:contains:9007":       "[3 4]",
		"filter=share:le:0.5":          "[0 1 4]",
		"filter=share:gt:1e-999999999": "[0 1 3]",
		"filter=day:ge:2026-01-02":     "[0 1 4]",
		"filter=any:lt:9":              "[4]",
		"filter=any:eq:9":              "[0 1]",
		"filter=n:gt:eq:c":             "[3]",
		"filter=city:eq:a:b":           "[]",
		"filter=price:gt:0&filter=n:lt:5&sort=n&sort=price": "[1 0]",
	} {
		q, v := run(t, query)
		if got := fmt.Sprint(v.Numbers); got != want || q.Plain() || len(v.Rows) != len(v.Numbers) {
			t.Errorf("%s: rows %s, want %s", query, got, want)
		}
		for i, n := range v.Numbers {
			if want := string(footnote.AppendRow(nil, rows[n])); string(v.Rows[i]) != want {
				t.Errorf("%s: row %d is %s, want %s", query, n, v.Rows[i], want)
			}
		}
	}
}

func TestAggregate(t *testing.T) {
	for query, want := range map[string]string{
		"aggregate=count":                           "count [5]",
		"aggregate=count&filter=share:gt:1e300":     "count [0]",
		"aggregate=sum:price&filter=share:gt:1e300": "sum(price) [null]",
		"aggregate=count:city&aggregate=distinct:n": "count(city) distinct(n) [4,3]",
		"aggregate=sum:price&aggregate=avg:price":   "sum(price) avg(price) [\"120.48\",30.12]",
		"aggregate=sum:n":                           "sum(n) [\"18014398509481991\"]",
		"aggregate=sum:any&aggregate=avg:any":       "sum(any) avg(any) [11.5,5.75]",
		"aggregate=min:day&aggregate=max:city":      "min(day) max(city) [\"2025-12-31\",\"Zürich\"]",
		"aggregate=max:price&aggregate=min:price":   "max(price) min(price) [\"100\",\"-0.01\"]",
		"aggregate=sum:share&group=ok&sort=ok:desc": "ok sum(share) [true,10000000000.5] [false,0.25] [null,-2]",
		"group=n&sort=count:desc&sort=n":            "n count [3,2] [9007199254740992,1] [\"9007199254740993\",1] [null,1]",
		"group=day&filter=day:filled&sort=day&aggregate=max:price": "day max(price) [\"2025-12-31\",\"100\"] " +
			"[\"2026-01-02\",\"10.50\"] [\"2026-01-10\",\"9.99\"]",
	} {
		q, v := run(t, query)
		var got []string
		for _, c := range q.Columns() {
			got = append(got, c.Name)
		}
		for _, r := range v.Rows {
			got = append(got, string(r))
		}
		if s := strings.Join(got, " "); s != want || v.Numbers != nil {
			t.Errorf("%s: %s, want %s", query, s, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for query, want := range map[string]string{
		"sort=revenue":                   `no column for "revenue"`,
		"sort=city:up":                   "column:asc",
		"sort=city&aggregate=count":      `no column for "city"`,
		"filter=city":                    "operators are eq",
		"filter=city:like:x":             "operators are eq",
		"filter=city:eq":                 "operators are eq",
		"filter=city:empty:x":            "operators are eq",
		"filter=price:gt:cheap":          "needs a number",
		"filter=price:gt:NaN":            "needs a number",
		"group=nobody":                   "no column",
		"group=city:x":                   "no column",
		"aggregate=median:n":             "functions count",
		"aggregate=sum":                  "functions count",
		"aggregate=sum:city":             "not a column of numbers",
		"aggregate=sum:nobody":           "no column",
		strings.Repeat("sort=city&", 21): "20 times",
	} {
		values, _ := url.ParseQuery(query)
		_, err := view.Parse(values, columns)
		if footnote.CodeOf(err) != footnote.InvalidRequest || !strings.Contains(footnote.MessageOf(err), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
}

// TestChunks checks that the cells of a view are those of the result.
func TestChunks(t *testing.T) {
	_, v := run(t, "sort=n:desc")
	var got [][]any
	for chunk, err := range v.Chunks(columns) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, chunk...)
	}
	if fmt.Sprint(got[0], got[4]) != fmt.Sprint(rows[3], rows[2]) || len(got) != len(rows) {
		t.Errorf("cells: %v", got)
	}
}

// BenchmarkSort sorts and filters 100,000 rows of three columns.
func BenchmarkSort(b *testing.B) {
	var chunks [][]byte
	for i := range 100_000 {
		if i%10_000 == 0 {
			chunks = append(chunks, []byte{'['})
		}
		c := &chunks[len(chunks)-1]
		*c = footnote.AppendRow(*c, []any{fmt.Sprintf("city %d", i*7919%100_000), fmt.Sprintf("%d.50", i), int64(i)})
		*c = append(*c, ","...)
		if i%10_000 == 9_999 {
			(*c)[len(*c)-1] = ']'
		}
	}
	values := url.Values{"sort": {"city:desc"}, "filter": {"n:gt:5000"}}
	q, err := view.Parse(values, columns[:3])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		v, err := q.Run(func(yield func([]byte, error) bool) {
			for _, c := range chunks {
				yield(c, nil)
			}
		})
		if err != nil || len(v.Rows) != 94_999 {
			b.Fatal(len(v.Rows), err)
		}
	}
}

// TestFewRowsReleaseTheirChunk checks that a view of few rows does not keep the chunks that they were read from.
func TestFewRowsReleaseTheirChunk(t *testing.T) {
	q, err := view.Parse(url.Values{"filter": {"city:eq:aachen"}}, columns)
	if err != nil {
		t.Fatal(err)
	}
	v, err := q.Run(func(yield func([]byte, error) bool) {
		chunks(func(data []byte, err error) bool {
			data = append(data, bytes.Repeat([]byte{' '}, 500)...) // so that a row is little of it
			more := yield(data, err)
			clear(data)
			return more
		})
	})
	if err != nil || len(v.Rows) != 1 || !strings.Contains(string(v.Rows[0]), "Aachen") {
		t.Errorf("%v, %s", err, v.Rows)
	}
}
