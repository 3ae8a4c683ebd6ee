package profile

import (
	"fmt"
	"strings"

	"github.com/footnotehq/footnote"
)

func numeric(kind string) bool {
	return kind == footnote.KindInteger || kind == footnote.KindNumber || kind == footnote.KindDecimal
}

func temporal(kind string) bool {
	return kind == footnote.KindDate || kind == footnote.KindTimestamp
}

// statsSQL returns the statement for the statistics of a column, depending on its kind.
func (at place) statsSQL() string {
	count := "SELECT count(*)" + at.as("rows") + ", count(*) - count(x)" + at.as("nulls")
	distinct := ", count(DISTINCT x)" + at.as("distinct")
	ends := ", min(x)" + at.as("min") + ", max(x)" + at.as("max")
	v := at.values()
	switch kind := at.column.Kind; {
	case numeric(kind):
		return at.numericSQL(v)
	case kind == footnote.KindText:
		return v + " " + count + distinct + ends +
			", count(CASE WHEN length(x) = 0 THEN 1 END)" + at.as("empty") +
			", min(length(x))" + at.as("min_length") +
			", max(length(x))" + at.as("max_length") +
			", " + at.dialect.Mean.Of("length(x)") + at.as("mean_length") + " FROM v"
	case temporal(kind):
		return v + " " + count + distinct + ends + at.days() + " FROM v"
	case kind == footnote.KindBoolean:
		return v + " " + count +
			", count(CASE WHEN " + at.dialect.Truth.Of("x") + " THEN 1 END)" + at.as("true") +
			", count(CASE WHEN NOT " + at.dialect.Truth.Of("x") + " THEN 1 END)" + at.as("false") + " FROM v"
	case kind == footnote.KindUnknown || kind == footnote.KindTime:
		return v + " " + count + distinct + ends + " FROM v"
	default: // JSON and blobs have no useful order
		return v + " " + count + " FROM v"
	}
}

// numericSQL leaves out and counts what is not a number in a column that holds values of any type: it would count as 0
// in a mean and as the maximum. Where the engine has no median, it is the mean of the one or two middle values, by row
// number.
func (at place) numericSQL(v string) string {
	only, odd := at.numbers(), ""
	if !at.dialect.Typed() {
		odd = ", count(x) - (SELECT count(*) FROM n)" + at.as("not_numeric")
	}
	var b strings.Builder
	b.WriteString(v)
	b.WriteString(", n AS (SELECT x FROM v WHERE " + only + ")")
	b.WriteString(", a AS (SELECT " + at.dialect.Mean.Of("x") + " AS mean FROM n)")
	median := "(SELECT " + at.dialect.Mean.Of("x") + " FROM (SELECT x, row_number() OVER (ORDER BY x) AS i, " +
		"count(*) OVER () AS c FROM n) AS o WHERE 2 * i BETWEEN c AND c + 2)"
	if at.dialect.Median != "" {
		median = "(SELECT " + at.dialect.Median.Of("x") + " FROM n)"
	}
	stddev := "(SELECT sqrt(sum((x - mean) * (x - mean)) / nullif(count(*) - 1, 0)) FROM n CROSS JOIN a)"
	if at.dialect.StdDev != "" { // it needs less memory
		stddev = "(SELECT " + at.dialect.StdDev.Of("x") + " FROM n)"
	}
	b.WriteString(" SELECT count(*)" + at.as("rows") + ", count(*) - count(x)" + at.as("nulls") + odd)
	b.WriteString(", (SELECT count(DISTINCT x) FROM n)" + at.as("distinct"))
	b.WriteString(", (SELECT min(x) FROM n)" + at.as("min") + ", (SELECT max(x) FROM n)" + at.as("max"))
	b.WriteString(", (SELECT mean FROM a)" + at.as("mean"))
	b.WriteString(", " + median + at.as("median") + ", " + stddev + at.as("stddev") + " FROM v")
	return b.String()
}

// days returns the number of calendar days from the first to the last date, if the dialect can compute it.
func (at place) days() string {
	if at.dialect.CalendarDays == "" {
		return ""
	}
	return ", " + at.dialect.CalendarDays.Of("min(x)", "max(x)") + at.as("days")
}

// numbers returns the condition that x is a number.
func (at place) numbers() string {
	if at.dialect.Typed() {
		return "x IS NOT NULL"
	}
	return at.dialect.IsNumber.Of("x")
}

// topSQL selects the most frequent values. Every row contains the totals, so that a footnote can cite them.
func (at place) topSQL(limit int) string {
	return at.values() + " SELECT x" + at.as("value") + at.counts() + ", count(*) OVER ()" + at.as("of_values") +
		" FROM v GROUP BY x ORDER BY count(*) DESC, x" + at.dialect.First(limit)
}

// values begins a statement with the values of the column as x of v.
func (at place) values() string { return "WITH v AS (SELECT " + at.value() + " AS x" + at.from() + ")" }

// counts selects the number of rows of a group, its share, and the number of all rows.
func (at place) counts() string {
	return ", count(*)" + at.as("count") + ", count(*) * 1.0 / sum(count(*)) OVER ()" + at.as("share") +
		", sum(count(*)) OVER ()" + at.as("of_rows")
}

// histogramSQL counts the numbers per bucket. Edges are integers divided by a power of ten, so that they print
// exactly.
func (at place) histogramSQL(b buckets) string {
	// 0.57 * 1000 is slightly less than 570, so round before assigning buckets.
	k := fmt.Sprintf("floor((round(%s * %d.0, 6) - (%d)) / %d.0)", at.dialect.Roundable.Of("x"), b.scale,
		b.start, b.step)
	return at.values() + fmt.Sprintf(", b AS (SELECT %s AS k FROM v WHERE %s)", k, at.numbers()) +
		fmt.Sprintf(" SELECT (%d + k * %d) / %d.0", b.start, b.step, b.scale) + at.as("from") +
		fmt.Sprintf(", (%d + (k + 1) * %d) / %d.0", b.start, b.step, b.scale) + at.as("to") +
		at.counts() + " FROM b GROUP BY k ORDER BY k"
}

// monthSQL counts the dates per month or year. It returns "" for dialects where this is not implemented.
func (at place) monthSQL(years bool) string {
	name := map[bool]string{true: "year", false: "month"}[years]
	period := at.dialect.Periods[name]
	if period == "" {
		return ""
	}
	return at.values() + ", b AS (SELECT " + period.Of("x") + " AS k FROM v WHERE x IS NOT NULL)" +
		" SELECT k" + at.as(name) + at.counts() + " FROM b GROUP BY k ORDER BY k"
}
