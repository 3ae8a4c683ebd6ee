package cite

import (
	"slices"
)

// This file decides which of two figures for the same measure a numeral means: the earlier or the later one. The pair
// can be two columns (litres_2023 and litres_2024, prev_streams and streams, budget and actual) or two results of one
// query for different years. The words around the number tell which is meant: "from A to B", "B instead of A", "B, up 7
// %".

var (
	earlierWords = set("last previous prior old before start opening prev first initial budget budgeted plan planned " +
		"forecast expected vorjahr vormonat anterior")
	plannedWords = set("budget budgeted plan planned forecast expected target")
	laterWords   = set("this current new after end closing latest now actual actuals real spent final")
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
	if a == b || t.cols[x].base != t.cols[y].base {
		return 0
	}
	if (a > 2) != (b > 2) {
		return 0
	}
	if a < b {
		return -1
	}
	return 1
}

// superseded reports whether a column has a later counterpart and the sentence does not speak of the past. "Grew to
// 2,400" does not mean revenue_2023 if there is a revenue_2024.
func (r *resolver) superseded(k, t, ci int) bool {
	n := &r.numerals[k]
	tab := &r.tables[t]
	later := false
	for o := range tab.cols[:min(len(tab.cols), 4*maxColumns)] {
		later = later || tab.compareAge(ci, o) < 0
	}
	return later && !hasAny(tab.cols[ci].words, plannedWords) && !r.mentionsPast(n)
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
