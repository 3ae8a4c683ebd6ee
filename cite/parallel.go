package cite

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
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
	found := false
	for _, s := range order {
		if ks := slots[s]; len(ks) >= minParallel && slices.ContainsFunc(ks, r.isUnresolved) {
			found = r.applyCommonFormula(ks) || found
		}
	}
	if !found {
		return
	}
	for k := range r.numerals {
		if r.isUnresolved(k) && r.isPlainNumber(&r.numerals[k]) {
			r.offer(k, r.repeatRatio(k))
			r.offer(k, r.repeatRatioOfTotals(k))
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
		s := slot{first: r.listOf(bi), form: n.form()}
		for j := k - 1; j >= 0 && p.tokens[r.numerals[j].from].blck == bi; j-- {
			if m := &r.numerals[j]; r.isPlainNumber(m) && !m.year && !m.word && m.form() == s.form {
				s.nth++
			}
		}
		return s, true
	}
	return slot{}, false
}

// listOf returns the first block of the run of list items that contains a block.
func (r *resolver) listOf(bi int) int {
	bs := r.prose.blocks
	for i := bi - 1; i >= 0 && i > bi-maxParallel && bs[i].kind == item && bs[i].parent == bs[bi].parent &&
		bs[i].indent == bs[bi].indent; i-- {
		bi = i
	}
	return bi
}

// form returns a code that distinguishes amounts, percentages, points and multiples.
func (n *numeral) form() byte {
	switch {
	case n.percent:
		return '%'
	case n.points:
		return 'p'
	case n.times:
		return 'x'
	case n.currency:
		return '$'
	}
	return 0
}

// rowFormula is an operation on two columns of one row. factor is 100 if a header says "per 100 km", otherwise 1.
type rowFormula struct {
	op     operation
	table  int
	x, y   int
	factor int64
}

// applyCommonFormula finds the formula that fits most of the figures and cites it for those that it fits. It reports
// whether there is such a formula.
func (r *resolver) applyCommonFormula(ks []int) bool {
	t, rows := r.commonTable(ks)
	if t < 0 {
		return false
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
		return false
	}
	for i, k := range ks {
		if best[i] != nil && (r.found[k] == nil || r.found[k].formula != "" || r.isUnresolved(k)) {
			r.found[k], r.reasons[k] = best[i], ""
		}
	}
	return true
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
	n := &r.numerals[k]
	ops := []operation{ratioOp, diffOp}
	switch n.form() {
	case '%':
		ops = []operation{ratioOp, growthOp}
	case 'p':
		ops = []operation{diffOp}
	case 'x':
		ops = []operation{ratioOp}
	}
	factor := r.headerFactor(n)
	var out []rowFormula
	for _, op := range ops {
		for _, x := range r.amounts(t) {
			for _, y := range r.amounts(t) {
				if x == y || op.name != "ratio" && !r.areComparable(t, x, y) ||
					op.name == "growth" && r.tables[t].compareAge(x, y) < 0 {
					continue
				}
				out = append(out, rowFormula{op, t, x, y, 1})
				if factor > 1 && op.name == "ratio" {
					out = append(out, rowFormula{op, t, x, y, factor})
				}
			}
		}
	}
	return out
}

// headerFactor returns 100 for a header such as "l/100 km", otherwise 1.
func (r *resolver) headerFactor(n *numeral) int64 {
	p := r.prose
	b := &p.blocks[p.tokens[n.from].blck]
	if b.kind != tableRow || b.parent < 0 {
		return 1
	}
	from, to := p.headerCell(b.parent, p.cellOf(n.from))
	for i := from; i < to; i++ {
		switch p.low(i) {
		case "10":
			return 10
		case "100":
			return 100
		case "1000":
			return 1000
		}
	}
	return 1
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
	if f.factor == 1 && !r.mayFit(k, f.op, x, y) {
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
	if f.factor != 1 {
		v = new(big.Rat).Mul(v, big.NewRat(f.factor, 1))
		formula += fmt.Sprintf(" * %d", f.factor)
	}
	switch s := v.Sign(); {
	case n.sign < 0 && s > 0, n.sign > 0 && s < 0:
		return nil
	case n.sign == 0 && s < 0 && !r.hasCue(n, downCues):
		return nil
	}
	q, ok := r.fitsDerived(n, v, x, y)
	if !ok {
		return nil
	}
	c := &candidate{table: f.table, formula: formula, value: ratText(v), conf: 0.75 * q, rows: []int32{int32(row)}}
	if f.op.name == "ratio" && f.factor == 1 {
		c.over = []int{f.x, f.y}
	}
	return c
}

// repeatRatioOfTotals tries a ratio that the answer states row by row on the totals of the columns: "over all channels
// €68.87".
func (r *resolver) repeatRatioOfTotals(k int) *candidate {
	n := &r.numerals[k]
	if r.isAboutOneRow(k) || n.sig < 2 {
		return nil
	}
	tried := map[[3]int]bool{}
	for j, c := range r.found {
		if c == nil || c.over == nil || r.numerals[j].form() != n.form() && (n.percent || r.numerals[j].percent) ||
			!r.tables[c.table].whole {
			continue
		}
		key := [3]int{c.table, c.over[0], c.over[1]}
		if tried[key] || strings.Contains(c.formula, "sum(") {
			continue
		}
		tried[key] = true
		if out := r.divideTotals(k, ratioOp, c.table, c.over[0], c.over[1]); out != nil {
			return out
		}
	}
	return nil
}
