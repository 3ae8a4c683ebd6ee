package search

import (
	"fmt"
	"slices"
	"strings"
)

// maxPattern is SQLite's limit for a LIKE pattern, in bytes.
const maxPattern = 100

// maxCompared limits the pairs of word and column in a statement, because engines limit its length and depth.
const maxCompared = 80

var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// like writes the search without an index. It compares each column separately, as concatenated columns could be too
// long.
func (at target) like(w *writer, q words, filters []filterInput, org string, limit int) (statement, error) {
	terms := len(q.wanted())
	for _, way := range q.ways {
		terms += len(way.not)
	}
	if terms*len(at.text) > maxCompared {
		//nolint:staticcheck // a sentence for the model
		return statement{}, fmt.Errorf("The query has too many words for %s. Search for the few that matter.", at.Name)
	}
	conds, err := at.conditions(w, "", filters, org)
	if err != nil {
		return statement{}, err
	}
	var ways []string
	for _, way := range q.ways {
		cond, err := at.matches(w, way)
		if err != nil {
			return statement{}, err
		}
		ways = append(ways, cond)
	}
	conds = append(conds, "("+strings.Join(ways, " OR ")+")")
	var cols []string
	for _, c := range at.shown() {
		cols = append(cols, w.name(c.Name))
	}
	score := w.name(at.free("score"))
	cols = append(cols, at.excerpt(w, q)+" AS "+w.name(at.free("snippet")), at.occurrences(w, q)+" AS "+score,
		"count(*) OVER () AS "+w.name(at.free("matches")))
	return w.finish(fmt.Sprintf("SELECT %s\nFROM %s\nWHERE %s\nORDER BY %s DESC, %s%s",
		strings.Join(cols, ",\n  "), at.dialect.Table(at.table), strings.Join(conds, "\n  AND "), score,
		w.name(at.key.Name), w.dialect.First(limit))), nil
}

// matches returns the condition that a row matches one of the alternatives.
func (at target) matches(w *writer, way way) (string, error) {
	var conds []string
	for i, t := range slices.Concat(way.all, way.not) {
		cond, err := at.has(w, t)
		if err != nil {
			return "", err
		}
		if i >= len(way.all) {
			cond = "NOT " + cond
		}
		conds = append(conds, cond)
	}
	return "(" + strings.Join(conds, "\n  AND ") + ")", nil
}

// has returns the condition that one of the columns contains a term.
func (at target) has(w *writer, t term) (string, error) {
	var conds []string
	for _, spelling := range w.spellings(t.whole) {
		pattern := "%" + likeEscapes.Replace(spelling) + "%"
		if len(pattern) > maxPattern {
			//nolint:staticcheck // a sentence for the model
			return "", fmt.Errorf("The word or phrase %.40q… is too long to be found here.", t.whole)
		}
		mark := w.bind("query", pattern)
		for _, c := range at.text {
			column := w.name(c.Name)
			cond := fmt.Sprintf(`%s LIKE %s ESCAPE '\'`, column, mark)
			if !w.dialect.LikeFolds {
				cond = fmt.Sprintf(`%s LIKE %s ESCAPE '\'`, w.dialect.Fold.Of(column), w.dialect.Fold.Of(mark))
			}
			conds = append(conds, "coalesce("+cond+", FALSE)")
		}
	}
	return "(" + strings.Join(conds, " OR ") + ")", nil
}

// spellings returns the spellings of a term that LIKE distinguishes. Where it ignores the case of ASCII letters only,
// Água and ÁGUA are different words.
func (w *writer) spellings(t string) []string {
	ascii := !strings.ContainsFunc(t, func(r rune) bool { return r > 127 })
	if !w.dialect.LikeFolds || ascii {
		return []string{t}
	}
	all := []string{t}
	low := strings.ToLower(t)
	first, rest := []rune(low)[:1], []rune(low)[1:]
	for _, s := range []string{low, strings.ToUpper(t), strings.ToUpper(string(first)) + string(rest)} {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// occurrences returns an expression that counts the terms in the columns.
func (at target) occurrences(w *writer, q words) string {
	var sums []string
	for _, t := range q.wanted() {
		mark := w.dialect.Fold.Of(w.bind("word", t.whole))
		for _, c := range at.text {
			column := w.dialect.Fold.Of(w.name(c.Name))
			removed := fmt.Sprintf("(length(%[1]s) - length(replace(%[1]s, %[2]s, '')))", column, mark)
			sums = append(sums, "coalesce("+w.dialect.Divide.Of(removed, "length("+mark+")")+", 0)")
		}
	}
	return "CAST(" + strings.Join(sums, " + ") + " AS INTEGER)"
}

// excerpt returns the text around the first matching term, from the first column that contains it. Columns that are
// also shown as the title come last.
func (at target) excerpt(w *writer, q words) string {
	const before, length = 80, 240
	first, last := []string{}, []string{}
	for _, c := range at.text {
		if slices.Contains(at.title, c) {
			last = append(last, w.name(c.Name))
		} else {
			first = append(first, w.name(c.Name))
		}
	}
	columns := append(first, last...)
	s := "CASE"
	for _, way := range q.ways {
		mark := w.dialect.Fold.Of(w.bind("word", way.all[0].whole))
		for _, c := range columns {
			place := w.dialect.Position.Of(w.dialect.Fold.Of(c), mark)
			begin := w.dialect.Greatest.Of("1", fmt.Sprintf("%s - %d", place, before))
			s += fmt.Sprintf(" WHEN %s > 0 THEN substr(%s, %s, %d)", place, w.text(c), begin, length)
		}
	}
	return s + fmt.Sprintf(" ELSE substr(%s, 1, %d) END", w.text(columns[0]), length)
}
