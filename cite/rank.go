package cite

import (
	"fmt"
	"strconv"
)

// This file resolves ranks.

// resolveRank checks a rank against the order of the values, or of the rows if the query orders them.
func (r *resolver) resolveRank(k int) {
	n := &r.numerals[k]
	if len(n.readings) == 0 || !n.readings[0].val.IsInt() || !n.readings[0].val.Num().IsInt64() {
		return
	}
	rank := int(n.readings[0].val.Num().Int64())
	n.quiet = false
	cb := r.columnsOf[k]
	for _, b := range r.bindings[k] {
		if len(b.rows) != 1 || b.strength == carried && !n.hash {
			continue
		}
		t, row := &r.tables[b.table], int(b.rows[0])
		ci := r.rankColumn(b.table, cb)
		if ci >= 0 {
			formula := ""
			switch {
			case r.rankBy(b.table, row, ci, true) == rank:
				formula = fmt.Sprintf("rank(%s)", r.ref(b.table, row, t.cols[ci].name))
			case r.hasCue(n, minCues) && r.rankBy(b.table, row, ci, false) == rank:
				formula = fmt.Sprintf("rank(%s, ascending)", r.ref(b.table, row, t.cols[ci].name))
			}
			if formula != "" {
				r.offer(k, &candidate{
					table: b.table, formula: formula, value: strconv.Itoa(rank), conf: 0.8, rows: b.rows,
				})
			}
		}
		if r.found[k] == nil && t.ordered && row+1 == rank {
			r.offer(k, &candidate{
				table: b.table, formula: fmt.Sprintf("row(%s[%d])", t.id, row), value: strconv.Itoa(rank), conf: 0.85,
				rows: b.rows,
			})
		}
		if r.found[k] == nil && r.reasons[k] == "" {
			r.reasons[k] = fmt.Sprintf("%s is not number %d", r.rowName(b.table, row), rank)
		}
	}
	if len(r.bindings[k]) == 0 {
		r.offer(k, r.echoNumber(n))
		n.quiet = true
	}
}

// rankColumn returns the numeric column that the text names, or -1.
func (r *resolver) rankColumn(t int, cb columnBinding) int {
	for _, c := range cb.cols {
		if c.table == t && r.tables[t].cols[c.col].role == roleNumber {
			return c.col
		}
	}
	return -1
}

// rankBy returns the 1-based rank of a row by a column, or -1 if it has none.
func (r *resolver) rankBy(t, row, ci int, descending bool) int {
	v, ok := cellFloat(r.tables[t].rows[row][ci])
	if !ok || !r.spend(len(r.tables[t].rows)) {
		return -1
	}
	rank := 1
	for i := range r.tables[t].rows {
		if f, ok := cellFloat(r.tables[t].rows[i][ci]); ok && (descending && f > v || !descending && f < v) {
			rank++
		}
	}
	return rank
}
