package cite

import (
	"math/big"
	"strings"
)

// This file finds percentages of figures next to them: "356 of its 990 tickets (about 36 %)", "one in four trips (549
// of 2,110)", "71,240, 57 % of the fleet's 124,655".

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
