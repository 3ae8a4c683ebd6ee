package offline

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file handles figures over time: by recurring parts (the days of the week), growth from period to period, and
// running totals.

// overTime completes growth and running totals once the groups are known, and the weekdays that a question is limited
// to.
func (ps *parser) overTime(pl *plan) *declined {
	if len(ps.weekdays) > 0 {
		if d := ps.onDays(pl); d != nil {
			return d
		}
	}
	if !ps.growth && !ps.running {
		return nil
	}
	word := map[bool]string{true: "growth", false: "a running total"}[ps.growth]
	if len(pl.dims) == 0 || pl.dims[0].bucket == "" {
		c := ps.dateFor(pl)
		if c == nil || ps.ensureReach(pl, c.t) != nil {
			return decline("I found no date to follow %s by.", word)
		}
		size := ps.naturalSize(c)
		pl.notes = append(pl.notes, "by "+size+", as no period was named")
		pl.dims = append([]dim{{col: c, bucket: size}}, pl.dims...)
	}
	switch {
	case len(pl.dims) != 1 || isRecurring(pl.dims[0].bucket) || len(pl.measures) != 1 || pl.kind != kindAggregate:
		return decline("I can follow %s of one figure from period to period, not by anything else.", word)
	case ps.running && pl.measures[0].agg != aggSum && (pl.measures[0].agg != aggCount || pl.measures[0].entity != nil):
		return decline("Only totals and counts of rows add up to a running total.")
	case ps.growth && (pl.share || pl.order != 0 || pl.limit > 0):
		return decline("I cannot rank or share out growth; ask for it by period.")
	}
	pl.growth, pl.running = ps.growth, ps.running && !ps.growth
	return nil
}

// naturalSize returns the period to group a date column by if the question names none.
func (ps *parser) naturalSize(c *column) string {
	if c.year {
		return "year"
	}
	return "month"
}

// onDays keeps the rows of certain days of the week. It groups by day if the question compares several.
func (ps *parser) onDays(pl *plan) *declined {
	c := ps.dateFor(pl)
	if c == nil || c.year {
		return decline("There is no date in the data that a day of the week could be of.")
	}
	if d := ps.ensureReach(pl, c.t); d != nil {
		return d
	}
	var names []string
	for _, n := range ps.weekdays {
		names = append(names, weekdayNames[n-1])
	}
	ps.weekdays = nil
	pl.filters = append(pl.filters, filter{
		op: opWeekday, col: c, values: names, words: c.title() + " on " + strings.Join(names, " or "),
	})
	if ps.compare && len(names) > 1 && pl.kind == kindAggregate {
		pl.dims = append(pl.dims, dim{col: c, bucket: "weekday"})
	}
	return nil
}

// onDays returns the condition that a date is on certain days of the week.
func (w *sqlWriter) onDays(f filter) string {
	var days []time.Weekday
	for _, v := range f.values {
		days = append(days, time.Weekday((slices.Index(weekdayNames, v)+1)%7))
	}
	return w.dialect.OnWeekdays(w.moment(f.col), days)
}

var monthNames = strings.Fields("January February March April May June July August September October November December")

// positionInCycle returns an expression for the position of a part's name in its cycle.
func positionInCycle(name, part string) string {
	names := map[string][]string{"weekday": weekdayNames, "month of the year": monthNames}[part]
	if names == nil {
		return name
	}
	e := "CASE " + name
	for i, n := range names {
		e += " WHEN " + quoteText(n) + " THEN " + strconv.Itoa(i)
	}
	return e + " END"
}

// overPeriods wraps the statement for a figure by period into that for its growth or running total.
func (w *sqlWriter) overPeriods(sql string) string {
	q := func(s string) string { return w.dialect.Quote(s) }
	at, v := q(w.pl.dims[0].as), q(w.pl.measures[0].as)
	from := " FROM (" + sql + ") AS " + q("periods") + " WHERE " + at + " IS NOT NULL ORDER BY 1"
	if w.pl.running {
		return "SELECT " + at + ", SUM(" + v + ") OVER (ORDER BY " + at + ") AS " + q(runningName) + from
	}
	before := "LAG(" + v + ") OVER (ORDER BY " + at + ")"
	return "SELECT " + at + ", " + v + ", 100.0 * (" + v + " - " + before + ") / NULLIF(" + before + ", 0) AS " +
		q(growthName) + from
}

const (
	growthName  = "growth_percent"
	runningName = "running_total"
)

// writeGrowth writes growth from period to period.
func (w *Writer) writeGrowth(pl *plan, res Result) {
	w.Text("Growth of " + pl.measures[0].name + " from " + pl.dims[0].bucket + " to " + pl.dims[0].bucket +
		", in percent")
	c := len(res.Columns) - 1
	hi, lo := extremes(res, c)
	if hi < 0 {
		w.Text(": there is no " + pl.dims[0].bucket + " to compare with.")
		w.writeTable(res, pl, true)
		return
	}
	w.Text(": it was highest in ")
	w.writeLabels(pl, res, hi)
	w.Text(" with **")
	w.Cell(res, hi, c, true, true)
	w.Text("**")
	if lo != hi {
		w.Text(" and lowest in ")
		w.writeLabels(pl, res, lo)
		w.Text(" with **")
		w.Cell(res, lo, c, true, true)
		w.Text("**")
	}
	w.Text(".")
	w.writeTable(res, pl, true)
}

// writeRunningTotal writes a running total.
func (w *Writer) writeRunningTotal(pl *plan, res Result) {
	last := len(res.Rows) - 1
	w.Text("The running total of " + pl.measures[0].name + " reaches **")
	w.Cell(res, last, len(res.Columns)-1, true, false)
	w.Text("** in ")
	w.writeLabels(pl, res, last)
	w.Text(".")
	w.writeTable(res, pl, true)
}
