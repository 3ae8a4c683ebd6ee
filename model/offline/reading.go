package offline

import (
	"slices"
	"strconv"
	"strings"
)

// This file describes how a question was understood.

// writeReading writes how the question was understood.
func (w *Writer) writeReading(r *reading) {
	if r.named {
		w.say("Source: ", label(Clip(r.source)), ". ")
	}
	w.say("Reading: ", echo(r.words()))
	if r.named && r.found != nil && len(r.found.unavailable)+len(r.found.skipped) > 0 {
		w.Text(".")
		r.found.sayUnread(w)
	}
}

// words returns the reading of a plan in one line.
func (r *reading) words() string {
	if r.plan == nil || r.plan.kind == kindRaw {
		return "the SQL as you typed it"
	}
	pl := r.plan
	var parts []string
	switch {
	case pl.kind == kindList && len(pl.dims) > 0:
		parts = append(parts, "different values of "+pl.dims[0].name+" in "+pl.base.title())
	case pl.kind == kindList:
		parts = append(parts, "rows of "+pl.base.title())
	default:
		for _, m := range pl.measures {
			parts = append(parts, m.reading(pl))
		}
	}
	for _, f := range append(slices.Clone(pl.shareOf), pl.filters...) {
		parts = append(parts, f.reading())
	}
	var by []string
	for _, d := range pl.dims {
		name := d.name
		if d.col != nil && d.bucket == "" && pl.p != nil && pl.p.namesakes(d.col) {
			name += " of " + d.col.t.title()
		}
		if d.bucket != "" {
			name += " of " + d.col.title()
		}
		by = append(by, name)
	}
	if len(by) > 0 && pl.kind == kindAggregate {
		parts = append(parts, "by "+strings.Join(by, " and "))
	}
	if pl.having != nil {
		parts = append(parts, pl.measures[0].name+" "+pl.having.comparisonWords())
	}
	switch {
	case pl.rankBy != nil:
		parts = append(parts, pl.end()+pl.rankBy.title()+" first")
	case pl.order < 0:
		parts = append(parts, "highest first")
	case pl.order > 0:
		parts = append(parts, "lowest first")
	}
	switch {
	case pl.wantsFirstGroup() || pl.wantsFirstRow():
		parts = append(parts, "the first, with any equal to it")
	case pl.limit > 0:
		parts = append(parts, "the first "+strconv.Itoa(pl.limit))
	}
	return strings.Join(append(parts, pl.notes...), " · ")
}

// namesakes reports whether another table has a column with the same name.
func (p *profile) namesakes(c *column) bool {
	return slices.ContainsFunc(p.tables, func(t *table) bool {
		o := t.col(c.name)
		return t != c.t && o != nil && o.role == c.role
	})
}

// reading returns a measure with the columns it uses.
func (m measure) reading(pl *plan) string {
	s := m.name
	switch {
	case m.times != nil:
		s += " = " + m.times.name + " × " + m.col.name
	case m.col != nil && m.name == "revenue":
		s += " = " + m.col.t.name + "." + m.col.name
	case m.entity != nil:
		s = "number of different " + m.entity.many() + " in " + pl.base.title()
	}
	if pl.share {
		s = "share of " + strings.TrimPrefix(s, "number of ") + " in percent"
	}
	return s
}

func (f filter) comparisonWords() string {
	if f.sign == "between" {
		return "between " + formatNumber(f.num) + " and " + formatNumber(f.num2)
	}
	return f.sign + " " + formatNumber(f.num)
}

// reading returns a filter as the reading shows it.
func (f filter) reading() string {
	switch f.op {
	case opPeriod:
		return f.col.title() + ": " + f.period.words
	case opPeriods:
		return f.col.title() + ": " + f.describe()
	}
	return f.describe()
}

// describe returns a filter in words.
func (f filter) describe() string {
	not := ""
	if f.not {
		not = "not "
	}
	switch f.op {
	case opIn:
		sign := " = "
		if f.not {
			sign = " ≠ "
		}
		return f.col.title() + sign + Clip(strings.Join(f.values, " or "))
	case opTrue:
		return not + f.col.flagWords()
	case opCompare:
		return f.col.title() + " " + f.comparisonWords()
	case opPeriod:
		return f.period.words
	case opPeriods:
		var ws []string
		for _, p := range f.periods {
			ws = append(ws, p.words)
		}
		return strings.Join(ws, " and ")
	}
	return f.words
}

// flagWords returns the words of a yes/no column as written in the data: paid, not pay.
func (c *column) flagWords() string {
	ws := slices.DeleteFunc(spellName(c.core, false), func(w string) bool { return optionalWords[w] })
	if len(ws) == 0 {
		return c.title()
	}
	return strings.Join(ws, " ")
}

// thought returns the reason for the query in one line.
func (r *reading) thought() string { return cut("Reading: "+r.words(), 300) }
