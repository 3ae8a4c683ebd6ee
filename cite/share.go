package cite

import (
	"math/big"
)

// Shares of a column, ratios within a row, and what a part leaves of its whole.

// shareOf: a cell as a percentage of its column.
func (r *resolver) shareOf(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent {
		return nil
	}
	for _, b := range r.bindings[k] {
		if len(b.rows) != 1 || !r.tables[b.table].whole {
			continue
		}
		a := r.activity(k, 1)
		cols, _ := r.numericColumns(k, b.table)
		cols = append(r.activeColumns(k, b.table, a), cols...)
		for _, ci := range cols {
			v, ok := cellRat(r.tables[b.table].rows[b.rows[0]][ci])
			sum := r.totalOf(b.table, ci).sum()
			if !ok || sum.Sign() == 0 || r.tables[b.table].cols[ci].percent {
				continue
			}
			share := new(big.Rat).Quo(v, sum)
			if q, ok := n.fitsValue(share); ok {
				name := r.tables[b.table].cols[ci].name
				return &candidate{table: b.table, formula: r.ref(b.table, int(b.rows[0]), name) + " / sum(" + r.ref(b.table, -1, name) + ")", value: ratText(share), conf: 0.8 * q, rows: b.rows}
			}
		}
	}
	return nil
}

// ratioOf: "10.03 of revenue per order".
func (r *resolver) ratioOf(k int) *candidate {
	n := &r.numerals[k]
	if n.percent || n.points || !r.saysSentence(n, perCues) && !(n.currency && r.averaged(n) && r.strictly(k)) {
		return nil
	}
	below := r.denominators(n)
	for _, row := range r.boundRows(k) {
		ys := below[row.table]
		xs := r.columnsNear(n, row.table)
		if len(ys) == 0 {
			if ys = xs; len(xs) < 2 || n.currency {
				xs = r.numbersOf(row.table)
			}
		} else if len(xs) <= len(ys) {
			xs = r.numbersOf(row.table)
		}
		for _, x := range xs {
			for _, y := range ys {
				if x == y {
					continue
				}
				if c := r.try(k, ratioOp, cellRef{row.table, row.col, x}, cellRef{row.table, row.col, y}, 0.75); c != nil {
					return c
				}
			}
		}
	}
	a := r.activity(k, 0)
	return r.pairRows(k, ratioOp, a, 0.7)
}

// denominators are the columns named right after "per".
func (r *resolver) denominators(n *numeral) map[int][]int {
	out := map[int][]int{}
	for _, m := range r.nearColumns(n) {
		if !perCues[r.prose.low(m.from-1)] {
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

// again tries the ratio of columns that the answer has used for another row:
// after "630 of 840 finished (75 %)", "Ethics is at 90 %".
func (r *resolver) again(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent || r.says(n, diffCues) {
		return nil
	}
	tried := map[[3]int]bool{}
	for j := range r.found {
		c := r.found[j]
		if j == k || c == nil || c.over == nil || !r.numerals[j].percent {
			continue
		}
		for _, b := range r.bindings[k] {
			key := [3]int{c.table, c.over[0], c.over[1]}
			if b.table != c.table || len(b.rows) != 1 || tried[key] {
				continue
			}
			tried[key] = true
			row := int(b.rows[0])
			if out := r.try(k, ratioOp, cellRef{c.table, row, c.over[0]}, cellRef{c.table, row, c.over[1]}, 0.85); out != nil && r.found[j].table == out.table {
				return out
			}
		}
	}
	return nil
}

var lackVerbs = set("failed missed lacked unpaid unsold empty vacant unused dropped incomplete missing outstanding open left remaining unresolved rejected unfilled absent fehlen fehlten")

// complement: "5 of its 25 failed" when the row counts those who passed.
func (r *resolver) complement(k int) *candidate {
	n := &r.numerals[k]
	if n.percent || n.points || n.times || k+1 >= len(r.numerals) || !r.partOf(&r.numerals[k+1]) || !r.says(&r.numerals[k+1], lackVerbs) {
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
		if c := r.try(k, diffOp, cellRef{whole.table, whole.row, whole.col}, cellRef{whole.table, whole.row, ci}, 0.75); c != nil {
			return c
		}
	}
	return nil
}
