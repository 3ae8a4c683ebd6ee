package offline

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Questions about a cause ("why did revenue fall?") are answered by showing where a figure changed. The answer has both
// periods, the totals, and the column whose parts moved most unevenly, and says that this is not the cause.

const (
	maxSplits = 6  // columns to split a change by if the question names none
	maxGroups = 12 // values of such a column
)

var (
	downWords = set("fall fell fallen falling drop dropped dropping decline declined declining decrease decreased " +
		"decreasing lower down shrink shrank shrunk sink sank plunge plunged slump slumped dip dipped less fewer " +
		"lost lose reduced")
	upWords = set("rise rose risen rising increase increased increasing grow grew grown growing higher up climb " +
		"climbed jump jumped spike spiked surge surged more gain gained")
	bothWords = set("change changed changing different differ")
	whySmall  = set("why how come what has have is are was were did does do the a an and but so explain reason " +
		"reasons for cause caused causes behind of in our my we it that this there go goes went gone so much many " +
		"then than before driving drove due to")
)

// whyQuestion reads "why did revenue fall in July 2026, by city?". After another question, "and why?" asks about its
// figure. A question that names no change is declined.
func (ps *parser) whyQuestion(before *plan) (*plan, *declined) {
	no := decline("%s", noCauseWords)
	dir, changes, named := 0, false, false
	for i, w := range ps.ws {
		season := seasons[w.low] > 0 && (ps.at(i-1) == "last" || ps.at(i-1) == "this")
		down, up := downWords[w.low] && !season, upWords[w.low]
		switch {
		case down && dir == 0:
			dir = -1
		case up && dir == 0:
			dir = 1
		}
		change := down || up || bothWords[w.low]
		changes = changes || change
		if !change && !whySmall[w.low] {
			named = true
		}
		ps.used[i] = ps.used[i] || change
	}
	if !changes && (named || before == nil) || before != nil && before.kind != kindAggregate && !named {
		return nil, no
	}
	ps.dates()
	for i, w := range ps.ws {
		ps.used[i] = ps.used[i] || whySmall[w.low]
	}
	ps.keywords()
	ps.link()
	ps.neighbours()
	ps.negations()
	ps.groups()
	pl, d := ps.whyFigure(before)
	if d != nil {
		return nil, d
	}
	if d := ps.addFilters(pl); d != nil {
		return nil, d
	}
	if d := ps.whyPeriods(pl, dir); d != nil {
		return nil, d
	}
	if d := ps.whyDims(pl); d != nil {
		return nil, d
	}
	if d := ps.leftovers(pl); d != nil {
		return nil, d
	}
	return ps.finish(pl)
}

// whyFigure returns the figure that changed: the named one, that of the previous question, or revenue.
func (ps *parser) whyFigure(before *plan) (*plan, *declined) {
	pl := &plan{p: ps.p}
	named := len(ps.measureColumns()) > 0 || len(ps.nouns(itRevenue)) > 0 || len(ps.nouns(itProfit)) > 0 ||
		len(ps.nouns(itTable)) > 0 || ps.howMany >= 0 || ps.agg != ""
	switch {
	case named:
		if d := ps.chooseMeasure(pl); d != nil {
			return nil, d
		}
		if d := ps.chooseBase(pl); d != nil {
			return nil, d
		}
	case before != nil && before.kind == kindAggregate:
		*pl = plan{
			p: ps.p, base: before.base, measures: slices.Clone(before.measures), dims: slices.Clone(before.dims),
			filters: slices.Clone(before.filters),
		}
	default:
		return nil, decline("%s Name the figure that changed.", noCauseWords)
	}
	if pl.kind != kindAggregate || len(pl.measures) != 1 ||
		pl.measures[0].agg != aggSum && pl.measures[0].agg != aggCount || pl.measures[0].entity != nil {
		return nil, decline("%s Only totals and counts can be split by where they changed.", noCauseWords)
	}
	return pl, nil
}

// whyPeriods chooses the two periods: the stated one and the one before it, or the last two full months (or quarters,
// or years) of the data.
func (ps *parser) whyPeriods(pl *plan, dir int) *declined {
	date := ps.dateFor(pl)
	if date == nil || date.max == "" || !pl.base.reaches(date.t) {
		return decline("%s I found no date to compare periods by.", noCauseWords)
	}
	var stated []period
	for _, it := range ps.nouns(itPeriod) {
		p, ok := it.period.resolve(date)
		if !ok || p.from == "" || p.to == "" {
			return decline("I can compare one month, quarter or year with the one before, and “%s” is none.",
				ps.textOf(it))
		}
		it.done = true
		stated = append(stated, p)
	}
	pl.filters = slices.DeleteFunc(pl.filters, func(f filter) bool {
		if len(stated) == 0 && f.op == opPeriod && f.period.size != "" {
			stated = append(stated, f.period)
		}
		return isPeriod(f)
	})
	size := "month"
	if ps.bucket != "" {
		size, ps.bucket = ps.bucket, ""
	}
	for _, d := range pl.dims {
		if d.bucket != "" && d.bucket != "day" && ps.bucket == "" {
			size = d.bucket
		}
	}
	ch := &change{date: date, why: true, dir: dir}
	switch len(stated) {
	case 0:
		ch.to = lastFull(date, size)
		ch.from = ch.to.before()
	case 1:
		ch.to, ch.from = stated[0], stated[0].before()
	case 2:
		if ch.from, ch.to = stated[0], stated[1]; ch.from.from > ch.to.from {
			ch.from, ch.to = ch.to, ch.from
		}
	}
	if len(stated) > 2 || ch.from.to == "" || ch.to.to == "" || ch.from.size != ch.to.size {
		return decline("I can compare one month, quarter or year with the one before, not those periods.")
	}
	if date.min != "" && ch.from.to <= date.min {
		return decline("The data begins on %s, so there is nothing before %s to compare with.", date.min, ch.to.words)
	}
	if dayAfter(date.max) < ch.to.to {
		pl.notes = append(pl.notes, "the data ends on "+date.max)
	}
	pl.change = ch
	return nil
}

// lastFull returns the last calendar unit that the data covers to its end.
func lastFull(c *column, size string) period {
	this, _ := period{relative: "this", unit: size}.resolve(c)
	if dayAfter(c.max) >= this.to {
		return this
	}
	return this.before()
}

// before returns the calendar unit before p, or the zero period if p is not one.
func (p period) before() period {
	from, err := time.Parse(time.DateOnly, p.from)
	if err != nil {
		return period{}
	}
	switch p.size {
	case "year":
		return yearPeriod(from.Year() - 1)
	case "quarter":
		prev := from.AddDate(0, -3, 0)
		return quarterPeriod(prev.Year(), (int(prev.Month())+2)/3)
	case "month":
		prev := from.AddDate(0, -1, 0)
		return monthPeriod(prev.Year(), int(prev.Month()))
	case "week":
		mon := from.AddDate(0, 0, -7)
		return period{
			from: mon.Format(time.DateOnly), to: p.from, words: "week of " + mon.Format(time.DateOnly), size: "week",
		}
	case "day":
		return dayPeriod(from.AddDate(0, 0, -1))
	}
	return period{}
}

// whyDims chooses the columns to split by: the named ones, or all columns nearby with few values.
func (ps *parser) whyDims(pl *plan) *declined {
	fresh := &plan{p: ps.p, base: pl.base, measures: slices.Clone(pl.measures)}
	if d := ps.addDims(fresh); d != nil {
		return d
	}
	if fresh.base != pl.base {
		return decline("%s cannot be split like that.", UpperFirst(pl.measures[0].describe()))
	}
	dims := fresh.dims
	if len(dims) == 0 {
		dims = slices.DeleteFunc(slices.Clone(pl.dims), func(d dim) bool { return d.bucket != "" })
	}
	for _, o := range ps.p.tables {
		if len(fresh.dims) > 0 || len(pl.dims) > 0 && len(dims) > 0 || !pl.base.reaches(o) {
			continue
		}
		for _, c := range o.goodDims() {
			one := slices.ContainsFunc(pl.filters, func(f filter) bool {
				return f.op == opIn && f.col == c && !f.not && len(f.values) == 1
			})
			state := slices.Contains(c.words, "status") // shows today's state, not that of the period
			if c.distinct <= maxGroups && !one && !state && len(dims) < maxSplits {
				dims = append(dims, columnDim(c))
			}
		}
	}
	if len(dims) == 0 {
		return decline("%s I found nothing to split the change by.", noCauseWords)
	}
	pl.dims = dims
	return nil
}

// why returns the statement with the figures of both periods, in total and for each split.
func (w *sqlWriter) why() string {
	pl := w.pl
	parts := []string{w.whyPart(nil)}
	for i := range pl.dims {
		parts = append(parts, w.whyPart(&pl.dims[i]))
	}
	q := func(s string) string { return w.dialect.Quote(s) }
	return "SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") AS " + q("parts") +
		" ORDER BY CASE WHEN " + q("split_by") + " = '" + totalLabel + "' THEN 0 ELSE 1 END, " + q("split_by") +
		", ABS(" + q("change") + ") DESC, " + q("value")
}

// totalLabel is the label of the row with the totals.
const totalLabel = "(all)"

func (w *sqlWriter) whyPart(d *dim) string {
	one := *w.pl
	one.dims = nil
	if d != nil {
		one.dims = []dim{*d}
	}
	part := &sqlWriter{pl: &one, dialect: w.dialect, multi: true, joined: map[*table]bool{}}
	for _, t := range append(part.tables(), one.change.date.t) {
		part.joinTo(t)
	}
	value := "1"
	if m := one.measures[0]; m.agg != aggCount {
		value = part.value(m)
	}
	in := func(p period) string {
		return part.period(filter{op: opPeriod, col: one.change.date, period: p})
	}
	sum := func(p period) string { return "SUM(CASE WHEN " + in(p) + " THEN " + value + " ELSE 0 END)" }
	q := func(s string) string { return w.dialect.Quote(s) }
	from, to := sum(one.change.from), sum(one.change.to)
	label, group := "NULL", ""
	by := totalLabel
	if d != nil {
		expr, keys := part.dimValue(*d)
		by, label, group = d.name, w.dialect.Text.Of(expr), " GROUP BY "+strings.Join(keys, ", ")
	}
	return "SELECT " + quoteText(by) + " AS " + q("split_by") + ", " + label + " AS " + q("value") + ", " + from +
		" AS " + q("before") + ", " + to + " AS " + q("after") + ", " +
		to + " - " + from + " AS " + q("change") + part.source() +
		part.where("(("+in(one.change.from)+") OR ("+in(one.change.to)+"))") + group
}

// dimValue returns the expressions that a dimension shows and groups by.
func (w *sqlWriter) dimValue(d dim) (expr string, keys []string) {
	_, keys = w.dims()
	switch {
	case d.entity != nil && len(d.entity.label) > 0:
		return w.label(d.entity), keys
	case d.entity != nil:
		return w.col(d.entity.key), keys
	}
	return w.col(d.col), keys
}

// writeWhy writes both periods, and where they differ.
func (w *Writer) writeWhy(pl *plan, res Result) {
	if len(res.Rows) == 0 || len(res.Columns) != 5 || Exact(res.Rows[0][0]) != totalLabel {
		w.Text("No rows match, so there is nothing to compare.")
		return
	}
	delta, ok := Number(res.Rows[0][4])
	if !ok {
		w.Text("There are no figures in ")
		w.echo(pl.change.from.words + " and " + pl.change.to.words)
		w.Text(", so there is nothing to compare, and nothing that says why.")
		return
	}
	w.writeMovement(pl, res, 2, delta)
	w.Text(" This shows where the figure changed, not why: it is not a cause.")
	rows := splitRows(res)
	if best := mostUneven(rows, res, delta); best != "" {
		top := movedWithTotal(rows[best], res, delta)
		w.Text(" By ")
		w.label(best)
		switch {
		case delta < 0:
			w.Text(", it fell most for **")
		case delta > 0:
			w.Text(", it rose most for **")
		default:
			w.Text(", it changed most for **")
		}
		w.Cell(res, top, 1, false, false)
		w.Text("**: ")
		w.Cell(res, top, 4, true, false)
		w.Text(" (from ")
		w.Cell(res, top, 2, true, false)
		w.Text(" to ")
		w.Cell(res, top, 3, true, false)
		w.Text(").")
		if len(rows) > 1 {
			w.Text(" Of all columns, the changes differ most across the values of this one.")
		}
		w.writeSplitTable(pl, res, best, rows[best])
	}
}

// writeMovement writes how the total changed, and corrects the question if it assumed otherwise. at is the index of the
// first of the two columns for the periods.
func (w *Writer) writeMovement(pl *plan, res Result, at int, delta float64) {
	dir, verb := 0, " did not change: it was "
	switch {
	case delta < 0:
		dir, verb = -1, " fell from "
	case delta > 0:
		dir, verb = 1, " rose from "
	}
	if pl.change.dir != 0 && dir != pl.change.dir {
		w.Text(map[int]string{-1: "It did not fall. ", 1: "It did not rise. "}[pl.change.dir])
	}
	w.label(UpperFirst(pl.measures[0].name))
	w.Text(verb)
	w.Cell(res, 0, at, true, false)
	w.Text(" in ")
	w.echo(pl.change.from.words)
	w.Text(" to ")
	w.Cell(res, 0, at+1, true, false)
	w.Text(" in ")
	w.echo(pl.change.to.words)
	w.writeScope(pl.filters)
	w.Text(".")
}

// splitRows groups the rows of the result by the column they are split by.
func splitRows(res Result) map[string][]int {
	out := map[string][]int{}
	for i, row := range res.Rows {
		if by := Exact(row[0]); by != totalLabel {
			out[by] = append(out[by], i)
		}
	}
	return out
}

// movedWithTotal returns the row that changed most in the direction of the total, or the first row if the total did not
// change.
func movedWithTotal(rows []int, res Result, delta float64) int {
	for _, r := range rows { // the largest changes first
		if d, ok := Number(res.Rows[r][4]); ok && d*delta > 0 {
			return r
		}
	}
	return rows[0]
}

// mostUneven returns the split whose groups moved most differently from each other.
func mostUneven(splits map[string][]int, res Result, delta float64) string {
	best, most := "", -1.0
	total, _ := Number(res.Rows[0][2])
	for by, rows := range splits {
		uneven := 0.0
		for _, r := range rows {
			was, _ := Number(res.Rows[r][2])
			d, _ := Number(res.Rows[r][4])
			expected := 0.0
			if total != 0 {
				expected = delta * was / total
			}
			uneven += math.Abs(d - expected)
		}
		if uneven > most || uneven == most && by < best {
			best, most = by, uneven
		}
	}
	return best
}

// writeSplitTable writes the groups of one split as a table.
func (w *Writer) writeSplitTable(pl *plan, res Result, by string, rows []int) {
	w.Text("\n\n| " + Clip(by) + " | ")
	w.echo(pl.change.from.words)
	w.Text(" | ")
	w.echo(pl.change.to.words)
	w.Text(" | change |\n| --- | --- | --- | --- |\n")
	for _, r := range rows[:min(10, len(rows))] {
		for c := 1; c < 5; c++ {
			w.Text("| ")
			w.Cell(res, r, c, c > 1, false)
			w.Text(" ")
		}
		w.Text("|\n")
	}
}
