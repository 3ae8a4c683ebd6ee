package cite

import (
	"fmt"
	"math/big"
	"strconv"
)

// This file finds counts of rows that meet a condition, and thresholds that cells are above or below.

// conditional handles counts with a condition: "three of the five shops have more than 1,000 orders".
func (r *resolver) conditional(k int) *candidate {
	n := &r.numerals[k]
	v := n.readings[0].val
	if !v.IsInt() || !v.Num().IsInt64() || n.percent || n.currency || n.scaled || n.times || n.sign != 0 {
		return nil
	}
	want := int(v.Num().Int64())
	if want > 100000 || r.nounAfter(n) < 0 && r.prose.low(n.to) != "of" && !copulas[r.prose.low(n.to)] {
		return nil
	}
	for t := len(r.tables) - 1; t >= 0 && t >= len(r.tables)-2; t-- {
		if !r.tables[t].whole || len(r.tables[t].rows) < 2 {
			continue
		}
		if c := r.countWhere(k, t, want); c != nil {
			return c
		}
	}
	return nil
}

// countWhere tries the conditions that a sentence can set for rows: a threshold, a sign, a boolean column, or a label
// that several rows share.
func (r *resolver) countWhere(k, t, want int) *candidate {
	n := &r.numerals[k]
	tab := &r.tables[t]
	s := r.prose.tokens[n.from].sentence

	for j := max(0, k-2); j < len(r.numerals) && j <= k+3; j++ {
		m := &r.numerals[j]
		if j == k || r.prose.tokens[m.from].sentence != s || len(m.readings) == 0 ||
			j < k && r.found[j] != nil && r.found[j].formula == "" {
			continue
		}
		for _, op := range r.comparison(m) {
			for _, ci := range r.columnsNear(n, t) {
				if r.count(t, ci, op, m.readings[0].val) == want {
					r.citeLimit(j, t, ci, op, want)
					return r.countIf(t, ci, op+" "+ratText(m.readings[0].val), want, 0.8)
				}
			}
		}
	}

	for _, m := range r.labelsNear(n) {
		for _, h := range m.hits {
			if h.table == t && tab.cols[h.col].role == roleText && !tab.cols[h.col].unique && len(h.rows) == want &&
				!h.tooMany {
				label, _ := tab.rows[h.rows[0]][h.col].(string)
				return &candidate{
					table: t, formula: fmt.Sprintf("count(%s = %s)", r.ref(t, -1, tab.cols[h.col].name),
						strconv.Quote(label)), value: strconv.Itoa(want), conf: 0.8,
				}
			}
		}
	}
	return nil
}

// citeLimit cites the threshold of a condition with the whole condition.
func (r *resolver) citeLimit(j, t, ci int, op string, want int) {
	c := r.countIf(t, ci, op+" "+ratText(r.numerals[j].readings[0].val), want, 0.7)
	c.value = ratText(r.numerals[j].readings[0].val)
	if r.found[j] == nil || r.found[j].conf < c.conf {
		r.found[j] = c
	}
}

var (
	lateWords  = set("late delay overdue behind")
	earlyWords = set("early ahead")
)

var (
	shareWords = set("share as rate conversion converts converted")
)

// comparison returns the operators that the words before a threshold can mean, the most likely first.
func (r *resolver) comparison(m *numeral) []string {
	w, before := r.wordBefore(m)
	switch {
	case (w == "least" && before == "at") || w == "minimum":
		return []string{">="}
	case w == "most" && before == "at" || w == "maximum":
		return []string{"<="}
	case aboveCues[w], w == "than" && before == "more":
		return []string{">", ">="}
	case belowCues[w], w == "than" && (before == "less" || before == "fewer"):
		return []string{"<", "<="}
	}
	return nil
}

// wordBefore returns the last two words before a number, not counting articles and currency signs.
func (r *resolver) wordBefore(n *numeral) (w, before string) {
	p := r.prose
	i := n.from - 1
	for i >= 0 && (articles[p.low(i)] || p.low(i) == "$" || p.low(i) == "€" || p.low(i) == "£") {
		i--
	}
	return p.low(i), p.low(i - 1)
}

// count returns the number of rows that meet a condition. If v is nil, the condition is that a boolean column is true.
func (r *resolver) count(t, ci int, op string, v *big.Rat) int {
	n := 0
	if !r.spend(len(r.tables[t].rows)) {
		return -1
	}
	for _, row := range r.tables[t].rows {
		if x, ok := cellRat(row[ci]); ok && holds(x.Cmp(v), op) {
			n++
		}
	}
	return n
}

// holds reports whether a comparison with this result satisfies an operator.
func holds(cmp int, op string) bool {
	switch op {
	case ">":
		return cmp > 0
	case ">=":
		return cmp >= 0
	case "<":
		return cmp < 0
	case "<=":
		return cmp <= 0
	}
	return cmp == 0
}

// countIf returns a candidate for the number of rows that meet a condition.
func (r *resolver) countIf(t, ci int, cond string, want int, conf float64) *candidate {
	return &candidate{
		table: t, formula: fmt.Sprintf("count(%s %s)", r.ref(t, -1, r.tables[t].cols[ci].name), cond),
		value: strconv.Itoa(want), conf: conf,
	}
}
