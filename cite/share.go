package cite

import (
	"math/big"
	"slices"
	"strings"
)

// Shares of a column, ratios within a row, and what a part leaves of its whole.

// shareOf: a cell as a percentage of its column.
func (r *resolver) shareOf(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent || r.isChange(n) || r.isRest(n) || r.parallel(k) {
		return nil
	}
	for _, b := range r.bindings[k] {
		if len(b.rows) != 1 || !r.tables[b.table].whole {
			continue
		}
		a := r.activity(k, 1)
		cols, _ := r.numericColumns(k, b.table)
		cols = r.outdated(n, b.table, append(r.activeColumns(k, b.table, a), cols...))
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

// shareBeside: in "77,963 outstanding, or 12 % of receivables" the percentage is what the cell before it is of its
// column.
func (r *resolver) shareBeside(k int) *candidate {
	n := &r.numerals[k]
	if k == 0 || !n.percent || r.prose.low(n.to) != "of" || r.numeralBetween(n.to, min(n.to+4, len(r.prose.tokens))) {
		return nil
	}
	c, m := r.found[k-1], &r.numerals[k-1]
	if c == nil || c.formula != "" || m.percent || m.kind != number || c.conf < minConfidence || n.from-m.to > 4 ||
		!r.tables[c.table].whole || !r.strictly(k-1) {
		return nil
	}
	if w := r.prose.low(n.from - 1); w != "or" && w != "(" && w != "," {
		return nil
	}
	v, ok := cellRat(r.tables[c.table].rows[c.row][c.col])
	sum := r.totalOf(c.table, c.col).sum()
	if !ok || sum.Sign() == 0 || r.tables[c.table].cols[c.col].percent {
		return nil
	}
	share := new(big.Rat).Quo(v, sum)
	q, ok := n.fitsValue(share)
	if !ok {
		return nil
	}
	name := r.tables[c.table].cols[c.col].name
	return &candidate{
		table: c.table, formula: r.ref(c.table, c.row, name) + " / sum(" + r.ref(c.table, -1, name) + ")",
		value: ratText(share), conf: 0.8 * q, rows: []int32{int32(c.row)},
	}
}

// parallel: the other percentages of the sentence are cells, or ratios of two columns, so that this one is no share of
// a column: "25 % for A, 15 % for B".
func (r *resolver) parallel(k int) bool {
	s := r.prose.tokens[r.numerals[k].from].sentence
	same, other := 0, 0
	for j := max(0, k-6); j < min(len(r.numerals), k+7); j++ {
		c := r.found[j]
		if j == k || c == nil || !r.numerals[j].percent || r.prose.tokens[r.numerals[j].from].sentence != s ||
			len(r.bindings[j]) == 0 {
			continue
		}
		if strings.Contains(c.formula, "sum(") || strings.Contains(c.formula, " - ") {
			other++
		} else {
			same++
		}
	}
	return same > 1 && other == 0 || same == 1 && other == 0 && r.listedPercent(k)
}

// listedPercent: the percentage before this one is of the same list: only a label and small words stand between.
func (r *resolver) listedPercent(k int) bool {
	if k == 0 || !r.numerals[k-1].percent {
		return false
	}
	return r.numerals[k].from-r.numerals[k-1].to <= 7
}

// ratioOf: "10.03 of revenue per order".
func (r *resolver) ratioOf(k int) *candidate {
	n := &r.numerals[k]
	if n.percent || n.points {
		return nil
	}
	below := r.denominators(n)
	if len(below) == 0 && (!r.saysSentence(n, perCues) || n.sig < 3 && !r.says(n, perCues) || n.sig < 2) &&
		!((n.currency || n.unit.factor != nil) && r.averaged(n) && r.strictly(k)) {
		return nil
	}
	if !r.strictly(k) {
		if c := r.sumsRatio(k, below); c != nil {
			return c
		}
	}
	for _, row := range r.boundRows(k) {
		ys := below[row.table]
		xs := r.columnsNear(n, row.table)
		if len(ys) == 0 {
			if ys = xs; len(xs) < 2 || n.currency {
				xs = r.amounts(row.table)
			}
		} else if len(xs) <= len(ys) {
			xs = r.amounts(row.table)
		}
		for ci, c := range r.tables[row.table].cols[:min(len(r.tables[row.table].cols), maxColumns)] {
			if n.per.factor != nil && c.role == roleNumber && c.unit.dimension == n.per.dimension &&
				!slices.Contains(xs, ci) {
				xs = append(xs, ci) // cents of a column of euros, though nothing names it
			}
		}
		xs, ys = r.outdated(n, row.table, xs), r.outdated(n, row.table, ys)
		for _, x := range xs {
			for _, y := range ys {
				if x == y {
					continue
				}
				if c := r.try(k, ratioOp, cellRef{
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

// sumsRatio: "about 60 per ticket" of all of them.
func (r *resolver) sumsRatio(k int, below map[int][]int) *candidate {
	n := &r.numerals[k]
	for t := len(r.tables) - 1; t >= 0; t-- {
		if !r.tables[t].whole || len(r.tables[t].rows) < 2 {
			continue
		}
		for _, y := range below[t] {
			for _, x := range r.outdated(n, t, r.amounts(t)) {
				if x == y {
					continue
				}
				if c := r.divideTotals(k, ratioOp, t, x, y); c != nil {
					return c
				}
			}
		}
	}
	return nil
}

// denominators are the columns named right after "per", and those of which one is spoken of: "a session in Dresden
// draws 36 kWh".
func (r *resolver) denominators(n *numeral) map[int][]int {
	out := map[int][]int{}
	for _, m := range append(r.headerColumns(n), r.nearColumns(n)...) {
		if w := r.prose.low(m.from - 1); !perCues[w] && !r.oneOf(n, m) {
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

// headerColumns are the columns named in the header over a numeral of a table.
func (r *resolver) headerColumns(n *numeral) []*columnMention {
	p := r.prose
	b := &p.blocks[p.tokens[n.from].blck]
	if b.kind != tableRow || b.parent < 0 {
		return nil
	}
	from, to := p.headerCell(b.parent, p.cellOf(n.from))
	if from >= to {
		return nil
	}
	var out []*columnMention
	for _, m := range r.colBySentence[p.tokens[from].sentence] {
		if m.from >= from && m.to <= to {
			out = append(out, m)
		}
	}
	return out
}

// oneOf: "a ride", "each member's weekday ride", where a column counts rides.
func (r *resolver) oneOf(n *numeral, m *columnMention) bool {
	p := r.prose
	if m.to-m.from != 1 || m.to > n.from || strings.HasSuffix(p.low(m.from), "s") || r.numeralBetween(m.to, n.from) {
		return false
	}
	for i := m.from - 1; i >= max(0, m.from-5) && p.tokens[i].clause == p.tokens[m.from].clause; i-- {
		if before := p.low(i); before == "a" || before == "an" {
			for _, c := range m.cols {
				col := &r.tables[c.table].cols[c.col]
				if col.role == roleNumber && col.integer && len(col.words) == 1 && col.words[0] != col.name {
					return true // the column is called in the plural
				}
			}
			return false
		}
	}
	return false
}

// again tries the ratio of columns that the answer has used for another row: after "630 of 840 finished (75 %)",
// "Ethics is at 90 %".
func (r *resolver) again(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent && (!n.currency || n.sig < 3) && !n.fractional() || r.says(n, diffCues) && !r.isLevel(n) {
		return nil
	}
	tried := map[[3]int]bool{}
	for j := range r.found {
		c := r.found[j]
		if j == k || c == nil || c.over == nil || r.numerals[j].percent != n.percent ||
			r.numerals[j].currency != n.currency && !n.fractional() {
			continue
		}
		for _, b := range r.bindings[k] {
			key := [3]int{c.table, c.over[0], c.over[1]}
			if b.table != c.table || len(b.rows) != 1 || tried[key] {
				continue
			}
			tried[key] = true
			row := int(b.rows[0])
			if out := r.try(k, ratioOp, cellRef{
				c.table, row, c.over[0],
			}, cellRef{c.table, row, c.over[1]}, 0.85); out != nil && r.found[j].table == out.table {
				return out
			}
		}
	}
	return nil
}

// isLevel: "at 7.2", "a ratio of 4.7" are no differences.
func (r *resolver) isLevel(n *numeral) bool {
	w, before := r.wordBefore(n)
	return w == "at" || w == "of" && (before == "ratio" || before == "rate" || before == "average")
}

// fractional: written with a decimal point, in two digits or more.
func (n *numeral) fractional() bool {
	return n.kind == number && !n.points && !n.times && n.sig >= 2 && n.readings[0].unit.Sign() > 0 &&
		n.readings[0].unit.Cmp(ratOne) < 0
}

var lackVerbs = set(
	"lost failed missed lacked unpaid unsold empty vacant unused dropped incomplete missing outstanding open left " +
		"remaining unresolved rejected unfilled absent fehlen fehlten")

// complement: "5 of its 25 failed" when the row counts those who passed.
func (r *resolver) complement(k int) *candidate {
	n := &r.numerals[k]
	if n.percent || n.points || n.times || k+1 >= len(r.numerals) || !r.partOf(&r.numerals[k+1]) ||
		!r.says(&r.numerals[k+1], lackVerbs) {
		return nil
	}
	whole := r.found[k+1]
	if whole == nil || whole.formula != "" || !r.tables[whole.table].cols[whole.col].integer {
		return nil
	}
	cols := r.numbersOf(whole.table)
	for _, ci := range cols {
		if ci == whole.col || !r.tables[whole.table].cols[ci].integer {
			continue
		}
		if c := r.try(k, diffOp, cellRef{
			whole.table, whole.row, whole.col,
		}, cellRef{whole.table, whole.row, ci}, 0.75); c != nil {
			return c
		}
	}
	return nil
}
