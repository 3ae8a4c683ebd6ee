package cite

import (
	"cmp"
	"slices"
	"strings"
)

// This file finds rows that belong together: the top ones, the counterparts of a row, and the rows of a series.

var (
	groupCues = set("together combined both jointly sum zusammen juntos juntas total altogether account accounts")
	restCues  = set("remaining rest other others remainder everyone everything else")
)

// maxGroup is the maximum number of rows that a formula lists.
const maxGroup = 60

// rowSpan returns the row numbers from from up to, but not including, to.
func rowSpan(from, to int) []int32 {
	var out []int32
	for i := from; i < to; i++ {
		out = append(out, int32(i))
	}
	return out
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

// isRemainder reports whether a numeral is about the remainder: "the remaining 10 %", "the other 124".
func (r *resolver) isRemainder(n *numeral) bool { return r.hasCueBefore(n, restCues, 2) }

// counterparts calls row for the rows that differ from a bound row in just one label that the sentence also names: for
// "female leads", the rows of "their male peers".
func (r *resolver) counterparts(n *numeral, b binding, row func(t, ri int)) {
	tab := &r.tables[b.table]
	for _, m := range r.labelsNear(n) {
		for _, h := range m.hits {
			if h.table != b.table || len(h.rows) < 2 || len(h.rows) > maxHits || slices.Contains(h.rows, b.rows[0]) {
				continue
			}
			found, at := 0, 0
			for _, ri := range h.rows {
				if tab.differsIn(h.col, int(ri), int(b.rows[0])) {
					found, at = found+1, int(ri)
				}
			}
			if found == 1 {
				row(b.table, at)
			}
		}
	}
}

// differsIn reports whether two rows have the same labels except in one column.
func (t *table) differsIn(ci, x, y int) bool {
	for i, c := range t.cols {
		if i != ci && c.role == roleText && t.rows[x][i] != t.rows[y][i] {
			return false
		}
	}
	return true
}

// wholesOf returns the columns that can be the whole of a part, because no cell is smaller than the cell of the part.
func (r *resolver) wholesOf(t, part int, cols []int) []int {
	return slices.DeleteFunc(slices.Clone(cols), func(ci int) bool {
		rows := r.tables[t].rows
		if ci == part || !r.areComparable(t, part, ci) || len(rows) > maxNumbered || !r.spend(len(rows)) {
			return true
		}
		for _, row := range rows {
			a, ok1 := cellFloat(row[part])
			b, ok2 := cellFloat(row[ci])
			if !ok1 || !ok2 || a > b {
				return true
			}
		}
		return false
	})
}

// isSeries reports whether the rows of a result are in order of time.
func (r *resolver) isSeries(t int) bool {
	tab := &r.tables[t]
	if len(tab.rows) < 2 || len(tab.cols) == 0 {
		return false
	}
	if tab.cols[0].role == roleDate || tab.cols[0].key && tab.cols[0].role == roleNumber && tab.ordered {
		return true
	}
	if tab.cols[0].role != roleText {
		return false
	}
	if hasAny(tab.cols[0].words, periodNames) && tab.cols[0].unique && tab.ordered {
		return true
	}
	_, ok := cellDate(tab.rows[0][0])
	return ok
}

var (
	changeVerbs = set("grew grow grown rose risen rise fell fallen fall declined decline dropped drop shrank shrunk " +
		"increased decreased improved climbed jumped growth slipped slid surged soared plunged sank edged crept " +
		"expanded contracted doubled tripled halved went cut raised lowered")
	comparatives = set("than above below ahead behind over compared versus vs more less higher lower exceeded " +
		"exceeds fewer")
)
