package cite

// Cells that no label leads to.

// loose takes a cell that no label leads to: the numeral names no row, or the result has just one.
func (r *resolver) loose(k int) *candidate {
	n := &r.numerals[k]
	if n.times {
		return nil
	}
	cb := r.columnsOf[k]
	strict := r.strictly(k)
	single := 0
	for _, h := range r.hits[k] {
		if !r.tables[h.table].cols[h.col].percent || n.percent {
			single++
		}
	}
	var best *candidate
	for _, h := range r.hits[k] {
		t := &r.tables[h.table]
		bound := boundIn(cb, h.table)
		q, _ := r.matchCell(n, h)
		switch {
		case len(t.rows) == 1 && r.superseded(k, h.table, h.col), r.ofOther(n, h.table):
			continue
		case cb.strong && !bound[h.col] && r.namesNumber(cb, h.table):
			continue
		case strict:
			continue
		case len(t.rows) == 1 && (n.sig >= 2 || len(t.cols) == 1):
			q *= 0.9
		case r.saysSentence(n, averageCues) && !hasAny(t.cols[h.col].words, averageCues),
			r.says(n, totalCues) && !hasAny(t.cols[h.col].words, totalCues):
			continue
		case r.bindingOf(k, h.table) != nil, n.percent && n.sig < 3, r.contradicts(n, h):
			continue
		case bound[h.col] && n.sig >= 2:
			q *= 0.75
		case n.sig >= 4 && single == 1:
			q *= 0.6
		default:
			continue
		}
		if best == nil || q > best.conf {
			best = r.cell(h.table, h.row, h.col, q)
		}
	}
	return best
}

// lone takes the cell of a named column from a result of one row.
func (r *resolver) lone(k int) *candidate {
	n := &r.numerals[k]
	if n.times || r.strictly(k) {
		return nil
	}
	var best *candidate
	for _, h := range r.hits[k] {
		if len(r.tables[h.table].rows) != 1 || !boundIn(r.columnsOf[k], h.table)[h.col] ||
			r.superseded(k, h.table, h.col) || r.ofOther(n, h.table) {
			continue
		}
		if q, _ := r.matchCell(n, h); best == nil || q > best.conf {
			best = r.cell(h.table, h.row, h.col, 0.97*q)
		}
	}
	return best
}

func hasAny(name []string, words map[string]bool) bool {
	for _, w := range name {
		if words[w] {
			return true
		}
	}
	return false
}

func (r *resolver) namesNumber(cb columnBinding, t int) bool {
	for _, c := range cb.cols {
		if c.table == t && r.tables[t].cols[c.col].role == roleNumber {
			return true
		}
	}
	return false
}

// contradicts: the text says highest or lowest and the cell is not.
func (r *resolver) contradicts(n *numeral, h cellHit) bool {
	v, ok := cellFloat(r.tables[h.table].rows[h.row][h.col])
	if !ok {
		return true
	}
	tot := r.totalOf(h.table, h.col)
	hi, lo := r.says(n, maxCues), r.says(n, minCues)
	return (hi || lo) && !(hi && v == tot.maxF || lo && v == tot.minF)
}
