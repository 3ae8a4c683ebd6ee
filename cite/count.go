package cite

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Rows that meet a condition, and round numbers that cells are above or below.

// conditional: "three of the five shops have more than 1,000 orders".
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

// countWhere tries the conditions a sentence can put on rows: a threshold, a sign, a boolean column, a label that
// several rows share.
func (r *resolver) countWhere(k, t, want int) *candidate {
	n := &r.numerals[k]
	tab := &r.tables[t]
	s := r.prose.tokens[n.from].sentence
	for ci, c := range tab.cols {
		if c.role == roleBool && r.namesColumn(n, t, ci) && r.count(t, ci, "=", nil) == want {
			return r.countIf(t, ci, "= true", want, 0.85)
		}
	}
	if !r.strictlyBefore(k) {
		for j := max(0, k-2); j < len(r.numerals) && j <= k+3; j++ {
			m := &r.numerals[j]
			if j == k || r.prose.tokens[m.from].sentence != s || len(m.readings) == 0 ||
				j < k && r.found[j] != nil && r.found[j].formula == "" {
				continue
			}
			for _, op := range r.comparison(m) {
				for _, ci := range r.columnsNear(n, t) {
					if r.count(t, ci, op, m.readings[0].val) == want {
						r.limits(j, t, ci, op, want)
						return r.countIf(t, ci, op+" "+ratText(m.readings[0].val), want, 0.8)
					}
				}
			}
		}
		if c := r.countSigned(n, t, want); c != nil {
			return c
		}
	}
	if c := r.countSides(k, t, want); c != nil {
		return c
	}
	if c := r.countAny(k, t, want); c != nil {
		return c
	}
	for _, m := range r.near(n) {
		for _, h := range m.hits {
			if h.table == t && tab.cols[h.col].role == roleText && !tab.cols[h.col].unique && len(h.rows) == want &&
				!h.wide && distance(m, n) <= 6 {
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

// countSigned: "four were late", "three made a loss", by the sign of a column.
func (r *resolver) countSigned(n *numeral, t, want int) *candidate {
	tab := &r.tables[t]
	for ci, c := range tab.cols {
		if c.role != roleNumber || !r.signed(t, ci) || !hasAny(c.words, lateWords) {
			continue
		}
		late, early := r.says(n, lateWords), r.says(n, earlyWords)
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
		if !r.says(n, sign.cues) {
			continue
		}
		for ci, c := range tab.cols {
			if c.role == roleNumber && r.signed(t, ci) && r.count(t, ci, sign.op, new(big.Rat)) == want {
				return r.countIf(t, ci, sign.op+" 0", want, 0.7)
			}
		}
	}
	return nil
}

// countSides: "six of the twelve categories were overspent", where the rows have what was planned and what was spent,
// or last year and this one.
func (r *resolver) countSides(k, t, want int) *candidate {
	n := &r.numerals[k]
	tab := &r.tables[t]
	over, under := r.says(n, profitCues), r.says(n, lossCues)
	if over == under || len(tab.cols) > 2*maxColumns {
		return nil
	}
	op := "<"
	if over {
		op = ">"
		if r.says(n, reachedCues) {
			op = ">="
		}
	}
	for x := range tab.cols {
		for y := range tab.cols {
			if tab.order(x, y) <= 0 && !(tab.order(x, y) == 0 && (r.budgeted(t, x, y) || r.limitNamed(n, t, x, y))) ||
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

// budgeted: y is what was planned of x.
func (r *resolver) budgeted(t, x, y int) bool {
	a, b := &r.tables[t].cols[x], &r.tables[t].cols[y]
	return a.role == roleNumber && b.role == roleNumber && hasAny(b.words, plannedWords) &&
		!hasAny(a.words, plannedWords) && r.comparableColumns(t, x, y) &&
		(hasAny(a.words, laterWords) || r.similar(t, x, y))
}

// limitNamed: "above their reorder points": y is the column named behind the word.
func (r *resolver) limitNamed(n *numeral, t, x, y int) bool {
	if r.tables[t].cols[x].role != roleNumber || x == y || !r.comparableColumns(t, x, y) || !r.similar(t, x, y) {
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

// similar: the totals of two columns are of one size.
func (r *resolver) similar(t, x, y int) bool {
	a, b := r.totalOf(t, x).sum(), r.totalOf(t, y).sum()
	three := big.NewRat(3, 1)
	return a.Sign() > 0 && b.Sign() > 0 && a.Cmp(new(big.Rat).Mul(b, three)) < 0 &&
		b.Cmp(new(big.Rat).Mul(a, three)) < 0
}

// countAny: "rain fell on five days" counts the rows that have any.
func (r *resolver) countAny(k, t, want int) *candidate {
	n := &r.numerals[k]
	tab := &r.tables[t]
	noun := r.nounAfter(n)
	if noun < 0 || want == 0 || want >= len(tab.rows) || r.strictly(k) {
		return nil
	}
	w := stem(r.prose.low(noun))
	if !slices.ContainsFunc(tab.cols, func(c column) bool {
		return c.unique && (c.role == roleText && mentions(c.words, w) || c.role == roleDate && w == "day")
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

// limits cites a threshold with the condition it is a part of.
func (r *resolver) limits(j, t, ci int, op string, want int) {
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

// comparison reads the words before a threshold.
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

// wordBefore returns the last two words before a number, articles passed over.
func (r *resolver) wordBefore(n *numeral) (w, before string) {
	p := r.prose
	i := n.from - 1
	for i >= 0 && (articles[p.low(i)] || p.low(i) == "$" || p.low(i) == "€" || p.low(i) == "£") {
		i--
	}
	return p.low(i), p.low(i - 1)
}

// count counts rows; v nil means: the boolean column is true.
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

func (r *resolver) countIf(t, ci int, cond string, want int, conf float64) *candidate {
	return &candidate{
		table: t, formula: fmt.Sprintf("count(%s %s)", r.ref(t, -1, r.tables[t].cols[ci].name), cond),
		value: strconv.Itoa(want), conf: conf,
	}
}

// threshold: "Echo has fewer than 500 orders", "all regions exceed 10,000": a round number that the cells are indeed on
// that side of.
func (r *resolver) threshold(k int) *candidate {
	n := &r.numerals[k]
	ops := r.comparison(n)
	if len(ops) == 0 || n.sig > 2 || n.percent || n.times {
		return nil
	}
	v := n.readings[0].val
	near := func(x *big.Rat) bool { // within a factor of two
		if r.within(n, closeWords, 4) {
			return x.Cmp(new(big.Rat).Mul(v, big.NewRat(104, 100))) <= 0 &&
				new(big.Rat).Mul(x, big.NewRat(104, 100)).Cmp(v) >= 0
		}
		return x.Cmp(new(big.Rat).Mul(v, ratTwo)) <= 0 && new(big.Rat).Mul(x, ratTwo).Cmp(v) >= 0
	}
	for _, b := range r.bindings[k] {
		if len(b.rows) != 1 || b.strength < inherited || b.strength == said && b.by[0].from > n.from {
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
