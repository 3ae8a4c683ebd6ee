package cite

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// This file finds formulas with two cells: differences, ratios and growth.

// pairwise tries formulas with two cells, beginning with the pairs nearest to the numeral.
func (r *resolver) pairwise(k int) *candidate {
	ops := r.operations(k)
	if len(ops) == 0 {
		return nil
	}
	for back := range 3 {
		a := r.activity(k, back)
		far := 1 - 0.12*float64(back)
		for _, op := range ops {
			if c := r.pairRows(k, op, a, 0.85*far); c != nil {
				return c
			}
			if c := r.pairColumns(k, op, a, 0.8*far); c != nil {
				return c
			}
		}
		if len(a.rows) >= 2 && back == 0 {
			break // the sentence has its own pairs; other matches would be coincidences
		}
	}
	return nil
}

// meansShare reports whether the words suggest that a percentage is a share.
func (r *resolver) meansShare(k int) bool {
	n := &r.numerals[k]
	return r.prose.low(n.to) == "of" || r.hasCue(n, shareWords) || r.inTable(n) && len(r.labelsNear(n)) > 1
}

// pairRows pairs the named rows within each column that the sentence is about.
func (r *resolver) pairRows(k int, op operation, a active, conf float64) *candidate {
	if op.name == "ratio" && r.numerals[k].percent && !r.meansShare(k) {
		return nil
	}
	for i := range a.rows {
		for j := i + 1; j < len(a.rows); j++ {
			x, y := a.rows[i], a.rows[j]
			if x.table != y.table {
				continue
			}
			for _, ci := range r.activeColumns(k, x.table, a) {
				if c := r.tryPair(k, op, cellRef{x.table, x.col, ci}, cellRef{x.table, y.col, ci}, conf); c != nil {
					return c
				}
			}
		}
	}
	return nil
}

// pairColumns pairs two columns of one row, such as the amount spent and the budget, or this year and last year.
func (r *resolver) pairColumns(k int, op operation, a active, conf float64) *candidate {
	for _, row := range a.rows[:min(len(a.rows), 3)] {
		var named, all []int
		for ci, c := range r.tables[row.table].cols {
			if c.role != roleNumber || c.key || len(all) == maxColumns {
				continue
			}
			all = append(all, ci)
			if a.said[dim{row.table, ci}] || slices.Contains(a.cells, cellRef{row.table, row.col, ci}) {
				named = append(named, ci)
			}
		}
		if c := r.pairIn(k, op, row, named, named, conf); c != nil {
			return c
		}
		others := all
		if len(all) > 4 || len(named) > 1 {
			others = nil
			if op.name == "ratio" && r.numerals[k].percent && len(named) == 1 {
				others = r.wholesOf(row.table, named[0], all)
			}
		}
		if c := r.pairIn(k, op, row, named, others, conf-0.2); c != nil {
			return c
		}
	}
	return nil
}

// wholesOf returns the columns that can be the whole of a part, because no cell is smaller than the cell of the part.
func (r *resolver) wholesOf(t, part int, cols []int) []int {
	return slices.DeleteFunc(slices.Clone(cols), func(ci int) bool {
		rows := r.tables[t].rows
		if ci == part || !r.areComparable(t, part, ci) || len(rows) > maxNumbered || !r.spend(len(rows)) {
			return true
		}
		return false
	})
}

// pairIn tries an operation on all pairs of a column in as and another column in bs, within one row.
func (r *resolver) pairIn(k int, op operation, row dim, as, bs []int, conf float64) *candidate {
	for _, x := range as {
		for _, y := range bs {
			if x == y {
				continue
			}
			if c := r.tryPair(k, op, cellRef{row.table, row.col, x}, cellRef{row.table, row.col, y}, conf); c != nil {
				return c
			}
		}
	}
	return nil
}

// tryPair applies an operation to two cells, in the order that the words allow, and returns a candidate if the value
// fits.
func (r *resolver) tryPair(k int, op operation, x, y cellRef, conf float64) *candidate {
	n := &r.numerals[k]
	if !r.spend(2) || !r.mayFit(k, op, x, y) {
		return nil
	}
	a, ok1 := cellRat(r.tables[x.table].rows[x.row][x.col])
	b, ok2 := cellRat(r.tables[y.table].rows[y.row][y.col])
	if !ok1 || !ok2 || a.Cmp(b) == 0 && op.name != "ratio" {
		return nil
	}
	if n.points && !r.pointsFit(x, y) || !r.usesBoundRow(k, x, y) || op.name == "growth" && !r.canHaveChanged(n, x, y) {
		return nil
	}
	for range 2 {
		v := op.eval(a, b)
		wrong := v != nil && op.name == "growth" && r.contradictsDirection(n, v)
		if op.name == "diff" && v.Sign() < 0 {
			wrong = true // put the larger cell first; the words tell which one is ahead
		}
		if v != nil && !wrong {
			if q, ok := r.fitsDerived(n, v, x, y); ok &&
				!(op.name == "ratio" && n.times && !n.word && v.Cmp(ratOne) < 0) {
				c := &candidate{
					table: x.table, formula: fmt.Sprintf(op.text, r.refOf(x), r.refOf(y)), value: ratText(v),
					conf: conf * q, rows: rowsOf(x, y),
				}
				if op.name == "ratio" {
					n.convertFormula(c, v, &r.tables[x.table].cols[x.col], &r.tables[y.table].cols[y.col])
				}
				if op.name == "ratio" && x.table == y.table && x.row == y.row {
					c.over = []int{x.col, y.col}
				}
				return c
			}
		}
		a, b, x, y = b, a, y, x
	}
	return nil
}

// mayFit computes in floating point whether the operation can give the numeral. It saves the exact computation for
// pairs that cannot fit.
func (r *resolver) mayFit(k int, op operation, x, y cellRef) bool {
	if c := &r.tables[x.table].cols[x.col]; c.scale > 0 || r.numerals[k].rateConversion(c.unit) != nil ||
		r.numerals[k].subunit() {
		return true
	}
	a, ok1 := cellFloat(r.tables[x.table].rows[x.row][x.col])
	b, ok2 := cellFloat(r.tables[y.table].rows[y.row][y.col])
	if !ok1 || !ok2 {
		return false
	}
	values := []float64{a - b}
	switch op.name {
	case "ratio":
		values = []float64{a / b, b / a}
	case "growth":
		values = []float64{a/b - 1, b/a - 1}
	}
	slack := 1e-9
	if op.name == "diff" {
		slack *= math.Abs(a) + math.Abs(b)
	}
	for _, v := range values {
		for _, iv := range r.ranges[k] {
			if v = math.Abs(v); v >= iv[0]-slack && v <= iv[1]+slack {
				return true
			}
		}
	}
	return false
}

// usesBoundRow reports whether a formula uses a cell of the row that the text names. It also returns true if the text
// names no row.
func (r *resolver) usesBoundRow(k int, x, y cellRef) bool {
	for _, b := range r.bindings[k] {
		if b.strength < inherited || len(b.rows) != 1 {
			continue
		}
		if b.table == x.table && slices.Contains(b.rows, int32(x.row)) ||
			b.table == y.table && slices.Contains(b.rows, int32(y.row)) {
			return true
		}
		if b.table == x.table || b.table == y.table {
			return false
		}
	}
	return true
}

var (
	changeVerbs = set("grew grow grown rose risen rise fell fallen fall declined decline dropped drop shrank shrunk " +
		"increased decreased improved climbed jumped growth slipped slid surged soared plunged sank edged crept " +
		"expanded contracted doubled tripled halved went cut raised lowered")
	comparatives = set("than above below ahead behind over compared versus vs more less higher lower exceeded " +
		"exceeds fewer")
)

// canHaveChanged reports whether the words allow comparing two rows. A verb such as "grew" needs two rows of different
// times; "more than" compares any two rows.
func (r *resolver) canHaveChanged(n *numeral, x, y cellRef) bool {
	if x.table != y.table || x.row == y.row || !r.hasCue(n, changeVerbs) || r.hasCue(n, comparatives) {
		return true
	}
	tab := &r.tables[x.table]
	for ci, c := range tab.cols {
		if c.role == roleDate || c.role == roleNumber && c.key && !c.integerID() {
			return true
		}
		if c.role == roleText {
			if _, ok := cellDate(tab.rows[x.row][ci]); ok || hasAny(c.words, periodNames) {
				return true
			}
		}
	}
	return false
}

// pointsFit reports whether a difference of two cells can be in percentage points.
func (r *resolver) pointsFit(x, y cellRef) bool {
	return x.table == y.table && x.col == y.col ||
		r.tables[x.table].cols[x.col].percent && r.tables[y.table].cols[y.col].percent
}

// fitsDerived does the same as fitsValue for a value computed from cells x and y, whose units it converts into that of
// the numeral.
func (r *resolver) fitsDerived(n *numeral, v *big.Rat, x, y cellRef) (float64, bool) {
	if n.points && r.tables[x.table].cols[x.col].percent {
		if q, ok := n.fits(v, true); ok { // the cells already hold percentages
			return q, true
		}
	}
	if u := r.tables[x.table].cols[x.col].unit; n.rateConversion(u) != nil &&
		r.tables[y.table].cols[y.col].unit.dimension != u.dimension {
		return n.fits(new(big.Rat).Mul(v, n.rateConversion(u)), true) // "18 cents a kWh", "2 hours each"
	}
	if n.subunit() && x.col != y.col {
		return n.fits(new(big.Rat).Mul(v, ratHundred), true) // "53 cents a dollar"
	}
	return n.fitsValue(v)
}

// areSameKind reports whether both cells are counts or both are measures. A percentage relates two of the same kind,
// not for example days to pieces.
func (r *resolver) areSameKind(x, y cellRef) bool {
	a, b := &r.tables[x.table].cols[x.col], &r.tables[y.table].cols[y.col]
	return a.integer == b.integer
}
