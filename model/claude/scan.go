package claude

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// This file reads the one event that matters for speed, a content_block_delta, without decoding it. It copies
// the text of a delta as it stands between its quotes, because both stored and shown text is JSON again.
// Anything the scanner is not sure of goes to the slow path, which decodes with encoding/json.

// Classes of bytes inside a JSON string.
const (
	plain = iota
	quoteByte
	escapeByte
	controlByte // not allowed unescaped
	highByte    // part of a non-ASCII character
)

var class = func() (c [256]uint8) {
	for i := range c {
		switch {
		case i == '"':
			c[i] = quoteByte
		case i == '\\':
			c[i] = escapeByte
		case i < 0x20:
			c[i] = controlByte
		case i >= 0x80:
			c[i] = highByte
		}
	}
	return c
}()

// scanned describes the inside of a JSON string.
type scanned struct {
	end  int  // position of the closing quote
	tail bool // it ends with the first half of an escaped surrogate pair
	odd  bool // it needs repair: half a pair elsewhere, or invalid UTF-8
}

// scanString finds the end of the JSON string whose inside begins at from. ok is false if the string is not
// valid JSON or does not end.
//
// It stays one loop, because it runs over every byte that a model streams.
//
//gocyclo:ignore
func scanString(b []byte, from int) (s scanned, ok bool) {
	high := false
	wants := -1 // where the second half of a surrogate pair must begin
	for i := from; i < len(b); i++ {
		switch class[b[i]] {
		case plain:
		case highByte:
			high = true
		case quoteByte:
			s.end = i
			if wants >= 0 {
				s.tail = wants == i
				s.odd = s.odd || wants != i
			}
			s.odd = s.odd || high && !utf8.Valid(b[from:i])
			return s, true
		case controlByte:
			return s, false
		case escapeByte:
			if i+1 >= len(b) {
				return s, false
			}
			if b[i+1] != 'u' {
				if !isEscape(b[i+1]) {
					return s, false
				}
				i++
				continue
			}
			r, valid := hex4(b, i+2)
			if !valid {
				return s, false
			}
			switch {
			case r >= 0xDC00 && r < 0xE000: // second half
				s.odd = s.odd || wants != i
				wants = -1
			case wants >= 0:
				s.odd, wants = true, -1
			}
			if r >= 0xD800 && r < 0xDC00 { // first half
				wants = i + 6
			}
			i += 5
		}
	}
	return s, false
}

func isEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

func hex4(b []byte, i int) (r rune, ok bool) {
	if i+4 > len(b) {
		return 0, false
	}
	for _, c := range b[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// repair copies the inside of a valid JSON string and replaces unpaired surrogates and invalid UTF-8 with
// U+FFFD. It keeps a first half at the very end: its second half may still come.
func repair(dst, raw []byte) []byte {
	const replacement = `\ufffd`
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '\\' && raw[i+1] != 'u':
			dst = append(dst, raw[i:i+2]...)
			i += 2
		case c == '\\':
			r, _ := hex4(raw, i+2)
			n := 6
			switch {
			case r < 0xD800 || r >= 0xE000:
				dst = append(dst, raw[i:i+6]...)
			case r < 0xDC00 && i+6 == len(raw):
				dst = append(dst, raw[i:]...)
			case r < 0xDC00 && secondHalf(raw[i+6:]):
				dst = append(dst, raw[i:i+12]...)
				n = 12
			default:
				dst = append(dst, replacement...)
			}
			i += n
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, replacement...)
			} else {
				dst = append(dst, raw[i:i+n]...)
			}
			i += n
		}
	}
	return dst
}

// secondHalf reports whether raw begins with the second half of an escaped surrogate pair.
func secondHalf(raw []byte) bool {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return false
	}
	r, ok := hex4(raw, 2)
	return ok && r >= 0xDC00 && r < 0xE000
}

// deltaKind is a kind of delta that the fast path knows.
type deltaKind uint8

const (
	textDelta deltaKind = iota + 1
	thinkingDelta
	inputDelta
)

// A form is one way to write a delta event.
type form struct {
	head  string
	delta string
	kinds [3]string // by kind of delta, from textDelta
}

// compact is the form without spaces, as Anthropic's API writes it.
var compact = form{
	head:  `{"type":"content_block_delta","index":`,
	delta: `,"delta":{"type":"`,
	kinds: [3]string{`text_delta","text":"`, `thinking_delta","thinking":"`, `input_json_delta","partial_json":"`},
}

// spaced is the form with a space after each comma and colon, as several other servers write it.
var spaced = func() form {
	space := strings.NewReplacer(`":`, `": `, `,"`, `, "`)
	f := form{head: space.Replace(compact.head), delta: space.Replace(compact.delta)}
	for i, kind := range compact.kinds {
		f.kinds[i] = space.Replace(kind)
	}
	return f
}()

// scannedDelta is a delta event that was read without decoding.
type scannedDelta struct {
	index int
	kind  deltaKind
	text  []byte // inside of the JSON string; part of the input
	tail  bool
	odd   bool
}

// scanDelta reads the data of a delta event. ok is false for everything else, and for deltas written in an
// unusual way.
func scanDelta(b []byte) (d scannedDelta, ok bool) {
	const indexOfBlank = 8 // {"type": — a space or a quote follows
	if len(b) <= indexOfBlank {
		return d, false
	}
	f := &compact
	if b[indexOfBlank] == ' ' {
		f = &spaced
	}
	i, ok := skip(b, 0, f.head)
	if !ok {
		return d, false
	}
	from := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' && i-from < 6 {
		d.index = d.index*10 + int(b[i]-'0')
		i++
	}
	if i == from || b[from] == '0' && i > from+1 {
		return d, false
	}
	if i, ok = skip(b, i, f.delta); !ok {
		return d, false
	}
	for k := range f.kinds {
		if next, ok := skip(b, i, f.kinds[k]); ok {
			i, d.kind = next, textDelta+deltaKind(k)
			break
		}
	}
	if d.kind == 0 {
		return d, false
	}
	s, ok := scanString(b, i)
	if !ok {
		return d, false
	}
	d.text, d.tail, d.odd = b[i:s.end], s.tail, s.odd
	return d, closes(b[s.end+1:])
}

func skip(b []byte, i int, literal string) (int, bool) {
	if len(b)-i < len(literal) || string(b[i:i+len(literal)]) != literal {
		return 0, false
	}
	return i + len(literal), true
}

// closes reports whether b consists of two closing braces and spaces.
func closes(b []byte) bool {
	if len(b) == 2 {
		return b[0] == '}' && b[1] == '}'
	}
	b = bytes.Trim(b, " ")
	return len(b) >= 2 && b[0] == '}' && b[len(b)-1] == '}' && len(bytes.Trim(b[1:len(b)-1], " ")) == 0
}
