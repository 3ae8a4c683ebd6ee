package offline

import (
	"slices"
)

// A question can ask for several figures at once: "average and highest fee", "number of orders and revenue by region".
// Each figure is an aggregate over a noun; all are columns of one result.

const maxFigures = 5

// aggregateAt is an aggregate and its position in the question.
type aggregateAt struct {
	agg  string
	at   int
	rank bool // highest or lowest, which rank unless the question asks for both
}

// figureRequest is a noun with the aggregates that the question asks for.
type figureRequest struct {
	it   *item
	aggs []string
}

// severalFigures returns the measures of a question that asks for more than one; otherwise ok is false.
func (ps *parser) severalFigures(pl *plan) (d *declined, ok bool) {
	if ps.share || ps.compare || ps.never || ps.prev != nil {
		return nil, false
	}
	theirs := anySaid(ps.ws, set("their its"))
	if (ps.list || theirs) && len(ps.aggs) == 0 && !ps.hasGroups() || ps.asksAverageCount() {
		return nil, false
	}
	ps.extremes = ps.conflict || ps.extremeIsFigure()
	figs := ps.figures()
	n := 0
	for _, f := range figs {
		n += len(f.aggs)
	}
	if n < 2 {
		return nil, false
	}
	if n > maxFigures {
		return decline("I can give at most five figures at a time."), true
	}
	return ps.measureAll(pl, figs), true
}

// extremeIsFigure reports whether "highest" is one of several figures, as in "average and highest cost", and not what
// to rank by.
func (ps *parser) extremeIsFigure() bool {
	if ps.which || ps.limit > 0 || ps.orderAt < 0 || ps.rankCols != nil ||
		!set("highest lowest largest smallest biggest greatest")[ps.at(ps.orderAt)] {
		return false
	}
	other := slices.ContainsFunc(ps.aggs, func(a aggregateAt) bool { return !a.rank })
	before, after := ps.at(ps.orderAt-1), ps.at(ps.orderAt+1)
	if before == "the" {
		before = ps.at(ps.orderAt - 2)
	}
	return other && (before == "and" || after == "and" || ps.ws[ps.orderAt].stop)
}

// asksAverageCount reports whether the question asks for the average number of rows.
func (ps *parser) asksAverageCount() bool {
	for i, a := range ps.aggs[:max(0, len(ps.aggs)-1)] {
		next := ps.aggs[i+1]
		between := slices.ContainsFunc(ps.items, func(it *item) bool { return it.lo > a.at && it.hi <= next.at })
		if singleAggs[a.agg] && !a.rank && next.agg == aggCount && !between {
			return true
		}
	}
	return false
}

// figures returns the nouns of a question that have figures, joined by "and".
func (ps *parser) figures() []figureRequest {
	var out []figureRequest
	last := 0
	for k, it := range ps.items {
		if !ps.measurable(it) {
			continue
		}
		if len(out) > 0 && !ps.joined(last, it.lo) {
			break
		}
		aggs := ps.aggsIn(last, it.lo)
		switch {
		case len(aggs) == 0 && it.kind == itTable && len(out) == 0 && !ps.joinsFigure(k):
			continue // "for products, the average price and weight"
		case len(aggs) == 0 && it.kind == itTable:
			aggs = []string{aggCount}
		case len(aggs) == 0 && len(out) > 0 && singleAggs[out[len(out)-1].aggs[0]]:
			aggs = slices.Clone(out[len(out)-1].aggs) // "average price and pages"
		case len(aggs) == 0:
			aggs = []string{""}
		}
		out = append(out, figureRequest{it, aggs})
		last = it.hi
	}
	return out
}

// measurable reports whether an item can have figures.
func (ps *parser) measurable(it *item) bool {
	if it.done || it.dim || it.qual || it.neg || it.verb {
		return false
	}
	switch it.kind {
	case itRevenue:
		return true
	case itTable:
		return len(it.tables) == 1
	case itColumn:
		return slices.ContainsFunc(it.cols, func(c *column) bool { return c.role == roleMeasure }) ||
			it.col().role == roleDimension && len(ps.aggsIn(max(0, it.lo-3), it.lo)) > 0
	}
	return false
}

// joinsFigure reports whether "and" or a comma joins the k-th item, a table, to a figure after it: "contracts and total
// by customer".
func (ps *parser) joinsFigure(k int) bool {
	next := ps.nextItem(k)
	return next != nil && ps.measurable(next) && next.kind != itTable && ps.joined(ps.items[k].hi, next.lo)
}

// joined reports whether "and" or a comma joins the words before lo and from hi on, with only small words in between.
func (ps *parser) joined(lo, hi int) bool {
	and := hi < len(ps.ws) && ps.ws[hi].stop
	for k := lo; k < hi; k++ {
		w := ps.ws[k]
		and = and || w.low == "and" || w.low == "plus" || w.low == "with" && len(ps.aggsIn(k, hi)) > 0 || w.stop
		if !filler[w.low] && !ps.used[k] && w.low != "plus" && w.low != "well" && !lightVerbs[w.low] {
			return false
		}
		it := ps.itemAt(k)
		if negationWords[w.low] || it != nil && !it.qual && !it.dim {
			return false
		}
	}
	return and
}

// aggsIn returns the aggregates named in [lo, hi).
func (ps *parser) aggsIn(lo, hi int) []string {
	var out []string
	for _, a := range ps.aggs {
		if a.at < lo || a.at >= hi || a.rank && !ps.extremes {
			continue
		}
		n := len(out)
		switch {
		case slices.Contains(out, a.agg):
		case n > 0 && (a.agg == aggDistinct && out[n-1] == aggCount || a.agg == aggCount && out[n-1] == aggDistinct):
			out[n-1] = aggDistinct // "number of different"
		case n > 0 && a.agg == aggCount && out[n-1] == aggSum, n > 0 && a.agg == aggSum && singleAggs[out[n-1]]:
			// "total number of", "average total"
			out[n-1] = map[bool]string{true: aggCount, false: out[n-1]}[a.agg == aggCount]
		default:
			out = append(out, a.agg)
		}
	}
	return out
}

// measureAll chooses the rows that all figures are computed over, and the measures.
func (ps *parser) measureAll(pl *plan, figs []figureRequest) *declined {
	var ms []measure
	for _, f := range figs {
		for _, agg := range f.aggs {
			m, d := ps.figureMeasure(f.it, agg)
			if d != nil {
				return d
			}
			ms = append(ms, m)
		}
	}
	base := ps.commonBase(ms)
	if base == nil {
		return decline("I cannot compute those figures over the same rows; ask for one at a time.")
	}
	for i := range ms {
		m := &ms[i]
		if m.agg != aggCount {
			if m.col.t != base && m.agg != aggDistinct && m.agg != aggMin && m.agg != aggMax {
				return decline("One row of %s would be counted several times beside those of %s; ask for one figure "+
					"at a time.", m.col.t.title(), base.title())
			}
			continue
		}
		if m.entity == base {
			m.entity = nil
		}
	}
	for _, f := range figs {
		f.it.done = true
	}
	ps.second, ps.conflict = "", false
	if ps.extremes {
		ps.order, pl.order, ps.orderAt = 0, 0, -1
	}
	pl.measures, pl.base = ms, base
	return nil
}

// figureMeasure returns one figure. The entity of a count is its table, whichever rows are counted.
func (ps *parser) figureMeasure(it *item, agg string) (measure, *declined) {
	switch it.kind {
	case itTable:
		t := it.table()
		if agg == aggCount || agg == aggDistinct || agg == aggSum {
			return measure{agg: aggCount, entity: t, name: countName(t)}, nil
		}
		c := t.money()
		if c == nil {
			return measure{}, decline("I could not tell which figure of %s to compute.", t.title())
		}
		return measure{agg: agg, col: c}, nil
	case itRevenue:
		m, ok := ps.p.revenue()
		if !ok {
			return m, decline("There is nothing in the data that I can read as “%s”.", ps.textOf(it))
		}
		if agg != "" && agg != aggCount {
			m.agg = agg
		}
		return m, nil
	}
	c, ok := ps.pick(measuresOf(it.cols))
	switch {
	case !ok:
		return measure{}, ps.ambiguous(it)
	}
	switch {
	case agg == aggDistinct:
	case agg == "" || agg == aggCount:
		agg = aggSum
		if isMeanOnly(c) {
			agg = aggAvg
		}
	case agg == aggSum && isMeanOnly(c):
		return measure{}, decline("Adding up %s makes no sense; ask for the average instead.", c.title())
	}
	return measure{agg: agg, col: c}, nil
}

// commonBase returns the table whose rows have what all measures need.
func (ps *parser) commonBase(ms []measure) *table {
	var base *table
	for _, m := range ms {
		t := m.entity
		if m.col != nil {
			t = m.col.t
		}
		switch {
		case base == nil || t.reaches(base):
			base = t
		case !base.reaches(t):
			if base = ps.p.lowest(base, t); base == nil {
				return nil
			}
		}
	}
	return base
}

// writeFigures writes an answer with several numbers.
func (w *Writer) writeFigures(pl *plan, res Result) {
	w.Text("The ")
	for i, m := range pl.measures {
		switch {
		case i > 0 && i == len(pl.measures)-1:
			w.Text(" and the ")
		case i > 0:
			w.Text(", the ")
		}
		w.say(label(m.name), " is **", cell{res, 0, i, true, false}, "**")
	}
	w.writeScope(pl.filters)
	w.Text(".")
}
