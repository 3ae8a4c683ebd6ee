package cite

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// Formulas of two cells: differences, ratios and growth.

// pairwise tries formulas of two cells, from the nearest pairs to the furthest.
func (r *resolver) pairwise(k int) *candidate {
	ops := r.operations(k)
	if len(ops) == 0 {
		return nil
	}
	for back := range 3 {
		a := r.activity(k, back)
		far := 1 - 0.12*float64(back)
		for _, op := range ops {
			if c := r.pairCells(k, op, a, 0.9*far); c != nil {
				return c
			}
			if c := r.pairRows(k, op, a, 0.85*far); c != nil {
				return c
			}
			if c := r.pairColumns(k, op, a, 0.8*far); c != nil {
				return c
			}
			if c := r.pairTables(k, op, a, 0.8*far); c != nil {
				return c
			}
		}
		if len(a.rows) >= 2 && back == 0 {
			break // the sentence has its own pairs; others would be chance
		}
	}
	return r.neighbours(k, ops)
}

// pairCells pairs cells already found in the text that differ in row or column.
func (r *resolver) pairCells(k int, op operation, a active, conf float64) *candidate {
	for i := 0; i < len(a.cells) && i < 6; i++ {
		for j := i + 1; j < len(a.cells) && j < 6; j++ {
			x, y := a.cells[i], a.cells[j]
			sameCol := x.col == y.col && x.table == y.table
			sameRow := x.row == y.row && x.table == y.table
			if sameCol == sameRow && x.table == y.table ||
				op.name == "ratio" && r.numerals[k].percent && sameCol && !r.shareTalk(k) {
				continue
			}
			if c := r.try(k, op, x, y, conf); c != nil {
				return c
			}
		}
	}
	return nil
}

func (r *resolver) shareTalk(k int) bool {
	n := &r.numerals[k]
	return r.prose.low(n.to) == "of" || r.says(n, shareWords) || r.inTable(n) && len(r.near(n)) > 1
}

// pairRows pairs the named rows in the columns the sentence is about.
func (r *resolver) pairRows(k int, op operation, a active, conf float64) *candidate {
	if op.name == "ratio" && r.numerals[k].percent && !r.shareTalk(k) {
		return nil
	}
	for i := range a.rows {
		for j := i + 1; j < len(a.rows); j++ {
			x, y := a.rows[i], a.rows[j]
			if x.table != y.table {
				continue
			}
			for _, ci := range r.activeColumns(k, x.table, a) {
				if c := r.try(k, op, cellRef{x.table, x.col, ci}, cellRef{x.table, y.col, ci}, conf); c != nil {
					return c
				}
			}
		}
	}
	return nil
}

// pairColumns pairs two columns of one row: spent of budget, this year and last.
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
		if y := r.limitBehind(&r.numerals[k], row.table); y >= 0 && op.name == "diff" {
			if c := r.pairIn(k, op, row, []int{y}, r.comparableWith(row.table, y, all), conf-0.1); c != nil {
				return c
			}
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

// limitBehind is the column after "short of", "below", "above" behind a numeral: "169 units short of its reorder
// point"; -1 when there is none.
func (r *resolver) limitBehind(n *numeral, t int) int {
	p := r.prose
	for _, m := range r.nearColumns(n) {
		if m.from < n.to || m.from > n.to+7 || len(m.cols) != 1 || m.cols[0].table != t ||
			r.numeralBetween(n.to, m.from) {
			continue
		}
		i := m.from - 1
		for i > n.to && articles[p.low(i)] {
			i--
		}
		switch w := p.low(i); {
		case w == "of" && p.low(i-1) == "short", w == "below", w == "above", w == "under", w == "over":
			return m.cols[0].col
		}
	}
	return -1
}

func (r *resolver) comparableWith(t, y int, cols []int) []int {
	return slices.DeleteFunc(slices.Clone(cols), func(x int) bool { return x == y || !r.comparableColumns(t, x, y) })
}

// wholesOf are the columns that a column can be a part of: nowhere less than it.
func (r *resolver) wholesOf(t, part int, cols []int) []int {
	return slices.DeleteFunc(slices.Clone(cols), func(ci int) bool {
		rows := r.tables[t].rows
		if ci == part || !r.comparableColumns(t, part, ci) || len(rows) > maxNumbered || !r.spend(len(rows)) {
			return true
		}
		for _, row := range rows {
			a, ok1 := cellFloat(row[part])
			b, ok2 := cellFloat(row[ci])
			if !ok1 || !ok2 || a > b {
				return true
			}
		}
		return false
	})
}

func (r *resolver) pairIn(k int, op operation, row dim, as, bs []int, conf float64) *candidate {
	for _, x := range as {
		for _, y := range bs {
			if x == y {
				continue
			}
			if c := r.try(k, op, cellRef{row.table, row.col, x}, cellRef{row.table, row.col, y}, conf); c != nil {
				return c
			}
		}
	}
	return nil
}

// pairTables pairs the rows of one name in two results: this year's and last year's query.
func (r *resolver) pairTables(k int, op operation, a active, conf float64) *candidate {
	for _, x := range a.rows {
		for _, y := range a.rows {
			if x.table <= y.table || r.rowName(x.table, x.col) != r.rowName(y.table, y.col) {
				continue
			}
			for xi, xc := range r.tables[x.table].cols {
				for yi, yc := range r.tables[y.table].cols {
					if xc.role != roleNumber || yc.role != roleNumber || op.name != "ratio" && xc.name != yc.name ||
						xi > maxColumns || yi > maxColumns {
						continue
					}
					if c := r.try(k, op, cellRef{x.table, x.col, xi}, cellRef{y.table, y.col, yi}, conf); c != nil {
						return c
					}
				}
			}
		}
	}
	return nil
}

// neighbours pairs the bound row with the one before it, or the last with the first, in a series by date.
func (r *resolver) neighbours(k int, ops []operation) *candidate {
	n := &r.numerals[k]
	for t := len(r.tables) - 1; t >= 0; t-- {
		if !r.series(t) && !r.panel(k, t) {
			continue
		}
		last := len(r.tables[t].rows) - 1
		pairs := [][2]int{{last, 0}}
		if b := r.bindingOf(k, t); b != nil {
			pairs = nil
			if len(b.rows) == 1 {
				if prev := r.periodBefore(t, int(b.rows[0])); prev >= 0 {
					pairs = [][2]int{{int(b.rows[0]), prev}}
				} else if b.rows[0] > 0 {
					pairs = [][2]int{{int(b.rows[0]), int(b.rows[0]) - 1}}
				}
			}
		}
		for _, pair := range pairs {
			for _, op := range ops {
				if op.name == "ratio" && n.percent {
					continue
				}
				cols, bound := r.numericColumns(k, t)
				if !bound && len(cols) > 2 {
					if cols = r.besideColumn(k, t); cols == nil {
						continue
					}
				}
				for _, ci := range cols {
					if c := r.try(k, op, cellRef{t, pair[0], ci}, cellRef{t, pair[1], ci}, 0.65); c != nil {
						return c
					}
				}
			}
		}
	}
	return nil
}

// besideColumn is the column of the nearest figure of the sentence.
func (r *resolver) besideColumn(k, t int) []int {
	for _, c := range r.claims(k, 0) {
		if c.c.formula == "" && c.c.table == t {
			return []int{c.c.col}
		}
	}
	return nil
}

// series reports whether a result is ordered by a date.
func (r *resolver) series(t int) bool {
	tab := &r.tables[t]
	if len(tab.rows) < 2 || len(tab.cols) == 0 {
		return false
	}
	if tab.cols[0].role == roleDate || tab.cols[0].key && tab.cols[0].role == roleNumber && tab.ordered {
		return true
	}
	if tab.cols[0].role != roleText {
		return false
	}
	if hasAny(tab.cols[0].words, periodNames) && tab.cols[0].unique && tab.ordered {
		return true
	}
	_, ok := cellDate(tab.rows[0][0])
	return ok
}

// try puts two cells through an operation, in the order the words allow.
func (r *resolver) try(k int, op operation, x, y cellRef, conf float64) *candidate {
	n := &r.numerals[k]
	if !r.spend(2) || !r.likely(k, op, x, y) {
		return nil
	}
	a, ok1 := cellRat(r.tables[x.table].rows[x.row][x.col])
	b, ok2 := cellRat(r.tables[y.table].rows[y.row][y.col])
	if !ok1 || !ok2 || a.Cmp(b) == 0 && op.name != "ratio" {
		return nil
	}
	if n.percent && op.name == "ratio" && x.col != y.col && x.table == y.table && !r.alike(x, y) {
		return nil
	}
	if n.times && x.table == y.table && x.col != y.col && !r.comparableColumns(x.table, x.col, y.col) {
		return nil // people by years
	}
	if n.points && !r.pointsFit(x, y) || !r.involves(k, x, y) || op.name == "growth" && !r.comparable(n, x, y) {
		return nil
	}
	for range 2 {
		v := op.eval(a, b)
		wrongWay := v != nil && op.name == "growth" && r.wrongWay(n, v)
		if op.name == "diff" && v.Sign() < 0 {
			wrongWay = true // the larger first; the words say who is ahead
		}
		if v != nil && !wrongWay {
			if q, ok := r.fitsDerived(n, v, x, y); ok &&
				!(op.name == "ratio" && n.times && !n.word && v.Cmp(ratOne) < 0) {
				c := &candidate{
					table: x.table, formula: fmt.Sprintf(op.text, r.refOf(x), r.refOf(y)), value: ratText(v),
					conf: conf * q, rows: rowsOf(x, y),
				}
				if op.name == "ratio" {
					n.inItsUnit(c, v, &r.tables[x.table].cols[x.col], &r.tables[y.table].cols[y.col])
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

// likely computes in floating point whether a formula can come near the text; only then is it worth computing exactly.
func (r *resolver) likely(k int, op operation, x, y cellRef) bool {
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

// involves: a formula about a row that the text names has a cell of that row.
func (r *resolver) involves(k int, x, y cellRef) bool {
	for _, b := range r.bindings[k] {
		if b.strength < inherited || len(b.rows) != 1 {
			continue
		}
		if b.table == x.table && contains(b.rows, x.row) || b.table == y.table && contains(b.rows, y.row) {
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

// comparable: what "grew" has grown over time, so two rows must be two times; "more than" compares any two.
func (r *resolver) comparable(n *numeral, x, y cellRef) bool {
	if x.table != y.table || x.row == y.row || !r.says(n, changeVerbs) || r.says(n, comparatives) {
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

// pointsFit: percentage points are differences of percents.
func (r *resolver) pointsFit(x, y cellRef) bool {
	return x.table == y.table && x.col == y.col ||
		r.tables[x.table].cols[x.col].percent && r.tables[y.table].cols[y.col].percent
}

func (r *resolver) fitsDerived(n *numeral, v *big.Rat, x, y cellRef) (float64, bool) {
	if n.points && r.tables[x.table].cols[x.col].percent {
		if q, ok := n.fits(v, true); ok { // the cells are percents already
			return q, true
		}
	}
	if u := r.tables[x.table].cols[x.col].unit; n.rateConversion(u) != nil &&
		r.tables[y.table].cols[y.col].unit.dimension != u.dimension {
		return n.fits(new(big.Rat).Mul(v, n.rateConversion(u)), true) // 18 cents a kWh, 2 hours each
	}
	if u := r.tables[x.table].cols[x.col].unit; n.conversion(u) != nil &&
		r.tables[y.table].cols[y.col].unit.dimension == u.dimension {
		return n.fits(new(big.Rat).Mul(v, n.conversion(u)), true)
	}
	if n.subunit() && x.col != y.col {
		return n.fits(new(big.Rat).Mul(v, ratHundred), true) // 53 cents a dollar
	}
	if n.scaled || r.tables[x.table].cols[x.col].scale > 0 {
		if s := r.tables[x.table].cols[x.col].scale; s > 0 && s == r.tables[y.table].cols[y.col].scale {
			if q, ok := n.fits(new(big.Rat).Mul(v, pow10(s)), true); ok {
				return q, true
			}
		}
	}
	return n.fitsValue(v)
}

// alike: a percentage is of two counts or of two measures, not of days by pieces.
func (r *resolver) alike(x, y cellRef) bool {
	a, b := &r.tables[x.table].cols[x.col], &r.tables[y.table].cols[y.col]
	return a.integer == b.integer || moneyColumn(a) && moneyColumn(b) || r.namedTogether(x, y)
}

func moneyColumn(c *column) bool {
	for _, w := range c.words {
		if moneyWords[w] {
			return true
		}
	}
	return false
}

// namedTogether: cells that the text itself gives side by side.
func (r *resolver) namedTogether(x, y cellRef) bool {
	var gx, gy bool
	for _, c := range r.found {
		if c != nil && c.formula == "" {
			gx = gx || c.table == x.table && c.row == x.row && c.col == x.col
			gy = gy || c.table == y.table && c.row == y.row && c.col == y.col
		}
	}
	return gx && gy
}
