package cite

import (
	"math/big"
	"strings"
)

// This file finds formulas with figures that the sentence itself states, which can be cells or sums: "76 of 527 left,
// 14.4 %", "from 2.22 to 2.31 million, up 4 %".

// claim is a resolved figure of the sentence.
type claim struct {
	k   int // numeral
	c   *candidate
	val *big.Rat
}

// claims returns the resolved figures of a numeral's sentence and of the back sentences before it, nearest first.
func (r *resolver) claims(k, back int) []claim {
	p := r.prose
	s := p.tokens[r.numerals[k].from].sentence
	var out []claim
	for step := 1; step <= 8; step++ {
		for _, j := range []int{k - step, k + step} {
			if j < 0 || j >= len(r.numerals) {
				continue
			}
			d := s - p.tokens[r.numerals[j].from].sentence
			c := r.found[j]
			if d < 0 || d > back || c == nil || c.conf < minConfidence || c.table < 0 || r.numerals[j].kind != number {
				continue
			}
			if v, ok := parseRat(c.value); ok {
				out = append(out, claim{j, c, v})
			}
		}
	}
	return out
}

// termFor returns a claim as part of a formula.
func (r *resolver) termFor(c *candidate) string {
	switch {
	case c.formula == "":
		return r.refOf(cellRef{c.table, c.row, c.col})
	case strings.Contains(c.formula, " "):
		return "(" + c.formula + ")"
	}
	return c.formula
}

// contradictsDirection reports whether the words contradict the direction of a change.
func (r *resolver) contradictsDirection(n *numeral, v *big.Rat) bool {
	up, down := r.hasCue(n, upCues) || n.sign > 0, r.hasCue(n, downCues) || n.sign < 0
	return v.Sign() > 0 && (down && !up || n.sign < 0) || v.Sign() < 0 && (up && !down || !down && n.sign >= 0)
}

// withoutCue tries pairs of columns of the named row even if no word suggests an operation. It requires that a match by
// chance is unlikely: at least three digits and few columns.
func (r *resolver) withoutCue(k int) *candidate {
	n := &r.numerals[k]
	if n.times || n.points || !r.namesRow(k) {
		return nil
	}
	op := diffOp
	if n.percent {
		op = ratioOp
	}
	for _, row := range r.boundRows(k) {
		if !n.percent && r.isBoundToOneColumn(k, row) {
			continue
		}
		var cols []int
		for ci, c := range r.tables[row.table].cols {
			if c.role == roleNumber && !c.key && !c.percent && len(cols) < maxColumns {
				cols = append(cols, ci)
			}
		}
		if !n.isDistinctive() && (!n.percent || len(cols) > 2) || n.scaled && n.sig < 4 {
			continue
		}
		for i, x := range cols {
			for _, y := range cols[i+1:] {
				if !r.areComparable(row.table, x, y) {
					continue
				}
				if c := r.tryPair(k, op, cellRef{row.table, row.col, x}, cellRef{row.table, row.col, y},
					0.62); c != nil {
					return c
				}
			}
		}
	}
	return nil
}

// isBoundToOneColumn reports whether the text names the column of the number, or a cell of the row already equals the
// number.
func (r *resolver) isBoundToOneColumn(k int, row dim) bool {
	if cb := r.columnsOf[k]; cb.strong && len(boundColumns(cb, row.table)) == 1 {
		return true
	}
	for _, h := range r.hits[k] {
		if h.table == row.table && h.row == row.col {
			return true
		}
	}
	return false
}

// isDistinctive reports whether the number has at least three digits as written, so that a chance match is unlikely.
func (n *numeral) isDistinctive() bool {
	return n.sig >= 3 ||
		n.hedge == exactly && !n.scaled && !n.word && !n.percent && n.readings[0].val.Cmp(ratHundred) >= 0
}

// areComparable reports whether the difference or ratio of two columns is meaningful.
func (r *resolver) areComparable(t, x, y int) bool {
	a, b := &r.tables[t].cols[x], &r.tables[t].cols[y]
	return a.integer == b.integer && a.unit.dimension == b.unit.dimension && a.scale == b.scale
}

// isChange reports whether the text presents the percentage as a change.
func (r *resolver) isChange(n *numeral) bool {
	w, before := r.wordBefore(n)
	return n.sign > 0 || r.isChangedBy(n) || r.isComparison(n) || w == "of" && changeNouns[before] ||
		riseWords[w] && !makeVerbs[before]
}

var makeVerbs = set("make makes made making")

var changeNouns = set("increase decrease rise fall drop decline growth gain loss jump reduction change improvement")
