package cite

import (
	"slices"
	"sort"
)

// This file determines the subject of a sentence: the cells, rows and columns that a formula may use.

// active holds the subject of a sentence: the cells found in it, nearest first, and the rows and columns it names.
type active struct {
	cells []cellRef
	rows  []dim        // table, row
	cols  map[dim]bool // table, column: named, or with one of the cells
	said  map[dim]bool // table, column: named
}

// activity collects the active cells, rows and columns around a numeral. back is the number of earlier sentences to
// include.
func (r *resolver) activity(k, back int) active {
	n := &r.numerals[k]
	p := r.prose
	a := active{cols: map[dim]bool{}, said: map[dim]bool{}}
	s := p.tokens[n.from].sentence
	seen := map[dim]bool{}
	row := func(t, ri int) {
		if d := (dim{t, ri}); !seen[d] && len(a.rows) < maxActive {
			seen[d] = true
			a.rows = append(a.rows, d)
		}
	}
	r.activeCells(k, back, &a)
	for _, b := range r.bindings[k] {
		if len(b.rows) <= 2 && b.strength >= inherited || len(b.rows) == 1 {
			for _, ri := range b.rows { // both rows of "the gap among seniors"
				row(b.table, int(ri))
			}
		}
	}
	for q := s; q >= 0 && q >= s-back; q-- {
		ms := r.labelsNear(n)
		if q != s {
			ms = r.bySentence[q]
			ms = ms[:min(len(ms), maxNear)]
		}
		ms = append([]*mention{}, ms...)
		sort.SliceStable(ms, func(i, j int) bool { return distance(ms[i], n) < distance(ms[j], n) })
		for _, m := range ms {
			for _, h := range m.hits {
				if len(h.rows) == 1 {
					row(h.table, int(h.rows[0]))
				}
			}
		}
		cs := r.nearColumns(n)
		if q != s {
			cs = r.colBySentence[q]
			cs = cs[:min(len(cs), maxNear)]
		}
		for _, m := range cs {
			for _, c := range m.cols {
				if r.tables[c.table].cols[c.col].role == roleNumber {
					a.cols[dim(c)] = true
					a.said[dim(c)] = true
				}
			}
		}
	}
	for _, c := range a.cells {
		row(c.table, c.row)
	}
	return a
}

// activeCells collects the cells that are already cited around a numeral, nearest first.
func (r *resolver) activeCells(k, back int, a *active) {
	p := r.prose
	s := p.tokens[r.numerals[k].from].sentence
	for step := 1; step <= 12; step++ {
		for _, j := range []int{k - step, k + step} {
			if j < 0 || j >= len(r.numerals) {
				continue
			}
			d := s - p.tokens[r.numerals[j].from].sentence
			if d < 0 || d > back {
				continue
			}
			if c := r.found[j]; c != nil && c.formula == "" && r.tables[c.table].cols[c.col].role == roleNumber &&
				!r.numerals[j].year {
				a.cells = append(a.cells, cellRef{c.table, c.row, c.col})
				a.cols[dim{c.table, c.col}] = true
			}
		}
	}
}

// activeColumns returns the columns that a sentence is about. If it names none, it returns all columns, provided they
// are few.
func (r *resolver) activeColumns(k, t int, a active) []int {
	var cols []int
	for _, c := range r.columnsOf[k].cols {
		if c.table == t && r.tables[t].cols[c.col].role == roleNumber {
			cols = append(cols, c.col)
		}
	}
	if len(cols) > 0 && r.columnsOf[k].strong {
		return cols
	}
	for ci, c := range r.tables[t].cols {
		if a.cols[dim{t, ci}] && c.role == roleNumber {
			cols = append(cols, ci)
		}
	}
	few := cols
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && !slices.Contains(cols, ci) {
			few = append(few, ci)
		}
	}
	if len(few) > 3 {
		return cols
	}
	return few
}
