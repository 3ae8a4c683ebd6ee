package duckdb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/source"
)

// This file rewrites statements that DuckDB's parser does not serialise as ones that it does. The original text
// never runs, and the result passes through the gate.

// admitExplain accepts EXPLAIN of any statement that would itself be accepted.
func (g *gate) admitExplain(ctx context.Context, text string, list []token) (admitted, error) {
	list = list[1:]
	prefix := "EXPLAIN "
	if len(list) > 0 && list[0].word == "ANALYZE" {
		list, prefix = list[1:], "EXPLAIN ANALYZE "
	}
	if n := explainOptions(text, list); n > 0 {
		if n == 4 && list[1].word == "FORMAT" && list[2].word == "JSON" {
			prefix += "(FORMAT json) "
		}
		list = list[n:] // other options are left out
	}
	if len(list) == 0 {
		return admitted{}, source.Refusef("EXPLAIN needs a statement.")
	}
	inner := text[list[0].from:]
	if list[0].word == "EXPLAIN" || list[0].word == "PRAGMA" {
		return admitted{}, source.Refusef("EXPLAIN takes a query.")
	}
	list, err := tokenize(inner)
	if err != nil {
		return admitted{}, err
	}
	if inner, err = g.expandPivots(ctx, inner, list); err != nil {
		return admitted{}, err
	}
	q, err := g.admitOne(ctx, inner)
	q.text = prefix + inner
	return q, err
}

// explainOptions counts the tokens of options in parentheses.
func explainOptions(text string, list []token) int {
	if len(list) < 3 || text[list[0].from:list[0].to] != "(" || list[1].word != "FORMAT" && list[1].word != "ANALYZE" {
		return 0
	}
	for i, t := range list[1:] {
		if text[t.from:t.to] == ")" {
			return i + 2
		}
	}
	return 0
}

// rewritePragma rewrites the pragmas that describe the database.
func (g *gate) rewritePragma(text string, list []token) (string, error) {
	is := func(i int, s string) bool { return i < len(list) && text[list[i].from:list[i].to] == s }
	if len(list) == 2 && (list[1].word == "SHOW_TABLES" || list[1].word == "SHOW_TABLES_EXPANDED") {
		return "SHOW TABLES", nil
	}
	if len(list) >= 5 && (list[1].word == "TABLE_INFO" || list[1].word == "SHOW") && is(2, "(") &&
		is(len(list)-1, ")") {
		var parts []string
		for i := 3; i < len(list)-1; i++ {
			if i%2 == 0 {
				if !is(i, ".") {
					return "", pragmaRefused
				}
				continue
			}
			parts = append(parts, list[i].name(text))
		}
		name := strings.Join(parts, ".")
		switch {
		case len(parts) == 1 && g.catalog.has("", parts[0]):
			name = quote(parts[0])
		case len(parts) == 2 && g.catalog.has(parts[0], parts[1]):
			name = quote(parts[0]) + "." + quote(parts[1])
		case len(parts) == 1 && g.catalog.named(parts[0]): // PRAGMA table_info('main.orders')
		default:
			return "", source.Refusef("There is no table %q. %s", name, g.catalog.hint())
		}
		return "SELECT * FROM pragma_table_info(" + literal(name) + ")", nil
	}
	return "", pragmaRefused
}

var pragmaRefused = source.Refusef(
	"Of the pragmas only table_info('table') and show_tables are allowed. To describe a table use DESCRIBE.")

const (
	maxPivots = 8   // per statement
	maxValues = 200 // columns per pivot
)

// expandPivots adds the values found in the data to every PIVOT statement that names none. For a PIVOT without
// values, DuckDB first creates a type. That is a separate statement, which writes and cannot be checked as a
// SELECT.
func (g *gate) expandPivots(ctx context.Context, text string, list []token) (string, error) {
	for range maxPivots {
		p, ok := findPivot(text, list)
		if !ok {
			return text, nil
		}
		values, err := g.pivotValues(ctx, text, p)
		if err != nil {
			return "", err
		}
		text = text[:p.at] + " IN (" + values + ")" + text[p.at:]
		if list, err = tokenize(text); err != nil {
			return "", err
		}
	}
	return "", source.Refusef("There are more than %d PIVOTs without values.", maxPivots)
}

// pivot is a PIVOT statement with an expression that lacks values.
type pivot struct {
	with       string // the surrounding WITH clause
	source     string // the relation to pivot
	expression string
	at         int // where to insert its values
}

// findPivot finds the first PIVOT statement that has an expression without IN.
func findPivot(text string, list []token) (pivot, bool) {
	for i, t := range list {
		if t.word != "PIVOT" && t.word != "PIVOT_WIDER" {
			continue
		}
		if i > 0 && list[i-1].kind != 'o' { // in "t PIVOT (…)" the values are inside
			continue
		}
		on, end := pivotClause(text, list, i)
		if on < 0 {
			continue
		}
		for from := on + 1; from < end; {
			to := from
			for to < end && !(list[to].depth == t.depth && text[list[to].from:list[to].to] == ",") {
				to++
			}
			if to > from && !hasIn(list[from:to], t.depth) {
				return pivot{
					with: withClause(text, list, t), source: text[list[i+1].from:list[on-1].to],
					expression: text[list[from].from:list[to-1].to], at: list[to-1].to,
				}, true
			}
			from = to + 1
		}
	}
	return pivot{}, false
}

// pivotClause finds the ON of the PIVOT at token i, and where its list ends.
func pivotClause(text string, list []token, i int) (on, end int) {
	depth := list[i].depth
	on = -1
	for j := i + 1; j < len(list); j++ {
		t := list[j]
		if t.depth < depth {
			return on, j
		}
		if t.depth != depth {
			continue
		}
		switch {
		case t.word == "ON" && on < 0:
			if j < i+2 {
				return -1, j
			}
			on = j
		case on >= 0 && (t.word == "USING" || t.word == "GROUP" || t.word == "ORDER" || t.word == "LIMIT"),
			text[t.from:t.to] == ";":
			return on, j
		}
	}
	return on, len(list)
}

func hasIn(list []token, depth int) bool {
	return slices.ContainsFunc(list, func(t token) bool { return t.word == "IN" && t.depth == depth })
}

// withClause returns the part of the statement's leading WITH clause that a pivot can see, so that a query for its
// values can use it: the whole clause, or, for a pivot inside the clause, the parts before its own.
func withClause(text string, list []token, pivot token) string {
	if len(list) == 0 || list[0].word != "WITH" {
		return ""
	}
	before := ""
	for _, t := range list[1:] {
		switch {
		case t.from > pivot.from:
			return before
		case t.depth > 0:
		case text[t.from:t.to] == ",":
			before = text[:t.from]
		case t.word == "SELECT" || t.word == "FROM" || t.word == "PIVOT" || t.word == "PIVOT_WIDER" ||
			t.word == "VALUES":
			return text[:t.from]
		}
	}
	return before
}

// pivotValues queries the values of an expression and returns them as SQL literals.
func (g *gate) pivotValues(ctx context.Context, text string, p pivot) (string, error) {
	sql := fmt.Sprintf("%s SELECT DISTINCT CAST((%s) AS VARCHAR) AS v FROM %s WHERE (%s) IS NOT NULL ORDER BY 1 "+
		"LIMIT %d",
		p.with, p.expression, p.source, p.expression, maxValues+1)
	if _, err := g.admitOne(ctx, sql); err != nil {
		return "", err
	}
	values, err := g.distinct(ctx, sql)
	if err != nil {
		return "", err
	}
	switch {
	case len(values) == 0:
		return "NULL", nil
	case len(values) > maxValues:
		return "", source.Refusef("The PIVOT would make more than %d columns. Name the values you want: ON %s IN (…).",
			maxValues, p.expression)
	}
	for i := range values {
		values[i] = literal(values[i])
	}
	return strings.Join(values, ", "), nil
}
