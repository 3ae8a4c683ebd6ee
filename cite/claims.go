package cite

import (
	"math"
	"math/big"
	"strings"
)

// This file finds formulas with figures that the sentence itself states, which can be cells or sums: "76 of 527 left,
// 14.4 %", "from 2.22 to 2.31 million, up 4 %".

// claim is a resolved figure of the sentence.
type claim struct {
	k   int // numeral
	c   *candidate
	val *big.Rat
}

// claims returns the resolved figures of a numeral's sentence and of the back sentences before it, nearest first.
func (r *resolver) claims(k, back int) []claim {
	p := r.prose
	s := p.tokens[r.numerals[k].from].sentence
	var out []claim
	for step := 1; step <= 8; step++ {
		for _, j := range []int{k - step, k + step} {
			if j < 0 || j >= len(r.numerals) {
				continue
			}
			d := s - p.tokens[r.numerals[j].from].sentence
			c := r.found[j]
			if d < 0 || d > back || c == nil || c.conf < minConfidence || c.table < 0 || r.numerals[j].kind != number ||
				!r.isAmount(c) {
				continue
			}
			if v, ok := parseRat(c.value); ok {
				out = append(out, claim{j, c, v})
			}
		}
	}
	return out
}

// isAmount reports whether the candidate is an amount rather than a rank, a repetition or a label.
func (r *resolver) isAmount(c *candidate) bool {
	if c.formula == "" {
		col := &r.tables[c.table].cols[c.col]
		return col.role == roleNumber && !(col.key && col.integerID())
	}
	if strings.Contains(c.formula, " - ") {
		return false // do not derive further figures from a difference
	}
	return strings.Contains(c.formula, "[") || strings.HasPrefix(c.formula, "sum(") ||
		strings.HasPrefix(c.formula, "count(") || strings.HasPrefix(c.formula, "avg(")
}

// termFor returns a claim as part of a formula.
func (r *resolver) termFor(c *candidate) string {
	switch {
	case c.formula == "":
		return r.refOf(cellRef{c.table, c.row, c.col})
	case strings.Contains(c.formula, " "):
		return "(" + c.formula + ")"
	}
	return c.formula
}

// fromClaims tries the operations that the words suggest on two figures of the sentence. It skips pairs of cells in one
// row or column, which pairwise handles.
func (r *resolver) fromClaims(k int) *candidate {
	n := &r.numerals[k]
	if n.points {
		return nil
	}
	ops := r.operations(k)
	each := !n.percent && !n.times && r.isPerUnit(n)
	if each {
		ops = append(ops, ratioOp)
	}
	cs := r.claims(k, 0)
	for i := range cs {
		for j := i + 1; j < len(cs) && r.spend(1); j++ {
			x, y := cs[i], cs[j]
			if r.numerals[x.k].percent || r.numerals[y.k].percent {
				continue
			}
			paired := r.pairedCells(x, y)
			for _, op := range ops {
				if paired && !(each && op.name == "ratio" && x.c.row == y.c.row &&
					r.usesBoundRow(k, x.c.ref(), y.c.ref())) {
					continue
				}
				if c := r.combine(k, op, x, y); c != nil {
					return c
				}
			}
		}
	}
	return nil
}

// shareOfNext handles "535,000 m³, a quarter of the 2.14 million m³ supplied", where the whole is the following number.
// final is true if no other formula may explain the numeral.
func (r *resolver) shareOfNext(k int) (c *candidate, final bool) {
	n := &r.numerals[k]
	if !n.percent || k+1 >= len(r.numerals) || !r.isPart(n) {
		return nil, false
	}
	whole := r.found[k+1]
	if whole == nil || whole.formula != "" || r.numerals[k+1].kind != number || whole.conf < minConfidence {
		return nil, false
	}
	for _, ci := range r.fewAmounts(whole.table) {
		if c := r.tryPair(k, ratioOp, cellRef{
			whole.table, whole.row, ci,
		}, cellRef{whole.table, whole.row, whole.col}, 0.75); c != nil && ci != whole.col {
			return c, true
		}
	}
	return nil, r.isWhole(&r.numerals[k+1])
}

// bracketedShare handles "512 of 640 hours spent (80 %)": the percentage follows from the two numbers, even if a
// neighbouring cell is 80.
func (r *resolver) bracketedShare(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent || k < 2 || r.prose.low(n.from-1) != "(" || !r.isWhole(&r.numerals[k-1]) {
		return nil
	}
	a, b := r.found[k-2], r.found[k-1]
	if a == nil || b == nil || a.formula != "" || b.formula != "" || n.from-r.numerals[k-1].to > 6 {
		return nil
	}
	x, ok1 := parseRat(a.value)
	y, ok2 := parseRat(b.value)
	if !ok1 || !ok2 {
		return nil
	}
	c := r.combine(k, ratioOp, claim{k - 2, a, x}, claim{k - 1, b, y})
	if c != nil && !r.isRatioColumn(r.found[k], a, b) {
		c.conf, c.rows = 1, rowsOf(cellRef{a.table, a.row, a.col}, cellRef{b.table, b.row, b.col})
		if a.table == b.table && a.row == b.row {
			c.over = []int{a.col, b.col}
		}
		return c
	}
	return nil
}

// shareOfWhich handles "91,980, of which Sevilla 52 %": a share of the preceding figure. final is true if no other
// formula may explain the numeral.
func (r *resolver) shareOfWhich(k int) (c *candidate, final bool) {
	n := &r.numerals[k]
	if !n.percent {
		return nil, false
	}
	p := r.prose
	for _, x := range r.claims(k, 0) {
		m := &r.numerals[x.k]
		if x.k > k || m.percent || x.c.measure == nil {
			continue
		}
		found := false
		for i := m.to; i+1 < n.from; i++ {
			found = found || p.low(i) == "of" && (p.low(i+1) == "which" || p.low(i+1) == "that" || p.low(i+1) == "it")
		}
		if !found {
			continue
		}
		for _, row := range r.boundRows(k) {
			for ci := range r.tables[row.table].cols {
				if row.table != x.c.table || &r.tables[row.table].cols[ci] != x.c.measure {
					continue
				}
				if x.c.formula == "" && x.c.row == row.col {
					return nil, false // the same row: a share of another column
				}
				part := r.cell(row.table, row.col, ci, 1)
				if v, ok := parseRat(part.value); ok {
					return r.combine(k, ratioOp, claim{x.k - 1, part, v}, x), true
				}
			}
		}
		return nil, false
	}
	return nil, false
}

// isRatioColumn reports whether a matching cell belongs to a column that is the ratio of the two others in every row,
// such as occupancy with occupied and beds.
func (r *resolver) isRatioColumn(c, a, b *candidate) bool {
	if c == nil || c.formula != "" || c.table != a.table || c.table != b.table {
		return false
	}
	for i, row := range r.tables[c.table].rows {
		x, ok1 := cellFloat(row[a.col])
		y, ok2 := cellFloat(row[b.col])
		v, ok3 := cellFloat(row[c.col])
		if i == 20 {
			break
		}
		if !ok1 || !ok2 || !ok3 || y == 0 {
			continue
		}
		if d := math.Abs(v - x/y); d > 0.006 && math.Abs(v-100*x/y) > 0.6 {
			return false
		}
	}
	return true
}

func (c *candidate) ref() cellRef { return cellRef{c.table, c.row, c.col} }

// pairedCells reports whether both claims are cells of one row or column, which pairwise handles.
func (r *resolver) pairedCells(x, y claim) bool {
	a, b := x.c, y.c
	if a.formula != "" || b.formula != "" || a.table != b.table {
		return false
	}
	return a.row == b.row || a.col == b.col || !r.isFromTo(x.k, y.k)
}

// isFromTo recognises "from 8.4 M at the start to 11.35 M at the end".
func (r *resolver) isFromTo(j, k int) bool {
	if j > k {
		j, k = k, j
	}
	w, _ := r.wordBefore(&r.numerals[k])
	v, _ := r.wordBefore(&r.numerals[j])
	return v == "from" && (w == "to" || reachWords[w])
}

// fromToChange handles a change directly after "from 98,300 to 171,600", which is the change between these two numbers.
// final is true if no other formula may explain the numeral.
func (r *resolver) fromToChange(k int) (c *candidate, final bool) {
	n := &r.numerals[k]
	p := r.prose
	if k < 2 || !n.percent || p.low(n.to) == "of" || p.low(n.from-1) != "(" && !r.isChange(n) {
		return nil, false
	}
	a, b := &r.numerals[k-2], &r.numerals[k-1]
	if !r.isFromTo(k-2, k-1) || n.from-b.to > 8 || b.from-a.to > 12 ||
		p.tokens[a.from].sentence != p.tokens[n.from].sentence {
		return nil, false
	}
	cs := r.claims(k, 0)
	var x, y *claim
	for i := range cs {
		switch cs[i].k {
		case k - 2:
			x = &cs[i]
		case k - 1:
			y = &cs[i]
		}
	}
	if x == nil || y == nil {
		return nil, false
	}
	if c := r.combine(k, growthOp, *x, *y); c != nil {
		return c, true
	}
	return nil, n.sign != 0 || r.isChange(n)
}

// combine applies an operation to two claims. The words decide whether the later or the smaller one comes first.
func (r *resolver) combine(k int, op operation, x, y claim) *candidate {
	n := &r.numerals[k]
	if x.k > y.k {
		x, y = y, x
	}
	if op.name == "ratio" && (n.percent && x.val.Cmp(y.val) > 0 || n.times && x.val.Cmp(y.val) < 0) ||
		op.name == "growth" && x.k < y.k || op.name == "diff" && x.val.Cmp(y.val) < 0 {
		x, y = y, x // a share begins with the part, growth with the later figure, a difference with the larger one
	}
	if dim := n.rateDimension(); op.name == "ratio" && dim != "" && measuredIn(y.c, dim) && !measuredIn(x.c, dim) {
		x, y = y, x // hours divided by pieces, whichever comes first
	}
	v := op.eval(x.val, y.val)
	if strings.HasPrefix(x.c.formula, "count(") != strings.HasPrefix(y.c.formula, "count(") {
		return nil // a number of rows divided by an amount
	}
	if v == nil || v.Sign() == 0 || op.name == "growth" && r.contradictsDirection(n, v) {
		return nil
	}
	q, ok := n.fitsMeasured(v, op, x.c, y.c)
	if !ok {
		return nil
	}
	formula := strings.Replace(strings.Replace(op.text, "%s", r.termFor(x.c), 1), "%s", r.termFor(y.c), 1)
	c := &candidate{table: x.c.table, formula: formula, value: ratText(v), conf: 0.8 * q}
	if op.name == "ratio" && x.c.measure != nil && y.c.measure != nil {
		n.convertFormula(c, v, x.c.measure, y.c.measure)
	}
	return c
}

// fitsMeasured does the same as fitsValue, but converts the units and scales of amounts: a difference of two amounts in
// one unit, or an amount in thousands divided by pieces.
func (n *numeral) fitsMeasured(v *big.Rat, op operation, x, y *candidate) (float64, bool) {
	a, b := x.measure, y.measure
	switch {
	case a == nil || b == nil || n.percent || n.points || n.times:
	case op.name == "diff" && a.unit.dimension == b.unit.dimension && a.scale == b.scale:
		return n.fitsColumn(v, a, true)
	case op.name == "ratio" && n.subunit() && a.unit.factor == nil:
		return n.fits(new(big.Rat).Mul(v, ratHundred), true)
	case op.name == "ratio" && n.rateConversion(a.unit) != nil && b.unit.dimension != a.unit.dimension:
		return n.fits(new(big.Rat).Mul(v, n.rateConversion(a.unit)), true) // "2 hours each" from a column of minutes
	case op.name == "ratio" && a.scale > b.scale:
		return n.fits(new(big.Rat).Mul(v, pow10(a.scale-b.scale)), true)
	}
	return n.fitsValue(v)
}

// contradictsDirection reports whether the words contradict the direction of a change.
func (r *resolver) contradictsDirection(n *numeral, v *big.Rat) bool {
	up, down := r.hasCue(n, upCues) || n.sign > 0, r.hasCue(n, downCues) || n.sign < 0
	return v.Sign() > 0 && (down && !up || n.sign < 0) || v.Sign() < 0 && (up && !down || !down && n.sign >= 0)
}

// isPerUnit recognises "60 per ticket" and "earns 4.00 a ride".
func (r *resolver) isPerUnit(n *numeral) bool {
	for i := n.to; i < n.to+5; i++ {
		if perCues[r.prose.low(i)] {
			return true
		}
	}
	return r.saysAverage(n) || len(r.denominators(n)) > 0
}

// withoutCue tries pairs of columns of the named row even if no word suggests an operation. It requires that a match by
// chance is unlikely: at least three digits and few columns.
func (r *resolver) withoutCue(k int) *candidate {
	n := &r.numerals[k]
	if n.times || n.points || r.isRemainder(n) || !r.namesRow(k) || r.unitNamesOneColumn(n) && !n.percent &&
		!r.saysDifference(n) {
		return nil
	}
	op := diffOp
	if n.percent {
		op = ratioOp
		if r.isChange(n) {
			op = growthOp
		}
	}
	for _, row := range r.boundRows(k) {
		if !n.percent && r.isBoundToOneColumn(k, row) {
			continue
		}
		var cols []int
		for ci, c := range r.tables[row.table].cols {
			if c.role == roleNumber && !c.key && !c.percent && len(cols) < maxColumns {
				cols = append(cols, ci)
			}
		}
		if !n.isDistinctive() && (!n.percent || len(cols) > 2) || n.scaled && n.sig < 4 {
			continue
		}
		for i, x := range cols {
			for _, y := range cols[i+1:] {
				if !r.areComparable(row.table, x, y) {
					continue
				}
				if c := r.tryPair(k, op, cellRef{row.table, row.col, x}, cellRef{row.table, row.col, y},
					0.62); c != nil {
					return c
				}
			}
		}
	}
	return nil
}

// isBoundToOneColumn reports whether the text names the column of the number, or a cell of the row already equals the
// number.
func (r *resolver) isBoundToOneColumn(k int, row dim) bool {
	if cb := r.columnsOf[k]; cb.strong && len(boundColumns(cb, row.table)) == 1 {
		return true
	}
	for _, h := range r.hits[k] {
		if h.table == row.table && h.row == row.col {
			return true
		}
	}
	return false
}

// isDistinctive reports whether the number has at least three digits as written, so that a chance match is unlikely.
func (n *numeral) isDistinctive() bool {
	return n.sig >= 3 ||
		n.hedge == exactly && !n.scaled && !n.word && !n.percent && n.readings[0].val.Cmp(ratHundred) >= 0
}

// unitNamesOneColumn reports whether the noun after the number names exactly one column.
func (r *resolver) unitNamesOneColumn(n *numeral) bool {
	for _, m := range r.nearColumns(n) {
		if m.from >= n.to && r.unitOf(n, m) && len(m.cols) == 1 {
			return true
		}
	}
	return false
}

// areComparable reports whether the difference or ratio of two columns is meaningful.
func (r *resolver) areComparable(t, x, y int) bool {
	a, b := &r.tables[t].cols[x], &r.tables[t].cols[y]
	return a.integer == b.integer && a.unit.dimension == b.unit.dimension && a.scale == b.scale
}

// isChange reports whether the text presents the percentage as a change.
func (r *resolver) isChange(n *numeral) bool {
	w, before := r.wordBefore(n)
	return n.sign > 0 || r.isChangedBy(n) || r.isComparison(n) || w == "of" && changeNouns[before] ||
		riseWords[w] && !makeVerbs[before]
}

var makeVerbs = set("make makes made making")

var changeNouns = set("increase decrease rise fall drop decline growth gain loss jump reduction change improvement")
