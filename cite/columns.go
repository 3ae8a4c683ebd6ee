package cite

import (
	"slices"
	"sort"
)

// This file binds numerals to columns by the names before, after and above them.

// columnBinding lists the columns that the text relates a numeral to.
type columnBinding struct {
	cols   []colRef
	strong bool // the name refers to this numeral, so that a value of another column contradicts it
}

// bindColumn returns the columns that the text names for a numeral, unless the unit after the number is that of other
// columns.
func (r *resolver) bindColumn(n *numeral) columnBinding {
	b := r.namedColumns(n)
	if n.currency {
		b.cols = slices.DeleteFunc(slices.Clone(b.cols), func(c colRef) bool {
			return r.tables[c.table].cols[c.col].percent
		})
		b.strong = b.strong && len(b.cols) > 0
	}
	return b
}

// namedColumns returns the columns that the text names for a numeral.
func (r *resolver) namedColumns(n *numeral) columnBinding {
	p := r.prose
	b := &p.blocks[p.tokens[n.from].blck]
	if b.kind == tableRow {
		return r.bindHeader(n, b)
	}
	var prev, far, next *columnMention
	for _, m := range r.nearColumns(n) {
		switch {
		case m.from >= n.to:
			if next == nil {
				next = m
			}
		case m.to <= n.from && !r.isUnitOfEarlier(m):
			far = m
			if p.tokens[m.from].clause == p.tokens[n.from].clause {
				prev = m
			}
		}
	}
	if next != nil && r.unitOf(n, next) {
		return columnBinding{
			append(r.predicate(n, next), next.cols...), !next.vague && !r.isWhole(n),
		}
	}
	switch {
	case prev != nil:
		return columnBinding{prev.cols, !prev.vague && !r.isWhole(n) && !r.isPart(n)}
	case far != nil:
		return columnBinding{
			far.cols, !far.vague && r.namesNoOtherColumn(n, far) && !r.isWhole(n) && !r.isPart(n) && !r.hasOtherNoun(n),
		}
	}
	return columnBinding{}
}

// predicate returns the columns named after the unit, before any other number: "46,872 residents are vaccinated".
func (r *resolver) predicate(n *numeral, unit *columnMention) []colRef {
	p := r.prose
	for _, m := range r.nearColumns(n) {
		if m.from >= unit.to && p.tokens[m.from].clause == p.tokens[n.from].clause && !r.numeralBetween(n.to, m.from) {
			return append([]colRef{}, m.cols...)
		}
	}
	return nil
}

var copulas = set("were was are is be been have has had got get gets being still already not")

// isWhole reports whether a number is the whole after a part. The 500 in "120 of 500" comes from another column than
// the 120.
func (r *resolver) isWhole(n *numeral) bool {
	p := r.prose
	i := n.from - 1
	for i >= 0 && (articles[p.low(i)] || !p.tokens[i].word && p.low(i) != ",") {
		i--
	}
	if w := p.low(i); w != "of" && w != "against" {
		return false
	}
	if p.low(i-1) == "out" {
		i--
	}
	return i >= 2 && (r.numeralAt[i-1] >= 0 || r.numeralAt[i-2] >= 0 && !r.isColumnName(i-1))
}

// isPart reports whether a number is the part before a whole. The 120 in "120 of 500" may come from another column than
// the one named before.
func (r *resolver) isPart(n *numeral) bool {
	p := r.prose
	i := n.to
	if p.low(i) == "out" {
		i++
	}
	if p.low(i) != "of" {
		return false
	}
	for i++; i < len(p.tokens) && i < n.to+5 && (articles[p.low(i)] || !p.tokens[i].word); i++ {
	}
	return i < len(p.tokens) && r.numeralAt[i] >= 0
}

// isColumnName reports whether token i is part of a column's name.
func (r *resolver) isColumnName(i int) bool {
	ms := r.colBySentence[r.prose.tokens[i].sentence]
	k := sort.Search(len(ms), func(k int) bool { return ms[k].to > i })
	return k < len(ms) && ms[k].from <= i
}

// namesNoOtherColumn reports whether the text around a numeral names only the columns of m.
func (r *resolver) namesNoOtherColumn(n *numeral, m *columnMention) bool {
	for _, o := range r.nearColumns(n) {
		if o != m && !slices.Equal(o.cols, m.cols) {
			return false
		}
	}
	return true
}

// hasOtherNoun reports whether the number counts things after which no column is named.
func (r *resolver) hasOtherNoun(n *numeral) bool {
	w := r.prose.low(n.to)
	return n.to < len(r.prose.tokens) && r.prose.tokens[n.to].word && !measures[w] && !linkWords[w] &&
		!conjunctions[w] && !diffCues[w] && w != "per" && w != "with" && w != "than" && w != "while"
}

// isUnitOfEarlier reports whether the column name belongs to an earlier number ("120 orders").
func (r *resolver) isUnitOfEarlier(m *columnMention) bool {
	for i := m.from - 1; i >= 0 && i >= m.from-3; i-- {
		if k := r.numeralAt[i]; k >= 0 {
			if r.numerals[k].percent && r.prose.low(r.numerals[k].to) == "of" && m.from <= r.numerals[k].to+2 {
				return true // "93 % of quota"
			}
			return r.numerals[k].kind == number && !r.numerals[k].year && r.unitOf(&r.numerals[k], m)
		}
	}
	return false
}

// unitOf reports whether the column name says what the number before it counts or measures: "120 orders", "500 in
// profit", "12.5 hours of downtime".
func (r *resolver) unitOf(n *numeral, m *columnMention) bool {
	p := r.prose
	words := 0
	for i := n.to; i < m.from; i++ {
		t := p.tokens[i]
		if !t.word && t.low != "-" && t.low != "€" && t.low != "$" && t.low != "£" || r.numeralAt[i] >= 0 ||
			r.isColumnName(i) {
			return false
		}
		if t.word {
			if t.low == "per" || t.low == "of" && (n.percent || n.times) || t.low == "more" || t.low == "than" ||
				clauseWords[t.low] || conjunctions[t.low] || t.low == "on" || t.low == "from" || t.low == "at" ||
				t.low == "to" {
				return false
			}
			words++
		}
	}
	return words <= 1 || words == 2 && (p.low(m.from-1) == "of" || p.low(m.from-1) == "in")
}

// bindHeader binds a numeral in a table to the columns that its header names, or that its row names if the table is
// transposed.
func (r *resolver) bindHeader(n *numeral, b *block) columnBinding {
	p := r.prose
	if b.parent >= 0 {
		from, to := p.headerCell(b.parent, p.cellOf(n.from))
		if m := r.columnIn(from, to); m != nil {
			return columnBinding{m.cols, true}
		}
	}
	return columnBinding{}
}

// columnIn returns the first mention of columns within a token range, or nil.
func (r *resolver) columnIn(from, to int) *columnMention {
	if from >= to {
		return nil
	}
	for _, m := range r.colBySentence[r.prose.tokens[from].sentence] {
		if m.from >= from && m.to <= to {
			return m
		}
	}
	return nil
}
