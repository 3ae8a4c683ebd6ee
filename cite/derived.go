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

// Formulas are tried over what the sentence is about only: the cells already
// found in it, the rows it names, whole columns. They need words that ask for
// them, and have less confidence the further their cells are fetched.

const (
	maxActive  = 12 // rows of a sentence that are paired
	maxColumns = 12 // columns of a row that are paired
)

// cellRef is a cell that a formula can use.
type cellRef struct{ table, row, col int }

// derived resolves what direct left open.
func (r *resolver) derived() {
	for k := range r.numerals {
		n := &r.numerals[k]
		if n.kind != number || n.huge || n.prefix != "" || len(n.readings) == 0 {
			continue
		}
		if c := r.found[k]; c != nil && c.conf >= 0.6 {
			continue
		}
		for _, try := range []func(int) *candidate{r.conditional, r.aggregate, r.groupSum, r.again, r.totalsRatio, r.siblings, r.complement, r.pairwise, r.shareOf, r.ratioOf, r.daysOf, r.threshold, r.loose} {
			if r.work <= 0 {
				return
			}
			r.better(k, try(k))
			if r.found[k] != nil && r.found[k].conf >= 0.6 {
				break
			}
		}
	}
}

// fitsValue checks a computed value.
func (n *numeral) fitsValue(v *big.Rat) (float64, bool) {
	if v == nil {
		return 0, false
	}
	if n.percent || n.points {
		v = new(big.Rat).Mul(v, ratHundred)
	}
	return n.fits(v, true)
}

// numericColumns lists columns to try: those the text binds, else all.
func (r *resolver) numericColumns(k, t int) (cols []int, bound bool) {
	for _, c := range r.columnsOf[k].cols {
		if c.table == t && r.tables[t].cols[c.col].role == roleNumber {
			cols = append(cols, c.col)
		}
	}
	if len(cols) > 0 && r.columnsOf[k].strong {
		return cols, true
	}
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && len(cols) < maxColumns {
			cols = append(cols, ci)
		}
	}
	return cols, false
}

// aggregate tries sums, averages and extremes of whole columns.
func (r *resolver) aggregate(k int) *candidate {
	n := &r.numerals[k]
	if n.points || n.times {
		return nil
	}
	if n.percent && r.totalRow(n) && n.readings[0].val.Cmp(ratHundred) == 0 && len(r.tables) > 0 {
		return r.wholeShare(k)
	}
	wantSum := r.saysSentence(n, totalCues) || r.totalRow(n) || r.partOf(n) || r.ofAll(n) || r.unboundUnit(k)
	wantAvg := r.averaged(n)
	wantMax, wantMin := r.says(n, maxCues), r.says(n, minCues)
	free := n.sig >= 3 && !n.percent && !r.boundAlone(k)
	if !wantSum && !wantAvg && !wantMax && !wantMin && !free {
		return nil
	}
	var best *candidate
	keep := func(c *candidate) {
		if best == nil || c.conf > best.conf {
			best = c
		}
	}
	for t := len(r.tables) - 1; t >= 0 && t >= len(r.tables)-4; t-- {
		if !r.tables[t].whole || len(r.tables[t].rows) < 2 {
			continue
		}
		cols, bound := r.numericColumns(k, t)
		for _, ci := range cols {
			if n.percent && !r.tables[t].cols[ci].percent && !wantAvg {
				continue
			}
			conf := 0.75
			if bound || len(cols) == 1 {
				conf = 0.9
			}
			tot := r.totalOf(t, ci)
			name := r.ref(t, -1, r.tables[t].cols[ci].name)
			if (wantSum || free && !wantAvg) && !r.tables[t].cols[ci].percent {
				if !wantSum {
					conf -= 0.15
				}
				r.tryAggregate(n, t, ci, "sum("+name+")", tot.sum(), conf, keep)
			}
			if wantAvg && (!r.boundAlone(k) || averagedVerbs[first(r.wordBefore(n))] && r.perPeriod(n)) {
				r.tryAggregate(n, t, ci, "avg("+name+")", tot.avg(), conf, keep)
			}
			if wantMax && !r.strictly(k) {
				r.tryAggregate(n, t, ci, "max("+name+")", tot.max, conf, keep)
			}
			if wantMin && !r.strictly(k) {
				r.tryAggregate(n, t, ci, "min("+name+")", tot.min, conf, keep)
			}
		}
	}
	return best
}

// averaged: a word for average speaks of this number and no other.
func (r *resolver) averaged(n *numeral) bool {
	p := r.prose
	for i := n.from - 1; i >= max(0, n.from-window) && p.tokens[i].sentence == p.tokens[n.from].sentence && r.numeralAt[i] < 0; i-- {
		if averageCues[p.low(i)] {
			return true
		}
	}
	for i := n.to; i < n.to+8 && i < len(p.tokens) && p.tokens[i].word && r.numeralAt[i] < 0; i++ {
		if averageCues[p.low(i)] {
			return true
		}
	}
	return false
}

// wholeShare is the 100 % in the last row of a table.
func (r *resolver) wholeShare(k int) *candidate {
	t := len(r.tables) - 1
	cols, _ := r.numericColumns(k, t)
	if len(cols) == 0 || !r.tables[t].whole {
		return nil
	}
	sum := "sum(" + r.ref(t, -1, r.tables[t].cols[cols[0]].name) + ")"
	return &candidate{table: t, formula: sum + " / " + sum, value: "1", conf: 0.7}
}

func (r *resolver) tryAggregate(n *numeral, t, ci int, formula string, v *big.Rat, conf float64, keep func(*candidate)) {
	if v == nil {
		return
	}
	q, ok := n.fitsColumn(v, &r.tables[t].cols[ci], true)
	if ok && !(v.Sign() < 0 && n.sign >= 0 && !r.says(n, downCues)) && !(v.Sign() > 0 && n.sign < 0) {
		keep(&candidate{table: t, formula: formula, value: ratText(v), conf: conf * q})
	}
}

// strictly: the sentence itself says which rows the numeral is about.
func (r *resolver) strictly(k int) bool {
	for _, b := range r.bindings[k] {
		if b.strength >= inherited {
			return true
		}
	}
	return false
}

// boundAlone: a single row is said in the numeral's own clause.
func (r *resolver) boundAlone(k int) bool {
	n := &r.numerals[k]
	for _, b := range r.bindings[k] {
		if b.strength == said && len(b.by) > 0 && r.prose.tokens[b.by[0].from].clause == r.prose.tokens[n.from].clause {
			return true
		}
		if b.strength == inherited {
			return true
		}
	}
	return false
}

// totalRow: a table's row that begins with Total.
func (r *resolver) totalRow(n *numeral) bool {
	p := r.prose
	b := &p.blocks[p.tokens[n.from].blck]
	if b.kind != tableRow {
		return false
	}
	for i := b.span.from; i < b.span.to && i < b.span.from+8; i++ {
		if totalCues[p.low(i)] {
			return true
		}
	}
	return false
}

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

// strictlyBefore: a row is named before the numeral in its clause, so that it is
// a value of that row and not a number of rows.
func (r *resolver) strictlyBefore(k int) bool {
	n := &r.numerals[k]
	for _, b := range r.bindings[k] {
		if b.strength == said && len(b.rows) == 1 && len(b.by) > 0 && b.by[0].to <= n.from && r.prose.tokens[b.by[0].from].clause == r.prose.tokens[n.from].clause {
			return true
		}
	}
	return false
}

func (r *resolver) signed(t, ci int) bool {
	tot := r.totalOf(t, ci)
	return tot.n > 0 && tot.minF < 0 && tot.maxF > 0
}

func (r *resolver) namesColumn(n *numeral, t, ci int) bool {
	for _, m := range r.nearColumns(n) {
		for _, c := range m.cols {
			if c == (colRef{t, ci}) {
				return true
			}
		}
	}
	return false
}

// columnsNear are the numeric columns a sentence names, or all.
func (r *resolver) columnsNear(n *numeral, t int) []int {
	var cols []int
	for _, m := range r.nearColumns(n) {
		for _, c := range m.cols {
			if c.table == t && !slices.Contains(cols, c.col) && r.tables[t].cols[c.col].role == roleNumber {
				cols = append(cols, c.col)
			}
		}
	}
	if len(cols) > 0 {
		return cols
	}
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && len(cols) < maxColumns {
			cols = append(cols, ci)
		}
	}
	return cols
}

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

// groupSum: "A, B and C together have 785", "the top two sold 810".
func (r *resolver) groupSum(k int) *candidate {
	n := &r.numerals[k]
	for _, g := range r.groups(k) {
		cols, bound := r.numericColumns(k, g.table)
		for _, ci := range cols {
			sum, ok := r.sumRows(g.table, ci, g.rows)
			if !ok {
				continue
			}
			conf := 0.75
			if bound {
				conf = 0.85
			}
			formula := r.sumRef(g.table, ci, g.rows)
			v := sum
			if n.percent {
				all := r.totalOf(g.table, ci)
				if !r.tables[g.table].whole || all.sum().Sign() == 0 {
					continue
				}
				v = new(big.Rat).Quo(sum, all.sum())
				formula += " / sum(" + r.ref(g.table, -1, r.tables[g.table].cols[ci].name) + ")"
			}
			if q, ok := n.fitsValue(v); ok {
				return &candidate{table: g.table, formula: formula, value: ratText(v), conf: conf * q, rows: g.rows}
			}
		}
	}
	return nil
}

type rowGroup struct {
	table int
	rows  []int32
}

// groups are the lists of rows a sentence speaks of together.
func (r *resolver) groups(k int) []rowGroup {
	n := &r.numerals[k]
	var out []rowGroup
	for _, b := range r.bindings[k] {
		if len(b.group) > 1 {
			out = append(out, rowGroup{b.table, b.group})
		}
	}
	if !r.saysSentence(n, groupCues) && len(out) == 0 {
		return nil
	}
	s := r.prose.tokens[n.from].sentence
	for j := k - 1; j >= 0 && j >= k-6 && r.prose.tokens[r.numerals[j].from].sentence == s; j-- {
		if c := r.found[j]; c != nil && strings.HasPrefix(c.formula, "top(") {
			if v := r.numerals[j].readings[0].val.Num().Int64(); v > 1 && v <= 1000 {
				g := rowGroup{table: c.table}
				for i := range v {
					g.rows = append(g.rows, int32(i))
				}
				out = append(out, g)
			}
		}
	}
	return out
}

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

func (r *resolver) sumRef(t, ci int, rows []int32) string {
	var b strings.Builder
	fmt.Fprintf(&b, "sum(%s[", r.tables[t].id)
	for i, ri := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(ri)))
	}
	return b.String() + "]." + quoteName(r.tables[t].cols[ci].name) + ")"
}

// active is what a sentence is about: the cells found in it, nearest first, and
// the rows and columns it names.
type active struct {
	cells []cellRef
	rows  []dim        // table, row
	cols  map[dim]bool // table, column: named, or of a cell
	said  map[dim]bool // table, column: named
}

// activity gathers the active cells, rows and columns around a numeral. back is
// how many sentences before its own are looked at.
func (r *resolver) activity(k, back int) active {
	n := &r.numerals[k]
	p := r.prose
	a := active{cols: map[dim]bool{}, said: map[dim]bool{}}
	s := p.tokens[n.from].sentence
	seen := map[dim]bool{}
	row := func(t, ri int) {
		if d := (dim{t, ri}); !seen[d] && len(a.rows) < maxActive {
			seen[d] = true
			a.rows = append(a.rows, d)
		}
	}
	r.activeCells(k, back, &a)
	for _, b := range r.bindings[k] {
		if len(b.rows) == 1 {
			row(b.table, int(b.rows[0]))
		}
	}
	for q := s; q >= 0 && q >= s-back; q-- {
		ms := r.near(n)
		if q != s {
			ms = r.bySentence[q]
			ms = ms[:min(len(ms), maxNear)]
		}
		ms = append([]*mention{}, ms...)
		sort.SliceStable(ms, func(i, j int) bool { return distance(ms[i], n) < distance(ms[j], n) })
		for _, m := range ms {
			for _, h := range m.hits {
				if len(h.rows) == 1 {
					row(h.table, int(h.rows[0]))
				}
			}
		}
		cs := r.nearColumns(n)
		if q != s {
			cs = r.colBySentence[q]
			cs = cs[:min(len(cs), maxNear)]
		}
		for _, m := range cs {
			for _, c := range m.cols {
				if r.tables[c.table].cols[c.col].role == roleNumber {
					a.cols[dim(c)] = true
					a.said[dim(c)] = true
				}
			}
		}
	}
	for _, c := range a.cells {
		row(c.table, c.row)
	}
	return a
}

// activeCells gathers the cells already found around a numeral, nearest first.
func (r *resolver) activeCells(k, back int, a *active) {
	p := r.prose
	s := p.tokens[r.numerals[k].from].sentence
	for step := 1; step <= 12; step++ {
		for _, j := range []int{k - step, k + step} {
			if j < 0 || j >= len(r.numerals) {
				continue
			}
			d := s - p.tokens[r.numerals[j].from].sentence
			if d < 0 || d > back {
				continue
			}
			if c := r.found[j]; c != nil && c.formula == "" && r.tables[c.table].cols[c.col].role == roleNumber && !r.numerals[j].year {
				a.cells = append(a.cells, cellRef{c.table, c.row, c.col})
				a.cols[dim{c.table, c.col}] = true
			}
		}
	}
}

// operation is what the words around a numeral ask two cells to be put through.
type operation struct {
	name string
	eval func(a, b *big.Rat) *big.Rat
	text string // with two %s
}

var (
	growthOp = operation{"growth", func(a, b *big.Rat) *big.Rat {
		if b.Sign() == 0 {
			return nil
		}
		q := new(big.Rat).Quo(a, b)
		return q.Sub(q, ratOne)
	}, "%s / %s - 1"}
	ratioOp = operation{"ratio", func(a, b *big.Rat) *big.Rat {
		if b.Sign() == 0 {
			return nil
		}
		return new(big.Rat).Quo(a, b)
	}, "%s / %s"}
	diffOp = operation{"diff", func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }, "%s - %s"}
)

// operations says which apply to a numeral, given its form and the words near it.
func (r *resolver) operations(k int) []operation {
	n := &r.numerals[k]
	changed := n.sign > 0 || n.sign < 0 && (n.percent || n.points || r.says(n, diffCues)) || r.leaves(n)
	if n.percent || n.points || n.times {
		changed = changed || r.says(n, diffCues)
	} else {
		changed = changed || r.differs(n)
	}
	switch {
	case n.points:
		return []operation{diffOp}
	case n.percent:
		if changed && r.prose.low(n.to) != "of" {
			return []operation{growthOp, ratioOp}
		}
		return []operation{ratioOp, growthOp}
	case n.times:
		return []operation{ratioOp}
	case changed:
		return []operation{diffOp}
	}
	return nil
}

// differs: a word of difference speaks of this number and no other: before it in
// its clause, or right after it.
func (r *resolver) differs(n *numeral) bool {
	p := r.prose
	for i := n.from - 1; i >= max(0, n.from-window) && p.tokens[i].clause == p.tokens[n.from].clause && r.numeralAt[i] < 0 && p.low(i) != "than"; i-- {
		if diffCues[p.low(i)] && !r.named(i) {
			return true
		}
	}
	if diffCues[p.low(n.from-1)] {
		return true
	}
	for i := n.to; i < n.to+6 && i < len(p.tokens) && (p.tokens[i].word || p.low(i) == "€" || p.low(i) == "$") && r.numeralAt[i] < 0; i++ {
		if diffCues[p.low(i)] && !r.named(i) {
			return true
		}
	}
	return false
}

// leaves: "leaves 70 GB free", "12 seats remaining".
func (r *resolver) leaves(n *numeral) bool {
	if leftCues[r.prose.low(n.from-1)] {
		return true
	}
	for i := n.to; i < n.to+3 && i < len(r.prose.tokens) && r.prose.tokens[i].word; i++ {
		if leftCues[r.prose.low(i)] {
			return true
		}
	}
	return false
}

// pairwise tries formulas of two cells, from the nearest pairs to the furthest.
func (r *resolver) pairwise(k int) *candidate {
	ops := r.operations(k)
	if len(ops) == 0 {
		return nil
	}
	for back := range 3 {
		a := r.activity(k, back)
		far := 1 - 0.12*float64(back)
		for _, op := range ops {
			if c := r.pairCells(k, op, a, 0.9*far); c != nil {
				return c
			}
			if c := r.pairRows(k, op, a, 0.85*far); c != nil {
				return c
			}
			if c := r.pairColumns(k, op, a, 0.8*far); c != nil {
				return c
			}
			if c := r.pairTables(k, op, a, 0.8*far); c != nil {
				return c
			}
		}
		if len(a.rows) >= 2 && back == 0 {
			break // the sentence has its own pairs; others would be chance
		}
	}
	return r.neighbours(k, ops)
}

// pairCells pairs cells already found in the text that differ in row or column.
func (r *resolver) pairCells(k int, op operation, a active, conf float64) *candidate {
	for i := 0; i < len(a.cells) && i < 6; i++ {
		for j := i + 1; j < len(a.cells) && j < 6; j++ {
			x, y := a.cells[i], a.cells[j]
			sameCol := x.col == y.col && x.table == y.table
			sameRow := x.row == y.row && x.table == y.table
			if sameCol == sameRow && x.table == y.table || op.name == "ratio" && r.numerals[k].percent && sameCol && !r.shareTalk(k) {
				continue
			}
			if c := r.try(k, op, x, y, conf); c != nil {
				return c
			}
		}
	}
	return nil
}

func (r *resolver) shareTalk(k int) bool {
	n := &r.numerals[k]
	return r.prose.low(n.to) == "of" || r.says(n, shareWords)
}

// pairRows pairs the named rows in the columns the sentence is about.
func (r *resolver) pairRows(k int, op operation, a active, conf float64) *candidate {
	if op.name == "ratio" && r.numerals[k].percent && !r.shareTalk(k) {
		return nil
	}
	for i := range a.rows {
		for j := i + 1; j < len(a.rows); j++ {
			x, y := a.rows[i], a.rows[j]
			if x.table != y.table {
				continue
			}
			for _, ci := range r.activeColumns(k, x.table, a) {
				if c := r.try(k, op, cellRef{x.table, x.col, ci}, cellRef{x.table, y.col, ci}, conf); c != nil {
					return c
				}
			}
		}
	}
	return nil
}

// activeColumns are the columns a sentence is about; when it says nothing, all of
// them, if they are few.
func (r *resolver) activeColumns(k, t int, a active) []int {
	var cols []int
	for _, c := range r.columnsOf[k].cols {
		if c.table == t && r.tables[t].cols[c.col].role == roleNumber {
			cols = append(cols, c.col)
		}
	}
	if len(cols) > 0 && r.columnsOf[k].strong {
		return cols
	}
	for ci, c := range r.tables[t].cols {
		if a.cols[dim{t, ci}] && c.role == roleNumber {
			cols = append(cols, ci)
		}
	}
	if len(cols) > 0 && len(a.said) > 0 {
		return cols
	}
	few := cols
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && !slices.Contains(cols, ci) {
			few = append(few, ci)
		}
	}
	if len(few) > 3 {
		return cols
	}
	return few
}

// pairColumns pairs two columns of one row: spent of budget, this year and last.
func (r *resolver) pairColumns(k int, op operation, a active, conf float64) *candidate {
	for _, row := range a.rows[:min(len(a.rows), 3)] {
		var named, all []int
		for ci, c := range r.tables[row.table].cols {
			if c.role != roleNumber || c.key || len(all) == maxColumns {
				continue
			}
			all = append(all, ci)
			if a.said[dim{row.table, ci}] || slices.Contains(a.cells, cellRef{row.table, row.col, ci}) {
				named = append(named, ci)
			}
		}
		if c := r.pairIn(k, op, row, named, named, conf); c != nil {
			return c
		}
		others := all
		if len(all) > 4 || len(named) > 1 {
			others = nil
		}
		if c := r.pairIn(k, op, row, named, others, conf-0.2); c != nil {
			return c
		}
	}
	return nil
}

func (r *resolver) pairIn(k int, op operation, row dim, as, bs []int, conf float64) *candidate {
	for _, x := range as {
		for _, y := range bs {
			if x == y {
				continue
			}
			if c := r.try(k, op, cellRef{row.table, row.col, x}, cellRef{row.table, row.col, y}, conf); c != nil {
				return c
			}
		}
	}
	return nil
}

// pairTables pairs the rows of one name in two results: this year's and last
// year's query.
func (r *resolver) pairTables(k int, op operation, a active, conf float64) *candidate {
	for _, x := range a.rows {
		for _, y := range a.rows {
			if x.table <= y.table || r.rowName(x.table, x.col) != r.rowName(y.table, y.col) {
				continue
			}
			for xi, xc := range r.tables[x.table].cols {
				for yi, yc := range r.tables[y.table].cols {
					if xc.role != roleNumber || yc.role != roleNumber || op.name != "ratio" && xc.name != yc.name || xi > maxColumns || yi > maxColumns {
						continue
					}
					if c := r.try(k, op, cellRef{x.table, x.col, xi}, cellRef{y.table, y.col, yi}, conf); c != nil {
						return c
					}
				}
			}
		}
	}
	return nil
}

// neighbours pairs the bound row with the one before it, or the last with the
// first, in a series by date.
func (r *resolver) neighbours(k int, ops []operation) *candidate {
	n := &r.numerals[k]
	for t := len(r.tables) - 1; t >= 0; t-- {
		if !r.series(t) {
			continue
		}
		last := len(r.tables[t].rows) - 1
		pairs := [][2]int{{last, 0}}
		if b := r.bindingOf(k, t); b != nil {
			pairs = nil
			if len(b.rows) == 1 && b.rows[0] > 0 {
				pairs = [][2]int{{int(b.rows[0]), int(b.rows[0]) - 1}}
			}
		}
		for _, pair := range pairs {
			for _, op := range ops {
				if op.name == "ratio" && n.percent {
					continue
				}
				cols, bound := r.numericColumns(k, t)
				if !bound && len(cols) > 2 {
					continue
				}
				for _, ci := range cols {
					if c := r.try(k, op, cellRef{t, pair[0], ci}, cellRef{t, pair[1], ci}, 0.65); c != nil {
						return c
					}
				}
			}
		}
	}
	return nil
}

// series says whether a result is ordered by a date.
func (r *resolver) series(t int) bool {
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

// try puts two cells through an operation, in the order the words allow.
func (r *resolver) try(k int, op operation, x, y cellRef, conf float64) *candidate {
	n := &r.numerals[k]
	if !r.spend(2) || !r.likely(k, op, x, y) {
		return nil
	}
	a, ok1 := cellRat(r.tables[x.table].rows[x.row][x.col])
	b, ok2 := cellRat(r.tables[y.table].rows[y.row][y.col])
	if !ok1 || !ok2 || a.Cmp(b) == 0 && op.name != "ratio" {
		return nil
	}
	if n.percent && op.name == "ratio" && x.col != y.col && x.table == y.table && !r.alike(x, y) {
		return nil
	}
	if n.points && !r.pointsFit(x, y) || !r.involves(k, x, y) || op.name == "growth" && !r.comparable(n, x, y) {
		return nil
	}
	up, down := r.says(n, upCues) || n.sign > 0, r.says(n, downCues) || n.sign < 0
	for range 2 {
		v := op.eval(a, b)
		wrongWay := v != nil && op.name == "growth" && (v.Sign() > 0 && (down && !up || n.sign < 0) || v.Sign() < 0 && (up && !down || !down && n.sign >= 0))
		if op.name == "diff" && v.Sign() < 0 {
			wrongWay = true // the larger first; the words say who is ahead
		}
		if v != nil && !wrongWay {
			if q, ok := r.fitsDerived(n, v, x, y); ok && !(op.name == "ratio" && n.times && !n.word && v.Cmp(ratOne) < 0) {
				c := &candidate{table: x.table, formula: fmt.Sprintf(op.text, r.refOf(x), r.refOf(y)), value: ratText(v), conf: conf * q, rows: rowsOf(x, y)}
				if op.name == "ratio" && x.table == y.table && x.row == y.row {
					c.over = []int{x.col, y.col}
				}
				return c
			}
		}
		a, b, x, y = b, a, y, x
	}
	return nil
}

// likely computes in floating point whether a formula can come near the text;
// only then is it worth computing exactly.
func (r *resolver) likely(k int, op operation, x, y cellRef) bool {
	if r.tables[x.table].cols[x.col].scale > 0 {
		return true
	}
	a, ok1 := cellFloat(r.tables[x.table].rows[x.row][x.col])
	b, ok2 := cellFloat(r.tables[y.table].rows[y.row][y.col])
	if !ok1 || !ok2 {
		return false
	}
	values := []float64{a - b}
	switch op.name {
	case "ratio":
		values = []float64{a / b, b / a}
	case "growth":
		values = []float64{a/b - 1, b/a - 1}
	}
	slack := 1e-9
	if op.name == "diff" {
		slack *= math.Abs(a) + math.Abs(b)
	}
	for _, v := range values {
		for _, iv := range r.ranges[k] {
			if v = math.Abs(v); v >= iv[0]-slack && v <= iv[1]+slack {
				return true
			}
		}
	}
	return false
}

// involves: a formula about a row that the text names has a cell of that row.
func (r *resolver) involves(k int, x, y cellRef) bool {
	for _, b := range r.bindings[k] {
		if b.strength < inherited || len(b.rows) != 1 {
			continue
		}
		if b.table == x.table && contains(b.rows, x.row) || b.table == y.table && contains(b.rows, y.row) {
			return true
		}
		if b.table == x.table || b.table == y.table {
			return false
		}
	}
	return true
}

var (
	changeVerbs  = set("grew grow grown rose risen rise fell fallen fall declined decline dropped drop shrank shrunk increased decreased improved climbed jumped growth")
	comparatives = set("than above below ahead behind over compared versus vs more less higher lower exceeded exceeds fewer")
)

// comparable: what "grew" has grown over time, so two rows must be two times;
// "more than" compares any two.
func (r *resolver) comparable(n *numeral, x, y cellRef) bool {
	if x.table != y.table || x.row == y.row || !r.says(n, changeVerbs) || r.says(n, comparatives) {
		return true
	}
	tab := &r.tables[x.table]
	for ci, c := range tab.cols {
		if c.role == roleDate || c.role == roleNumber && c.key && !c.integerID() {
			return true
		}
		if c.role == roleText {
			if _, ok := cellDate(tab.rows[x.row][ci]); ok || hasAny(c.words, periodNames) {
				return true
			}
		}
	}
	return false
}

// pointsFit: percentage points are differences of percents.
func (r *resolver) pointsFit(x, y cellRef) bool {
	return x.table == y.table && x.col == y.col || r.tables[x.table].cols[x.col].percent && r.tables[y.table].cols[y.col].percent
}

func (r *resolver) fitsDerived(n *numeral, v *big.Rat, x, y cellRef) (float64, bool) {
	if n.points && r.tables[x.table].cols[x.col].percent {
		if q, ok := n.fits(v, true); ok { // the cells are percents already
			return q, true
		}
	}
	if n.scaled || r.tables[x.table].cols[x.col].scale > 0 {
		if s := r.tables[x.table].cols[x.col].scale; s > 0 && s == r.tables[y.table].cols[y.col].scale {
			if q, ok := n.fits(new(big.Rat).Mul(v, pow10(s)), true); ok {
				return q, true
			}
		}
	}
	return n.fitsValue(v)
}

func (r *resolver) refOf(c cellRef) string {
	return r.ref(c.table, c.row, r.tables[c.table].cols[c.col].name)
}

func rowsOf(x, y cellRef) []int32 {
	if x.row == y.row {
		return []int32{int32(x.row)}
	}
	return []int32{int32(min(x.row, y.row)), int32(max(x.row, y.row))}
}

// shareOf: a cell as a percentage of its column.
func (r *resolver) shareOf(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent {
		return nil
	}
	for _, b := range r.bindings[k] {
		if len(b.rows) != 1 || !r.tables[b.table].whole {
			continue
		}
		a := r.activity(k, 1)
		cols, _ := r.numericColumns(k, b.table)
		cols = append(r.activeColumns(k, b.table, a), cols...)
		for _, ci := range cols {
			v, ok := cellRat(r.tables[b.table].rows[b.rows[0]][ci])
			sum := r.totalOf(b.table, ci).sum()
			if !ok || sum.Sign() == 0 || r.tables[b.table].cols[ci].percent {
				continue
			}
			share := new(big.Rat).Quo(v, sum)
			if q, ok := n.fitsValue(share); ok {
				name := r.tables[b.table].cols[ci].name
				return &candidate{table: b.table, formula: r.ref(b.table, int(b.rows[0]), name) + " / sum(" + r.ref(b.table, -1, name) + ")", value: ratText(share), conf: 0.8 * q, rows: b.rows}
			}
		}
	}
	return nil
}

// ratioOf: "10.03 of revenue per order".
func (r *resolver) ratioOf(k int) *candidate {
	n := &r.numerals[k]
	if n.percent || n.points || !r.saysSentence(n, perCues) {
		return nil
	}
	below := r.denominators(n)
	for _, row := range r.boundRows(k) {
		ys := below[row.table]
		xs := r.columnsNear(n, row.table)
		if len(ys) == 0 {
			if ys = xs; len(xs) < 2 {
				xs = r.numbersOf(row.table)
			}
		} else if len(xs) <= len(ys) {
			xs = r.numbersOf(row.table)
		}
		for _, x := range xs {
			for _, y := range ys {
				if x == y {
					continue
				}
				if c := r.try(k, ratioOp, cellRef{row.table, row.col, x}, cellRef{row.table, row.col, y}, 0.75); c != nil {
					return c
				}
			}
		}
	}
	a := r.activity(k, 0)
	return r.pairRows(k, ratioOp, a, 0.7)
}

// denominators are the columns named right after "per".
func (r *resolver) denominators(n *numeral) map[int][]int {
	out := map[int][]int{}
	for _, m := range r.nearColumns(n) {
		if !perCues[r.prose.low(m.from-1)] {
			continue
		}
		for _, c := range m.cols {
			if r.tables[c.table].cols[c.col].role == roleNumber {
				out[c.table] = append(out[c.table], c.col)
			}
		}
	}
	return out
}

// numbersOf are the numeric columns of a table that has few of them.
func (r *resolver) numbersOf(t int) []int {
	var out []int
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key {
			out = append(out, ci)
		}
	}
	if len(out) > 4 {
		return nil
	}
	return out
}

// boundRows are the rows a numeral is bound to, and the only rows of results that
// have just one.
func (r *resolver) boundRows(k int) []dim {
	var out []dim
	for _, b := range r.bindings[k] {
		if len(b.rows) == 1 {
			out = append(out, dim{b.table, int(b.rows[0])})
		}
	}
	for t := len(r.tables) - 1; t >= 0; t-- {
		if len(r.tables[t].rows) == 1 {
			out = append(out, dim{t, 0})
		}
	}
	return out
}

// daysOf: days or weeks between two dates of a row, or between two rows.
func (r *resolver) daysOf(k int) *candidate {
	n := &r.numerals[k]
	unit := timeUnits[r.prose.low(n.to)]
	if unit == 0 {
		return nil
	}
	var dates []cellRef
	for _, row := range r.boundRows(k) {
		for ci, c := range r.tables[row.table].cols {
			if c.role == roleDate {
				dates = append(dates, cellRef{row.table, row.col, ci})
			}
		}
	}
	for j := max(0, k-4); j < k; j++ {
		if c := r.found[j]; c != nil && c.formula == "" && r.tables[c.table].cols[c.col].role == roleDate {
			dates = append(dates, cellRef{c.table, c.row, c.col})
		}
	}
	for i, x := range dates {
		for _, y := range dates[i+1:] {
			a, ok1 := r.timeOf(x)
			b, ok2 := r.timeOf(y)
			if !ok1 || !ok2 {
				continue
			}
			if a > b {
				x, y, a, b = y, x, b, a
			}
			v := big.NewRat(b-a, unit)
			if q, ok := n.fits(v, false); ok && b > a {
				formula := fmt.Sprintf("days(%s, %s)", r.refOf(x), r.refOf(y))
				if unit > 1 {
					formula += fmt.Sprintf(" / %d", unit)
				}
				return &candidate{table: x.table, formula: formula, value: ratText(v), conf: 0.85 * q, rows: rowsOf(x, y)}
			}
		}
	}
	return nil
}

// timeOf is a date cell in days.
func (r *resolver) timeOf(c cellRef) (int64, bool) {
	d, ok := cellDate(r.tables[c.table].rows[c.row][c.col])
	if !ok {
		return 0, false
	}
	t, ok := d.time()
	return t.Unix() / 86400, ok
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

// loose takes a cell that no label leads to: the numeral names no row, or the
// result has just one.
func (r *resolver) loose(k int) *candidate {
	n := &r.numerals[k]
	if n.times {
		return nil
	}
	cb := r.columnsOf[k]
	strict := r.strictly(k)
	single := 0
	for _, h := range r.hits[k] {
		if !r.tables[h.table].cols[h.col].percent || n.percent {
			single++
		}
	}
	var best *candidate
	for _, h := range r.hits[k] {
		t := &r.tables[h.table]
		bound := boundIn(cb, h.table)
		q, _ := r.matchCell(n, h)
		switch {
		case cb.strong && !bound[h.col] && r.namesNumber(cb, h.table):
			continue
		case len(t.rows) == 1 && bound[h.col] && r.bindingOf(k, h.table) == nil:
			q *= 0.97
		case strict:
			continue
		case len(t.rows) == 1 && (n.sig >= 2 || len(t.cols) == 1):
			q *= 0.9
		case r.saysSentence(n, averageCues) && !hasAny(t.cols[h.col].words, averageCues), r.says(n, totalCues) && !hasAny(t.cols[h.col].words, totalCues):
			continue
		case r.bindingOf(k, h.table) != nil, n.percent && n.sig < 3, r.contradicts(n, h):
			continue
		case bound[h.col] && n.sig >= 2:
			q *= 0.75
		case n.sig >= 4 && single == 1:
			q *= 0.6
		default:
			continue
		}
		if best == nil || q > best.conf {
			best = r.cell(h.table, h.row, h.col, q)
		}
	}
	return best
}

func hasAny(name []string, words map[string]bool) bool {
	for _, w := range name {
		if words[w] {
			return true
		}
	}
	return false
}

func (r *resolver) namesNumber(cb columnBinding, t int) bool {
	for _, c := range cb.cols {
		if c.table == t && r.tables[t].cols[c.col].role == roleNumber {
			return true
		}
	}
	return false
}

// contradicts: the text says highest or lowest and the cell is not.
func (r *resolver) contradicts(n *numeral, h cellHit) bool {
	v, ok := cellFloat(r.tables[h.table].rows[h.row][h.col])
	if !ok {
		return true
	}
	tot := r.totalOf(h.table, h.col)
	hi, lo := r.says(n, maxCues), r.says(n, minCues)
	return (hi || lo) && !(hi && v == tot.maxF || lo && v == tot.minF)
}
