package cite

import "sort"

// Spans: "from May to August", "(Monday to Thursday)" are the rows of a series from one label to the other.

var (
	spanLinks = set("to through until till – - bis a até")
	spanParts = set("the mid late early end beginning of")
	weekNames = set("weekday wochentag day dow tag")
)

// span is the rows from one label to another, when m is either of them; nil when it is neither.
func (r *resolver) span(m *mention, d dim) []int32 {
	ms := r.bySentence[r.prose.tokens[m.from].sentence]
	i := sort.Search(len(ms), func(i int) bool { return ms[i].from >= m.from })
	for k := max(1, i); k <= i+1 && k < len(ms); k++ {
		first, last := ms[k-1], ms[k]
		if !r.spans(first, last) {
			continue
		}
		a, b := first.hit(d), last.hit(d)
		if a == nil || b == nil || len(a.rows) != 1 || b.wide || a.rows[0] >= b.rows[0] || !r.inOrder(d) {
			continue
		}
		return rowSpan(int(a.rows[0]), int(b.rows[len(b.rows)-1])+1)
	}
	return nil
}

// spans: only "to" stands between two labels, or "and" after "between".
func (r *resolver) spans(first, last *mention) bool {
	p := r.prose
	link := first.to
	if last.from <= link || last.from > link+5 {
		return false
	}
	for i := link + 1; i < last.from; i++ {
		if !spanParts[p.low(i)] && p.low(i) != "-" {
			return false
		}
	}
	return spanLinks[p.own(link)] || p.low(link) == "and" && p.low(first.from-1) == "between"
}

// inOrder: the labels of a column follow each other in time.
func (r *resolver) inOrder(d dim) bool {
	c := &r.tables[d.table].cols[d.col]
	return r.series(d.table) || c.role == roleDate || c.axis || hasAny(c.words, periodNames) ||
		hasAny(c.words, weekNames)
}
