package cite

// This file binds numerals whose own sentence names no row: to the subject of an earlier sentence, of the list item
// above or of the heading.

// pickContext binds a numeral whose sentence names no row: to the subject of an earlier sentence, of the list item
// above, or of the heading.
func (r *resolver) pickContext(n *numeral, picks map[dim]*mention) strength {
	p := r.prose
	s := p.tokens[n.from].sentence
	bi := p.tokens[n.from].blck
	level := carried
	if strictPronoun[p.low(p.sentences[s].from)] {
		level = inherited
	}
	for k := s - 1; k >= 0 && k >= s-4 && p.tokens[p.sentences[k].from].blck == bi; k-- {
		if r.pickSubject(r.bySentence[k], picks) {
			return level
		}
	}
	// A paragraph continues the subject of the one before it.
	if bi > 0 && p.blocks[bi].kind == paragraph && level == inherited {
		sp := p.blocks[bi-1].span
		if sp.to > sp.from && p.blocks[bi-1].kind == paragraph &&
			r.pickSubject(r.bySentence[p.tokens[sp.to-1].sentence], picks) {
			return carried
		}
	}
	return unbound
}

// pickSubject picks the first label of each column that is not merely the target of a comparison. It reports whether
// there is one.
func (r *resolver) pickSubject(ms []*mention, picks map[dim]*mention) bool {
	found := false
	rows := map[int][]int32{} // remaining rows, by table
	for _, m := range ms[:min(len(ms), maxNear)] {
		for i := range m.hits {
			h := &m.hits[i]
			d := dim{h.table, h.col}
			if _, taken := picks[d]; taken {
				continue
			}
			left := h.rows
			if before, ok := rows[h.table]; ok {
				if left = intersect(before, left); len(left) == 0 {
					continue // names another row
				}
			}
			picks[d], rows[h.table] = m, left
			found = true
		}
	}
	return found
}
