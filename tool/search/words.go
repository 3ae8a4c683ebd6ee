package search

import (
	"slices"
	"strings"
	"unicode"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
)

// A query has the syntax of a search box: all words must occur, "in quotes" is a phrase, a minus excludes,
// and or separates alternatives: "a or b c" means a, or b and c. An engine may parse this itself; for the others it is
// parsed here, with the same meaning. Nothing else in a query is syntax: any character that is not a letter or a digit
// only separates words.

const maxTerms = 16

// words is a parsed query. A row matches when it matches one of the alternatives.
type words struct {
	text         string
	alternatives []source.Terms
}

// wanted returns the terms to find.
func (w words) wanted() (terms []source.Term) {
	for _, a := range w.alternatives {
		terms = append(terms, a.All...)
	}
	return terms
}

// parseWords parses a query.
func parseWords(text string) (words, error) {
	if err := wellFormed(text); err != nil {
		return words{}, err
	}
	w := words{text: text}
	now, terms := source.Terms{}, 0
	for rest := []rune(text); len(rest) > 0; {
		var token []rune
		var minus, quoted bool
		if unicode.IsSpace(rest[0]) {
			rest = rest[1:]
			continue
		}
		token, rest, minus, quoted = firstPart(rest)
		if !quoted && strings.EqualFold(string(token), "or") {
			if len(now.All)+len(now.Not) > 0 {
				w.alternatives, now = append(w.alternatives, now), source.Terms{}
			}
			continue
		}
		t := newTerm(token)
		if !strings.ContainsFunc(t.Plain, func(r rune) bool { return !unicode.IsMark(r) }) {
			continue // an accent alone is not a word, and nothing is left of it when accents are ignored
		}
		if terms++; terms > maxTerms {
			return words{}, tool.Refusef("The query has more than %d words. Search for the few that matter.", maxTerms)
		}
		if minus {
			now.Not = append(now.Not, t)
		} else {
			now.All = append(now.All, t)
		}
	}
	if len(now.All)+len(now.Not) > 0 {
		w.alternatives = append(w.alternatives, now)
	}
	onlyExcludes := func(a source.Terms) bool { return len(a.All) == 0 }
	if len(w.alternatives) == 0 || slices.ContainsFunc(w.alternatives, onlyExcludes) {
		return words{}, tool.Refusef(
			"The query names no word to find, or none on one side of or. Give at least one that is not excluded.")
	}
	return w, nil
}

// firstPart cuts off the first word or quoted part of text that does not begin with a space.
func firstPart(text []rune) (token, rest []rune, minus, quoted bool) {
	switch {
	case text[0] == '"':
		token, rest = quotedPart(text[1:])
		return token, rest, false, true
	case text[0] == '-' && len(text) > 1 && text[1] == '"':
		token, rest = quotedPart(text[2:])
		return token, rest, true, true
	}
	n := 1
	for n < len(text) && !unicode.IsSpace(text[n]) && text[n] != '"' {
		n++
	}
	return text[:n], text[n:], text[0] == '-' && n > 1, false
}

// quotedPart returns the text before the next quote and the text after it.
func quotedPart(rest []rune) (part, after []rune) {
	for i, r := range rest {
		if r == '"' {
			return rest[:i], rest[i+1:]
		}
	}
	return rest, nil
}

// newTerm parses a token. Signs inside a word, as in AB-12 or node.js, make it a phrase for engines that search by
// word.
func newTerm(token []rune) source.Term {
	sign := func(r rune) bool { return !wordRune(r) }
	return source.Term{
		Plain: strings.Join(strings.FieldsFunc(string(token), sign), " "),
		Whole: strings.Join(strings.Fields(strings.TrimFunc(string(token), sign)), " "),
	}
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
