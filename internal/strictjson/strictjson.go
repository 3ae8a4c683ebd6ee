// Package strictjson reads untrusted JSON in one pass. It rejects what different readers would interpret
// differently or could not store: duplicate keys, bytes that are not UTF-8, lone surrogates, NUL, trailing
// data, and unlimited nesting. It compares names exactly; encoding/json would accept "MODEL" for "model".
//
// It returns a tree of values that point into the input, so that a caller can ignore unknown keys without
// decoding them, and can name the position of keys that it rejects.
package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/unescaped"
)

// maxDepth is how deeply arrays and objects may be nested.
const maxDepth = 100

// Kind is the type of a value.
type Kind uint8

// The kinds of values. Get returns Missing for a key that does not exist.
const (
	Missing Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Value is one value of a document. The zero Value is Missing. It points into the parsed bytes, which must
// not be changed.
type Value struct {
	kind    Kind
	escaped bool // a string with escapes
	raw     []byte
	items   []Value
	members []Member
}

// Member is a key of an object and its value.
type Member struct {
	Name  string
	Value Value
}

// SyntaxError describes what is wrong with a document. Its text is safe to show: of the document it includes
// only a duplicate key, quoted and shortened.
type SyntaxError struct {
	Offset int // bytes from the start
	Msg    string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("the JSON is not valid at byte %d: %s", e.Offset, e.Msg)
}

// Parse parses a document that contains exactly one value. Its errors are *SyntaxError.
func Parse(data []byte) (Value, error) {
	p := parser{data: data}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	p.space()
	if p.at < len(p.data) {
		return Value{}, p.fail("something follows the value")
	}
	return v, nil
}

// Kind returns the type of v.
func (v Value) Kind() Kind { return v.kind }

// Absent reports whether v is missing or null, which optional keys treat alike.
func (v Value) Absent() bool { return v.kind == Missing || v.kind == Null }

// Raw returns the text of v as written in the document.
func (v Value) Raw() []byte { return v.raw }

// Items returns the elements of an array; nil for other kinds.
func (v Value) Items() []Value { return v.items }

// Members returns the members of an object in order; nil for other kinds.
func (v Value) Members() []Member { return v.members }

// Get returns the value of a key in an object, or a missing value.
func (v Value) Get(name string) Value {
	for i := range v.members {
		if v.members[i].Name == name {
			return v.members[i].Value
		}
	}
	return Value{}
}

// Bool returns a boolean; ok is false for other kinds.
func (v Value) Bool() (b, ok bool) { return v.kind == Bool && v.raw[0] == 't', v.kind == Bool }

// Int returns a number that is written as an integer and fits in an int64; ok is false otherwise, also for
// 1e3 or 5.0.
func (v Value) Int() (n int64, ok bool) {
	if v.kind != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	return n, err == nil
}

// Text returns a string, unescaped; ok is false for other kinds.
func (v Value) Text() (s string, ok bool) {
	if v.kind != String {
		return "", false
	}
	inner := v.raw[1 : len(v.raw)-1]
	if !v.escaped {
		return string(inner), true
	}
	return string(AppendUnescaped(make([]byte, 0, len(inner)), inner)), true
}

// parser reads one document.
type parser struct {
	data []byte
	at   int
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{Offset: p.at, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next returns the byte at the position, or 0 at the end. NUL is not allowed anywhere in a document, so
// callers need not tell the two apart.
func (p *parser) next() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *parser) value(depth int) (Value, error) {
	start := p.at
	switch c := p.next(); {
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.array(depth + 1)
	case c == '"':
		escaped, err := p.string()
		return Value{kind: String, escaped: escaped, raw: p.data[start:p.at]}, err
	case c == 't':
		return p.literal("true", Bool)
	case c == 'f':
		return p.literal("false", Bool)
	case c == 'n':
		return p.literal("null", Null)
	case c == '-' || c >= '0' && c <= '9':
		err := p.number()
		return Value{kind: Number, raw: p.data[start:p.at]}, err
	case p.at >= len(p.data):
		return Value{}, p.fail("it ends where a value should be")
	default:
		return Value{}, p.fail("a value should be here")
	}
}

func (p *parser) literal(word string, kind Kind) (Value, error) {
	start := p.at
	if !bytes.HasPrefix(p.data[p.at:], []byte(word)) {
		return Value{}, p.fail("a value should be here")
	}
	p.at += len(word)
	return Value{kind: kind, raw: p.data[start:p.at]}, nil
}

// enter moves past the bracket that opens an array or object.
func (p *parser) enter(depth int) error {
	if depth > maxDepth {
		return p.fail("it is nested more than %d deep", maxDepth)
	}
	p.at++
	return nil
}

// more moves to the next element of an array or object, or past the bracket that closes it.
func (p *parser) more(what string, first bool, closing byte) (more bool, err error) {
	p.space()
	if p.next() == closing {
		p.at++
		return false, nil
	}
	if !first {
		if p.next() != ',' {
			return false, p.fail("%s needs a comma or its end here", what)
		}
		p.at++
		p.space()
	}
	return true, nil
}

func (p *parser) array(depth int) (Value, error) {
	v := Value{kind: Array}
	start := p.at
	if err := p.enter(depth); err != nil {
		return Value{}, err
	}
	for {
		more, err := p.more("an array", len(v.items) == 0, ']')
		if err != nil || !more {
			v.raw = p.data[start:p.at]
			return v, err
		}
		item, err := p.value(depth)
		if err != nil {
			return Value{}, err
		}
		v.items = append(v.items, item)
	}
}

func (p *parser) object(depth int) (Value, error) {
	v := Value{kind: Object}
	var seen names
	start := p.at
	if err := p.enter(depth); err != nil {
		return Value{}, err
	}
	for {
		more, err := p.more("an object", len(v.members) == 0, '}')
		if err != nil || !more {
			v.raw = p.data[start:p.at]
			return v, err
		}
		m, err := p.member(depth)
		if err != nil {
			return Value{}, err
		}
		if !seen.add(v.members, m.Name) {
			return Value{}, p.fail("the key %.80q is duplicated in an object", m.Name)
		}
		v.members = append(v.members, m)
	}
}

func (p *parser) member(depth int) (Member, error) {
	if p.next() != '"' {
		return Member{}, p.fail("a key should be here")
	}
	start := p.at
	escaped, err := p.string()
	if err != nil {
		return Member{}, err
	}
	name, _ := Value{kind: String, escaped: escaped, raw: p.data[start:p.at]}.Text()
	p.space()
	if p.next() != ':' {
		return Member{}, p.fail("a colon should be here")
	}
	p.at++
	p.space()
	v, err := p.value(depth)
	return Member{Name: name, Value: v}, err
}

// names finds duplicate keys. Most objects are small; only larger ones get a set.
type names struct{ set map[string]struct{} }

const smallObject = 16

// add reports whether name differs from those of all members so far.
func (n *names) add(members []Member, name string) bool {
	if len(members) < smallObject {
		for i := range members {
			if members[i].Name == name {
				return false
			}
		}
		return true
	}
	if n.set == nil {
		n.set = make(map[string]struct{}, 4*smallObject)
		for i := range members {
			n.set[members[i].Name] = struct{}{}
		}
	}
	if _, dup := n.set[name]; dup {
		return false
	}
	n.set[name] = struct{}{}
	return true
}

// string reads a string and reports whether it has escapes.
func (p *parser) string() (escaped bool, err error) {
	p.at++
	for p.at < len(p.data) {
		if p.at += unescaped.Prefix(p.data[p.at:]); p.at == len(p.data) {
			break
		}
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return escaped, nil
		case c == '\\':
			escaped = true
			if err := p.escape(); err != nil {
				return false, err
			}
		case c < ' ':
			return false, p.fail("a string contains an unescaped control character")
		default:
			r, size := utf8.DecodeRune(p.data[p.at:])
			if r == utf8.RuneError && size == 1 {
				return false, p.fail("the text is not valid UTF-8")
			}
			p.at += size
		}
	}
	return false, p.fail("a string does not end")
}

func (p *parser) escape() error {
	if p.at+1 >= len(p.data) {
		return p.fail("a string does not end")
	}
	switch p.data[p.at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.at += 2
		return nil
	case 'u':
		return p.unicode()
	}
	return p.fail("a string has an escape that JSON does not know")
}

func (p *parser) unicode() error {
	r, ok := hex4(p.data[p.at+2:])
	switch {
	case !ok:
		return p.fail("a \\u escape needs four hexadecimal digits")
	case r == 0:
		return p.fail("NUL cannot be stored in text")
	case !utf16.IsSurrogate(r):
		p.at += 6
		return nil
	}
	if rest := p.data[p.at+6:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		if low, ok := hex4(rest[2:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			p.at += 12
			return nil
		}
	}
	return p.fail("unpaired surrogate")
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(n), err == nil
}

// number reads a number. Of the characters that numbers have, JSON allows only some sequences.
func (p *parser) number() error {
	start := p.at
	for p.at < len(p.data) && strings.IndexByte("+-.0123456789Ee", p.data[p.at]) >= 0 {
		p.at++
	}
	if number := p.data[start:p.at]; !json.Valid(number) {
		p.at = start
		return p.fail("a number is not written as JSON allows")
	}
	return nil
}

// AppendUnescaped appends the text that the inside of a JSON string represents. The input must be valid, as
// Parse or a JSON encoder leaves it; invalid parts are copied unchanged.
func AppendUnescaped(dst, inner []byte) []byte {
	for {
		i := bytes.IndexByte(inner, '\\')
		if i < 0 || i+1 >= len(inner) {
			return append(dst, inner...)
		}
		dst = append(dst, inner[:i]...)
		c := inner[i+1]
		inner = inner[i+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			var r rune
			r, inner = unescapeRune(inner)
			dst = utf8.AppendRune(dst, r)
		default: // a quote, a slash or a backslash
			dst = append(dst, c)
		}
	}
}

// unescapeRune reads the digits after \u, and the second half of a surrogate pair if there is one.
func unescapeRune(b []byte) (rune, []byte) {
	r, ok := hex4(b)
	if !ok {
		return utf8.RuneError, b
	}
	b = b[4:]
	if utf16.IsSurrogate(r) && len(b) >= 6 && b[0] == '\\' && b[1] == 'u' {
		if low, ok := hex4(b[2:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, b[6:]
			}
		}
	}
	return r, b // AppendRune writes U+FFFD for a lone half
}

// AppendEscaped appends text as the inside of a JSON string, without quotes. Invalid UTF-8 becomes U+FFFD.
// Line separators are escaped, so that the result is safe in JavaScript.
func AppendEscaped(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	start := 0
	for i := 0; i < len(text); {
		if i += unescaped.Prefix(text[i:]); i == len(text) {
			break
		}
		c := text[i]
		if c < utf8.RuneSelf {
			dst = append(dst, text[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
			dst = append(dst, text[start:i]...)
			dst = append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			start = i + size
		}
		i += size
	}
	return append(dst, text[start:]...)
}

// AppendString appends text as a JSON string, escaped as by AppendEscaped.
func AppendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	dst = AppendEscaped(dst, text)
	return append(dst, '"')
}
