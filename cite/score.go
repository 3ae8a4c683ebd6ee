package cite

import (
	"math"
	"slices"
)

// This file chooses among the candidates of a number. Each candidate has signals, and the table of weights in
// weights.go has one weight for each signal. The candidate with the largest sum is the footnote, if the sum is
// positive.

// fact is a property of a number and the words around it. Its weight depends on the kind of the candidate.
type fact uint8

const (
	always fact = iota
	isPercent
	isPoints
	isTimes
	isCurrency
	hasUnit
	isSigned
	inWords
	isHedged
	isScaled
	isDecimal
	isOneDigit
	isTwoDigits
	isThreeDigits
	isManyDigits
	isSmallWhole
	inTableCell
	inTotalRow
	inListItem
	inHeadingBlock
	saysMore      // "more than"
	saysGap       // a word of difference refers to it
	saysChangedBy // "fell by"
	saysChange    // it is presented as a change
	saysTotal     // in its clause
	saysTotalFar  // in its sentence
	saysMean
	saysPer
	saysPerFar
	saysMost
	saysLeast
	saysShare
	saysOfAfter
	saysOfBefore // "of the 500"
	saysPartOf   // "120 of 500"
	saysRest
	saysLeft
	saysTogether
	saysTop
	saysFrom
	saysTo
	inBracket
	afterDifference // "180 more (15 %)"
	changeVerb
	comparison
	nounIsColumn
	nounIsLabel
	nounOther
	rowBound
	rowInherited
	rowCarried
	rowMany
	rowUnbound
	rowInClause
	columnStrong
	columnWeak
	columnUnknown
	facts_
)

// facts are the facts of a number.
type facts []fact

// signal is a property of a candidate. Its weight depends on the class of its kind.
type signal uint16

const (
	exact signal = iota
	rounded
	hedged
	secondReading
	columnMatches
	columnMatchesWeakly
	columnContradicted
	columnContradictedWeakly
	columnNamedNear
	columnNotNamed
	bothColumns
	oneColumn
	noColumn
	perColumn
	unitMatches
	unitDiffers
	percentColumn
	notPercentColumn
	moneyColumn
	keyColumnUsed
	changeColumn
	wrongSide
	rightSide
	otherPeriod
	newestTable
	secondTable
	olderTable
	rowContradicted
	rowContradictedInherited
	rowContradictedCarried
	rowContradictedInClause
	usedBeside  // another number of the sentence has this cell
	sameRowPrev // as the figure before
	sameColPrev // as the figure before, in another row
	termsCited2 // both terms are figures of the sentence
	termsCited1
	termsCited0
	nearestTerms
	parallel
	notParallel
	peersFit    // the formula fits most numbers at the same place of the table or list
	peersDiffer // it fits few of them
	shapeElsewhere
	likePrevious // the formula of the figure before
	wrongWay
	above1
	notComparable
	notSameKind
	agedColumns
	agedWrong
	partAndWhole
	onlyCandidate
	fewRivals
	manyRivals
	sureWords
	likelyWords
	perhapsWords
	extremeHolds
	extremeFails
	sameMeasures
	apartFar
	sourceOne                                  // + source
	sourceBest  = sourceOne + signal(sources)  // + source, of two terms
	sourceWorst = sourceBest + signal(sources) // + source
	signals     = sourceWorst + signal(sources)
)

// class groups kinds whose signals weigh the same.
type class uint8

const (
	cellClass class = iota
	sumClass
	rowPair
	columnPair
	shareClass
	claimClass
	wordClass
	classes
)

var classOf = [kinds]class{
	aCell: cellClass, aSum: sumClass, anAverage: sumClass, anExtreme: sumClass, aGroupSum: sumClass,
	aGroupAverage: sumClass, rowDiff: rowPair, colDiff: columnPair, rowRatio: rowPair, colRatio: columnPair,
	rowGrowth: rowPair, colGrowth: columnPair, aShare: shareClass, aGroupShare: shareClass,
	aRest: shareClass, claimDiff: claimClass,
	claimRatio: claimClass, claimGrowth: claimClass, aProduct: columnPair, aSumOfColumns: columnPair, aCount: wordClass,
	aConditionalCount: wordClass, aTop: wordClass, anEcho: wordClass, aLimit: wordClass, someDays: wordClass,
}

// weightTable has the weight of each fact for each kind, and of each signal for each class.
type weightTable struct {
	facts   [kinds][facts_]float32
	signals [classes][signals]float32
}

// shape is the formula of a candidate without its rows.
type shape struct {
	kind        kind
	table, x, y int
}

// passes is the number of times that all numbers are resolved. From the second on, the figures beside a number are
// known.
const passes = 3

// score resolves the numbers that direct has left.
func (r *resolver) score() {
	r.choices, r.choiceFacts = make([][]*candidate, len(r.numerals)), make([]facts, len(r.numerals))
	r.slots()
	for pass := range passes {
		for k := range r.numerals {
			n := &r.numerals[k]
			if c := r.found[k]; !r.isPlainNumber(n) || r.fixed[k] || pass > 0 && c != nil && c.score >= certain {
				continue
			}
			r.choices[k], r.choiceFacts[k] = r.candidates(k)
			r.rivals(r.choices[k])
			r.found[k] = r.best(r.choices[k], r.choiceFacts[k])
		}
		r.countShapes()
	}
}

// countShapes counts, for each slot, the numbers that a formula fits, and where formulas are used.
func (r *resolver) countShapes() {
	r.slotShapes = map[slot]map[shape]int{}
	r.shapesFound = map[shape]int{}
	for s, ks := range r.slotPeers {
		counts := map[shape]int{}
		for _, k := range ks {
			seen := map[shape]bool{}
			for _, c := range r.choices[k] {
				if c.shape != (shape{}) && !seen[c.shape] && !c.contradicted {
					seen[c.shape] = true
					counts[c.shape]++
				}
			}
		}
		r.slotShapes[s] = counts
	}
	for _, c := range r.found {
		if c != nil && c.shape != (shape{}) {
			r.shapesFound[c.shape]++
		}
	}
}

// best returns the candidate with the largest positive score, with the probability that it is right.
func (r *resolver) best(cs []*candidate, fs facts) *candidate {
	var known [kinds]float64
	for k := range known {
		for _, f := range fs {
			known[k] += float64(r.weights.facts[k][f])
		}
	}
	var best *candidate
	for _, c := range cs {
		c.score = known[c.kind]
		for _, s := range c.signals {
			c.score += float64(r.weights.signals[classOf[c.kind]][s])
		}
		if best == nil || c.score > best.score {
			best = c
		}
	}
	if best == nil || best.score <= 0 {
		return nil
	}
	all := 1.0
	for _, c := range cs {
		all += math.Exp(c.score - best.score)
	}
	best.conf = max(minConfidence, min(1, 1/(all-1+math.Exp(-best.score))))
	return best
}

// rivals counts the candidates of the same kind.
func (r *resolver) rivals(cs []*candidate) {
	var count [kinds]int
	for _, c := range cs {
		count[c.kind]++
	}
	for _, c := range cs {
		s := onlyCandidate
		switch n := count[c.kind]; {
		case n > 4:
			s = manyRivals
		case n > 1:
			s = fewRivals
		}
		c.signal(s)
	}
}

func (c *candidate) signal(s signal) { c.signals = append(c.signals, s) }

// factsOf returns the facts of a number.
func (r *resolver) factsOf(k int) facts {
	n := &r.numerals[k]
	p := r.prose
	out := facts{always}
	add := func(f fact, is bool) {
		if is {
			out = append(out, f)
		}
	}
	add(isPercent, n.percent)
	add(isPoints, n.points)
	add(isTimes, n.times)
	add(isCurrency, n.currency)
	add(hasUnit, n.unit.factor != nil && !n.currency)
	add(isSigned, n.sign != 0)
	add(inWords, n.word)
	add(isHedged, n.hedge != exactly)
	add(isScaled, n.scaled)
	add(isDecimal, n.isFractional())
	add([]fact{isOneDigit, isOneDigit, isTwoDigits, isThreeDigits, isManyDigits}[min(n.sig, 4)], true)
	add(isSmallWhole, !n.percent && n.readings[0].val.IsInt() && n.readings[0].val.Cmp(ratHundred) < 0)
	b := &p.blocks[p.tokens[n.from].blck]
	add(inTableCell, b.kind == tableRow)
	add(inTotalRow, r.isInTotalRow(n))
	add(inListItem, b.kind == item)
	add(inHeadingBlock, b.kind == heading)
	add(saysMore, r.isComparison(n))
	add(saysGap, r.saysDifference(n))
	add(saysChangedBy, r.isChangedBy(n))
	add(saysChange, r.isChange(n))
	total := r.hasCue(n, totalCues)
	add(saysTotal, total)
	add(saysTotalFar, !total && r.sentenceHasCue(n, totalCues))
	add(saysMean, r.saysAverage(n))
	per := false
	for i := n.to; i < n.to+4; i++ {
		per = per || perCues[p.low(i)]
	}
	add(saysPer, per)
	add(saysPerFar, !per && r.sentenceHasCue(n, perCues))
	add(saysMost, r.hasCue(n, maxCues))
	add(saysLeast, r.hasCue(n, minCues))
	add(saysShare, r.hasCue(n, shareWords))
	add(saysOfAfter, p.low(n.to) == "of")
	add(saysOfBefore, r.isWhole(n))
	add(saysPartOf, r.isPart(n))
	add(saysRest, r.isRemainder(n))
	add(saysLeft, r.saysRemaining(n))
	add(saysTogether, r.sentenceHasCue(n, groupCues))
	first, last := r.topOrBottom(n)
	add(saysTop, first || last)
	side := r.sideOf(k)
	add(saysFrom, side < 0)
	add(saysTo, side > 0)
	add(inBracket, r.opensBracket(n))
	add(afterDifference, r.isBesideDifference(k))
	add(changeVerb, r.hasCue(n, changeVerbs))
	add(comparison, r.hasCue(n, comparatives))
	noun := r.nounAfter(n)
	column := r.namesNumericColumn(n)
	label := noun >= 0 && !column && r.isLabelColumn(stem(p.low(noun)))
	add(nounIsColumn, column)
	add(nounIsLabel, label)
	add(nounOther, noun >= 0 && !column && !label)
	out = r.bindingFacts(k, out)
	return out
}

// bindingFacts adds how the text gives the row and the column of a number.
func (r *resolver) bindingFacts(k int, out facts) facts {
	strongest, many := unbound, false
	for _, b := range r.bindings[k] {
		if b.strength > strongest {
			strongest, many = b.strength, len(b.rows) > 1
		}
	}
	out = append(out, [...]fact{rowUnbound, rowCarried, rowInherited, rowBound}[strongest])
	if many {
		out = append(out, rowMany)
	}
	if r.clauseNamesRow(k) {
		out = append(out, rowInClause)
	}
	switch cb := r.columnsOf[k]; {
	case len(cb.cols) == 0:
		out = append(out, columnUnknown)
	case cb.strong:
		out = append(out, columnStrong)
	default:
		out = append(out, columnWeak)
	}
	return out
}

// isLabelColumn reports whether a word is in the name of a column of labels.
func (r *resolver) isLabelColumn(w string) bool {
	for t := range r.tables {
		for _, c := range r.tables[t].cols {
			if (c.role == roleText || c.role == roleDate) && slices.Contains(c.words, w) {
				return true
			}
		}
	}
	return false
}

// wordCandidates returns the counts, ranks, limits, days and repetitions that only certain words call for.
func (r *resolver) wordCandidates(k int) []*candidate {
	n := &r.numerals[k]
	var out []*candidate
	put := func(kind kind, c *candidate) {
		if c != nil {
			c.kind, c.quality = kind, 1
			switch {
			case c.conf >= 0.85:
				c.sure = sureWords
			case c.conf >= 0.7:
				c.sure = likelyWords
			default:
				c.sure = perhapsWords
			}
			out = append(out, c)
		}
	}
	put(aTop, r.topN(n))
	if !n.percent && !n.points && !n.times {
		put(aCount, r.rowCount(k))
		put(aCount, r.countedWhole(k))
	}
	put(aConditionalCount, r.conditional(k))
	put(aLimit, r.threshold(k))
	put(someDays, r.daysOf(k))
	put(anEcho, r.echoNumber(n))
	put(aSumOfColumns, r.sumAcrossPeriods(k))
	return out
}

// signalsOf computes the features of a candidate over the terms x and y, which may be nil.
func (r *resolver) signalsOf(l *listing, c *candidate, x, y *term) {
	switch {
	case c.quality >= 1:
		c.signal(exact)
	case c.quality > 0.92:
		c.signal(rounded)
	case c.quality > 0.8:
		c.signal(hedged)
	default:
		c.signal(secondReading)
	}
	if c.sure > 0 {
		c.signal(c.sure)
	}
	if c.table >= 0 {
		switch age := len(r.tables) - 1 - c.table; age {
		case 0:
			c.signal(newestTable)
		case 1:
			c.signal(secondTable)
		default:
			c.signal(olderTable)
		}
		if r.isOfOtherPeriod(l.n, c.table) {
			c.signal(otherPeriod)
		}
	}
	if c.sameMeasure {
		c.signal(sameMeasures)
	}
	if c.apart > 3 {
		c.signal(apartFar)
	}
	if c.above {
		c.signal(above1)
	}
	switch {
	case x == nil:
	case y == nil:
		r.rowSignals(l, c, x)
		r.columnSignals(l, c, x)
		r.besideSignals(l, c, x)
	default:
		r.pairSignals(l, c, x, y)
	}
	r.parallelSignals(l, c)
}

// rowSignals says how the text gives the rows of a candidate over one term.
func (r *resolver) rowSignals(l *listing, c *candidate, x *term) {
	c.signal(sourceOne + signal(x.s.why))
	r.contradictions(l, c, x.s)
	if c.kind == aCell || c.kind == anExtreme {
		hi, lo := r.hasCue(l.n, maxCues), r.hasCue(l.n, minCues)
		if hi || lo {
			f, _ := cellFloat(r.tables[c.table].rows[c.row][x.col])
			tot := r.totalOf(c.table, x.col)
			if hi && f == tot.maxF || lo && f == tot.minF {
				c.signal(extremeHolds)
			} else {
				c.signal(extremeFails)
			}
		}
	}
}

// contradictions says whether the text names other rows of the table than those of the subjects.
func (r *resolver) contradictions(l *listing, c *candidate, ss ...*subject) {
	b := r.bindingOf(l.k, ss[0].table)
	if b == nil {
		return
	}
	for _, s := range ss {
		if s.rows != nil && len(intersect(s.rows, b.rows)) > 0 {
			return
		}
	}
	c.contradicted = b.strength >= inherited
	switch {
	case b.strength == inSentence && r.clauseNamesRow(l.k):
		c.signal(rowContradictedInClause)
	case b.strength == inSentence:
		c.signal(rowContradicted)
	case b.strength == inherited:
		c.signal(rowContradictedInherited)
	case b.strength == carried:
		c.signal(rowContradictedCarried)
	}
}

// columnSignals says how the text gives the column of a candidate over one term.
func (r *resolver) columnSignals(l *listing, c *candidate, x *term) {
	cb := r.columnsOf[l.k]
	t := x.s.table
	col := &r.tables[t].cols[x.col]
	bound := boundColumns(cb, t)
	numeric := false
	for ci := range bound {
		numeric = numeric || r.tables[t].cols[ci].role == roleNumber
	}
	switch {
	case bound[x.col] && cb.strong:
		c.signal(columnMatches)
	case bound[x.col]:
		c.signal(columnMatchesWeakly)
	case numeric && cb.strong:
		c.signal(columnContradicted)
	case numeric:
		c.signal(columnContradictedWeakly)
	default:
		c.signal(columnNotNamed)
	}
	if r.namesColumn(l.n, t, x.col) {
		c.signal(columnNamedNear)
	}
	r.unitSignals(l, c, col)
	if col.key {
		c.signal(keyColumnUsed)
	}
	if r.superseded(l.k, t, x.col) {
		c.signal(wrongSide)
	} else if r.sideOf(l.k) != 0 {
		c.signal(rightSide)
	}
	if r.isChangeColumn(t, x.col) {
		c.signal(changeColumn)
	}
}

// unitSignals compares the unit of a number with that of a column.
func (r *resolver) unitSignals(l *listing, c *candidate, col *column) {
	n := l.n
	switch {
	case n.percent && (col.percent || col.hundred):
		c.signal(percentColumn)
	case n.percent != col.percent:
		c.signal(notPercentColumn)
	}
	switch {
	case n.currency && (hasAny(col.words, moneyWords) || col.unit.dimension == "money"):
		c.signal(moneyColumn)
	case n.currency && col.integer && col.unit.factor != nil, n.unit.factor != nil && col.unit.factor != nil &&
		n.unit.dimension != col.unit.dimension:
		c.signal(unitDiffers)
	case n.unit.factor != nil && n.unit.dimension == col.unit.dimension:
		c.signal(unitMatches)
	}
}

// besideSignals compares a candidate over one term with the figures beside the number.
func (r *resolver) besideSignals(l *listing, c *candidate, x *term) {
	for j := max(0, l.k-8); j < min(len(r.numerals), l.k+9); j++ {
		o := r.found[j]
		if j != l.k && o != nil && c.kind == aCell && o.formula == "" && o.table == c.table && o.row == c.row &&
			o.col == c.col && r.sentencesApart(j, l.k) == 0 {
			c.signal(usedBeside)
			break
		}
	}
	if l.k == 0 || r.sentencesApart(l.k-1, l.k) > 0 {
		return
	}
	if o := r.found[l.k-1]; o != nil && o.formula == "" && o.table == c.table && c.kind == aCell {
		switch {
		case o.row == c.row:
			c.signal(sameRowPrev)
		case o.col == c.col:
			c.signal(sameColPrev)
		}
	}
}

// pairSignals computes the signals of a candidate over two terms.
func (r *resolver) pairSignals(l *listing, c *candidate, x, y *term) {
	best, worst := min(x.s.why, y.s.why), max(x.s.why, y.s.why)
	c.signal(sourceBest + signal(best))
	if x.s != y.s {
		c.signal(sourceWorst + signal(worst))
	}
	r.contradictions(l, c, x.s, y.s)
	cb := r.columnsOf[l.k]
	named := 0
	sameCol := x.s.table == y.s.table && x.col == y.col
	for _, o := range []*term{x, y} {
		if boundColumns(cb, o.s.table)[o.col] || r.namesColumn(l.n, o.s.table, o.col) {
			named++
		}
	}
	if sameCol {
		r.columnSignals(l, c, x)
	} else {
		c.signal([...]signal{noColumn, oneColumn, bothColumns}[named])
	}
	cx, cy := &r.tables[x.s.table].cols[x.col], &r.tables[y.s.table].cols[y.col]
	if slices.Contains(r.denominators(l.n)[y.s.table], y.col) {
		c.signal(perColumn)
	}
	if cx.integer != cy.integer {
		c.signal(notSameKind)
	}
	if cx.percent != cy.percent {
		c.signal(notComparable)
	}
	if x.s.table == y.s.table && !sameCol {
		switch r.tables[x.s.table].compareAge(x.col, y.col) {
		case 1:
			c.signal(agedColumns)
		case -1:
			c.signal(agedWrong)
		}
		if len(r.wholesOf(x.s.table, x.col, []int{y.col})) > 0 {
			c.signal(partAndWhole)
		}
		r.unitSignals(l, c, cx)
	}
	if c.kind == rowGrowth || c.kind == colGrowth {
		if v, ok := parseRat(c.value); ok && r.contradictsDirection(l.n, v) {
			c.signal(wrongWay)
		}
	}
	cited, near := 0, 0
	for _, o := range []*term{x, y} {
		hit, close := r.isCited(l.k, o)
		if hit {
			cited++
		}
		if close {
			near++
		}
	}
	c.signal([...]signal{termsCited0, termsCited1, termsCited2}[cited])
	if near == 2 {
		c.signal(nearestTerms)
	}
}

// isCited reports whether a term is a figure in the sentence of a number, and whether it is one of the two nearest.
func (r *resolver) isCited(k int, x *term) (cited, near bool) {
	for step := 1; step <= 6; step++ {
		for _, j := range []int{k - step, k + step} {
			if j < 0 || j >= len(r.numerals) || r.found[j] == nil || r.sentencesApart(j, k) > 0 {
				continue
			}
			o := r.found[j]
			if o.table != x.s.table {
				continue
			}
			if o.formula == "" && o.col == x.col && len(x.s.rows) == 1 && int(x.s.rows[0]) == o.row ||
				o.formula != "" && len(x.s.rows) != 1 && o.formula == r.text(*x) {
				return true, step <= 2
			}
		}
	}
	return false, false
}

// slots finds the numbers at the same place in the rows of a table or the items of a list.
func (r *resolver) slots() {
	r.slotPeers = map[slot][]int{}
	for k := range r.numerals {
		if s, ok := r.slotOf(k); ok && len(r.slotPeers[s]) < maxParallel {
			r.slotPeers[s] = append(r.slotPeers[s], k)
		}
	}
}

// parallelSignals compares the shape of a candidate with those of the figures at the same place of a table or list,
// and of the figure before.
func (r *resolver) parallelSignals(l *listing, c *candidate) {
	if s, ok := r.slotOf(l.k); ok {
		same, other := 0, 0
		for _, j := range r.slotPeers[s] {
			if o := r.found[j]; j == l.k || o == nil {
				continue
			} else if o.shape == c.shape {
				same++
			} else {
				other++
			}
		}
		if peers := len(r.slotPeers[s]); peers >= minParallel && r.slotShapes != nil && c.shape != (shape{}) {
			if n := r.slotShapes[s][c.shape]; 3*n >= 2*peers && n >= minParallel {
				c.signal(peersFit)
			} else if 3*n < peers || n < 2 {
				c.signal(peersDiffer)
			}
		}
		switch {
		case same > 0 && same >= other:
			c.signal(parallel)
		case other > 1 && same < other:
			c.signal(notParallel)
		}
	}
	elsewhere := r.shapesFound[c.shape]
	if o := r.found[l.k]; o != nil && o.shape == c.shape {
		elsewhere--
	}
	if elsewhere > 0 && c.shape != (shape{}) && c.kind != aCell {
		c.signal(shapeElsewhere)
	}
	for j := l.k - 1; j >= max(0, l.k-2); j-- {
		if o := r.found[j]; o != nil && o.shape == c.shape && c.kind != aCell && r.numerals[j].form() == l.n.form() {
			c.signal(likePrevious)
			break
		}
	}
}
