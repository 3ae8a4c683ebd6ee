package offline

import (
	"slices"
	"strings"
)

// This file writes names of tables and columns in sentences. A name that is not English is left unchanged, because its
// plural would be wrong, and it may already be a plural.

// many returns the plural for the rows of a table. The name of an only table counts if it is a plural.
func (t *table) many() string {
	ws := strings.Fields(showName(t.name))
	for n := len(ws); n > 1 && fileWords[ws[n-1]]; n-- {
		ws = ws[:n-1] // "rentals export" holds rentals
	}
	last := fold(ws[len(ws)-1])
	switch {
	case len(t.p.tables) > 1 || singular(last) != last:
		return manyOf(strings.Join(ws, " "))
	case len(t.nouns) > 0:
		return plural(t.nouns[0], 2)
	}
	return "rows"
}

// fileWords end file names and say nothing about rows.
var fileWords = set("export exports report reports data dump file list extract table sheet csv")

// manyOf returns the plural of a name. A name that is a plural, or not English, is returned unchanged.
func manyOf(name string) string {
	ws := strings.Fields(name)
	if len(ws) == 0 {
		return name
	}
	last := ws[len(ws)-1]
	if isForeign(last) || singular(last) != last || uncounted[last] ||
		len(ws) > 1 && singular(ws[0]) != ws[0] && strings.HasSuffix(last, "ed") {
		return name // "parts used" is already a plural
	}
	return plural(name, 2)
}

// uncounted are words that have no plural, or are already plural.
var uncounted = set(
	"data info information staff equipment stock inventory media personnel people feedback traffic weather total " +
		"species series rows")

// isForeign reports whether a word of a name looks German, French or Spanish.
func isForeign(w string) bool {
	w = fold(w)
	if translations[w] != nil {
		return w != "client" && w != "artist" && w != "region" && w != "note" && w != "patient" && w != "depot" &&
			w != "article" && w != "service" && w != "color" && w != "stock"
	}
	return slices.ContainsFunc([]string{
		"ungen", "ung", "heiten", "keiten", "keit", "schaft", "schaften", "datum", "nummer", "betrag", "preis", "zahl",
		"eur"}, func(end string) bool {
		return len(w) > len(end)+1 && strings.HasSuffix(w, end)
	})
}

// totalOf names a sum in words: "total fee", but "total of betrag" and "total of Total".
func totalOf(name string) string {
	ws := strings.Fields(name)
	for len(ws) > 1 && isUnit(ws[len(ws)-1]) {
		ws = ws[:len(ws)-1]
	}
	if len(ws) > 0 && (isForeign(ws[len(ws)-1]) || isForeign(ws[0])) {
		return "total of " + name
	}
	if name == "total" {
		return name
	}
	return "total " + strings.TrimPrefix(name, "total ")
}
