package cite

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
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
	for ci, c := range tab.cols {
		if c.role == roleBool && r.namesColumn(n, t, ci) && r.count(t, ci, "=", nil) == want {
			return r.countIf(t, ci, "= true", want, 0.85)
		}
	}
	if !r.namesRowBefore(k) {
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
		if c := r.countSigned(n, t, want); c != nil {
			return c
		}
	}
	if c := r.countCompared(k, t, want); c != nil {
		return c
	}
	if c := r.countNonZero(k, t, want); c != nil {
		return c
	}
	for _, m := range r.labelsNear(n) {
		for _, h := range m.hits {
			if h.table == t && tab.cols[h.col].role == roleText && !tab.cols[h.col].unique && len(h.rows) == want &&
				!h.tooMany && distance(m, n) <= 6 {
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

// countSigned counts rows by the sign of a column: "four were late", "three made a loss".
func (r *resolver) countSigned(n *numeral, t, want int) *candidate {
	tab := &r.tables[t]
	for ci, c := range tab.cols {
		if c.role != roleNumber || !r.hasBothSigns(t, ci) || !hasAny(c.words, lateWords) {
			continue
		}
		late, early := r.hasCue(n, lateWords), r.hasCue(n, earlyWords)
		switch {
		case late && !early && r.count(t, ci, ">", new(big.Rat)) == want:
			return r.countIf(t, ci, "> 0", want, 0.75)
		case early && r.count(t, ci, "<", new(big.Rat)) == want:
			return r.countIf(t, ci, "< 0", want, 0.75)
		}
	}
	for _, sign := range []struct {
		cues map[string]bool
		op   string
	}{{profitCues, ">"}, {lossCues, "<"}} {
		if !r.hasCue(n, sign.cues) {
			continue
		}
		for ci, c := range tab.cols {
			if c.role == roleNumber && r.hasBothSigns(t, ci) && r.count(t, ci, sign.op, new(big.Rat)) == want {
				return r.countIf(t, ci, sign.op+" 0", want, 0.7)
			}
		}
	}
	return nil
}

// countCompared counts rows by comparing two columns, such as planned and spent, or last year and this year: "six of
// the twelve categories were overspent".
func (r *resolver) countCompared(k, t, want int) *candidate {
	n := &r.numerals[k]
	tab := &r.tables[t]
	over, under := r.hasCue(n, profitCues), r.hasCue(n, lossCues)
	if over == under || len(tab.cols) > 2*maxColumns {
		return nil
	}
	op := "<"
	if over {
		op = ">"
		if r.hasCue(n, reachedCues) {
			op = ">="
		}
	}
	for x := range tab.cols {
		for y := range tab.cols {
			if tab.compareAge(x, y) <= 0 && !(tab.compareAge(x, y) == 0 && r.namesLimit(n, t, x, y)) ||
				!r.spend(len(tab.rows)) {
				continue
			}
			found := 0
			for _, row := range tab.rows {
				a, ok1 := cellRat(row[x])
				b, ok2 := cellRat(row[y])
				if ok1 && ok2 && holds(a.Cmp(b), op) {
					found++
				}
			}
			if found == want {
				return r.countIf(t, x, op+" "+r.ref(t, -1, tab.cols[y].name), want, 0.8)
			}
		}
	}
	return nil
}

// namesLimit reports whether the text names column y as the limit for column x: "above their reorder points".
func (r *resolver) namesLimit(n *numeral, t, x, y int) bool {
	if r.tables[t].cols[x].role != roleNumber || x == y || !r.areComparable(t, x, y) || !r.areSimilar(t, x, y) {
		return false
	}
	p := r.prose
	for _, m := range r.nearColumns(n) {
		if !m.full || len(m.cols) != 1 || m.cols[0] != (colRef{t, y}) || m.from < n.to {
			continue
		}
		i := m.from - 1
		for i > n.to && articles[p.low(i)] {
			i--
		}
		return p.low(i) == "above" || p.low(i) == "below" || p.low(i) == "over" || p.low(i) == "under"
	}
	return false
}

// areSimilar reports whether the totals of two columns differ by less than a factor of three.
func (r *resolver) areSimilar(t, x, y int) bool {
	a, b := r.totalOf(t, x).sum(), r.totalOf(t, y).sum()
	three := big.NewRat(3, 1)
	return a.Sign() > 0 && b.Sign() > 0 && a.Cmp(new(big.Rat).Mul(b, three)) < 0 &&
		b.Cmp(new(big.Rat).Mul(a, three)) < 0
}

// countNonZero counts the rows whose value is not zero: "rain fell on five days".
func (r *resolver) countNonZero(k, t, want int) *candidate {
	n := &r.numerals[k]
	tab := &r.tables[t]
	noun := r.nounAfter(n)
	if noun < 0 || want == 0 || want >= len(tab.rows) || r.namesRow(k) {
		return nil
	}
	w := stem(r.prose.low(noun))
	if !slices.ContainsFunc(tab.cols, func(c column) bool {
		return c.unique && (c.role == roleText && slices.Contains(c.words, w) || c.role == roleDate && w == "day")
	}) {
		return nil
	}
	for _, m := range r.nearColumns(n) {
		if m.vague || len(m.cols) != 1 || m.cols[0].table != t {
			continue
		}
		ci := m.cols[0].col
		if c := &tab.cols[ci]; c.role == roleNumber && !c.key && r.count(t, ci, ">", new(big.Rat)) == want {
			return r.countIf(t, ci, "> 0", want, 0.75)
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

var smaller = set("lower smaller shorter cheaper colder cooler slower lighter narrower thinner younger closer")

var (
	closeWords  = set("just barely slightly marginally narrowly hair")
	shareWords  = set("share as rate conversion converts converted")
	reachedCues = set("met hit reached")
	profitCues  = set("above up rose risen profit profitable positive grew gained growth increase increased rose " +
		"gains surplus black over overspent exceeded beat beats met hit reached")
	lossCues = set("below down missed missing loss losses negative fell declined decline dropped decreased shrank " +
		"deficit red lost under underspent")
)

// comparison returns the operators that the words before a threshold can mean, the most likely first.
func (r *resolver) comparison(m *numeral) []string {
	w, before := r.wordBefore(m)
	switch {
	case (w == "least" && before == "at") || w == "minimum":
		return []string{">="}
	case w == "most" && before == "at" || w == "maximum":
		return []string{"<="}
	case w == "than" && len(before) > 4 && strings.HasSuffix(before, "er") && !belowCues[before]:
		if smaller[before] {
			return []string{"<", "<="}
		}
		return []string{">", ">="}
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
		if v == nil {
			if b, ok := row[ci].(bool); ok && b {
				n++
			}
			continue
		}
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

// threshold handles a round number as a limit: "Echo has fewer than 500 orders", "all regions exceed 10,000". The cell
// must be on the side that the text says, and near the limit.
func (r *resolver) threshold(k int) *candidate {
	n := &r.numerals[k]
	ops := r.comparison(n)
	if len(ops) == 0 || n.sig > 2 || n.percent || n.times {
		return nil
	}
	v := n.readings[0].val
	near := func(x *big.Rat) bool { // within a factor of two
		if r.hasCueBefore(n, closeWords, 4) {
			return x.Cmp(new(big.Rat).Mul(v, big.NewRat(104, 100))) <= 0 &&
				new(big.Rat).Mul(x, big.NewRat(104, 100)).Cmp(v) >= 0
		}
		return x.Cmp(new(big.Rat).Mul(v, ratTwo)) <= 0 && new(big.Rat).Mul(x, ratTwo).Cmp(v) >= 0
	}
	for _, b := range r.bindings[k] {
		if len(b.rows) != 1 || b.strength < inherited || b.strength == inSentence && b.by[0].from > n.from {
			continue
		}
		cols, _ := r.numericColumns(k, b.table)
		for _, ci := range cols {
			x, ok := cellRat(r.tables[b.table].rows[b.rows[0]][ci])
			if ok && near(x) && holds(x.Cmp(v), ops[0]) {
				name := r.ref(b.table, int(b.rows[0]), r.tables[b.table].cols[ci].name)
				return &candidate{
					table: b.table, formula: fmt.Sprintf("%s %s %s", name, ops[0], ratText(v)), value: ratText(x),
					conf: 0.6, rows: b.rows,
				}
			}
		}
	}
	return nil
}
