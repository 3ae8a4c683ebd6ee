package cite

import (
	"math/big"
	"strings"
)

// This file finds shares of a column, ratios within a row, and the difference between a whole and its part.

// shareOfTotal handles a cell as a percentage of the total of its column.
func (r *resolver) shareOfTotal(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent || r.isChange(n) || r.isRemainder(n) {
		return nil
	}
	for _, b := range r.bindings[k] {
		if len(b.rows) != 1 || !r.tables[b.table].whole {
			continue
		}
		a := r.activity(k, 1)
		cols, _ := r.numericColumns(k, b.table)
		cols = r.withoutOutdated(n, b.table, append(r.activeColumns(k, b.table, a), cols...))
		for _, ci := range cols {
			v, ok := cellRat(r.tables[b.table].rows[b.rows[0]][ci])
			sum := r.totalOf(b.table, ci).sum()
			if !ok || sum.Sign() == 0 || r.tables[b.table].cols[ci].percent {
				continue
			}
			share := new(big.Rat).Quo(v, sum)
			if q, ok := n.fitsValue(share); ok {
				name := r.tables[b.table].cols[ci].name
				return &candidate{
					table: b.table, formula: r.ref(b.table, int(b.rows[0]), name) + " / sum(" + r.ref(b.table, -1,
						name) + ")", value: ratText(share), conf: 0.8 * q, rows: b.rows,
				}
			}
		}
	}
	return nil
}

// ratioOfColumns handles ratios of two columns: "10.03 of revenue per order".
func (r *resolver) ratioOfColumns(k int) *candidate {
	n := &r.numerals[k]
	if n.percent || n.points {
		return nil
	}
	below := r.denominators(n)
	if len(below) == 0 && (!r.sentenceHasCue(n, perCues) || n.sig < 3 && !r.hasCue(n, perCues) || n.sig < 2) &&
		!((n.currency || n.unit.factor != nil) && r.saysAverage(n) && r.namesRow(k)) {
		return nil
	}
	for _, row := range r.boundRows(k) {
		ys := r.columnsNear(n, row.table)
		xs := ys
		for _, x := range xs {
			for _, y := range ys {
				if x == y {
					continue
				}
				if c := r.tryPair(k, ratioOp, cellRef{
					row.table, row.col, x,
				}, cellRef{row.table, row.col, y}, 0.75); c != nil {
					return c
				}
			}
		}
	}
	a := r.activity(k, 0)
	return r.pairRows(k, ratioOp, a, 0.7)
}

// denominators returns the columns named right after "per", and those of which the text mentions one item ("a session
// in Dresden draws 36 kWh"), by table.
func (r *resolver) denominators(n *numeral) map[int][]int {
	out := map[int][]int{}
	for _, m := range r.nearColumns(n) {
		if w := r.prose.low(m.from - 1); !perCues[w] && !r.mentionsOne(n, m) {
			continue
		}
		for _, c := range m.cols {
			if r.tables[c.table].cols[c.col].role == roleNumber {
				out[c.table] = append(out[c.table], c.col)
			}
		}
	}
	return out
}

// mentionsOne reports whether the text mentions one of the things that a column counts: "a ride" or "each member's
// weekday ride" for a column rides.
func (r *resolver) mentionsOne(n *numeral, m *columnMention) bool {
	p := r.prose
	if m.to-m.from != 1 || m.to > n.from || strings.HasSuffix(p.low(m.from), "s") || r.numeralBetween(m.to, n.from) {
		return false
	}
	for i := m.from - 1; i >= max(0, m.from-5) && p.tokens[i].clause == p.tokens[m.from].clause; i-- {
		if before := p.low(i); before == "a" || before == "an" {
			for _, c := range m.cols {
				col := &r.tables[c.table].cols[c.col]
				if col.role == roleNumber && col.integer && len(col.words) == 1 && col.words[0] != col.name {
					return true // the name of the column is a plural
				}
			}
			return false
		}
	}
	return false
}

// repeatRatio tries a ratio of columns that the answer uses for another row: after "630 of 840 finished (75 %)", it
// handles "Ethics is at 90 %".
func (r *resolver) repeatRatio(k int) *candidate {
	n := &r.numerals[k]
	tried := map[[3]int]bool{}
	for j := range r.found {
		c := r.found[j]
		if j == k || c == nil || c.over == nil || r.numerals[j].percent != n.percent ||
			r.numerals[j].currency != n.currency && !n.isFractional() {
			continue
		}
		for _, b := range r.bindings[k] {
			key := [3]int{c.table, c.over[0], c.over[1]}
			if b.table != c.table || len(b.rows) != 1 || tried[key] {
				continue
			}
			tried[key] = true
			row := int(b.rows[0])
			if out := r.tryPair(k, ratioOp, cellRef{
				c.table, row, c.over[0],
			}, cellRef{c.table, row, c.over[1]}, 0.85); out != nil && r.found[j].table == out.table {
				return out
			}
		}
	}
	return nil
}

// isFractional reports whether a number has decimal places and at least two digits.
func (n *numeral) isFractional() bool {
	return n.kind == number && !n.points && !n.times && n.sig >= 2 && n.readings[0].unit.Sign() > 0 &&
		n.readings[0].unit.Cmp(ratOne) < 0
}
