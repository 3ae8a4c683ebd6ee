// Package mark finds the marks in a model's text. A mark names the cell or formula behind the figure before it:
//
//	Revenue was 1,204[^r1.4.revenue], 12 %[^r1.4.revenue/r1.3.revenue-1] more than in March.
//
// A mark begins with "[^r" and a digit, ends with "]", and has at most 64 bytes on one line. It is ASCII, except for
// quoted names of columns. Inside code spans and fenced code blocks there are no marks. Any other "[^…]" is text: a
// footnote of Markdown, a regular expression.
//
// Readers never see marks. Cut removes them from a text, and a Filter removes them from a text while it grows. What a
// mark means is read by Parse.
package mark

import (
	"slices"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// maxBytes is the maximum length of a mark.
const maxBytes = 64

// Cut returns a text without its marks, and the marks.
func Cut(text string) (string, []footnote.Mark) {
	var f Filter
	f.plain = true
	out := append([]byte(nil), f.Add([]byte(text))...)
	out = append(out, f.End()...)
	if f.marks == nil {
		return text, nil
	}
	return string(out), f.marks
}

// Restore returns the text that Cut has split into a text and its marks.
func Restore(text string, marks []footnote.Mark) string {
	var out []byte
	at := 0
	for _, m := range marks {
		if m.At < at || m.At > len(text) {
			continue
		}
		out = append(append(out, text[at:m.At]...), m.Text...)
		at = m.At
	}
	return string(append(out, text[at:]...))
}

// Filter removes the marks from a text that arrives in pieces: the insides of JSON strings, which never end within an
// escape. It holds back at most one unfinished mark. The zero value is ready to use.
type Filter struct {
	plain bool // pieces are text rather than insides of JSON strings
	sent  int  // bytes returned so far
	marks []footnote.Mark

	held   []byte // the beginning of what may be a mark, as it arrived
	text   []byte // the same, decoded, with 0x80 for all bytes that are not ASCII
	quoted bool   // within a quoted name of the mark

	out  []byte
	code code
}

// Add returns the next piece without marks. The result is valid until the next call; it is piece itself if that has no
// mark.
func (f *Filter) Add(piece []byte) []byte {
	f.out = f.out[:0]
	from := 0 // the part of piece from here on is neither in out nor held
	if len(f.held) > 0 {
		from = -1
	}
	whole := from == 0
	for i := 0; i < len(piece); {
		c, n, size := f.character(piece[i:])
		if len(f.held) > 0 {
			switch f.continues(c) {
			case inMark:
				f.held = append(f.held, piece[i:i+n]...)
				for range size {
					f.text = append(f.text, c)
				}
				i += n
				continue
			case ended:
				f.held = append(f.held, ']')
				f.cut(len(f.out))
				i += n
				from = i
				continue
			}
			// It was text, but another mark may begin after its bracket.
			_, bracket, _ := f.character(f.held)
			f.out = append(f.out, f.held[:bracket]...)
			piece = slices.Concat(f.held[bracket:], piece[i:])
			f.drop()
			from, i = 0, 0
			continue
		}
		if c == '[' && !f.code.inside() {
			whole = false
			f.out = append(f.out, piece[from:i]...)
			f.code.add(c)
			f.held = append(f.held, piece[i:i+n]...)
			f.text = append(f.text, c)
			i += n
			from = -1
			continue
		}
		f.code.add(c)
		i += n
		if f.code.within() {
			i += ordinary(piece[i:])
		}
	}
	if whole {
		f.sent += len(piece)
		return piece
	}
	if from >= 0 && len(f.held) == 0 {
		f.out = append(f.out, piece[from:]...)
	}
	f.sent += len(f.out)
	return f.out
}

// End returns what was held back at the end of the text. An unfinished mark is dropped.
func (f *Filter) End() []byte {
	f.out = f.out[:0]
	if len(f.text) >= len("[^r1") {
		f.cut(0)
		return nil
	}
	f.out = append(f.out, f.held...)
	f.drop()
	f.sent += len(f.out)
	return f.out
}

// cut records the mark that is held back. It follows the first n bytes of out.
func (f *Filter) cut(n int) {
	text := f.held
	if !f.plain {
		text = strictjson.AppendUnescaped(nil, f.held)
	}
	f.marks = append(f.marks, footnote.Mark{At: f.sent + n, Text: string(text)})
	f.drop()
}

func (f *Filter) drop() { f.held, f.text, f.quoted = f.held[:0], f.text[:0], false }

// What a character means for the mark that is held back.
const (
	inMark = iota
	ended
	noMark
)

// continues returns what c means for the mark that is held back: inMark, ended or noMark.
func (f *Filter) continues(c byte) int {
	n := len(f.text)
	fits := false
	switch n {
	case 1:
		fits = c == '^'
	case 2:
		fits = c == 'r'
	case 3:
		fits = '0' <= c && c <= '9'
	default:
		if c == ']' && !f.quoted {
			if n+1 > maxBytes {
				return noMark
			}
			return ended
		}
		fits = ' ' <= c && c != 0x7f && c != '`' && n+1 < maxBytes && (f.quoted || c < 0x80 && c != '[')
		if c == '"' {
			f.quoted = !f.quoted
		}
	}
	if fits {
		return inMark
	}
	return noMark
}

// character decodes the first character of a piece. It takes n bytes there, and size bytes in the decoded text. All
// that is not ASCII is 0x80.
func (f *Filter) character(piece []byte) (c byte, n, size int) {
	c = piece[0]
	switch {
	case c >= 0x80:
		return 0x80, 1, 1
	case f.plain || c != '\\' || len(piece) < 2:
		return c, 1, 1
	case piece[1] == 'u' && len(piece) >= 6:
		value := 0
		for _, d := range piece[2:6] {
			value = value<<4 | int(hex(d))
		}
		switch {
		case 0xD800 <= value && value < 0xE000:
			return 0x80, 6, 2 // half of a character of four bytes
		case value >= 0x80:
			return 0x80, 6, utf8.RuneLen(rune(value))
		}
		return byte(value), 6, 1
	}
	switch piece[1] {
	case 'n':
		return '\n', 2, 1
	case 't':
		return '\t', 2, 1
	case 'r':
		return '\r', 2, 1
	case 'b', 'f':
		return ' ', 2, 1
	}
	return piece[1], 2, 1
}

func hex(d byte) byte {
	switch {
	case '0' <= d && d <= '9':
		return d - '0'
	case 'a' <= d && d <= 'f':
		return d - 'a' + 10
	case 'A' <= d && d <= 'F':
		return d - 'A' + 10
	}
	return 0
}

// code knows whether the end of a growing text is inside code. A code span ends with its line, since its closing
// backticks may never come.
type code struct {
	started bool // the line has more than spaces
	run     int  // backticks or tildes at the end
	char    byte // of the run
	first   bool // the run begins the line
	span    int  // backticks that opened the span; 0 outside spans
	fence   int  // characters that opened the block; 0 outside blocks
	by      byte // the character of the fence
}

// within reports whether the end of the text is within a line and after no backtick or tilde, so that ordinary
// characters change nothing.
func (c *code) within() bool { return c.started && c.run == 0 }

// ordinary returns how many bytes at the start of a piece begin neither a mark, nor code, a line or an escape.
func ordinary(piece []byte) int {
	for i, c := range piece {
		if special[c] {
			return i
		}
	}
	return len(piece)
}

var special = [256]bool{'[': true, '`': true, '~': true, '\n': true, '\\': true}

func (c *code) inside() bool {
	at := *c
	at.endRun()
	return at.span > 0 || at.fence > 0
}

func (c *code) add(b byte) {
	if b == '`' || b == '~' {
		if c.run > 0 && c.char != b {
			c.endRun()
		}
		if c.run == 0 {
			c.char, c.first = b, !c.started
		}
		c.run++
		c.started = true
		return
	}
	c.endRun()
	switch b {
	case '\n':
		c.started, c.span = false, 0
	case ' ', '\t', '\r':
	default:
		c.started = true
	}
}

// endRun applies the backticks or tildes that came last.
func (c *code) endRun() {
	n := c.run
	c.run = 0
	switch {
	case n == 0:
	case c.fence > 0:
		if c.first && c.char == c.by && n >= c.fence {
			c.fence = 0
		}
	case c.first && n >= 3:
		c.fence, c.by = n, c.char
	case c.char == '~':
	case c.span == 0:
		c.span = n
	case c.span == n:
		c.span = 0
	}
}
