package source

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Dialect describes the SQL of an engine. Everything that writes statements takes the differences between engines from
// here and never asks for an engine's name. NewDialect fills empty fields with what their comments call the default.
type Dialect struct {
	// Name is shown to people and models: "sqlite", "duckdb", "postgres".
	Name string
	// Editor is the SQL whose keywords an editor highlights, as CodeMirror names it: "SQLite", "PostgreSQL", "MySQL",
	// "MariaSQL" or "MSSQL". Empty means standard SQL.
	Editor string
	// Advice tells a model what it may get wrong, as a part of a sentence; keep it short. Empty tells it nothing.
	Advice string
	// QuoteName quotes one identifier. Nil means double quotes.
	QuoteName func(name string) string
	Limit     Expr // the clause that ends a statement of x rows; default LIMIT x

	// IsNumber is the condition that x is a number. It is set for engines whose columns hold values of any type:
	// there, dates are texts, and truth values are 0 and 1. Empty means that columns are typed.
	IsNumber  Expr
	Text      Expr // x as a text; default CAST
	Roundable Expr // x as a type that round(x, digits) takes; default x itself

	Day         Expr // x, the literal of a text such as '2024-01-31', as a day; default DATE x
	DayArgument Expr // the same for an argument; default CAST
	Date        Expr // the day of the timestamp x; default CAST
	Timestamp   Expr // the text x as a timestamp; default CAST
	// FromSeconds and FromMilliseconds turn x, a count since 1970, into a time in UTC. Without them, such counts are
	// not recognised as times.
	FromSeconds, FromMilliseconds Expr
	// Periods are the texts for the year, quarter, month, week and day of x: 2024, 2024-Q1, 2024-01, and 2024-01-31
	// for a day or for the Monday of a week.
	Periods map[string]Expr
	// Parts are the parts of x that come again: weekday, "month of the year" and hour. The default is the hour.
	Parts map[string]Part
	// Before is the day n units before a day such as 2024-01-31; the unit is year, month, week or day. The default
	// subtracts an INTERVAL.
	Before       func(day string, n int, unit string) string
	Elapsed      Expr // days from the date x to the date y, and parts of days if they are times
	ElapsedTime  Expr // the same for timestamps; default Elapsed
	CalendarDays Expr // whole days from the time x to the time y; without it, profiles do not show them

	Mean  Expr // the mean of x, with a fraction even if x is an integer; default AVG
	Truth Expr // the condition that x, a truth value, is true; default x itself
	// Median and StdDev are aggregates of x. Without them, they are computed from simpler ones.
	Median, StdDev Expr
	// Materialized says that WITH … AS MATERIALIZED computes a query once.
	Materialized bool

	TextSearch TextSearch // how words are found in texts; default LIKE
	LikeFolds  bool       // LIKE ignores the case of ASCII letters, and of no others
	Fold       Expr       // the text x without case, and perhaps without accents; default lower
	Position   Expr       // where the text y begins in the text x; default position
	Greatest   Expr       // the greater of the numbers x and y; default greatest
	Divide     Expr       // x divided by y as integers; default x / y
	// SameBytes is the condition that the texts x, a column, and y, an argument, have the same bytes. Without it, no
	// searched table can be limited to an organisation's rows.
	SameBytes Expr

	Plans *Plans // how to estimate what a statement reads; nil: the engine does not tell
}

// Part is a part of a date that comes again, as it is shown, and what puts it in order.
type Part struct{ Name, Order Expr }

// Expr is an expression with {x} and {y} in the places of its operands.
type Expr string

// Of returns the expression with its operands.
func (e Expr) Of(x string, y ...string) string {
	return e.With("{x}", x, "{y}", strings.Join(y, ""))
}

// With returns the expression with operands that have other names: With("{text}", text, "{language}", language).
func (e Expr) With(operands ...string) string {
	return strings.NewReplacer(operands...).Replace(string(e))
}

// NewDialect returns a dialect whose empty fields have their defaults.
func NewDialect(d Dialect) *Dialect {
	for _, f := range []struct {
		field   *Expr
		initial Expr
	}{
		{&d.Limit, "LIMIT {x}"},
		{&d.Text, "CAST({x} AS TEXT)"},
		{&d.Roundable, "{x}"},
		{&d.Day, "DATE {x}"},
		{&d.DayArgument, "CAST({x} AS DATE)"},
		{&d.Date, "CAST({x} AS DATE)"},
		{&d.Timestamp, "CAST({x} AS TIMESTAMP)"},
		{&d.ElapsedTime, d.Elapsed},
		{&d.Mean, "AVG({x})"},
		{&d.Truth, "{x}"},
		{&d.Fold, "lower({x})"},
		{&d.Position, "position({y} IN {x})"},
		{&d.Greatest, "greatest({x}, {y})"},
		{&d.Divide, "{x} / {y}"},
		{&d.TextSearch.Scanned.Remark, "LIKE, without an index; accents matter"},
		{&d.TextSearch.Scanned.Advice, "Words are found as they are written, also inside longer ones; accents " +
			"matter, so write words with theirs."},
	} {
		*f.field = cmp.Or(*f.field, f.initial)
	}
	parts := map[string]Part{"hour": {"EXTRACT(HOUR FROM {x})", "EXTRACT(HOUR FROM {x})"}}
	maps.Copy(parts, d.Parts)
	d.Parts = parts
	if d.Before == nil {
		d.Before = func(day string, n int, unit string) string {
			return fmt.Sprintf("DATE '%s' - INTERVAL '%d' %s", day, n, strings.ToUpper(unit))
		}
	}
	return &d
}

// Quote quotes one identifier. Pass it only names from a source's catalog, never names from an input.
func (d *Dialect) Quote(name string) string {
	if d.QuoteName != nil {
		return d.QuoteName(name)
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Table quotes a table's full name.
func (d *Dialect) Table(t Table) string {
	if t.Schema == "" {
		return d.Quote(t.Name)
	}
	return d.Quote(t.Schema) + "." + d.Quote(t.Name)
}

// First returns the clause that limits a statement to its first n rows, with a space before it.
func (d *Dialect) First(n int) string { return " " + d.Limit.Of(strconv.Itoa(n)) }

// Typed reports whether every value of a column has the column's type.
func (d *Dialect) Typed() bool { return d.IsNumber == "" }
