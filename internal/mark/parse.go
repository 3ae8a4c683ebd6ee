package mark

import (
	"strconv"
	"strings"
)

// A Part of a mark is a reference to cells, or a text between references: a number, an operator or a bracket.
type Part struct {
	Text string
	Ref  *Ref // nil for a text
}

// Ref refers to cells of a result: r1.4.revenue, r1:north.revenue, r1.0,2.sum(revenue), r1.avg(revenue) or r1.4.
type Ref struct {
	Result   string
	Rows     []int  // from 0; empty for all
	Key      string // names the row instead of Rows
	Function string // over the cells: sum, avg, min, max or count; empty for one cell
	Column   string // empty for the one that fits the figure
}

// functions lists the functions of marks, with their names in formulas.
var functions = map[string]string{
	"sum": "sum", "avg": "avg", "mean": "avg", "min": "min", "max": "max", "count": "count",
}

// Parse reads a mark, with its brackets. The grammar is
//
//	mark     = "[^" formula "]"
//	formula  = term { ("+" | "-") term }
//	term     = factor { ("*" | "/") factor }
//	factor   = number | cells | "(" formula ")"
//	cells    = result [ "." row { "," row } | ":" key ] [ "." ( column | function "(" [ column ] ")" ) ]
//	function = "sum" | "avg" | "mean" | "min" | "max" | "count"
//
// It begins with a result. A key has up to 24 letters, digits and underscores; a column is a plain identifier or in
// double quotes, where "" is a quote. Whoever evaluates the formula checks the order of its parts. ok is false if mark
// has none.
func Parse(mark string) (parts []Part, ok bool) {
	in, begun := strings.CutPrefix(mark, "[^")
	in, ended := strings.CutSuffix(in, "]")
	if !begun || !ended {
		return nil, false
	}
	for in != "" {
		var p Part
		if p, in, ok = next(in); !ok {
			return nil, false
		}
		if p.Ref != nil || p.Text != "" {
			parts = append(parts, p)
		}
	}
	return parts, len(parts) > 0 && parts[0].Ref != nil
}

func next(in string) (p Part, rest string, ok bool) {
	switch c := in[0]; {
	case c == ' ':
		return p, in[1:], true
	case strings.IndexByte("+-*/()", c) >= 0:
		return Part{Text: in[:1]}, in[1:], true
	case isDigit(c):
		n := span(in, func(c byte) bool { return isDigit(c) || c == '.' })
		return Part{Text: in[:n]}, in[n:], true
	case c == 'r' && len(in) > 1 && isDigit(in[1]):
		ref, rest, ok := cells(in)
		return Part{Ref: ref}, rest, ok
	}
	return p, "", false
}

// cells reads a reference.
func cells(in string) (r *Ref, rest string, ok bool) {
	n := 1 + span(in[1:], isDigit)
	r, in = &Ref{Result: in[:n]}, in[n:]
	if key, found := strings.CutPrefix(in, ":"); found {
		n := span(key, func(c byte) bool { return isLetter(c) || isDigit(c) })
		if n == 0 || n > maxKey {
			return nil, "", false
		}
		r.Key, in = key[:n], key[n:]
	}
	for r.Key == "" && len(in) > 1 && (in[0] == '.' && len(r.Rows) == 0 || in[0] == ',') && isDigit(in[1]) {
		n := 1 + span(in[1:], isDigit)
		row, err := strconv.Atoi(in[1:n])
		if err != nil {
			return nil, "", false
		}
		r.Rows, in = append(r.Rows, row), in[n:]
	}
	in, found := strings.CutPrefix(in, ".")
	if !found {
		return r, in, true
	}
	name, rest, ok := column(in)
	inside, call := strings.CutPrefix(rest, "(")
	if !call || functions[name] == "" || in[0] == '"' {
		r.Column = name
		return r, rest, ok
	}
	if r.Function = functions[name]; inside != "" && inside[0] != ')' {
		if r.Column, inside, ok = column(inside); !ok {
			return nil, "", false
		}
	}
	rest, ok = strings.CutPrefix(inside, ")")
	return r, rest, ok
}

// column reads the name of a column.
func column(in string) (name, rest string, ok bool) {
	if rest, ok := strings.CutPrefix(in, `"`); ok {
		return quoted(rest)
	}
	n := span(in, func(c byte) bool { return isLetter(c) || isDigit(c) })
	return in[:n], in[n:], n > 0
}

// quoted reads a name up to its closing quote.
func quoted(in string) (name, rest string, ok bool) {
	for {
		part, after, closed := strings.Cut(in, `"`)
		name += part
		if !closed {
			return "", "", false
		}
		if in, closed = strings.CutPrefix(after, `"`); !closed {
			return name, after, name != ""
		}
		name += `"`
	}
}

const maxKey = 24

// IsKey reports whether a text can stand for a row in a mark.
func IsKey(text string) bool {
	return text != "" && len(text) <= maxKey &&
		span(text, func(c byte) bool { return isLetter(c) || isDigit(c) }) == len(text)
}

// Column returns a column's name as it is written in a mark.
func Column(name string) string {
	letters := span(name, func(c byte) bool { return isLetter(c) || isDigit(c) })
	if name != "" && !isDigit(name[0]) && letters == len(name) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// span returns the length of the longest prefix whose bytes all fit.
func span(s string, fits func(byte) bool) int {
	for i := range len(s) {
		if !fits(s[i]) {
			return i
		}
	}
	return len(s)
}

// KeyColumn returns the first of n columns whose cells can stand for the rows in marks, or -1: they are texts, all
// different.
func KeyColumn(n int, rows [][]any) int {
	for i := range n {
		if len(rows) > 0 && isKeyColumn(i, rows) {
			return i
		}
	}
	return -1
}

func isKeyColumn(i int, rows [][]any) bool {
	seen := make(map[string]bool, len(rows))
	for _, row := range rows {
		if i >= len(row) {
			return false
		}
		text, ok := row[i].(string)
		if !ok || !IsKey(text) || isDigit(text[0]) || seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}
