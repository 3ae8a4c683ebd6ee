package cite

import (
	"math/big"
	"strings"
)

// intervals are the absolute cell values that a number may stand for, a little
// wide: matchCell decides exactly.
func (n *numeral) intervals() [][2]float64 {
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
		for _, s := range []float64{1e3, 1e6, 1e9} {
			if n.scaled || v >= s {
				out = append(out, [2]float64{lo / s, hi / s})
			}
		}
	}
	return out
}

// tolerance is how far a value may be from what is written.
func (n *numeral) tolerance(rd reading) *big.Rat {
	half := new(big.Rat).Quo(rd.unit, ratTwo)
	if n.hedge == exactly {
		return half
	}
	step := n.step(rd)
	most := new(big.Rat).Mul(rd.val, big.NewRat(1, 20))
	if n.word {
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

// step is what the last digit that is not a trailing zero is worth.
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

// fits says whether the text can stand for the value, and how well: 1 exactly,
// less after rounding. Signs are not looked at.
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
			if rd.val.Sign() == 0 {
				q *= 0.8
			}
			return q * 0.95, true
		case n.hedge != exactly:
			d := new(big.Rat).Sub(a, rd.val)
			side := d.Sign()
			if d.Abs(d).Cmp(n.tolerance(rd)) <= 0 && (n.hedge == about || n.hedge == nearly && side < 0 || n.hedge == over && side > 0) {
				return q * 0.85, true
			}
		}
	}
	return 0, false
}

// fitsScaled is fits for a value that is a ratio when the text says percent, or
// is written in thousands or millions.
func (n *numeral) fitsColumn(v *big.Rat, col *column, float bool) (float64, bool) {
	if n.percent || n.points {
		if col.percent || col.name == "value" {
			if q, ok := n.fits(v, float); ok {
				return q, true
			}
		}
		if col.integer && !col.percent {
			return 0, false
		}
		return n.fits(new(big.Rat).Mul(v, ratHundred), float)
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

// matchCell says whether a numeral can stand for a cell, sign included.
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
		if !r.says(n, downCues) {
			return 0, false
		}
		q *= 0.98
	case v.Sign() > 0 && n.sign < 0:
		return 0, false
	}
	return q, true
}

// window is how far cues are looked for on either side of a numeral.
const window = 30

// says looks for a cue in the clause of a numeral, or right beside it.
func (r *resolver) says(n *numeral, cues map[string]bool) bool {
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

// saysSentence looks for a cue anywhere in the sentence, in a window.
func (r *resolver) saysSentence(n *numeral, cues map[string]bool) bool {
	p := r.prose
	sentence := p.tokens[n.from].sentence
	for i := max(0, n.from-2*window); i < len(p.tokens) && i < n.to+2*window; i++ {
		if p.tokens[i].sentence == sentence && cues[p.tokens[i].low] && (i < n.from || i >= n.to) {
			return true
		}
	}
	return false
}

// within looks for a cue among a few tokens before a numeral, in its sentence.
func (r *resolver) within(n *numeral, cues map[string]bool, before int) bool {
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

// headerUnits takes over the unit of a table's column: "Share (%)".
func (r *resolver) headerUnits(n *numeral) {
	p := r.prose
	b := &p.blocks[p.tokens[n.from].blck]
	if b.kind != tableRow || b.parent < 0 || n.kind != number {
		return
	}
	from, to := p.headerCell(b.parent, p.cellOf(n.from))
	for i := from; i < to; i++ {
		if p.low(i) == "%" {
			n.percent = true
		}
		if p.low(i) == "#" || p.low(i) == "rank" || p.low(i) == "rang" {
			n.kind = ordinal
		}
	}
}

// anchored looks for the numeral in the rows the text names. When the text names
// rows and the value is elsewhere only, conflict says where.
func (r *resolver) anchored(k int) *candidate {
	n := &r.numerals[k]
	cb := r.columnsOf[k]
	var best *candidate
	for _, b := range r.bindings[k] {
		c := r.inRows(n, b, cb)
		if c == nil {
			continue
		}
		switch b.strength {
		case carried:
			c.conf *= 0.85
		case inherited:
			c.conf *= 0.97
		}
		if best == nil || c.conf > best.conf+0.02 {
			best = c
		}
	}
	return best
}

// inRows looks at the cells of a binding's rows.
func (r *resolver) inRows(n *numeral, b binding, cb columnBinding) *candidate {
	t := &r.tables[b.table]
	if len(b.rows) > maxHits {
		return nil
	}
	bound := boundIn(cb, b.table)
	if n.percent && cb.strong {
		cb.strong = false // "188 people (47 %)": the percentage is not of the count's column
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
			case r.superseded(n, b.table, ci):
				continue
			case bound[ci]:
			case said && cb.strong && !t.partOfColumn(ci, bound):
				continue
			case said:
				q *= 0.85
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
	if best != nil && len(b.rows) > 1 && found > 1 {
		best.conf *= 0.7
	} else if best != nil && len(b.rows) > 1 {
		best.conf *= 0.9
	}
	return best
}

var participles = set("overdue sold won lost open paid sent met late taken left broken held built free active hit")

func participle(name []string) bool {
	for _, w := range name {
		if participles[w] || len(w) > 4 && strings.HasSuffix(w, "ed") {
			return true
		}
	}
	return false
}

// partOfColumn: "912 books" can be the overdue ones, "31 parcels" the damaged: a
// column named by a participle counts some of what a noun counts.
func (t *table) partOfColumn(ci int, bound map[int]bool) bool {
	if !participle(t.cols[ci].words) {
		return false
	}
	for b := range bound {
		if participle(t.cols[b].words) || !t.cols[b].integer {
			return false
		}
	}
	return true
}

var (
	earlierWords = set("last previous prior old before start opening prev")
	reachWords   = set("reached reaching hit now")
	endWords     = set("went ended moved ends")
	laterWords   = set("this current new after end closing latest")
)

// superseded: "grew to 2,400" is not about revenue_2023 when there is a
// revenue_2024, and "from 2,880" not about the later of the two.
func (r *resolver) superseded(n *numeral, t, ci int) bool {
	w, _ := r.wordBefore(n)
	if reachWords[w] {
		w = "to"
	} else if w != "to" && w != "from" && !(w == "at" && r.says(n, endWords)) || !r.says(n, changeVerbs) && !r.says(n, endWords) {
		return false
	}
	age, base := columnAge(r.tables[t].cols[ci].words)
	if age == 0 {
		return false
	}
	for o, c := range r.tables[t].cols {
		other, name := columnAge(c.words)
		if o != ci && other != 0 && name == base && (w == "from") == (other < age) && other != age {
			return true
		}
	}
	return false
}

// columnAge places revenue_2023 before revenue_2024, and last_year before
// this_year; base is the name without the time. An age of 0 is no time at all.
func columnAge(name []string) (age int, base string) {
	for _, w := range name {
		switch y, ok := digits(w); {
		case ok && y >= 1900 && y <= 2100:
			age = y
		case months[w] > 0:
			age = months[w]
		case earlierWords[w]:
			age = 1
		case laterWords[w]:
			age = 2
		default:
			base += w + " "
		}
	}
	return age, base
}

func boundIn(cb columnBinding, t int) map[int]bool {
	m := map[int]bool{}
	for _, c := range cb.cols {
		if c.table == t {
			m[c.col] = true
		}
	}
	return m
}

func (r *resolver) cell(t, row, col int, conf float64) *candidate {
	c := &candidate{table: t, row: row, col: col, conf: conf}
	if v, ok := cellRat(r.tables[t].rows[row][col]); ok && r.tables[t].cols[col].role == roleNumber {
		c.value = ratText(v)
	} else {
		c.value, _ = r.tables[t].rows[row][col].(string)
	}
	return c
}
