package view

import (
	"cmp"
	"encoding/json"
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
)

// View holds the rows of a view, as JSON arrays.
type View struct {
	Rows    []json.RawMessage
	Numbers []int // of the rows in the result, from 0; nil if they are aggregated
}

// Bytes returns how much memory the rows take. The chunks that they are parts of take at most twice as much.
func (v View) Bytes() (n int) {
	for _, r := range v.Rows {
		n += len(r) + 32
	}
	return n
}

// chunkRows is the number of rows that Chunks yields at a time.
const chunkRows = 1000

// Chunks yields the rows as cells.
func (v View) Chunks(columns []footnote.Column) iter.Seq2[[][]any, error] {
	return func(yield func([][]any, error) bool) {
		for raw := range slices.Chunk(v.Rows, chunkRows) {
			data := []byte{'['}
			for i, r := range raw {
				if i > 0 {
					data = append(data, ',')
				}
				data = append(data, r...)
			}
			if rows, err := footnote.DecodeRows(append(data, ']'), columns); !yield(rows, err) || err != nil {
				return
			}
		}
	}
}

// maxGroups is the maximum number of groups.
const maxGroups = 100_000

// Run reads the chunks of a result.
func (q Query) Run(chunks iter.Seq2[[]byte, error]) (v View, err error) {
	var keys []key // of the rows, for sorting: one for each order
	groups := grouping{q: q, at: map[string]int{}}
	number := -1
	for data, err := range chunks {
		before := len(v.Rows)
		if err == nil {
			err = footnote.EachRow(data, q.columns, func(cells []any, raw []byte) {
				number++
				switch {
				case !q.matches(cells):
				case q.Aggregated():
					groups.add(cells)
				default:
					v.Rows, v.Numbers = append(v.Rows, raw), append(v.Numbers, number)
					for _, o := range q.sort {
						keys = append(keys, keyOf(cell(cells, o.column), q.columns[o.column].Kind))
					}
				}
			})
		}
		if err != nil {
			return View{}, err
		}
		release(v.Rows[before:], len(data))
		if len(groups.list) > maxGroups {
			return View{}, footnote.Invalidf("The rows have more than %d groups. Filter them, or group by fewer "+
				"columns.", maxGroups)
		}
	}
	if q.Aggregated() {
		columns := q.Columns()
		for _, g := range groups.finish() {
			v.Rows = append(v.Rows, footnote.AppendRow(nil, g))
			for _, o := range q.sort {
				keys = append(keys, keyOf(g[o.column], columns[o.column].Kind))
			}
		}
	}
	return q.sorted(v, keys), nil
}

// release copies rows that use little of the chunk that they are parts of, so that the chunk need not stay in memory.
func release(rows []json.RawMessage, chunk int) {
	size := 0
	for _, r := range rows {
		size += len(r)
	}
	if size > chunk/2 {
		return
	}
	own := make([]byte, 0, size)
	for i, r := range rows {
		from := len(own)
		own = append(own, r...)
		rows[i] = own[from:len(own):len(own)]
	}
}

// sorted returns a view in the order of its keys. Rows with equal keys keep their order, and missing values are last.
func (q Query) sorted(v View, keys []key) View {
	n := len(q.sort)
	if n == 0 {
		return v
	}
	places := make([]int, len(v.Rows))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int {
		for i, o := range q.sort {
			x, y := &keys[a*n+i], &keys[b*n+i]
			c := x.compare(y)
			if o.down && x.rank != missing && y.rank != missing {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return a - b
	})
	out := View{Rows: make([]json.RawMessage, len(places))}
	for to, from := range places {
		out.Rows[to] = v.Rows[from]
	}
	if v.Numbers != nil {
		out.Numbers = make([]int, len(places))
		for to, from := range places {
			out.Numbers[to] = v.Numbers[from]
		}
	}
	return out
}

func cell(cells []any, i int) any {
	if i < len(cells) {
		return cells[i]
	}
	return nil
}

func (q Query) matches(cells []any) bool {
	for i := range q.filters {
		f := &q.filters[i]
		if !f.matches(cell(cells, f.column), q.columns[f.column].Kind) {
			return false
		}
	}
	return true
}

// matches reports whether a cell passes the filter. A missing value passes only empty and ne.
func (f *filter) matches(cell any, kind string) bool {
	switch {
	case f.op == "empty":
		return cell == nil
	case cell == nil:
		return f.op == "ne"
	case f.op == "filled":
		return true
	case f.op == "contains":
		return strings.Contains(strings.ToLower(written(cell)), f.value)
	}
	k, with := keyOf(cell, kind), &f.key
	if k.rank == number {
		if with = &f.number; with.rank != number { // a text that is compared with numbers
			return f.op == "ne"
		}
	} else if k.rank == boolean {
		k = keyOf(written(cell), footnote.KindText)
	}
	switch c := k.compare(with); f.op {
	case "eq":
		return c == 0
	case "ne":
		return c != 0
	case "lt":
		return c < 0
	case "le":
		return c <= 0
	case "gt":
		return c > 0
	default:
		return c >= 0
	}
}

// The ranks of keys: numbers come before text.
const (
	boolean = iota
	number
	text
	missing
)

// key orders cells.
type key struct {
	rank   uint8
	number float64
	text   string // in lower case; of a number, the digits that a float64 may lack
}

func keyOf(cell any, kind string) key {
	switch v := cell.(type) {
	case nil:
		return key{rank: missing}
	case bool:
		if v {
			return key{number: 1}
		}
		return key{}
	case int64:
		k := key{rank: number, number: float64(v)}
		if v > 1<<53 || v < -(1<<53) {
			k.text = strconv.FormatInt(v, 10)
		}
		return k
	case float64:
		return key{rank: number, number: v}
	case string:
		if numeric(kind) && isNumber(v) {
			f, _ := strconv.ParseFloat(v, 64) // isNumber has parsed it
			if strings.ContainsAny(v, "eE") {
				v = "" // its digits could be a billion
			}
			return key{rank: number, number: f, text: v}
		}
		return key{rank: text, text: strings.ToLower(v)}
	default:
		return key{rank: text, text: strings.ToLower(written(v))}
	}
}

// isNumber reports whether a text is a number in decimal notation.
func isNumber(s string) bool {
	if strings.Trim(s, "+-.0123456789eE") != "" {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func (k *key) compare(with *key) int {
	if c := cmp.Or(cmp.Compare(k.rank, with.rank), cmp.Compare(k.number, with.number)); c != 0 {
		return c
	}
	if k.rank == number && k.text != with.text {
		return k.exact().Cmp(with.exact())
	}
	return strings.Compare(k.text, with.text)
}

// exact returns the value of a number's key.
func (k *key) exact() *big.Rat {
	if r, ok := new(big.Rat).SetString(k.text); ok {
		return r
	}
	r := new(big.Rat)
	if !math.IsInf(k.number, 0) {
		r.SetFloat64(k.number)
	}
	return r
}

// written returns a cell as text.
func written(cell any) string {
	if s, ok := cell.(string); ok {
		return s
	}
	return string(footnote.AppendCell(nil, cell))
}
