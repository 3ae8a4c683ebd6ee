package offline

import (
	"slices"
	"strings"
)

// title is a table or column in words.
func (t *table) title() string { return strings.Join(t.words, " ") }

func (c *column) title() string { return strings.Join(spellName(c.name, false), " ") }

// datePreference orders a table's dates by how likely they say when a row came
// into being.
var datePreference = []string{"order", "ordered", "issue", "issued", "open", "opened", "create", "created", "sale", "ship", "shipped", "book", "booked", "start", "started", "signup", "sign", "joined", "date"}

var notMain = set("birth end ended expiry expire expiration closed close paid due delivery delivered updated modified cancelled returned until")

// mainDate is the date that says when a row of the table came into being.
func (t *table) mainDate() *column {
	var best *column
	bestRank := 1000
	for i, c := range t.cols {
		if c.role != roleDate || slices.ContainsFunc(c.words, func(w string) bool { return notMain[w] }) {
			continue
		}
		rank := 100 + i
		for k, name := range datePreference {
			if slices.Contains(c.words, name) {
				rank = k
				break
			}
		}
		if c.nullable {
			rank += 500
		}
		if rank < bestRank {
			best, bestRank = c, rank
		}
	}
	return best
}

// nearDate is the main date of a table or of the nearest one it refers to.
func (t *table) nearDate() *column {
	seen := map[*table]bool{t: true}
	level := []*table{t}
	for range 4 {
		var next []*table
		for _, x := range level {
			if c := x.mainDate(); c != nil && (x == t || x.eventful()) {
				return c
			}
			for _, e := range x.parents {
				if !seen[e.to.t] {
					seen[e.to.t] = true
					next = append(next, e.to.t)
				}
			}
		}
		level = next
	}
	return nil
}

// eventful reports whether rows of the table are events: it refers to others.
func (t *table) eventful() bool { return len(t.parents) > 0 }

// onlyDate is the date of a table that has one, whatever it says: the oldest animal
// is the one born first.
func (t *table) onlyDate() *column {
	var found *column
	for _, c := range t.cols {
		if c.role == roleDate {
			if found != nil {
				return nil
			}
			found = c
		}
	}
	return found
}

// rankedList is "the cheapest plan", "the heaviest product".
func (ps *parser) rankedList(pl *plan, t *table) *declined {
	for _, it := range ps.nouns(itTable) {
		t = it.table()
		break
	}
	if t == nil && len(ps.p.tables) == 1 {
		t = ps.p.tables[0]
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

func (ps *parser) doneTable(t *table) {
	for k := range ps.items {
		if it := &ps.items[k]; it.kind == itTable && it.table() == t && !it.dim {
			it.done = true
			return
		}
	}
}

// rankColumn is the only column of a table that fits one of the words.
func (t *table) rankColumn(names []string) *column {
	for _, name := range names {
		if name == "@date" {
			return t.mainDate()
		}
		var found *column
		for _, c := range t.cols {
			if c.role == roleMeasure && slices.Contains(c.words, name) {
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

// dateExtreme is "when was the first appointment", "the most recent signup date",
// "the latest 5 orders".
func (ps *parser) dateExtreme(pl *plan, t *table) (*declined, bool) {
	if len(ps.rankCols) != 1 || ps.rankCols[0] != "@date" {
		return nil, false
	}
	var c *column
	for k := range ps.items {
		it := &ps.items[k]
		if it.kind == itColumn && !it.dim && slices.ContainsFunc(it.cols, func(c *column) bool { return c.role == roleDate }) {
			var ok bool
			if c, ok = ps.pick(it.cols, t); !ok {
				return ps.ambiguous(it), true
			}
			it.done = true
			break
		}
	}
	if c == nil && t != nil {
		c = t.mainDate()
	}
	if c == nil && t != nil {
		c = t.onlyDate()
	}
	if c == nil {
		return decline("I found no date to order by."), true
	}
	when := ps.at(0) == "when" || slices.ContainsFunc(ps.ws, func(w word) bool { return w.sing == "date" || w.low == "when" })
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

// rankedCount is "the doctors with the most appointments", "the 5 largest
// invoices", "top 3" after another question.
func (ps *parser) rankedCount(pl *plan, t *table, tables []*item) *declined {
	var counted *item
	for _, it := range tables {
		if it.lo > ps.orderAt && (len(tables) > 1 || ps.otherNoun(it)) {
			counted = it
		}
	}
	if counted == nil && ps.prev != nil && len(tables) == 0 {
		pl.measures, pl.base = ps.prev.measures, ps.prev.base
		return nil
	}
	if counted != nil {
		counted.done = true
		pl.base = counted.table()
		pl.measures = []measure{{agg: aggCount, name: countName(pl.base)}}
		return nil
	}
	if len(tables) == 0 && len(ps.p.tables) > 1 || t == nil {
		return decline("I could not tell what to rank by.")
	}
	if c := t.money(); c != nil {
		pl.kind, pl.base, pl.rankBy = kindList, t, c
		if pl.limit == 0 {
			pl.limit = 1
		}
		ps.doneTable(t)
		return nil
	}
	return decline("I could not tell what to rank %s by.", t.title())
}

// otherNoun reports whether something else than it could be ranked.
func (ps *parser) otherNoun(it *item) bool {
	for k := range ps.items {
		o := &ps.items[k]
		if o != it && !o.done && !o.qual && !o.neg && o.lo < it.lo && o.kind == itColumn && o.col().role == roleDimension {
			return true
		}
	}
	return ps.bucket != "" || slices.ContainsFunc(ps.items, func(x item) bool { return x.dim })
}

// moneyMeasure is revenue or profit where no column is called so.
func (ps *parser) moneyMeasure(pl *plan, it *item) *declined {
	it.done = true
	for k := range ps.items {
		if x := &ps.items[k]; x.kind == it.kind {
			x.done = true
		}
	}
	said := ps.said(it)
	needs := ps.needs()
	m, ok := ps.p.revenue(needs)
	if it.kind == itProfit {
		m, ok = ps.p.profit(strings.Contains(fold(said), "margin"))
		if !ok {
			return decline("There are no costs of what is sold in the data, so I cannot give “%s”.", said)
		}
	} else if ok && ps.agg != "" && ps.agg != aggCount {
		m.agg = ps.agg
	}
	if !ok {
		return &declined{reason: "There is nothing in the data that I can read as “" + said + "”.", words: []string{said}}
	}
	pl.measures, pl.base = []measure{m}, m.col.t
	return nil
}

// needs are the tables that groups and filters will want to reach.
func (ps *parser) needs() []*table {
	var out []*table
	for _, it := range ps.items {
		if it.done || it.neg {
			continue
		}
		switch {
		case it.kind == itTable && !it.verb && len(it.tables) == 1:
			out = append(out, it.tables[0])
		case it.kind == itColumn && len(it.cols) == 1:
			out = append(out, it.cols[0].t)
		case it.kind == itValue && len(it.vals) == 1:
			out = append(out, it.vals[0].col.t)
		}
	}
	if ps.prev != nil {
		for _, c := range ps.prev.columns() {
			out = append(out, c.t)
		}
	}
	return out
}

// revenue finds what is sold for: a column of that name, quantity times price, or
// the total of an order. Among several it takes the first that reaches the tables.
func (p *profile) revenue(needs []*table) (measure, bool) {
	var found []measure
	for _, t := range p.tables {
		for _, c := range t.cols {
			if c.role == roleMeasure && slices.ContainsFunc(c.words, func(w string) bool { return w == "revenue" || w == "sale" || w == "turnover" }) && !meanOnly(c) {
				found = append(found, measure{agg: aggSum, col: c})
			}
		}
	}
	for _, t := range p.tables {
		if m, ok := t.product(); ok {
			found = append(found, m)
		}
	}
	for _, t := range p.tables {
		sells := slices.ContainsFunc(t.words, func(w string) bool {
			return w == "order" || w == "sale" || w == "invoice" || w == "purchase" || w == "transaction" || w == "booking"
		})
		for _, name := range []string{"total", "amount"} {
			for _, c := range t.cols {
				if sells && c.role == roleMeasure && slices.Contains(c.words, name) && !meanOnly(c) {
					found = append(found, measure{agg: aggSum, col: c})
				}
			}
		}
	}
	for _, m := range found {
		m.name = "revenue"
		if !slices.ContainsFunc(needs, func(t *table) bool { return !m.col.t.reaches(t) }) {
			return m, true
		}
	}
	if len(found) > 0 {
		found[0].name = "revenue"
		return found[0], true
	}
	return measure{}, false
}

// product is quantity times the price of one, in one table.
func (t *table) product() (measure, bool) {
	var qty, price *column
	for _, c := range t.cols {
		if c.role != roleMeasure {
			continue
		}
		switch {
		case len(c.words) == 1 && (c.words[0] == "quantity" || c.words[0] == "units"), len(c.words) == 1 && c.words[0] == "unit":
			qty = c
		case slices.Contains(c.words, "price"):
			price = c
		}
	}
	if qty == nil || price == nil {
		return measure{}, false
	}
	return measure{agg: aggSum, times: qty, col: price, name: "revenue"}, true
}

// profit needs the cost of one, on the line or on what it refers to.
func (p *profile) profit(margin bool) (measure, bool) {
	for _, t := range p.tables {
		m, ok := t.product()
		if !ok {
			continue
		}
		for _, o := range p.tables {
			for _, c := range o.cols {
				name := strings.Join(c.words, " ")
				if c.role == roleMeasure && (name == "cost" || name == "unit cost") && t.reaches(o) {
					m.less = c
					m.name = "gross profit"
					if margin {
						m.agg, m.name = aggMargin, "gross margin in percent"
					}
					return m, true
				}
			}
		}
	}
	return measure{}, false
}

// chooseBase settles the table whose rows are aggregated: where a counted entity
// is asked about by what refers to it, the rows that refer to it.
func (ps *parser) chooseBase(pl *plan) *declined {
	if pl.base == nil {
		return decline("I could not tell what the question is about.")
	}
	if pl.kind == kindList || len(pl.measures) == 0 {
		return nil
	}
	m := &pl.measures[0]
	var rel []*table
	for k := range ps.items {
		it := &ps.items[k]
		if it.kind == itTable && !it.done && !it.neg && !it.dim && len(it.tables) == 1 && !ps.never && it.table() != pl.base && !(it.qual && ps.items[k+1].done) {
			rel = append(rel, it.table())
		}
	}
	if m.agg != aggCount && m.agg != aggDistinct {
		return nil
	}
	for _, r := range rel {
		if pl.base.reaches(r) {
			continue
		}
		b := ps.p.lowest(pl.base, r)
		if b == nil {
			return decline("I see no way from %s to %s.", pl.base.title(), r.title())
		}
		if m.agg == aggCount && m.entity == nil {
			m.entity = pl.base
		}
		pl.base = b
	}
	return nil
}

// lowest is the table nearest to both that reaches both.
func (p *profile) lowest(a, b *table) *table {
	var best *table
	dist := 99
	for _, t := range p.tables {
		if t.reaches(a) && t.reaches(b) {
			if d := len(t.path(a)) + len(t.path(b)); d < dist {
				best, dist = t, d
			}
		}
	}
	return best
}

// reachFrom makes sure that the plan's rows have one row of t each, moving the
// base of a count down where that helps.
func (ps *parser) reachFrom(pl *plan, t *table) *declined {
	if pl.base.reaches(t) {
		return nil
	}
	if pl.kind == kindAggregate && len(pl.measures) == 1 && (pl.measures[0].agg == aggCount || pl.measures[0].agg == aggDistinct) {
		if b := ps.p.lowest(pl.base, t); b != nil {
			if pl.measures[0].agg == aggCount && pl.measures[0].entity == nil {
				pl.measures[0].entity = pl.base
			}
			pl.base = b
			return nil
		}
	}
	return decline("%s cannot be split by %s: one row would be counted several times.", upperFirst(pl.base.title()), t.title())
}

func (ps *parser) addDims(pl *plan) *declined {
	for k := range ps.items {
		it := &ps.items[k]
		if !it.dim || it.done {
			continue
		}
		if d := ps.addDim(pl, it); d != nil {
			return d
		}
	}
	if ps.ratio {
		return decline("An average of a number of rows needs what it is per, such as a named thing they belong to.")
	}
	if d := ps.subjectDim(pl); d != nil {
		return d
	}
	if ps.bucket != "" {
		c := ps.dateFor(pl)
		if c == nil {
			return decline("I found no date to group by.")
		}
		if d := ps.reachFrom(pl, c.t); d != nil {
			return d
		}
		pl.dims = append([]dim{{col: c, bucket: ps.bucket}}, pl.dims...)
	}
	return nil
}

func (ps *parser) addDim(pl *plan, it *item) *declined {
	it.done = true
	if it.kind == itTable {
		t := it.table()
		if len(it.tables) > 1 {
			return decline("“%s” could mean several tables.", ps.said(it))
		}
		m := pl.measures
		if ps.ratio && len(pl.dims) == 0 && t != pl.base && pl.base.reaches(t) && m[0].agg == aggCount {
			pl.measures[0] = measure{agg: aggAvg, per: t, name: "average " + m[0].name + " per " + t.title() + " that has any"}
			ps.ratio = false
			return nil
		}
		if len(m) == 1 && t == pl.base && (m[0].agg == aggAvg || m[0].agg == aggMedian || ps.across(it)) {
			return nil // the average per row, the total across all rows
		}
		if len(m) == 1 && m[0].agg == aggAvg && t != pl.base && (t.eventful() || m[0].name == "revenue") && pl.base.reaches(t) {
			pl.measures[0].per = t
			return nil
		}
		if len(m) == 1 && m[0].agg == aggMedian && pl.base.reaches(t) && (t.eventful() || m[0].name == "revenue") {
			pl.measures[0].per, pl.measures[0].name = t, ""
			return nil
		}
		if len(t.label) == 0 && t.key == nil {
			return decline("Rows of %s have no name to group by.", t.title())
		}
		if d := ps.reachFrom(pl, t); d != nil {
			return d
		}
		pl.dims = append(pl.dims, dim{entity: t})
		return nil
	}
	c, ok := ps.pick(it.cols, pl.base)
	if !ok {
		return ps.ambiguous(it)
	}
	if c.role == roleDate {
		it.done = false // says which date periods are of
		if ps.bucket == "" && len(ps.nouns(itPeriod)) == 0 {
			pl.dims = append(pl.dims, dim{col: c, bucket: "day"})
			it.done = true
		}
		return ps.reachFrom(pl, c.t)
	}
	if c.role == roleText {
		return decline("%s has too many different values to group by.", upperFirst(c.title()))
	}
	if d := ps.reachFrom(pl, c.t); d != nil {
		return d
	}
	pl.dims = append(pl.dims, columnDim(c))
	return nil
}

// columnDim groups by a column; one that names the rows of its table groups by
// those rows.
func columnDim(c *column) dim {
	if c.t.key != nil && len(c.t.label) == 1 && c.t.label[0] == c && c.role != roleBool {
		return dim{entity: c.t}
	}
	return dim{col: c}
}

// subjectDim makes what is asked for by "which" and "top" what results are grouped
// by.
func (ps *parser) subjectDim(pl *plan) *declined {
	if pl.kind == kindList {
		return nil
	}
	if ps.measuredBy(pl) {
		pl.order = -1
		if pl.measures[0].times == nil && ps.rankedRows(pl) {
			pl.limit = ps.limit
			return nil
		}
		return decline("I could not tell what to do by %s: say which total, average or ranking.", pl.measures[0].describe())
	}
	grouped := len(pl.dims) > 0
	want := ps.which || pl.order != 0 || pl.limit > 0 || ps.share || ps.hasHaving()
	if grouped || !want || ps.bucket != "" {
		return nil
	}
	if pl.order != 0 && len(pl.measures) == 1 && pl.measures[0].agg == aggSum && pl.measures[0].times == nil && ps.rankedRows(pl) {
		return nil
	}
	for k := range ps.items {
		it := &ps.items[k]
		if it.done || it.qual || it.neg || it.dim {
			continue
		}
		if it.kind == itNumber || it.kind == itValue {
			continue
		}
		noun := it.kind == itTable && !it.verb && it.table() != pl.base || it.kind == itColumn && it.col().role == roleDimension
		if !noun || ps.share && !ps.which && pl.order == 0 && !ps.possessed(it) {
			continue
		}
		return ps.addDim(pl, it)
	}
	return nil
}

// possessed reports whether "each" stands before an item: "each plan's share".
func (ps *parser) possessed(it *item) bool { return it.lo > 0 && ps.marker(it.lo-1) }

func (ps *parser) hasHaving() bool {
	return slices.ContainsFunc(ps.items, func(it item) bool { return it.kind == itNumber && it.cols == nil && it.table() != nil })
}

// dateFor is the date that periods are of: the one that words name, else the
// base's own.
func (ps *parser) dateFor(pl *plan) *column {
	for k := range ps.items {
		it := &ps.items[k]
		if it.kind != itColumn || it.neg {
			continue
		}
		var dates []*column
		for _, c := range it.cols {
			if c.role == roleDate {
				dates = append(dates, c)
			}
		}
		if len(dates) == 0 {
			continue
		}
		if c, ok := ps.pick(dates, pl.base); ok && pl.base.reaches(c.t) {
			it.done = true
			return c
		}
	}
	if ps.prev != nil {
		for _, f := range ps.prev.filters {
			if f.op == opPeriod {
				return f.col
			}
		}
		for _, d := range ps.prev.dims {
			if d.bucket != "" {
				return d.col
			}
		}
	}
	t := pl.base
	if len(pl.measures) == 1 && pl.measures[0].entity != nil && pl.measures[0].entity.mainDate() != nil && !t.eventful() {
		t = pl.measures[0].entity
	}
	return t.nearDate()
}

// rankedRows turns "the biggest subscriptions by seats" into a list: what is ranked
// are the rows that have the measure themselves.
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

// across reports whether an item stands after "across", which for the rows
// themselves means all of them together.
func (ps *parser) across(it *item) bool {
	for k := it.lo - 1; k >= 0 && k >= it.lo-3; k-- {
		if ps.at(k) == "across" {
			return true
		}
	}
	return false
}

// measuredBy reports whether a measure stands after "by" with nothing that says
// what to do by it: "plans by price".
func (ps *parser) measuredBy(pl *plan) bool {
	if pl.order != 0 || ps.compare || ps.share || ps.prev != nil || len(pl.dims) > 0 || ps.bucket != "" || len(pl.measures) != 1 || pl.measures[0].col == nil || ps.agg != "" && ps.agg != aggCount {
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
