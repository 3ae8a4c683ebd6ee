package cite

import (
	"math/big"
	"strings"
)

// This file finds percentages of figures next to them: "356 of its 990 tickets (about 36 %)", "one in four trips (549
// of 2,110)", "71,240, 57 % of the fleet's 124,655".

// ratioBeside handles a percentage before or after the figures "A of B". It returns their ratio, whether they are cells
// or computed.
func (r *resolver) ratioBeside(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent {
		return nil
	}
	if k >= 2 && r.opensBracket(n) && r.arePartAndWhole(k-2, k-1) && n.from-r.numerals[k-1].to <= 6 {
		return r.ratioOfFound(k, k-2, k-1)
	}
	return nil
}

// opensBracket reports whether the numeral is the first word in a bracket, not counting a hedge such as "about".
func (r *resolver) opensBracket(n *numeral) bool {
	i := n.from - 1
	if partHedges[r.prose.low(i)] || r.prose.low(i) == "~" {
		i--
	}
	return r.prose.low(i) == "("
}

// arePartAndWhole reports whether numerals j and k form "A of B" in one sentence.
func (r *resolver) arePartAndWhole(j, k int) bool {
	n, m := &r.numerals[j], &r.numerals[k]
	t := r.prose.tokens
	return t[n.from].sentence == t[m.from].sentence && !n.percent && !m.percent && n.kind == number &&
		m.kind == number && m.from-n.to <= 4 && r.isWhole(m)
}

// ratioOfFound returns the ratio of the figures of numerals i and j, which must be resolved, if it fits numeral k.
func (r *resolver) ratioOfFound(k, i, j int) *candidate {
	a, b := r.found[i], r.found[j]
	if r.isUnresolved(i) || r.isUnresolved(j) || a.table < 0 || b.table < 0 {
		return nil
	}
	x, ok1 := parseRat(a.value)
	y, ok2 := parseRat(b.value)
	if !ok1 || !ok2 || y.Sign() == 0 || x.Cmp(y) > 0 {
		return nil
	}
	v := new(big.Rat).Quo(x, y)
	q, ok := r.numerals[k].fitsValue(v)
	if !ok {
		return nil
	}
	return &candidate{table: a.table, formula: r.termFor(a) + " / " + r.termFor(b), value: ratText(v), conf: 0.85 * q}
}

// shareOfSum handles "71,240, 57 % of the fleet's 124,655", where the whole is the sum that follows. final is true if
// the part is known too, so that no other formula may explain the numeral.
func (r *resolver) shareOfSum(k int) (c *candidate, final bool) {
	n := &r.numerals[k]
	if !n.percent || k+1 >= len(r.numerals) || r.prose.low(n.to) != "of" ||
		r.sentenceHasCue(n, groupCues) {
		return nil, false
	}
	m := &r.numerals[k+1]
	if m.percent || !r.isPlainNumber(m) || m.from-n.to > 7 ||
		r.prose.tokens[m.from].clause != r.prose.tokens[n.from].clause {
		return nil, false
	}
	if r.isUnresolved(k + 1) {
		r.offer(k+1, r.aggregate(k+1)) // the whole first
	}
	w := r.found[k+1]
	if r.isUnresolved(k+1) || !strings.HasPrefix(w.formula, "sum(") || w.measure == nil {
		return nil, false
	}
	j := r.amountBefore(k)
	if j < 0 || r.isUnresolved(j) {
		return nil, j >= 0 && r.isAboutOneRow(k)
	}
	if r.found[j].measure != w.measure || r.found[j].formula != "" {
		return nil, false
	}
	return r.ratioOfFound(k, j, k+1), true
}

// amountBefore returns the nearest amount in the few words before a numeral, or -1. Percentages, points, multiples and
// years are not amounts.
func (r *resolver) amountBefore(k int) int {
	n := &r.numerals[k]
	for j := k - 1; j >= 0 && j >= k-2; j-- {
		m := &r.numerals[j]
		if r.prose.tokens[m.from].sentence != r.prose.tokens[n.from].sentence || n.from-m.to > 8 {
			break
		}
		if r.isPlainNumber(m) && !m.percent && !m.year && !m.points && !m.times {
			return j
		}
	}
	return -1
}

// shareOfColumn handles a sum as a percentage of the only column that can be its whole: "264 MWh, or 43 %, were fed
// in".
func (r *resolver) shareOfColumn(k int) *candidate {
	n := &r.numerals[k]
	if k == 0 || !n.percent || r.isUnresolved(k-1) || r.isChange(n) {
		return nil
	}
	m, c := &r.numerals[k-1], r.found[k-1]
	if w := r.prose.low(n.from - 1); w != "or" && w != "(" || n.from-m.to > 4 || m.percent || c.measure == nil ||
		!strings.HasPrefix(c.formula, "sum(") || !r.tables[c.table].whole {
		return nil
	}
	for x := range r.tables[c.table].cols {
		if &r.tables[c.table].cols[x] != c.measure {
			continue
		}
		if wholes := r.wholesOf(c.table, x, r.amounts(c.table)); len(wholes) == 1 &&
			c.formula == "sum("+r.ref(c.table, -1, c.measure.name)+")" {
			return r.divideTotals(k, ratioOp, c.table, x, wholes[0])
		}
	}
	return nil
}

// countedWhole handles the 6 in "three of 6" if the three is a number of rows and the result has six rows.
func (r *resolver) countedWhole(k int) *candidate {
	n := &r.numerals[k]
	if k == 0 || n.percent || r.isUnresolved(k-1) || !strings.HasPrefix(r.found[k-1].formula, "count(") ||
		!r.arePartAndWhole(k-1, k) {
		return nil
	}
	t := r.found[k-1].table
	if v := n.readings[0].val; t < 0 || !r.tables[t].whole || !v.IsInt() ||
		v.Cmp(big.NewRat(int64(r.tables[t].rowCount), 1)) != 0 {
		return nil
	}
	return r.countOf(t, 0.85)
}
