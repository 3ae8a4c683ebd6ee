package cite

import (
	"fmt"
	"strconv"
)

// Ranks, checked against the order of the values.

// ranked checks a rank against the order of the rows and of their values.
func (r *resolver) ranked(k int) {
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
		for ci := range t.cols {
			if t.cols[ci].role != roleNumber {
				continue
			}
			if v, ok := cellRat(t.rows[row][ci]); ok && isRankColumn(t.cols[ci].words) &&
				v.Cmp(n.readings[0].val) == 0 {
				r.better(k, r.cell(b.table, row, ci, 1))
			}
		}
		ci, certain := r.measure(b.table, cb)
		if ci >= 0 {
			conf, formula := 0.8, ""
			if certain {
				conf = 0.95
			}
			switch {
			case r.rankBy(b.table, row, ci, true) == rank:
				formula = fmt.Sprintf("rank(%s)", r.ref(b.table, row, t.cols[ci].name))
			case r.says(n, minCues) && r.rankBy(b.table, row, ci, false) == rank:
				formula = fmt.Sprintf("rank(%s, ascending)", r.ref(b.table, row, t.cols[ci].name))
			}
			if formula != "" {
				r.better(k, &candidate{
					table: b.table, formula: formula, value: strconv.Itoa(rank), conf: conf, rows: b.rows,
				})
			}
		}
		if r.found[k] == nil && t.ordered && row+1 == rank {
			r.better(k, &candidate{
				table: b.table, formula: fmt.Sprintf("row(%s[%d])", t.id, row), value: strconv.Itoa(rank), conf: 0.85,
				rows: b.rows,
			})
		}
		if r.found[k] == nil && r.reasons[k] == "" {
			r.reasons[k] = fmt.Sprintf("%s is not number %d", r.rowName(b.table, row), rank)
		}
	}
	if len(r.bindings[k]) == 0 {
		r.better(k, r.echoNumber(n))
		n.quiet = true
	}
}

func isRankColumn(name []string) bool {
	for _, w := range name {
		if w == "rank" || w == "position" || w == "place" || w == "rang" {
			return true
		}
	}
	return false
}

// measure is the column a rank goes by: the one named, or the first that is not a key.
func (r *resolver) measure(t int, cb columnBinding) (int, bool) {
	for _, c := range cb.cols {
		if c.table == t && r.tables[t].cols[c.col].role == roleNumber {
			return c.col, true
		}
	}
	first, n := -1, 0
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key {
			if first < 0 {
				first = ci
			}
			n++
		}
	}
	return first, n == 1
}

// rankBy is the 1-based rank of a row by a column.
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
