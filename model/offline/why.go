package offline

import (
	"regexp"
	"slices"
	"strings"
)

// change is a comparison of two periods, group by group. It shows where a figure changed, not why.
type change struct {
	date     *column
	from, to period
	why      bool // the question asks for a cause: totals and several splits
	dir      int  // direction according to the question: -1 fell, 1 rose
}

var changeWords = regexp.MustCompile(`(?i)^\s*(what changed|where did|which)\b.*\bchanged?\b|^\s*what changed\b`)

// changeQuestion reads "What changed most between the last two months, by category?" and "Where did revenue change, by
// country?".
func (ps *parser) changeQuestion() (*plan, *declined, bool) {
	var raw []string
	for _, w := range ps.ws {
		raw = append(raw, w.low)
	}
	text := strings.Join(raw, " ")
	if !changeWords.MatchString(text) {
		return nil, nil, false
	}
	size := "month"
	for _, s := range []string{"quarter", "year"} {
		if strings.Contains(text, s) {
			size = s
		}
	}
	for i := range ps.ws {
		if set("what where which changed change changes most did between the last two months month in quarters " +
			"quarter years year and one before from compared to")[ps.ws[i].low] {
			ps.used[i] = true
		}
	}
	ps.keywords()
	ps.link()
	ps.bucket = ""
	if len(ps.measureColumns()) == 0 && len(ps.nouns(itRevenue)) == 0 && len(ps.nouns(itTable)) == 0 {
		if m, ok := ps.p.revenue(ps.neededTables()); ok {
			return ps.finishChange(m, m.col.t, size)
		}
		return nil, decline("Say which figure: for example “Where did revenue change, by category?”"), true
	}
	probe := &plan{p: ps.p}
	ps.neighbours()
	ps.groups()
	if d := ps.chooseMeasure(probe); d != nil {
		return nil, d, true
	}
	if probe.kind == kindList || len(probe.measures) != 1 {
		return nil, decline("Say which figure changed."), true
	}
	return ps.finishChange(probe.measures[0], probe.base, size)
}

func (ps *parser) finishChange(m measure, base *table, size string) (*plan, *declined, bool) {
	if m.agg != aggSum && m.agg != aggCount {
		return nil, decline("I can only split totals and counts by where they changed."), true
	}
	pl := &plan{p: ps.p, base: base, measures: []measure{m}, order: 0}
	ps.neighbours()
	ps.groups()
	if d := ps.addDims(pl); d != nil {
		return nil, d, true
	}
	if len(pl.dims) == 0 {
		d := ps.p.someDim(base)
		if d == nil {
			return nil, decline("I found nothing to split the change by."), true
		}
		pl.dims = []dim{columnDim(d)}
	}
	date := base.nearDate()
	if date == nil || date.max == "" {
		return nil, decline("I found no date to compare periods by."), true
	}
	this, _ := period{relative: "this", unit: size}.resolve(date)
	last, _ := period{relative: "last", unit: size}.resolve(date)
	pl.change = &change{date: date, from: last, to: this}
	if d := ps.leftovers(pl); d != nil {
		return nil, d, true
	}
	pl, d := ps.finish(pl)
	return pl, d, true
}

// someDim returns a column with few values near a table.
func (p *profile) someDim(t *table) *column {
	if ds := t.goodDims(); len(ds) > 0 {
		return ds[0]
	}
	for _, o := range p.tables {
		if ds := o.goodDims(); t.reaches(o) && len(ds) > 0 {
			return ds[0]
		}
	}
	return nil
}

// change returns the statement of a change: both periods and the difference, by group.
func (w *sqlWriter) change() string {
	ch := w.pl.change
	w.multi = w.multi || ch.date.t != w.pl.base
	w.joins, w.joined = nil, map[*table]bool{}
	for _, t := range append(w.tables(), ch.date.t) {
		w.joinTo(t)
	}
	m := w.pl.measures[0]
	in := func(p period) string { return w.period(filter{op: opPeriod, col: ch.date, period: p}) }
	q := func(s string) string { return w.dialect.Quote(s) }
	from, to := w.within(m, in(ch.from)), w.within(m, in(ch.to))
	sel, group := w.dims()
	sel = append(sel, from+" AS "+q("before"), to+" AS "+q("after"), to+" - "+from+" AS "+q("change"))
	if len(group) == 0 {
		sel = append(sel, "100.0 * ("+to+" - "+from+") / NULLIF("+from+", 0) AS "+q("change_percent"))
	}
	sql := "SELECT " + strings.Join(sel, ", ") + w.source() + w.where("(("+in(ch.from)+") OR ("+in(ch.to)+"))")
	if len(group) == 0 {
		return sql
	}
	by := "ABS(" + to + " - " + from + ") DESC"
	switch way := -ch.dir * w.pl.order; { // the one that grew most, or that fell least
	case way > 0:
		by = to + " - " + from + " DESC"
	case way < 0:
		by = to + " - " + from
	}
	sql += " GROUP BY " + strings.Join(group, ", ") + " ORDER BY " + by + ", 1"
	if w.pl.limit > 0 {
		sql += w.limit(w.pl.limit)
	}
	return sql
}

// writeChanges writes how the groups changed.
func (w *Writer) writeChanges(pl *plan, res Result) {
	c := len(res.Columns) - 1
	w.Text("From ")
	w.echo(pl.change.from.words)
	w.Text(" to ")
	w.echo(pl.change.to.words)
	w.Text(", " + pl.measures[0].name + " changed most for **")
	w.writeLabels(pl, res, 0)
	w.Text("**: ")
	w.Cell(res, 0, c, true, false)
	w.Text(" (from ")
	w.Cell(res, 0, c-2, true, false)
	w.Text(" to ")
	w.Cell(res, 0, c-1, true, false)
	w.Text("). This says where the figure changed, not why.")
	if !slices.Contains(res.Columns, "change") {
		return
	}
	w.writeTable(res, pl, false)
}
