package offline

import (
	"slices"
	"strings"
	"time"
)

// addFilters turns values, comparisons, yes/no columns and negations into conditions.
func (ps *parser) addFilters(pl *plan) *declined {
	for _, it := range ps.items {
		var d *declined
		switch {
		case it.done && it.kind != itNumber:
		case it.kind == itValue:
			d = ps.valueFilter(pl, it)
		case it.kind == itNumber:
			d = ps.numberFilter(pl, it)
		case it.kind == itTable:
			d = ps.tableFilter(pl, it)
		case it.kind == itColumn:
			d = ps.columnFilter(pl, it)
		}
		if d != nil {
			return d
		}
	}
	if ps.never && !slices.ContainsFunc(pl.filters, func(f filter) bool { return f.op == opNever }) {
		return decline("I could not tell what %s never had.", pl.base.title())
	}
	if len(ps.negAt) > 0 {
		return decline("I could not tell what “%s” refers to.", ps.ws[ps.negAt[0]].raw)
	}
	return ps.unusedNegation()
}

// valueFilter keeps rows with a value. A second value of the same column adds to the first.
func (ps *parser) valueFilter(pl *plan, it *item) *declined {
	var cols []*column
	for _, v := range it.vals {
		if !slices.Contains(cols, v.col) {
			cols = append(cols, v.col)
		}
	}
	cols = ps.reachable(pl, cols)
	if len(cols) == 0 {
		return decline("“%s” is a value of %s, which %s do not lead to.", ps.textOf(it), it.vals[0].col.t.title(),
			pl.base.title())
	}
	c, ok := ps.pick(cols)
	if !ok {
		return ps.ambiguous(it)
	}
	if !pl.base.reaches(c.t) && !ps.named[c.t] && !ps.named[ps.p.lowest(pl.base, c.t)] {
		return decline("“%s” is the %s of %s, and the question does not say how %s belong to it.", ps.textOf(it),
			c.title(), c.t.title(), pl.base.many())
	}
	if d := ps.ensureReach(pl, c.t); d != nil {
		return d
	}
	it.done, it.negUsed = true, it.neg
	var texts []string
	for _, v := range it.vals {
		if v.col == c && !slices.Contains(texts, v.text) {
			texts = append(texts, v.text)
		}
	}
	for k := range pl.filters {
		if f := &pl.filters[k]; f.op == opIn && f.col == c && f.not == it.neg {
			f.values = append(f.values, texts...)
			return nil
		}
	}
	pl.filters = append(pl.filters, filter{op: opIn, col: c, values: texts, not: it.neg})
	return nil
}

// reachable keeps the columns whose tables can be reached from the base, or all of them if a count may still move its
// base.
func (ps *parser) reachable(pl *plan, cols []*column) []*column {
	var near, far []*column
	for _, c := range cols {
		switch {
		case pl.base.reaches(c.t):
			near = append(near, c)
		case len(pl.measures) == 1 && pl.measures[0].agg == aggCount && ps.p.lowest(pl.base, c.t) != nil:
			far = append(far, c)
		}
	}
	if len(near) > 0 {
		return near
	}
	return far
}

func (ps *parser) numberFilter(pl *plan, it *item) *declined {
	f := it.cond
	it.done = true
	switch {
	case len(it.cols) > 0:
		c, ok := ps.pick(measuresOf(it.cols))
		if !ok {
			return ps.ambiguous(it)
		}
		if price := c.t.rankColumn([]string{"price"}); price != nil && len(c.words) == 1 && c.words[0] == "cost" &&
			ps.at(it.lo-1) == "cost" {
			return decline("“cost” could mean the %s or the %s here. Which one?", price.title(), c.title())
		}
		if len(pl.dims) > 0 && len(pl.measures) == 1 && pl.measures[0].col == c {
			pl.having = &f
			return f.inUnitOf(c)
		}
		if d := ps.ensureReach(pl, c.t); d != nil {
			return d
		}
		f.col = c
	case it.table() != nil:
		if pl.kind == kindList || len(pl.measures) == 0 || it.table() == pl.base && len(pl.dims) == 0 {
			return decline("I could not tell what “%s” is about.", ps.textOf(it))
		}
		pl.having = &f
		return nil
	case f.unit == "" && len(pl.dims) > 0 && len(pl.measures) == 1 && (ps.which || pl.order != 0):
		pl.having = &f
		return nil
	default:
		c := ps.comparedBy(pl, it)
		if c == nil {
			c = ps.agedBy(pl.base, it)
		}
		if c == nil && set("older younger aged")[ps.at(it.lo)] {
			return decline("There is no age in %s.", pl.base.title())
		}
		if c == nil && f.unit == "" {
			c = pl.base.compared(ps.at(it.lo) == "cheaper" || ps.at(it.lo+1) == "expensive")
		}
		if c == nil || len(pl.dims) > 0 ||
			len(pl.measures) == 1 && pl.measures[0].agg == aggCount && pl.measures[0].entity != nil {
			return decline("I could not tell what “%s” is compared with.", ps.textOf(it))
		}
		f.col = c
	}
	if d := f.inUnitOf(f.col); d != nil {
		return d
	}
	pl.filters = append(pl.filters, f)
	return nil
}

// comparatives maps comparatives to the superlatives whose columns they compare.
var comparatives = map[string]string{
	"longer": "longest", "shorter": "shortest", "heavier": "heaviest", "lighter": "lightest", "taller": "tallest",
	"faster": "fastest", "slower": "slowest",
}

// comparedBy returns the column that "longer than 120 minutes" or "over 120 minutes" is about.
func (ps *parser) comparedBy(pl *plan, it *item) *column {
	if a := rankAdjectives[comparatives[ps.at(it.lo)]]; a.columns != "" {
		if c := pl.base.rankColumn(strings.Fields(a.columns + " runtime length")); c != nil || it.cond.unit == "" {
			return c
		}
	}
	if it.cond.unit != "" {
		return pl.base.measuredIn(it.cond.unit)
	}
	return nil
}

// compared returns the only column that a bare "over 100" can be about: the one with money. "Cheaper than" is about the
// price.
func (t *table) compared(price bool) *column {
	if price {
		return t.rankColumn([]string{"price"})
	}
	return onlyOne(t.find(func(c *column) bool { return c.role == roleMeasure && c.means(moneyWords) }))
}

// tableFilter handles a table that is neither counted nor grouped by. With "never" and "without", it says what rows do
// not have; otherwise it only gives context.
func (ps *parser) tableFilter(pl *plan, it *item) *declined {
	if len(it.tables) != 1 {
		return nil
	}
	t := it.table()
	neg := it.neg || ps.never
	if !neg || t == pl.base {
		it.done = true
		if pl.kind == kindList && t != pl.base && !pl.base.reaches(t) && t.reaches(pl.base) {
			pl.filters = append(pl.filters, filter{op: opNever, never: t, not: true, words: "with " + t.title()})
		}
		return nil
	}
	return ps.neverHad(pl, it, t)
}

// neverHad keeps the rows of the base that no row of t belongs to.
func (ps *parser) neverHad(pl *plan, it *item, t *table) *declined {
	it.done, it.negUsed = true, it.neg
	if slices.ContainsFunc(pl.filters, func(f filter) bool { return f.op == opNever }) {
		return nil
	}
	if t.path(pl.base) == nil {
		return decline("I could not tell how %s and %s belong together.", pl.base.title(), t.title())
	}
	pl.filters = append(pl.filters, filter{op: opNever, never: t, words: "without " + t.title()})
	return nil
}

// columnFilter handles a column that is neither measured nor grouped by: a yes/no column, a date that may be missing,
// or what is missing.
func (ps *parser) columnFilter(pl *plan, it *item) *declined {
	if c := it.col(); ps.never && len(it.cols) == 1 && !pl.base.reaches(c.t) {
		return ps.neverHad(pl, it, c.t)
	}
	c, ok := ps.pick(ps.reachable(pl, it.cols))
	if !ok {
		if len(ps.reachable(pl, it.cols)) == 0 {
			return decline("“%s” is in %s, which %s do not lead to.", ps.textOf(it), it.col().t.title(),
				pl.base.title())
		}
		return ps.ambiguous(it)
	}
	if d := ps.ensureReach(pl, c.t); d != nil {
		return d
	}
	switch {
	case c.role == roleBool:
		it.done, it.negUsed = true, it.neg
		pl.filters = append(pl.filters, filter{op: opTrue, col: c, not: it.neg})
	case it.neg && c.nullable:
		it.done, it.negUsed = true, true
		pl.without(c)
	case c.role == roleDate && c.nullable && c.t == pl.base && ps.afterNever(it):
		it.done, ps.never = true, false // "loans that were never returned"
		pl.without(c)
	case it.neg && c.role == roleMeasure && (ps.at(it.lo-1) == "without" || ps.at(it.lo-1) == "no"):
		it.done, it.negUsed = true, true // every row has a figure, which may be 0
		pl.filters = append(pl.filters, filter{op: opCompare, col: c, sign: "=", num: 0})
	case it.neg:
		return decline("Every row has %s.", c.title())
	case c.role == roleDate && c.nullable && pl.kind != kindList && len(ps.nouns(itPeriod)) == 0 && ps.bucket == "",
		c.role == roleDate && c.nullable && pl.kind == kindList && ps.isParticiple(it) && // "members who cancelled"
			len(ps.nouns(itPeriod)) == 0 && !slices.Contains(pl.show, c) && pl.rankBy != c:
		it.done = true
		pl.with(c)
	case c.role == roleDate && !ps.isParticiple(it) && ps.qualifies(it):
		return decline("I could not tell what “%s” means here.", ps.textOf(it))
	case c.role == roleDate:
		it.done = true
	case ps.followsWith(it) && c.noneValue() != "":
		it.done = true
		pl.filters = append(pl.filters, c.isNotNone()...)
	case ps.followsWith(it) && c.nullable:
		it.done = true
		pl.with(c)
	case slices.Contains(pl.columns(), c), pl.kind == kindList && slices.Contains(pl.show, c):
		it.done = true
	}
	return nil
}

// afterNever reports whether an item follows "never": "never returned", "never been returned".
func (ps *parser) afterNever(it *item) bool {
	return ps.never && (ps.at(it.lo-1) == "never" || ps.at(it.lo-1) == "been" && ps.at(it.lo-2) == "never")
}

// isParticiple reports whether an item is a past participle: cancelled, closed, paid.
func (ps *parser) isParticiple(it *item) bool {
	w := ps.ws[it.lo]
	return it.hi-it.lo == 1 &&
		(strings.HasSuffix(w.low, "ed") || irregular[w.low] != "" && irregular[w.low] != w.sing || w.low == "paid" ||
			w.low == "sent" || w.low == "left")
}

// qualifies reports whether a table directly follows an item, as in "open inspections".
func (ps *parser) qualifies(it *item) bool {
	next := ps.itemAt(it.hi)
	return it.hi-it.lo == 1 && next != nil && next.kind == itTable && !ps.ws[next.lo].stop
}

// followsWith reports whether a word such as "with" or "has" is right before an item.
func (ps *parser) followsWith(it *item) bool {
	w := ps.at(it.lo - 1)
	return w == "have" || w == "has" || w == "having" || w == "with" ||
		(w == "a" || w == "an") && ps.at(it.lo-2) == "with"
}

// addPeriods adds the conditions on dates. Two calendar periods are compared.
func (ps *parser) addPeriods(pl *plan) *declined {
	its := ps.nouns(itPeriod)
	if len(its) == 0 {
		return nil
	}
	if slices.ContainsFunc(pl.filters, func(f filter) bool { return f.op == opNever }) {
		return decline("I can't combine “%s” with something that never happened.", ps.textOf(its[0]))
	}
	c := ps.dateFor(pl)
	if c == nil {
		return decline("There is no date in the data that “%s” could be about.", ps.textOf(its[0]))
	}
	if d := ps.ensureReach(pl, c.t); d != nil {
		return d
	}
	var resolved []period
	for _, it := range its {
		it.done = true
		p, ok := it.period.resolve(c)
		if !ok {
			return decline("I could not tell which days “%s” means.", ps.textOf(it))
		}
		resolved = append(resolved, p)
		if it.period.relative {
			from := "the newest date of the data, "
			if c.unseen {
				from = "today, "
			}
			pl.notes = append(pl.notes, "“"+Clip(ps.textOf(it))+"” counts from "+from+c.max)
		}
	}
	for _, p := range resolved {
		if c.max != "" && p.to > c.max && p.from != "" && p.from <= c.max && dayAfter(c.max) < p.to {
			pl.notes = append(pl.notes, "the data ends on "+c.max)
			break
		}
	}
	if len(resolved) == 1 {
		pl.filters = append(pl.filters, filter{op: opPeriod, col: c, period: resolved[0]})
		return nil
	}
	size := resolved[0].size
	for i, p := range resolved {
		if p.size != size || p.from == "" || p.to == "" || i > 0 && p.from == resolved[i-1].from {
			return decline("I cannot combine those periods.")
		}
	}
	pl.filters = append(pl.filters, filter{op: opPeriods, col: c, periods: resolved})
	if !slices.ContainsFunc(pl.dims, func(d dim) bool { return d.bucket != "" }) && pl.kind == kindAggregate {
		pl.dims = append([]dim{{col: c, bucket: size}}, pl.dims...)
	}
	return nil
}

// dayAfter returns the day after a day.
func dayAfter(iso string) string {
	t, err := time.Parse(time.DateOnly, iso)
	if err != nil {
		return iso
	}
	return t.AddDate(0, 0, 1).Format(time.DateOnly)
}

// addRanking chooses order and limit, and the groups of compared values.
func (ps *parser) addRanking(pl *plan) *declined {
	if pl.kind == kindAggregate && (len(pl.dims) == 0 || len(pl.dims) == 1 && pl.dims[0].bucket != "") {
		for _, f := range pl.filters {
			if f.op == opIn && !f.not && len(f.values) > 1 && ps.compare {
				pl.dims = append(pl.dims, columnDim(f.col))
				break
			}
		}
	}
	if ps.compare && len(pl.dims) == 0 {
		return decline("I could not tell what to compare.")
	}
	if pl.kind == kindAggregate && len(pl.dims) == 0 && (pl.order != 0 || pl.limit > 0) && ps.prev == nil {
		return decline("I could not tell what to rank.")
	}
	if ps.orderAt >= 0 && pl.order != 0 && pl.limit == 0 && pl.kind == kindAggregate && ps.asksForOne(pl) {
		pl.limit = 1
	}
	if pl.having != nil && len(pl.dims) == 0 {
		return decline("I could not tell what to compare with that number.")
	}
	return nil
}

// asksForOne reports whether a ranking asks for a single group: "which branch", "the best month", "worst performing
// branch", "customer with the least orders".
func (ps *parser) asksForOne(pl *plan) bool {
	singular := func(it *item) bool { return ps.ws[it.hi-1].low == ps.ws[it.hi-1].sing }
	next := ps.orderAt + 1
	if !ps.which && next < len(ps.ws) {
		k := next
		if ps.itemAt(k) == nil && k+1 < len(ps.ws) && strings.HasSuffix(ps.at(k), "ing") {
			k++
		}
		if it := ps.itemAt(k); it != nil && singular(it) {
			return true
		}
	}
	if ps.each {
		return false
	}
	if ps.which && len(pl.dims) > 0 || len(pl.dims) == 1 && bucketWords[ps.at(next)] != "" {
		return true
	}
	for _, it := range ps.items { // the first noun, if it stands before the ranking word
		if (it.kind == itTable || it.kind == itColumn) && !it.verb {
			return it.hi <= ps.orderAt && singular(it) && ps.at(it.hi-1) != plural(ps.at(it.hi-1), 2) &&
				set("with having has that who")[ps.at(it.hi)]
		}
	}
	return false
}

// addShare decides what a share refers to: groups within the total, or the rows that meet a condition among the rest.
func (ps *parser) addShare(pl *plan) *declined {
	if !pl.share || pl.kind == kindList || len(pl.measures) == 0 {
		if pl.share && pl.kind == kindList {
			return decline("I could not tell what the share is of.")
		}
		return nil
	}
	m := pl.measures[0]
	if m.agg != aggSum && m.agg != aggCount {
		return decline("A share of an %s makes no sense.", m.agg)
	}
	if ps.prev != nil && len(pl.dims) == 0 && len(ps.prev.dims) > 0 {
		return nil
	}
	var rest []filter
	for _, f := range pl.filters {
		single := f.op == opIn || f.op == opTrue || f.op == opNull || f.op == opCompare
		if single && (len(pl.dims) == 0 || ps.predicate(f)) {
			pl.shareOf = append(pl.shareOf, f)
		} else {
			rest = append(rest, f)
		}
	}
	pl.filters = rest
	if len(pl.dims) == 0 && len(pl.shareOf) == 0 {
		return decline("I could not tell what the share is of.")
	}
	return nil
}

// predicate reports whether a condition describes the subject, as after "was".
func (ps *parser) predicate(f filter) bool {
	return slices.ContainsFunc(ps.items, func(it *item) bool {
		return it.pred && (it.kind == itValue &&
			slices.ContainsFunc(it.vals, func(v *value) bool { return v.col == f.col }) ||
			it.kind == itColumn && slices.Contains(it.cols, f.col))
	})
}
