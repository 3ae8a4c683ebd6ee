package grammar

import (
	"strconv"
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
	low   string // a word in lower case, or what comes before the quote of a string
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
	case l.opens(c):
		return l.quoted(text, c, l.d.mode())
	case l.prefix(c) && l.opens(after):
		l.at++
		return l.quoted(text, after, rawText)
	case l.d.Bytes != 0 && c|0x20 == l.d.Bytes && l.opens(after):
		return l.bytes(after)
	case c == '"' || c == '`':
		return l.quoted(name, c, plainText)
	case c == '[' && l.d.NameQuote == '[':
		return l.quoted(name, ']', plainText)
	case c == '$' && isDigit(after):
		l.at++
		l.skip(isDigit)
		l.add(argument, from, l.text[from+1:l.at])
		return nil
	case c == '0' && after|0x20 == 'x':
		return l.hexadecimal()
	case isDigit(c), c == '.' && isDigit(after) && !l.afterName():
		return l.number()
	case isNameByte(c):
		return l.word()
	}
	return l.sign()
}

// word reads a keyword, or a name without quotes.
func (l *lexer) word() error {
	from := l.at
	l.skip(isNameByte)
	l.add(word, from, l.text[from:l.at])
	if i := strings.IndexFunc(l.text[from:l.at], func(r rune) bool { return r > unicode.MaxASCII }); i >= 0 {
		// Some servers take ſ for an S when they look for keywords.
		return source.Refusef("A name with other letters than A to Z must be in quotes: %.40s", l.text[from:])
	}
	return nil
}

// opens reports whether a character begins a string.
func (l *lexer) opens(c byte) bool { return c != 0 && strings.IndexByte(l.d.StringQuotes, c) >= 0 }

// bytes reads a literal such as x'00ff' or b'abc\x00', in which a backslash may only code a byte.
func (l *lexer) bytes(quote byte) error {
	from := l.at
	l.at++
	if err := l.quoted(text, quote, rawText); err != nil {
		return err
	}
	t := &l.tokens[len(l.tokens)-1]
	t.from, t.low = from, string(l.d.Bytes)
	for rest := t.value; rest != ""; {
		b, _, after, err := strconv.UnquoteChar(rest, 0)
		if err != nil || b > unicode.MaxLatin1 || rest[0] == '\\' && strings.IndexByte("uU", rest[1]) >= 0 {
			return source.Refusef("These bytes cannot be read: %.40s", l.text[from:])
		}
		rest = after
	}
	return nil
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

// mode says what a backslash means in a string.
type mode int

const (
	plainText mode = iota // itself
	escaped               // it begins an escape
	rawText               // itself; where strings may have three quotes, a quote behind it does not end the string
)

func (d *Dialect) mode() mode {
	if d.Backslash {
		return escaped
	}
	return plainText
}

// quoted reads a string or name. Its quote is written twice inside it.
func (l *lexer) quoted(k kind, quote byte, m mode) error {
	from, end := l.at, string(quote)
	if triple := strings.Repeat(end, 3); k == text && l.d.TripleQuotes && strings.HasPrefix(l.text[l.at:], triple) {
		end = triple
	}
	var b strings.Builder
	for l.at += len(end); l.at < len(l.text); l.at++ {
		c := l.text[l.at]
		switch {
		case c == '\\' && m == escaped && l.at+1 < len(l.text):
			l.at++
			if err := l.escape(&b); err != nil {
				return err
			}
		case c == '\\' && m == rawText && l.d.TripleQuotes && l.at+1 < len(l.text):
			b.WriteString(l.text[l.at : l.at+2])
			l.at++
		case !strings.HasPrefix(l.text[l.at:], end):
			b.WriteByte(c)
		case len(end) == 1 && strings.HasPrefix(l.text[l.at+1:], end):
			b.WriteByte(c)
			l.at++
		default:
			l.at += len(end)
			if k == name && (b.Len() == 0 || strings.ContainsAny(b.String(), "\\`\"\n\r\t;")) {
				return source.Refusef("A name in quotes is empty, or has a quote, backslash, semicolon or line break.")
			}
			l.add(k, from, b.String())
			return nil
		}
	}
	return source.Refusef("A quote is not closed: %.40s", l.text[from:])
}

// coded are the digits behind the letters of escapes with the number of a character.
var coded = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// escape writes what a backslash and what follows it means. An unknown pair stands for itself, as in a regular
// expression.
func (l *lexer) escape(b *strings.Builder) error {
	c := l.text[l.at]
	if s, ok := escapes[c]; ok {
		b.WriteString(s)
		return nil
	}
	if n := coded[c]; n > 0 && strings.IndexByte(l.d.Escapes, c) >= 0 && l.at+n < len(l.text) {
		code, err := strconv.ParseUint(l.text[l.at+1:l.at+1+n], 16, 32)
		if r := rune(code); err == nil && code > 0 && utf8.ValidRune(r) && (c != 'x' || r < utf8.RuneSelf) {
			b.WriteRune(r)
			l.at += n
			return nil
		}
	}
	if coded[c] > 0 || c == '0' {
		return source.Refusef(`The escape \%c is not allowed here. Write the character itself.`, c)
	}
	b.WriteByte('\\')
	b.WriteByte(c)
	return nil
}

func (l *lexer) number() error {
	from := l.at
	l.skip(isDigitOrLine)
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
	if l.at < len(l.text) && strings.IndexByte(l.d.Suffixes, l.text[l.at]) >= 0 {
		l.at++
	}
	if l.at < len(l.text) && isNameByte(l.text[l.at]) {
		return source.Refusef("A name that begins with a digit must be in quotes: %.40s", l.text[from:])
	}
	l.add(number, from, strings.ReplaceAll(l.text[from:l.at], "_", "")) // of 1_000_000
	return nil
}

// hexadecimal reads a number such as 0xff.
func (l *lexer) hexadecimal() error {
	from := l.at
	l.skip(isNameByte)
	if _, err := strconv.ParseUint(l.text[from:l.at], 0, 64); err != nil {
		return source.Refusef("This is not a number: %.40s", l.text[from:])
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

func isDigitOrLine(c byte) bool { return isDigit(c) || c == '_' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNameByte(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c >= 0x80
}
