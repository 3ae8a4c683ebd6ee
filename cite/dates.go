package cite

import (
	"fmt"
	"math/big"
)

// This file computes the time between two dates.

// daysOf computes the days or weeks between two dates, which are in one row or already cited in the text.
func (r *resolver) daysOf(k int) *candidate {
	n := &r.numerals[k]
	unit := timeUnits[r.prose.low(n.to)]
	if unit == 0 {
		return nil
	}
	var dates []cellRef
	for _, row := range r.boundRows(k) {
		for ci, c := range r.tables[row.table].cols {
			if c.role == roleDate {
				dates = append(dates, cellRef{row.table, row.col, ci})
			}
		}
	}
	for j := max(0, k-4); j < k; j++ {
		if c := r.found[j]; c != nil && c.formula == "" && r.tables[c.table].cols[c.col].role == roleDate {
			dates = append(dates, cellRef{c.table, c.row, c.col})
		}
	}
	if r.hasCue(n, firstWords) && r.hasCue(n, finalWords) {
		dates = append(dates, r.firstAndLast()...)
	}
	for i, x := range dates {
		for _, y := range dates[i+1:] {
			a, ok1 := r.timeOf(x)
			b, ok2 := r.timeOf(y)
			if !ok1 || !ok2 {
				continue
			}
			if a > b {
				x, y, a, b = y, x, b, a
			}
			v := big.NewRat(b-a, unit)
			if q, ok := n.fits(v, false); ok && b > a {
				formula := fmt.Sprintf("days(%s, %s)", r.refOf(x), r.refOf(y))
				if unit > 1 {
					formula += fmt.Sprintf(" / %d", unit)
				}
				return &candidate{
					table: x.table, formula: formula, value: ratText(v), conf: 0.85 * q, rows: rowsOf(x, y),
				}
			}
		}
	}
	return nil
}

var (
	firstWords = set("first oldest earliest")
	finalWords = set("last newest latest")
)

// firstAndLast returns the cells with the earliest and the latest date of each date column.
func (r *resolver) firstAndLast() []cellRef {
	var out []cellRef
	for t := range r.tables {
		for ci, c := range r.tables[t].cols {
			rows := r.tables[t].rows
			if c.role != roleDate || len(rows) < 2 || len(rows) > maxNumbered || !r.tables[t].whole ||
				!r.spend(len(rows)) {
				continue
			}
			first, last := cellRef{t, -1, ci}, cellRef{t, -1, ci}
			var low, high int64
			for ri := range rows {
				at, ok := r.timeOf(cellRef{t, ri, ci})
				if ok && (first.row < 0 || at < low) {
					first.row, low = ri, at
				}
				if ok && (last.row < 0 || at > high) {
					last.row, high = ri, at
				}
			}
			if first.row >= 0 {
				out = append(out, first, last)
			}
		}
	}
	return out
}

// timeOf returns a date cell as the number of days since 1970.
func (r *resolver) timeOf(c cellRef) (int64, bool) {
	d, ok := cellDate(r.tables[c.table].rows[c.row][c.col])
	if !ok {
		return 0, false
	}
	t, ok := d.time()
	return t.Unix() / 86400, ok
}
