package cite

import "sort"

// This file handles spans: "from May to August" and "(Monday to Thursday)" mean the rows from one label to the other.

var (
	spanLinks = set("to through until till – - bis a até")
	weekNames = set("weekday wochentag day dow tag")
)

// spanRows returns the rows from one label to another if m is one of the two, otherwise nil.
func (r *resolver) spanRows(m *mention, d dim) []int32 {
	ms := r.bySentence[r.prose.tokens[m.from].sentence]
	i := sort.Search(len(ms), func(i int) bool { return ms[i].from >= m.from })
	for k := max(1, i); k <= i+1 && k < len(ms); k++ {
		first, last := ms[k-1], ms[k]
		if !r.isSpan(first, last) {
			continue
		}
		a, b := first.hit(d), last.hit(d)
		if a == nil || b == nil || len(a.rows) != 1 || b.tooMany || a.rows[0] >= b.rows[0] || !r.isInTimeOrder(d) {
			continue
		}
		return rowSpan(int(a.rows[0]), int(b.rows[len(b.rows)-1])+1)
	}
	return nil
}

// isSpan reports whether "to" is between two labels, or "and" after "between".
func (r *resolver) isSpan(first, last *mention) bool {
	p := r.prose
	link := first.to
	if last.from <= link || last.from > link+5 {
		return false
	}
	return spanLinks[p.ownWord(link)] || p.low(link) == "and" && p.low(first.from-1) == "between"
}

// isInTimeOrder reports whether the labels of a column are in order of time.
func (r *resolver) isInTimeOrder(d dim) bool {
	c := &r.tables[d.table].cols[d.col]
	return c.role == roleDate || hasAny(c.words, periodNames) ||
		hasAny(c.words, weekNames)
}
