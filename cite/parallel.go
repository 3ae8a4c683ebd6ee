package cite

// This file finds the place of a number in its table or list. Numbers at the same place usually have the same formula.

const (
	minParallel = 3  // figures that a formula must fit
	maxParallel = 80 // figures examined per slot
)

// slot is a place that several figures share: a column of a table, or the nth figure of one form in the items of a
// list.
type slot struct {
	first, nth int
	form       byte
}

// isPlainNumber reports whether a numeral is a number with a known value, and not an ordinal, a date or a part of a
// name.
func (r *resolver) isPlainNumber(n *numeral) bool {
	return n.kind == number && !n.huge && n.prefix == "" && len(n.readings) > 0
}

// isUnresolved reports whether a numeral has no footnote with enough confidence.
func (r *resolver) isUnresolved(k int) bool {
	return r.found[k] == nil || r.found[k].conf < minConfidence
}

// slotOf returns the slot of a numeral in its table or list. ok is false if it has none.
func (r *resolver) slotOf(k int) (slot, bool) {
	p := r.prose
	n := &r.numerals[k]
	if !r.isPlainNumber(n) || n.year || n.word {
		return slot{}, false
	}
	bi := p.tokens[n.from].blck
	b := &p.blocks[bi]
	switch b.kind {
	case tableRow:
		if b.parent < 0 {
			return slot{}, false
		}
		return slot{first: b.parent, nth: p.cellOf(n.from)}, true
	case item:
		s := slot{first: r.listOf(bi), form: n.form()}
		for j := k - 1; j >= 0 && p.tokens[r.numerals[j].from].blck == bi; j-- {
			if m := &r.numerals[j]; r.isPlainNumber(m) && !m.year && !m.word && m.form() == s.form {
				s.nth++
			}
		}
		return s, true
	}
	return slot{}, false
}

// listOf returns the first block of the run of list items that contains a block.
func (r *resolver) listOf(bi int) int {
	bs := r.prose.blocks
	for i := bi - 1; i >= 0 && i > bi-maxParallel && bs[i].kind == item && bs[i].parent == bs[bi].parent &&
		bs[i].indent == bs[bi].indent; i-- {
		bi = i
	}
	return bi
}

// form returns a code that distinguishes amounts, percentages, points and multiples.
func (n *numeral) form() byte {
	switch {
	case n.percent:
		return '%'
	case n.points:
		return 'p'
	case n.times:
		return 'x'
	case n.currency:
		return '$'
	}
	return 0
}

// headerFactor returns 100 for a header such as "l/100 km", otherwise 1.
func (r *resolver) headerFactor(n *numeral) int64 {
	p := r.prose
	b := &p.blocks[p.tokens[n.from].blck]
	if b.kind != tableRow || b.parent < 0 {
		return 1
	}
	from, to := p.headerCell(b.parent, p.cellOf(n.from))
	for i := from; i < to; i++ {
		switch p.low(i) {
		case "10":
			return 10
		case "100":
			return 100
		case "1000":
			return 1000
		}
	}
	return 1
}
