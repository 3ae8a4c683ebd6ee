package offline

import (
	"fmt"
	"strings"
)

// This file computes medians, also for engines without such a function.

// middleOfRows computes the mean of the one or two middle values if the engine has no median. Other measures are
// computed in the same statement.
func (w *sqlWriter) middleOfRows() string {
	sel, group := w.dims()
	q := func(s string) string { return w.dialect.Quote(s) }
	over := ""
	if len(group) > 0 {
		over = "PARTITION BY " + strings.Join(group, ", ")
	}
	var outer, where []string
	for _, d := range w.pl.dims {
		outer = append(outer, q(d.as))
	}
	by := len(outer)
	for i, m := range w.pl.measures {
		v, k, n := q(fmt.Sprintf("v%d", i)), q(fmt.Sprintf("k%d", i)), q(fmt.Sprintf("n%d", i))
		inner, agg := w.parts(m)
		sel = append(sel, inner+" AS "+v)
		if m.agg != aggMedian {
			outer = append(outer, fmt.Sprintf(agg, v)+" AS "+q(m.as))
			continue
		}
		if len(w.pl.measures) == 1 {
			where = append(where, inner+" IS NOT NULL")
		}
		order := " ORDER BY CASE WHEN " + inner + " IS NULL THEN 1 ELSE 0 END, " + inner
		sel = append(sel, "ROW_NUMBER() OVER ("+strings.TrimSpace(over+order)+") AS "+k,
			"COUNT("+inner+") OVER ("+over+") AS "+n)
		outer = append(outer, "AVG(CASE WHEN "+w.middle(k, n)+" THEN "+v+" END) AS "+q(m.as))
	}
	sql := "SELECT " + strings.Join(outer, ", ") + " FROM (SELECT " + strings.Join(sel, ", ") + w.source() +
		w.where(where...) + ") AS " + q("numbered")
	if by > 0 {
		sql += " GROUP BY " + strings.Join(outer[:by], ", ")
	}
	w.wrapped = true
	return sql + w.order()
}

// middle returns the condition that the kth of n rows is one of the one or two in the middle.
func (w *sqlWriter) middle(k, n string) string {
	return k + " IN (" + w.dialect.Divide.Of("("+n+" + 1)", "2") + ", " + w.dialect.Divide.Of("("+n+" + 2)", "2") + ")"
}

// parts returns a measure as an expression over one row and the aggregate over it.
func (w *sqlWriter) parts(m measure) (inner, agg string) {
	switch {
	case m.agg == aggCount && m.entity != nil && w.pl.base.refTo(m.entity) != nil:
		return w.col(w.pl.base.refTo(m.entity)), "COUNT(DISTINCT %s)"
	case m.agg == aggCount:
		return "1", "COUNT(%s)"
	case m.agg == aggDistinct:
		return w.value(m), "COUNT(DISTINCT %s)"
	}
	if m.agg == aggAvg {
		return w.value(m), w.dialect.Mean.Of("%s")
	}
	return w.value(m), strings.ToUpper(m.agg) + "(%s)"
}
