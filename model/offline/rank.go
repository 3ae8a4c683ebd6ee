package offline

import (
	"cmp"
	"slices"
	"strings"
)

// This file reads rankings: the cheapest plan, the latest order, the doctors with the most appointments.

// rankedList reads "the cheapest plan" and "the heaviest product".
func (ps *parser) rankedList(pl *plan, t *table) *declined {
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
	return pl.rankRows(t, c)
}

// rankColumn returns the only column of a table that matches one of the words.
func (t *table) rankColumn(names []string) *column {
	for _, name := range names {
		found := t.find(func(c *column) bool {
			return c.role == roleMeasure && anyOf(c.names(), map[string]bool{name: true, singular(name): true})
		})
		if len(found) > 0 {
			return onlyOne(found)
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
	for _, it := range ps.items {
		if it.kind == itColumn && !it.dim &&
			slices.ContainsFunc(it.cols, func(c *column) bool { return c.role == roleDate }) {
			var ok bool
			if c, ok = ps.pick(it.cols); !ok {
				return ps.ambiguous(it), true
			}
			it.done = true
			break
		}
	}
	if t != nil && ps.aged {
		c = cmp.Or(c, t.ageDate())
	}
	if t != nil {
		c = cmp.Or(c, t.mainDate(), t.onlyDate(), t.ageDate())
	}
	if c == nil {
		return decline("I found no date to order by."), true
	}
	ofGroups := slices.ContainsFunc(ps.items, func(it *item) bool { return it.dim }) && c.role == roleDate
	if ps.limit == 0 && (ofGroups || ps.at(0) == "when" || anySaid(ps.ws, set("date dates when"))) {
		pl.order = 0 // the first or last date, perhaps of each group
		pl.measures, pl.base = []measure{{agg: map[bool]string{true: aggMin, false: aggMax}[ps.order > 0], col: c}}, c.t
		return nil, true
	}
	return pl.rankRows(c.t, c), true
}

// adjectiveColumn returns the column that an adjective ranks by, or nil.
func (t *table) adjectiveColumn(names []string) *column {
	if t == nil || slices.Contains(names, "@date") {
		return nil
	}
	return t.rankColumn(names)
}

// ageDate returns the date or year from which the age of a thing is counted, or nil.
func (t *table) ageDate() *column {
	for _, name := range []string{
		"birth", "born", "founded", "built", "established", "opened", "published", "released", "manufactured", "jahr",
		"baujahr", "year"} {
		if c := onlyOne(t.find(func(c *column) bool {
			return (c.role == roleDate || c.year) &&
				(slices.Contains(splitName(c.name), name) || c.means(map[string]bool{name: true}))
		})); c != nil {
			return c
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
	if ps.busy {
		events := ps.p.eventsOf(t)
		if len(events) != 1 {
			return decline("I could not tell what to rank by: name what is counted.")
		}
		return pl.count(events[0])
	}
	if len(tables) == 0 && len(ps.p.tables) > 1 || t == nil {
		return decline("I could not tell what to rank by.")
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
	if c == nil {
		return decline("I could not tell what to rank %s by.", t.title())
	}
	return pl.rankRows(t, c)
}

// eventsOf returns the tables of which "the busiest" and "the most popular" count the rows: those that refer to t, or t
// itself if none does. Without t, it is the tables to which no other refers.
func (p *profile) eventsOf(t *table) []*table {
	if t == nil {
		return filtered(p.tables, func(o *table) bool { return o.mainDate() != nil && !o.hasEvents() })
	}
	by := filtered(p.tables, func(o *table) bool { return o != t && o.mainDate() != nil && len(o.path(t)) == 1 })
	if len(by) == 0 {
		return []*table{t}
	}
	return by
}

// otherNoun reports whether something other than it could be ranked.
func (ps *parser) otherNoun(it *item) bool {
	for _, o := range ps.items {
		if o != it && !o.done && !o.qual && !o.neg && o.lo < it.lo && o.kind == itColumn &&
			o.col().role == roleDimension {
			return true
		}
	}
	if d, ok := ps.personDim(&plan{base: it.table()}); ok && (d.entity != nil || d.col != nil) {
		return true
	}
	return ps.bucket != "" || slices.ContainsFunc(ps.items, func(x *item) bool { return x.dim })
}

// rankedRows turns "the biggest subscriptions by seats" into a list: the rows that have the measure are ranked
// themselves.
func (ps *parser) rankedRows(pl *plan) bool {
	var rows *item
	for _, it := range ps.items {
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
