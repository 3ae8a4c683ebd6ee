package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote/source"
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

// name quotes a name from the catalog.
func (w *writer) name(name string) string { return w.dialect.Quote(name) }

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
			st.boundValues += typed.Said(n, w.names[at], w.values[at])
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

// belongs returns the condition that a row belongs to an organization. It compares bytes, because values that the
// column's type or collation considers equal (Acme and acme, 1 and 01) are different organizations. If that
// comparison alone would not use an index, the dialect adds the plain one.
func (w *writer) belongs(column, org string) string {
	return w.dialect.SameBytes.Of(w.text(column), w.bind("org", org))
}

// conditions returns the conditions for the organization and the filters. Prefix precedes each column.
func (at target) conditions(w *writer, prefix string, filters []filterInput, org string) ([]string, error) {
	var all []string
	if at.org.Name != "" {
		all = append(all, w.belongs(prefix+w.name(at.org.Name), org))
	}
	if len(filters) > maxFilters {
		//nolint:staticcheck // a sentence for the model
		return nil, fmt.Errorf("There are more than %d filters.", maxFilters)
	}
	values := 0
	for _, in := range filters {
		if values += len(in.In); values > maxValues {
			//nolint:staticcheck // a sentence for the model
			return nil, fmt.Errorf("The filters have more than %d values.", maxValues)
		}
		f, err := at.filterOf(in.Column)
		if err != nil {
			return nil, err
		}
		cond, err := f.condition(w, prefix, in)
		if err != nil {
			//nolint:staticcheck // a sentence for the model
			return nil, fmt.Errorf("The filter %s %w.", f.column.Name, err)
		}
		all = append(all, cond)
	}
	return all, nil
}

// shown returns the columns of the result: the key, the title and the filter columns.
func (at target) shown() []source.Column {
	list := []source.Column{at.key}
	add := func(c source.Column) {
		for _, have := range list {
			if have.Name == c.Name {
				return
			}
		}
		list = append(list, c)
	}
	for _, c := range at.title {
		add(c)
	}
	for _, f := range at.filters {
		add(f.column)
	}
	return list
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

// statement writes the search.
func (at target) statement(q words, filters []filterInput, org string, limit int) (statement, error) {
	w := &writer{dialect: at.dialect}
	switch {
	case at.dialect.TextSearch == source.SearchTSVector:
		return at.tsearch(w, q, filters, org, limit)
	case at.fts.Name != "":
		return at.fts5(w, q, filters, org, limit)
	}
	return at.like(w, q, filters, org, limit)
}

// maxPart limits how many characters of a row's text are read. A tsvector holds up to a megabyte, and a longer
// text would make everybody's search fail.
const maxPart = 250_000

// tsearch writes the search with tsvector.
func (at target) tsearch(w *writer, q words, filters []filterInput, org string, limit int) (statement, error) {
	var parts, cols []string
	for _, c := range at.text {
		parts = append(parts, "coalesce("+w.name(c.Name)+", '')")
	}
	text := fmt.Sprintf("left(%s, %d)", strings.Join(parts, " || ' ' || "), maxPart)
	vector := fmt.Sprintf("to_tsvector('%s', %s)", at.Language, text)
	if at.vector.Name != "" {
		vector = w.name(at.vector.Name)
	}
	query := fmt.Sprintf("websearch_to_tsquery('%s', %s)", at.Language, w.bind("query", q.text))
	conds, err := at.conditions(w, "", filters, org)
	if err != nil {
		return statement{}, err
	}
	for _, c := range at.shown() {
		cols = append(cols, w.name(c.Name))
	}
	columns, key := strings.Join(cols, ", "), cols[0]
	score, matches, snippet := w.name(at.free("score")), w.name(at.free("matches")), w.name(at.free("snippet"))
	table, where := at.dialect.Table(at.table),
		strings.Join(append([]string{vector + " @@ " + query}, conds...), " AND ")
	// count(*) OVER () carries all rows along, including their texts. With a stored vector, a second count is
	// cheaper.
	count := "count(*) OVER ()"
	if at.vector.Name != "" {
		count = fmt.Sprintf("(SELECT count(*) FROM %s WHERE %s)", table, where)
	}
	inner := slices.Clone(cols)
	for _, c := range at.text { // build it only for the rows shown, not for all matches
		if name := w.name(c.Name); !slices.Contains(inner, name) {
			inner = append(inner, name)
		}
	}
	return w.finish(fmt.Sprintf(`WITH "found" AS (
  SELECT %[1]s, ts_rank(%[2]s, %[3]s) AS %[4]s, %[5]s AS %[6]s
  FROM %[7]s
  WHERE %[8]s
  ORDER BY %[4]s DESC, %[9]s LIMIT %[10]d
)
SELECT %[11]s, ts_headline('%[12]s', %[13]s, %[3]s,
	'StartSel=**, StopSel=**, MaxFragments=2, MaxWords=25, MinWords=10, FragmentDelimiter=" … "') AS %[14]s,
	%[4]s, %[6]s
FROM "found" ORDER BY %[4]s DESC, %[9]s`,
		strings.Join(inner, ", "), vector, query, score, count, matches, table, where, key, limit, columns, at.Language,
		text, snippet)), nil
}

// fts5 writes the search with an FTS5 table.
func (at target) fts5(w *writer, q words, filters []filterInput, org string, limit int) (statement, error) {
	fts := w.name(at.fts.Name)
	from := fmt.Sprintf(`%s AS f JOIN %s AS t ON t.rowid = f.rowid`, fts, at.dialect.Table(at.table))
	conds, err := at.conditions(w, "t.", filters, org)
	if err != nil {
		return statement{}, err
	}
	if at.ftsOrg != "" { // an index entry that outlived its row must not reveal another org's row
		conds = append(conds, w.belongs("f."+w.name(at.ftsOrg), org))
	}
	where := strings.Join(append([]string{fmt.Sprintf("f.%s MATCH %s", fts, w.bind("query", q.match()))}, conds...),
		" AND ")
	var cols []string
	for _, c := range at.shown() {
		cols = append(cols, fmt.Sprintf("t.%[1]s AS %[1]s", w.name(c.Name)))
	}
	cols = append(cols, fmt.Sprintf("snippet(f.%s, -1, '**', '**', '…', 24) AS %s", fts, w.name(at.free("snippet"))))
	if at.org.Name == "" { // the score weights words by everybody's rows
		cols = append(cols, fmt.Sprintf("round(-bm25(f.%s), 4) AS %s", fts, w.name(at.free("score"))))
	}
	cols = append(cols, fmt.Sprintf("(SELECT count(*) FROM %s WHERE %s) AS %s", from, where,
		w.name(at.free("matches"))))
	return w.finish(fmt.Sprintf("SELECT %s\nFROM %s\nWHERE %s\nORDER BY bm25(f.%s), t.%s LIMIT %d",
		strings.Join(cols, ",\n  "), from, where, fts, w.name(at.key.Name), limit)), nil
}
