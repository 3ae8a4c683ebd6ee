package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
)

// maxPattern is SQLite's limit for a LIKE pattern, in bytes.
const maxPattern = 100

// maxCompared limits the pairs of word and column in a statement, because engines limit its length and depth.
const maxCompared = 80

var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// like returns the parts of a search by LIKE. It compares each column separately, as concatenated columns could be too
// long.
func (at target) like(w *writer, q words) (parts, error) {
	terms := len(q.wanted())
	for _, a := range q.alternatives {
		terms += len(a.Not)
	}
	if terms*len(at.text) > maxCompared {
		return parts{}, tool.Refusef("The query has too many words for %s. Search for the few that matter.", at.Name)
	}
	var alternatives []string
	for _, a := range q.alternatives {
		cond, err := at.matches(w, a)
		if err != nil {
			return parts{}, err
		}
		alternatives = append(alternatives, cond)
	}
	return parts{
		match:   "(" + strings.Join(alternatives, " OR ") + ")",
		score:   at.occurrences(w, q),
		snippet: at.excerpt(w, q),
	}, nil
}

// matches returns the condition that a row matches one of the alternatives.
func (at target) matches(w *writer, a source.Terms) (string, error) {
	var conds []string
	for i, t := range slices.Concat(a.All, a.Not) {
		cond, err := at.has(w, t)
		if err != nil {
			return "", err
		}
		if i >= len(a.All) {
			cond = "NOT " + cond
		}
		conds = append(conds, cond)
	}
	return "(" + strings.Join(conds, "\n  AND ") + ")", nil
}

// has returns the condition that one of the columns contains a term.
func (at target) has(w *writer, t source.Term) (string, error) {
	var conds []string
	for _, spelling := range w.spellings(t.Whole) {
		pattern := "%" + likeEscapes.Replace(spelling) + "%"
		if len(pattern) > maxPattern {
			return "", tool.Refusef("The word or phrase %.40q… is too long to be found here.", t.Whole)
		}
		mark := w.bind("query", pattern)
		for _, c := range at.text {
			column := w.dialect.Quote(c.Name)
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
	low := []rune(strings.ToLower(t))
	all := []string{t, string(low), strings.ToUpper(t), strings.ToUpper(string(low[:1])) + string(low[1:])}
	slices.Sort(all)
	return slices.Compact(all)
}

// occurrences returns an expression that counts the terms in the columns.
func (at target) occurrences(w *writer, q words) string {
	var sums []string
	for _, t := range q.wanted() {
		mark := w.dialect.Fold.Of(w.bind("word", t.Whole))
		for _, c := range at.text {
			column := w.dialect.Fold.Of(w.dialect.Quote(c.Name))
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
	var columns, titles []string
	for _, c := range at.text {
		if slices.ContainsFunc(at.title, func(t source.Column) bool { return t.Name == c.Name }) {
			titles = append(titles, w.dialect.Quote(c.Name))
		} else {
			columns = append(columns, w.dialect.Quote(c.Name))
		}
	}
	columns = append(columns, titles...)
	s := "CASE"
	for _, a := range q.alternatives {
		mark := w.dialect.Fold.Of(w.bind("word", a.All[0].Whole))
		for _, c := range columns {
			place := w.dialect.Position.Of(w.dialect.Fold.Of(c), mark)
			begin := w.dialect.Greatest.Of("1", fmt.Sprintf("%s - %d", place, before))
			s += fmt.Sprintf(" WHEN %s > 0 THEN substr(%s, %s, %d)", place, w.text(c), begin, length)
		}
	}
	return s + fmt.Sprintf(" ELSE substr(%s, 1, %d) END", w.text(columns[0]), length)
}
