package cite

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Sums, averages and extremes of columns and of groups of rows.

// aggregate tries sums, averages and extremes of whole columns.
func (r *resolver) aggregate(k int) *candidate {
	n := &r.numerals[k]
	if n.points || n.times {
		return nil
	}
	if n.percent && r.totalRow(n) && n.readings[0].val.Cmp(ratHundred) == 0 && len(r.tables) > 0 {
		return r.wholeShare(k)
	}
	wantSum := r.saysSentence(n, totalCues) || r.totalRow(n) || r.partOf(n) || r.ofAll(n) || r.unboundUnit(k)
	wantAvg := r.averaged(n)
	wantMax, wantMin := r.says(n, maxCues), r.says(n, minCues)
	free := n.sig >= 3 && !n.percent && !r.boundAlone(k)
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
		cols, bound := r.numericColumns(k, t)
		for _, ci := range cols {
			if n.percent && !r.tables[t].cols[ci].percent && !wantAvg {
				continue
			}
			conf := 0.75
			if bound || len(cols) == 1 {
				conf = 0.9
			}
			tot := r.totalOf(t, ci)
			name := r.ref(t, -1, r.tables[t].cols[ci].name)
			if (wantSum || free && !wantAvg) && !r.tables[t].cols[ci].percent {
				if !wantSum {
					conf -= 0.15
				}
				r.tryAggregate(n, t, ci, "sum("+name+")", tot.sum(), conf, keep)
			}
			if wantAvg && (!r.boundAlone(k) || r.perPeriod(n)) {
				r.tryAggregate(n, t, ci, "avg("+name+")", tot.avg(), conf, keep)
			}
			if wantMax && !r.strictly(k) {
				r.tryAggregate(n, t, ci, "max("+name+")", tot.max, conf, keep)
			}
			if wantMin && !r.strictly(k) {
				r.tryAggregate(n, t, ci, "min("+name+")", tot.min, conf, keep)
			}
		}
	}
	return best
}

// averaged: a word for average speaks of this number and no other.
func (r *resolver) averaged(n *numeral) bool {
	p := r.prose
	for i := n.from - 1; i >= max(0, n.from-window) && p.tokens[i].sentence == p.tokens[n.from].sentence && r.numeralAt[i] < 0; i-- {
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

// wholeShare is the 100 % in the last row of a table.
func (r *resolver) wholeShare(k int) *candidate {
	t := len(r.tables) - 1
	cols, _ := r.numericColumns(k, t)
	if len(cols) == 0 || !r.tables[t].whole {
		return nil
	}
	sum := "sum(" + r.ref(t, -1, r.tables[t].cols[cols[0]].name) + ")"
	return &candidate{table: t, formula: sum + " / " + sum, value: "1", conf: 0.7}
}

func (r *resolver) tryAggregate(n *numeral, t, ci int, formula string, v *big.Rat, conf float64, keep func(*candidate)) {
	if v == nil {
		return
	}
	q, ok := n.fitsColumn(v, &r.tables[t].cols[ci], true)
	if ok && !(v.Sign() < 0 && n.sign >= 0 && !r.says(n, downCues)) && !(v.Sign() > 0 && n.sign < 0) {
		keep(&candidate{table: t, formula: formula, value: ratText(v), conf: conf * q})
	}
}

// totalRow: a table's row that begins with Total.
func (r *resolver) totalRow(n *numeral) bool {
	p := r.prose
	b := &p.blocks[p.tokens[n.from].blck]
	if b.kind != tableRow {
		return false
	}
	for i := b.span.from; i < b.span.to && i < b.span.from+8; i++ {
		if totalCues[p.low(i)] {
			return true
		}
	}
	return false
}

// groupSum: "A, B and C together have 785", "the top two sold 810".
func (r *resolver) groupSum(k int) *candidate {
	n := &r.numerals[k]
	for _, g := range r.groups(k) {
		cols, bound := r.numericColumns(k, g.table)
		for _, ci := range cols {
			sum, ok := r.sumRows(g.table, ci, g.rows)
			if !ok {
				continue
			}
			conf := 0.75
			if bound {
				conf = 0.85
			}
			formula := r.sumRef(g.table, ci, g.rows)
			v := sum
			if n.percent {
				all := r.totalOf(g.table, ci)
				if !r.tables[g.table].whole || all.sum().Sign() == 0 {
					continue
				}
				v = new(big.Rat).Quo(sum, all.sum())
				formula += " / sum(" + r.ref(g.table, -1, r.tables[g.table].cols[ci].name) + ")"
			}
			if q, ok := n.fitsValue(v); ok {
				return &candidate{table: g.table, formula: formula, value: ratText(v), conf: conf * q, rows: g.rows}
			}
		}
	}
	return nil
}

type rowGroup struct {
	table int
	rows  []int32
}

// groups are the lists of rows a sentence speaks of together.
func (r *resolver) groups(k int) []rowGroup {
	n := &r.numerals[k]
	var out []rowGroup
	for _, b := range r.bindings[k] {
		if len(b.group) > 1 {
			out = append(out, rowGroup{b.table, b.group})
		}
	}
	if !r.saysSentence(n, groupCues) && len(out) == 0 {
		return nil
	}
	s := r.prose.tokens[n.from].sentence
	for j := k - 1; j >= 0 && j >= k-6 && r.prose.tokens[r.numerals[j].from].sentence == s; j-- {
		if c := r.found[j]; c != nil && strings.HasPrefix(c.formula, "top(") {
			if v := r.numerals[j].readings[0].val.Num().Int64(); v > 1 && v <= 1000 {
				g := rowGroup{table: c.table}
				for i := range v {
					g.rows = append(g.rows, int32(i))
				}
				out = append(out, g)
			}
		}
	}
	return out
}

func (r *resolver) sumRows(t, ci int, rows []int32) (*big.Rat, bool) {
	sum := new(big.Rat)
	for _, ri := range rows {
		v, ok := cellRat(r.tables[t].rows[ri][ci])
		if !ok || !r.spend(1) {
			return nil, false
		}
		sum.Add(sum, v)
	}
	return sum, true
}

func (r *resolver) sumRef(t, ci int, rows []int32) string {
	var b strings.Builder
	fmt.Fprintf(&b, "sum(%s[", r.tables[t].id)
	for i, ri := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(ri)))
	}
	return b.String() + "]." + quoteName(r.tables[t].cols[ci].name) + ")"
}

// totalsRatio: "revenue came to 18.58 M and net income to 4.83 M, a margin of 26 %".
func (r *resolver) totalsRatio(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent || r.strictly(k) {
		return nil
	}
	s := r.prose.tokens[n.from].sentence
	var sums []*candidate
	for j := k - 1; j >= 0 && j >= k-6 && r.prose.tokens[r.numerals[j].from].sentence == s; j-- {
		if c := r.found[j]; c != nil && strings.HasPrefix(c.formula, "sum(") && strings.HasSuffix(c.formula, ")") && !strings.Contains(c.formula, " ") {
			sums = append(sums, c)
		}
	}
	for i, x := range sums {
		for _, y := range sums[i+1:] {
			if c := r.ratioOfSums(n, x, y); c != nil {
				return c
			}
		}
	}
	return nil
}

func (r *resolver) ratioOfSums(n *numeral, x, y *candidate) *candidate {
	a, ok1 := parseRat(x.value)
	b, ok2 := parseRat(y.value)
	if !ok1 || !ok2 || a.Sign() <= 0 || b.Sign() <= 0 {
		return nil
	}
	if a.Cmp(b) > 0 {
		x, y, a, b = y, x, b, a
	}
	v := new(big.Rat).Quo(a, b)
	q, ok := n.fitsValue(v)
	if !ok {
		return nil
	}
	return &candidate{table: x.table, formula: x.formula + " / " + y.formula, value: ratText(v), conf: 0.8 * q}
}

// perPeriod: "averaged 240 a month".
func (r *resolver) perPeriod(n *numeral) bool {
	p := r.prose
	verb, _ := r.wordBefore(n)
	w := p.low(n.to)
	return averagedVerbs[verb] && (w == "a" || w == "per" || w == "each") && periodNames[p.low(n.to+1)]
}

// ofAll: "most of the 162 employees".
func (r *resolver) ofAll(n *numeral) bool {
	p := r.prose
	return wholeWords[p.low(n.from-1)] && p.low(n.from-2) == "of" && r.measured(n)
}

// unboundUnit: "we had 43 incidents" names a column and no row.
func (r *resolver) unboundUnit(k int) bool {
	return len(r.bindings[k]) == 0 && r.measured(&r.numerals[k])
}
