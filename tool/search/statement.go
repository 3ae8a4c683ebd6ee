package search

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/typed"
)

// statement is a search as it is run. The bound values are also listed as comments.
type statement struct {
	sql         string
	args        []any
	boundValues string
}

// writer assembles a statement. A value is represented by a mark until the end, when marks become $1, $2, … in
// order of occurrence, which is how statements refer to their arguments. A mark contains NUL, which no name in a
// catalog does, so nothing else looks like a mark.
type writer struct {
	dialect *source.Dialect
	values  []any
	names   []string
}

// bind makes a value a parameter of the statement.
func (w *writer) bind(name string, v any) string {
	w.values, w.names = append(w.values, v), append(w.names, name)
	return fmt.Sprintf("\x00%d\x00", len(w.values)-1)
}

// finish numbers the values.
func (w *writer) finish(text string) statement {
	var st statement
	var b strings.Builder
	number := map[string]int{}
	for i, part := range strings.Split(text, "\x00") {
		if i%2 == 0 {
			b.WriteString(part)
			continue
		}
		n, ok := number[part]
		if !ok {
			at, _ := strconv.Atoi(part)
			st.args = append(st.args, w.values[at])
			n = len(st.args)
			number[part] = n
			st.boundValues += typed.BoundComment(n, w.names[at], w.values[at])
		}
		fmt.Fprintf(&b, "$%d", n)
	}
	st.sql = b.String()
	return st
}

// text returns a column cast to text, with text comparison. A column that holds values of any type has that already.
func (w *writer) text(column string) string {
	if !w.dialect.Typed() {
		return column
	}
	return w.dialect.Text.Of(column)
}

// belongs returns the condition that a row belongs to an organisation. It compares bytes, because values that the
// column's type or collation considers equal (Acme and acme, 1 and 01) are different organisations. If that
// comparison alone would not use an index, the dialect adds the plain one.
func (w *writer) belongs(column, org string) string {
	return w.dialect.SameBytes.Of(w.text(column), w.bind("org", org))
}

// conditions returns the conditions for the organisation and the filters.
func (at target) conditions(w *writer, filters []filterInput, org string) ([]string, error) {
	var all []string
	if at.org.Name != "" {
		all = append(all, w.belongs(at.column(at.org), org))
	}
	if at.entryOrg != "" { // an index entry that outlived its row must not reveal another org's row
		all = append(all, w.belongs(at.entryOrg, org))
	}
	if len(filters) > maxFilters {
		return nil, tool.Refusef("There are more than %d filters.", maxFilters)
	}
	values := 0
	for _, in := range filters {
		if values += len(in.In); values > maxValues {
			return nil, tool.Refusef("The filters have more than %d values.", maxValues)
		}
		f, err := at.filterOf(in.Column)
		if err != nil {
			return nil, err
		}
		cond, err := f.condition(w, at.column(f.column), in)
		if err != nil {
			return nil, tool.Refusef("The filter %s %v.", f.column.Name, err)
		}
		all = append(all, cond)
	}
	return all, nil
}

// column quotes a column of the table.
func (at target) column(c source.Column) string { return at.prefix + at.dialect.Quote(c.Name) }

// shown returns the columns of the result: the key, the title and the filter columns.
func (at target) shown() []source.Column {
	all := append([]source.Column{at.key}, at.title...)
	for _, f := range at.filters {
		all = append(all, f.column)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c source.Column) bool {
		twice := seen[c.Name]
		seen[c.Name] = true
		return twice
	})
}

// free returns a name that no column of the table has.
func (at target) free(name string) string {
	for {
		if _, taken := at.table.Column(name); !taken {
			return name
		}
		name += "_"
	}
}

// parts are the expressions of a search that depend on how the engine finds words.
type parts struct {
	match, score, snippet string
	order                 string // empty: the highest score comes first
	hideScore             bool   // because it depends on rows that the caller must not see
}

// statement writes the search.
func (at target) statement(q words, filters []filterInput, org string, limit int) (_ statement, err error) {
	w := &writer{dialect: at.dialect}
	var p parts
	if at.document != "" {
		p = at.textSearch(w, q)
	} else if p, err = at.like(w, q); err != nil {
		return statement{}, err
	}
	conds, err := at.conditions(w, filters, org)
	if err != nil {
		return statement{}, err
	}
	where := strings.Join(append([]string{p.match}, conds...), "\n  AND ")
	// Counting with OVER carries all rows along, including their texts. With an index, a second count is cheaper.
	count := "count(*) OVER ()"
	if at.index != "" {
		count = fmt.Sprintf("(SELECT count(*) FROM %s WHERE %s)", at.from, where)
	}
	var cols []string
	for _, c := range at.shown() {
		cols = append(cols, at.column(c))
		if at.prefix != "" {
			cols[len(cols)-1] += " AS " + w.dialect.Quote(c.Name)
		}
	}
	add := func(name, expr string) string {
		name = w.dialect.Quote(at.free(name))
		cols = append(cols, expr+" AS "+name)
		return name
	}
	add("snippet", p.snippet)
	score := p.score
	if !p.hideScore {
		score = add("score", score)
	}
	add("matches", count)
	return w.finish(fmt.Sprintf("SELECT %s\nFROM %s\nWHERE %s\nORDER BY %s, %s%s", strings.Join(cols, ",\n  "),
		at.from, where, cmp.Or(p.order, score+" DESC"), at.column(at.key), w.dialect.First(limit))), nil
}

// textSearch returns the parts of a search by the engine's own means.
func (at target) textSearch(w *writer, q words) parts {
	ts, wanted := at.dialect.TextSearch, q.text
	if ts.Syntax != nil {
		wanted = ts.Syntax(q.alternatives)
	}
	query := ts.Query.With("{text}", w.bind("query", wanted), "{language}", at.Language)
	of := func(e source.Expr) string {
		return e.With("{document}", at.document, "{query}", query, "{text}", at.fullText(), "{language}", at.Language)
	}
	return parts{
		match: of(ts.Match), score: of(ts.Score), snippet: of(ts.Snippet), order: of(ts.Order),
		hideScore: ts.SharedScore && at.org.Name != "",
	}
}

// fullText returns the columns that are searched, as one text.
func (at target) fullText() string {
	var texts []string
	for _, c := range at.text {
		texts = append(texts, "coalesce("+at.column(c)+", '')")
	}
	return strings.Join(texts, " || ' ' || ")
}
