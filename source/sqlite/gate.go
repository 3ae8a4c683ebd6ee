package sqlite

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote/source"
)

const maxNesting = 200 // parentheses

// gate checks a text before SQLite parses it: its size and nesting are bounded, and it must be a single statement
// that begins like one that reads. The gate knows only SQLite's quotes and comments; SQLite itself judges what the
// statement does, see policy.go.
func gate(sql string) error {
	switch {
	case len(sql) > maxSQL:
		return source.Refusef("The statement has %d bytes; at most %d are allowed.", len(sql), maxSQL)
	case !utf8.ValidString(sql):
		return source.Refusef("The statement is not valid UTF-8.")
	case strings.IndexByte(sql, 0) >= 0:
		return source.Refusef("The statement contains a NUL character.")
	}
	first, depth, ended := "", 0, false
	for t := range tokens(sql) {
		if t.kind == tokenOpen {
			return source.Refusef("A quote is opened and not closed: %.20s…", t.text)
		}
		if t.text == ";" {
			ended = ended || first != ""
			continue
		}
		if ended {
			return source.Refusef("Only one statement is allowed; there is more after the first semicolon.")
		}
		first = cmp.Or(first, t.text)
		switch t.text {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth > maxNesting {
			return source.Refusef("The statement is nested more than %d levels deep.", maxNesting)
		}
	}
	switch word := strings.ToUpper(first); word {
	case "SELECT", "WITH", "VALUES", "EXPLAIN", "PRAGMA", "(":
		return nil
	case "":
		return source.Refusef("There is no statement in the text.")
	default:
		if len(word) > 20 || !isWord(word) {
			return source.Refusef("The statement must begin with SELECT, WITH, VALUES or EXPLAIN.")
		}
		return source.Refusef(
			"%s is not allowed: the database is read-only. A statement must begin with SELECT, WITH, VALUES or "+
				"EXPLAIN.", word)
	}
}

// The kinds of tokens that the gate distinguishes.
const (
	tokenSpace = iota // white space and comments
	tokenOther
	tokenOpen // an unclosed quote
)

// lexeme is a token that is not space, with its place in the text.
type lexeme struct {
	kind, from, to int
	text           string
}

// tokens returns the tokens of a text.
func tokens(sql string) iter.Seq[lexeme] {
	return func(yield func(lexeme) bool) {
		for i := 0; i < len(sql); {
			kind, end := token(sql, i)
			if kind != tokenSpace && !yield(lexeme{kind, i, end, sql[i:end]}) {
				return
			}
			i = end
		}
	}
}

// token returns the kind of the token at sql[i:] and where it ends, by the rules of SQLite's own tokenizer: '…' "…"
// `…` escape their quote by doubling it, […] does not, comments do not nest, and an open comment reaches to the
// end. A parameter may contain quotes and comment marks: $a(').
//
// It is a flat switch over the kinds of tokens.
//
//gocyclo:ignore
func token(sql string, i int) (kind, end int) {
	rest := sql[i:]
	switch c := sql[i]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r':
		return tokenSpace, i + 1
	case strings.HasPrefix(rest, "--"):
		return tokenSpace, i + upTo(rest, "\n", 2)
	case strings.HasPrefix(rest, "/*") && len(rest) > 2:
		return tokenSpace, i + upTo(rest, "*/", 2)
	case strings.HasPrefix(rest, "\uFEFF"):
		return tokenSpace, i + 3
	case c == '\'' || c == '"' || c == '`':
		for j := i + 1; j < len(sql); j++ {
			if sql[j] != c {
				continue
			}
			if j+1 < len(sql) && sql[j+1] == c {
				j++
				continue
			}
			return tokenOther, j + 1
		}
		return tokenOpen, len(sql)
	case c == '[':
		if n := strings.IndexByte(rest, ']'); n >= 0 {
			return tokenOther, i + n + 1
		}
		return tokenOpen, len(sql)
	case c == '?':
		for i++; i < len(sql) && sql[i] >= '0' && sql[i] <= '9'; i++ {
		}
		return tokenOther, i
	case c == '$' || c == '@' || c == ':' || c == '#':
		return tokenOther, i + parameter(rest)
	case wordByte(c):
		for i < len(sql) && wordByte(sql[i]) {
			i++
		}
		return tokenOther, i
	default:
		return tokenOther, i + 1
	}
}

// parameter returns the length of the parameter at the start of s: its sign, a name that may contain ::, and an
// optional (…), which may contain anything but space.
func parameter(s string) int {
	named := false
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case wordByte(c):
			named = true
		case c == '(' && named:
			end := strings.IndexAny(s[i:], ") \t\n\f\r")
			switch {
			case end < 0:
				return len(s)
			case s[i+end] == ')':
				return i + end + 1
			}
			return i + end
		case strings.HasPrefix(s[i:], "::"):
			i++
		default:
			return i
		}
	}
	return len(s)
}

// upTo returns the length of s up to and including the first mark at or after from.
func upTo(s, mark string, from int) int {
	if n := strings.Index(s[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return len(s)
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isWord(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return !wordByte(c) })
}

// blank reports whether a text contains only space, comments and semicolons.
func blank(sql string) bool {
	for t := range tokens(sql) {
		if t.text != ";" {
			return false
		}
	}
	return true
}

// quote quotes a name for SQLite.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
