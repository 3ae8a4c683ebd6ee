package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A query is what people type into a search box: all words must occur, "in quotes" is a phrase, a minus excludes,
// and or separates alternatives: "a or b c" means a, or b and c. Postgres parses this itself, with
// websearch_to_tsquery; for the other engines it is parsed here, with the same meaning. Nothing else in a query is
// syntax: any character that is not a letter or a digit only separates words.

const maxTerms = 16

// words is a parsed query. A row matches when it matches one of the ways.
type words struct {
	text string
	ways []way
}

// way holds the terms that a row must contain, and those it must not.
type way struct{ all, not []term }

// wanted returns the terms to find.
func (w words) wanted() (terms []term) {
	for _, way := range w.ways {
		terms = append(terms, way.all...)
	}
	return terms
}

// term is a word or a phrase.
type term struct {
	plain string // its letters and digits, with one space for each run of others
	whole string // with the signs inside it, as in AB-12
}

// parseWords parses a query.
func parseWords(text string) (words, error) {
	if err := wellFormed(text); err != nil {
		return words{}, err
	}
	w := words{text: text}
	now, terms := way{}, 0
	for rest := []rune(text); len(rest) > 0; {
		var token []rune
		var minus, quoted bool
		if unicode.IsSpace(rest[0]) {
			rest = rest[1:]
			continue
		}
		token, rest, minus, quoted = firstPart(rest)
		if !quoted && strings.EqualFold(string(token), "or") {
			if len(now.all)+len(now.not) > 0 {
				w.ways, now = append(w.ways, now), way{}
			}
			continue
		}
		t := newTerm(token)
		if !strings.ContainsFunc(t.plain, func(r rune) bool { return !unicode.IsMark(r) }) {
			continue // an accent alone is not a word, and nothing is left of it when accents are ignored
		}
		if terms++; terms > maxTerms {
			//nolint:staticcheck // a sentence for the model
			return words{}, fmt.Errorf("The query has more than %d words. Search for the few that matter.", maxTerms)
		}
		if minus {
			now.not = append(now.not, t)
		} else {
			now.all = append(now.all, t)
		}
	}
	if len(now.all)+len(now.not) > 0 {
		w.ways = append(w.ways, now)
	}
	if len(w.ways) == 0 || slices.ContainsFunc(w.ways, func(way way) bool { return len(way.all) == 0 }) {
		//nolint:staticcheck // a sentence for the model
		return words{}, errors.New(
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
func newTerm(token []rune) term {
	sign := func(r rune) bool { return !wordRune(r) }
	return term{
		plain: strings.Join(strings.FieldsFunc(string(token), sign), " "),
		whole: strings.Join(strings.Fields(strings.TrimFunc(string(token), sign)), " "),
	}
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// match returns the query in FTS5 syntax, using only quoted strings and the operators AND, OR and NOT.
func (w words) match() string {
	quoted := func(terms []term) []string {
		out := make([]string, len(terms))
		for i, t := range terms {
			out[i] = `"` + t.plain + `"` // plain contains only letters, digits and spaces
		}
		return out
	}
	ways := make([]string, len(w.ways))
	for i, way := range w.ways {
		ways[i] = "(" + strings.Join(quoted(way.all), " AND ") + ")"
		if len(way.not) > 0 {
			ways[i] = "(" + ways[i] + " NOT (" + strings.Join(quoted(way.not), " OR ") + "))"
		}
	}
	return strings.Join(ways, " OR ")
}
