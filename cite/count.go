package cite

import (
	"fmt"
	"math/big"
	"strconv"
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
	if want > 100000 || r.nounAfter(n) < 0 && r.prose.low(n.to) != "of" {
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

// countWhere tries the conditions a sentence can put on rows: a threshold, a
// sign, a boolean column, a label that several rows share.
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
		for j := k + 1; j < len(r.numerals) && j <= k+3; j++ {
			m := &r.numerals[j]
			if r.prose.tokens[m.from].sentence != s || len(m.readings) == 0 {
				break
			}
			for _, op := range r.comparison(m) {
				for _, ci := range r.columnsNear(n, t) {
					if r.count(t, ci, op, m.readings[0].val) == want {
						return r.countIf(t, ci, op+" "+ratText(m.readings[0].val), want, 0.8)
					}
				}
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
	}
	for _, m := range r.near(n) {
		for _, h := range m.hits {
			if h.table == t && tab.cols[h.col].role == roleText && !tab.cols[h.col].unique && len(h.rows) == want && !h.wide && distance(m, n) <= 6 {
				label, _ := tab.rows[h.rows[0]][h.col].(string)
				return &candidate{table: t, formula: fmt.Sprintf("count(%s = %s)", r.ref(t, -1, tab.cols[h.col].name), strconv.Quote(label)), value: strconv.Itoa(want), conf: 0.8}
			}
		}
	}
	return nil
}

var (
	shareWords = set("share as")
	profitCues = set("profit profitable positive grew gained growth increase increased rose gains surplus black over overspent exceeded")
	lossCues   = set("loss losses negative fell declined decline dropped decreased shrank deficit red lost under underspent")
)

// comparison reads the words before a threshold.
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

// wordBefore gives the last two words before a number, articles passed over.
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
	return &candidate{table: t, formula: fmt.Sprintf("count(%s %s)", r.ref(t, -1, r.tables[t].cols[ci].name), cond), value: strconv.Itoa(want), conf: conf}
}

// threshold: "Echo has fewer than 500 orders", "all regions exceed 10,000": a
// round number that the cells are indeed on that side of.
func (r *resolver) threshold(k int) *candidate {
	n := &r.numerals[k]
	ops := r.comparison(n)
	if len(ops) == 0 || n.sig > 2 || n.percent || n.times {
		return nil
	}
	v := n.readings[0].val
	near := func(x *big.Rat) bool { // within a factor of two
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
				return &candidate{table: b.table, formula: fmt.Sprintf("%s %s %s", name, ops[0], ratText(v)), value: ratText(x), conf: 0.6, rows: b.rows}
			}
		}
	}
	return nil
}
