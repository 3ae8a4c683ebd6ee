package verified

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word of a question, or a sign that has a meaning, such as % or a minus.
type token struct {
	text       string // in lower case
	start, end int    // in the question
}

// maxTokens limits how many words of a question are compared; a longer one is no wording.
const maxTokens = 200

// tokenize splits a question. Spaces and punctuation separate words and are left out, apart from a point, comma, colon
// or hyphen between digits, which belongs to the number. Signs that change a meaning are tokens of their own. It
// returns nil for text of more than maxTokens.
func tokenize(s string) []token {
	var all []token
	for at := 0; at < len(s); {
		r, n := utf8.DecodeRuneInString(s[at:])
		switch {
		case inWord(r):
			end := wordEnd(s, at)
			all = append(all, token{fold(s[at:end]), at, end})
			at = end
			continue
		case isSign(r, s, at):
			all = append(all, token{string(r), at, at + n})
		}
		if len(all) > maxTokens {
			return nil
		}
		at += n
	}
	return all
}

// inWord reports whether a character belongs to a word. Digits such as ½ and ² change the number before them.
func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '_'
}

// wordEnd returns where the word at a position ends.
func wordEnd(s string, at int) int {
	last := rune(0)
	for at < len(s) {
		r, n := utf8.DecodeRuneInString(s[at:])
		next, _ := utf8.DecodeRuneInString(s[at+n:])
		joins := strings.ContainsRune(".,:-", r) && unicode.IsDigit(last) && unicode.IsDigit(next) ||
			isApostrophe(r) && unicode.IsLetter(last) && unicode.IsLetter(next)
		if !inWord(r) && !joins {
			return at
		}
		last = r
		at += n
	}
	return at
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' || r == 'ʼ' }

// isSign reports whether the character at a position has a meaning by itself: a symbol such as $ or +, one of some
// marks that Unicode counts as punctuation, the minus of a number, or the ! or - that negates what follows.
func isSign(r rune, s string, at int) bool {
	if unicode.IsSymbol(r) || strings.ContainsRune(`%‰‱٪％&＆#＃@＠*＊/／\＼`, r) {
		return true
	}
	dash := unicode.Is(unicode.Pd, r) // word processors make a minus a dash
	if !dash && r != '!' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[at+utf8.RuneLen(r):])
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	negates := (r == '!' || r == '-') && (inWord(next) || strings.ContainsRune(`"“„«‘‚'(`, next))
	return (negates || dash && unicode.IsDigit(next)) && !inWord(before)
}

// fold returns a word in lower case, without apostrophes.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if isApostrophe(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// spell returns the words of a text in lower case, with one space between them.
func spell(s string) string {
	var b strings.Builder
	for i, t := range tokenize(s) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}
