package cite

import (
	"math/big"
)

// This file finds sums, averages and extremes of columns.

// aggregate tries sums, averages and extremes of whole columns.
func (r *resolver) aggregate(k int) *candidate {
	n := &r.numerals[k]
	if n.points || n.times {
		return nil
	}
	wantSum := r.sentenceHasCue(n, totalCues) || r.isWhole(n) ||
		len(r.bindings[k]) == 0 && r.columnsOf[k].strong
	wantAvg := r.saysAverage(n)
	wantMax, wantMin := r.hasCue(n, maxCues), r.hasCue(n, minCues)
	free := n.isDistinctive() && !n.percent && !r.clauseNamesRow(k)
	if !wantSum && !wantAvg && !wantMax && !wantMin && !free {
		return nil
	}
	var best *candidate
	keep := func(c *candidate) {
		if best == nil || c.conf > best.conf {
			best = c
		}
	}
	for t := len(r.tables) - 1; t >= 0 && t >= len(r.tables)-4; t-- {
		if !r.tables[t].whole || len(r.tables[t].rows) < 2 {
			continue
		}
		cols, _ := r.numericColumns(k, t)
		for _, ci := range cols {
			conf := 0.75
			tot := r.totalOf(t, ci)
			name := r.ref(t, -1, r.tables[t].cols[ci].name)
			if (wantSum || free && !wantAvg) && !r.tables[t].cols[ci].percent {
				r.tryAggregate(n, t, ci, "sum("+name+")", tot.sum(), conf, keep)
			}
			if wantAvg && !r.clauseNamesRow(k) {
				r.tryAggregate(n, t, ci, "avg("+name+")", tot.avg(), conf, keep)
			}
		}
	}
	return best
}

// saysAverage reports whether a word for an average refers to this number.
func (r *resolver) saysAverage(n *numeral) bool {
	p := r.prose
	for i := n.from - 1; i >= max(0, n.from-window) && p.tokens[i].sentence == p.tokens[n.from].sentence &&
		r.numeralAt[i] < 0; i-- {
		if averageCues[p.low(i)] {
			return true
		}
	}
	for i := n.to; i < n.to+8 && i < len(p.tokens) && p.tokens[i].word && r.numeralAt[i] < 0; i++ {
		if averageCues[p.low(i)] {
			return true
		}
	}
	return false
}

// tryAggregate calls keep with a candidate if the value of an aggregate fits the numeral.
func (r *resolver) tryAggregate(n *numeral, t, ci int, formula string, v *big.Rat, conf float64,
	keep func(*candidate)) {
	if v == nil {
		return
	}
	q, ok := n.fitsColumn(v, &r.tables[t].cols[ci], true)
	if ok && !(v.Sign() < 0 && n.sign >= 0 && !r.canMeanNegative(n, t, ci)) && !(v.Sign() > 0 && n.sign < 0) {
		keep(&candidate{table: t, formula: formula, value: ratText(v), conf: conf * q, measure: &r.tables[t].cols[ci]})
	}
}
