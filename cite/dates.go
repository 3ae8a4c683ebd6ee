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
				return &candidate{
					table: x.table, formula: formula, value: ratText(v), conf: 0.85 * q, rows: rowsOf(x, y),
				}
			}
		}
	}
	return nil
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
