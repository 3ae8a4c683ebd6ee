package offline

import (
	"slices"
)

// isFollowUp reports whether a question continues the previous one: it refers to it, or is too short to be complete.
func isFollowUp(ws []word) bool {
	return refersToPrevious(ws) || len(ws) > 0 && len(ws) <= 3 && !independentStarts[ws[0].low]
}

// independentStarts are words that begin an independent question, unless it refers to the previous one.
var independentStarts = set("what how show draw plot make give")

// refersToPrevious reports whether the words of a question refer to the previous answer.
func refersToPrevious(ws []word) bool {
	if len(ws) == 0 {
		return false
	}
	for i := range ws[:len(ws)-1] {
		if ws[i].low == "of" && set("those these them")[ws[i+1].low] {
			return true
		}
	}
	switch ws[0].low {
	case "and", "only", "just", "but", "now", "instead", "same", "sort", "also", "without", "excluding", "except",
		"by", "per", "split", "break", "as", "plus", "then", "or", "not", "top", "bottom", "order", "group":
		return len(ws) <= 12
	case "what", "how":
		return len(ws) > 2 && ws[1].low == "about"
	case "show", "draw", "plot", "make", "give":
		return anySaid(ws, set("it that those them just only"))
	}
	return anySaid(ws, set("instead that those it them"))
}

// readComplete returns the plan of a question that is complete although it begins like a follow-up, because it has a
// figure and a grouping: "top five customers by revenue". Otherwise it returns nil.
func (p *profile) readComplete(q string, ws []word) *plan {
	if followUpStarts[ws[0].low] || anySaid(ws, referringWords) {
		return nil
	}
	pl, d := newParser(p, q).readAlone()
	if d != nil || pl.kind != kindAggregate || len(pl.dims) == 0 {
		return nil
	}
	return pl
}

// followUpStarts are words that begin a follow-up. referringWords refer to the previous question.
var (
	followUpStarts = set("and only just but now instead same sort also without excluding except by per split break " +
		"as plus then or not order group what how")
	referringWords = set("it that those them this these instead same again")
)

// followFiller are words of follow-ups without any other meaning.
var followFiller = set(
	`only just now instead same again too please one ones first what about how and but it that those them now as well
	make chart show sort sorted order ordered draw plot then or split break down group with me not add also numbers
	data result results`)

// follow reads a question as a change to the previous plan. It keeps the measure, the groups and the filters, and
// changes only what the question names.
func (p *profile) follow(q string, before *plan) (*plan, *declined, int) {
	ps := newParser(p, q)
	ps.prev = before
	for i := range ps.ws {
		if followFiller[ps.ws[i].low] && (ps.ws[i].low != "not" && ps.ws[i].low != "show") && !ps.followKeyword(i) {
			ps.used[i] = true
		}
	}
	ps.find()
	pl := before.clone()
	ps.connect()
	if d := ps.merge(pl); d != nil {
		return nil, d, len(ps.items)
	}
	ps.list = false
	pl, d := ps.finish(pl)
	return pl, d, len(ps.items)
}

// followKeyword reports whether other rules still need a keyword.
func (ps *parser) followKeyword(i int) bool {
	switch ps.ws[i].low {
	case "how":
		return ps.at(i+1) == "many" || ps.at(i+1) == "much" || ps.at(i+1) == "long"
	case "as", "chart", "draw", "plot":
		return true
	}
	return false
}

// merge applies what a follow-up names to the previous plan.
func (ps *parser) merge(pl *plan) *declined {
	changed := ps.chart != ""
	if ps.chart != "" {
		pl.chart = ps.chart
	}
	for _, step := range []func(*plan) (*declined, bool){ps.newMeasure, ps.newDims, ps.newFilters} {
		d, ok := step(pl)
		if d != nil {
			return d
		}
		changed = changed || ok
	}
	if ps.order != 0 {
		switch {
		case len(pl.dims) == 0 && pl.kind == kindAggregate:
			return decline("I could not tell what to rank.")
		default:
			pl.order, changed = ps.order, true
		}
		if ps.which && ps.limit == 0 && len(pl.dims) > 0 && anySaid(ps.ws, set("one who")) {
			pl.limit = 1 // "which one has the most?"
		}
		if pl.kind == kindList && pl.rankBy == nil {
			return decline("I could not tell what to rank by.")
		}
	}
	if ps.limit > 0 {
		pl.limit, changed = ps.limit, true
	}
	if ps.share {
		if len(pl.measures) != 1 || pl.measures[0].agg != aggCount && pl.measures[0].agg != aggSum ||
			len(pl.dims) == 0 {
			return decline("I could not tell what the share is of.")
		}
		pl.share, changed = true, true
	}
	if !changed {
		d := decline("I could not tell what to change about the answer before.")
		d.words = ps.unknown()
		return d
	}
	return ps.leftovers(pl)
}

// newMeasure replaces the computed figure.
func (ps *parser) newMeasure(pl *plan) (*declined, bool) {
	cols := ps.measureColumns()
	named := len(cols) > 0 || len(ps.nouns(itRevenue)) > 0
	aggOnly := ps.agg != "" && !named
	if !named && !aggOnly {
		return nil, false
	}
	fresh := &plan{p: ps.p}
	if d := ps.chooseMeasure(fresh); d != nil {
		return d, false
	}
	if fresh.kind == kindList || len(fresh.measures) == 0 {
		return decline("I could not tell what to compute."), false
	}
	kept := &plan{dims: pl.dims, filters: pl.filters, base: fresh.base}
	for _, t := range (&sqlWriter{pl: kept}).tables() {
		if !fresh.base.reaches(t) {
			return decline("%s cannot be split like that.", UpperFirst(fresh.measures[0].describe())), false
		}
	}
	pl.kind, pl.measures, pl.base, pl.show, pl.rankBy = kindAggregate, fresh.measures, fresh.base, nil, nil
	pl.share = pl.share && ps.share
	pl.notes = append(pl.notes, fresh.notes...)
	return nil, true
}

// newDims replaces the groups, or adds to them if the question says so.
func (ps *parser) newDims(pl *plan) (*declined, bool) {
	if pl.kind == kindList && ps.hasGroups() {
		return decline("I could not tell what to compute by that."), false
	}
	fresh := &plan{p: ps.p, base: pl.base, measures: slices.Clone(pl.measures)}
	if d := ps.addDims(fresh); d != nil {
		return d, false
	}
	if len(fresh.dims) == 0 {
		return nil, false
	}
	if fresh.base != pl.base {
		pl.base, pl.measures = fresh.base, fresh.measures
	}
	add := false
	for _, w := range ps.ws {
		add = add || w.low == "also" || w.low == "too" || w.low == "additionally"
	}
	if !add {
		pl.dims = nil
	}
	for _, d := range fresh.dims {
		if !slices.ContainsFunc(pl.dims, d.same) {
			pl.dims = append(pl.dims, d)
		}
	}
	pl.limit, pl.order, pl.single, pl.compare, pl.having = 0, 0, false, false, nil
	return nil, true
}

// newFilters adds conditions; a condition replaces an older one on the same column.
func (ps *parser) newFilters(pl *plan) (*declined, bool) {
	fresh := &plan{
		p: ps.p, base: pl.base, measures: slices.Clone(pl.measures), dims: slices.Clone(pl.dims), kind: pl.kind,
	}
	if d := ps.addFilters(fresh); d != nil {
		return d, false
	}
	if d := ps.addPeriods(fresh); d != nil {
		return d, false
	}
	pl.base, pl.measures = fresh.base, fresh.measures
	pl.notes = append(pl.notes, fresh.notes...)
	if len(fresh.dims) > len(pl.dims) {
		pl.dims = fresh.dims
	}
	if fresh.having != nil {
		pl.having = fresh.having
	}
	replaced := func(fs []filter, f filter) []filter {
		return slices.DeleteFunc(fs, func(o filter) bool {
			return o.col == f.col && f.col != nil && (o.op == f.op || isPeriod(o) && isPeriod(f))
		})
	}
	for _, f := range fresh.filters {
		if slices.ContainsFunc(pl.shareOf, func(o filter) bool { return o.col == f.col }) {
			pl.shareOf = append(replaced(pl.shareOf, f), f)
			continue
		}
		pl.filters = append(replaced(pl.filters, f), f)
	}
	return nil, len(fresh.filters) > 0 || fresh.having != nil
}

func isPeriod(f filter) bool { return f.op == opPeriod || f.op == opPeriods }
