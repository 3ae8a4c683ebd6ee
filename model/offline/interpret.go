package offline

import (
	"cmp"
	"slices"
	"strings"
)

// interpret turns the items found in a question into a plan.
func (ps *parser) interpret() (*plan, *declined) {
	ps.periodWith()
	pl := &plan{
		p: ps.p, chart: ps.chart, order: ps.order, limit: ps.limit, share: ps.share, compare: ps.compare,
		single: ps.which && ps.limit == 0,
	}
	ps.connect()
	ps.rankedBy()
	if d := ps.chooseMeasure(pl); d != nil {
		return nil, d
	}
	if d := ps.chooseBase(pl); d != nil {
		return nil, d
	}
	for _, step := range []func(*plan) *declined{
		ps.addDims, ps.addFilters, ps.addPeriods, ps.addRanking, ps.addShare, ps.leftovers} {
		if d := step(pl); d != nil {
			return nil, d
		}
	}
	return ps.finish(pl)
}

// connect lets the items of a question refer to each other.
func (ps *parser) connect() {
	ps.neighbours()
	ps.negations()
	ps.groups()
}

// periodWith reads "the day with the highest downtime" as "which day has the highest downtime".
func (ps *parser) periodWith() {
	for k := 0; k+1 < ps.orderAt; k++ {
		if ps.bucket != "" && (bucketWords[ps.at(k)] == ps.bucket || partWords[ps.at(k)] == ps.bucket) &&
			ps.at(k+1) == "with" && !ps.isGroupWord(k-1) {
			ps.which = true
		}
	}
}

// hasBreak reports whether there is punctuation in [lo, hi].
func (ps *parser) hasBreak(lo, hi int) bool {
	for k := lo; k <= hi && k < len(ps.ws); k++ {
		if ps.ws[k].stop {
			return true
		}
	}
	return false
}

// neighbours lets adjacent words explain each other: "plan tier", "invoice amount", "the South region", "category
// Coffee".
func (ps *parser) neighbours() {
	for k, a := range ps.items {
		a.pred = ps.predicated(a.lo)
		if k+1 == len(ps.items) {
			break
		}
		b := ps.items[k+1]
		near := b.lo == a.hi && !ps.hasBreak(b.lo, b.lo)
		switch {
		case near && a.kind == itTable && b.kind == itColumn:
			if own := columnsOf(b.cols, a.tables); len(own) > 0 {
				b.cols = own
				ranked := a.verb && ps.orderAt >= 0 && ps.orderAt == a.lo-1 // "most prescribed drug"
				a.qual = own[0].role != roleDate && own[0].role != roleBool && b.exact && !b.done && !ranked
			}
		case near && a.kind == itTable && b.kind == itTable && !a.verb && !b.verb:
			a.qual = true // "plan subscriptions"
		case near && a.kind == itColumn && b.kind == itValue:
			if vals := valuesOf(b.vals, a.cols); len(vals) > 0 && !b.done && (a.lo == 0 || !ps.isGroupWord(a.lo-1)) {
				b.vals, a.done = vals, true
			}
		case a.kind == itValue && b.kind == itPeriod && ps.onlyFiller(a.hi, b.lo) && ps.datesOfEvent(a) != nil:
			*a = item{kind: itColumn, lo: a.lo, hi: a.hi, score: a.score, cols: ps.datesOfEvent(a)}
		case near && a.kind == itValue && b.kind == itColumn:
			if vals := valuesOf(a.vals, b.cols); len(vals) > 0 {
				a.vals, b.done = vals, true
			}
		}
	}
}

// datesOfEvent returns the dates that a value before a period refers to. For "issued in 2024", this is the date of
// issue, whatever the permit's status is now.
func (ps *parser) datesOfEvent(it *item) []*column {
	w := ps.ws[it.lo]
	if it.hi-it.lo != 1 || !strings.HasSuffix(w.low, "ed") || it.neg {
		return nil
	}
	var found []*column
	for _, v := range it.vals {
		for _, c := range v.col.t.cols {
			named := slices.ContainsFunc(append(splitName(c.name), c.words...), func(name string) bool {
				return matchWord(w, name) > 1
			})
			if c.role == roleDate && named && !slices.Contains(found, c) {
				found = append(found, c)
			}
		}
	}
	return found
}

// isAnyOf reports whether the word at i is one of some words.
func (ps *parser) isAnyOf(i int, words ...string) bool { return slices.Contains(words, ps.at(i)) }

// predicated reports whether the words at lo describe the subject, as after "was".
func (ps *parser) predicated(lo int) bool {
	for k := lo - 1; k >= max(0, lo-3); k-- {
		if set("was were is are been got be")[ps.at(k)] {
			return true
		}
		if !set("not or either still goes to already yet")[ps.at(k)] {
			return false
		}
	}
	return false
}

func columnsOf(cols []*column, tables []*table) []*column {
	return filtered(cols, func(c *column) bool { return slices.Contains(tables, c.t) })
}

func valuesOf(vals []*value, cols []*column) []*value {
	return filtered(vals, func(v *value) bool { return slices.Contains(cols, v.col) })
}

// negations assigns every "not" and "without" to what follows it.
func (ps *parser) negations() {
	var left []int
	for _, at := range ps.negAt {
		given := false
		for k, it := range ps.items {
			if it.lo > at && it.lo-at <= 5 && ps.onlyFiller(at+1, it.lo) {
				if next := ps.nextItem(k); it.kind == itColumn && it.col().role == roleDate && next != nil &&
					next.kind == itValue && ps.isAnyOf(next.lo-1, "by", "with", "via", "in") && next.lo-it.hi == 1 {
					it = next // "not paid by card"
				}
				it.neg, given = true, true
				// "not shipped or delivered" is neither.
				for n := k + 1; n < len(ps.items) && ps.items[n].lo-ps.items[n-1].hi == 1 &&
					(ps.at(ps.items[n-1].hi) == "or" || ps.at(ps.items[n-1].hi) == "and") &&
					ps.items[n].kind == itValue && it.kind == itValue; n++ {
					ps.items[n].neg = true
				}
				break
			}
		}
		if !given {
			left = append(left, at)
		}
	}
	ps.negAt = left
}

// copulas are words between a column and its value.
var copulas = set("is are was were = equal equals to being of as the")

// unusedNegation declines the question if a negation was not used.
func (ps *parser) unusedNegation() *declined {
	for _, it := range ps.items {
		if it.neg && !it.negUsed {
			at := it.lo - 1
			for at > 0 && !negationWords[ps.at(at)] {
				at--
			}
			return decline("I could not tell what “%s” leaves out here.", ps.ws[at].raw+" … "+ps.textOf(it))
		}
	}
	return nil
}

// nextItem returns the item after the k-th.
func (ps *parser) nextItem(k int) *item {
	if k+1 < len(ps.items) {
		return ps.items[k+1]
	}
	return nil
}

// onlyFiller reports whether all words in [lo, hi) are fillers or used.
func (ps *parser) onlyFiller(lo, hi int) bool {
	for k := lo; k < hi; k++ {
		if !filler[ps.at(k)] && !ps.used[k] {
			return false
		}
	}
	return true
}

// groups marks what follows "by", "per" and "each" as groups.
func (ps *parser) groups() {
	for i := range ps.ws {
		if !ps.isGroupWord(i) || ps.used[i] || ps.howMany > i && ps.howMany <= i+2 { // "by number of" is a measure
			continue
		}
		ps.each = ps.each || ps.at(i) == "each" || ps.at(i) == "every"
		at := i + 1
		for k, it := range ps.items {
			if it.lo < at {
				continue
			}
			if !ps.onlyFiller(at, it.lo) || ps.hasBreak(at, it.lo) && at != i+1 && ps.at(it.lo-1) != "and" {
				break
			}
			if !ps.groupable(it) || ps.qualifiesFigure(i, k) {
				break
			}
			if it.kind == itTable && it.qual {
				at = it.hi
				continue
			}
			if it.kind == itColumn && it.col().role == roleMeasure {
				break
			}
			if at == i+1 || ps.at(it.lo-1) == "and" || ps.at(it.lo-1) == "by" || ps.ws[it.lo].stop ||
				ps.items[k-1].qual {
				it.dim = true
				at = it.hi
				continue
			}
			break
		}
	}
}

// qualifiesFigure reports whether the k-th item, after the "by" at i, only qualifies the figure before it: in regions
// by "homes affected by outages", outages are not groups.
func (ps *parser) qualifiesFigure(i, k int) bool {
	it := ps.items[k]
	if k == 0 || it.kind != itTable || len(it.tables) != 1 || ps.at(i) != "by" || !strings.HasSuffix(ps.at(i-1), "ed") {
		return false
	}
	figure := ps.items[k-1]
	if figure.kind != itColumn || figure.hi != i || figure.col().t != it.table() {
		return false
	}
	return slices.ContainsFunc(ps.items[:k-1], func(o *item) bool {
		return o.kind == itTable && o.table() != it.table()
	})
}

func (ps *parser) groupable(it *item) bool {
	if it.done || it.verb {
		return false
	}
	return it.kind == itTable || it.kind == itColumn
}

// rankedBy ranks by the number of rows of another table: "top three clubs by goals".
func (ps *parser) rankedBy() {
	if ps.order == 0 || ps.howMany >= 0 {
		return
	}
	var subject *table
	for _, it := range ps.items {
		switch {
		case it.kind == itColumn && it.col().role == roleDimension && len(it.cols) == 1 && !it.dim && subject == nil &&
			it.lo > ps.orderAt:
			subject = it.col().t
		case it.kind != itTable || len(it.tables) != 1:
		case !it.dim && !it.verb && subject == nil && it.lo > ps.orderAt:
			subject = it.table()
		case it.dim && subject != nil && it.table().reaches(subject) && ps.at(it.lo-1) == "by":
			it.dim = false
			ps.counts = it
			return
		}
	}
}

// nouns returns the items of a kind that are not yet used and are not a group, a qualifier or negated.
func (ps *parser) nouns(kind int) []*item {
	return filtered(ps.items, func(it *item) bool {
		return it.kind == kind && !it.done && !it.dim && !it.qual && !it.neg
	})
}

// mentioned returns the tables that the question names in any way.
func (ps *parser) mentioned() []*table {
	var out []*table
	for _, it := range ps.items {
		for _, t := range it.tables {
			if it.kind == itTable && len(it.tables) == 1 && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	if ps.prev != nil && len(out) == 0 {
		out = append(out, ps.prev.base)
	}
	return out
}

// pick chooses among columns of the same name: the only one, or the one of a table that the question names.
func (ps *parser) pick(cols []*column) (*column, bool) {
	if len(cols) == 1 {
		return cols[0], true
	}
	if named := columnsOf(cols, ps.mentioned()); len(named) == 1 {
		return named[0], true
	}
	return nil, false
}

func (ps *parser) ambiguous(it *item) *declined {
	var names []string
	cols := slices.Clone(it.cols)
	for _, v := range it.vals {
		cols = append(cols, v.col)
	}
	for _, c := range cols {
		if name := c.t.title() + " " + c.title(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return decline("“%s” could mean several things here: %s. Which one?", ps.textOf(it), strings.Join(names, ", "))
}

func (ps *parser) textOf(it *item) string {
	var parts []string
	for _, w := range ps.ws[it.lo:it.hi] {
		parts = append(parts, w.raw)
	}
	return strings.Join(parts, " ")
}

// chooseMeasure decides what is computed, or that rows are listed.
func (ps *parser) chooseMeasure(pl *plan) *declined {
	cols := ps.measureColumns()
	tables := ps.nouns(itTable)
	if ps.at(0) == "when" {
		if d, ok := ps.dateExtreme(pl, ps.nearTable()); ok {
			return d
		}
	}
	for _, read := range []func(*plan) (*declined, bool){ps.severalFigures, ps.columnList} {
		if d, ok := read(pl); ok {
			return d
		}
	}
	if it := ps.counts; it != nil {
		it.done = true
		return pl.count(it.table())
	}
	if ps.duration {
		if m, ok := ps.durationMeasure(); ok {
			pl.measures, pl.base = []measure{m}, m.col.t
			return nil
		}
		return decline("I found no column of durations and no pair of dates that would tell how long that takes.")
	}
	if ps.agg == aggAvg && len(cols) == 0 && (ps.howMany >= 0 || ps.isRowsPer()) {
		return decline("I can't average a number of rows. Ask for the number by group.")
	}
	if ps.howMany >= 0 && (ps.agg == aggCount || ps.agg == aggDistinct) || ps.agg == aggDistinct {
		return ps.countMeasure(pl)
	}
	if its := ps.nouns(itRevenue); len(its) > 0 && (len(cols) == 0 || cols[0].lo > its[0].lo) {
		return ps.moneyMeasure(pl, its[0])
	}
	if len(cols) > 0 && !ps.onlyShowsColumns(cols, tables) {
		return ps.columnMeasure(pl, cols[0])
	}
	return ps.otherMeasure(pl, cols, tables)
}

// isRowsPer reports whether rows of one table are averaged over those of another: "appointments per patient on
// average".
func (ps *parser) isRowsPer() bool {
	its := ps.nouns(itTable)
	if len(its) != 1 || its[0].verb || len(its[0].tables) != 1 || ps.ws[its[0].hi-1].low == ps.ws[its[0].hi-1].sing ||
		ps.hasSpendWord() {
		return false
	}
	return slices.ContainsFunc(ps.items, func(o *item) bool {
		return o.kind == itTable && o.dim && o.lo == its[0].hi+1 && len(o.tables) == 1 && o.table() != its[0].table() &&
			its[0].table().reaches(o.table())
	})
}

// onlyShowsColumns reports whether the columns are only shown for listed rows: "show me all plans with their monthly
// price".
func (ps *parser) onlyShowsColumns(cols, tables []*item) bool {
	return ps.list && ps.agg == "" && ps.order == 0 && !ps.share && len(tables) > 0 && tables[0].lo < cols[0].lo &&
		!tables[0].verb && !ps.hasGroups()
}

func (ps *parser) hasGroups() bool {
	return ps.bucket != "" || slices.ContainsFunc(ps.items, func(it *item) bool { return it.dim })
}

func (ps *parser) measureColumns() []*item {
	return filtered(ps.items, func(it *item) bool {
		return it.kind == itColumn && !it.done && !it.dim && !it.neg && len(measuresOf(it.cols)) > 0
	})
}

// countMeasure counts what follows "how many".
func (ps *parser) countMeasure(pl *plan) *declined {
	it := ps.countedNoun()
	if it == nil {
		if t := cmp.Or(ps.countedByValue(), ps.conditioned()); t != nil {
			return pl.count(t)
		}
	}
	if it == nil || it.neg && it.kind != itTable {
		return decline("I could not tell what to count.")
	}
	it.done = true
	if it.kind == itRevenue {
		return decline("I don't know what to count as “%s”.", ps.textOf(it))
	}
	if it.kind == itTable {
		pl.base = it.table()
		if m, ok := it.table().pieces(ps); ok {
			pl.measures = []measure{m}
			return nil
		}
		if len(it.tables) > 1 {
			return decline("“%s” could mean several tables.", ps.textOf(it))
		}
		pl.measures = []measure{{agg: aggCount, name: countName(pl.base)}}
		if ps.agg == aggDistinct && pl.base.key != nil {
			pl.measures[0].entity = pl.base
		}
		return nil
	}
	return ps.countColumn(pl, it)
}

// countColumn counts by a column: its sum, its rows, or its different values.
func (ps *parser) countColumn(pl *plan, it *item) *declined {
	c, ok := ps.pick(it.cols)
	if !ok {
		return ps.ambiguous(it)
	}
	switch {
	case c.role == roleMeasure && ps.agg != aggDistinct:
		if isMeanOnly(c) {
			return decline("Adding up %s makes no sense, and there is nothing else to count as “%s”.", c.title(),
				ps.textOf(it))
		}
		pl.measures = []measure{{agg: aggSum, col: c}}
	case c.role == roleDate || c.role == roleBool:
		pl.count(c.t)
		it.done = false // it still names the date or the condition
	case it.partial && headWords[c.words[len(c.words)-1]]:
		return decline("I don't know what to count as “%s”.", ps.textOf(it))
	case c.noneValue() != "" && ps.agg != aggDistinct:
		pl.measures = []measure{{agg: aggCount, name: countName(c.t)}}
		pl.filters = append(pl.filters, c.isNotNone()...)
	default:
		pl.measures = []measure{{agg: aggDistinct, col: c}}
	}
	pl.base = c.t
	return nil
}

// noneValue returns the value of a column that means nothing, such as "no alarm", or "".
func (c *column) noneValue() string {
	i := slices.IndexFunc(c.values, func(v string) bool { return noneWords[fold(v)] })
	if i < 0 || c.role != roleDimension || len(c.values) < 3 {
		return ""
	}
	return c.values[i]
}

var noneWords = set("none nothing n/a keine keiner aucun aucune ninguno ninguna nil")

// isNotNone returns the conditions that a column has something.
func (c *column) isNotNone() []filter {
	fs := []filter{{op: opIn, col: c, values: []string{c.noneValue()}, not: true}}
	if c.nullable {
		fs = append(fs, filter{op: opNull, not: true, col: c, words: "with " + c.title()})
	}
	return fs
}

// countedBare returns the table to count for "no shows by month" and "penalties by season", in which the first noun is
// a flag or a value of its rows.
func (ps *parser) countedBare() *table {
	if !ps.hasGroups() && !(ps.compare && len(ps.nouns(itPeriod)) > 1) || len(ps.items) == 0 ||
		ps.agg != "" && ps.agg != aggCount {
		return nil
	}
	switch it := ps.items[0]; {
	case it.kind == itColumn && len(it.cols) == 1 && it.col().role == roleBool && !it.dim && !it.neg:
		return it.col().t
	case it.kind == itValue && !it.neg &&
		!slices.ContainsFunc(it.vals, func(v *value) bool { return v.col.t != it.vals[0].col.t }):
		return it.vals[0].col.t
	}
	return nil
}

// countedByValue returns the table of "how many dogs?", in which dog is a value.
func (ps *parser) countedByValue() *table {
	for _, it := range ps.items {
		if it.kind == itValue && it.lo > ps.howMany && !it.neg {
			t := it.vals[0].col.t
			if slices.ContainsFunc(it.vals, func(v *value) bool { return v.col.t != t }) {
				return nil
			}
			return t.rowTable()
		}
	}
	return nil
}

// conditioned returns the only table if "how many" or "how often" names nothing to count, but a condition on its rows:
// "how often was the humidity above 90".
func (ps *parser) conditioned() *table {
	if len(ps.p.tables) != 1 ||
		!slices.ContainsFunc(ps.items, func(it *item) bool { return it.kind == itNumber && len(it.cols) > 0 }) {
		return nil
	}
	return ps.p.tables[0]
}

// rowTable returns the table whose rows "how many cats" counts, unless it only names the kinds of other rows.
func (t *table) rowTable() *table {
	if len(t.cols) == 2 && t.key != nil {
		return nil
	}
	return t
}

// pieces returns what "items sold" counts: the quantity on the lines, not the lines.
func (t *table) pieces(ps *parser) (measure, bool) {
	m, ok := t.product()
	sold := anySaid(ps.ws, set("sold bought shipped sell"))
	last := t.words[len(t.words)-1]
	if !ok || !sold || last != "item" && last != "line" || len(t.words) < 2 || ps.agg == aggDistinct {
		return measure{}, false
	}
	return measure{agg: aggSum, col: m.times}, true
}

// countedNoun returns the noun after "how many", or the first noun if none follows.
func (ps *parser) countedNoun() *item {
	after := ps.howMany
	if verb := ps.verbTable(); ps.often && verb != nil {
		return verb
	}
	if !slices.ContainsFunc(ps.items, func(x *item) bool { return x.lo > ps.howMany && !x.done }) {
		after = -1 // "bookings from Spain: how many?"
	}
	for k, x := range ps.items {
		next := ps.nextItem(k)
		if state := x.kind == itColumn && (x.col().role == roleBool || x.col().role == roleDate); state && x.neg &&
			next != nil && next.kind == itTable && next.lo == x.hi {
			continue // "how many unpaid visits" counts the visits
		}
		if x.lo > after && !x.done && !x.dim && !x.qual &&
			(x.kind == itTable || x.kind == itColumn || x.kind == itRevenue) {
			return x
		}
	}
	return nil
}

// nearTable returns the table that a question is most likely about.
func (ps *parser) nearTable() *table {
	if ts := ps.mentioned(); len(ts) > 0 {
		return ts[0]
	}
	if len(ps.p.tables) == 1 {
		return ps.p.tables[0]
	}
	return nil
}

func (ps *parser) itemAt(k int) *item {
	for _, it := range ps.items {
		if it.lo <= k && k < it.hi {
			return it
		}
	}
	return nil
}
