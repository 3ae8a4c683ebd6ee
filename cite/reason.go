package cite

import (
	"fmt"
	"slices"
)

// reason explains why a numeral has no footnote.
func (r *resolver) reason(k int) string {
	if r.reasons[k] != "" {
		return r.reasons[k]
	}
	n := &r.numerals[k]
	text := r.prose.text[n.start:n.end]
	if c := r.conflict[k]; c != nil {
		for _, b := range r.bindings[k] {
			if b.table == c.table && len(b.rows) > 0 {
				return fmt.Sprintf("%s is in the row of %s, not %s", text, r.rowName(c.table, c.row),
					r.rowName(b.table, int(b.rows[0])))
			}
		}
	}
	for _, b := range r.bindings[k] {
		for _, h := range r.hits[k] {
			if h.table != b.table || len(b.rows) == 0 || b.strength == unbound {
				continue
			}
			name := r.rowName(b.table, int(b.rows[0]))
			if slices.Contains(b.rows, int32(h.row)) {
				return fmt.Sprintf("%s is the %s of %s, not %s", text, r.tables[h.table].cols[h.col].name, name,
					r.wantedColumn(k, h.table))
			}
			return fmt.Sprintf("%s is in the row of %s, not %s", text, r.rowName(h.table, h.row), name)
		}
	}
	if len(r.hits[k]) > 0 && len(r.bindings[k]) == 0 {
		return fmt.Sprintf("%s is a cell of %s, but the text does not name its row", text,
			r.tables[r.hits[k][0].table].id)
	}
	return fmt.Sprintf("no cell and no formula of the results gives %s", text)
}

// wantedColumn returns the column that the text names, as part of a reason.
func (r *resolver) wantedColumn(k, t int) string {
	for _, c := range r.columnsOf[k].cols {
		if c.table == t {
			return "its " + r.tables[t].cols[c.col].name
		}
	}
	return "what the text says"
}

// rejectSelfComparisons drops footnotes of one cell in "1,204 against 1,204" or "from 980 to 980", because one of the
// two numbers is wrong.
func (r *resolver) rejectSelfComparisons() {
	for k := 0; k+1 < len(r.numerals); k++ {
		a, b := r.found[k], r.found[k+1]
		n, m := &r.numerals[k], &r.numerals[k+1]
		if a == nil || b == nil || a.formula != "" || b.formula != "" || a.table != b.table || a.row != b.row ||
			a.col != b.col ||
			n.kind != number || m.kind != number || m.from-n.to > 8 || !r.areContrasted(n, m) {
			continue
		}
		for _, j := range []int{k, k + 1} {
			r.found[j] = nil
			r.reasons[j] = fmt.Sprintf("%s is compared with itself",
				r.prose.text[r.numerals[j].start:r.numerals[j].end])
		}
	}
}

// areContrasted reports whether a word between two numbers contrasts them.
func (r *resolver) areContrasted(n, m *numeral) bool {
	p := r.prose
	if p.tokens[n.from].sentence != p.tokens[m.from].sentence {
		return false
	}
	w, _ := r.wordBefore(n)
	for i := n.to; i < m.from; i++ {
		switch low := p.low(i); {
		case low == "vs", low == "versus", low == "against", low == "than", low == "instead", low == "compared",
			low == "previously", low == "to" && w == "from":
			return true
		}
	}
	return false
}

// rejectContradictedDates drops the footnote of a date if the figure beside it belongs to another date. One of the two
// is wrong, and the text does not tell which.
func (r *resolver) rejectContradictedDates() {
	for k := range r.numerals {
		n := &r.numerals[k]
		if r.found[k] != nil && r.found[k].conf >= minConfidence || n.kind != number || len(r.hits[k]) == 0 {
			continue
		}
		for _, b := range r.bindings[k] {
			if b.strength != inSentence || b.table != r.hits[k][0].table {
				continue
			}
			for _, m := range b.by {
				if j := r.numeralAt[m.from]; j >= 0 && r.found[j] != nil && r.found[j].formula == "" &&
					distance(m, n) < 8 {
					if !slices.Contains(b.rows, int32(r.hits[k][0].row)) {
						r.reasons[j] = fmt.Sprintf("%s beside it is in the row of %s", r.prose.text[n.start:n.end],
							r.rowName(r.hits[k][0].table, r.hits[k][0].row))
						r.found[j] = nil
					}
				}
			}
		}
	}
}
