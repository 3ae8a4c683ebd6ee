package cite

import (
	"slices"
	"strings"
)

// Sides: which of two figures of one thing a numeral is, the earlier or the later one. Columns have sides (litres_2023
// and litres_2024, prev_streams and streams, budget and actual), results of one query for two years have, and the words
// around a number say which is meant: "from A to B", "B instead of A", "B, up 7 %".

var (
	earlierWords = set("last previous prior old before start opening prev first initial budget budgeted plan planned " +
		"forecast expected vorjahr vormonat anterior")
	seasons      = map[string]int{"spring": 4, "summer": 7, "autumn": 10}
	plannedWords = set("budget budgeted plan planned forecast expected target")
	laterWords   = set("this current new after end closing latest now actual actuals real spent final")
	reachWords   = set("reached reaching hit now currently")
	endWords     = set("went goes ended moved ends")
	insteadWords = set("previously formerly originally earlier initially")
	riseWords    = set("up down")
)

// columnAge places revenue_2023 before revenue_2024, and last_year before this_year; base is the name without the time.
// An age of 0 is no time at all.
func columnAge(name []string) (age int, base string) {
	for _, w := range name {
		switch y, ok := digits(w); {
		case ok && y >= 1900 && y <= 2100:
			age = y
		case months[w] > 0:
			age = months[w]
		case seasons[w] > 0:
			age = seasons[w]
		case earlierWords[w]:
			age = 1
		case laterWords[w]:
			age = 2
		default:
			base += w + " "
		}
	}
	return age, base
}

// order compares two columns of a table in time: -1 when x is the earlier, 0 when they are not of one thing.
func (t *table) order(x, y int) int {
	if x == y || t.cols[x].role != roleNumber || t.cols[y].role != roleNumber {
		return 0
	}
	a, b := t.cols[x].age, t.cols[y].age
	if a == b || t.cols[x].base != t.cols[y].base && !t.sameMeasure(x, y) {
		return 0
	}
	switch { // streams beside prev_streams is the present one
	case a == 0:
		a = 2
	case b == 0:
		b = 2
	}
	if a == b || (a > 2) != (b > 2) {
		return 0
	}
	if a < b {
		return -1
	}
	return 1
}

// sameMeasure: a column named only by its time and unit (vorjahr_kwh) is of the other one's measure when nothing else
// has that unit.
func (t *table) sameMeasure(x, y int) bool {
	if t.cols[x].age != 0 && t.cols[y].age != 0 {
		return false
	}
	if t.cols[x].age == 0 {
		x, y = y, x
	}
	u := t.cols[x].unit
	if u.factor == nil || u != t.cols[y].unit || t.cols[x].age > 2 {
		return false
	}
	for _, w := range strings.Fields(t.cols[x].base) {
		if unitNamed(w).factor == nil {
			return false
		}
	}
	same := 0
	for i := range t.cols {
		if t.cols[i].unit.dimension == u.dimension {
			same++
		}
	}
	return same == 2
}

// tableTime is the period a result is of by the literals of its statement, as year × 100 + month; the month is 0 when
// they are of a whole year, all is 0 when there are none or of several years. Two literals a month apart are the two
// ends of the first.
func (r *resolver) tableTime(t int) int {
	at, one := 0, false
	for _, e := range r.echoes {
		if e.table != t || e.date.year == 0 {
			continue
		}
		next := e.date.year*100 + e.date.month
		switch {
		case at == 0:
			at, one = next, true
		case next == at:
		case at/100 != next/100 && !(one && at%100 == 12 && next == at+89):
			return 0
		case one && e.date.day == 1 && (next == at+1 || next == at+89):
			one = false // before the first of the next month
		default:
			at = at / 100 * 100
		}
	}
	return at
}

// likeTables are the results with the columns of t, of another period.
func (r *resolver) likeTables(t int) []int {
	if r.like == nil {
		r.like = make([][]int, len(r.tables))
		times := make([]int, len(r.tables))
		for i := range r.tables {
			times[i] = r.tableTime(i)
		}
		for i := range r.tables {
			for j := range r.tables {
				if i != j && times[i] != 0 && times[j] != 0 && times[i] != times[j] &&
					slices.EqualFunc(r.tables[i].cols, r.tables[j].cols, func(a, b column) bool {
						return a.name == b.name
					}) {
					r.like[i] = append(r.like[i], j)
				}
			}
		}
	}
	return r.like[t]
}

// ofPeriod keeps the bindings whose result is of the period said over or beside the numeral, where results of one query
// for several periods are at hand.
func (r *resolver) ofPeriod(n *numeral, bs []binding) []binding {
	if len(bs) < 2 {
		return bs
	}
	return slices.DeleteFunc(slices.Clone(bs), func(b binding) bool { return r.ofOther(n, b.table) })
}

// ofOther: the words say another period than a result is of, of which there is a result like it.
func (r *resolver) ofOther(n *numeral, t int) bool {
	like := r.likeTables(t)
	if len(like) == 0 {
		return false
	}
	said := r.periodOf(n)
	return said != 0 && !isOf(r.tableTime(t), said) &&
		slices.ContainsFunc(like, func(u int) bool { return isOf(r.tableTime(u), said) })
}

// isOf reports whether a period is the one said, as far as that goes.
func isOf(at, said int) bool {
	return (said/100 == 0 || said/100 == at/100) && (said%100 == 0 || said%100 == at%100)
}

// periodOf is the period in the header over a numeral or in the first cell of its row, or the one in its clause: right
// behind it ("583 in August"), else the last one before, else the next one. 0 is none.
func (r *resolver) periodOf(n *numeral) int {
	p := r.prose
	b := &p.blocks[p.tokens[n.from].blck]
	if b.kind == tableRow {
		if b.parent >= 0 {
			from, to := p.headerCell(b.parent, p.cellOf(n.from))
			for i := from; i < to; i++ {
				if at := r.periodAt(i); at != 0 {
					return at
				}
			}
		}
		if len(b.cells) > 1 {
			return r.periodAt(b.cells[0])
		}
		return 0
	}
	clause := p.tokens[n.from].clause
	if linkWords[p.low(n.to)] {
		if at := r.periodAt(n.to + 1); at != 0 {
			return at
		}
	}
	for i := n.from - 1; i >= max(0, n.from-12) && p.tokens[i].clause == clause; i-- {
		if at := r.periodAt(i); at != 0 {
			return at
		}
	}
	for i := n.to; i < n.to+6 && i < len(p.tokens) && p.tokens[i].clause == clause; i++ {
		if at := r.periodAt(i); at != 0 {
			return at
		}
	}
	return 0
}

// periodAt is the month or year that token i says.
func (r *resolver) periodAt(i int) int {
	p := r.prose
	if i < 0 || i >= len(p.tokens) {
		return 0
	}
	if k := r.numeralAt[i]; k >= 0 {
		if n := &r.numerals[k]; n.year || n.kind == calendar {
			return n.date.year*100 + n.date.month
		}
		return 0
	}
	if c := p.text[p.tokens[i].start]; c >= 'A' && c <= 'Z' || smallMonths[p.low(i)] {
		return months[p.low(i)]
	}
	return 0
}

// side is -1 when the words say that a numeral is the earlier of two figures, +1 for the later one, 0 when they do not
// say.
func (r *resolver) side(k int) int {
	n := &r.numerals[k]
	if s := r.ownSide(n); s != 0 {
		return s
	}
	if r.risesAfter(n) {
		return 1
	}
	for j := k + 1; j < len(r.numerals) && j <= k+2; j++ { // "523 instead of 540"
		m := &r.numerals[j]
		if m.from-n.to > 10 || r.prose.tokens[m.from].sentence != r.prose.tokens[n.from].sentence {
			break
		}
		if m.percent || m.kind != number {
			continue
		}
		if r.isReplaced(m) {
			return 1
		}
		break
	}
	if k > 0 && r.prose.low(n.from-1) == "(" { // "135 more units (3,515)"
		m := &r.numerals[k-1]
		if n.from-m.to <= 6 && r.prose.tokens[m.from].sentence == r.prose.tokens[n.from].sentence &&
			r.comparedWith(m) && r.nounAfter(m) >= 0 {
			return 1
		}
	}
	return 0
}

// ownSide reads the words right before a numeral.
func (r *resolver) ownSide(n *numeral) int {
	if r.arrow(n.to) {
		return -1 // "808,569 → 834,125"
	}
	if r.arrow(n.from-1) || r.arrow(n.from-2) && !r.prose.tokens[n.from-1].word {
		return 1
	}
	w, before := r.wordBefore(n)
	changes := r.saysSentence(n, changeVerbs) || r.saysSentence(n, endWords) || r.saysSentence(n, riseWords)
	switch {
	case reachWords[w]:
		return 1
	case w == "to" && (changes || r.pairedBy("from", n)):
		return 1
	case w == "at" && r.says(n, endWords):
		return 1
	case w == "from" && (changes || r.followedBy("to", n)):
		return -1
	case r.isReplaced(n):
		return -1
	case before == "after" && n.from >= 2 && changes, w == "after" && changes:
		return -1
	}
	return 0
}

// arrow: the sign of a change stands at token i or behind the currency there.
func (r *resolver) arrow(i int) bool {
	return r.prose.low(i) == "→" || r.prose.low(i) == "-" && r.prose.low(i+1) == ">"
}

// isReplaced: the 540 of "523 instead of 540", the 32 of "27 (previously 32)".
func (r *resolver) isReplaced(n *numeral) bool {
	w, before := r.wordBefore(n)
	return w == "of" && before == "instead" || insteadWords[w] || w == "from" && riseWords[before] ||
		(w == "was" || w == "were") && before == "("
}

// pairedBy: another numeral of the sentence before this one stands behind w.
func (r *resolver) pairedBy(w string, n *numeral) bool {
	p := r.prose
	for i := n.from - 2; i >= 0 && i > n.from-12 && p.tokens[i].sentence == p.tokens[n.from].sentence; i-- {
		if p.low(i) == w {
			return true
		}
	}
	return false
}

// followedBy: w and another numeral come next.
func (r *resolver) followedBy(w string, n *numeral) bool {
	p := r.prose
	for i := n.to; i < n.to+9 && i+1 < len(p.tokens) && p.tokens[i].sentence == p.tokens[n.from].sentence &&
		r.numeralAt[i] < 0; i++ {
		if p.low(i) == w {
			return r.numeralBetween(i+1, min(i+5, len(p.tokens)))
		}
	}
	return false
}

// risesAfter: "705,600 litres, down 4.5 %": the figure is where it went to.
func (r *resolver) risesAfter(n *numeral) bool {
	p := r.prose
	for i := n.to; i < n.to+5 && i < len(p.tokens) && p.tokens[i].sentence == p.tokens[n.from].sentence; i++ {
		if r.numeralAt[i] >= 0 {
			return false
		}
		if riseWords[p.low(i)] && (i > n.to && (p.low(i-1) == "," || p.low(i-1) == "(") || i == n.to) {
			return r.numeralAt[min(i+1, len(p.tokens)-1)] >= 0 || p.low(i+1) == "from" || p.low(i+1) == "by"
		}
	}
	return false
}

// superseded: "grew to 2,400" is not about revenue_2023 when there is a revenue_2024, "from 2,880" not about the later
// of the two, and "27 instead of 32" not about the result of the year before.
func (r *resolver) superseded(k, t, ci int) bool {
	n := &r.numerals[k]
	tab := &r.tables[t]
	var ends [2]bool // there is an earlier one, a later one
	for o := range tab.cols[:min(len(tab.cols), 4*maxColumns)] {
		if d := tab.order(ci, o); d != 0 && !r.tellsApart(n, t, ci, o) {
			ends[(1-d)/2] = true
		}
	}
	for _, u := range r.likeTables(t) {
		if said := r.periodOf(n); said == 0 || !isOf(r.tableTime(t), said) {
			later := 0
			if r.tableTime(u) > r.tableTime(t) {
				later = 1
			}
			ends[later] = true
		}
	}
	if !ends[0] && !ends[1] {
		return false
	}
	switch r.side(k) {
	case 1:
		return ends[1]
	case -1:
		if w, _ := r.wordBefore(n); w == "from" {
			return ends[0]
		}
		return !ends[1]
	}
	return ends[1] && !hasAny(tab.cols[ci].words, plannedWords) && !r.saysPast(n, t, tab.cols[ci].age)
}

// saysPast: the sentence has a word of time other than the year of the whole result, or the year a column is of;
// without one, a figure is of the present.
func (r *resolver) saysPast(n *numeral, t, age int) bool {
	p := r.prose
	if age > 0 && age < 3 && !r.inTable(n) {
		for _, m := range r.nearColumns(n) {
			for _, c := range m.cols {
				if r.tables[c.table].cols[c.col].age == age {
					return true
				}
			}
		}
	}
	sp := p.sentences[p.tokens[n.from].sentence]
	for i := max(sp.from, n.from-2*window); i < sp.to && i < n.to+2*window; i++ {
		low := p.low(i)
		if k := r.numeralAt[i]; k >= 0 &&
			(r.numerals[k].year && r.numerals[k].date.year*100 != r.tableTime(t) || r.numerals[k].kind == calendar) ||
			months[low] > 0 || pastWords[low] {
			return true
		}
		near := p.tokens[i].clause == p.tokens[n.from].clause || i < sp.from+4 || i >= n.to && i < n.to+4
		if near && (earlierWords[low] || priorWords[low] || insteadWords[low] || beforeWords[low] || low == "from") {
			return true
		}
	}
	return r.inTable(n)
}

var pastWords = set("vs versus against compared ago since between respectively")

// tellsApart: the words beside the numeral name one of two columns and not the other, so that they and not the order of
// the figures decide.
func (r *resolver) tellsApart(n *numeral, t, x, y int) bool {
	for _, m := range r.nearColumns(n) {
		if r.prose.tokens[m.from].clause != r.prose.tokens[n.from].clause || m.to < n.from-8 || m.from > n.to+5 ||
			m.to <= n.from && r.numeralBetween(m.to, n.from) {
			continue
		}
		a, b := slices.Contains(m.cols, colRef{t, x}), slices.Contains(m.cols, colRef{t, y})
		if a != b {
			return true
		}
	}
	return false
}

// outdated drops the columns that have a later one, unless the sentence names them: what is said without a time is said
// of the present.
func (r *resolver) outdated(n *numeral, t int, cols []int) []int {
	tab := &r.tables[t]
	return slices.DeleteFunc(slices.Clone(cols), func(x int) bool {
		return slices.ContainsFunc(cols, func(y int) bool {
			return tab.order(x, y) < 0 && !r.namedApart(n, t, x, y)
		})
	})
}

// namedApart: the sentence names x and not y.
func (r *resolver) namedApart(n *numeral, t, x, y int) bool {
	for _, m := range r.nearColumns(n) {
		if slices.Contains(m.cols, colRef{t, x}) && !slices.Contains(m.cols, colRef{t, y}) {
			return true
		}
	}
	return false
}
