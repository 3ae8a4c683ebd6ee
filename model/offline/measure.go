package offline

import (
	"cmp"
	"slices"
	"strings"
)

// This file chooses what to compute: a named column, a duration, the money of a table, or listed rows.

// isTakings reports whether a price is the revenue of each row, as for rows of tickets sold without a quantity.
func (c *column) isTakings() bool {
	price := len(c.words) == 1 && (c.words[0] == "price" || c.words[0] == "fare" || c.words[0] == "preis")
	_, product := c.t.product()
	return price && !product && c.t.mainDate() != nil && sellingWords[c.t.words[len(c.t.words)-1]]
}

// isPercentage reports whether a heading says that its figures are percentages or rates, which cannot be added up:
// "Sell-through (%)".
func (c *column) isPercentage() bool {
	words := c.names()
	return strings.Contains(c.name, "%") ||
		slices.ContainsFunc(words, func(w string) bool { return w == "percent" || w == "percentage" || w == "rate" })
}

// isMeanOnly reports whether it makes no sense to add up a column.
func isMeanOnly(c *column) bool {
	words := c.names()
	if c.isTakings() {
		return false
	}
	if c.isPercentage() {
		return true
	}
	if anyOf(words, extentWords) {
		event := c.t.eventful() || c.t.mainDate() != nil
		return !event || slices.Contains(words, "unit")
	}
	return anyOf(words, meanWords)
}

// columnMeasure aggregates a named column.
func (ps *parser) columnMeasure(pl *plan, it *item) *declined {
	c, ok := ps.pick(measuresOf(it.cols))
	if !ok {
		return ps.ambiguous(it)
	}
	it.done = true
	if ps.personRanked(pl, it, c) {
		return nil
	}
	if ps.best && c.means(harmWords) {
		ps.order = -ps.order // the worst delay is the longest
		pl.order = ps.order
	}
	agg := ps.agg
	rated := ps.ratedNoun(it)
	if agg == "" || agg == aggCount {
		switch {
		case c.metric != "":
			agg = c.metric
		case isMeanOnly(c) && rated:
			agg = aggAvg
		case isMeanOnly(c) && (ps.order == 0 || ps.best && ps.which):
			agg = aggAvg
			pl.notes = append(pl.notes, "average, because adding up "+c.title()+" makes no sense")
		case ps.order != 0 && ps.rankIsExtreme(it):
			agg = aggMax
			if ps.order > 0 != (ps.aged && c.means(set("age"))) {
				agg = aggMin // except that the oldest has the highest age
			}
			pl.order = 0
		case c.isPercentage(): // "which hall has the lowest refund rate"
			agg = aggAvg
			pl.notes = append(pl.notes, "average, because adding up "+c.title()+" makes no sense")
		default:
			agg = aggSum
		}
	}
	if agg == aggSum && isMeanOnly(c) && ps.agg == aggSum {
		return decline("Adding up %s makes no sense; ask for the average instead.", c.title())
	}
	if ps.conflict {
		return decline("I can look at only one end at a time. Ask for the highest or the lowest.")
	}
	pl.measures = []measure{{agg: agg, col: c}}
	if c.metric == agg {
		pl.measures[0].name = c.name
	}
	pl.base = c.t
	return nil
}

// harmWords are figures of which the highest is the worst.
var harmWords = set("delay late error defect complaint wait waiting downtime loss damage failure absence sick debt " +
	"overdue return refund fine penalty")

// personRanked lists the people of the only table by one of their figures: "who earns the most", "top 10 earners".
func (ps *parser) personRanked(pl *plan, it *item, c *column) bool {
	asked := ps.who || ps.ws[it.hi-1].sing == "earner"
	if !asked || ps.order == 0 || ps.orderAt < 0 || ps.agg != "" || ps.hasGroups() || ps.prev != nil ||
		len(ps.p.tables) > 1 || !c.t.ofPeople() || len(ps.nouns(itTable)) > 0 {
		return false
	}
	pl.kind, pl.base, pl.rankBy, pl.limit = kindList, c.t, c, max(ps.limit, 1)
	return true
}

// ratedNoun reports whether a measure is a participle between the ranking word and the ranked noun: "the best rated
// act".
func (ps *parser) ratedNoun(m *item) bool {
	if ps.orderAt < 0 || m.lo != ps.orderAt+1 || m.hi-m.lo != 1 || !strings.HasSuffix(ps.at(m.lo), "ed") {
		return false
	}
	next := ps.itemAt(m.hi)
	return next != nil && !next.done &&
		(next.kind == itTable || next.kind == itColumn && next.col().role == roleDimension)
}

// rankIsExtreme reports whether "highest amount" asks for a single number, because the question names nothing to which
// the amount belongs.
func (ps *parser) rankIsExtreme(m *item) bool {
	if ps.limit > 0 || ps.hasGroups() &&
		(ps.which || ps.at(ps.orderAt) == "top" || ps.at(ps.orderAt) == "most" || !ps.followsRankWord(m)) {
		return false
	}
	if ps.hasGroups() {
		return true
	}
	for _, it := range ps.items {
		if it == m || it.done || it.qual || it.neg {
			continue
		}
		entity := it.kind == itTable && !it.verb || it.kind == itColumn && it.col().role == roleDimension
		if entity && it.lo < m.lo && (ps.which || ps.at(it.lo-1) != "of") {
			return false
		}
	}
	return true
}

// followsRankWord reports whether a measure directly follows the ranking word: "highest order total per month".
func (ps *parser) followsRankWord(m *item) bool {
	for k := ps.orderAt + 1; k < m.lo; k++ {
		if it := ps.itemAt(k); it == nil || it.kind != itTable {
			return false
		}
	}
	return ps.orderAt >= 0 && ps.orderAt < m.lo
}

// durationMeasure reads "how long is an appointment" and "how many days does a delivery take": a column of durations,
// or the time between two dates.
func (ps *parser) durationMeasure() (measure, bool) {
	agg := ps.agg
	if agg == "" || agg == aggCount || agg == aggSum {
		agg = aggAvg
	}
	near := ps.mentioned()
	if len(near) == 0 && len(ps.p.tables) == 1 {
		near = ps.p.tables
	}
	if its := ps.measureColumns(); len(its) > 0 {
		c, ok := ps.pick(measuresOf(its[0].cols))
		if its[0].done = ok && c.isDuration(); its[0].done {
			return measure{agg: agg, col: c}, true
		}
		return measure{}, false
	}
	end, start, named := ps.endDate(near)
	for _, t := range near {
		if named {
			break
		}
		if c := onlyOne(t.find(func(c *column) bool {
			return c.isDuration() && (len(c.words) == 0 || anyOf(c.words, set("duration length")))
		})); c != nil {
			return measure{agg: agg, col: c}, true
		}
	}
	if end == nil {
		return measure{}, false
	}
	in := "d"
	if u := cmp.Or(unitNames[ps.durationIn], ps.timeUnit()); u != "" {
		in = u
	}
	return measure{
		agg: agg, col: end, since: start, in: in,
		name: agg + " " + unitTitles[in] + " from " + start.title() + " to " + end.title(),
	}, true
}

// unitTitles are the units of time that a duration is given in.
var unitTitles = map[string]string{"d": "days", "h": "hours", "min": "minutes", "s": "seconds"}

// isDuration reports whether a column holds lengths of time.
func (c *column) isDuration() bool {
	return c.role == roleMeasure && (anyOf(c.words, set("duration length")) || unitRatio(c.unit(), "s") > 0)
}

// endDate returns the date at which something ended, and the one at which it began: the date that the question names,
// or the only one in the table whose name says so.
func (ps *parser) endDate(near []*table) (end, start *column, named bool) {
	for _, it := range ps.items {
		for _, c := range it.cols {
			if start := c.t.mainDate(); it.kind == itColumn && c.role == roleDate && start != nil && start != c {
				it.done = true
				return c, start, true
			}
		}
	}
	for _, t := range near {
		start := t.rowDate()
		end := onlyOne(t.find(func(c *column) bool { return c.role == roleDate && c != start && c.means(notMain) }))
		if start != nil && end != nil && len(t.find(func(c *column) bool { return c.role == roleDate })) == 2 {
			return end, start, false
		}
	}
	return nil, nil, false
}

// otherMeasure handles questions that name no column to compute with.
func (ps *parser) otherMeasure(pl *plan, cols, tables []*item) *declined {
	t := ps.nearTable()
	if len(ps.nouns(itTable)) > 0 {
		t = ps.nouns(itTable)[0].table()
	}
	if ps.conflict {
		return decline("I can look at only one end at a time. Ask for the first or the last.")
	}
	if ps.best {
		return decline(bestByWhat) // the best product can be the one that sells most or the one that is rated highest
	}
	spend := ps.hasSpendWord()
	if c := t.adjectiveColumn(ps.rankCols); c != nil && (ps.agg == aggAvg || ps.agg == aggMedian) {
		pl.measures, pl.base = []measure{{agg: ps.agg, col: c}}, c.t // "hottest zone on average"
		return nil
	}
	if ps.agg == aggSum || ps.agg == aggAvg || ps.agg == aggMedian || ps.agg == aggMax || ps.agg == aggMin || spend {
		return ps.tableMoney(pl, t, spend)
	}
	if ps.rankCols != nil && !(len(ps.rankCols) == 1 && ps.rankCols[0] == "@date") || ps.tenure {
		return ps.rankedList(pl, t)
	}
	if d, ok := ps.dateExtreme(pl, t); ok {
		return d
	}
	if ps.order != 0 && ps.orderAt >= 0 {
		return ps.rankedCount(pl, t, tables)
	}
	if t := ps.havingTable(); t != nil {
		return pl.count(t)
	}
	if t := ps.whoseRows(); t != nil && len(tables) == 0 {
		pl.kind, pl.base = kindList, t
		return nil
	}
	if !ps.compare && (ps.never || ps.which || ps.list || ps.asksWhatExists()) {
		if d, ok := ps.asList(pl); ok {
			return d
		}
	}
	return ps.rowsMeasure(pl, t, tables)
}

// rowsMeasure counts the rows of the named table if the question asks for nothing else.
func (ps *parser) rowsMeasure(pl *plan, t *table, tables []*item) *declined {
	if t := ps.countedBare(); t != nil && len(tables) == 0 {
		return pl.count(t)
	}
	if t == nil || len(tables) == 0 && !ps.hasGroups() && !ps.share && !ps.compare {
		return decline("I could not tell what to compute.")
	}
	if len(tables) == 0 {
		return decline("I could not tell what to compute: name something to count or to add up.")
	}
	pl.base = t
	tables[0].done = true
	pl.measures = []measure{{agg: aggCount, name: countName(t)}}
	return nil
}

// whoseRows returns the only table if "who" asks for its people by a date or a condition: "who joined in 2024".
func (ps *parser) whoseRows() *table {
	if !ps.who || len(ps.p.tables) > 1 || !ps.p.tables[0].ofPeople() || ps.prev != nil || ps.hasGroups() ||
		ps.agg != "" || ps.share || ps.compare || len(ps.items) == 0 {
		return nil
	}
	return ps.p.tables[0]
}

const bestByWhat = "Best by what? Name the figure to rank by."

// havingTable returns the table whose rows a condition counts: "agents with more than 20 tickets".
func (ps *parser) havingTable() *table {
	for _, it := range ps.items {
		if it.kind == itNumber && it.cols == nil && it.table() != nil {
			return it.table()
		}
	}
	return nil
}

func countName(t *table) string { return "number of " + t.many() }

func (ps *parser) aggOr(other string) string {
	if ps.agg == "" || ps.agg == aggCount {
		return other
	}
	return ps.agg
}

func (ps *parser) hasSpendWord() bool {
	for k, w := range ps.ws {
		if (spendWords[w.low] || revenueWords[w.sing]) && (!ps.used[k] || ps.itemAt(k) != nil && ps.itemAt(k).verb) &&
			ps.agg != aggCount {
			return true
		}
	}
	return false
}

// money returns the column that holds a table's money.
func (t *table) money() *column {
	for _, name := range moneyColumns {
		for _, c := range t.cols {
			if c.role == roleMeasure && slices.Contains(c.names(), name) && !slices.Contains(c.words, "unit") {
				return c
			}
		}
	}
	return nil
}

// tableMoney computes with the money of a named table: "how much did we invoice", "the largest expense".
func (ps *parser) tableMoney(pl *plan, t *table, spend bool) *declined {
	for _, it := range ps.nouns(itTable) {
		if it.verb && it.table().money() != nil {
			t = it.table()
		}
	}
	if (t == nil || t.money() == nil) && spend && ps.prev == nil {
		if m, ok := ps.p.revenue(); ok {
			if ps.agg != "" && ps.agg != aggCount {
				m.agg = ps.agg
			}
			pl.measures, pl.base = []measure{m}, m.col.t
			return nil
		}
	}
	if ps.prev != nil && len(ps.prev.measures) == 1 && ps.prev.measures[0].col != nil && !spend && ps.agg != "" &&
		(t == nil || t.money() == nil || len(ps.nouns(itTable)) == 0) {
		m := ps.prev.measures[0]
		m.agg, m.per, m.name = ps.agg, nil, ""
		pl.measures, pl.base = []measure{m}, m.col.t
		return nil
	}
	if t == nil || t.money() == nil {
		if named := ps.nouns(itTable); ps.agg == aggSum && len(named) > 0 &&
			ps.ws[named[0].hi-1].low == ps.ws[named[0].hi-1].sing && named[0].score < 45 {
			// "total rent" does not count leases
			return decline("I could not tell what “%s” adds up: name the figure.", ps.textOf(named[0]))
		}
		return decline("I could not tell what to compute: name the figure.")
	}
	c := t.money()
	pl.measures, pl.base = []measure{{agg: ps.aggOr(aggSum), col: c}}, t
	return nil
}

func (ps *parser) asksWhatExists() bool {
	exist := anySaid(ps.ws, set("exist exists available have there offered"))
	return ps.at(0) == "what" && (exist || ps.at(1) == "are")
}

// asList lists rows of a table, or the values of a column.
func (ps *parser) asList(pl *plan) (*declined, bool) {
	hasCond := slices.ContainsFunc(ps.items, func(it *item) bool {
		return it.kind == itNumber && it.cols == nil && it.table() != nil
	})
	for _, it := range ps.items {
		if it.done || it.qual || it.dim || it.neg {
			continue
		}
		switch {
		case it.kind == itTable && !it.verb && !hasCond:
			pl.kind, pl.base = kindList, it.table()
			it.done = true
			return nil, true
		case it.kind == itColumn &&
			slices.ContainsFunc(it.cols, func(c *column) bool { return c.role == roleDimension }):
			c, ok := ps.pick(it.cols)
			if !ok {
				return ps.ambiguous(it), true
			}
			it.done = true
			pl.kind, pl.base = kindList, c.t
			if len(c.t.label) == 1 && c == c.t.label[0] && c.t.key != nil && !hasCond {
				return nil, true
			}
			pl.dims = []dim{{col: c}}
			return nil, true
		}
		if hasCond && it.kind == itTable {
			return nil, false
		}
	}
	return nil, false
}

var spendWords = set(`spent spend spending expenditure paid billed bill billing invoiced cost costs worth`)
