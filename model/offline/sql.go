package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote/source"
)

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (t *table) from() string { return t.p.dialect.Table(t.schema) }

// sqlWriter turns a plan into a statement of one dialect.
type sqlWriter struct {
	pl      *plan
	dialect *source.Dialect
	wrapped bool // the ordered columns are those of an inner statement
	multi   bool // several tables, so columns are qualified
	bare    bool // no order or limit, because the statement is part of another
	joins   []string
	joined  map[*table]bool
}

func (w *sqlWriter) col(c *column) string {
	if c.expression != "" {
		return "(" + c.expression + ")"
	}
	name := w.dialect.Quote(c.name)
	if w.multi {
		name = w.dialect.Quote(c.t.name) + "." + name
	}
	switch c.epoch {
	case 1:
		return w.dialect.FromSeconds.Of(name)
	case 1000:
		return w.dialect.FromMilliseconds.Of(name)
	}
	return name
}

func (w *sqlWriter) label(t *table) string {
	parts := make([]string, len(t.label))
	for i, c := range t.label {
		parts[i] = w.col(c)
	}
	return strings.Join(parts, " || ' ' || ")
}

// bucket returns the period of a date: 2024, 2024-Q1, 2024-01, 2024-01-31.
func (w *sqlWriter) bucket(c *column, size string) string {
	if c.year {
		return w.col(c)
	}
	if isRecurring(size) {
		return w.dialect.Parts[size].Name.Of(w.moment(c))
	}
	return w.dialect.Periods[size].Of(w.moment(c))
}

// moment returns a date column in the form that date functions accept.
func (w *sqlWriter) moment(c *column) string {
	if c.kind == "date" || c.kind == "timestamp" || c.epoch > 0 {
		return w.col(c)
	}
	return w.dialect.Timestamp.Of(w.col(c))
}

func formatNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// condition returns one filter as SQL.
func (w *sqlWriter) condition(f filter) string {
	var s string
	switch f.op {
	case opIn:
		return w.inList(f)
	case opNull:
		if f.not {
			return w.col(f.col) + " IS NOT NULL"
		}
		return w.col(f.col) + " IS NULL"
	case opTrue:
		s = w.col(f.col)
		if f.col.yes != "" {
			v := f.col.yes
			if f.not {
				v = f.col.values[1-slices.Index(f.col.values, v)]
			}
			return s + " = " + quoteText(v)
		}
		switch {
		case f.col.intBool && f.not:
			return s + " = 0"
		case f.col.intBool:
			return s + " = 1"
		case f.not:
			return "NOT " + w.dialect.Truth.Of(s)
		}
		return w.dialect.Truth.Of(s)
	case opCompare:
		s = w.col(f.col) + f.comparison()
	case opPeriod:
		s = w.period(f)
	case opPeriods:
		var parts []string
		for _, p := range f.periods {
			g := f
			g.period = p
			parts = append(parts, "("+w.period(g)+")")
		}
		s = "(" + strings.Join(parts, " OR ") + ")"
	case opNever:
		return w.neverExists(f)
	}
	if f.not {
		return "NOT (" + s + ")"
	}
	return s
}

// comparison returns the sign and the number of a comparison.
func (f filter) comparison() string {
	if f.sign == "between" {
		return " BETWEEN " + formatNumber(f.num) + " AND " + formatNumber(f.num2)
	}
	return " " + f.sign + " " + formatNumber(f.num)
}

func (w *sqlWriter) inList(f filter) string {
	var parts []string
	for _, v := range f.values {
		parts = append(parts, quoteText(v))
	}
	op, many := "=", "IN"
	if f.not {
		op, many = "<>", "NOT IN"
	}
	c := w.col(f.col)
	s := c + " " + many + " (" + strings.Join(parts, ", ") + ")"
	if len(parts) == 1 {
		s = c + " " + op + " " + parts[0]
	}
	if f.not && f.col.nullable {
		return "(" + s + " OR " + c + " IS NULL)"
	}
	return s
}

func (w *sqlWriter) period(f filter) string {
	q := w.col(f.col)
	p := f.period
	if f.col.year {
		return yearBounds(q, p)
	}
	if p.back > 0 {
		if f.col.stamp {
			q = w.dialect.Date.Of(q)
		}
		n, unit := p.back, p.unit
		if unit == "quarter" {
			n, unit = n*3, "month"
		}
		return q + " > " + w.dialect.Before(f.col.max, n, unit)
	}
	q = w.moment(f.col)
	var parts []string
	if p.from != "" {
		parts = append(parts, q+" >= "+w.dialect.Day.Of(quoteText(p.from)))
	}
	if p.to != "" {
		parts = append(parts, q+" < "+w.dialect.Day.Of(quoteText(p.to)))
	}
	return strings.Join(parts, " AND ")
}

// yearBounds returns a period as a condition on a column of years.
func yearBounds(q string, p period) string {
	var parts []string
	if len(p.from) > 4 {
		parts = append(parts, q+" >= "+p.from[:4])
	}
	if len(p.to) > 4 {
		parts = append(parts, q+" < "+p.to[:4])
	}
	return strings.Join(parts, " AND ")
}

// neverExists keeps the rows of the base to which no row of another table refers.
func (w *sqlWriter) neverExists(f filter) string {
	path := f.never.path(w.pl.base)
	child := path[0].from.t
	inner := &sqlWriter{pl: w.pl, dialect: w.dialect, multi: true}
	sql := "NOT EXISTS (SELECT 1 FROM " + child.from() + alias(w.dialect, child)
	for _, e := range path[:len(path)-1] {
		sql += " JOIN " + e.to.t.from() + alias(w.dialect, e.to.t) + " ON " + inner.col(e.to) + " = " +
			inner.col(e.from)
	}
	last := path[len(path)-1]
	sql += " WHERE " + inner.col(last.from) + " = " + inner.col(last.to)
	sql += ")"
	if f.not {
		return strings.TrimPrefix(sql, "NOT ")
	}
	return sql
}

// alias gives a table of another schema its own name.
func alias(dialect *source.Dialect, t *table) string {
	if t.schema.Schema == "" {
		return ""
	}
	return " AS " + dialect.Quote(t.name)
}

// joinTo adds the joins that lead from the base to a table.
func (w *sqlWriter) joinTo(t *table) {
	if t == w.pl.base || w.joined[t] {
		return
	}
	for _, e := range w.pl.base.path(t) {
		if w.joined[e.to.t] {
			continue
		}
		w.joined[e.to.t] = true
		kind := " JOIN "
		if w.pl.keepsUnmatched() && (e.from.nullable || w.joinedLeft(e.from.t)) {
			kind = " LEFT JOIN "
		}
		w.joins = append(w.joins, kind+e.to.t.from()+alias(w.dialect, e.to.t)+" ON "+w.col(e.to)+" = "+w.col(e.from))
	}
}

func (w *sqlWriter) joinedLeft(t *table) bool {
	for _, j := range w.joins {
		if strings.HasPrefix(j, " LEFT JOIN "+t.from()) {
			return true
		}
	}
	return false
}

// value returns the expression of a measure without its aggregate.
func (w *sqlWriter) value(m measure) string {
	switch {
	case m.times != nil:
		return w.col(m.times) + " * " + w.col(m.col)
	case m.since != nil:
		days := w.dialect.Elapsed.Of(w.col(m.since), w.col(m.col))
		if m.col.stamp && m.since.stamp {
			days = w.dialect.ElapsedTime.Of(w.moment(m.since), w.moment(m.col))
		}
		if m.in == "d" {
			return days
		}
		return formatNumber(unitRatio("d", m.in)) + " * (" + days + ")"
	}
	return w.col(m.col)
}

// measure returns an aggregate as SQL.
func (w *sqlWriter) measure(m measure) string {
	switch {
	case m.agg == aggAvg && m.per != nil:
		return "1.0 * SUM(" + w.value(m) + ") / COUNT(DISTINCT " + w.col(w.pl.base.refTo(m.per)) + ")"
	case m.agg == aggMedian:
		return w.dialect.Median.Of(w.value(m))
	}
	inner, agg := w.parts(m)
	if inner == "1" {
		inner = "*"
	}
	return fmt.Sprintf(agg, inner)
}

func (w *sqlWriter) tables() []*table {
	var ts []*table
	add := func(c *column) {
		if c != nil {
			ts = append(ts, c.t)
		}
	}
	for _, m := range w.pl.measures {
		add(m.col)
		add(m.times)
		if m.entity != nil && m.entity != w.pl.base && w.pl.base.refTo(m.entity) == m.entity.key {
			ts = append(ts, m.entity)
		}
		if m.per != nil && w.pl.base.refTo(m.per) == m.per.key {
			ts = append(ts, m.per)
		}
	}
	for _, d := range w.pl.dims {
		if d.col != nil {
			add(d.col)
		} else {
			ts = append(ts, d.entity)
		}
	}
	for _, f := range append(append([]filter{}, w.pl.filters...), w.pl.shareOf...) {
		add(f.col)
	}
	for _, c := range w.pl.show {
		add(c)
	}
	return ts
}

// sql returns the statement of a plan.
func (pl *plan) sql(dialect *source.Dialect) string {
	w := &sqlWriter{pl: pl, dialect: dialect, joined: map[*table]bool{}}
	tables := w.tables()
	for _, t := range tables {
		w.multi = w.multi || t != pl.base
	}
	for _, f := range pl.filters {
		w.multi = w.multi || f.op == opNever
	}
	for _, t := range tables {
		w.joinTo(t)
	}
	switch {
	case pl.kind == kindList:
		return w.list()
	case pl.wantsFirstGroup():
		return w.withEquals()
	}
	return w.groups()
}

// wantsFirstGroup reports whether the question asks only for the highest or the lowest group.
func (pl *plan) wantsFirstGroup() bool {
	return pl.kind == kindAggregate && pl.limit == 1 && pl.order != 0 && len(pl.dims) > 0 && len(pl.measures) > 0
}

// wantsFirstRow reports whether the question asks only for the row with the highest or the lowest figure, and shows
// more than the figure. Several rows can then have the same figure.
func (pl *plan) wantsFirstRow() bool {
	return pl.kind == kindList && pl.limit == 1 && pl.rankBy != nil && len(pl.dims) == 0 &&
		(len(pl.base.label) > 1 || slices.ContainsFunc(pl.show, func(c *column) bool { return c != pl.rankBy }))
}

// withEquals selects the highest or the lowest group and all equal ones. LIMIT 1 would present one of them as the only
// one.
func (w *sqlWriter) withEquals() string {
	w.bare = true
	inner, figure, best := w.groups(), w.dialect.Quote(w.pl.measures[0].as), "MAX"
	if w.pl.order > 0 {
		best = "MIN"
	}
	once := "" // compute the figures only once, because sums of floats may differ in their last digit
	if w.dialect.Materialized {
		once = "MATERIALIZED "
	}
	name := w.dialect.Quote("ranked")
	sql := "WITH " + name + " AS " + once + "(" + inner + ") SELECT * FROM " + name + " WHERE " + figure +
		" = (SELECT " + best + "(" + figure + ") FROM " + name + ") ORDER BY 1"
	for i := range w.pl.dims[1:] {
		sql += ", " + strconv.Itoa(i+2)
	}
	return sql
}

// groups selects figures, by group if there are any.
func (w *sqlWriter) groups() string {
	ms := w.pl.measures
	switch {
	case w.dialect.Median == "" && slices.ContainsFunc(ms, func(m measure) bool { return m.agg == aggMedian }):
		return w.middleOfRows()
	}
	return w.aggregate()
}

func (w *sqlWriter) where(extra ...string) string {
	conds := extra
	for _, f := range w.pl.filters {
		conds = append(conds, w.condition(f))
	}
	if len(conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conds, " AND ")
}

func (w *sqlWriter) source() string {
	return " FROM " + w.pl.base.from() + alias(w.dialect, w.pl.base) + strings.Join(w.joins, "")
}

// dims returns the expressions to select and to group by.
func (w *sqlWriter) dims() (sel, group []string) {
	for _, d := range w.pl.dims {
		as := " AS " + w.dialect.Quote(d.as)
		switch {
		case d.bucket != "":
			e := w.bucket(d.col, d.bucket)
			sel, group = append(sel, e+as), append(group, e)
			if isRecurring(d.bucket) {
				if key := w.dialect.Parts[d.bucket].Order.Of(w.moment(d.col)); key != e {
					group = append(group, key)
				}
			}
		case d.entity != nil && len(d.entity.label) > 0:
			e := w.label(d.entity)
			sel = append(sel, e+as)
			if d.entity.key != nil {
				group = append(group, w.col(d.entity.key))
			}
			for _, c := range d.entity.label {
				group = append(group, w.col(c))
			}
		case d.entity != nil:
			sel, group = append(sel, w.col(d.entity.key)+as), append(group, w.col(d.entity.key))
		default:
			sel, group = append(sel, w.col(d.col)+as), append(group, w.col(d.col))
		}
	}
	return sel, group
}

func (w *sqlWriter) aggregate() string {
	sel, group := w.dims()
	for _, m := range w.pl.measures {
		sel = append(sel, w.share(m)+" AS "+w.dialect.Quote(m.as))
	}
	sql := w.finish("SELECT "+strings.Join(sel, ", ")+w.source()+w.where(), group)
	if !w.bare && w.pl.chart == "line" && w.pl.order != 0 && len(w.pl.dims) > 0 && w.pl.dims[0].bucket != "" {
		// a line chart needs its points in order of time
		return "SELECT * FROM (" + sql + ") AS " + w.dialect.Quote("ranked") + " ORDER BY 1"
	}
	return sql
}

// share returns the measure or, if shares are asked for, its percentage.
func (w *sqlWriter) share(m measure) string {
	if !w.pl.share {
		return w.measure(m)
	}
	if len(w.pl.shareOf) == 0 {
		e := w.measure(m)
		return "100.0 * " + e + " / SUM(" + e + ") OVER ()"
	}
	var conds []string
	for _, f := range w.pl.shareOf {
		conds = append(conds, w.condition(f))
	}
	cond := strings.Join(conds, " AND ")
	switch {
	case m.agg == aggCount && m.entity == nil:
		return "100.0 * SUM(CASE WHEN " + cond + " THEN 1 ELSE 0 END) / COUNT(*)"
	case m.agg == aggCount:
		k := w.col(w.pl.base.refTo(m.entity))
		return "100.0 * COUNT(DISTINCT CASE WHEN " + cond + " THEN " + k + " END) / COUNT(DISTINCT " + k + ")"
	}
	return "100.0 * SUM(CASE WHEN " + cond + " THEN " + w.value(m) + " ELSE 0 END) / SUM(" + w.value(m) + ")"
}

func (w *sqlWriter) finish(sql string, group []string) string {
	pl := w.pl
	if len(group) > 0 {
		sql += " GROUP BY " + strings.Join(group, ", ")
	}
	if pl.having != nil {
		sql += " HAVING " + w.measure(pl.measures[0]) + pl.having.comparison()
	}
	return sql + w.order()
}

func (w *sqlWriter) order() string {
	pl := w.pl
	if len(pl.dims) == 0 || w.bare {
		return ""
	}
	var keys []string
	byMeasure := func(desc bool) {
		k := w.dialect.Quote(pl.measures[0].as)
		if desc {
			k += " DESC"
		}
		keys = append(keys, k)
	}
	switch {
	case pl.order != 0:
		byMeasure(pl.order < 0)
	case isRecurring(pl.dims[0].bucket) && !w.wrapped:
		keys = append(keys, w.dialect.Parts[pl.dims[0].bucket].Order.Of(w.moment(pl.dims[0].col)))
	case pl.dims[0].bucket != "":
	case len(pl.dims) == 1 && len(pl.measures) > 0:
		byMeasure(true)
	}
	for i := range pl.dims {
		keys = append(keys, strconv.Itoa(i+1))
	}
	sql := " ORDER BY " + strings.Join(keys, ", ")
	if pl.limit > 0 {
		sql += w.dialect.First(pl.limit)
	}
	return sql
}

// list selects rows rather than aggregates.
func (w *sqlWriter) list() string {
	pl := w.pl
	if len(pl.dims) > 0 { // distinct values of a column
		sel, _ := w.dims()
		var notNull []string
		for _, d := range pl.dims {
			if d.col != nil && d.col.nullable {
				notNull = append(notNull, w.col(d.col)+" IS NOT NULL")
			}
		}
		return "SELECT DISTINCT " + strings.Join(sel, ", ") + w.source() + w.where(notNull...) + " ORDER BY 1" +
			w.limit(1000)
	}
	var sel []string
	named := len(pl.base.label) > 1
	if named {
		sel = append(sel, w.label(pl.base)+" AS "+w.dialect.Quote("name"))
	}
	for _, c := range pl.show {
		e := w.col(c)
		if c.epoch > 0 {
			e += " AS " + w.dialect.Quote(c.name)
		}
		sel = append(sel, e)
	}
	sql := "SELECT " + strings.Join(sel, ", ") + w.source()
	var extra []string
	if pl.rankBy != nil && pl.rankBy.nullable {
		extra = append(extra, w.col(pl.rankBy)+" IS NOT NULL")
	}
	if pl.wantsFirstRow() {
		return sql + w.where(w.col(pl.rankBy)+" = "+w.extremeValue()) + " ORDER BY 1" + w.dialect.First(1000)
	}
	sql += w.where(extra...)
	if by := cmp.Or(pl.rankBy, pl.base.key); by != nil {
		sql += " ORDER BY " + w.col(by)
	}
	if pl.rankBy != nil && pl.order < 0 {
		sql += " DESC"
	}
	return sql + w.limit(1000)
}

// extremeValue returns the highest or the lowest value of the ranking column.
func (w *sqlWriter) extremeValue() string {
	agg := "MAX"
	if w.pl.order >= 0 {
		agg = "MIN"
	}
	return "(SELECT " + agg + "(" + w.col(w.pl.rankBy) + ")" + w.source() + w.where() + ")"
}

func (w *sqlWriter) limit(otherwise int) string {
	if w.pl.limit > 0 {
		otherwise = w.pl.limit
	}
	return w.dialect.First(otherwise)
}
