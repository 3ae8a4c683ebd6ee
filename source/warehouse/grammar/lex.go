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
	argument             // $1
	sign                 // an operator or a bracket
)

// token is a piece of a statement. Value is the word as written, the content of a name or string, or the literal.
type token struct {
	kind  kind
	value string
	low   string // a word in lower case
	from  int    // bytes of the text
	to    int
}

// maxText is the longest statement that is read, in bytes.
const maxText = 64 << 10

// signs are the operators of more than one character, the longest first. >> is left out, because it ends types.
var signs = []string{"<=>", "->>", "!~*", "!~", "~*", "<=", ">=", "<>", "!=", "==", "<<", "||", "->", "=>", "::"}

type lexer struct {
	d      *Dialect
	text   string
	at     int
	tokens []token
}

// scan splits a statement into tokens.
func scan(statement string, d *Dialect) ([]token, error) {
	switch {
	case len(statement) > maxText:
		return nil, source.Refusef("The statement is longer than %d KB. Make it shorter.", maxText>>10)
	case !utf8.ValidString(statement):
		return nil, source.Refusef("The statement is not valid UTF-8.")
	case strings.IndexByte(statement, 0) >= 0:
		return nil, source.Refusef("The statement contains a NUL character.")
	}
	l := &lexer{d: d, text: statement}
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

// space skips blanks and comments. What the server gets has no comments, so it does not matter which ones it knows.
func (l *lexer) space() error {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch c := rest[0]; {
		case c == ' ' || '\t' <= c && c <= '\r':
			l.at++
		case strings.HasPrefix(rest, "--"), c == '#' && l.d.HashComments:
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest) - 1
			}
			l.at += end + 1
		case strings.HasPrefix(rest, "/*"):
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
	from, c := l.at, l.text[l.at]
	var after byte
	if from+1 < len(l.text) {
		after = l.text[from+1]
	}
	switch {
	case strings.IndexByte(l.d.StringQuotes, c) >= 0:
		return l.quoted(text, c, l.d.Backslash)
	case l.prefix(c) && after != 0 && strings.IndexByte(l.d.StringQuotes, after) >= 0:
		l.at++
		return l.quoted(text, after, false)
	case c == '"' || c == '`':
		return l.quoted(name, c, false)
	case c == '[' && l.d.NameQuote == '[':
		return l.quoted(name, ']', false)
	case c == '$' && isDigit(after):
		l.at++
		l.skip(isDigit)
		l.add(argument, from, l.text[from+1:l.at])
		return nil
	case isDigit(c), c == '.' && isDigit(after) && !l.afterName():
		return l.number()
	case isNameByte(c):
		l.skip(isNameByte)
		l.add(word, from, l.text[from:l.at])
		if i := strings.IndexFunc(l.text[from:l.at], func(r rune) bool { return r > unicode.MaxASCII }); i >= 0 {
			// Some servers take ſ for an S when they look for keywords.
			return source.Refusef("A name with other letters than A to Z must be in quotes: %.40s", l.text[from:])
		}
		return nil
	}
	return l.sign()
}

// prefix reports whether a letter may come before a string: r'…', or N'…' in T-SQL.
func (l *lexer) prefix(c byte) bool {
	return c|0x20 == 'r' && l.d.RawStrings || c|0x20 == 'n' && l.d.Transact != nil
}

// afterName reports whether a name or a closing bracket ends right here, so that a dot continues it.
func (l *lexer) afterName() bool {
	if len(l.tokens) == 0 {
		return false
	}
	last := l.tokens[len(l.tokens)-1]
	return last.to == l.at && (last.kind == word || last.kind == name || last.value == ")" || last.value == "]")
}

func (l *lexer) skip(in func(byte) bool) {
	for l.at < len(l.text) && in(l.text[l.at]) {
		l.at++
	}
}

// escapes maps the letters behind a backslash to what they mean in a string.
var escapes = map[byte]string{
	'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", '\\': `\`, '\'': "'", '"': `"`, '`': "`",
}

// quoted reads a string or name. Its quote is written twice inside it; in strings, a backslash may escape.
func (l *lexer) quoted(k kind, quote byte, backslash bool) error {
	from := l.at
	var b strings.Builder
	for l.at++; l.at < len(l.text); l.at++ {
		c := l.text[l.at]
		switch {
		case c == '\\' && backslash && l.at+1 < len(l.text):
			l.at++
			if err := escape(&b, l.text[l.at]); err != nil {
				return err
			}
		case c != quote:
			b.WriteByte(c)
		case l.at+1 < len(l.text) && l.text[l.at+1] == quote:
			b.WriteByte(c)
			l.at++
		default:
			l.at++
			if k == name && (b.Len() == 0 || strings.ContainsAny(b.String(), "\\`\"\n\r\t;")) {
				return source.Refusef("A name in quotes is empty, or has a quote, backslash, semicolon or line break.")
			}
			l.add(k, from, b.String())
			return nil
		}
	}
	return source.Refusef("A quote is not closed: %.40s", l.text[from:])
}

// escape writes what a backslash and the character behind it mean. An unknown pair stands for itself, as in a regular
// expression.
func escape(b *strings.Builder, c byte) error {
	if s, ok := escapes[c]; ok {
		b.WriteString(s)
		return nil
	}
	if strings.IndexByte("0xuU", c) >= 0 {
		return source.Refusef(`Escapes such as \x27 and \u0027 in strings are not allowed. Write the character.`)
	}
	b.WriteByte('\\')
	b.WriteByte(c)
	return nil
}

func (l *lexer) number() error {
	from := l.at
	l.skip(isDigit)
	tuple := from > 0 && l.text[from-1] == '.' && l.afterSign(".") || l.project()
	if !tuple && l.at < len(l.text) && l.text[l.at] == '.' {
		l.at++
		l.skip(isDigit)
	}
	if end := l.at + 1; !tuple && end < len(l.text) && l.text[l.at]|0x20 == 'e' {
		if l.text[end] == '+' || l.text[end] == '-' {
			end++
		}
		if end < len(l.text) && isDigit(l.text[end]) {
			l.at = end
			l.skip(isDigit)
		}
	}
	if l.at < len(l.text) && isNameByte(l.text[l.at]) {
		return source.Refusef("A name that begins with a digit must be in quotes: %.40s", l.text[from:])
	}
	l.add(number, from, l.text[from:l.at])
	return nil
}

func (l *lexer) afterSign(s string) bool {
	return len(l.tokens) > 0 && l.tokens[len(l.tokens)-1].value == s
}

// project reports whether digits end the name of a project: my-project-123.dataset.
func (l *lexer) project() bool {
	return l.d.DottedNames && l.afterSign("-") && l.at+1 < len(l.text) && l.text[l.at] == '.' &&
		isNameByte(l.text[l.at+1]) && !isDigit(l.text[l.at+1])
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
	if !strings.ContainsRune("()[]+-*/%,.;:=<>!~&|^", rune(c)) {
		r, _ := utf8.DecodeRuneInString(l.text[from:])
		return source.Refusef("The character %q is not part of the language here.", r)
	}
	l.at++
	l.add(sign, from, string(c))
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNameByte(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c >= 0x80
}
