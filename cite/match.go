package cite

import (
	"math/big"
	"slices"
	"strings"
)

// intervals returns the absolute cell values that a number may mean. They are slightly too wide, because matchCell
// decides exactly.
func (n *numeral) intervals(conversions []float64) [][2]float64 {
	if n.kind == calendar && !n.year || n.huge {
		return nil
	}
	var out [][2]float64
	for _, rd := range n.readings {
		v, _ := rd.val.Float64()
		tol, _ := n.tolerance(rd).Float64()
		lo, hi := v-tol-v*1e-9, v+tol+v*1e-9
		out = append(out, [2]float64{lo, hi})
		if n.percent || n.points {
			out = append(out, [2]float64{lo / 100, hi / 100})
		}
		for _, f := range conversions {
			out = append(out, [2]float64{lo / f, hi / f})
		}
		for _, s := range []float64{1e3, 1e6, 1e9} {
			if n.scaled || v >= s {
				out = append(out, [2]float64{lo / s, hi / s})
			}
		}
	}
	return out
}

// tolerance returns how far a value may be from the number as written.
func (n *numeral) tolerance(rd reading) *big.Rat {
	half := new(big.Rat).Quo(rd.unit, ratTwo)
	if n.hedge == exactly {
		return half
	}
	step := n.step(rd)
	most := new(big.Rat).Mul(rd.val, big.NewRat(1, 20))
	switch {
	case n.word && n.times && n.hedge == over:
		return ratOne // "more than doubled" may be nearly three times
	case n.word:
		step, most = rd.val, new(big.Rat).Mul(rd.val, big.NewRat(1, 10))
	}
	if n.hedge == about {
		step = new(big.Rat).Quo(step, ratTwo)
	}
	if step.Cmp(most) > 0 {
		step = most
	}
	if step.Cmp(half) < 0 {
		return half
	}
	return step
}

// step returns the place value of the last digit that is not a trailing zero.
func (n *numeral) step(rd reading) *big.Rat {
	if rd.unit.Sign() == 0 {
		return new(big.Rat)
	}
	units := new(big.Rat).Quo(rd.val, rd.unit)
	if !units.IsInt() || units.Sign() == 0 {
		return rd.unit
	}
	m, ten, rem := new(big.Int).Set(units.Num()), big.NewInt(10), new(big.Int)
	step := new(big.Rat).Set(rd.unit)
	for {
		q, _ := new(big.Int).QuoRem(m, ten, rem)
		if rem.Sign() != 0 {
			return step
		}
		m = q
		step.Mul(step, new(big.Rat).SetInt64(10))
	}
}

// fits reports whether the text can mean the value, and how well: 1 if it is exact, less after rounding. It ignores
// signs.
func (n *numeral) fits(v *big.Rat, float bool) (float64, bool) {
	a := new(big.Rat).Abs(v)
	for i, rd := range n.readings {
		q := 1.0
		if i > 0 {
			q = 0.9
		}
		switch {
		case a.Cmp(rd.val) == 0:
			return q, true
		case rounds(a, rd.val, rd.unit, float):
			return q * 0.95, true
		case n.hedge != exactly:
			d := new(big.Rat).Sub(a, rd.val)
			side := d.Sign()
			if d.Abs(d).Cmp(n.tolerance(rd)) <= 0 &&
				(n.hedge == about || n.hedge == nearly && side < 0 || n.hedge == over && side > 0) {
				return q * 0.85, true
			}
		}
	}
	return 0, false
}

// fitsColumn does the same as fits for a cell. The cell may be a ratio where the text has a percentage, or in
// thousands, in millions or in another unit.
func (n *numeral) fitsColumn(v *big.Rat, col *column, float bool) (float64, bool) {
	if n.percent || n.points {
		if col.percent || col.hundred && (n.sig > 2 || n.hedge == about) || col.name == "value" {
			if q, ok := n.fits(v, float); ok {
				return q, true
			}
		}
		if col.integer && !col.percent {
			return 0, false
		}
		return n.fits(new(big.Rat).Mul(v, ratHundred), float)
	}
	if f := n.conversion(col.unit); f != nil {
		q, ok := n.fits(new(big.Rat).Mul(v, f), float)
		return q * 0.95, ok
	}
	if q, ok := n.fits(v, float); ok {
		return q, true
	}
	if col.scale > 0 {
		if q, ok := n.fits(new(big.Rat).Mul(v, pow10(col.scale)), float); ok {
			return q * 0.95, true
		}
	}
	return 0, false
}

// matchCell reports whether a numeral can mean a cell, including its sign, and how well.
func (r *resolver) matchCell(n *numeral, h cellHit) (float64, bool) {
	t := &r.tables[h.table]
	cell := t.rows[h.row][h.col]
	v, ok := cellRat(cell)
	if !ok {
		return 0, false
	}
	_, float := cell.(float64)
	q, ok := n.fitsColumn(v, &t.cols[h.col], float)
	if !ok {
		return 0, false
	}
	switch {
	case v.Sign() < 0 && n.sign >= 0:
		if !r.canMeanNegative(n, h.table, h.col) {
			return 0, false
		}
		q *= 0.98
	case v.Sign() > 0 && n.sign < 0:
		return 0, false
	}
	return q, true
}

// canMeanNegative reports whether an amount without a sign can mean a negative cell, because the words give the
// direction or the whole column is negative (refunds).
func (r *resolver) canMeanNegative(n *numeral, t, ci int) bool {
	return hasAny(r.tables[t].cols[ci].words, lateWords) && r.hasCue(n, earlyWords) || r.hasCue(n, downCues) ||
		r.sentenceHasCue(n, downCues) && !r.sentenceHasCue(n, upCues) ||
		r.totalOf(t, ci).n > 0 && r.totalOf(t, ci).maxF <= 0
}

// window is the number of tokens searched for cues on either side of a numeral.
const window = 30

// hasCue reports whether a cue is in the clause of a numeral, or within a few words of it.
func (r *resolver) hasCue(n *numeral, cues map[string]bool) bool {
	p := r.prose
	clause, sentence := p.tokens[n.from].clause, p.tokens[n.from].sentence
	for i := max(0, n.from-window); i < len(p.tokens) && i < n.to+window; i++ {
		t := p.tokens[i]
		if t.sentence != sentence || i >= n.from && i < n.to {
			continue
		}
		if cues[t.low] && (t.clause == clause || i >= n.from-6 && i < n.to+4) {
			return true
		}
	}
	return false
}

// sentenceHasCue reports whether a cue is in the sentence of a numeral, within a window.
func (r *resolver) sentenceHasCue(n *numeral, cues map[string]bool) bool {
	p := r.prose
	sentence := p.tokens[n.from].sentence
	for i := max(0, n.from-2*window); i < len(p.tokens) && i < n.to+2*window; i++ {
		if p.tokens[i].sentence == sentence && cues[p.tokens[i].low] && (i < n.from || i >= n.to) {
			return true
		}
	}
	return false
}

// hasCueBefore reports whether a cue is among the tokens just before a numeral, in its sentence. before is the number
// of tokens.
func (r *resolver) hasCueBefore(n *numeral, cues map[string]bool, before int) bool {
	p := r.prose
	for i := n.from - 1; i >= max(0, n.from-before); i-- {
		if p.tokens[i].sentence != p.tokens[n.from].sentence {
			return false
		}
		if cues[p.tokens[i].low] {
			return true
		}
	}
	return false
}

// headerUnits applies the unit in the header of a table column to a numeral: "Share (%)", "Cost (k€)".
func (r *resolver) headerUnits(n *numeral) {
	p := r.prose
	b := &p.blocks[p.tokens[n.from].blck]
	if b.kind != tableRow || b.parent < 0 || n.kind != number {
		return
	}
	from, to := p.headerCell(b.parent, p.cellOf(n.from))
	for i := from; i < to; i++ {
		inUnit := p.low(i-1) == "(" || p.low(i-1) == "in" || p.low(i-1) == "€" || p.low(i-1) == "$" ||
			p.low(i+1) == "€" || p.low(i+1) == "." && p.low(i+2) == "€"
		if s := scales[p.low(i)]; s >= 3 && s <= 9 && inUnit && !n.scaled && len(n.readings) > 0 {
			n.rescale(s)
		}
		if p.low(i) == "%" {
			n.percent = true
		}
	}
}

// cellInBoundRows returns the best matching cell in the rows to which a numeral is bound, or nil.
func (r *resolver) cellInBoundRows(k int) *candidate {
	cb := r.columnsOf[k]
	var best *candidate
	for _, b := range r.bindings[k] {
		c := r.cellInRows(k, b, cb)
		if c == nil {
			continue
		}
		if best == nil || c.conf > best.conf+0.02 {
			best = c
		}
	}
	return best
}

// cellInRows returns the best matching cell in a binding's rows, or nil.
func (r *resolver) cellInRows(k int, b binding, cb columnBinding) *candidate {
	n := &r.numerals[k]
	t := &r.tables[b.table]
	if len(b.rows) > maxHits {
		return nil
	}
	bound := boundColumns(cb, b.table)
	if n.percent && cb.strong {
		cb.strong = false // "188 people (47 %)": the percentage is not from the column of the count
		for ci := range bound {
			cb.strong = cb.strong || t.cols[ci].percent || !t.cols[ci].integer
		}
	}
	said := false
	for ci := range bound {
		said = said || t.cols[ci].role == roleNumber
	}
	var best *candidate
	found := 0
	for _, ri := range b.rows {
		for ci := range t.cols {
			if t.cols[ci].role != roleNumber || !r.spend(1) {
				continue
			}
			q, ok := r.matchCell(n, cellHit{b.table, int(ri), ci})
			if !ok {
				continue
			}
			switch {
			case r.superseded(k, b.table, ci):
				continue
			case bound[ci]:
			case said && cb.strong && !(t.mayBePartOf(ci, bound) && !r.inTable(n)):
				continue
			case len(t.cols) > 3:
				q *= 0.93
			default:
				q *= 0.97
			}
			found++
			if best == nil || q > best.conf {
				best = r.cell(b.table, int(ri), ci, q)
			}
		}
	}
	return best
}

var participles = set("overdue sold won lost open paid sent met late taken left broken held built free active hit")

// hasParticiple reports whether the name of a column contains a participle.
func hasParticiple(name []string) bool {
	return slices.ContainsFunc(name, func(w string) bool {
		return participles[w] || len(w) > 4 && strings.HasSuffix(w, "ed")
	})
}

// inTable reports whether the numeral is in a table, whose headers name the columns.
func (r *resolver) inTable(n *numeral) bool {
	return r.prose.blocks[r.prose.tokens[n.from].blck].kind == tableRow
}

// mayBePartOf reports whether a column counts some of what the bound columns count, because a participle names it: "912
// books" can be the overdue ones, "31 parcels" the damaged ones.
func (t *table) mayBePartOf(ci int, bound map[int]bool) bool {
	if !hasParticiple(t.cols[ci].words) {
		return false
	}
	for b := range bound {
		if hasParticiple(t.cols[b].words) || !t.cols[b].integer {
			return false
		}
	}
	return true
}

// boundColumns returns the columns of table t in a column binding.
func boundColumns(cb columnBinding, t int) map[int]bool {
	m := map[int]bool{}
	for _, c := range cb.cols {
		if c.table == t {
			m[c.col] = true
		}
	}
	return m
}

// cell returns a candidate for one cell.
func (r *resolver) cell(t, row, col int, conf float64) *candidate {
	c := &candidate{table: t, row: row, col: col, conf: conf, measure: &r.tables[t].cols[col]}
	if v, ok := cellRat(r.tables[t].rows[row][col]); ok && r.tables[t].cols[col].role == roleNumber {
		c.value = ratText(v)
	} else {
		c.value, _ = r.tables[t].rows[row][col].(string)
	}
	return c
}
