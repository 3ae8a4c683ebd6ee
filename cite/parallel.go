package cite

import (
	"fmt"
	"slices"
)

// This file handles parallel figures: the numbers in one column of a table, or at the same place in the items of a
// list, usually have the same formula. If one formula over two columns gives most of them, each from its own row, the
// match is not a coincidence and needs no word that suggests the operation: "€/km", "Change (pp)", "Phone: €131 ·
// Store: €89.90".

const (
	minParallel = 3  // figures that a formula must fit
	maxParallel = 80 // figures examined per slot
)

// slot is a place that several figures share: a column of a table, or the nth figure of one form in the items of a
// list.
type slot struct {
	first, nth int
	form       byte
}

// resolveParallels resolves the figures that one formula explains row by row. Then it tries these formulas on the
// figures that are still unresolved.
func (r *resolver) resolveParallels() {
	slots := map[slot][]int{}
	var order []slot
	for k := range r.numerals {
		s, ok := r.slotOf(k)
		if !ok {
			continue
		}
		if len(slots[s]) == 0 {
			order = append(order, s)
		}
		if len(slots[s]) < maxParallel {
			slots[s] = append(slots[s], k)
		}
	}
	for _, s := range order {
		if ks := slots[s]; len(ks) >= minParallel && slices.ContainsFunc(ks, r.isUnresolved) {
			r.applyCommonFormula(ks)
		}
	}
}

// isPlainNumber reports whether a numeral is a number with a known value, and not an ordinal, a date or a part of a
// name.
func (r *resolver) isPlainNumber(n *numeral) bool {
	return n.kind == number && !n.huge && n.prefix == "" && len(n.readings) > 0
}

// isUnresolved reports whether a numeral has no footnote with enough confidence.
func (r *resolver) isUnresolved(k int) bool {
	return r.found[k] == nil || r.found[k].conf < minConfidence
}

// slotOf returns the slot of a numeral in its table or list. ok is false if it has none.
func (r *resolver) slotOf(k int) (slot, bool) {
	p := r.prose
	n := &r.numerals[k]
	if !r.isPlainNumber(n) || n.year || n.word {
		return slot{}, false
	}
	bi := p.tokens[n.from].blck
	b := &p.blocks[bi]
	switch b.kind {
	case tableRow:
		if b.parent < 0 {
			return slot{}, false
		}
		return slot{first: b.parent, nth: p.cellOf(n.from)}, true
	case item:
		return slot{form: n.form()}, true
	}
	return slot{}, false
}

// form returns a code that distinguishes amounts, percentages, points and multiples.
func (n *numeral) form() byte {
	switch {
	case n.percent:
		return '%'
	}
	return 0
}

// rowFormula is an operation on two columns of one row.
type rowFormula struct {
	op    operation
	table int
	x, y  int
}

// applyCommonFormula finds the formula that fits most of the figures and cites it for those that it fits.
func (r *resolver) applyCommonFormula(ks []int) {
	t, rows := r.commonTable(ks)
	if t < 0 {
		return
	}
	var best []*candidate
	fits := 0
	for _, f := range r.rowFormulas(ks[0], t) {
		got, n := r.fitAll(ks, rows, f)
		if n > fits {
			best, fits = got, n
		}
	}
	if fits < minParallel || 3*fits < 2*len(rows) {
		return
	}
	for i, k := range ks {
		if best[i] != nil && (r.found[k] == nil || r.found[k].formula != "" || r.isUnresolved(k)) {
			r.found[k], r.reasons[k] = best[i], ""
		}
	}
}

// commonTable returns a table to whose rows the figures are bound, and the row of each figure. The table is -1 if no
// table has enough of them.
func (r *resolver) commonTable(ks []int) (int, map[int]int) {
	for t := len(r.tables) - 1; t >= 0; t-- {
		rows, seen := map[int]int{}, map[int32]bool{}
		for _, k := range ks {
			if b := r.bindingOf(k, t); b != nil && len(b.rows) == 1 && b.strength >= inherited {
				rows[k] = int(b.rows[0])
				seen[b.rows[0]] = true
			}
		}
		if len(seen) >= minParallel {
			return t, rows
		}
	}
	return -1, nil
}

// rowFormulas returns the formulas that the form of a figure allows.
func (r *resolver) rowFormulas(k, t int) []rowFormula {
	ops := []operation{ratioOp, diffOp}
	var out []rowFormula
	for _, op := range ops {
		for _, x := range r.amounts(t) {
			for _, y := range r.amounts(t) {
				out = append(out, rowFormula{op, t, x, y})
			}
		}
	}
	return out
}

// fitAll tries a formula on every figure, each with its own row. n is the number of figures that it fits.
func (r *resolver) fitAll(ks []int, rows map[int]int, f rowFormula) (got []*candidate, n int) {
	got = make([]*candidate, len(ks))
	tried := 0
	for i, k := range ks {
		row, ok := rows[k]
		if !ok {
			continue
		}
		if tried++; tried > 2*(n+2) || !r.spend(2) {
			return got, n // too few figures are left to reach enough fits
		}
		if got[i] = r.fitRow(k, row, f); got[i] != nil {
			n++
		}
	}
	return got, n
}

// fitRow returns a candidate if a formula over the row fits the figure, sign included.
func (r *resolver) fitRow(k, row int, f rowFormula) *candidate {
	n := &r.numerals[k]
	x, y := cellRef{f.table, row, f.x}, cellRef{f.table, row, f.y}
	if !r.mayFit(k, f.op, x, y) {
		return nil
	}
	a, ok1 := cellRat(r.tables[f.table].rows[row][f.x])
	b, ok2 := cellRat(r.tables[f.table].rows[row][f.y])
	if !ok1 || !ok2 {
		return nil
	}
	v := f.op.eval(a, b)
	if v == nil {
		return nil
	}
	formula := fmt.Sprintf(f.op.text, r.refOf(x), r.refOf(y))
	q, ok := r.fitsDerived(n, v, x, y)
	if !ok {
		return nil
	}
	c := &candidate{table: f.table, formula: formula, value: ratText(v), conf: 0.75 * q, rows: []int32{int32(row)}}
	return c
}
