package cite

import (
	"slices"
)

// What a numeral is about when its own sentence names nothing: the subject of an earlier sentence, of the item above or
// of the heading.

// narrow takes the labels that a sentence leaves out from the item above and the heading: under "Wheat", "North" is the
// North's wheat.
func (r *resolver) narrow(n *numeral, b *binding) {
	p := r.prose
	for k, hops := p.blocks[p.tokens[n.from].blck].parent, 0; k >= 0 && hops < 6; k, hops = p.blocks[k].parent, hops+1 {
		sp := p.blocks[k].span
		if sp.from >= sp.to || p.blocks[k].kind == tableRow {
			continue
		}
		for _, m := range r.bySentence[p.tokens[sp.from].sentence] {
			for _, h := range m.hits {
				if h.table != b.table || h.wide {
					continue
				}
				if rows := intersect(b.rows, h.rows); len(rows) > 0 && len(rows) < len(b.rows) {
					b.rows = rows
					b.by = append(b.by, m)
				}
			}
		}
	}
}

// pickContext binds a numeral whose sentence names nothing: to the subject of an earlier sentence, of the item above,
// or of the heading.
func (r *resolver) pickContext(n *numeral, picks map[dim]*mention) strength {
	p := r.prose
	s := p.tokens[n.from].sentence
	bi := p.tokens[n.from].blck
	level := carried
	if strictPronoun[p.low(p.sentences[s].from)] {
		level = inherited
	}
	for k := s - 1; k >= 0 && k >= s-4 && p.tokens[p.sentences[k].from].blck == bi; k-- {
		if r.isComparand(n) {
			if r.otherOf(k, s, picks) {
				return inherited
			}
			continue
		}
		if r.subject(r.bySentence[k], picks) {
			return level
		}
	}
	for b, hops := p.blocks[bi].parent, 0; b >= 0 && hops < 6; b, hops = p.blocks[b].parent, hops+1 {
		sp := p.blocks[b].span
		if sp.from >= sp.to || p.blocks[b].kind == tableRow {
			continue
		}
		if r.subject(r.bySentence[p.tokens[sp.from].sentence], picks) {
			return inherited
		}
	}
	// A paragraph goes on about what the one before it was about.
	if bi > 0 && p.blocks[bi].kind == paragraph && level == inherited {
		sp := p.blocks[bi-1].span
		if sp.to > sp.from && p.blocks[bi-1].kind == paragraph &&
			r.subject(r.bySentence[p.tokens[sp.to-1].sentence], picks) {
			return carried
		}
	}
	return unbound
}

// subject takes the first label of each column that is not merely compared with.
func (r *resolver) subject(ms []*mention, picks map[dim]*mention) bool {
	found := false
	rows := map[int][]int32{} // that the labels so far leave, by table
	for _, m := range ms[:min(len(ms), maxNear)] {
		if r.comparand(m) {
			continue
		}
		for i := range m.hits {
			h := &m.hits[i]
			d := dim{h.table, h.col}
			if _, taken := picks[d]; taken {
				continue
			}
			left := h.rows
			if before, ok := rows[h.table]; ok {
				if left = intersect(before, left); len(left) == 0 {
					continue // another row, named later
				}
			}
			picks[d], rows[h.table] = m, left
			found = true
		}
	}
	return found
}

// numeralBefore is the numeral that ends one word before, or -1.
func (r *resolver) numeralBefore(n *numeral) int {
	if i := n.from - 2; i >= 0 {
		return r.numeralAt[i]
	}
	return -1
}

// isComparand: the 806 of "959 vs. 806", the 61.20 of "59.85 instead of 61.20".
func (r *resolver) isComparand(n *numeral) bool {
	p := r.prose
	i := n.from - 1
	for i >= 0 && !p.tokens[i].word {
		i--
	}
	w, before := p.low(i), p.low(i-1)
	return w == "vs" || w == "versus" || w == "of" && before == "instead" || w == "than" && before == "rather"
}

// otherOf binds to the second of the two rows that the sentences before are about.
func (r *resolver) otherOf(from, s int, picks map[dim]*mention) bool {
	rows := map[dim][]*mention{}
	for q := from; q >= 0 && q > s-4; q-- {
		for _, m := range r.bySentence[q] {
			for _, h := range m.hits {
				d := dim{h.table, h.col}
				if len(h.rows) != 1 ||
					slices.ContainsFunc(rows[d], func(o *mention) bool { return slices.Equal(o.hit(d).rows, h.rows) }) {
					continue
				}
				rows[d] = append(rows[d], m)
			}
		}
	}
	for d, ms := range rows {
		if len(ms) != 2 {
			continue
		}
		for _, m := range ms {
			if r.comparand(m) || m == ms[1] && !r.comparand(ms[0]) {
				picks[d] = m
				break
			}
		}
	}
	return len(picks) > 0
}
