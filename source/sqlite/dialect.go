package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/engines"
)

// Dialect is SQLite's SQL.
var Dialect = source.NewDialect(source.Dialect{
	Plans:            plans,
	Name:             "sqlite",
	Editor:           "SQLite",
	IsNumber:         "typeof({x}) IN ('integer', 'real')",
	Day:              "{x}",
	DayArgument:      "{x}",
	Date:             "date({x})",
	Timestamp:        "{x}",
	FromSeconds:      "datetime({x}, 'unixepoch')",
	FromMilliseconds: "datetime({x} / 1000, 'unixepoch')",
	Periods: map[string]source.Expr{
		"year":    "strftime('%Y', {x})",
		"quarter": "strftime('%Y', {x}) || '-Q' || ((CAST(strftime('%m', {x}) AS INTEGER) + 2) / 3)",
		"month":   "strftime('%Y-%m', {x})",
		"week":    "date({x}, '-6 days', 'weekday 1')",
		"day":     "date({x})",
	},
	Parts: map[string]source.Part{
		"weekday":           {Name: weekdayName(), Order: "(strftime('%w', {x}) + 6) % 7"},
		"month of the year": {Name: monthName(), Order: "strftime('%m', {x})"},
		"hour": {
			Name: "CAST(strftime('%H', {x}) AS INTEGER)", Order: "CAST(strftime('%H', {x}) AS INTEGER)",
		},
	},
	Before: func(day string, n int, unit string) string {
		if unit == "week" {
			n, unit = n*7, "day"
		}
		return fmt.Sprintf("date('%s', '-%d %ss')", day, n, unit)
	},
	Elapsed:      "julianday({y}) - julianday({x})",
	CalendarDays: "CAST(julianday(date({y})) - julianday(date({x})) AS INTEGER)",
	Materialized: true,
	TextSearch:   fts5,
	LikeFolds:    true,
	Position:     "instr({x}, {y})",
	Greatest:     "max({x}, {y})",
	SameBytes:    "{x} = {y} AND CAST({x} AS TEXT) COLLATE BINARY = {y}",
})

// fts5 uses the functions of FTS5. Its score weighs a word by how many rows contain it.
var fts5 = source.TextSearch{
	Index:     source.IndexTable,
	IndexType: "FTS5 table",
	Join:      "{row}.rowid = {entry}.rowid",
	JoinFault: "have no rowid by which its own are found: it is a view, or WITHOUT ROWID, or the source has filters",
	Query:     "{text}",
	Syntax:    fts5Query,
	Match:     "{document} MATCH {query}",
	Score:     "round(-bm25({document}), 4)",
	Order:     "bm25({document})",
	Snippet:   "snippet({document}, -1, '**', '**', '…', 24)",
	Indexed: source.SearchMethod{
		Remark: "the FTS5 table {index}, whose tokenizer decides on accents and forms",
		Advice: "Whole words are found.",
	},
	Scanned: source.SearchMethod{
		Remark: "LIKE, without an index; accents matter, and case does where words mix it beyond ASCII",
	},
	SharedScore: true,
}

// fts5Query returns a query in FTS5's syntax, using only quoted strings and the operators AND, OR and NOT.
func fts5Query(alternatives []source.Terms) string {
	quoted := func(terms []source.Term, operator string) string {
		out := make([]string, len(terms))
		for i, t := range terms {
			out[i] = `"` + t.Plain + `"` // contains only letters, digits and spaces
		}
		return "(" + strings.Join(out, operator) + ")"
	}
	all := make([]string, len(alternatives))
	for i, a := range alternatives {
		all[i] = quoted(a.All, " AND ")
		if len(a.Not) > 0 {
			all[i] = "(" + all[i] + " NOT " + quoted(a.Not, " OR ") + ")"
		}
	}
	return strings.Join(all, " OR ")
}

// weekdayName returns the name of a date's weekday, of which SQLite knows only the number.
func weekdayName() source.Expr {
	e := "CASE strftime('%w', {x})"
	for i := range 7 {
		day := time.Weekday((i + 1) % 7)
		e += fmt.Sprintf(" WHEN '%d' THEN '%s'", day, day)
	}
	return source.Expr(e + " END")
}

// monthName returns the name of a date's month.
func monthName() source.Expr {
	e := "CASE strftime('%m', {x})"
	for month := time.January; month <= time.December; month++ {
		e += fmt.Sprintf(" WHEN '%02d' THEN '%s'", month, month)
	}
	return source.Expr(e + " END")
}

var schemes = []string{"sqlite", "file"}

// Engine returns SQLite for the program's list of engines.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect:  Dialect,
		Schemes:  schemes,
		Sniff:    sniff,
		Children: map[string]child.OpenFunc{Kind: OpenEngine},
		Filters:  true,
		Proof:    source.Proof{Strength: source.Proven, TestedOn: source.Real},
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			return Open(ctx, name, address, o)
		},
	}
}

// sniff recognises a database by its first bytes, or by its name.
func sniff(path string, head []byte) engines.Fit {
	if strings.HasPrefix(string(head), "SQLite format 3\x00") {
		return engines.FitsByContent
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".db", ".sqlite", ".sqlite3", ".db3":
		return engines.FitsByName
	}
	return engines.NoFit
}
