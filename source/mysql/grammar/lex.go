package grammar

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote/source"
)

// kind is the kind of a token.
type kind int

const (
	ending   kind = iota // the end of the text
	word                 // a name or keyword without quotes
	name                 // a name in quotes
	text                 // a string
	number               // an integer, a decimal or a float
	bits                 // a literal such as 0xff, x'ff' or b'01'
	argument             // $1
	sign                 // an operator or a bracket
)

// token is a piece of a statement. Value is the word as written, the content of a name or string, or the literal.
type token struct {
	kind     kind
	value    string
	low      string // a word in lower case
	from, to int    // bytes of the text
}

// maxText is the longest statement that is read, in bytes.
const maxText = 64 << 10

// signs are the operators of more than one character, the longest first.
var signs = []string{"<=>", "->>", "<=", ">=", "<>", "!=", "<<", ">>", "&&", "||", ":=", "->", "@@", "::"}

type lexer struct {
	text   string
	at     int
	quotes quotes
	tokens []token
}

// quotes says how quotes are read.
type quotes int

const (
	usual     quotes = iota // "…" is a string, and a backslash escapes
	ansi                    // "…" is a name
	condition               // "…" is a name, and a backslash is a character like others
)

// scan splits a statement into tokens.
func scan(statement string, q quotes) ([]token, error) {
	switch {
	case len(statement) > maxText:
		return nil, source.Refusef("The statement is longer than %d KB. Make it shorter.", maxText>>10)
	case !utf8.ValidString(statement):
		return nil, source.Refusef("The statement is not valid UTF-8.")
	case strings.IndexByte(statement, 0) >= 0:
		return nil, source.Refusef("The statement contains a NUL character.")
	}
	l := &lexer{text: statement, quotes: q}
	for {
		if err := l.space(); err != nil {
			return nil, err
		}
		if l.at >= len(l.text) {
			l.add(ending, l.at, "")
			return l.tokens, nil
		}
		if err := l.next(); err != nil {
			return nil, err
		}
	}
}

// space skips blanks and comments. A comment that one server runs as code and another does not is refused.
func (l *lexer) space() error {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch c := rest[0]; {
		case c == ' ' || '\t' <= c && c <= '\r':
			l.at++
		case c == '#', strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' '):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest) - 1
			}
			l.at += end + 1
		case strings.HasPrefix(rest, "/*"):
			if strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!") || strings.HasPrefix(rest, "/*T!") {
				return source.Refusef("Comments such as /*! … */ are code for some servers. Leave them out.")
			}
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return source.Refusef("A comment is not closed.")
			}
			l.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) add(k kind, from int, value string) {
	t := token{kind: k, value: value, from: from, to: l.at}
	if k == word {
		t.low = source.Lower(value)
	}
	l.tokens = append(l.tokens, t)
}

// next reads one token.
func (l *lexer) next() error {
	c := l.text[l.at]
	var after byte
	if l.at+1 < len(l.text) {
		after = l.text[l.at+1]
	}
	switch {
	case c == '\'':
		return l.quoted(text, c, l.quotes != condition)
	case c == '"' && l.quotes != usual, c == '`':
		return l.quoted(name, c, false)
	case c == '"':
		return l.quoted(text, c, l.quotes != condition)
	case c == '$' && isDigit(after):
		from := l.at
		l.at++
		l.skip(isDigit)
		l.add(argument, from, l.text[from+1:l.at])
		return nil
	case (c == 'x' || c == 'X' || c == 'b' || c == 'B') && after == '\'':
		return l.bitString(c | 0x20)
	case (c == 'n' || c == 'N') && after == '\'':
		l.at++ // a string in the national character set, which is utf8
		return l.quoted(text, '\'', l.quotes != condition)
	case isDigit(c), c == '.' && isDigit(after) && !l.afterName():
		return l.number()
	case isNameByte(c):
		from := l.at
		l.skip(isNameByte)
		l.add(word, from, l.text[from:l.at])
		return l.checkWord(from)
	}
	return l.sign()
}

// afterName reports whether a name ends right here, so that a dot continues it.
func (l *lexer) afterName() bool {
	if len(l.tokens) == 0 {
		return false
	}
	last := l.tokens[len(l.tokens)-1]
	return last.to == l.at && (last.kind == word || last.kind == name)
}

// checkWord refuses names with characters that look like blanks but are letters for the server.
func (l *lexer) checkWord(from int) error {
	for _, r := range l.text[from:l.at] {
		if r > unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			return source.Refusef("The character %U cannot be part of a name without quotes.", r)
		}
	}
	return nil
}

func (l *lexer) skip(in func(byte) bool) {
	for l.at < len(l.text) && in(l.text[l.at]) {
		l.at++
	}
}

// escapes maps the letters behind a backslash to what they mean in a string.
var escapes = map[byte]string{
	'0': "\x00", 'b': "\b", 'n': "\n", 'r': "\r", 't': "\t", 'Z': "\x1a",
	'%': `\%`, '_': `\_`, // for LIKE, which reads the backslash itself
}

// quoted reads a string or name. Its quote is written twice inside it; in strings, a backslash escapes.
func (l *lexer) quoted(k kind, quote byte, backslash bool) error {
	from := l.at
	var b strings.Builder
	for l.at++; l.at < len(l.text); l.at++ {
		c := l.text[l.at]
		switch {
		case c == '\\' && backslash && l.at+1 < len(l.text):
			l.at++
			if s, ok := escapes[l.text[l.at]]; ok {
				b.WriteString(s)
			} else {
				b.WriteByte(l.text[l.at])
			}
		case c != quote:
			b.WriteByte(c)
		case l.at+1 < len(l.text) && l.text[l.at+1] == quote:
			b.WriteByte(c)
			l.at++
		default:
			l.at++
			switch {
			case k == name && b.Len() == 0:
				return source.Refusef("A name is empty.")
			case k == name && quote == '"' && strings.ContainsAny(b.String(), "\\;\n"):
				return source.Refusef("A name in double quotes has a backslash, a semicolon or a line break.")
			}
			l.add(k, from, b.String())
			return nil
		}
	}
	return source.Refusef("A quote is not closed: %.40s", l.text[from:])
}

// bitString reads x'…' or b'…'.
func (l *lexer) bitString(base byte) error {
	from := l.at
	l.at += 2
	begin := l.at
	digit := isHex
	if base == 'b' {
		digit = func(c byte) bool { return c == '0' || c == '1' }
	}
	l.skip(digit)
	digits := l.text[begin:l.at]
	if l.at >= len(l.text) || l.text[l.at] != '\'' || base == 'x' && len(digits)%2 == 1 {
		return source.Refusef("The literal %.40s is not complete.", l.text[from:])
	}
	l.at++
	l.add(bits, from, string(base)+"'"+digits+"'")
	return nil
}

// digitName reads a name that begins with digits, such as 2024_sales. It reports false for a number, and for what looks
// like one: servers read 1e1a in several ways.
func (l *lexer) digitName() bool {
	end := l.at
	for end < len(l.text) && isDigit(l.text[end]) {
		end++
	}
	if end == len(l.text) || !isNameByte(l.text[end]) || l.text[end]|0x20 == 'e' ||
		end == l.at+1 && l.text[l.at] == '0' {
		return false
	}
	from := l.at
	l.skip(isNameByte)
	l.add(word, from, l.text[from:l.at])
	return true
}

// number reads a number.
func (l *lexer) number() error {
	if l.digitName() {
		return nil
	}
	from := l.at
	rest := l.text[l.at:]
	k := number
	if len(rest) > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'b') {
		l.at += 2
		l.skip(isHex)
		k = bits
	} else {
		l.skip(isDigit)
		if l.at < len(l.text) && l.text[l.at] == '.' {
			l.at++
			l.skip(isDigit)
		}
		l.exponent()
	}
	if l.at < len(l.text) && isNameByte(l.text[l.at]) {
		return source.Refusef("A name that begins with a digit must be in backticks: %.40s", l.text[from:])
	}
	value := l.text[from:l.at]
	if k == bits && (len(value) == 2 || value[1] == 'b' && strings.Trim(value[2:], "01") != "") {
		return source.Refusef("The literal %.40s is not a number.", value)
	}
	l.add(k, from, value)
	return nil
}

func (l *lexer) exponent() {
	if l.at >= len(l.text) || l.text[l.at]|0x20 != 'e' {
		return
	}
	end := l.at + 1
	if end < len(l.text) && (l.text[end] == '+' || l.text[end] == '-') {
		end++
	}
	if end < len(l.text) && isDigit(l.text[end]) {
		l.at = end
		l.skip(isDigit)
	}
}

func (l *lexer) sign() error {
	from := l.at
	for _, s := range signs {
		if strings.HasPrefix(l.text[from:], s) {
			l.at += len(s)
			l.add(sign, from, s)
			return nil
		}
	}
	c := l.text[from]
	if !strings.ContainsRune("()+-*/%,.;=<>!~&|^@:?{}", rune(c)) {
		r, _ := utf8.DecodeRuneInString(l.text[from:])
		return source.Refusef("The character %q is not part of the language here.", r)
	}
	l.at++
	l.add(sign, from, string(c))
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isNameByte(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$' || c >= 0x80
}
