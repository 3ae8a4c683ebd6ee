package offline

import (
	"slices"
	"strings"
)

// interpret makes a plan of what was found in a question.
func (ps *parser) interpret() (*plan, *declined) {
	pl := &plan{p: ps.p, chart: ps.chart, order: ps.order, limit: ps.limit, share: ps.share, compare: ps.compare, single: ps.which && ps.limit == 0}
	ps.neighbours()
	ps.negations()
	ps.groups()
	if d := ps.chooseMeasure(pl); d != nil {
		return nil, d
	}
	if d := ps.chooseBase(pl); d != nil {
		return nil, d
	}
	for _, step := range []func(*plan) *declined{ps.addDims, ps.addFilters, ps.addPeriods, ps.addRanking, ps.addShare, ps.leftovers} {
		if d := step(pl); d != nil {
			return nil, d
		}
	}
	return ps.finish(pl)
}

// broken reports whether punctuation stands in [lo, hi].
func (ps *parser) broken(lo, hi int) bool {
	for k := lo; k <= hi && k < len(ps.ws); k++ {
		if ps.ws[k].stop {
			return true
		}
	}
	return false
}

// neighbours lets words that stand together explain each other: "plan tier",
// "invoice amount", "the South region", "category Coffee".
func (ps *parser) neighbours() {
	for k := range ps.items {
		a := &ps.items[k]
		a.pred = ps.predicated(a.lo)
		if k+1 == len(ps.items) {
			break
		}
		b := &ps.items[k+1]
		near := b.lo == a.hi && !ps.broken(b.lo, b.lo)
		switch {
		case near && a.kind == itTable && b.kind == itColumn:
			if own := columnsOf(b.cols, a.tables); len(own) > 0 {
				b.cols = own
				a.qual = own[0].role != roleDate && own[0].role != roleBool && b.exact && !b.done
			}
		case near && a.kind == itTable && b.kind == itTable && !a.verb && !b.verb:
			a.qual = true // "plan subscriptions"
		case near && a.kind == itColumn && b.kind == itValue:
			if vals := valuesOf(b.vals, a.cols); len(vals) > 0 && !b.done && (a.lo == 0 || !ps.marker(a.lo-1)) {
				b.vals, a.done = vals, true
			}
		case near && a.kind == itValue && b.kind == itColumn:
			if vals := valuesOf(a.vals, b.cols); len(vals) > 0 {
				a.vals, b.done = vals, true
			}
		case near && a.kind == itValue && b.kind == itTable:
			if vals := valuesIn(a.vals, b.tables); len(vals) > 0 {
				a.vals = vals
			}
		case near && a.kind == itTable && b.kind == itValue:
			if vals := valuesIn(b.vals, a.tables); len(vals) > 0 && !ps.at2(a.hi-1, "in", "from") {
				b.vals = vals
			}
		case ps.at(a.hi) == "of" && b.lo <= a.hi+2 && a.kind == itColumn && b.kind == itTable:
			if own := columnsOf(a.cols, b.tables); len(own) > 0 {
				a.cols = own
			}
		}
	}
}

func (ps *parser) at2(i int, words ...string) bool { return slices.Contains(words, ps.at(i)) }

// predicated reports whether the words at lo are said of the subject.
func (ps *parser) predicated(lo int) bool {
	for k := lo - 1; k >= 0 && k >= lo-3; k-- {
		switch ps.at(k) {
		case "was", "were", "is", "are", "been", "got", "be":
			return true
		case "not", "or", "either", "still", "goes", "to", "already", "yet":
		default:
			return false
		}
	}
	return false
}

func columnsOf(cols []*column, tables []*table) (out []*column) {
	for _, c := range cols {
		if slices.Contains(tables, c.t) {
			out = append(out, c)
		}
	}
	return out
}

func valuesOf(vals []*value, cols []*column) (out []*value) {
	for _, v := range vals {
		if slices.Contains(cols, v.col) {
			out = append(out, v)
		}
	}
	return out
}

func valuesIn(vals []*value, tables []*table) (out []*value) {
	for _, v := range vals {
		if slices.Contains(tables, v.col.t) {
			out = append(out, v)
		}
	}
	return out
}

// negations gives every "not" and "without" to what follows it.
func (ps *parser) negations() {
	var left []int
	for _, at := range ps.negAt {
		given := false
		for k := range ps.items {
			it := &ps.items[k]
			if it.lo > at && it.lo-at <= 5 && ps.small(at+1, it.lo) {
				if next := ps.after(k); it.kind == itColumn && it.col().role == roleDate && next != nil && next.kind == itValue && ps.at2(next.lo-1, "by", "with", "via", "in") && next.lo-it.hi == 1 {
					it = next // "not paid by card"
				}
				if v := ps.negatedValue(k, it); v != it {
					it, k = v, k+1
				}
				it.neg, given = true, true
				// "not shipped or delivered" is neither.
				for n := k + 1; n < len(ps.items) && ps.items[n].lo-ps.items[n-1].hi == 1 && (ps.at(ps.items[n-1].hi) == "or" || ps.at(ps.items[n-1].hi) == "and") && ps.items[n].kind == itValue && it.kind == itValue; n++ {
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

// negatedValue is what a negation before the k-th item denies: of "without outcome
// healed" and "where outcome is not over 3" the value or the number, not the column.
func (ps *parser) negatedValue(k int, it *item) *item {
	next := ps.after(k)
	if next == nil || it.kind != itColumn && it.kind != itTable {
		return it
	}
	said := next.kind == itNumber && it.done || next.kind == itValue && it.kind == itColumn && len(valuesOf(next.vals, it.cols)) > 0
	for w := it.hi; w < next.lo; w++ {
		said = said && copulas[ps.at(w)]
	}
	if !said || ps.broken(next.lo, next.lo) {
		return it
	}
	if next.kind == itValue {
		next.vals, it.done = valuesOf(next.vals, it.cols), true
	}
	return next
}

// copulas stand between a column and its value.
var copulas = set("is are was were = equal equals to being of as the")

// denied makes sure that no negation is passed over.
func (ps *parser) denied() *declined {
	for k := range ps.items {
		it := &ps.items[k]
		if it.neg && !it.negUsed {
			at := it.lo - 1
			for at > 0 && !negationWords[ps.at(at)] {
				at--
			}
			return decline("I could not tell what “%s” takes away here.", ps.ws[at].raw+" … "+ps.said(it))
		}
	}
	return nil
}

// after is the item after the k-th.
func (ps *parser) after(k int) *item {
	if k+1 < len(ps.items) {
		return &ps.items[k+1]
	}
	return nil
}

func (ps *parser) small(lo, hi int) bool {
	for k := lo; k < hi; k++ {
		if !filler[ps.at(k)] && !ps.used[k] {
			return false
		}
	}
	return true
}

// groups marks what follows "by", "per", "each" as what to group by.
func (ps *parser) groups() {
	for i := range ps.ws {
		if !ps.marker(i) || ps.used[i] || ps.howMany > i && ps.howMany <= i+2 { // "by number of" is a measure
			continue
		}
		ps.each = ps.each || ps.at(i) == "each" || ps.at(i) == "every"
		at := i + 1
		for k := range ps.items {
			it := &ps.items[k]
			if it.lo < at {
				continue
			}
			if !ps.small(at, it.lo) && !ps.bucketOnly(at, it.lo) || ps.broken(at, it.lo) && at != i+1 && ps.at(it.lo-1) != "and" {
				break
			}
			if !ps.groupable(it) {
				break
			}
			if it.kind == itTable && it.qual {
				at = it.hi
				continue
			}
			if it.kind == itColumn && it.col().role == roleMeasure {
				break
			}
			if at == i+1 || ps.at(it.lo-1) == "and" || ps.at(it.lo-1) == "by" || ps.ws[it.lo].stop || ps.items[k-1].qual {
				it.dim = true
				at = it.hi
				continue
			}
			break
		}
	}
}

func (ps *parser) bucketOnly(lo, hi int) bool {
	for k := lo; k < hi; k++ {
		if bucketWords[ps.at(k)] == "" && ps.at(k) != "and" && !filler[ps.at(k)] {
			return false
		}
	}
	return true
}

func (ps *parser) groupable(it *item) bool {
	if it.done || it.verb {
		return false
	}
	return it.kind == itTable || it.kind == itColumn
}

// subject is the first noun that is not a group, a filter or a qualifier.
func (ps *parser) nouns(kind int) []*item {
	var out []*item
	for k := range ps.items {
		it := &ps.items[k]
		if it.kind == kind && !it.done && !it.dim && !it.qual && !it.neg {
			out = append(out, it)
		}
	}
	return out
}

// mentioned are the tables that words name, in any way.
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

// pick chooses among columns of the same name: one of a table that is named, else
// the one nearest to the base. Two equally near ones are nobody's choice.
func (ps *parser) pick(cols []*column, base *table) (*column, bool) {
	if len(cols) == 1 {
		return cols[0], true
	}
	if base != nil {
		best, dist, tie := (*column)(nil), 99, false
		for _, c := range cols {
			d := 99
			if c.t == base {
				d = 0
			} else if path := base.path(c.t); path != nil {
				d = len(path)
			}
			switch {
			case d < dist:
				best, dist, tie = c, d, false
			case d == dist && d < 99:
				tie = true
			}
		}
		if best != nil && !(tie && len(columnsOf(cols, ps.mentioned())) != 1) {
			if named := columnsOf(cols, ps.mentioned()); dist > 0 && len(named) == 1 && base.reaches(named[0].t) {
				return named[0], true
			}
			return best, true
		}
	}
	if named := columnsOf(cols, ps.mentioned()); len(named) == 1 {
		return named[0], true
	}
	return nil, false
}

func (ps *parser) ambiguous(it *item) *declined {
	var names []string
	for _, c := range it.cols {
		names = append(names, c.t.title()+" "+c.title())
	}
	for _, v := range it.vals {
		names = append(names, v.col.t.title()+" "+v.col.title())
	}
	return decline("“%s” could mean several things here: %s. Which one?", ps.said(it), strings.Join(slices.Compact(names), ", "))
}

func (ps *parser) said(it *item) string {
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
	if ps.duration {
		if m, ok := ps.durationMeasure(); ok {
			pl.measures, pl.base = []measure{m}, m.col.t
			ps.doneTable(pl.base)
			return nil
		}
	}
	if ps.howMany >= 0 && ps.agg == aggAvg && ps.tableNext() {
		ps.ratio = true
		return ps.countMeasure(pl)
	}
	if ps.howMany >= 0 && (ps.agg == aggCount || ps.agg == aggDistinct) || ps.agg == aggDistinct {
		return ps.countMeasure(pl)
	}
	for _, kind := range []int{itRevenue, itProfit} {
		if its := ps.nouns(kind); len(its) > 0 && (len(cols) == 0 || cols[0].lo > its[0].lo) {
			return ps.moneyMeasure(pl, its[0])
		}
	}
	if len(cols) > 0 && !ps.listOf(cols, tables) {
		return ps.columnMeasure(pl, cols[0])
	}
	return ps.otherMeasure(pl, cols, tables)
}

// tableNext reports whether rows are what "number of" counts.
func (ps *parser) tableNext() bool {
	for _, it := range ps.items {
		if it.lo > ps.howMany {
			return it.kind == itTable && !it.qual
		}
	}
	return false
}

// listOf reports whether the columns are only to be shown of listed rows: "show
// me all plans with their monthly price".
func (ps *parser) listOf(cols, tables []*item) bool {
	return ps.list && ps.agg == "" && ps.order == 0 && !ps.share && len(tables) > 0 && tables[0].lo < cols[0].lo && !tables[0].verb && !ps.grouped()
}

func (ps *parser) grouped() bool {
	return ps.bucket != "" || slices.ContainsFunc(ps.items, func(it item) bool { return it.dim })
}

func (ps *parser) measureColumns() []*item {
	var out []*item
	for k := range ps.items {
		it := &ps.items[k]
		if it.kind == itColumn && !it.done && !it.dim && !it.neg && slices.ContainsFunc(it.cols, func(c *column) bool { return c.role == roleMeasure }) {
			out = append(out, it)
		}
	}
	return out
}

// countMeasure counts what stands after "how many".
func (ps *parser) countMeasure(pl *plan) *declined {
	it := ps.counted()
	if it == nil || it.neg && it.kind != itTable {
		if ps.prev != nil {
			pl.measures = []measure{{agg: aggCount, name: countName(ps.prev.base)}}
			pl.base = ps.prev.base
			return nil
		}
		if t := ps.countedByValue(); t != nil && it == nil {
			pl.base, pl.measures = t, []measure{{agg: aggCount, name: countName(t)}}
			return nil
		}
		return decline("I could not tell what to count.")
	}
	it.done = true
	if it.kind == itRevenue {
		if len(ps.p.tables) == 1 && slices.Contains(ps.p.tables[0].words, ps.ws[it.lo].sing) {
			pl.base = ps.p.tables[0]
			pl.measures = []measure{{agg: aggCount, name: countName(pl.base)}}
			return nil
		}
		return decline("I do not know what to count as “%s”.", ps.said(it))
	}
	if it.kind == itTable {
		pl.base = it.table()
		if m, ok := it.table().pieces(ps); ok {
			pl.measures = []measure{m}
			return nil
		}
		if len(it.tables) > 1 {
			return decline("“%s” could mean several tables.", ps.said(it))
		}
		pl.measures = []measure{{agg: aggCount, name: countName(pl.base)}}
		if ps.agg == aggDistinct {
			pl.measures[0].entity = pl.base
		}
		return nil
	}
	c, ok := ps.pick(it.cols, ps.nearTable())
	if !ok {
		return ps.ambiguous(it)
	}
	switch {
	case c.role == roleMeasure && ps.agg != aggDistinct:
		if meanOnly(c) {
			return decline("Adding up %s makes no sense, and there is nothing else to count as “%s”.", c.title(), ps.said(it))
		}
		pl.measures = []measure{{agg: aggSum, col: c}}
	case c.role == roleDate:
		pl.base = c.t
		pl.measures = []measure{{agg: aggCount, name: countName(c.t)}}
		it.done = false // it still says which date
	case c.role == roleBool:
		pl.base = c.t
		pl.measures = []measure{{agg: aggCount, name: countName(c.t)}}
		it.done = false
	case it.partial && headWords[c.words[len(c.words)-1]]:
		return decline("I do not know what to count as “%s”.", ps.said(it))
	default:
		pl.measures = []measure{{agg: aggDistinct, col: c}}
	}
	pl.base = c.t
	return nil
}

// countedByValue is the table of "how many dogs?", where dog is a value, and of "how
// many rows?", where there is one table.
func (ps *parser) countedByValue() *table {
	for _, it := range ps.items {
		if it.kind == itValue && it.lo > ps.howMany && !it.neg {
			t := it.vals[0].col.t
			if slices.ContainsFunc(it.vals, func(v *value) bool { return v.col.t != t }) {
				return nil
			}
			return t
		}
	}
	rows := slices.ContainsFunc(ps.ws, func(w word) bool {
		return w.sing == "row" || w.sing == "record" || w.sing == "entry" || w.sing == "line"
	})
	if rows && len(ps.p.tables) == 1 {
		return ps.p.tables[0]
	}
	return nil
}

// pieces are what "items sold" counts: the quantity on the lines, not the lines.
func (t *table) pieces(ps *parser) (measure, bool) {
	m, ok := t.product()
	sold := slices.ContainsFunc(ps.ws, func(w word) bool {
		return w.low == "sold" || w.low == "bought" || w.low == "shipped" || w.low == "sell"
	})
	last := t.words[len(t.words)-1]
	if !ok || !sold || last != "item" && last != "line" || len(t.words) < 2 || ps.agg == aggDistinct {
		return measure{}, false
	}
	return measure{agg: aggSum, col: m.times}, true
}

// counted is the noun after "how many", or the first one where none follows.
func (ps *parser) counted() *item {
	after := ps.howMany
	if !slices.ContainsFunc(ps.items, func(x item) bool { return x.lo > ps.howMany && !x.done }) {
		after = -1 // "bookings from Spain: how many?"
	}
	for k := range ps.items {
		x := &ps.items[k]
		if x.lo > after && !x.done && !x.dim && !x.qual && (x.kind == itTable || x.kind == itColumn || x.kind == itRevenue) {
			return x
		}
	}
	return nil
}

// nearTable is the table a question is most likely about.
func (ps *parser) nearTable() *table {
	if ts := ps.mentioned(); len(ts) > 0 {
		return ts[0]
	}
	if len(ps.p.tables) == 1 {
		return ps.p.tables[0]
	}
	return nil
}

func meanOnly(c *column) bool {
	return slices.ContainsFunc(append(slices.Clone(c.words), c.optional...), func(w string) bool { return meanWords[w] })
}

// columnMeasure aggregates a named column.
func (ps *parser) columnMeasure(pl *plan, it *item) *declined {
	c, ok := ps.pick(measuresOf(it.cols), ps.nearTable())
	if !ok {
		return ps.ambiguous(it)
	}
	it.done = true
	agg := ps.agg
	if agg == "" || agg == aggCount {
		switch {
		case meanOnly(c) && ps.order == 0:
			agg = aggAvg
			pl.notes = append(pl.notes, "average, because adding up "+c.title()+" makes no sense")
		case ps.order != 0 && ps.rankIsExtreme(it):
			agg = aggMax
			if ps.order > 0 {
				agg = aggMin
			}
			pl.order = 0
		default:
			agg = aggSum
		}
	}
	if agg == aggSum && meanOnly(c) && ps.agg == aggSum {
		return decline("Adding up %s makes no sense; ask for the average instead.", c.title())
	}
	if ps.conflict {
		return decline("I can only look at one end at a time: ask for the highest or for the lowest.")
	}
	pl.measures = []measure{{agg: agg, col: c}}
	pl.base = c.t
	return nil
}

// rankIsExtreme reports whether "highest amount" asks for one number rather than
// for what has the highest: nothing is named that could have it.
func (ps *parser) rankIsExtreme(m *item) bool {
	if ps.limit > 0 || ps.grouped() && (ps.which || ps.at(ps.orderAt) == "top" || ps.at(ps.orderAt) == "most" || !ps.leadsTo(m)) {
		return false
	}
	if ps.grouped() {
		return true
	}
	for k := range ps.items {
		it := &ps.items[k]
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

// leadsTo reports whether the ranking word stands right before a measure: "highest
// order total per month".
func (ps *parser) leadsTo(m *item) bool {
	for k := ps.orderAt + 1; k < m.lo; k++ {
		if it := ps.itemAt(k); it == nil || it.kind != itTable {
			return false
		}
	}
	return ps.orderAt >= 0 && ps.orderAt < m.lo
}

// durationMeasure reads "how long is an appointment", "how many days does a
// delivery take".
func (ps *parser) durationMeasure() (measure, bool) {
	agg := ps.agg
	if agg == "" || agg == aggCount || agg == aggSum {
		agg = aggAvg
	}
	for _, t := range ps.mentioned() {
		for _, c := range t.cols {
			if c.role == roleMeasure && (slices.Contains(c.words, "duration") || slices.Contains(c.words, "length")) {
				return measure{agg: agg, col: c}, true
			}
		}
	}
	for k := range ps.items {
		it := &ps.items[k]
		for _, c := range it.cols {
			if start := c.t.mainDate(); it.kind == itColumn && c.role == roleDate && start != nil && start != c {
				it.done = true
				return measure{agg: agg, col: c, since: start, name: agg + " days from " + start.title() + " to " + c.title()}, true
			}
		}
	}
	for _, it := range ps.items {
		if it.kind != itTable {
			continue
		}
		for _, t := range ps.p.tables {
			for _, c := range t.cols {
				start := t.mainDate()
				if c.role == roleDate && start != nil && c != start && len(c.words) == 1 && matchWord(ps.ws[it.lo], c.words[0]) > 1 {
					return measure{agg: agg, col: c, since: start, name: agg + " days from " + start.title() + " to " + c.title()}, true
				}
			}
		}
	}
	return measure{}, false
}

// otherMeasure is for questions that name no column to compute with.
func (ps *parser) otherMeasure(pl *plan, cols, tables []*item) *declined {
	if c := ps.scattered(); c != nil && !(ps.list && len(cols) > 0) {
		pl.measures, pl.base = []measure{{agg: ps.aggOr(aggSum), col: c}}, c.t
		return nil
	}
	t := ps.nearTable()
	if len(ps.nouns(itTable)) > 0 {
		t = ps.nouns(itTable)[0].table()
	}
	if ps.conflict {
		return decline("I can only look at one end at a time: ask for the first or for the last.")
	}
	if ps.best {
		return decline("Best by what? Name the figure to rank by.")
	}
	spend := ps.spendWord()
	if its := ps.nouns(itPeriod); len(its) > 1 && ps.compare && len(tables) == 0 && ps.agg == "" && !spend && ps.prev == nil {
		if m, ok := ps.p.revenue(ps.needs()); ok {
			pl.measures, pl.base = []measure{m}, m.col.t
			pl.notes = append(pl.notes, "no figure was named, so revenue")
			return nil
		}
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
	if t := ps.having(); t != nil {
		pl.base, pl.measures = t, []measure{{agg: aggCount, name: countName(t)}}
		return nil
	}
	if c := ps.columnOf(pl, tables); c {
		return nil
	}
	if ps.never || ps.which || ps.list || ps.whatExists() {
		if d, ok := ps.asList(pl, tables); ok {
			return d
		}
	}
	if ps.prev != nil {
		pl.measures, pl.base = ps.prev.measures, ps.prev.base
		return nil
	}
	if t == nil || len(tables) == 0 && !ps.grouped() && !ps.share && !ps.compare {
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

// columnOf reads "emails of customers in Berlin" as a list that shows the column.
func (ps *parser) columnOf(pl *plan, tables []*item) bool {
	if len(tables) == 0 || ps.grouped() || ps.agg != "" || ps.share || ps.compare || ps.order != 0 || ps.never || ps.prev != nil {
		return false
	}
	t := tables[0]
	for k := range ps.items {
		it := &ps.items[k]
		if it.kind != itColumn || it.done || it.neg || it.hi > t.lo || t.lo-it.hi > 3 || ps.at(it.hi) != "of" && ps.at(it.hi) != "for" {
			continue
		}
		own := columnsOf(it.cols, t.tables)
		if len(own) == 1 && (own[0].role == roleDimension || own[0].role == roleText) {
			pl.kind, pl.base, pl.show = kindList, t.table(), own
			it.done, t.done = true, true
			return true
		}
	}
	return false
}

// having is the table that rows are counted of in a condition: "agents with more
// than 20 tickets".
func (ps *parser) having() *table {
	for _, it := range ps.items {
		if it.kind == itNumber && it.cols == nil && it.table() != nil {
			return it.table()
		}
	}
	return nil
}

func countName(t *table) string { return "number of " + plural(t.title(), 2) }

func (ps *parser) aggOr(other string) string {
	if ps.agg == "" || ps.agg == aggCount {
		return other
	}
	return ps.agg
}

// scattered finds a measure whose words stand apart: "cost us the most in freight".
func (ps *parser) scattered() *column {
	var found *column
	for _, t := range ps.p.tables {
		for _, c := range t.cols {
			if c.role != roleMeasure || len(c.words) < 2 {
				continue
			}
			all := true
			for _, name := range c.words {
				all = all && slices.ContainsFunc(ps.ws, func(w word) bool { return matchWord(w, name) > 1 })
			}
			if all {
				if found != nil {
					return nil
				}
				found = c
			}
		}
	}
	return found
}

var spendWords = set(`spent spend spending expenditure paid billed bill billing invoiced cost costs worth`)

func (ps *parser) spendWord() bool {
	for k, w := range ps.ws {
		if (spendWords[w.low] || revenueWords[w.sing]) && (!ps.used[k] || ps.itemAt(k) != nil && ps.itemAt(k).verb) && ps.agg != aggCount {
			return true
		}
	}
	return false
}

func (ps *parser) itemAt(k int) *item {
	for i := range ps.items {
		if ps.items[i].lo <= k && k < ps.items[i].hi {
			return &ps.items[i]
		}
	}
	return nil
}

// money is the measure column that holds a table's money.
func (t *table) money() *column {
	for _, name := range moneyColumns {
		for _, c := range t.cols {
			if c.role == roleMeasure && slices.Contains(append(slices.Clone(c.words), c.optional...), name) && !slices.Contains(c.words, "unit") {
				return c
			}
		}
	}
	return nil
}

// tableMoney computes over the money of a table that is named itself: "how much
// did we invoice", "the largest expense".
func (ps *parser) tableMoney(pl *plan, t *table, spend bool) *declined {
	if t == nil && len(ps.p.tables) == 1 {
		t = ps.p.tables[0]
	}
	for _, it := range ps.nouns(itTable) {
		if it.verb && it.table().money() != nil {
			t = it.table()
		}
	}
	if (t == nil || t.money() == nil) && spend && ps.prev == nil {
		if m, ok := ps.p.revenue(ps.needs()); ok {
			if ps.agg != "" && ps.agg != aggCount {
				m.agg = ps.agg
			}
			pl.measures, pl.base = []measure{m}, m.col.t
			return nil
		}
	}
	if t == nil || t.money() == nil {
		if c := ps.namedTotal(); c != nil && ps.prev == nil {
			pl.measures, pl.base = []measure{{agg: ps.aggOr(aggSum), col: c}}, c.t
			return nil
		}
		if ps.prev != nil && len(ps.prev.measures) == 1 && ps.prev.measures[0].col != nil && !spend {
			m := ps.prev.measures[0]
			m.agg, m.per, m.name = ps.agg, nil, ""
			pl.measures, pl.base = []measure{m}, m.col.t
			return nil
		}
		if ps.agg == aggSum && t != nil && !spend && len(ps.nouns(itTable)) > 0 && ps.howMany < 0 && !ps.muchAsked() {
			pl.base = t
			pl.measures = []measure{{agg: aggCount, name: countName(t)}}
			return nil
		}
		return decline("I could not tell what to compute: name the figure.")
	}
	if ps.prev != nil && len(ps.nouns(itTable)) == 0 && !spend && ps.agg != "" && len(ps.prev.measures) == 1 && ps.prev.measures[0].col != nil {
		m := ps.prev.measures[0]
		m.agg, m.per, m.name = ps.agg, nil, ""
		pl.measures, pl.base = []measure{m}, m.col.t
		return nil
	}
	c := t.money()
	pl.measures, pl.base = []measure{{agg: ps.aggOr(aggSum), col: c}}, t
	return nil
}

// namedTotal is the only column called total, where "total by customer" is asked.
func (ps *parser) namedTotal() *column {
	if !slices.ContainsFunc(ps.ws, func(w word) bool { return w.sing == "total" }) {
		return nil
	}
	var found *column
	for _, t := range ps.p.tables {
		for _, c := range t.cols {
			if c.role == roleMeasure && len(c.words) == 1 && c.words[0] == "total" {
				if found != nil {
					return nil
				}
				found = c
			}
		}
	}
	return found
}

func (ps *parser) muchAsked() bool {
	return slices.ContainsFunc(ps.ws, func(w word) bool { return w.low == "much" })
}

func (ps *parser) whatExists() bool {
	exist := slices.ContainsFunc(ps.ws, func(w word) bool { return w.sing == "exist" || w.low == "available" || w.low == "have" })
	return ps.at(0) == "what" && (exist || ps.at(1) == "are")
}

// asList lists rows of a table, or the values of a column.
func (ps *parser) asList(pl *plan, tables []*item) (*declined, bool) {
	hasCond := slices.ContainsFunc(ps.items, func(it item) bool { return it.kind == itNumber && it.cols == nil && it.table() != nil })
	for k := range ps.items {
		it := &ps.items[k]
		if it.done || it.qual || it.dim || it.neg {
			continue
		}
		switch {
		case it.kind == itTable && !it.verb && !hasCond:
			pl.kind, pl.base = kindList, it.table()
			it.done = true
			ps.showMentioned(pl)
			return nil, true
		case it.kind == itColumn && slices.ContainsFunc(it.cols, func(c *column) bool { return c.role == roleDimension }):
			c, ok := ps.pick(it.cols, ps.nearTable())
			if !ok {
				return ps.ambiguous(it), true
			}
			it.done = true
			if len(c.t.label) == 1 && c == c.t.label[0] && c.t.key != nil && !hasCond {
				pl.kind, pl.base = kindList, c.t
				ps.showMentioned(pl)
				return nil, true
			}
			pl.kind, pl.base = kindList, c.t
			pl.dims = []dim{{col: c}}
			return nil, true
		}
		if hasCond && it.kind == itTable {
			return nil, false
		}
	}
	return nil, false
}

// showMentioned adds the columns that a list names: "with their monthly price".
func (ps *parser) showMentioned(pl *plan) {
	for k := range ps.items {
		it := &ps.items[k]
		if it.kind == itColumn && !it.done && !it.neg && !it.dim && it.col().role != roleDate && it.col().role != roleBool {
			if own := columnsOf(it.cols, []*table{pl.base}); len(own) == 1 {
				pl.show = append(pl.show, own[0])
				it.done = true
			}
		}
	}
}
