package cite

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// This file finds formulas over groups of rows: listed rows ("A, B and C together"), rows that share a label
// ("barley"), rows mentioned just before ("these two") and the remaining rows ("the other three").

// rowGroup is a set of rows that a formula aggregates.
type rowGroup struct {
	table int
	rows  []int32
	by    int // 1 + the column by which the rows are the top ones; 0 if the text names the rows
}

var (
	groupCues = set("together combined both jointly sum zusammen juntos juntas total altogether account accounts")
	restCues  = set("remaining rest other others remainder everyone everything else")
)

// maxGroup is the maximum number of rows that a formula lists.
const maxGroup = 60

// groupSum tries formulas over groups of rows: a sum ("A, B and C together have 785", "the top two sold 810", "barley
// came to 22,169 t"), for a percentage the share of the column, and for an average the average of the group.
func (r *resolver) groupSum(k int) *candidate {
	n := &r.numerals[k]
	if n.points || n.times || n.percent && r.isChange(n) {
		return nil
	}
	for _, g := range r.groups(k) {
		cols, _ := r.numericColumns(k, g.table)
		conf := 0.75
		for _, ci := range cols {
			if g.by > 0 && g.by != ci+1 {
				continue
			}
			if c := r.groupFormula(n, g, ci, conf, r.clauseNamesRow(k)); c != nil {
				return c
			}
		}
	}
	return nil
}

// groupFormula returns the sum, the share or the average of a group if it fits the numeral, otherwise nil.
func (r *resolver) groupFormula(n *numeral, g rowGroup, ci int, conf float64, alone bool) *candidate {
	col := &r.tables[g.table].cols[ci]
	sum, ok := r.sumRows(g.table, ci, g.rows)
	if !ok {
		return nil
	}
	formula, v := r.rowsRef("sum", g.table, ci, g.rows), sum
	switch {
	case n.percent && !col.percent:
		all := r.totalOf(g.table, ci)
		if !r.tables[g.table].whole || all.sum().Sign() == 0 {
			return nil
		}
		v = new(big.Rat).Quo(sum, all.sum())
		formula += " / sum(" + r.ref(g.table, -1, col.name) + ")"
		if q, ok := n.fitsValue(v); ok {
			return &candidate{table: g.table, formula: formula, value: ratText(v), conf: conf * q, rows: g.rows}
		}
		return nil
	case r.saysAverage(n):
		if alone {
			return nil
		}
		v = new(big.Rat).Quo(sum, big.NewRat(int64(len(g.rows)), 1))
		formula = r.rowsRef("avg", g.table, ci, g.rows)
	case n.percent:
		return nil
	}
	if q, ok := n.fitsColumn(v, col, true); ok &&
		(v.Sign() >= 0 || n.sign < 0 || r.canMeanNegative(n, g.table, ci)) {
		return &candidate{
			table: g.table, formula: formula, value: ratText(v), conf: conf * q, rows: g.rows, measure: col,
		}
	}
	return nil
}

// groups returns the groups of rows that a sentence treats as one.
func (r *resolver) groups(k int) []rowGroup {
	n := &r.numerals[k]
	var out []rowGroup
	add := func(t int, rows []int32) {
		if len(rows) > 1 && len(rows) <= maxGroup && len(rows) < len(r.tables[t].rows) {
			out = append(out, rowGroup{table: t, rows: rows})
		}
	}
	for _, b := range r.bindings[k] {
		if len(b.group) > 1 {
			out = append(out, rowGroup{table: b.table, rows: b.group})
		} else if b.strength >= inherited {
			add(b.table, b.rows)
		}
	}
	r.addHalves(n, add)
	out = append(out, r.topGroups(k)...)
	together := r.sentenceHasCue(n, groupCues)
	if together {
		r.addNamedTogether(k, add)
	}
	return out
}

// topGroups returns the rows that expressions such as "the three busiest routes" and "the bottom five" mean, for each
// column that the numeral can belong to.
func (r *resolver) topGroups(k int) []rowGroup {
	var out []rowGroup
	p := r.prose
	n := &r.numerals[k]
	for j := k - 1; j >= 0 && j >= k-6; j-- {
		m := &r.numerals[j]
		if p.tokens[m.from].sentence != p.tokens[n.from].sentence {
			break
		}
		if m.kind != number || m.percent || m.currency || len(m.readings) == 0 || !m.readings[0].val.IsInt() ||
			m.readings[0].val.Cmp(big.NewRat(maxGroup, 1)) > 0 {
			continue
		}
		first, last := r.topOrBottom(m)
		inOrder := p.low(m.from-1) == "first" || p.low(m.from-1) == "last"
		if !first && !last && !inOrder {
			continue
		}
		count := int(m.readings[0].val.Num().Int64())
		for t := len(r.tables) - 1; t >= 0 && t >= len(r.tables)-3; t-- {
			if !r.tables[t].whole || count >= len(r.tables[t].rows) {
				continue
			}
			cols, _ := r.numericColumns(k, t)
			for _, ci := range cols {
				if rows := r.topRows(t, ci, count, last); len(rows) > 1 {
					out = append(out, rowGroup{t, rows, ci + 1})
				}
			}
		}
	}
	return out
}

// rowSpan returns the row numbers from from up to, but not including, to.
func rowSpan(from, to int) []int32 {
	var out []int32
	for i := from; i < to; i++ {
		out = append(out, int32(i))
	}
	return out
}

// addHalves adds the half of a series that the text names: "in the first half of the year".
func (r *resolver) addHalves(n *numeral, add func(int, []int32)) {
	p := r.prose
	for i := n.from - 1; i > max(0, n.from-14) && p.tokens[i].sentence == p.tokens[n.from].sentence; i-- {
		if p.low(i) != "half" || p.low(i-1) != "first" && p.low(i-1) != "second" {
			continue
		}
		for t := len(r.tables) - 1; t >= 0; t-- {
			total := len(r.tables[t].rows)
			switch {
			case total%2 != 0 || !r.isSeries(t):
			case p.low(i-1) == "first":
				add(t, rowSpan(0, total/2))
			default:
				add(t, rowSpan(total/2, total))
			}
		}
		return
	}
}

// isSeries reports whether the rows of a result are in order of time.
func (r *resolver) isSeries(t int) bool {
	tab := &r.tables[t]
	if len(tab.rows) < 2 || len(tab.cols) == 0 {
		return false
	}
	c := &tab.cols[0]
	return c.role == roleDate || c.key && c.role == roleNumber && tab.ordered ||
		c.role == roleText && hasAny(c.words, periodNames) && c.unique && tab.ordered
}

// topOrBottom reports whether the number counts the first rows of an order ("top 3", "the three busiest") or the last
// ones ("bottom five").
func (r *resolver) topOrBottom(n *numeral) (first, last bool) {
	p := r.prose
	for _, w := range []string{p.low(n.from - 1), p.low(n.to)} {
		switch {
		case w == "bottom" || minCues[w]:
			last = true
		case w == "top" || maxCues[w] || len(w) > 5 && strings.HasSuffix(w, "est"):
			first = true
		}
	}
	return first, last
}

// topRows returns the rows with the largest (or, if last is true, smallest) cells of a column, in row order. It returns
// nil if a tie makes the choice ambiguous.
func (r *resolver) topRows(t, ci, count int, last bool) []int32 {
	rows := r.tables[t].rows
	if len(rows) > maxNumbered || !r.spend(len(rows)) {
		return nil
	}
	order := make([]int32, len(rows))
	for i := range order {
		order[i] = int32(i)
	}
	value := func(i int32) float64 {
		f, _ := cellFloat(rows[i][ci])
		if last {
			return f
		}
		return -f
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(value(a), value(b)) })
	if value(order[count-1]) == value(order[count]) {
		return nil
	}
	top := order[:count]
	slices.Sort(top)
	return top
}

// namedRows returns the rows that a sentence names one by one, by table.
func (r *resolver) namedRows(k, back int) map[int][]int32 {
	out := map[int][]int32{}
	for _, d := range r.activity(k, back).rows {
		out[d.table] = union(out[d.table], []int32{int32(d.col)})
	}
	return out
}

// addNamedTogether adds the rows named in the sentence or, if it names none, in the sentence before: "these two".
func (r *resolver) addNamedTogether(k int, add func(int, []int32)) {
	for back := range 2 {
		found := false
		named := r.namedRows(k, back)
		for t := len(r.tables) - 1; t >= 0; t-- {
			if rows := named[t]; len(rows) > 1 {
				add(t, rows)
				found = true
			}
		}
		if found {
			return
		}
	}
}

// isRemainder reports whether a numeral is about the remainder: "the remaining 10 %", "the other 124".
func (r *resolver) isRemainder(n *numeral) bool { return r.hasCueBefore(n, restCues, 2) }

// sumRows returns the sum of a column over some rows. ok is false if a cell is not a number or the work limit is
// reached.
func (r *resolver) sumRows(t, ci int, rows []int32) (*big.Rat, bool) {
	sum := new(big.Rat)
	for _, ri := range rows {
		v, ok := cellRat(r.tables[t].rows[ri][ci])
		if !ok || !r.spend(1) {
			return nil, false
		}
		sum.Add(sum, v)
	}
	return sum, true
}

// rowsRef returns the call of a function over the cells of some rows: sum(r1[0,2].revenue).
func (r *resolver) rowsRef(name string, t, ci int, rows []int32) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s(%s[", name, r.tables[t].id)
	for i, ri := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(ri)))
	}
	return b.String() + "]." + quoteName(r.tables[t].cols[ci].name) + ")"
}
