package duckdb

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote/source"
)

const (
	maxSQL     = 64 << 10
	maxNesting = 200
)

// token is a piece of a statement's text: sql[from:to].
type token struct {
	from, to int
	kind     byte // 'w' word, 's' string, 'q' quoted name, 'n' number, 'o' other
	depth    int  // number of enclosing parentheses, brackets and braces
	word     string
}

// tokenize splits a statement by DuckDB's lexical rules, and drops white space and comments. It decides nothing:
// DuckDB parses whatever is built from the tokens again.
func tokenize(sql string) ([]token, error) {
	switch {
	case len(sql) > maxSQL:
		return nil, source.Refusef("The statement has %d bytes; at most %d are allowed.", len(sql), maxSQL)
	case !utf8.ValidString(sql):
		return nil, source.Refusef("The statement is not valid UTF-8.")
	case strings.IndexByte(sql, 0) >= 0:
		return nil, source.Refusef("The statement contains a NUL character.")
	}
	var list []token
	depth := 0
	var nested nesting
	for i := 0; i < len(sql); {
		end, kind := lex(sql, i)
		if kind == 'x' {
			return nil, source.Refusef("A quote or comment is opened and not closed: %.20s…", sql[i:])
		}
		t := token{from: i, to: end, kind: kind, depth: depth}
		text := sql[i:end]
		i = end
		switch {
		case kind == ' ':
			continue
		case kind == 'w':
			t.word = strings.ToUpper(text)
		case text == "(" || text == "[" || text == "{":
			depth++
		case text == ")" || text == "]" || text == "}":
			depth--
			t.depth = depth
		}
		if depth > maxNesting || nested.add(t, text) > maxNesting {
			return nil, source.Refusef("The statement is nested more than %d levels deep.", maxNesting)
		}
		list = append(list, t)
	}
	return list, nil
}

// nesting counts constructs that nest without parentheses: NOT NOT NOT, - - -, and CASE.
type nesting struct{ run, cases int }

func (n *nesting) add(t token, text string) (deepest int) {
	switch {
	case t.word == "CASE":
		n.cases++
	case t.word == "END" && n.cases > 0:
		n.cases--
	case t.word == "NOT", t.kind == 'o' && strings.ContainsAny(text, "-+~!@"):
		n.run++
		return max(n.run, n.cases)
	}
	n.run = 0
	return n.cases
}

// lex finds the token that begins at i. Its kind is ' ' for space and comments and 'x' for an unterminated one.
func lex(sql string, i int) (end int, kind byte) {
	rest := sql[i:]
	switch c := rest[0]; {
	case c == '\'':
		return quoted(sql, i+1, '\'', false, 's')
	case (c == 'e' || c == 'E') && strings.HasPrefix(rest[1:], "'"):
		return quoted(sql, i+2, '\'', true, 's')
	case c == '"':
		return quoted(sql, i+1, '"', false, 'q')
	case strings.HasPrefix(rest, "--"):
		if n := strings.IndexAny(rest, "\n\r"); n >= 0 {
			return i + n, ' '
		}
		return len(sql), ' '
	case strings.HasPrefix(rest, "/*"):
		return comment(sql, i)
	case c == '$':
		return dollar(sql, i)
	case plainDigit(c):
		n := strings.IndexFunc(rest, func(r rune) bool { return !wordRune(r) && r != '.' })
		return to(i, n, sql), 'n'
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case unicode.IsSpace(r):
		return i + size, ' '
	case wordRune(r):
		n := strings.IndexFunc(rest, func(r rune) bool { return !wordRune(r) && r != '$' })
		return to(i, n, sql), 'w'
	default:
		return i + size, 'o'
	}
}

func to(i, n int, sql string) int {
	if n < 0 {
		return len(sql)
	}
	return i + n
}

func plainDigit(c byte) bool { return c-'0' <= 9 }

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// quoted returns the end and the kind of a quoted text whose contents begin at i.
func quoted(sql string, i int, quote byte, escapes bool, kind byte) (end int, _ byte) {
	for ; i < len(sql); i++ {
		switch {
		case escapes && sql[i] == '\\':
			i++
		case sql[i] != quote:
		case i+1 < len(sql) && sql[i+1] == quote:
			i++
		default:
			return i + 1, kind
		}
	}
	return len(sql), 'x'
}

// comment returns the end of a comment, which may contain other comments.
func comment(sql string, i int) (end int, kind byte) {
	for depth := 0; i < len(sql); {
		switch {
		case strings.HasPrefix(sql[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(sql[i:], "*/"):
			depth--
			i += 2
			if depth == 0 {
				return i, ' '
			}
		default:
			i++
		}
	}
	return i, 'x'
}

// dollar reads $1, $name and $tag$ text $tag$.
func dollar(sql string, i int) (end int, kind byte) {
	j := i + 1
	for j < len(sql) {
		r, size := utf8.DecodeRuneInString(sql[j:])
		if !wordRune(r) {
			break
		}
		j += size
	}
	if j == len(sql) || sql[j] != '$' || (j > i+1 && plainDigit(sql[i+1])) {
		return j, 'n' // a parameter
	}
	tag := sql[i : j+1]
	n := strings.Index(sql[j+1:], tag)
	if n < 0 {
		return i, 'x'
	}
	return j + 1 + n + len(tag), 's'
}

// body returns the text without trailing semicolons, and the tokens that remain.
func body(sql string, list []token) (text string, rest []token) {
	for len(list) > 0 && sql[list[len(list)-1].from:list[len(list)-1].to] == ";" {
		list = list[:len(list)-1]
	}
	if len(list) == 0 {
		return "", nil
	}
	return sql[:list[len(list)-1].to], list
}

// name returns the name in a word or quoted-name token, as DuckDB compares it: ignoring case.
func (t token) name(sql string) string {
	switch t.kind {
	case 'w':
		return sql[t.from:t.to]
	case 'q':
		return strings.ReplaceAll(sql[t.from+1:t.to-1], `""`, `"`)
	case 's':
		if sql[t.from] == '\'' {
			return strings.ReplaceAll(sql[t.from+1:t.to-1], `''`, `'`)
		}
	}
	return ""
}

// quote quotes a name for SQL.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal quotes a text for SQL.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
