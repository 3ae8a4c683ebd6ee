package cite

import "fmt"

// reason says in words why a numeral has no footnote.
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
			if contains(b.rows, h.row) {
				return fmt.Sprintf("%s is the %s of %s, not %s", text, r.tables[h.table].cols[h.col].name, name,
					r.wanted(k, h.table))
			}
			return fmt.Sprintf("%s is in the row of %s, not %s", text, r.rowName(h.table, h.row), name)
		}
	}
	if len(r.hits[k]) > 0 && len(r.bindings[k]) == 0 {
		return fmt.Sprintf("%s is a cell of %s, but the text does not say it is about it", text,
			r.tables[r.hits[k][0].table].id)
	}
	return fmt.Sprintf("no cell and no formula of the results gives %s", text)
}

// wanted names the column the text asks for.
func (r *resolver) wanted(k, t int) string {
	for _, c := range r.columnsOf[k].cols {
		if c.table == t {
			return "its " + r.tables[t].cols[c.col].name
		}
	}
	return "what the text says"
}

func contains(rows []int32, row int) bool {
	for _, r := range rows {
		if int(r) == row {
			return true
		}
	}
	return false
}

// doubtParts: in "120 of the 120" one of the two is wrong.
func (r *resolver) doubtParts() {
	for k := 0; k+1 < len(r.numerals); k++ {
		a, b := r.found[k], r.found[k+1]
		if a == nil || b == nil || a.formula != "" ||
			(a.table != b.table || a.row != b.row || a.col != b.col || b.formula != "") {
			continue
		}
		n, m := &r.numerals[k], &r.numerals[k+1]
		if r.partOf(m) && m.from-n.to <= 4 {
			if r.elsewhere(k, a) {
				continue
			}
			for _, j := range []int{k, k + 1} {
				r.found[j] = nil
				r.reasons[j] = fmt.Sprintf("%s would be a part of itself",
					r.prose.text[r.numerals[j].start:r.numerals[j].end])
			}
		}
	}
}

// doubtSame: in "1,204 against 1,204" of one cell, or "from 980 to 980", one of the two is wrong.
func (r *resolver) doubtSame() {
	for k := 0; k+1 < len(r.numerals); k++ {
		a, b := r.found[k], r.found[k+1]
		n, m := &r.numerals[k], &r.numerals[k+1]
		if a == nil || b == nil || a.formula != "" || b.formula != "" || a.table != b.table || a.row != b.row ||
			a.col != b.col ||
			n.kind != number || m.kind != number || m.from-n.to > 8 || !r.opposed(n, m) || r.elsewhere(k, a) ||
			r.elsewhere(k+1, b) {
			continue
		}
		named := [2]bool{r.tellsColumn(n, a), r.tellsColumn(m, b)}
		for i, j := range []int{k, k + 1} {
			if named[i] && !named[1-i] {
				continue // the other one is of another column
			}
			r.found[j] = nil
			r.reasons[j] = fmt.Sprintf("%s is compared with itself",
				r.prose.text[r.numerals[j].start:r.numerals[j].end])
		}
	}
}

// opposed: a word between two numbers sets them against each other.
func (r *resolver) opposed(n, m *numeral) bool {
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

// elsewhere: another cell that the numeral may mean has the same value.
func (r *resolver) elsewhere(k int, c *candidate) bool {
	for _, h := range r.hits[k] {
		if h.table != c.table || h.col == c.col && h.row == c.row {
			continue
		}
		for _, b := range r.bindings[k] {
			if b.table == h.table && contains(b.rows, h.row) {
				return true
			}
		}
		if h.col == c.col {
			return true
		}
	}
	return false
}

// tellsColumn: a column is named beside the numeral.
func (r *resolver) tellsColumn(n *numeral, c *candidate) bool {
	for _, m := range r.nearColumns(n) {
		if len(m.cols) != 1 || m.cols[0] != (colRef{c.table, c.col}) {
			continue
		}
		if m.to <= n.from && n.from-m.to <= 3 && !r.numeralBetween(m.to, n.from) || m.from >= n.to && r.unitOf(n, m) {
			return true
		}
	}
	return false
}

// doubtDates takes back the footnote of a date when the figure beside it is that of another date: one of the two is
// wrong, and nothing says which.
func (r *resolver) doubtDates() {
	for k := range r.numerals {
		n := &r.numerals[k]
		if r.found[k] != nil && r.found[k].conf >= minConfidence || n.kind != number || len(r.hits[k]) == 0 {
			continue
		}
		for _, b := range r.bindings[k] {
			if b.strength != said || b.table != r.hits[k][0].table {
				continue
			}
			for _, m := range b.by {
				if j := r.numeralAt[m.from]; j >= 0 && r.found[j] != nil && r.found[j].formula == "" &&
					distance(m, n) < 8 {
					if !contains(b.rows, r.hits[k][0].row) {
						r.reasons[j] = fmt.Sprintf("%s beside it is in the row of %s", r.prose.text[n.start:n.end],
							r.rowName(r.hits[k][0].table, r.hits[k][0].row))
						r.found[j] = nil
					}
				}
			}
		}
	}
}
