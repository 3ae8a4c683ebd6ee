package offline

import (
	"slices"
	"strings"
	"time"
)

// addFilters turns values, comparisons, booleans and absences into conditions.
func (ps *parser) addFilters(pl *plan) *declined {
	for k := range ps.items {
		it := &ps.items[k]
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
		return ps.neverUsed(pl)
	}
	if ps.excludeNil {
		for _, d := range pl.dims {
			if d.col != nil && d.bucket == "" {
				pl.filters = append(pl.filters, filter{op: opNull, not: true, col: d.col, words: "with " + d.col.title()})
			}
		}
	}
	if len(ps.negAt) > 0 {
		return decline("I could not tell what “%s” refers to.", ps.ws[ps.negAt[0]].raw)
	}
	return ps.denied()
}

// valueFilter keeps rows with a value; a second value of the same column widens
// the first.
func (ps *parser) valueFilter(pl *plan, it *item) *declined {
	var cols []*column
	for _, v := range it.vals {
		if !slices.Contains(cols, v.col) {
			cols = append(cols, v.col)
		}
	}
	cols = ps.reachable(pl, cols)
	if len(cols) == 0 {
		return decline("“%s” is a value of %s, which %s do not lead to.", ps.said(it), it.vals[0].col.t.title(), pl.base.title())
	}
	// A value beside one of the same column is of that column.
	for _, f := range pl.filters {
		if f.op == opIn && f.not == it.neg && slices.Contains(cols, f.col) {
			cols = []*column{f.col}
		}
	}
	if ps.prev != nil {
		for _, f := range ps.prev.filters {
			if f.op == opIn && slices.Contains(cols, f.col) {
				cols = []*column{f.col}
			}
		}
	}
	c, ok := ps.pick(cols, pl.base)
	if !ok {
		return ps.ambiguous(it)
	}
	if !pl.base.reaches(c.t) && !ps.named[c.t] && !ps.named[ps.p.lowest(pl.base, c.t)] {
		return decline("“%s” is the %s of %s, and the question does not say how %s belong to it.", ps.said(it), c.title(), c.t.title(), plural(pl.base.title(), 2))
	}
	if d := ps.reachFrom(pl, c.t); d != nil {
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

// reachable keeps the columns whose tables the base leads to; all of them, when a
// count may still move its base.
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
	if it.neg {
		f.sign, it.negUsed = opposite[f.sign], true
		if f.sign == "" {
			return decline("I could not tell what “%s” is about.", ps.said(it))
		}
	}
	switch {
	case len(it.cols) > 0:
		c, ok := ps.pick(measuresOf(it.cols), pl.base)
		if !ok {
			return ps.ambiguous(it)
		}
		if price := c.t.rankColumn([]string{"price"}); price != nil && len(c.words) == 1 && c.words[0] == "cost" && ps.at(it.lo-1) == "cost" {
			return decline("“cost” could mean the %s or the %s here. Which one?", price.title(), c.title())
		}
		if len(pl.dims) > 0 && len(pl.measures) == 1 && pl.measures[0].col == c {
			pl.having = &f
			return nil
		}
		if d := ps.reachFrom(pl, c.t); d != nil {
			return d
		}
		f.col = c
	case it.table() != nil:
		if pl.kind == kindList || len(pl.measures) == 0 || it.table() == pl.base && len(pl.dims) == 0 {
			return decline("I could not tell what “%s” is about.", ps.said(it))
		}
		pl.having = &f
		return nil
	case len(pl.dims) > 0 && len(pl.measures) == 1 && (ps.which || pl.order != 0):
		pl.having = &f
		return nil
	default:
		c := pl.base.compared(ps.at(it.lo) == "cheaper" || ps.at(it.lo+1) == "expensive")
		if c == nil || len(pl.dims) > 0 || len(pl.measures) == 1 && pl.measures[0].agg == aggCount && pl.measures[0].entity != nil {
			return decline("I could not tell what “%s” is compared with.", ps.said(it))
		}
		f.col = c
	}
	pl.filters = append(pl.filters, f)
	return nil
}

// compared is the only column that a bare "over 100" can be about: the one with
// money in it. "Cheaper than" is about the price.
func (t *table) compared(price bool) *column {
	if price {
		return t.rankColumn([]string{"price"})
	}
	var found *column
	for _, c := range t.cols {
		if c.role == roleMeasure && slices.ContainsFunc(append(slices.Clone(c.words), c.optional...), func(w string) bool { return slices.Contains(moneyColumns, w) }) {
			if found != nil {
				return nil
			}
			found = c
		}
	}
	return found
}

// tableFilter is a table that is neither counted nor grouped by: with "never" and
// "without" it says what rows do not have; else it only names the context.
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
	for _, e := range pl.base.parents {
		if e.to.t == t && e.from.nullable {
			pl.filters = append(pl.filters, filter{op: opNull, col: e.from, words: "without " + t.title()})
			return nil
		}
	}
	if t.path(pl.base) == nil {
		if b := ps.p.lowest(t, pl.base); b != nil && b != pl.base {
			t = b
		} else {
			return decline("I could not tell how %s and %s belong together.", pl.base.title(), t.title())
		}
	}
	pl.filters = append(pl.filters, filter{op: opNever, never: t, words: "without " + t.title()})
	return nil
}

// neverUsed is "which carriers have never been used": no row refers to them.
func (ps *parser) neverUsed(pl *plan) *declined {
	var child *table
	for _, t := range ps.p.tables {
		for _, e := range t.parents {
			if e.to.t != pl.base {
				continue
			}
			if ps.dateVerb(t) {
				child = t
			} else if child == nil {
				child = t
			} else if !ps.dateVerb(child) {
				return decline("Several tables refer to %s; say what they never had.", pl.base.title())
			}
		}
	}
	if child == nil {
		return decline("I could not tell what %s never had.", pl.base.title())
	}
	pl.filters = append(pl.filters, filter{op: opNever, never: child, words: "without " + child.title()})
	return nil
}

func (ps *parser) dateVerb(t *table) bool {
	for k := range ps.items {
		if it := &ps.items[k]; it.kind == itColumn && it.col().role == roleDate && it.col().t == t {
			it.done = true
			return true
		}
	}
	return false
}

// columnFilter is a column that is neither measured nor grouped by: a boolean, a
// date that is there or not, or what is missing.
func (ps *parser) columnFilter(pl *plan, it *item) *declined {
	if c := it.col(); ps.never && len(it.cols) == 1 && !pl.base.reaches(c.t) {
		return ps.neverHad(pl, it, c.t)
	}
	c, ok := ps.pick(ps.reachable(pl, it.cols), pl.base)
	if !ok {
		if len(ps.reachable(pl, it.cols)) == 0 {
			return decline("“%s” is in %s, which %s do not lead to.", ps.said(it), it.col().t.title(), pl.base.title())
		}
		return ps.ambiguous(it)
	}
	if d := ps.reachFrom(pl, c.t); d != nil {
		return d
	}
	switch {
	case c.role == roleBool:
		it.done, it.negUsed = true, it.neg
		pl.filters = append(pl.filters, filter{op: opTrue, col: c, not: it.neg})
	case it.neg && c.nullable:
		it.done, it.negUsed = true, true
		pl.filters = append(pl.filters, filter{op: opNull, col: c, words: "without " + c.title()})
	case it.neg:
		return decline("Every row has %s.", c.title())
	case c.role == roleDate && c.nullable && pl.kind != kindList && len(ps.nouns(itPeriod)) == 0 && ps.bucket == "":
		it.done = true
		pl.filters = append(pl.filters, filter{op: opNull, not: true, col: c, words: "with " + c.title()})
	case c.role == roleDate:
		it.done = true
	case ps.with(it) && c.nullable:
		it.done = true
		pl.filters = append(pl.filters, filter{op: opNull, not: true, col: c, words: "with " + c.title()})
	case slices.Contains(pl.columns(), c), pl.kind == kindList && slices.Contains(pl.show, c):
		it.done = true
	}
	return nil
}

func (ps *parser) with(it *item) bool {
	w := ps.at(it.lo - 1)
	return w == "have" || w == "has" || w == "having" || w == "with" || (w == "a" || w == "an") && ps.at(it.lo-2) == "with"
}

// addPeriods adds the conditions on dates. Two calendar periods are compared.
func (ps *parser) addPeriods(pl *plan) *declined {
	its := ps.nouns(itPeriod)
	if len(its) == 0 {
		return nil
	}
	if d, ok := ps.neverIn(pl, its); ok {
		return d
	}
	c := ps.dateFor(pl)
	if c == nil {
		return decline("There is no date in the data that “%s” could be about.", ps.said(its[0]))
	}
	if d := ps.reachFrom(pl, c.t); d != nil {
		return d
	}
	var ps2 []period
	for _, it := range its {
		it.done = true
		p, ok := it.period.resolve(c)
		if !ok {
			return decline("I could not tell which days “%s” means.", ps.said(it))
		}
		ps2 = append(ps2, p)
		if it.period.relative != "" {
			pl.notes = append(pl.notes, "“"+clip(ps.said(it))+"” counts from the newest date of the data, "+c.max)
		}
	}
	for _, p := range ps2 {
		if c.max != "" && p.to > c.max && p.from != "" && p.from <= c.max && day1(c.max) < p.to {
			pl.notes = append(pl.notes, "the data ends on "+c.max)
			break
		}
	}
	if len(ps2) == 2 {
		if p, ok := between(ps2[0], ps2[1]); ok {
			ps2 = []period{p}
		}
	}
	if len(ps2) == 1 {
		pl.filters = append(pl.filters, filter{op: opPeriod, col: c, period: ps2[0]})
		return nil
	}
	size := ps2[0].size
	for i, p := range ps2 {
		if p.size != size || p.from == "" || p.to == "" || i > 0 && p.from == ps2[i-1].from {
			return decline("I cannot combine those periods.")
		}
	}
	pl.filters = append(pl.filters, filter{op: opPeriods, col: c, periods: ps2})
	if size == "season" || size == "week" {
		pl.dims = append([]dim{{col: c, bucket: size, periods: ps2}}, pl.dims...)
		return nil
	}
	if !slices.ContainsFunc(pl.dims, func(d dim) bool { return d.bucket != "" }) && pl.kind == kindAggregate {
		pl.dims = append([]dim{{col: c, bucket: size}}, pl.dims...)
	}
	return nil
}

// between joins "after A" and "before B".
func between(a, b period) (period, bool) {
	if a.from == "" {
		a, b = b, a
	}
	if a.to != "" || b.from != "" || a.from == "" || b.to == "" || a.from >= b.to {
		return period{}, false
	}
	return period{from: a.from, to: b.to, words: a.words + " and " + b.words}, true
}

// neverIn gives the period of "customers without orders in 2026" to the orders.
func (ps *parser) neverIn(pl *plan, its []*item) (*declined, bool) {
	for k := range pl.filters {
		f := &pl.filters[k]
		if f.op != opNever {
			continue
		}
		c := f.never.mainDate()
		if c == nil || len(its) != 1 {
			return decline("I could not tell which date “%s” is about.", ps.said(its[0])), true
		}
		p, ok := its[0].period.resolve(c)
		if !ok {
			return decline("I could not tell which days “%s” means.", ps.said(its[0])), true
		}
		its[0].done = true
		f.inner = append(f.inner, filter{op: opPeriod, col: c, period: p})
		f.words += " in " + p.words
		return nil, true
	}
	return nil, false
}

// day1 is the day after a day.
func day1(iso string) string {
	t, err := time.Parse(time.DateOnly, iso)
	if err != nil {
		return iso
	}
	return t.AddDate(0, 0, 1).Format(time.DateOnly)
}

// addRanking settles order and limit, and what compared values are grouped by.
func (ps *parser) addRanking(pl *plan) *declined {
	if pl.kind == kindAggregate && (len(pl.dims) == 0 || len(pl.dims) == 1 && pl.dims[0].bucket != "" && len(pl.dims[0].periods) == 0) {
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
	if pl.kind == kindAggregate && len(pl.dims) == 0 && (pl.order != 0 || pl.limit > 0) {
		if ps.prev == nil {
			return decline("I could not tell what to rank.")
		}
	}
	if ps.which && pl.kind == kindAggregate && pl.order != 0 && pl.limit == 0 && len(pl.dims) > 0 && !ps.each && ps.orderAt >= 0 && !ps.severalAsked() {
		pl.limit = 1
	}
	if ps.orderAt >= 0 && pl.order != 0 && !ps.which && pl.kind == kindAggregate && pl.limit == 0 && ps.orderAt+1 < len(ps.ws) {
		if it := ps.itemAt(ps.orderAt + 1); it != nil && ps.ws[it.hi-1].low == ps.ws[it.hi-1].sing {
			pl.limit = 1
		}
	}
	if pl.having != nil && len(pl.dims) == 0 {
		return decline("I could not tell what to compare with that number.")
	}
	return nil
}

// severalAsked reports whether "which customers" asks for more than one.
func (ps *parser) severalAsked() bool {
	for k, w := range ps.ws {
		if w.low != "which" && w.low != "who" {
			continue
		}
		for _, it := range ps.items {
			if it.lo > k {
				last := ps.ws[it.hi-1]
				return last.low != last.sing
			}
		}
	}
	return false
}

// addShare decides what a share is of: groups of the total, or the rows that a
// condition picks out of the rest.
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

func (ps *parser) predicate(f filter) bool {
	return slices.ContainsFunc(ps.items, func(it item) bool {
		return it.pred && (it.kind == itValue && slices.ContainsFunc(it.vals, func(v *value) bool { return v.col == f.col }) || it.kind == itColumn && slices.Contains(it.cols, f.col))
	})
}

// leftovers makes sure that no word with a meaning was passed over.
func (ps *parser) leftovers(pl *plan) *declined {
	if ps.second != "" {
		return decline("I give one figure at a time: ask for the %s first, then for the %s.", aggWords[ps.agg], aggWords[ps.second])
	}
	var left []string
	for k := range ps.items {
		it := &ps.items[k]
		if !it.done && it.kind == itColumn && it.col().role == roleMeasure && len(pl.measures) > 0 && pl.measures[0].col != nil && !slices.Contains(pl.columns(), it.col()) && !ps.covered(pl, it.lo, it.hi) {
			return decline("I give one figure at a time: ask for %s first, then for “%s”.", pl.measures[0].describe(), ps.said(it))
		}
		if !it.done && !it.qual && !ps.covered(pl, it.lo, it.hi) && !(it.kind == itTable && ps.context1(pl, it)) {
			left = append(left, ps.said(it))
		}
	}
	for k, w := range ps.ws {
		if k > 0 && !ps.used[k] && (ps.at(k-1) == "per" || ps.at(k-1) == "by") && unitWords[w.low] {
			left = append(left, w.raw) // "cost per kg" is not the cost
			continue
		}
		if ps.used[k] || filler[w.low] || w.low == "new" && ps.newRows(pl) || ps.covered(pl, k, k+1) {
			continue
		}
		left = append(left, w.raw)
	}
	if len(left) == 0 {
		return ps.alternatives()
	}
	return &declined{reason: "", words: left}
}

var aggWords = map[string]string{aggAvg: "average", aggMedian: "median", aggMin: "minimum", aggMax: "maximum", aggSum: "total", aggCount: "number"}

var unitWords = set("kg minute minutes euro euros dollar dollars eur usd unit row record hour")

// newRows reports whether "new" only says that rows came into being in a period.
func (ps *parser) newRows(pl *plan) bool {
	return len(pl.measures) == 1 && pl.measures[0].agg == aggCount && (ps.bucket != "" || slices.ContainsFunc(pl.filters, isPeriod) || ps.prev != nil)
}

// alternatives declines an "or" between conditions on different columns: conditions
// are only ever joined by "and".
func (ps *parser) alternatives() *declined {
	for k := range ps.ws {
		if ps.at(k) != "or" {
			continue
		}
		var a, b *item
		for i := range ps.items {
			it := &ps.items[i]
			if it.hi <= k && k-it.hi <= 2 {
				a = it
			}
			if b == nil && it.lo > k && it.lo-k <= 3 {
				b = it
			}
		}
		if a == nil || b == nil || a.kind == itValue && b.kind == itValue && sharesColumn(a, b) {
			continue
		}
		if condition(a) && condition(b) {
			return decline("I cannot join different conditions with “or”.")
		}
	}
	return nil
}

func condition(it *item) bool {
	return it.kind == itValue || it.kind == itNumber || it.kind == itPeriod || it.kind == itColumn && (it.col().role == roleBool || it.col().role == roleDate)
}

func sharesColumn(a, b *item) bool {
	for _, v := range a.vals {
		if slices.ContainsFunc(b.vals, func(o *value) bool { return o.col == v.col }) {
			return true
		}
	}
	return false
}

// context1 reports whether a table that is only mentioned is part of the plan.
func (ps *parser) context1(pl *plan, it *item) bool {
	return len(it.tables) == 1 && pl.base.reaches(it.table())
}

// covered reports whether words only repeat what the plan already uses.
func (ps *parser) covered(pl *plan, lo, hi int) bool {
	for k := lo; k < hi; k++ {
		ok := false
		for _, c := range pl.columns() {
			for _, name := range append(append([]string{}, c.words...), c.optional...) {
				ok = ok || matchWord(ps.ws[k], name) > 1
			}
		}
		for _, name := range pl.base.words {
			ok = ok || matchWord(ps.ws[k], name) > 1
		}
		if !ok {
			return false
		}
	}
	return true
}

// finish names the columns of the result and fills in what lists show.
func (ps *parser) finish(pl *plan) (*plan, *declined) {
	for _, w := range ps.ws {
		if w.was != "" {
			pl.notes = append(pl.notes, "“"+clip(w.was)+"” read as “"+w.raw+"”")
		}
	}
	if pl.kind == kindList && len(pl.dims) == 0 {
		pl.narrow = len(pl.show) > 0 || pl.limit == 1 || ps.never || ps.which && !ps.list
		pl.fillList()
	}
	if pl.chart == "line" && len(pl.dims) > 0 && pl.dims[0].bucket == "" {
		pl.chart = "bar"
		pl.notes = append(pl.notes, "bars, because a line needs dates")
	}
	pl.name()
	return pl, nil
}

// fillList chooses the columns that a list of rows shows.
func (pl *plan) fillList() {
	named := pl.show
	pl.show = nil
	add := func(c *column) {
		if c != nil && !slices.Contains(pl.show, c) && len(pl.show) < 12 {
			pl.show = append(pl.show, c)
		}
	}
	if len(pl.base.label) == 1 {
		add(pl.base.label[0])
	} else if len(pl.base.label) == 0 {
		add(pl.base.key)
	} else {
		for _, c := range pl.base.label {
			add(c)
		}
	}
	for _, c := range named {
		add(c)
	}
	add(pl.rankBy)
	for _, f := range pl.filters {
		if f.col != nil && f.col.t == pl.base && f.op != opIn && f.op != opTrue {
			add(f.col)
		}
	}
	if pl.narrow && len(pl.show) > 0 {
		return
	}
	for _, c := range pl.base.cols {
		if c.role != roleKey {
			add(c)
		}
	}
}

// name gives every column of the result a name of its own.
func (pl *plan) name() {
	taken := map[string]bool{}
	unique := func(s string) string {
		s = strings.ReplaceAll(s, " ", "_")
		for n := s; ; n += "_" {
			if !taken[strings.ToLower(n)] {
				taken[strings.ToLower(n)] = true
				return n
			}
		}
	}
	for i := range pl.dims {
		d := &pl.dims[i]
		switch {
		case d.bucket != "":
			d.name = d.bucket
		case d.entity != nil:
			d.name = d.entity.title()
		default:
			d.name = d.col.title()
		}
		d.as = unique(d.name)
	}
	for i := range pl.measures {
		m := &pl.measures[i]
		if m.name == "" || m.col != nil && m.name == "revenue" && m.agg != aggSum {
			m.name = m.describe()
		}
		as := m.name
		switch {
		case m.agg == aggMargin:
			as = "gross margin"
		case m.since != nil:
			as = m.agg + " days"
		}
		if pl.share {
			as = "share of " + strings.TrimPrefix(as, "number of ") + " percent"
		}
		m.as = unique(as)
	}
}

// describe is a measure in words.
func (m measure) describe() string {
	what := ""
	if m.col != nil {
		what = m.col.title()
	}
	if what == "total" {
		if what = m.col.t.title() + " total"; m.agg == aggSum {
			return "sum of " + what + "s"
		}
	}
	if m.times != nil {
		what = "revenue"
	}
	switch m.agg {
	case aggSum:
		return "total " + strings.TrimPrefix(what, "total ")
	case aggAvg:
		if m.per != nil {
			return "average " + what + " per " + m.per.title()
		}
		return "average " + what
	case aggMin:
		if m.col.role == roleDate {
			return "earliest " + what
		}
		return "lowest " + what
	case aggMax:
		if m.col.role == roleDate {
			return "latest " + what
		}
		return "highest " + what
	case aggDistinct:
		return "number of different " + plural(what, 2)
	}
	if m.per != nil {
		return m.agg + " " + what + " per " + m.per.title()
	}
	return m.agg + " " + what
}
