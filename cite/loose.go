package cite

import "slices"

// This file finds cells without a label that names their row.

// unlabelledCell returns a matching cell if the text names no row for the numeral, or the result has only one.
func (r *resolver) unlabelledCell(k int) *candidate {
	n := &r.numerals[k]
	if n.times {
		return nil
	}
	cb := r.columnsOf[k]
	single := 0
	for _, h := range r.hits[k] {
		if !r.tables[h.table].cols[h.col].percent || n.percent {
			single++
		}
	}
	var best *candidate
	for _, h := range r.hits[k] {
		t := &r.tables[h.table]
		bound := boundColumns(cb, h.table)
		q, _ := r.matchCell(n, h)
		switch {
		case cb.strong && !bound[h.col]:
			continue
		case len(t.rows) == 1 && (n.sig >= 2 || len(t.cols) == 1):
			q *= 0.9
		case r.hasCue(n, totalCues) && !hasAny(t.cols[h.col].words, totalCues):
			continue
		case r.bindingOf(k, h.table) != nil, n.percent && n.sig < 3, r.contradictsExtreme(n, h):
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

// hasAny reports whether a name contains any of the words.
func hasAny(name []string, words map[string]bool) bool {
	return slices.ContainsFunc(name, func(w string) bool { return words[w] })
}

// contradictsExtreme reports whether the text calls the number the highest or lowest although the cell is not.
func (r *resolver) contradictsExtreme(n *numeral, h cellHit) bool {
	v, ok := cellFloat(r.tables[h.table].rows[h.row][h.col])
	if !ok {
		return true
	}
	tot := r.totalOf(h.table, h.col)
	hi, lo := r.hasCue(n, maxCues), r.hasCue(n, minCues)
	return (hi || lo) && !(hi && v == tot.maxF || lo && v == tot.minF)
}
