package cite

import (
	"slices"
	"strings"
)

// This file decides which of two figures for the same measure a numeral means: the earlier or the later one. The pair
// can be two columns (litres_2023 and litres_2024, prev_streams and streams, budget and actual) or two results of one
// query for different years. The words around the number tell which is meant: "from A to B", "B instead of A", "B, up 7
// %".

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

// columnAge orders columns by the time in their names: revenue_2023 before revenue_2024, last_year before this_year.
// base is the name without the words for the time. age is 0 if the name contains none.
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

// compareAge compares two columns in time. It returns -1 if x is the earlier one, 1 if it is the later one, and 0 if
// the columns do not hold the same measure.
func (t *table) compareAge(x, y int) int {
	if x == y || t.cols[x].role != roleNumber || t.cols[y].role != roleNumber {
		return 0
	}
	a, b := t.cols[x].age, t.cols[y].age
	if a == b || t.cols[x].base != t.cols[y].base && !t.hasSameMeasure(x, y) {
		return 0
	}
	switch { // next to prev_streams, streams is the current value
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

// hasSameMeasure reports whether a column named only by its time and unit, such as vorjahr_kwh, holds the same measure
// as the other column. That is so if no third column has that unit.
func (t *table) hasSameMeasure(x, y int) bool {
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

// tablePeriod returns the period of a result as year × 100 + month, read from the literals of its statement. The month
// is 0 for a whole year. The result is 0 if there are no literals, or literals of several years. Two literals a month
// apart are the two ends of the first month.
func (r *resolver) tablePeriod(t int) int {
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

// tablesOfOtherPeriods returns the results with the same columns as t but for another period.
func (r *resolver) tablesOfOtherPeriods(t int) []int {
	if r.otherPeriods == nil {
		r.otherPeriods = make([][]int, len(r.tables))
		times := make([]int, len(r.tables))
		for i := range r.tables {
			times[i] = r.tablePeriod(i)
		}
		for i := range r.tables {
			for j := range r.tables {
				if i != j && times[i] != 0 && times[j] != 0 && times[i] != times[j] &&
					slices.EqualFunc(r.tables[i].cols, r.tables[j].cols, func(a, b column) bool {
						return a.name == b.name
					}) {
					r.otherPeriods[i] = append(r.otherPeriods[i], j)
				}
			}
		}
	}
	return r.otherPeriods[t]
}

// keepMentionedPeriod drops the bindings to results of another period than the one mentioned over or beside the
// numeral. It applies only if one query has results for several periods.
func (r *resolver) keepMentionedPeriod(n *numeral, bs []binding) []binding {
	if len(bs) < 2 {
		return bs
	}
	return slices.DeleteFunc(slices.Clone(bs), func(b binding) bool { return r.isOfOtherPeriod(n, b.table) })
}

// isOfOtherPeriod reports whether the text mentions another period than that of result t, and other results have the
// same columns for another period.
func (r *resolver) isOfOtherPeriod(n *numeral, t int) bool {
	if len(r.tablesOfOtherPeriods(t)) == 0 {
		return false
	}
	mentioned := r.mentionedPeriod(n)
	return mentioned != 0 && !periodIncludes(r.tablePeriod(t), mentioned)
}

// periodIncludes reports whether a mentioned period includes the period at. A mentioned period without a year includes
// every year, one without a month every month.
func periodIncludes(at, mentioned int) bool {
	return (mentioned/100 == 0 || mentioned/100 == at/100) && (mentioned%100 == 0 || mentioned%100 == at%100)
}

// mentionedPeriod returns the period in the table header over a numeral, or in the first cell of its row. It returns
// 0 if there is none.
func (r *resolver) mentionedPeriod(n *numeral) int {
	p := r.prose
	b := &p.blocks[p.tokens[n.from].blck]
	if b.parent >= 0 && b.kind == tableRow {
		from, to := p.headerCell(b.parent, p.cellOf(n.from))
		for i := from; i < to; i++ {
			if at := r.periodAt(i); at != 0 {
				return at
			}
		}
	}
	if len(b.cells) > 1 { // only rows of tables have cells
		return r.periodAt(b.cells[0])
	}
	return 0
}

// periodAt returns the month or year that token i names.
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

// sideOf returns -1 if the words right before a numeral, or an arrow beside it, mark it as the earlier of two figures,
// +1 if they mark it as the later one, and 0 if they do neither.
func (r *resolver) sideOf(k int) int {
	n := &r.numerals[k]
	if r.isArrow(n.to) {
		return -1 // "808,569 → 834,125"
	}
	if r.isArrow(n.from-1) || r.isArrow(n.from-2) && !r.prose.tokens[n.from-1].word {
		return 1
	}
	w, before := r.wordBefore(n)
	changes := r.sentenceHasCue(n, changeVerbs) || r.sentenceHasCue(n, endWords) || r.sentenceHasCue(n, riseWords)
	switch {
	case reachWords[w]:
		return 1
	case w == "to" && changes:
		return 1
	case w == "at" && r.hasCue(n, endWords):
		return 1
	case w == "from" && changes:
		return -1
	case r.isReplaced(n):
		return -1
	case before == "after" && n.from >= 2 && changes, w == "after" && changes:
		return -1
	}
	return 0
}

// isArrow reports whether an arrow (→ or ->) is at token i.
func (r *resolver) isArrow(i int) bool {
	return r.prose.low(i) == "→" || r.prose.low(i) == "-" && r.prose.low(i+1) == ">"
}

// isReplaced reports whether a numeral is the value that was replaced, such as the 540 in "523 instead of 540" or the
// 32 in "27 (previously 32)".
func (r *resolver) isReplaced(n *numeral) bool {
	w, before := r.wordBefore(n)
	return w == "of" && before == "instead" || insteadWords[w] || w == "from" && riseWords[before] ||
		(w == "was" || w == "were") && before == "("
}

// superseded reports whether the words contradict the side of a column or result, so that a numeral cannot come from
// it. For example, "grew to 2,400" does not mean revenue_2023 if there is a revenue_2024, "from 2,880" does not mean
// the later of the two, and "27 instead of 32" does not mean the result of the previous year.
func (r *resolver) superseded(k, t, ci int) bool {
	n := &r.numerals[k]
	tab := &r.tables[t]
	var ends [2]bool // whether there is an earlier one, and a later one
	for o := range tab.cols[:min(len(tab.cols), 4*maxColumns)] {
		if d := tab.compareAge(ci, o); d != 0 {
			ends[(1-d)/2] = true
		}
	}
	for _, u := range r.tablesOfOtherPeriods(t) {
		if mentioned := r.mentionedPeriod(n); mentioned == 0 || !periodIncludes(r.tablePeriod(t), mentioned) {
			later := 0
			if r.tablePeriod(u) > r.tablePeriod(t) {
				later = 1
			}
			ends[later] = true
		}
	}
	if !ends[0] && !ends[1] {
		return false
	}
	switch r.sideOf(k) {
	case 1:
		return ends[1]
	case -1:
		if w, _ := r.wordBefore(n); w == "from" {
			return ends[0]
		}
		return !ends[1]
	}
	return ends[1] && !hasAny(tab.cols[ci].words, plannedWords) && !r.mentionsPast(n)
}

// mentionsPast reports whether the sentence contains a month or a word for another time. Without one, a figure refers
// to the present.
func (r *resolver) mentionsPast(n *numeral) bool {
	p := r.prose
	sp := p.sentences[p.tokens[n.from].sentence]
	for i := max(sp.from, n.from-2*window); i < sp.to && i < n.to+2*window; i++ {
		low := p.low(i)
		if months[low] > 0 || pastWords[low] {
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

// withoutOutdated drops the columns that have a later counterpart, because a statement without a time refers to the
// present.
func (r *resolver) withoutOutdated(n *numeral, t int, cols []int) []int {
	tab := &r.tables[t]
	return slices.DeleteFunc(slices.Clone(cols), func(x int) bool {
		return slices.ContainsFunc(cols, func(y int) bool {
			return tab.compareAge(x, y) < 0
		})
	})
}
