package cite

import (
	"math/big"
	"slices"
	"strings"
)

// This file answers questions about the words around a number: whether they name a row or column, speak of a
// difference, a change, an average or a share.

const (
	maxActive  = 12 // rows of a sentence that are paired
	maxColumns = 12 // columns of a row that are paired
)

// cellRef is a cell that a formula can use.
type cellRef struct{ table, row, col int }

// fitsValue reports whether a computed value fits the numeral, and how well.
func (n *numeral) fitsValue(v *big.Rat) (float64, bool) {
	if v == nil {
		return 0, false
	}
	if n.percent || n.points {
		v = new(big.Rat).Mul(v, ratHundred)
	}
	return n.fits(v, true)
}

// numericColumns returns the columns to try: those to which the text binds the numeral (bound is then true), otherwise
// all.
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

// namesRow reports whether the numeral is bound to rows by its own sentence, or by a pronoun, list item or heading.
func (r *resolver) namesRow(k int) bool {
	return slices.ContainsFunc(r.bindings[k], func(b binding) bool { return b.strength >= inherited })
}

// clauseNamesRow reports whether the numeral's own clause names a row, or the numeral inherits one.
func (r *resolver) clauseNamesRow(k int) bool {
	n := &r.numerals[k]
	for _, b := range r.bindings[k] {
		if b.strength == inSentence && len(b.by) > 0 &&
			r.prose.tokens[b.by[0].from].clause == r.prose.tokens[n.from].clause {
			return true
		}
	}
	return false
}

// namesRowBefore reports whether a row is named before the numeral in its clause, so that the numeral is a value of
// that row and not a number of rows.
func (r *resolver) namesRowBefore(k int) bool {
	n := &r.numerals[k]
	for _, b := range r.bindings[k] {
		if b.strength == inSentence && len(b.rows) == 1 && len(b.by) > 0 && b.by[0].to <= n.from &&
			r.prose.tokens[b.by[0].from].clause == r.prose.tokens[n.from].clause {
			return true
		}
	}
	return false
}

// hasBothSigns reports whether a column has both negative and positive numbers.
func (r *resolver) hasBothSigns(t, ci int) bool {
	tot := r.totalOf(t, ci)
	return tot.n > 0 && tot.minF < 0 && tot.maxF > 0
}

// namesColumn reports whether a column is named near the numeral.
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

// columnsNear returns the numeric columns that a sentence names, or all of them if it names none.
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

// operation computes a value from two cells, as the words around a numeral suggest.
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

// saysDifference reports whether a word for a difference refers to this number: before it in its clause, or right after
// it.
func (r *resolver) saysDifference(n *numeral) bool {
	p := r.prose
	for i := n.from - 1; i >= max(0, n.from-window) && p.tokens[i].clause == p.tokens[n.from].clause &&
		r.numeralAt[i] < 0 && p.low(i) != "than"; i-- {
		if diffCues[p.low(i)] && !r.isColumnName(i) && !(p.low(i) == "by" && r.isPassiveBy(i)) {
			return true
		}
	}
	from := n.to
	for i := from; i < from+6 && i < len(p.tokens) && !conjunctions[p.low(i)] &&
		(p.tokens[i].word || p.low(i) == "€" || p.low(i) == "$") && r.numeralAt[i] < 0; i++ {
		if diffCues[p.low(i)] && !r.isColumnName(i) {
			return true
		}
	}
	return false
}

// isBesideDifference reports whether a percentage follows a difference: "180 hours more (15 %)", "190 MWh or 5.5 %
// less".
func (r *resolver) isBesideDifference(k int) bool {
	w := r.prose.low(r.numerals[k].from - 1)
	return k > 0 && r.found[k-1] != nil && strings.Contains(r.found[k-1].formula, " - ") &&
		!strings.HasPrefix(r.found[k-1].formula, "1") && (w == "(" || w == "or" || w == ",")
}

// isPassiveBy reports whether the "by" at token i belongs to a passive, as in "named by 74 people", and not to a
// change.
func (r *resolver) isPassiveBy(i int) bool {
	w := r.prose.low(i - 1)
	return strings.HasSuffix(w, "ed") && !diffCues[w] && !changeVerbs[w]
}

// saysRemaining reports whether the number is a remainder: "leaves 70 GB free".
func (r *resolver) saysRemaining(n *numeral) bool { return leftCues[r.prose.low(n.from-1)] }

// refOf returns the reference to a cell.
func (r *resolver) refOf(c cellRef) string {
	return r.ref(c.table, c.row, r.tables[c.table].cols[c.col].name)
}

// rowsOf returns the row numbers of two cells, sorted.
func rowsOf(x, y cellRef) []int32 {
	if x.row == y.row {
		return []int32{int32(x.row)}
	}
	return []int32{int32(min(x.row, y.row)), int32(max(x.row, y.row))}
}

// amounts returns the numeric columns of a table that are not keys, up to maxColumns.
func (r *resolver) amounts(t int) []int {
	var out []int
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && len(out) < maxColumns {
			out = append(out, ci)
		}
	}
	return out
}

// boundRows returns the rows to which a numeral is bound, and the row of each result that has only one.
func (r *resolver) boundRows(k int) []dim {
	var out []dim
	for _, b := range r.bindings[k] {
		if len(b.rows) == 1 {
			out = append(out, dim{b.table, int(b.rows[0])})
		}
	}
	for t := len(r.tables) - 1; t >= 0; t-- {
		if len(r.tables[t].rows) == 1 && !r.isOfOtherPeriod(&r.numerals[k], t) {
			out = append(out, dim{t, 0})
		}
	}
	return out
}

// saysAverage reports whether a word for an average refers to this number.
func (r *resolver) saysAverage(n *numeral) bool {
	p := r.prose
	for i := n.from - 1; i >= max(0, n.from-window) && p.tokens[i].sentence == p.tokens[n.from].sentence &&
		r.numeralAt[i] < 0; i-- {
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

// isInTotalRow reports whether the numeral is in a row of a table that begins with Total.
func (r *resolver) isInTotalRow(n *numeral) bool {
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

var (
	byVerbs = set(
		"shrank shrunk grew grown fell fallen rose risen dropped declined decreased increased slipped climbed jumped")
	changeNames = set("change diff difference delta growth variance increase decrease gap")
)

// isChangedBy reports whether the number is a change without a sign: "shrank by 7".
func (r *resolver) isChangedBy(n *numeral) bool {
	w, before := r.wordBefore(n)
	return w == "by" && byVerbs[before]
}

// isChangeColumn reports whether a column holds changes, by its name or by its signs.
func (r *resolver) isChangeColumn(t, ci int) bool {
	return hasAny(r.tables[t].cols[ci].words, changeNames) || r.hasBothSigns(t, ci)
}

// opensBracket reports whether the numeral is the first word in a bracket, not counting a hedge such as "about".
func (r *resolver) opensBracket(n *numeral) bool {
	i := n.from - 1
	if partHedges[r.prose.low(i)] || r.prose.low(i) == "~" {
		i--
	}
	return r.prose.low(i) == "("
}

// arePartAndWhole reports whether numerals j and k form "A of B" in one sentence.
func (r *resolver) arePartAndWhole(j, k int) bool {
	n, m := &r.numerals[j], &r.numerals[k]
	t := r.prose.tokens
	return t[n.from].sentence == t[m.from].sentence && !n.percent && !m.percent && n.kind == number &&
		m.kind == number && m.from-n.to <= 4 && r.isWhole(m)
}

// countedWhole handles the 6 in "three of 6" if the three is a number of rows and the result has six rows.
func (r *resolver) countedWhole(k int) *candidate {
	n := &r.numerals[k]
	if k == 0 || n.percent || r.isUnresolved(k-1) || !strings.HasPrefix(r.found[k-1].formula, "count(") ||
		!r.arePartAndWhole(k-1, k) {
		return nil
	}
	t := r.found[k-1].table
	if v := n.readings[0].val; t < 0 || !r.tables[t].whole || !v.IsInt() ||
		v.Cmp(big.NewRat(int64(r.tables[t].rowCount), 1)) != 0 {
		return nil
	}
	return r.countOf(t, 0.85)
}

// denominators returns the columns named right after "per", and those of which the text mentions one item ("a session
// in Dresden draws 36 kWh"), by table.
func (r *resolver) denominators(n *numeral) map[int][]int {
	out := map[int][]int{}
	for _, m := range r.nearColumns(n) {
		if w := r.prose.low(m.from - 1); !perCues[w] && !r.mentionsOne(n, m) {
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

// mentionsOne reports whether the text mentions one of the things that a column counts: "a ride" or "each member's
// weekday ride" for a column rides.
func (r *resolver) mentionsOne(n *numeral, m *columnMention) bool {
	p := r.prose
	if m.to-m.from != 1 || m.to > n.from || strings.HasSuffix(p.low(m.from), "s") || r.numeralBetween(m.to, n.from) {
		return false
	}
	for i := m.from - 1; i >= max(0, m.from-5) && p.tokens[i].clause == p.tokens[m.from].clause; i-- {
		if before := p.low(i); before == "a" || before == "an" {
			for _, c := range m.cols {
				col := &r.tables[c.table].cols[c.col]
				if col.role == roleNumber && col.integer && len(col.words) == 1 && col.words[0] != col.name {
					return true // the name of the column is a plural
				}
			}
			return false
		}
	}
	return false
}

// isFractional reports whether a number has decimal places and at least two digits.
func (n *numeral) isFractional() bool {
	return n.kind == number && !n.points && !n.times && n.sig >= 2 && n.readings[0].unit.Sign() > 0 &&
		n.readings[0].unit.Cmp(ratOne) < 0
}

// sumAcrossPeriods adds up the columns of a row if all of them are periods: "over the year that adds up to 85,320".
func (r *resolver) sumAcrossPeriods(k int) *candidate {
	n := &r.numerals[k]
	if n.percent || n.points || n.times || n.sig < 3 || !r.sentenceHasCue(n, totalCues) {
		return nil
	}
	for _, b := range r.bindings[k] {
		if len(b.rows) != 1 {
			continue
		}
		var terms []string
		sum := new(big.Rat)
		for ci := range r.tables[b.table].cols {
			c := &r.tables[b.table].cols[ci]
			v, ok := cellRat(r.tables[b.table].rows[b.rows[0]][ci])
			if c.role != roleNumber || c.key {
				continue
			}
			if !ok || len(terms) == maxColumns || !isPeriodName(c.name) {
				terms = nil
				break
			}
			sum.Add(sum, v)
			terms = append(terms, r.ref(b.table, int(b.rows[0]), c.name))
		}
		if q, ok := n.fitsValue(sum); ok && len(terms) > 2 {
			return &candidate{
				table: b.table, formula: strings.Join(terms, " + "), value: ratText(sum), conf: 0.75 * q, rows: b.rows,
			}
		}
	}
	return nil
}

// isPeriodName reports whether the name of a column is a period: q1, m12, w3, jan, 2024.
func isPeriodName(name string) bool {
	low := strings.ToLower(name)
	if months[low] > 0 || len(low) == 4 && isDigits(low) {
		return true
	}
	return len(low) > 1 && len(low) < 4 && strings.ContainsRune("qmwdy", rune(low[0])) && isDigits(low[1:])
}

// hasAny reports whether a name contains any of the words.
func hasAny(name []string, words map[string]bool) bool {
	return slices.ContainsFunc(name, func(w string) bool { return words[w] })
}

// claim is a resolved figure of the sentence.
type claim struct {
	k   int // numeral
	c   *candidate
	val *big.Rat
}

// claims returns the resolved figures of a numeral's sentence and of the back sentences before it, nearest first.
func (r *resolver) claims(k, back int) []claim {
	p := r.prose
	s := p.tokens[r.numerals[k].from].sentence
	var out []claim
	for step := 1; step <= 8; step++ {
		for _, j := range []int{k - step, k + step} {
			if j < 0 || j >= len(r.numerals) {
				continue
			}
			d := s - p.tokens[r.numerals[j].from].sentence
			c := r.found[j]
			if d < 0 || d > back || c == nil || c.conf < minConfidence || c.table < 0 || r.numerals[j].kind != number ||
				!r.isAmount(c) {
				continue
			}
			if v, ok := parseRat(c.value); ok {
				out = append(out, claim{j, c, v})
			}
		}
	}
	return out
}

// isAmount reports whether the candidate is an amount rather than a rank, a repetition or a label.
func (r *resolver) isAmount(c *candidate) bool {
	if c.formula == "" {
		col := &r.tables[c.table].cols[c.col]
		return col.role == roleNumber && !(col.key && col.integerID())
	}
	if strings.Contains(c.formula, " - ") {
		return false // do not derive further figures from a difference
	}
	return strings.Contains(c.formula, "[") || strings.HasPrefix(c.formula, "sum(") ||
		strings.HasPrefix(c.formula, "count(") || strings.HasPrefix(c.formula, "avg(")
}

// termFor returns a claim as part of a formula.
func (r *resolver) termFor(c *candidate) string {
	switch {
	case c.formula == "":
		return r.refOf(cellRef{c.table, c.row, c.col})
	case strings.Contains(c.formula, " "):
		return "(" + c.formula + ")"
	}
	return c.formula
}

// fitsMeasured does the same as fitsValue, but converts the units and scales of amounts: a difference of two amounts in
// one unit, or an amount in thousands divided by pieces.
func (n *numeral) fitsMeasured(v *big.Rat, op operation, x, y *candidate) (float64, bool) {
	a, b := x.measure, y.measure
	switch {
	case a == nil || b == nil || n.percent || n.points || n.times:
	case op.name == "diff" && a.unit.dimension == b.unit.dimension && a.scale == b.scale:
		return n.fitsColumn(v, a, true)
	case op.name == "ratio" && n.subunit() && a.unit.factor == nil:
		return n.fits(new(big.Rat).Mul(v, ratHundred), true)
	case op.name == "ratio" && n.rateConversion(a.unit) != nil && b.unit.dimension != a.unit.dimension:
		return n.fits(new(big.Rat).Mul(v, n.rateConversion(a.unit)), true) // "2 hours each" from a column of minutes
	case op.name == "ratio" && a.scale > b.scale:
		return n.fits(new(big.Rat).Mul(v, pow10(a.scale-b.scale)), true)
	}
	return n.fitsValue(v)
}

// contradictsDirection reports whether the words contradict the direction of a change.
func (r *resolver) contradictsDirection(n *numeral, v *big.Rat) bool {
	up, down := r.hasCue(n, upCues) || n.sign > 0, r.hasCue(n, downCues) || n.sign < 0
	return v.Sign() > 0 && (down && !up || n.sign < 0) || v.Sign() < 0 && (up && !down || !down && n.sign >= 0)
}

// areComparable reports whether the difference or ratio of two columns is meaningful.
func (r *resolver) areComparable(t, x, y int) bool {
	a, b := &r.tables[t].cols[x], &r.tables[t].cols[y]
	return a.integer == b.integer && a.unit.dimension == b.unit.dimension && a.scale == b.scale
}

// isChange reports whether the text presents the percentage as a change.
func (r *resolver) isChange(n *numeral) bool {
	w, before := r.wordBefore(n)
	return n.sign > 0 || r.isChangedBy(n) || r.isComparison(n) || w == "of" && changeNouns[before] ||
		riseWords[w] && !makeVerbs[before]
}

var makeVerbs = set("make makes made making")

var changeNouns = set("increase decrease rise fall drop decline growth gain loss jump reduction change improvement")
