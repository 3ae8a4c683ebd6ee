package cite

import (
	"math/big"
	"slices"
	"strings"
)

// This file tries formulas over the subject of a sentence only: the cells already cited in it, the rows that it names,
// and whole columns. Most formulas need a cue in the text. The further away their cells are, the lower their
// confidence.

const (
	maxActive  = 12 // rows of a sentence that are paired
	maxColumns = 12 // columns of a row that are paired
)

// cellRef is a cell that a formula can use.
type cellRef struct{ table, row, col int }

// derived resolves the numerals that direct has not resolved.
func (r *resolver) derived() {
	for k := range r.numerals {
		n := &r.numerals[k]
		if n.kind != number || n.huge || n.prefix != "" || len(n.readings) == 0 {
			continue
		}
		if c := r.found[k]; c != nil && c.conf >= 0.6 {
			continue
		}
		if c, final := r.shareOfSum(k); final {
			r.offer(k, c)
			continue
		}
		for _, try := range []func(int) *candidate{
			r.conditional, r.aggregate, r.groupSum, r.repeatRatio, r.pairSiblings, r.pairwise, r.shareOfTotal,
			r.ratioOfColumns, r.fromTotals, r.daysOf, r.withoutCue, r.unlabelledCell,
		} {
			if r.work <= 0 {
				return
			}
			r.offer(k, try(k))
			if r.found[k] != nil && r.found[k].conf >= 0.6 {
				break
			}
		}
	}
}

// fitsValue reports whether a computed value fits the numeral, and how well.
func (n *numeral) fitsValue(v *big.Rat) (float64, bool) {
	if v == nil {
		return 0, false
	}
	if n.percent || n.points {
		v = new(big.Rat).Mul(v, ratHundred)
	}
	return n.fits(v, true)
}

// numericColumns returns the columns to try: those to which the text binds the numeral (bound is then true), otherwise
// all.
func (r *resolver) numericColumns(k, t int) (cols []int, bound bool) {
	for _, c := range r.columnsOf[k].cols {
		if c.table == t && r.tables[t].cols[c.col].role == roleNumber {
			cols = append(cols, c.col)
		}
	}
	if len(cols) > 0 && r.columnsOf[k].strong {
		return cols, true
	}
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && len(cols) < maxColumns {
			cols = append(cols, ci)
		}
	}
	return cols, false
}

// namesRow reports whether the numeral is bound to rows by its own sentence, or by a pronoun, list item or heading.
func (r *resolver) namesRow(k int) bool {
	return slices.ContainsFunc(r.bindings[k], func(b binding) bool { return b.strength >= inherited })
}

// clauseNamesRow reports whether the numeral's own clause names a row, or the numeral inherits one.
func (r *resolver) clauseNamesRow(k int) bool {
	n := &r.numerals[k]
	for _, b := range r.bindings[k] {
		if b.strength == inSentence && len(b.by) > 0 &&
			r.prose.tokens[b.by[0].from].clause == r.prose.tokens[n.from].clause {
			return true
		}
	}
	return false
}

// columnsNear returns the numeric columns that a sentence names, or all of them if it names none.
func (r *resolver) columnsNear(n *numeral, t int) []int {
	var cols []int
	if len(cols) > 0 {
		return cols
	}
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && len(cols) < maxColumns {
			cols = append(cols, ci)
		}
	}
	return cols
}

// operation computes a value from two cells, as the words around a numeral suggest.
type operation struct {
	name string
	eval func(a, b *big.Rat) *big.Rat
	text string // with two %s
}

var (
	growthOp = operation{"growth", func(a, b *big.Rat) *big.Rat {
		if b.Sign() == 0 {
			return nil
		}
		q := new(big.Rat).Quo(a, b)
		return q.Sub(q, ratOne)
	}, "%s / %s - 1"}
	ratioOp = operation{"ratio", func(a, b *big.Rat) *big.Rat {
		if b.Sign() == 0 {
			return nil
		}
		return new(big.Rat).Quo(a, b)
	}, "%s / %s"}
	diffOp = operation{"diff", func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }, "%s - %s"}
)

// operations returns the operations that the form of a numeral and the words near it suggest.
func (r *resolver) operations(k int) []operation {
	n := &r.numerals[k]
	changed := n.sign > 0 || n.sign < 0 && (n.percent || n.points || r.hasCue(n, diffCues))
	if n.percent || n.points || n.times {
		changed = changed || r.hasCue(n, diffCues)
	} else {
		changed = changed || r.saysDifference(n)
	}
	if n.percent && r.isBesideDifference(k) {
		return []operation{growthOp} // "180 more (15 %)"
	}
	switch {
	case n.points:
		return []operation{diffOp}
	case n.percent:
		if changed && r.prose.low(n.to) != "of" {
			if r.isChange(n) {
				return []operation{growthOp}
			}
			return []operation{growthOp, ratioOp}
		}
		return []operation{ratioOp}
	case n.times:
		return []operation{ratioOp}
	case changed:
		return []operation{diffOp}
	}
	return nil
}

// saysDifference reports whether a word for a difference refers to this number: before it in its clause, or right after
// it.
func (r *resolver) saysDifference(n *numeral) bool {
	p := r.prose
	for i := n.from - 1; i >= max(0, n.from-window) && p.tokens[i].clause == p.tokens[n.from].clause &&
		r.numeralAt[i] < 0 && p.low(i) != "than"; i-- {
		if diffCues[p.low(i)] && !r.isColumnName(i) {
			return true
		}
	}
	for i := n.to; i < n.to+6 && i < len(p.tokens) && r.numeralAt[i] < 0; i++ {
		if diffCues[p.low(i)] && !r.isColumnName(i) {
			return true
		}
	}
	return false
}

// isBesideDifference reports whether a percentage follows a difference: "180 hours more (15 %)", "190 MWh or 5.5 %
// less".
func (r *resolver) isBesideDifference(k int) bool {
	w := r.prose.low(r.numerals[k].from - 1)
	return k > 0 && r.found[k-1] != nil && strings.Contains(r.found[k-1].formula, " - ") &&
		(w == "(" || w == "or" || w == ",")
}

// refOf returns the reference to a cell.
func (r *resolver) refOf(c cellRef) string {
	return r.ref(c.table, c.row, r.tables[c.table].cols[c.col].name)
}

// rowsOf returns the row numbers of two cells, sorted.
func rowsOf(x, y cellRef) []int32 {
	if x.row == y.row {
		return []int32{int32(x.row)}
	}
	return []int32{int32(min(x.row, y.row)), int32(max(x.row, y.row))}
}

// amounts returns the numeric columns of a table that are not keys, up to maxColumns.
func (r *resolver) amounts(t int) []int {
	var out []int
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && len(out) < maxColumns {
			out = append(out, ci)
		}
	}
	return out
}

// boundRows returns the rows to which a numeral is bound, and the row of each result that has only one.
func (r *resolver) boundRows(k int) []dim {
	var out []dim
	for _, b := range r.bindings[k] {
		if len(b.rows) == 1 {
			out = append(out, dim{b.table, int(b.rows[0])})
		}
	}
	for t := len(r.tables) - 1; t >= 0; t-- {
		if len(r.tables[t].rows) == 1 {
			out = append(out, dim{t, 0})
		}
	}
	return out
}
