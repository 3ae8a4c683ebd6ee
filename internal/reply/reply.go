// Package reply writes tool results for a model: compact JSON, in valid UTF-8, of limited size.
package reply

import (
	"fmt"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// JSON encodes v on one line and does not escape <, > and &: nothing here is put into HTML unescaped, and
// escapes cost tokens. v must be encodable.
func JSON(v any) []byte { return strictjson.MustEncode(v) }

// Head writes the first rows of a result as a JSON array: at most rows rows and size bytes, with each text
// cell cut to cell bytes. It returns the array, the number of rows in it, and whether a cell was cut.
func Head(all [][]any, rows, size, cell int) (array []byte, shown int, cut bool) {
	array = append(array, '[')
	for _, row := range all[:min(rows, len(all))] {
		start := len(array)
		if shown > 0 {
			array = append(array, ',')
		}
		var c bool
		array, c = appendRow(array, row, cell)
		if len(array)+1 > size {
			array = array[:start]
			break
		}
		shown++
		cut = cut || c
	}
	return append(array, ']'), shown, cut
}

func appendRow(dst []byte, row []any, limit int) (_ []byte, cut bool) {
	dst = append(dst, '[')
	for i, cell := range row {
		if i > 0 {
			dst = append(dst, ',')
		}
		s, ok := cell.(string)
		if !ok {
			dst = footnote.AppendCell(dst, cell)
			continue
		}
		text, c := Clip(s, limit)
		cut = cut || c
		dst = append(dst, JSON(text)...)
	}
	return append(dst, ']'), cut
}

// Clip returns the first n bytes of s, without cutting through a character, followed by a note of the full
// length; it returns a shorter s unchanged.
func Clip(s string, n int) (text string, cut bool) {
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… [%d bytes in all]", s[:n], len(s)), true
}
