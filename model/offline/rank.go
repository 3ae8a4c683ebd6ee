package offline

import (
	"slices"
	"strings"
)

// This file reads rankings: the cheapest plan, the latest order, the doctors with the most appointments, the busiest
// branch.

// rankedList reads "the cheapest plan" and "the heaviest product".
func (ps *parser) rankedList(pl *plan, t *table) *declined {
	for _, it := range ps.nouns(itTable) {
		t = it.table()
		break
	}
	if t == nil && len(ps.p.tables) == 1 {
		t = ps.p.tables[0]
	}
	if t == nil {
		t = ps.valueTable() // "the heaviest dog", where dog is a value
	}
	if t == nil {
		return decline("I could not tell what to rank.")
	}
	c := t.rankColumn(ps.rankCols)
	if c == nil && ps.tenure {
		c = t.mainDate()
	}
	if c == nil {
		return decline("There is no column in %s to rank by that.", t.title())
	}
	pl.kind, pl.base, pl.rankBy = kindList, t, c
	if pl.limit == 0 {
		pl.limit = 1
	}
	ps.doneTable(t)
	return nil
}

// valueTable returns the table that all values of the question belong to.
func (ps *parser) valueTable() *table {
	var t *table
	for _, it := range ps.nouns(itValue) {
		for _, v := range it.vals {
			if t != nil && v.col.t.rowTable() != t {
				return nil
			}
			t = v.col.t.rowTable()
		}
	}
	return t
}

// rankColumn returns the only column of a table that matches one of the words.
func (t *table) rankColumn(names []string) *column {
	for _, name := range names {
		if name == "@date" {
			return t.mainDate()
		}
		var found *column
		for _, c := range t.cols {
			if c.role == roleMeasure &&
				slices.ContainsFunc(append(slices.Clone(c.words), c.optional...), func(w string) bool {
					return w == name || w == singular(name)
				}) {
				if found != nil {
					return nil
				}
				found = c
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// dateExtreme reads "when was the first appointment", "the most recent signup date", "the latest 5 orders".
func (ps *parser) dateExtreme(pl *plan, t *table) (*declined, bool) {
	if len(ps.rankCols) != 1 || ps.rankCols[0] != "@date" {
		return nil, false
	}
	var c *column
	for k := range ps.items {
		it := &ps.items[k]
		if it.kind == itColumn && !it.dim &&
			slices.ContainsFunc(it.cols, func(c *column) bool { return c.role == roleDate }) {
			var ok bool
			if c, ok = ps.pick(it.cols, t); !ok {
				return ps.ambiguous(it), true
			}
			it.done = true
			break
		}
	}
	if c == nil && t != nil && ps.aged {
		c = t.ageDate()
	}
	if age := t.ageColumn(); c == nil && ps.aged && age != nil {
		pl.kind, pl.base, pl.rankBy, pl.order, pl.limit = kindList, t, age, -ps.order, max(ps.limit, 1)
		ps.doneTable(t)
		return nil, true
	}
	if c == nil && t != nil {
		c = t.mainDate()
	}
	if c == nil && t != nil {
		c = t.onlyDate()
	}
	if c == nil && t != nil {
		c = t.ageDate()
	}
	if c == nil {
		return decline("I found no date to order by."), true
	}
	if slices.ContainsFunc(ps.items, func(it item) bool { return it.dim }) && ps.limit == 0 && c.role == roleDate {
		pl.measures, pl.base = []measure{{agg: map[bool]string{true: aggMin, false: aggMax}[ps.order > 0], col: c}}, c.t
		pl.order = 0 // the first or last date of each group
		ps.doneTable(c.t)
		return nil, true
	}
	when := ps.at(0) == "when" ||
		slices.ContainsFunc(ps.ws, func(w word) bool { return w.sing == "date" || w.low == "when" })
	if when && ps.limit == 0 {
		agg := aggMax
		if ps.order > 0 {
			agg = aggMin
		}
		pl.order = 0
		pl.measures, pl.base = []measure{{agg: agg, col: c}}, c.t
		ps.doneTable(c.t)
		return nil, true
	}
	pl.kind, pl.base, pl.rankBy = kindList, c.t, c
	if pl.limit == 0 {
		pl.limit = 1
	}
	ps.doneTable(c.t)
	return nil, true
}

// adjectiveColumn returns the column that an adjective ranks by, or nil.
func (t *table) adjectiveColumn(names []string) *column {
	if t == nil || slices.Contains(names, "@date") {
		return nil
	}
	return t.rankColumn(names)
}

// ageColumn returns the column of ages in years, or nil.
func (t *table) ageColumn() *column {
	if t == nil {
		return nil
	}
	return t.rankColumn([]string{"age"})
}

// ageDate returns the date or year from which the age of a thing is counted, or nil.
func (t *table) ageDate() *column {
	for _, name := range []string{
		"birth", "born", "founded", "built", "established", "opened", "published", "released", "manufactured", "jahr",
		"baujahr", "year",
	} {
		var found []*column
		for _, c := range t.cols {
			if (c.role == roleDate || c.year) &&
				(slices.Contains(splitName(c.name), name) || c.means(map[string]bool{name: true})) {
				found = append(found, c)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
	}
	return nil
}

// rankedCount reads "the doctors with the most appointments", "the 5 largest invoices", and "top 3" after another
// question.
func (ps *parser) rankedCount(pl *plan, t *table, tables []*item) *declined {
	var counted *item
	for _, it := range tables {
		if it.lo > ps.orderAt && (len(tables) > 1 || ps.otherNoun(it)) {
			counted = it
		}
	}
	if verb := ps.verbTable(); verb != nil && (len(tables) > 1 || ps.otherNoun(verb)) {
		counted = verb
	}
	if c := ps.rankedColumn(); counted == nil && c != nil {
		if verb := ps.verbTable(); verb != nil && verb.table().reaches(c.t) {
			counted = verb // "the most prescribed drug"
		}
	}
	if ps.busy && (counted == nil || !counted.verb && counted.table() == t) && t != nil {
		if d, ok := ps.busiest(pl, t); ok {
			return d
		}
	}
	if d, ok := ps.rankedByParent(pl, tables); ok {
		return d
	}
	if counted == nil && ps.prev != nil && len(tables) == 0 {
		pl.measures, pl.base = ps.prev.measures, ps.prev.base
		return nil
	}
	if counted != nil {
		counted.done = true
		pl.base = counted.table()
		adjective := ps.at(ps.orderAt)
		if c := pl.base.money(); c != nil && pl.base.isSpending(c) && !counted.verb && adjective != "most" &&
			adjective != "fewest" && adjective != "top" {
			pl.measures = []measure{{agg: aggSum, col: c}} // "who has the highest expenses"
			return nil
		}
		pl.measures = []measure{{agg: aggCount, name: countName(pl.base)}}
		return nil
	}
	if c := ps.rankedColumn(); ps.busy && len(tables) == 0 && c != nil && ps.events(c.t) == nil {
		pl.base, pl.measures = c.t, []measure{{agg: aggCount, name: countName(c.t)}}
		return nil
	}
	if len(tables) == 0 && len(ps.p.tables) > 1 || t == nil {
		return decline("I could not tell what to rank by.")
	}
	if adjective := ps.at(ps.orderAt); adjective == "top" || adjective == "bottom" {
		if d := ps.byRevenue(pl, "no revenue"); d == nil {
			return nil
		}
	}
	if c := t.personColumn(); ps.who && len(ps.p.tables) == 1 && c != nil {
		pl.base, pl.measures = t, []measure{{agg: aggCount, name: countName(t)}}
		if m, ok := ps.p.revenue(nil); ok &&
			slices.ContainsFunc(ps.ws, func(w word) bool { return earnVerbs[w.low] || spendWords[w.low] }) {
			pl.measures = []measure{m} // "who sold the most"
		}
		return nil
	}
	if ps.who && len(ps.p.tables) == 1 && !t.ofPeople() {
		return decline("I could not tell who is meant: nothing in %s names people.", t.title())
	}
	c := t.money()
	bare := t.mainDate() == nil || c != nil && isMeanOnly(c) // the table has no takings, but at most a price
	if size := t.rankColumn(strings.Fields(sizeNames)); c == nil ||
		size != nil && bare && set("smallest largest biggest tiniest greatest")[ps.at(ps.orderAt)] {
		c = size
	}
	if c == nil || ps.busy {
		return decline("I could not tell what to rank %s by.", t.title())
	}
	pl.kind, pl.base, pl.rankBy = kindList, t, c
	if pl.limit == 0 {
		pl.limit = 1
	}
	ps.doneTable(t)
	return nil
}

// byRevenue ranks "the best month" and "top products" by revenue, and says so. Without revenue, it declines with the
// given words.
func (ps *parser) byRevenue(pl *plan, otherwise string) *declined {
	m, ok := ps.p.revenue(ps.neededTables())
	named := ps.bucket != "" || len(ps.nouns(itTable)) > 0 ||
		slices.ContainsFunc(ps.nouns(itColumn), func(it *item) bool { return it.col().role == roleDimension })
	if !ok || !named || ps.prev != nil ||
		m.col.t.words != nil &&
			slices.ContainsFunc(ps.nouns(itTable), func(it *item) bool { return it.table() == m.col.t }) {
		return decline("%s", otherwise)
	}
	pl.measures, pl.base = []measure{m}, m.col.t
	pl.notes = append(pl.notes, "“"+ps.ws[ps.orderAt].raw+"” taken as by revenue")
	return nil
}

// rankedByParent reads "the club that plays in the largest stadium": rows of one table, ranked by a size in a table
// that they refer to.
func (ps *parser) rankedByParent(pl *plan, tables []*item) (*declined, bool) {
	adjective := ps.at(ps.orderAt)
	if adjective == "most" || adjective == "least" || adjective == "fewest" || adjective == "top" || len(tables) < 2 {
		return nil, false
	}
	s := tables[0].table()
	for _, it := range tables[1:] {
		t := it.table()
		if it.verb || it.lo < ps.orderAt || s == t || !s.reaches(t) {
			continue
		}
		c := t.rankColumn(strings.Fields(sizeNames))
		if c == nil {
			return decline("I could not tell what to rank %s by.", t.title()), true
		}
		pl.kind, pl.base, pl.rankBy = kindList, s, c
		if pl.limit == 0 {
			pl.limit = 1
		}
		for _, other := range tables {
			other.done = true
		}
		return nil, true
	}
	return nil, false
}

// rankedColumn returns the only column that is a noun after the ranking word.
func (ps *parser) rankedColumn() *column {
	its := ps.nouns(itColumn)
	if len(its) != 1 || len(its[0].cols) != 1 || its[0].lo < ps.orderAt || its[0].col().role != roleDimension {
		return nil
	}
	return its[0].col()
}

// busiest ranks by the number of events: by the rows that refer to the ranked table, or by its own rows, grouped by a
// column or a period.
func (ps *parser) busiest(pl *plan, t *table) (*declined, bool) {
	if c := ps.columnRanked(t); ps.bucket != "" || c {
		pl.base, pl.measures = t, []measure{{agg: aggCount, name: countName(t)}}
		return nil, true
	}
	e := ps.events(t)
	if e == nil {
		return decline("I could not tell what is counted for each %s.", t.title()), true
	}
	pl.base, pl.measures = e, []measure{{agg: aggCount, name: countName(e)}}
	return nil, true
}

// columnRanked reports whether a column of t is ranked: "the most common genre".
func (ps *parser) columnRanked(t *table) bool {
	for _, it := range ps.nouns(itColumn) {
		if it.lo > ps.orderAt && len(columnsOf(it.cols, []*table{t})) > 0 && it.col().role == roleDimension {
			return true
		}
	}
	return false
}

// bestSelling ranks products by the number of pieces sold. If the question names no product, it ranks the only table
// that the lines of sales refer to.
func (ps *parser) bestSelling(pl *plan) *declined {
	for _, t := range ps.p.tables {
		m, ok := t.product()
		if !ok {
			continue
		}
		pl.base, pl.measures = t, []measure{{agg: aggSum, col: m.times}}
		if len(ps.nouns(itTable)) > 0 || len(ps.nouns(itColumn)) > 0 || ps.hasGroups() {
			return nil
		}
		var sold []*table
		for _, e := range t.parents {
			if !e.to.t.event() {
				sold = append(sold, e.to.t)
			}
		}
		if len(sold) != 1 {
			return decline("I could not tell what is sold.")
		}
		pl.dims = []dim{{entity: sold[0]}}
		return nil
	}
	return decline("Best selling by what? There is no number of pieces in the data; name the figure to rank by.")
}

// otherNoun reports whether something other than it could be ranked.
func (ps *parser) otherNoun(it *item) bool {
	for k := range ps.items {
		o := &ps.items[k]
		if o != it && !o.done && !o.qual && !o.neg && o.lo < it.lo && o.kind == itColumn &&
			o.col().role == roleDimension {
			return true
		}
	}
	if d, ok := ps.personDim(&plan{base: it.table()}); ok && (d.entity != nil || d.col != nil) {
		return true
	}
	return ps.bucket != "" || slices.ContainsFunc(ps.items, func(x item) bool { return x.dim })
}

// rankedRows turns "the biggest subscriptions by seats" into a list: the rows that have the measure are ranked
// themselves.
func (ps *parser) rankedRows(pl *plan) bool {
	var rows *item
	for k := range ps.items {
		it := &ps.items[k]
		switch {
		case it.done || it.qual || it.neg || it.kind == itNumber || it.kind == itValue || it.kind == itPeriod:
		case it.kind == itTable && it.table() == pl.base && !it.verb:
			rows = it
		case it.kind == itTable || it.kind == itColumn && it.col().role == roleDimension:
			return false
		}
	}
	if rows == nil {
		return false
	}
	rows.done = true
	pl.kind, pl.rankBy, pl.measures, pl.notes = kindList, pl.measures[0].col, nil, nil
	if pl.limit == 0 {
		pl.limit = 1
	}
	return true
}

// measuredBy reports whether a measure follows "by" without an aggregate: "plans by price".
func (ps *parser) measuredBy(pl *plan) bool {
	if pl.order != 0 || ps.compare || ps.share || ps.prev != nil || len(pl.dims) > 0 || ps.bucket != "" ||
		len(pl.measures) != 1 || pl.measures[0].col == nil || ps.agg != "" && ps.agg != aggCount {
		return false
	}
	for _, it := range ps.items {
		if it.kind == itColumn && it.done && slices.Contains(it.cols, pl.measures[0].col) {
			k := it.lo - 1
			for k > 0 && (ps.at(k) == "of" || ps.at(k) == "number" || ps.at(k) == "the") {
				k--
			}
			return k >= 0 && ps.at(k) == "by"
		}
	}
	return false
}
