package offline

import (
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/currency"
)

// This file completes a reading: it checks that no word was ignored, chooses what a list shows, and names the columns
// of the result.

// leftovers declines a question if a word with a meaning was not used.
func (ps *parser) leftovers(pl *plan) *declined {
	if ps.second != "" {
		return decline("I can give only one figure at a time. Ask for the %s first, then for the %s.", aggWords[ps.agg],
			aggWords[ps.second])
	}
	var left []string
	for _, it := range ps.items {
		if !it.done && it.kind == itColumn && it.col().role == roleMeasure && len(pl.measures) > 0 &&
			pl.measures[0].col != nil && !slices.Contains(pl.columns(), it.col()) && !ps.isCovered(pl, it.lo, it.hi) {
			return decline("I can give only one figure at a time. Ask for %s first, then for “%s”.",
				pl.measures[0].describe(), ps.textOf(it))
		}
		if !it.done && !it.qual && !ps.isCovered(pl, it.lo, it.hi) {
			left = append(left, ps.textOf(it))
		}
	}
	for k, w := range ps.ws {
		if k > 0 && !ps.used[k] && (ps.at(k-1) == "per" || ps.at(k-1) == "by") && unitWords[w.low] {
			left = append(left, w.raw) // "cost per kg" is not the cost
			continue
		}
		if !ps.used[k] && lightVerbs[w.low] && !ps.isCovered(pl, k, k+1) && !ps.splitsBy(k) {
			pl.notes = append(pl.notes, "“"+w.raw+"” sets no condition")
			pl.ignores = true
			continue
		}
		if ps.used[k] || filler[w.low] && !ps.attributive(k) || w.low == "new" && ps.meansNewRows(pl) ||
			ps.isCovered(pl, k, k+1) && !ps.splitsBy(k) {
			continue
		}
		left = append(left, w.raw)
	}
	if len(left) == 0 {
		return ps.unsupportedOr(pl)
	}
	return &declined{reason: "", words: left}
}

// attributive reports whether the word at k is a participle before a noun, as in "sold shows", which is a condition.
func (ps *parser) attributive(k int) bool {
	it := ps.itemAt(k + 1)
	return it != nil && it.kind == itTable && !it.verb && it.lo == k+1 && !ps.ws[it.lo].stop &&
		(strings.HasSuffix(ps.at(k), "ed") || set("sold bought spent left kept out")[ps.at(k)])
}

// splitsBy reports whether the word at k directly follows "by" or "per", so it must be used as a group. "Booked by
// guests" says who did something.
func (ps *parser) splitsBy(k int) bool {
	if k == 0 || ps.at(k-1) != "by" && ps.at(k-1) != "per" || ps.ws[k-1].stop {
		return false
	}
	before := ps.at(k - 2)
	done := strings.HasSuffix(before, "ed") ||
		set("bought sold made paid brought spent given taken lent written won")[before]
	return !done || set("grouped sorted ordered ranked")[before]
}

// meansNewRows reports whether "new" only means rows that were created in a period.
func (ps *parser) meansNewRows(pl *plan) bool {
	return len(pl.measures) == 1 && pl.measures[0].agg == aggCount &&
		(ps.bucket != "" || slices.ContainsFunc(pl.filters, isPeriod) || ps.prev != nil)
}

// unsupportedOr declines an "or" between conditions on different columns, because conditions are joined by "and" only.
func (ps *parser) unsupportedOr(pl *plan) *declined {
	ors := len(filtered(ps.ws, func(w word) bool { return w.low == "or" }))
	all := slices.Concat(pl.filters, pl.shareOf)
	for _, f := range all {
		ors -= max(0, len(f.values)-1) + max(0, len(f.periods)-1)
	}
	if ors > 0 && len(all) > 1 && !ps.compare {
		return decline("I cannot join different conditions with “or”.")
	}
	return nil
}

// isCovered reports whether words only repeat names that the plan already uses.
func (ps *parser) isCovered(pl *plan, lo, hi int) bool {
	for k := lo; k < hi; k++ {
		ok := false
		for _, c := range pl.columns() {
			ok = ok || unitNames[ps.at(k)] != "" && unitNames[ps.at(k)] == c.unit()
			for _, name := range c.names() {
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
	if d := ps.unnamedRole(pl); d != nil {
		return nil, d
	}
	for _, w := range ps.ws {
		if w.was != "" {
			pl.notes = append(pl.notes, "“"+Clip(w.was)+"” read as “"+w.raw+"”")
		}
	}
	if pl.kind == kindList && len(pl.dims) == 0 {
		pl.bare = pl.rankBy != nil && ps.asksIn(pl.rankBy)
		pl.narrow = len(pl.show) > 0 || pl.limit == 1 || ps.never || ps.which && !ps.list
		pl.fillList()
	}
	if pl.chart == "line" && len(pl.dims) > 0 && pl.dims[0].bucket == "" {
		pl.chart = "bar"
		pl.notes = append(pl.notes, "bars, because a line needs dates")
	}
	pl.keepCurrenciesApart()
	pl.nameColumns()
	return pl, nil
}

// fillList chooses the columns to show for a list of rows.
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
	} else if len(pl.base.label) == 0 && pl.bare {
		add(pl.base.key)
	} else if len(pl.base.label) == 0 {
		if add(pl.base.namingColumn()); len(pl.show) == 0 {
			pl.narrow = pl.narrow && len(named) > 0 // one value alone does not say of which row it is
		}
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

// asksIn reports whether a question asks for a figure itself: "the longest rental in days".
func (ps *parser) asksIn(c *column) bool {
	last := len(ps.ws) - 1
	return ps.at(last-1) == "in" &&
		slices.ContainsFunc(c.names(), func(name string) bool {
			return matchWord(ps.ws[last], name) > 1
		})
}

// namingColumn returns the key of a table, or the first column whose values are all different.
func (t *table) namingColumn() *column {
	if t.key != nil {
		return t.key
	}
	for _, c := range t.cols {
		if c.kind == footnote.KindText && c.role != roleDate && c.distinct > 0 && c.distinct == t.rows {
			return c
		}
	}
	for _, c := range t.cols {
		if c.role == roleKey && !c.fk && c.distinct > 0 && c.distinct == t.rows {
			return c // "Event #"
		}
	}
	return nil
}

// nameColumns gives every column of the result a unique name.
func (pl *plan) nameColumns() {
	taken := map[string]bool{}
	unique := func(s string) string {
		s = strings.ReplaceAll(fold(s), " ", "_")
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
		if m.since != nil {
			as = m.agg + " " + unitTitles[m.in]
		}
		if pl.share {
			as = "share of " + strings.TrimPrefix(as, "number of ") + " percent"
		} else if isMetric := m.col != nil && m.col.metric != "" && as == m.col.name; !isMetric &&
			currency.InName(as) == "" { // charts and copies of the rows then have it too, as those of metrics have
			as = strings.TrimSpace(as + " " + m.currency(pl))
		}
		m.as = unique(as)
	}
}

// describe returns a measure in words.
func (m measure) describe() string {
	what := ""
	if m.col != nil {
		what = m.col.title()
	}
	if what == "total" && len(m.col.t.p.tables) > 1 {
		if what = m.col.t.title() + " total"; m.agg == aggSum {
			return "sum of " + what + "s"
		}
	} else if what == "total" && m.agg == aggSum {
		return "sum of total"
	}
	if m.times != nil {
		what = "revenue"
	}
	switch m.agg {
	case aggSum:
		return totalOf(what)
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
		return "number of different " + manyOf(what)
	}
	return m.agg + " " + what
}

var aggWords = map[string]string{
	aggAvg: "average", aggMedian: "median", aggMin: "minimum", aggMax: "maximum", aggSum: "total", aggCount: "number",
}

var unitWords = set("kg minute minutes euro euros dollar dollars eur usd unit row record hour")
