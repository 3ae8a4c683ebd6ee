package offline

import (
	"slices"
	"strings"
)

// title returns the name of a table or column in words.
func (t *table) title() string { return strings.Join(t.words, " ") }

func (c *column) title() string {
	if c.t == nil || c.core == "" {
		return showName(c.name)
	}
	for _, o := range c.t.cols {
		if o != c && o.core == c.core {
			return showName(c.name) // the additions distinguish the two columns
		}
	}
	return showName(c.core)
}

// datePreference are names of dates, ordered by how likely they are the date when a row was created.
var datePreference = []string{
	"order", "ordered", "issue", "issued", "open", "opened", "create", "created", "sale", "ship", "shipped", "book",
	"booked", "start", "started", "signup", "sign", "joined", "date",
}

var notMain = set("birth end ended expiry expire expiration closed close paid due delivery delivered updated " +
	"modified cancelled returned dropped arrived until left leave exit resolved completed finished")

// mainDate returns the date when a row of the table was created. If the only date means something else, such as the
// delivery, it returns that one.
func (t *table) mainDate() *column {
	if c := t.rowDate(); c != nil {
		return c
	}
	if c := t.onlyDate(); c != nil && !c.means(set("birth born")) && (t.eventful() || len(t.p.tables) == 1) {
		return c
	}
	return nil
}

func (t *table) rowDate() *column {
	var best *column
	bestRank := 1000
	for i, c := range t.cols {
		if c.role != roleDate || c.means(notMain) {
			continue
		}
		rank := 100 + i
		for k, name := range datePreference {
			if c.means(map[string]bool{name: true}) {
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

// nearDate returns the main date of a table or of the nearest table it refers to.
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

// eventful reports whether rows of the table are events: the table refers to others.
func (t *table) eventful() bool { return len(t.parents) > 0 }

// event reports whether a row of the table is something that happened at a time.
func (t *table) event() bool { return t.eventful() && t.mainDate() != nil }

// onlyDate returns the date of a table that has only one, whatever it means. It is used for the oldest animal, which is
// the one born first.
func (t *table) onlyDate() *column {
	return onlyOne(t.find(func(c *column) bool { return c.role == roleDate }))
}

// chooseBase chooses the table whose rows are aggregated. If conditions on a counted entity are in a table that refers
// to it, these are the referring rows.
func (ps *parser) chooseBase(pl *plan) *declined {
	if pl.base == nil {
		return decline("I could not tell what the question is about.")
	}
	if pl.kind == kindList || len(pl.measures) == 0 {
		return nil
	}
	m := &pl.measures[0]
	var rel []*table
	for k, it := range ps.items {
		if it.kind == itTable && !it.done && !it.neg && !it.dim && len(it.tables) == 1 && !ps.never &&
			it.table() != pl.base && !(it.qual && ps.items[k+1].done) {
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
			return decline("I can't find a link between %s and %s.", pl.base.title(), r.title())
		}
		if m.agg == aggCount && m.entity == nil {
			m.entity = pl.base
		}
		pl.base = b
	}
	return nil
}

// lowest returns the table nearest to both a and b that reaches both.
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

// ensureReach ensures that each row of the plan has at most one row of t. If necessary, it moves the base of a count to
// a table that refers to both.
func (ps *parser) ensureReach(pl *plan, t *table) *declined {
	if pl.base.reaches(t) {
		return nil
	}
	if pl.kind == kindAggregate && len(pl.measures) == 1 &&
		(pl.measures[0].agg == aggCount || pl.measures[0].agg == aggDistinct) {
		if b := ps.p.lowest(pl.base, t); b != nil {
			if pl.measures[0].agg == aggCount && pl.measures[0].entity == nil {
				pl.measures[0].entity = pl.base
			}
			pl.base = b
			return nil
		}
	}
	return decline("%s cannot be split by %s: one row would be counted several times.", UpperFirst(pl.base.title()),
		t.title())
}

func (ps *parser) addDims(pl *plan) *declined {
	for _, it := range ps.items {
		if !it.dim || it.done {
			continue
		}
		if d := ps.addDim(pl, it); d != nil {
			return d
		}
	}
	if d := ps.subjectDim(pl); d != nil {
		return d
	}
	if ps.bucket != "" {
		c := ps.dateFor(pl)
		if c == nil {
			return decline("I found no date to group by.")
		}
		if d := ps.ensureReach(pl, c.t); d != nil {
			return d
		}
		if d := checkBucket(c, ps.bucket); d != nil {
			return d
		}
		pl.dims = append([]dim{{col: c, bucket: ps.bucket}}, pl.dims...)
	}
	return nil
}

// checkBucket declines a bucket that a date column does not have, such as hours.
func checkBucket(c *column, bucket string) *declined {
	switch {
	case c.year && bucket != "year":
		return decline("%s holds years only.", UpperFirst(c.title()))
	case bucket == "hour" && !c.stamp:
		return decline("%s has no time of day.", UpperFirst(c.title()))
	}
	return nil
}

func (ps *parser) addDim(pl *plan, it *item) *declined {
	it.done = true
	if it.kind == itTable {
		t := it.table()
		if len(it.tables) > 1 {
			return decline("“%s” could mean several tables.", ps.textOf(it))
		}
		m := pl.measures
		if len(m) == 1 && t == pl.base && (m[0].agg == aggAvg || m[0].agg == aggMedian || ps.across(it)) {
			return nil // the average per row, the total across all rows
		}
		if others := slices.ContainsFunc(ps.items, func(o *item) bool {
			return o.dim && o.lo != it.lo
		}); len(m) == 1 && t == pl.base && m[0].agg == aggSum && m[0].col != nil && m[0].times == nil && ps.agg == "" &&
			ps.at(it.lo-1) == "per" && others {
			pl.measures[0].agg, pl.measures[0].name = aggAvg, ""
			return nil // "cost per visit by status"
		}
		if len(m) == 1 && m[0].agg == aggAvg && t != pl.base && (m[0].times != nil || !isMeanOnly(m[0].col)) &&
			(t.event() || m[0].name == "revenue") && pl.base.reaches(t) {
			pl.measures[0].per = t
			return nil
		}
		if len(m) == 1 && m[0].agg == aggMedian && pl.base.reaches(t) && (t.eventful() || m[0].name == "revenue") {
			return decline("I can't calculate medians of totals per %s.", t.title())
		}
		if len(t.label) != 1 && t.key == nil { // two may have the same first and last name
			return decline("Rows of %s have no name to group by.", t.title())
		}
		if d := ps.ensureReach(pl, t); d != nil {
			return d
		}
		pl.dims = append(pl.dims, dim{entity: t})
		return nil
	}
	c, ok := ps.pick(it.cols)
	if !ok {
		return ps.ambiguous(it)
	}
	if c.role == roleDate {
		it.done = false // names the date to which periods apply
		if ps.bucket == "" && len(ps.nouns(itPeriod)) == 0 {
			pl.dims = append(pl.dims, dim{col: c, bucket: "day"})
			it.done = true
		}
		return ps.ensureReach(pl, c.t)
	}
	if c.role == roleText {
		return decline("%s has too many different values to group by.", UpperFirst(c.title()))
	}
	if d := ps.ensureReach(pl, c.t); d != nil {
		return d
	}
	pl.dims = append(pl.dims, columnDim(c))
	return nil
}

// columnDim groups by a column. A column that names the rows of its table groups by those rows.
func columnDim(c *column) dim {
	if c.t.key != nil && len(c.t.label) == 1 && c.t.label[0] == c && c.role != roleBool {
		return dim{entity: c.t}
	}
	return dim{col: c}
}

// subjectDim groups results by what "which" and "top" ask for.
func (ps *parser) subjectDim(pl *plan) *declined {
	if pl.kind == kindList {
		return nil
	}
	if ps.measuredBy(pl) {
		return decline("I could not tell what to do by %s: say which total, average or ranking.",
			pl.measures[0].describe())
	}
	grouped := len(pl.dims) > 0
	want := ps.which || pl.order != 0 || pl.limit > 0 || ps.share || ps.havingTable() != nil
	if grouped || !want || ps.bucket != "" {
		return nil
	}
	if pl.order != 0 && len(pl.measures) == 1 && pl.measures[0].agg == aggSum && pl.measures[0].times == nil &&
		ps.rankedRows(pl) {
		return nil
	}
	for _, it := range ps.items {
		if it.done || it.qual || it.neg || it.dim {
			continue
		}
		if it.kind == itNumber || it.kind == itValue {
			continue
		}
		noun := it.kind == itTable && !it.verb && it.table() != pl.base ||
			it.kind == itColumn && it.col().role == roleDimension
		if !noun || ps.share && !ps.which && pl.order == 0 && !ps.followsEach(it) {
			continue
		}
		return ps.addDim(pl, it)
	}
	if d, ok := ps.personDim(pl); ok {
		pl.dims = append(pl.dims, d)
	}
	return nil
}

// followsEach reports whether "each" is right before an item, as in "each plan's share".
func (ps *parser) followsEach(it *item) bool { return it.lo > 0 && ps.isGroupWord(it.lo-1) }

// dateFor returns the date to which periods apply: the one that the question names, or that of the base.
func (ps *parser) dateFor(pl *plan) *column {
	for _, it := range ps.items {
		if it.kind != itColumn || it.neg {
			continue
		}
		dates := filtered(it.cols, func(c *column) bool {
			return c.role == roleDate || c.year && !it.dim && len(ps.nouns(itPeriod)) > 0
		})
		if len(dates) == 0 {
			continue
		}
		if c, ok := ps.pick(dates); ok && pl.base.reaches(c.t) {
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
	if len(pl.measures) == 1 && pl.measures[0].entity != nil && pl.measures[0].entity.mainDate() != nil &&
		!t.eventful() {
		t = pl.measures[0].entity
	}
	return t.nearDate()
}

// across reports whether an item follows "across", which means all rows together rather than a group.
func (ps *parser) across(it *item) bool {
	for k := it.lo - 1; k >= 0 && k >= it.lo-3; k-- {
		if ps.at(k) == "across" {
			return true
		}
	}
	return false
}
