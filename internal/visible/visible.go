// Package visible makes hidden characters of untrusted text visible. Tag characters, marks that change the direction of
// writing, and zero-width characters can carry words that a model reads and a person does not see.
package visible

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with each hidden character replaced by its code point, such as <U+202E>. It keeps the ones that
// writing needs: emoji sequences and flags, the joiners and direction marks of Arabic, Hebrew and Indic texts, and
// zero-width spaces between the words of Thai, Lao, Khmer and Burmese. Text is idempotent. The notation has neither
// quotes nor backslashes, so that JSON stays valid.
func Text(s string) string {
	first := plain(s)
	if first == len(s) {
		return s
	}
	if strings.HasSuffix(s[:first], string(blackFlag)) {
		first -= len(string(blackFlag)) // the tags behind it may spell a flag
	}
	var b strings.Builder
	b.Grow(len(s) + 32)
	b.WriteString(s[:first])
	rest := s[first:]
	before, _ := utf8.DecodeLastRuneInString(s[:first])
	for len(rest) > 0 {
		if n := flag(rest); n > 0 {
			b.WriteString(rest[:n])
			rest, before = rest[n:], endOfTag
			continue
		}
		r, n := utf8.DecodeRuneInString(rest)
		if special(r) && !needed(before, r, rest[n:]) {
			fmt.Fprintf(&b, "<U+%04X>", r)
		} else {
			b.WriteString(rest[:n])
		}
		rest, before = rest[n:], r
	}
	return b.String()
}

// plain returns how many bytes at the start of s have no special character. Every model call scans the whole history,
// so ASCII and most letters must be fast.
func plain(s string) int {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		// Between these are Latin, Greek and Cyrillic letters, signs, and Chinese, Japanese and Korean characters: none
		// of them is special.
		common := r > softHyphen && r < graphemeGlue || r > graphemeGlue && r < 0x600 ||
			r > 0x206f && r < 0x3164 || r > 0x3164 && r < 0xfe00
		if !common && special(r) {
			return i
		}
		i += n
	}
	return len(s)
}

const (
	softHyphen   = '\u00ad'
	graphemeGlue = '\u034f'
	zeroSpace    = '\u200b'
	nonJoiner    = '\u200c'
	joiner       = '\u200d'
	leftToRight  = '\u200e'
	rightToLeft  = '\u200f'
	arabicMark   = '\u061c'

	blackFlag = '\U0001f3f4'
	endOfTag  = '\U000e007f'
)

// unseen are invisible characters outside the category of format characters: fillers, line separators, variation
// selectors, and code points that Unicode reserves for more of them.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: graphemeGlue, Hi: graphemeGlue, Stride: 1},
		{Lo: 0x115f, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, // invisible Khmer vowels
		{Lo: 0x180b, Hi: 0x180f, Stride: 1}, // Mongolian variants
		{Lo: 0x2028, Hi: 0x2029, Stride: 1},
		{Lo: 0x2065, Hi: 0x2065, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1},
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
		{Lo: 0xfff0, Hi: 0xfff8, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}},
}

// special reports whether a character is hidden, at least in some places.
func special(r rune) bool {
	switch {
	case r < 0xa0:
		return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f
	case r < softHyphen:
		return false
	}
	return unicode.In(r, unicode.Cf, unseen) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// needed reports whether writing needs a special character between the character before it and the rest of the text. Of
// several in a row only the first is needed, because a row of them could encode a hidden text.
func needed(before, r rune, rest string) bool {
	switch {
	case r == joiner && selector(before): // emoji family
		return true
	case special(before) && before != endOfTag:
		return false
	case selector(r):
		return selects(before, r, rest)
	case r == joiner, r == nonJoiner, r == graphemeGlue:
		return carries(before)
	case r == softHyphen:
		after, _ := utf8.DecodeRuneInString(rest)
		return unicode.IsLetter(before) && unicode.IsLetter(after)
	case r == leftToRight, r == rightToLeft, r == arabicMark, r == 0x115f, r == 0x1160:
		return true
	case r == zeroSpace:
		return unicode.In(before, spaceless...)
	}
	return false
}

// selector reports whether a character selects a variant of the one before it.
func selector(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0x180b && r <= 0x180d || r == 0x180f
}

// emoji are the emoji of the Basic Multilingual Plane without #, * and the digits, as listed in Unicode's
// emoji-variation-sequences.txt, and a few more.
const emoji = "" + "©®‼⁉™ℹ↔↕↖↗↘↙↩↪⌚⌛⌨⏏⏩⏪⏫⏬⏭⏮⏯⏰⏱⏲⏳⏸⏹⏺Ⓜ▪▫▶◀◻◼◽◾☀☁☂☃☄☎☑☔☕☘☝☠☢☣☦☪☮☯☸" +
	"☹☺♀♂♈♉♊♋♌♍♎♏♐♑♒♓♟♠♣♥♦♨♻♾♿⚒⚓⚔⚕⚖⚗⚙⚛⚜⚠⚡⚧⚪⚫⚰⚱⚽⚾⛄⛅⛈⛎⛏⛑⛓⛔⛩⛪⛰⛱⛲⛳⛴⛵⛷" +
	"⛸⛹⛺⛽✂✅✈✉✊✋✌✍✏✒✔✖✝✡✨✳✴❄❇❌❎❓❔❕❗❣❤➕➖➗➡➰➿⤴⤵⬅⬆⬇⬛⬜⭐⭕〰〽㊗㊙"

const keycap = '\u20e3' // draws a key around the character before it

// selects reports whether Unicode defines the variant r of the character before. rest is the text after r.
func selects(before, r rune, rest string) bool {
	switch {
	case r < 0xfe00:
		return unicode.Is(unicode.Mongolian, before)
	case r == 0xfe0e, r == 0xfe0f: // text or emoji presentation
		if before < 0x80 {
			return strings.ContainsRune("#*0123456789", before) && strings.HasPrefix(rest, string(keycap))
		}
		return before >= 0x1f000 && before < 0x1fb00 || strings.ContainsRune(emoji, before)
	case r == 0xfe00 && (before == '0' || unicode.In(before, variable...)):
		return true
	case r <= 0xfe01 && strings.ContainsRune("‘’“”、。！，．：；？", before):
		return true
	}
	return r <= 0xfe02 && unicode.Is(unicode.Han, before) // variants that once had their own code points
}

// variable are the symbols and scripts that have characters with one variant.
var variable = []*unicode.RangeTable{unicode.Sm, unicode.Myanmar, unicode.Phags_Pa, unicode.Manichaean}

// spaceless are the scripts that write no spaces between words.
var spaceless = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// carries reports whether a joiner may follow a character. Latin letters do not need one.
func carries(r rune) bool {
	english := r < 0x80 && unicode.IsLetter(r)
	return !english && r != utf8.RuneError && unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.S, unicode.P)
}

// flags are the regions whose flags are tag sequences.
var flags = []string{"gbeng", "gbsct", "gbwls"}

// flag returns the length in bytes of the flag at the start of s, or 0.
func flag(s string) int {
	if !strings.HasPrefix(s, string(blackFlag)) {
		return 0
	}
	for _, region := range flags {
		var b strings.Builder
		b.WriteRune(blackFlag)
		for _, c := range region {
			b.WriteRune(0xe0000 + c)
		}
		b.WriteRune(endOfTag)
		if strings.HasPrefix(s, b.String()) {
			return b.Len()
		}
	}
	return 0
}

// written matches the code points that Text writes.
var written = regexp.MustCompile(`<U\+[0-9A-F]{4,6}>`)

// Blank returns s with spaces in place of the code points that Text wrote, because an answer that repeats a cell makes
// no claim about them. All offsets stay the same.
func Blank(s string) string {
	if !strings.Contains(s, "<U+") {
		return s
	}
	return written.ReplaceAllStringFunc(s, func(at string) string { return strings.Repeat(" ", len(at)) })
}
