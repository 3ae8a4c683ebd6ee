package cite

import (
	"fmt"
	"math/big"
	"slices"
)

// This file finds shares, growth and amounts per piece of whole columns: "378,275 (59 %) is not due yet", "spent
// 165,050 to win 2,754 customers, 59.93 each".

// fromTotals applies the operation that the words suggest to the totals of two columns. The text must name both
// columns, or one if the figure is precise.
func (r *resolver) fromTotals(k int) *candidate {
	n := &r.numerals[k]
	op := ratioOp
	switch {
	case n.points || n.times || r.isRemainder(n) || r.isAboutOneRow(k):
		return nil
	case n.percent && r.isChange(n):
		op = growthOp
	case !n.percent && r.saysDifference(n):
		op = diffOp
	case !n.percent && (!n.currency || n.sig < 3):
		return nil
	}
	for t := len(r.tables) - 1; t >= 0 && t >= len(r.tables)-4; t-- {
		if !r.tables[t].whole || len(r.tables[t].rows) < 2 {
			continue
		}
		named := r.mentionedColumns(k, t)
		others := named
		if n.isPrecise() && len(named) > 0 {
			others = append(slices.Clone(named), r.amounts(t)...)
		}
		for i, x := range named {
			for j, y := range others {
				if x == y || j < i {
					continue
				}
				if c := r.divideTotals(k, op, t, x, y); c != nil {
					return c
				}
				if c := r.divideTotals(k, op, t, y, x); c != nil {
					return c
				}
			}
		}
	}
	return nil
}

// divideTotals returns a candidate if the operation on sum(x) and sum(y) gives the numeral.
func (r *resolver) divideTotals(k int, op operation, t, x, y int) *candidate {
	n := &r.numerals[k]
	tab := &r.tables[t]
	if tab.cols[x].percent || tab.cols[y].percent || n.percent && !r.areSameKind(cellRef{t, 0, x}, cellRef{t, 0, y}) ||
		!n.percent && op.name == "ratio" && !tab.cols[y].integer {
		return nil
	}
	v := op.eval(r.totalOf(t, x).sum(), r.totalOf(t, y).sum())
	if v == nil || op.name == "diff" && v.Sign() < 0 || op.name == "ratio" && n.percent && v.Cmp(ratOne) > 0 ||
		op.name == "growth" && (r.contradictsDirection(n, v) || tab.compareAge(x, y) < 0) {
		return nil
	}
	said := v
	if s := tab.cols[x].scale - tab.cols[y].scale; s > 0 && !n.percent {
		said = new(big.Rat).Mul(v, pow10(s))
	}
	q, ok := n.fitsValue(said)
	if !ok {
		return nil
	}
	name := func(ci int) string { return "sum(" + r.ref(t, -1, tab.cols[ci].name) + ")" }
	return &candidate{table: t, formula: fmt.Sprintf(op.text, name(x), name(y)), value: ratText(v), conf: 0.75 * q}
}

// isPrecise reports whether a figure has enough digits that a chance match is unlikely.
func (n *numeral) isPrecise() bool {
	return n.sig >= 3 || n.percent && n.readings[0].unit.Cmp(ratOne) < 0 && n.readings[0].unit.Sign() > 0
}

// isAboutOneRow reports whether the words name exactly one row for the numeral.
func (r *resolver) isAboutOneRow(k int) bool {
	return slices.ContainsFunc(r.bindings[k], func(b binding) bool {
		return b.strength >= inherited && len(b.rows) == 1
	})
}

// mentionedColumns returns the numeric columns that the sentence or the one before it names, or whose amounts it
// contains.
func (r *resolver) mentionedColumns(k, t int) []int {
	p := r.prose
	n := &r.numerals[k]
	var cols []int
	add := func(ci int) {
		if c := &r.tables[t].cols[ci]; c.role == roleNumber && !c.key && len(cols) < maxColumns &&
			!slices.Contains(cols, ci) {
			cols = append(cols, ci)
		}
	}
	for _, x := range r.claims(k, 1) {
		if x.c.table != t || x.c.measure == nil {
			continue
		}
		for ci := range r.tables[t].cols {
			if &r.tables[t].cols[ci] == x.c.measure {
				add(ci)
			}
		}
	}
	s := p.tokens[n.from].sentence
	for q := s; q >= 0 && q >= s-1; q-- {
		ms := r.colBySentence[q]
		for _, m := range ms[:min(len(ms), maxNear)] {
			for _, c := range m.cols {
				if c.table == t && !m.vague {
					add(c.col)
				}
			}
		}
	}
	return cols
}
