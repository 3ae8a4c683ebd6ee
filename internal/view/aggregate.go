package view

import (
	"math/big"
	"strings"

	"github.com/footnotehq/footnote"
)

// grouping aggregates rows.
type grouping struct {
	q    Query
	at   map[string]int // places in list, by the cells of the group as JSON
	list []*group
	key  []byte
}

type group struct {
	cells   []any
	figures []total
}

// total adds up the cells of one figure.
type total struct {
	n        int // of cells that are not missing
	whole    big.Int
	exact    *big.Rat // of decimals
	digits   int      // the most behind a decimal's point
	float    float64
	floats   bool
	best     any // of min and max
	bestKey  key
	distinct map[string]struct{}
}

func (g *grouping) add(cells []any) {
	g.key = g.key[:0]
	for _, i := range g.q.group {
		g.key = append(footnote.AppendCell(g.key, cell(cells, i)), ',')
	}
	at, ok := g.at[string(g.key)]
	if !ok {
		at = len(g.list)
		g.at[string(g.key)] = at
		one := &group{figures: make([]total, len(g.q.figures))}
		for _, i := range g.q.group {
			one.cells = append(one.cells, cell(cells, i))
		}
		g.list = append(g.list, one)
	}
	for i, f := range g.q.figures {
		t := &g.list[at].figures[i]
		if f.column < 0 {
			t.n++
		} else if c := cell(cells, f.column); c != nil {
			t.n++
			t.add(f.function, c, g.q.columns[f.column].Kind)
		}
	}
}

func (t *total) add(function string, cell any, kind string) {
	switch function {
	case "distinct":
		if t.distinct == nil {
			t.distinct = map[string]struct{}{}
		}
		t.distinct[string(footnote.AppendCell(nil, cell))] = struct{}{}
	case "sum", "avg":
		t.sum(cell, kind)
	case "min", "max":
		k := keyOf(cell, kind)
		c := k.compare(&t.bestKey)
		if t.n == 1 || c < 0 && function == "min" || c > 0 && function == "max" {
			t.best, t.bestKey = cell, k
		}
	}
}

// sum adds a number. Whole numbers and decimals are added exactly.
func (t *total) sum(cell any, kind string) {
	switch v := cell.(type) {
	case int64:
		t.whole.Add(&t.whole, big.NewInt(v))
		return
	case float64:
		t.float += v
		t.floats = true
		return
	case string:
		k := keyOf(v, kind)
		if k.rank == number && k.text == "" { // with an exponent
			t.sum(k.number, kind)
			return
		}
		if k.rank == number {
			if t.exact == nil {
				t.exact = new(big.Rat)
			}
			t.exact.Add(t.exact, k.exact())
			_, fraction, _ := strings.Cut(v, ".")
			t.digits = max(t.digits, len(fraction))
			return
		}
	}
	t.n-- // not a number
}

// sums returns the sum as a cell: a string for decimals.
func (t *total) sums() any {
	if t.exact == nil && !t.floats {
		if t.whole.IsInt64() {
			return t.whole.Int64()
		}
		return t.whole.String()
	}
	all := new(big.Rat).SetInt(&t.whole)
	if t.exact != nil {
		all.Add(all, t.exact)
	}
	if t.floats {
		f, _ := all.Float64()
		return f + t.float
	}
	return all.FloatString(t.digits)
}

func (t *total) value(function string) any {
	switch {
	case function == "count":
		return int64(t.n)
	case function == "distinct":
		return int64(len(t.distinct))
	case t.n == 0:
		return nil
	case function == "sum":
		return t.sums()
	case function == "avg":
		all := new(big.Rat).SetInt(&t.whole)
		if t.exact != nil {
			all.Add(all, t.exact)
		}
		f, _ := all.Quo(all, new(big.Rat).SetInt64(int64(t.n))).Float64()
		return f + t.float/float64(t.n)
	default:
		return t.best
	}
}

// finish returns the rows of the groups, in the order of their first rows. Without columns to group by, there is one.
func (g *grouping) finish() [][]any {
	if len(g.q.group) == 0 && len(g.list) == 0 {
		g.list = []*group{{figures: make([]total, len(g.q.figures))}}
	}
	rows := make([][]any, len(g.list))
	for n, one := range g.list {
		rows[n] = one.cells
		for i, f := range g.q.figures {
			rows[n] = append(rows[n], one.figures[i].value(f.function))
		}
	}
	return rows
}
