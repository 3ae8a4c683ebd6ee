package cite

import (
	"cmp"
	"slices"
)

// This file binds a numeral to its subject. Within a sentence it considers each column of labels (cities, months)
// separately. The numeral belongs to the label that a preposition ties to it ("1,204 in Berlin"), otherwise to the
// nearest label before it, otherwise to the first one after it. It skips labels that are only compared with ("more than
// Hamburg"), unless the numeral directly follows ("Hamburg's 980"). If the sentence has no label, the subject is that
// of the previous sentence, the list item above or the heading.

// strength is the kind of evidence for a binding.
type strength uint8

const (
	unbound    strength = iota
	carried             // from the sentence before
	inherited           // from a pronoun, the item above or the heading: as good as said
	inSentence          // in the sentence itself
)

// binding holds the rows of one table that a numeral is about.
type binding struct {
	table    int
	rows     []int32 // sorted
	group    []int32 // rows of "A, B and C" when the last of them was bound
	strength strength
	by       []*mention
}

// dim is a column, or a row, of a table.
type dim struct{ table, col int }

// bind returns the bindings of a numeral, at most one per table, newest table first.
func (r *resolver) bind(n *numeral) []binding {
	picks := map[dim]*mention{}
	level := inSentence
	own := r.ownColumns(n)

	r.pickSentence(n, picks)

	if len(picks) == 0 {
		level = r.pickContext(n, picks)
	}
	byTable := map[int][]pick{}
	for d, m := range picks {
		if own[d] {
			continue // a label does not bind another label of its column
		}
		if h := m.hit(d); h != nil && !h.tooMany {
			byTable[d.table] = append(byTable[d.table], pick{m, h})
		}
	}
	var out []binding
	for t := len(r.tables) - 1; t >= 0; t-- {
		if ps := byTable[t]; len(ps) > 0 {
			joined := r.join(n, t, ps, level)
			if all := len(r.tables[t].rows); all > 2 && len(joined.rows) == all {
				continue // a span such as "between 2 June and mid-September" that has all rows
			}
			r.moveToPreviousPeriod(n, &joined)
			out = append(out, joined)
		}
	}
	return out
}

// ownColumns returns the columns in which the numeral itself is a label.
func (r *resolver) ownColumns(n *numeral) map[dim]bool {
	own := map[dim]bool{}
	for _, m := range r.labelsNear(n) {
		if m.overlaps(n) {
			for _, h := range m.hits {
				own[dim{h.table, h.col}] = true
			}
		}
	}
	return own
}

// pick is a chosen mention with its rows in one column.
type pick struct {
	m *mention
	h *hit
}

// hit returns the rows that the mention names by a column, or nil.
func (m *mention) hit(d dim) *hit {
	i := slices.IndexFunc(m.hits, func(h hit) bool { return h.table == d.table && h.col == d.col })
	if i < 0 {
		return nil
	}
	return &m.hits[i]
}

// join intersects the rows of the picks, names before dates and fewer rows before more. It skips a pick that would
// leave no rows.
func (r *resolver) join(n *numeral, t int, ps []pick, level strength) binding {
	sortPicks(ps, n)
	out := binding{table: t, strength: level}
	for _, p := range ps {
		rows := p.h.rows
		if out.rows != nil {
			if rows = intersect(out.rows, rows); len(rows) == 0 {
				continue
			}
		}
		out.rows = rows
		out.by = append(out.by, p.m)
	}
	if d := (dim{t, ps[0].h.col}); level == inSentence && out.by[0] == ps[0].m && len(ps) == 1 &&
		!r.sentenceHasCue(n, changeVerbs) {
		if rows := r.spanRows(ps[0].m, d); rows != nil {
			out.rows, out.group = rows, rows
			return out
		}
	}
	if g := r.group[ps[0].m]; g != nil && level == inSentence && out.by[0] == ps[0].m {
		d := dim{t, ps[0].h.col}
		for _, m := range g {
			if h := m.hit(d); h != nil {
				out.group = union(out.group, h.rows)
			}
		}
	}
	return out
}

// sortPicks sorts picks in the order in which join applies them.
func sortPicks(ps []pick, n *numeral) {
	slices.SortFunc(ps, func(a, b pick) int {
		if a.m.date != b.m.date {
			if b.m.date {
				return -1
			}
			return 1
		}
		return cmp.Or(len(a.h.rows)-len(b.h.rows), distance(a.m, n)-distance(b.m, n), a.h.col-b.h.col)
	})
}

// distance returns the number of tokens between a mention and a numeral.
func distance(m *mention, n *numeral) int {
	if m.from >= n.to {
		return m.from - n.to
	}
	return n.from - m.to
}

// intersect returns the rows in both sorted lists.
func intersect(a, b []int32) []int32 {
	var out []int32
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			out = append(out, a[i])
			i++
			j++
		}
	}
	return out
}

// union returns the rows in either of two sorted lists.
func union(a, b []int32) []int32 {
	out := make([]int32, 0, len(a)+len(b))
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			out = append(out, a[i])
			i++
		case i == len(a) || a[i] > b[j]:
			out = append(out, b[j])
			j++
		default:
			out = append(out, a[i])
			i++
			j++
		}
	}
	return out
}

// overlaps reports whether the mention is the numeral itself, or part of it.
func (m *mention) overlaps(n *numeral) bool { return m.from < n.to && n.from < m.to }

// cellOf returns the index of the table cell with token i.
func (p *prose) cellOf(i int) int {
	b := p.blocks[p.tokens[i].blck]
	c := -1
	for _, at := range b.cells {
		if at > i {
			break
		}
		c++
	}
	return c
}

// headerCell returns the token range of cell c of a header row.
func (p *prose) headerCell(b, c int) (int, int) {
	h := p.blocks[b]
	if c < 0 || c >= len(h.cells) {
		return 0, 0
	}
	to := h.span.to
	if c+1 < len(h.cells) {
		to = h.cells[c+1]
	}
	return h.cells[c], to
}

// pickSentence binds a numeral of prose within its sentence.
func (r *resolver) pickSentence(n *numeral, picks map[dim]*mention) {
	byDim := map[dim][]*mention{}
	for _, m := range r.labelsNear(n) {
		for i := range m.hits {
			d := dim{m.hits[i].table, m.hits[i].col}
			byDim[d] = append(byDim[d], m)
		}
	}
	for d, ms := range byDim {
		if m := r.choose(n, ms); m != nil {
			picks[d] = m
		}
	}
}

// choose returns the label of a column that the numeral is about, or nil. The labels must be in text order.
func (r *resolver) choose(n *numeral, ms []*mention) *mention {
	if m := r.paired[n.from]; m != nil && slices.Contains(ms, m) {
		return m
	}
	var next, prev *mention
	for _, m := range ms {
		switch {
		case m.from >= n.to && next == nil:
			next = m
		case m.to <= n.from:
			prev = m
		}
	}
	if next != nil && r.isTied(n, next) {
		return next
	}
	behind := r.afterWhole(n)
	free := next != nil && !r.numeralBetween(behind, next.from)
	clause := r.prose.tokens[n.from].clause
	if prev != nil && free && r.prose.tokens[prev.from].clause != clause && r.prose.tokens[next.from].clause == clause {
		return next
	}
	if prev != nil {
		return prev
	}
	if next != nil &&
		(free || !r.numeralBetween(behind, next.from) || r.allPercents(behind, next.from)) {
		return next
	}
	return nil
}

// afterWhole returns the token after which the words about a numeral begin: in "9 of the 31 leads are women", the one
// after the 31.
func (r *resolver) afterWhole(n *numeral) int {
	if !r.isPart(n) {
		return n.to
	}
	for i := n.to; i < n.to+6 && i < len(r.prose.tokens); i++ {
		if k := r.numeralAt[i]; k >= 0 {
			return r.numerals[k].to
		}
	}
	return n.to
}

// isTied reports whether a preposition ties the label to the number before it.
func (r *resolver) isTied(n *numeral, m *mention) bool {
	p := r.prose
	if m.from == n.to {
		return true
	}
	words := 0
	link := ""
	for i := n.to; i < m.from; i++ {
		t := p.tokens[i]
		switch {
		case !t.word && t.low != "'" && t.low != "’" && t.low != "-" && t.low != "°" && t.low != "²" && t.low != "\"" &&
			t.low != "€" && t.low != "$" && t.low != "£":
			return false
		case r.numeralAt[i] >= 0, conjunctions[t.low]:
			return false
		case t.word && linkWords[link]: // "on the best Saturday"
		case t.word && !articles[t.low]:
			words++
			link = t.low
		}
	}
	if words <= 2 && (link == "were" || link == "are" || link == "chose") {
		return true // '896 were "Satisfied"'
	}
	if words == 0 && articles[p.low(n.to)] && m.from == n.to+1 && r.numeralAt[m.from] >= 0 {
		return true // "449 gave a 10 and 502 a 9"
	}
	if words == 1 && link == "after" && r.numeralAt[m.from] >= 0 {
		return true // "41 % after six months"
	}
	return words <= 5 && linkWords[link] && link != "against"
}

// allPercents reports whether all numbers between two tokens are percentages, which are about the same rows: "90
// people, 3.6 %, said no".
func (r *resolver) allPercents(from, to int) bool {
	found := false
	for i := from; i < to; i++ {
		if k := r.numeralAt[i]; k >= 0 {
			if !r.numerals[k].percent {
				return false
			}
			found = true
		}
		if conjunctions[r.prose.low(i)] || to-from > 16 {
			return false
		}
	}
	return found
}

// numeralBetween reports whether a numeral is between two tokens.
func (r *resolver) numeralBetween(from, to int) bool {
	for i := from; i < to; i++ {
		if r.numeralAt[i] >= 0 {
			return true
		}
	}
	return false
}
