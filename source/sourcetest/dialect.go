package sourcetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/source"
)

// dialect runs every expression of the source's dialect that is not empty.
func (s suite) dialect(t *testing.T) {
	src, _ := s.open(t)
	RunDialect(t, src)
}

// RunDialect runs every expression of a source's dialect that is not empty, without tables.
func RunDialect(t *testing.T, src source.Source) {
	d := src.Dialect()
	check := func(what, expr, want string) {
		t.Helper()
		r, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT " + expr})
		if err != nil || len(r.Rows) != 1 || !strings.HasPrefix(fmt.Sprint(r.Rows[0][0]), want) {
			t.Errorf("%s: %s = %v, %v, want %s", what, expr, r.Rows, err, want)
		}
	}
	optional := func(what string, e source.Expr, want string, x string, y ...string) {
		t.Helper()
		if e != "" {
			check(what, e.Of(x, y...), want)
		}
	}
	friday, saturday := d.Timestamp.Of("'2024-05-17 18:45:00'"), d.Timestamp.Of("'2024-05-18 06:45:00'")
	for size, want := range map[string]string{
		"year": "2024", "quarter": "2024-Q2", "month": "2024-05", "week": "2024-05-13", "day": "2024-05-17",
	} {
		check(size, d.Periods[size].Of(friday), want)
	}
	for part, want := range map[string]string{"weekday": "Friday", "month of the year": "May", "hour": "18"} {
		check(part, d.Parts[part].Name.Of(friday), want)
		check("order of "+part, "CASE WHEN "+d.Parts[part].Order.Of(friday)+" IS NULL THEN 0 ELSE 1 END", "1")
	}
	truth := func(what, condition string, want string) {
		t.Helper()
		check(what, "CASE WHEN "+condition+" THEN 'yes' ELSE 'no' END", want)
	}
	for unit, want := range map[string]string{
		"year": "2022-05-17", "month": "2024-03-17", "week": "2024-05-03", "day": "2024-05-15",
	} {
		check("Before", d.Text.Of(d.Before("2024-05-17", 2, unit)), want)
	}
	truth("Date", d.Date.Of(friday)+" = "+d.Day.Of("'2024-05-17'"), "yes")
	truth("Day", friday+" >= "+d.Day.Of("'2024-05-17'"), "yes")
	optional("ElapsedTime", d.ElapsedTime, "0.5", friday, saturday)
	optional("Elapsed", d.Elapsed, "1", d.Day.Of("'2024-05-17'"), d.Day.Of("'2024-05-18'"))
	optional("CalendarDays", d.CalendarDays, "1", friday, saturday)
	for e, x := range map[source.Expr]string{d.FromSeconds: "1704067200", d.FromMilliseconds: "1704067200000"} {
		if e != "" {
			check("a time since 1970", d.Text.Of(d.Date.Of(e.Of(x))), "2024-01-01")
		}
	}
	from := " FROM (SELECT 1.0 AS x UNION ALL SELECT 2.0 UNION ALL SELECT 4.5) AS n"
	for what, e := range map[string]source.Expr{"Median": d.Median, "StdDev": d.StdDev} {
		if e != "" {
			check(what, e.Of("x")+from, map[string]string{"Median": "2", "StdDev": "1.80"}[what])
		}
	}
	check("Mean", d.Mean.Of("x")+" FROM (SELECT 2 AS x UNION ALL SELECT 3) AS n", "2.5")
	truth("Truth", d.Truth.Of("true"), "yes")
	if d.Materialized {
		check("Materialized", "x FROM (WITH m AS MATERIALIZED (SELECT 7 AS x) SELECT x FROM m) AS a", "7")
	}
	optional("IsNumber", d.IsNumber, "1", "2.5")
	check("Limit", "x FROM (SELECT 7 AS x UNION ALL SELECT 7) AS n"+d.First(1), "7")
	check("Text", d.Text.Of("12"), "12")
	check("Roundable", "round("+d.Roundable.Of("1.26")+", 1)", "1.3")
	truth("Fold", d.Fold.Of("'Ab'")+" = 'ab'", "yes")
	check("Position", d.Position.Of("'abc'", "'b'"), "2")
	check("Greatest", d.Greatest.Of("1", "2"), "2")
	check("Divide", d.Divide.Of("7", "2"), "3")
	if d.SameBytes != "" {
		truth("SameBytes", d.SameBytes.Of(d.Text.Of("'a'"), "'a'"), "yes")
		truth("SameBytes", d.SameBytes.Of(d.Text.Of("'a'"), "'A'"), "no")
	}
	if ts := d.TextSearch; ts.Document != "" {
		const text = "'The old boiler was repaired.'"
		document := ts.Document.With("{text}", text, "{language}", ts.Language)
		for word, want := range map[string]string{"boiler": "yes", "pump": "no"} {
			if ts.Syntax != nil {
				word = ts.Syntax([]source.Terms{{All: []source.Term{{Plain: word, Whole: word}}}})
			}
			query := ts.Query.With("{text}", "'"+word+"'", "{language}", ts.Language)
			of := func(e source.Expr) string {
				return e.With("{document}", document, "{query}", query, "{text}", text, "{language}", ts.Language)
			}
			truth("Match", of(ts.Match), want)
			truth("Score", of(ts.Score)+" > 0", want)
			truth("Snippet", of(ts.Snippet)+" LIKE '%boiler%'", "yes")
		}
	}
}
