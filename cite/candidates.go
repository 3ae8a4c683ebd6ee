package cite

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// This file lists the cells and formulas that a number can mean. They are made of the rows that the text names or
// implies (subjects) and the columns of their result. score.go chooses among them.

// kind is the form of a candidate.
type kind uint8

const (
	aCell kind = iota
	aSum
	anAverage
	anExtreme
	aGroupSum
	aGroupAverage
	rowDiff // of two rows in one column
	colDiff // of two columns in one row
	rowRatio
	colRatio
	rowGrowth
	colGrowth
	aShare // of the total of the column
	aGroupShare
	aRest // 1 - a share or ratio
	claimDiff
	claimRatio
	claimGrowth
	aProduct
	aSumOfColumns
	aCount
	aConditionalCount
	aTop
	anEcho
	aLimit
	someDays
	kinds
)

// source is how the text gives the rows of a subject.
type source uint8

const (
	boundRow       source = iota // the label that the number belongs to
	boundRows                    // several rows with that label
	listedRows                   // "A, B and C" and the number belongs to the last
	inheritedRow                 // from the item above or the heading
	carriedRow                   // from the sentence before
	namedRow                     // another label of the sentence
	labelRows                    // several rows with another label of the sentence
	togetherRows                 // all rows that the sentence names
	counterpartRow               // differs from the bound row in one label that the sentence names
	restRows                     // all that are not named
	rankedRows                   // "the top three"
	halfRows
	earlierRow    // named in a sentence before
	citedRow      // of a figure beside it
	precedingRow  // the period before
	yearBeforeRow // the same period of the year before
	endRow        // the first or last of a series
	extremeRow
	aboveRows   // the list or table above
	adjacentRow // above or below the bound row
	axisRows    // "from 7 to 9", "6 or less" in a column of whole numbers
	onlyRow     // of a result with one row
	otherRow    // none of these
	allRows
	sources
)

// subject is a set of rows that the text is about. rows is nil for all rows.
type subject struct {
	table int
	rows  []int32
	why   source
	by    int // 1 + the only column for which it holds, or 0
}

// term is a cell, or the sum of a column over a subject.
type term struct {
	s   *subject
	col int
}

const (
	maxSubjects     = 24 // per table and number
	maxFormulaRows  = 60
	maxUnnamed      = 24 // cells of rows that the text does not name
	maxFormulaTable = 6  // newest results that formulas use
)

// floats returns a column as numbers; NaN stands for other cells.
func (r *resolver) floats(t, ci int) []float64 {
	col := &r.tables[t].cols[ci]
	if col.floats == nil {
		col.floats = make([]float64, len(r.tables[t].rows))
		r.spend(len(col.floats))
		for i, row := range r.tables[t].rows {
			f, ok := cellFloat(row[ci])
			if !ok {
				f = math.NaN()
			}
			col.floats[i] = f
		}
	}
	return col.floats
}

// float returns the value of a term.
func (r *resolver) float(x term) float64 {
	fs := r.floats(x.s.table, x.col)
	if x.s.rows == nil {
		col := &r.tables[x.s.table].cols[x.col]
		tot := r.totalOf(x.s.table, x.col)
		if tot.n == 0 {
			return math.NaN()
		}
		if col.sumF == 0 {
			col.sumF, _ = tot.sum().Float64()
		}
		return col.sumF
	}
	sum := 0.0
	for _, ri := range x.s.rows {
		sum += fs[ri]
	}
	return sum
}

// exact returns the exact value of a term.
func (r *resolver) exact(x term) (*big.Rat, bool) {
	if x.s.rows == nil {
		tot := r.totalOf(x.s.table, x.col)
		return tot.sum(), tot.n > 0
	}
	sum := new(big.Rat)
	for _, ri := range x.s.rows {
		v, ok := cellRat(r.tables[x.s.table].rows[ri][x.col])
		if !ok || !r.spend(1) {
			return nil, false
		}
		sum.Add(sum, v)
	}
	return sum, true
}

// text returns a term as part of a formula.
func (r *resolver) text(x term) string {
	switch name := r.tables[x.s.table].cols[x.col].name; {
	case x.s.rows == nil:
		return "sum(" + r.ref(x.s.table, -1, name) + ")"
	case len(x.s.rows) == 1:
		return r.ref(x.s.table, int(x.s.rows[0]), name)
	}
	return r.rowsRef("sum", x.s.table, x.col, x.s.rows)
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

// gathering collects the subjects of a number.
type gathering struct {
	r        *resolver
	subjects [][]subject // by table
}

func (g *gathering) add(t int, rows []int32, why source) { g.addFor(t, rows, why, 0) }

func (g *gathering) addFor(t int, rows []int32, why source, by int) {
	if t < len(g.r.tables)-maxFormulaTable || len(rows) == 0 && why != allRows || len(rows) > maxFormulaRows ||
		len(g.subjects[t]) >= maxSubjects {
		return
	}
	if len(rows) > 1 && len(rows) == len(g.r.tables[t].rows) {
		return // all rows
	}
	for i := range g.subjects[t] {
		if s := &g.subjects[t][i]; s.by == by && slices.Equal(s.rows, rows) && (s.rows == nil) == (rows == nil) {
			return
		}
	}
	g.subjects[t] = append(g.subjects[t], subject{t, rows, why, by})
}

// subjectsOf returns the subjects that a number can be about, by table, the likeliest first.
func (r *resolver) subjectsOf(k int) [][]subject {
	n := &r.numerals[k]
	g := &gathering{r, make([][]subject, len(r.tables))}
	for _, b := range r.bindings[k] {
		why := boundRow
		switch {
		case b.strength == inherited:
			why = inheritedRow
		case b.strength == carried:
			why = carriedRow
		case len(b.rows) > 1:
			why = boundRows
		}
		g.add(b.table, b.rows, why)
		if len(b.group) > 1 {
			g.add(b.table, b.group, listedRows)
		}
	}
	for t := range r.tables {
		if len(r.tables[t].rows) == 1 {
			g.add(t, []int32{0}, onlyRow)
		}
	}
	g.fromSentence(k)
	g.ranked(k)
	g.halves(n)
	for t := range r.tables {
		g.axis(n, t)
		g.periods(k, t)
	}
	for j := max(0, k-4); j < min(len(r.numerals), k+5); j++ {
		if c := r.found[j]; j != k && c != nil && c.formula == "" && c.table >= 0 && r.sentencesApart(j, k) <= 1 {
			g.add(c.table, []int32{int32(c.row)}, citedRow)
		}
	}
	g.fromBefore(k)
	if r.hasCue(n, maxCues) || r.hasCue(n, minCues) || r.sentenceHasCue(n, diffCues) {
		g.extremes()
	}
	for t := range r.tables {
		if r.tables[t].whole && len(r.tables[t].rows) > 1 {
			g.add(t, nil, allRows)
		}
	}
	return g.subjects
}

// sentencesApart returns how many sentences numeral j is from numeral k.
func (r *resolver) sentencesApart(j, k int) int {
	d := r.prose.tokens[r.numerals[k].from].sentence - r.prose.tokens[r.numerals[j].from].sentence
	return max(d, -d)
}

// fromSentence adds the rows that the sentence names one by one, with several labels, together, and those that it does
// not name.
func (g *gathering) fromSentence(k int) {
	r := g.r
	n := &r.numerals[k]
	ms := append([]*mention{}, r.labelsNear(n)...)
	sort.SliceStable(ms, func(i, j int) bool { return distance(ms[i], n) < distance(ms[j], n) })
	named, since := map[int][]int32{}, map[int][]int32{}
	for _, m := range ms {
		for _, h := range m.hits {
			if len(h.rows) == 1 {
				g.add(h.table, h.rows, namedRow)
				named[h.table] = union(named[h.table], h.rows)
				if m.to <= n.from && !r.numeralBetween(m.to, n.from) {
					since[h.table] = union(since[h.table], h.rows)
				}
			}
		}
	}
	for i, m := range ms[:min(len(ms), 8)] {
		for _, h := range m.hits {
			if len(h.rows) > 1 && !h.tooMany {
				g.crossed(ms[:i], h)
				g.add(h.table, h.rows, labelRows)
			}
		}
	}
	for _, b := range r.bindings[k] {
		if len(b.rows) == 1 {
			r.counterparts(n, b, func(t, ri int) { g.add(t, []int32{int32(ri)}, counterpartRow) })
			named[b.table] = union(named[b.table], b.rows)
		}
	}
	for t := range r.tables {
		if len(since[t]) > 1 {
			g.add(t, since[t], togetherRows)
		}
		if len(named[t]) > 1 {
			g.add(t, named[t], togetherRows)
		}
	}
	if r.sentenceHasCue(n, restCues) {
		for t := range r.tables {
			g.rest(t, named[t])
		}
	}
}

// crossed adds the rows that two labels of different columns name together.
func (g *gathering) crossed(ms []*mention, h hit) {
	for _, m := range ms {
		for _, o := range m.hits {
			if o.table == h.table && o.col != h.col && len(o.rows) > 1 {
				if both := intersect(o.rows, h.rows); len(both) > 0 {
					g.add(h.table, both, namedRow)
				}
			}
		}
	}
}

// rest adds the rows of a table that are not named.
func (g *gathering) rest(t int, named []int32) {
	if len(named) == 0 || len(g.r.tables[t].rows) > maxFormulaRows || !g.r.tables[t].whole {
		return
	}
	var rest []int32
	for i := range g.r.tables[t].rows {
		if !slices.Contains(named, int32(i)) {
			rest = append(rest, int32(i))
		}
	}
	g.add(t, rest, restRows)
}

// fromBefore adds the rows named in the two sentences before, and in the list or table above.
func (g *gathering) fromBefore(k int) {
	r, p := g.r, g.r.prose
	n := &r.numerals[k]
	s := p.tokens[n.from].sentence
	rest := r.sentenceHasCue(n, restCues)
	for q := s - 1; q >= 0 && q >= s-2; q-- {
		named := map[int][]int32{}
		ms := r.bySentence[q]
		for _, m := range ms[:min(len(ms), 12)] {
			for _, h := range m.hits {
				if len(h.rows) == 1 {
					g.add(h.table, h.rows, earlierRow)
					named[h.table] = union(named[h.table], h.rows)
				}
			}
		}
		for t := range r.tables {
			if len(named[t]) > 1 && q == s-1 {
				g.add(t, named[t], aboveRows)
			}
			if rest && q == s-1 {
				g.rest(t, named[t])
			}
		}
	}
	above := map[int][]int32{}
	for b := p.tokens[n.from].blck - 1; b >= 0 && p.blocks[b].kind != paragraph && p.blocks[b].kind != heading; b-- {
		if sp := p.blocks[b].span; sp.from < sp.to {
			ms := r.bySentence[p.tokens[sp.from].sentence]
			for _, m := range ms[:min(len(ms), 1)] {
				for _, h := range m.hits {
					if len(h.rows) == 1 && len(above[h.table]) < maxFormulaRows {
						above[h.table] = union(above[h.table], h.rows)
					}
				}
			}
		}
	}
	for t := range r.tables {
		if len(above[t]) > 1 {
			g.add(t, above[t], aboveRows)
			if rest {
				g.rest(t, above[t])
			}
		}
	}
}

// ranked adds the rows that expressions such as "the three busiest routes" and "the bottom five" mean, for each column.
func (g *gathering) ranked(k int) {
	r, p := g.r, g.r.prose
	for j := k; j >= 0 && j >= k-6 && r.sentencesApart(j, k) <= 1; j-- {
		m := &r.numerals[j]
		if m.kind != number || m.percent || m.currency || len(m.readings) == 0 || !m.readings[0].val.IsInt() ||
			m.readings[0].val.Cmp(big.NewRat(maxFormulaRows, 1)) > 0 {
			continue
		}
		first, last := r.topOrBottom(m)
		w := p.low(m.from - 1)
		if !first && !last && w != "first" && w != "last" {
			continue
		}
		count := int(m.readings[0].val.Num().Int64())
		for t := range r.tables {
			rows := len(r.tables[t].rows)
			if !r.tables[t].whole || count >= rows || count < 1 {
				continue
			}
			if w == "first" {
				g.add(t, rowSpan(0, count), rankedRows)
			} else if w == "last" {
				g.add(t, rowSpan(rows-count, rows), rankedRows)
			}
			for _, ci := range r.amounts(t) {
				g.addFor(t, r.topRows(t, ci, count, last), rankedRows, ci+1)
			}
		}
	}
}

// halves adds the half of a series that the text names: "in the first half of the year".
func (g *gathering) halves(n *numeral) {
	r, p := g.r, g.r.prose
	for i := max(1, n.from-14); i < min(n.to+8, len(p.tokens)); i++ {
		if p.tokens[i].sentence != p.tokens[n.from].sentence || p.low(i) != "half" ||
			p.low(i-1) != "first" && p.low(i-1) != "second" {
			continue
		}
		for t := range r.tables {
			total := len(r.tables[t].rows)
			switch {
			case total%2 != 0 || !r.isSeries(t):
			case p.low(i-1) == "first":
				g.add(t, rowSpan(0, total/2), halfRows)
			default:
				g.add(t, rowSpan(total/2, total), halfRows)
			}
		}
	}
}

// periods adds the periods that the bound row of a series is compared with, and the ends of the series.
func (g *gathering) periods(k, t int) {
	r := g.r
	if !r.isSeries(t) && !r.isPanel(k, t) {
		if b := r.bindingOf(k, t); b != nil && len(b.rows) == 1 && len(r.tables[t].rows) <= maxFormulaRows {
			if row := b.rows[0]; row > 0 {
				g.add(t, []int32{row - 1}, adjacentRow)
			}
			if row := b.rows[0]; int(row) < len(r.tables[t].rows)-1 {
				g.add(t, []int32{row + 1}, adjacentRow)
			}
		}
		return
	}
	if b := r.bindingOf(k, t); b != nil && len(b.rows) == 1 {
		row := int(b.rows[0])
		if y := r.yearBefore(t, row); y >= 0 {
			g.add(t, []int32{int32(y)}, yearBeforeRow)
		}
		if prev := r.periodBefore(t, row); prev >= 0 {
			g.add(t, []int32{int32(prev)}, precedingRow)
		} else if row > 0 {
			g.add(t, []int32{int32(row - 1)}, precedingRow)
		}
	}
	if last := len(r.tables[t].rows) - 1; last > 0 {
		g.add(t, []int32{int32(last)}, endRow)
		g.add(t, []int32{0}, endRow)
	}
}

// axis adds the rows that the numbers of the sentence span in a first column of whole numbers: "from 7 to 9", "7 or 8",
// "6 or less".
func (g *gathering) axis(n *numeral, t int) {
	r, p := g.r, g.r.prose
	tab := &r.tables[t]
	if len(tab.cols) < 2 || !tab.cols[0].axis {
		return
	}
	rowOf := func(k int) int {
		m := &r.numerals[k]
		v := int64(-1)
		if h := m.wholeHour(); h >= 0 {
			v = h
		} else if m.kind == number && len(m.readings) > 0 && m.readings[0].val.IsInt() &&
			m.readings[0].val.Num().IsInt64() {
			v = m.readings[0].val.Num().Int64()
		}
		return slices.IndexFunc(tab.rows, func(row []any) bool { return row[0] == v })
	}
	s := p.sentences[p.tokens[n.from].sentence]
	last := -1
	for i := max(s.from, n.from-window); i < min(s.to, n.to+window); i++ {
		k := r.numeralAt[i]
		if k < 0 || &r.numerals[k] == n {
			continue
		}
		row, next := rowOf(k), p.low(r.numerals[k].to)
		switch w := p.low(r.numerals[k].to + 1); {
		case row < 0:
		case next == "or" && (w == "less" || w == "lower" || w == "fewer"):
			g.addSpan(t, 0, row, tab.rows[0][0], tab.rows[row][0])
		case next == "or" && (w == "more" || w == "higher"):
			g.addSpan(t, row, len(tab.rows)-1, tab.rows[row][0], tab.rows[len(tab.rows)-1][0])
		}
		if row >= 0 && last >= 0 && last != row {
			g.add(t, rowSpan(min(last, row), max(last, row)+1), axisRows)
		}
		last = row
		i = r.numerals[k].to - 1
	}
}

// addSpan adds the rows between two rows of an axis, or those outside if the axis descends.
func (g *gathering) addSpan(t, from, to int, low, high any) {
	if low.(int64) > high.(int64) {
		if from == 0 {
			from, to = to, len(g.r.tables[t].rows)-1
		} else {
			from, to = 0, from
		}
	}
	g.add(t, rowSpan(from, to+1), axisRows)
}

// yearBefore returns the row of the same period one year before that of a row, or -1.
func (r *resolver) yearBefore(t, row int) int {
	tab := &r.tables[t]
	if len(tab.rows) > maxNumbered {
		return -1
	}
	for ci, c := range tab.cols {
		if c.role != roleDate && c.role != roleText {
			continue
		}
		at, ok := periodKey(tab.rows[row][ci])
		if !ok || at < 10000 {
			continue
		}
		for i := range tab.rows {
			if key, ok := periodKey(tab.rows[i][ci]); ok && key == at-10000 && (c.unique || tab.differsIn(ci, i, row)) {
				return i
			}
		}
	}
	return -1
}

// extremes adds the rows with the largest and smallest value of each column.
func (g *gathering) extremes() {
	r := g.r
	for t := range r.tables {
		if len(r.tables[t].rows) > maxNumbered || len(r.tables[t].rows) < 2 {
			continue
		}
		for _, ci := range r.amounts(t) {
			lo, hi := -1, -1
			fs := r.floats(t, ci)
			for i, f := range fs {
				if lo < 0 || f < fs[lo] {
					lo = i
				}
				if hi < 0 || f > fs[hi] {
					hi = i
				}
			}
			g.addFor(t, []int32{int32(hi)}, extremeRow, ci+1)
			g.addFor(t, []int32{int32(lo)}, extremeRow, ci+1)
		}
	}
}

// listing collects the candidates of a number.
type listing struct {
	r      *resolver
	k      int
	n      *numeral
	out    []*candidate
	seen   map[string]bool
	factor int64 // 100 under a header such as "l/100 km"
}

// candidates returns what a number can mean.
func (r *resolver) candidates(k int) ([]*candidate, facts) {
	l := &listing{r: r, k: k, n: &r.numerals[k], seen: map[string]bool{}}
	if r.work <= 0 {
		return nil, nil
	}
	l.factor = r.headerFactor(l.n)
	for _, c := range r.wordCandidates(k) {
		l.put(c, nil, nil)
	}
	subjects := r.subjectsOf(k)
	l.cells(subjects)
	known := r.factsOf(k)
	if best := r.best(l.out, known); best != nil && best.score >= certain {
		return l.out, known // no formula would win
	}
	for t := range r.tables {
		l.aggregates(subjects[t])
		l.pairs(subjects[t])
	}
	l.acrossTables(subjects)
	l.claims()
	return l.out, known
}

// certain is the score from which a cell or a count is taken without listing formulas. On the corpora, that changes
// four footnotes of 3,000 and saves three quarters of the time.
const certain = 4

// put adds a candidate over one or two terms unless it was added before.
func (l *listing) put(c *candidate, x, y *term) {
	key := c.formula
	if key == "" {
		key = fmt.Sprint(c.table, c.row, c.col)
	}
	if l.seen[key] || len(l.out) > 400 || !l.r.spend(20) {
		return
	}
	l.seen[key] = true
	if x != nil {
		c.shape = shape{c.kind, c.table, x.col, -1}
		if y != nil {
			c.shape.y = y.col
		}
	}
	l.r.signalsOf(l, c, x, y)
	l.out = append(l.out, c)
}

// cells adds the cells with the value.
func (l *listing) cells(subjects [][]subject) {
	r, n := l.r, l.n
	if n.times {
		return
	}
	for _, h := range r.hits[l.k] {
		q, ok := r.matchCell(n, h)
		if !ok {
			continue
		}
		s := &subject{h.table, []int32{int32(h.row)}, otherRow, 0}
		for i := range subjects[h.table] {
			o := &subjects[h.table][i]
			if (o.by == 0 || o.by == h.col+1) && (len(o.rows) == 1 || o.why == boundRows || o.why == inheritedRow ||
				o.why == carriedRow || o.why == labelRows || o.why == listedRows) &&
				slices.Contains(o.rows, int32(h.row)) {
				s.why = o.why
				break
			}
		}
		if s.why == otherRow && len(r.hits[l.k]) > maxUnnamed {
			continue
		}
		c := r.cell(h.table, h.row, h.col, q)
		c.kind, c.quality = aCell, q
		l.put(c, &term{s, h.col}, nil)
	}
}

// may reports whether a value, in floating point, is worth an exact comparison.
func (l *listing) may(v float64, cols ...*column) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) || !l.r.spend(1) {
		return false
	}
	v = math.Abs(v)
	for _, iv := range l.r.ranges[l.k] {
		if iv[0] <= v && v <= iv[1] {
			return true
		}
	}
	for _, c := range cols {
		if c.scale > 0 || l.n.rateConversion(c.unit) != nil {
			return true
		}
	}
	return l.n.subunit() && len(cols) > 0
}

// aggregates adds sums, averages and extremes over the subjects of a table.
func (l *listing) aggregates(subjects []subject) {
	r, n := l.r, l.n
	if n.times || n.points {
		return
	}
	for i := range subjects {
		s := &subjects[i]
		if len(s.rows) == 1 {
			continue
		}
		all := s.rows == nil
		tab := &r.tables[s.table]
		for _, ci := range r.amounts(s.table) {
			if s.by > 0 && s.by != ci+1 {
				continue
			}
			col := &tab.cols[ci]
			x := term{s, ci}
			sum := r.float(x)
			count := float64(len(s.rows))
			name := r.ref(s.table, -1, col.name)
			tot := r.totalOf(s.table, ci)
			if all {
				count = float64(max(tot.n, 1))
			}
			if !col.percent && l.may(sum) {
				if v, ok := r.exact(x); ok {
					kind := aGroupSum
					if all {
						kind = aSum
					}
					l.amount(kind, r.text(x), v, col, &x)
				}
			}
			if l.may(sum / count) {
				if v, ok := r.exact(x); ok {
					v = new(big.Rat).Quo(v, new(big.Rat).SetInt64(int64(count)))
					if all {
						l.amount(anAverage, "avg("+name+")", v, col, &x)
					} else {
						l.amount(aGroupAverage, r.rowsRef("avg", s.table, ci, s.rows), v, col, &x)
					}
				}
			}
			if all && tot.n > 0 && (l.may(tot.maxF) || l.may(tot.minF)) {
				l.amount(anExtreme, "max("+name+")", tot.max, col, &x)
				l.amount(anExtreme, "min("+name+")", tot.min, col, &x)
			}
		}
	}
}

// amount adds a value in the unit of a column if it fits.
func (l *listing) amount(kind kind, formula string, v *big.Rat, col *column, x *term) {
	q, ok := l.n.fitsColumn(v, col, true)
	if !ok || v.Sign() > 0 && l.n.sign < 0 || v.Sign() < 0 && l.n.sign >= 0 &&
		!l.r.canMeanNegative(l.n, x.s.table, x.col) {
		return
	}
	c := &candidate{table: x.s.table, formula: formula, value: ratText(v), kind: kind, quality: q, measure: col,
		rows: x.s.rows}
	l.put(c, x, nil)
}

// pairs adds the formulas over two subjects in one column, and over two columns of one subject.
func (l *listing) pairs(subjects []subject) {
	r := l.r
	for i := range subjects {
		s := &subjects[i]
		cols := r.amounts(s.table)
		for _, ci := range cols {
			for j := i + 1; j < len(subjects); j++ {
				o := &subjects[j]
				if s.by > 0 && s.by != ci+1 || o.by > 0 && o.by != ci+1 {
					continue
				}
				if both := len(intersect(s.rows, o.rows)); both > 0 {
					l.part(term{s, ci}, term{o, ci}, both)
					continue
				}
				l.pair(term{s, ci}, term{o, ci})
			}
		}
		if s.by > 0 {
			continue
		}
		for a, ci := range cols {
			for _, cj := range cols[a+1:] {
				l.pair(term{s, ci}, term{s, cj})
			}
		}
	}
}

// part adds the share of some rows in others that contain them.
func (l *listing) part(x, y term, both int) {
	if len(x.s.rows) > len(y.s.rows) {
		x, y = y, x
	}
	if l.n.percent && both == len(x.s.rows) && both < len(y.s.rows) && l.may(l.r.float(x)/l.r.float(y)) {
		l.apply(aGroupShare, ratioOp, x, y)
	}
}

// pair adds the operations on two terms, in both orders, that give the number.
func (l *listing) pair(x, y term) {
	r, n := l.r, l.n
	if !r.spend(1) {
		return
	}
	a, b := r.float(x), r.float(y)
	cx, cy := &r.tables[x.s.table].cols[x.col], &r.tables[y.s.table].cols[y.col]
	sameCol := x.s.table == y.s.table && x.col == y.col
	diff, ratio, growth := colDiff, colRatio, colGrowth
	if sameCol {
		diff, ratio, growth = rowDiff, rowRatio, rowGrowth
		if x.s.rows == nil || y.s.rows == nil {
			ratio = aShare
		}
	}
	comparable := sameCol || cx.unit.dimension == cy.unit.dimension && cx.scale == cy.scale
	if !n.percent && !n.times && comparable && a != b && l.may(a-b) {
		if a < b {
			l.apply(diff, diffOp, y, x)
		} else {
			l.apply(diff, diffOp, x, y)
		}
	}
	if n.points {
		return
	}
	if !n.percent || comparable {
		for _, swap := range []bool{false, true} {
			if swap {
				a, b, x, y, cx, cy = b, a, y, x, cy, cx
			}
			if ratio == aShare && y.s.rows != nil || n.times && (!comparable || a < b && !n.word) ||
				sameCol && !n.percent && !n.times && (ratio != rowRatio || !n.isFractional()) {
				continue
			}
			if l.may(a/b, cx) {
				l.apply(ratio, ratioOp, x, y)
			}
			if l.factor > 1 && !sameCol && l.may(a/b*float64(l.factor)) {
				l.apply(colRatio, perOp(l.factor), x, y)
			}
			if n.percent && comparable && ratio != aShare && l.may(a/b-1) {
				l.apply(growth, growthOp, x, y)
			}
			if n.percent && comparable && a < b && l.may(1-a/b) && ratio != rowRatio {
				l.apply(aRest, restOp, x, y)
			}
		}
	}
	if !sameCol && x.s == y.s && len(x.s.rows) == 1 && !n.percent {
		if l.may(a*b) && !cx.percent && !cy.percent {
			l.apply(aProduct, productOp, x, y)
		}
		if comparable && l.may(a+b) {
			l.apply(aSumOfColumns, sumOp, x, y)
		}
	}
}

var (
	restOp = operation{"rest", func(a, b *big.Rat) *big.Rat {
		if b.Sign() == 0 {
			return nil
		}
		q := new(big.Rat).Quo(a, b)
		return q.Sub(ratOne, q)
	}, "1 - %s / %s"}
	productOp = operation{"product", func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }, "%s * %s"}
	sumOp     = operation{"sum", func(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }, "%s + %s"}
)

// perOp is the ratio of a rate such as litres per 100 km.
func perOp(factor int64) operation {
	return operation{"per", func(a, b *big.Rat) *big.Rat {
		if v := ratioOp.eval(a, b); v != nil {
			return v.Mul(v, big.NewRat(factor, 1))
		}
		return nil
	}, fmt.Sprintf("%%s / %%s * %d", factor)}
}

// apply adds an operation on two terms if its exact value fits.
func (l *listing) apply(kind kind, op operation, x, y term) {
	r, n := l.r, l.n
	a, ok1 := r.exact(x)
	b, ok2 := r.exact(y)
	if !ok1 || !ok2 {
		return
	}
	v := op.eval(a, b)
	if v == nil || v.Sign() == 0 {
		return
	}
	cx, cy := &r.tables[x.s.table].cols[x.col], &r.tables[y.s.table].cols[y.col]
	q, ok := r.fitsOperation(n, op, v, cx, cy)
	if !ok {
		return
	}
	c := &candidate{table: x.s.table, formula: fmt.Sprintf(op.text, r.text(x), r.text(y)), value: ratText(v),
		kind: kind, quality: q, above: op.name == "ratio" && v.Cmp(ratOne) > 0}
	if op.name == "ratio" {
		n.convertFormula(c, v, cx, cy)
	}
	l.put(c, &x, &y)
}

// fitsOperation reports whether the value of an operation on two columns fits a number, in any of their units.
func (r *resolver) fitsOperation(n *numeral, op operation, v *big.Rat, x, y *column) (float64, bool) {
	switch {
	case n.points && x.percent:
		if q, ok := n.fits(v, true); ok { // the cells already hold percentages
			return q, true
		}
	case n.percent || n.points || n.times:
	case op.name == "diff" || op.name == "sum":
		return n.fitsColumn(v, x, true)
	case op.name == "ratio" && n.subunit() && x.unit.factor == nil:
		return n.fits(new(big.Rat).Mul(v, ratHundred), true) // "53 cents a dollar"
	case op.name == "ratio" && n.rateConversion(x.unit) != nil && y.unit.dimension != x.unit.dimension:
		return n.fits(new(big.Rat).Mul(v, n.rateConversion(x.unit)), true) // "2 hours each" from minutes
	case op.name == "ratio" && x.scale > y.scale:
		return n.fits(new(big.Rat).Mul(v, pow10(x.scale-y.scale)), true)
	}
	return n.fitsValue(v)
}

// acrossTables adds the formulas over rows of the same name in two results, and over their totals.
func (l *listing) acrossTables(subjects [][]subject) {
	r := l.r
	for t := range subjects {
		for u := t + 1; u < len(subjects); u++ {
			for i := range subjects[t][:min(len(subjects[t]), 8)] {
				for j := range subjects[u][:min(len(subjects[u]), 8)] {
					x, y := &subjects[t][i], &subjects[u][j]
					if len(x.rows) > 1 || len(y.rows) > 1 || (x.rows == nil) != (y.rows == nil) || x.by+y.by > 0 ||
						x.rows != nil && r.rowName(t, int(x.rows[0])) != r.rowName(u, int(y.rows[0])) {
						continue
					}
					for _, ci := range r.amounts(t) {
						for _, cj := range r.amounts(u) {
							l.pair(term{x, ci}, term{y, cj})
						}
					}
				}
			}
		}
	}
}

// claims adds the operations on figures that the text states beside the number.
func (l *listing) claims() {
	r, n := l.r, l.n
	cs := r.claims(l.k, 1)
	cs = cs[:min(len(cs), 6)]
	l.bracketedShare()
	for i := range cs {
		x := cs[i]
		if n.percent && r.numerals[x.k].percent && x.val.Sign() > 0 {
			l.remainder(x)
		}
		for _, y := range cs[i+1:] {
			if x.k > y.k {
				x, y = y, x
			}
			a, b := x, y
			if a.val.Cmp(b.val) < 0 {
				a, b = b, a
			}
			switch {
			case x.c.formula == "" && y.c.formula == "" && x.c.table == y.c.table &&
				(x.c.row == y.c.row || x.c.col == y.c.col), x.c.formula == y.c.formula && x.c.formula != "":
			case n.percent:
				l.claim(claimRatio, ratioOp, b, a)
				l.claim(claimGrowth, growthOp, y, x)
			case n.times:
				l.claim(claimRatio, ratioOp, a, b)
			default:
				l.claim(claimDiff, diffOp, a, b)
				if !n.points {
					l.claim(claimRatio, ratioOp, a, b)
				}
			}
		}
	}
}

// bracketedShare adds the ratio of the figures in "549 of 2,110 trips (about 26 %)", of which the first may be
// computed.
func (l *listing) bracketedShare() {
	r, k := l.r, l.k
	if !l.n.percent || k < 2 || !r.opensBracket(l.n) || !r.arePartAndWhole(k-2, k-1) ||
		l.n.from-r.numerals[k-1].to > 6 ||
		r.found[k-2] == nil || r.found[k-1] == nil || r.found[k-2].table < 0 || r.found[k-1].table < 0 {
		return
	}
	x, ok1 := parseRat(r.found[k-2].value)
	y, ok2 := parseRat(r.found[k-1].value)
	if ok1 && ok2 && x.Cmp(y) <= 0 {
		l.claim(claimRatio, ratioOp, claim{k - 2, r.found[k-2], x}, claim{k - 1, r.found[k-1], y})
	}
}

// claim adds an operation on two figures of the text if it gives the number.
func (l *listing) claim(kind kind, op operation, x, y claim) {
	r, n := l.r, l.n
	if strings.HasPrefix(x.c.formula, "count(") != strings.HasPrefix(y.c.formula, "count(") && op.name == "diff" {
		return
	}
	v := op.eval(x.val, y.val)
	if v == nil || v.Sign() == 0 {
		return
	}
	f, _ := v.Float64()
	if !l.may(f) && x.c.measure == nil {
		return
	}
	q, ok := n.fitsMeasured(v, op, x.c, y.c)
	if !ok {
		return
	}
	c := &candidate{table: x.c.table, formula: fmt.Sprintf(op.text, r.termFor(x.c), r.termFor(y.c)), value: ratText(v),
		kind: kind, quality: q, apart: max(x.k, y.k, l.k) - min(x.k, y.k, l.k)}
	if op.name == "ratio" && x.c.measure != nil && y.c.measure != nil {
		n.convertFormula(c, v, x.c.measure, y.c.measure)
	}
	c.sameMeasure = x.c.measure != nil && x.c.measure == y.c.measure
	l.put(c, nil, nil)
}

// remainder adds what a percentage beside the number leaves: "the remaining 38 %" after "62 % are active".
func (l *listing) remainder(x claim) {
	n := l.n
	whole := ratOne
	if v := l.r.numerals[x.k].readings[0].val; v.Sign() > 0 && new(big.Rat).Quo(x.val, v).Cmp(big.NewRat(1, 2)) > 0 {
		whole = ratHundred // the cell already holds a percentage
	}
	v := new(big.Rat).Sub(whole, x.val)
	said := v
	if whole == ratOne {
		said = new(big.Rat).Mul(v, ratHundred)
	}
	if q, ok := n.fits(said, true); ok && v.Sign() > 0 {
		l.put(&candidate{table: x.c.table, formula: ratText(whole) + " - " + l.r.termFor(x.c), value: ratText(v),
			kind: aRest, quality: q, rows: x.c.rows}, nil, nil)
	}
}
