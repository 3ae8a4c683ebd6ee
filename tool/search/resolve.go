package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool/internal/lookup"
	"github.com/footnotehq/footnote/tool/internal/typed"
)

// Limits of a configuration.
const (
	maxTables    = 50
	maxColumns   = 16 // per list of a table
	maxLimit     = 100
	defaultLimit = 10
	maxWords     = 2000
)

var (
	goodName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
	goodLanguage = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$`)
)

// target is a configured table, resolved in its source: every name in it comes from the catalog.
type target struct {
	Table
	dialect     *source.Dialect
	table       source.Table
	key         source.Column
	title, text []source.Column
	org         source.Column // nameless: none
	filters     []filter
	advice      string // for the model
	remark      string // for the operator

	// These are SQL, except for index.
	index    string // the name of the configured index; empty: none
	entryOrg string // the org column in an index that is a table; empty: none
	from     string // the table, joined with an index that is a table
	prefix   string // precedes the columns of the table
	document string // a row in the form in which the engine searches it; empty: by LIKE
}

type filter struct {
	Filter
	column source.Column
}

// invalidSetting returns an error for a setting with an invalid value.
func invalidSetting(key, value, words string, args ...any) error {
	return fmt.Errorf("%s is %q: %s", key, value, fmt.Sprintf(words, args...))
}

// resolve looks up a table in its source and tests the search there.
func resolve(ctx context.Context, sources lookup.Sources, t Table) (target, error) {
	at := target{Table: t}
	at.Name = cmp.Or(at.Name, t.Table)
	if err := at.check(); err != nil {
		return at, err
	}
	src, err := sources.Source(t.Source)
	if err != nil {
		return at, invalidSetting("source", t.Source, "%s", footnote.MessageOf(err))
	}
	at.dialect = src.Dialect()
	schema, err := src.Schema(ctx)
	if err != nil {
		return at, invalidSetting("source", t.Source, "its tables cannot be read: %v", err)
	}
	if at.table, err = tableOf("table", schema, t.Table); err == nil {
		err = at.columns()
	}
	if err == nil {
		err = at.method(ctx, src, schema)
	}
	if err == nil {
		err = at.try(ctx, src)
	}
	return at, err
}

// check checks everything that can be checked without the source.
func (at *target) check() error {
	switch {
	case at.Source == "":
		return invalidSetting("source", "", "it must name a configured source")
	case at.Table.Table == "":
		return invalidSetting("table", "", "it must name a table of the source")
	case !goodName.MatchString(at.Name):
		return invalidSetting("name", at.Name, "it must be of letters, digits, _, . and -, and begin with a letter")
	case len(at.Description) > maxWords:
		return invalidSetting("description", at.Description[:40]+"…", "it has more than %d bytes", maxWords)
	case at.Key == "":
		return invalidSetting("key", "", "it must name a column that tells rows apart")
	case len(at.Text) == 0 || len(at.Text) > maxColumns:
		return invalidSetting("text", strings.Join(at.Text, ", "), "it must name 1 to %d columns to search", maxColumns)
	case len(at.Title) > maxColumns:
		return invalidSetting("title", strings.Join(at.Title, ", "), "it may name at most %d columns", maxColumns)
	case at.Limit < 0 || at.Limit > maxLimit:
		return invalidSetting("limit", fmt.Sprint(at.Limit), "it must be 1 to %d, or be left out for %d", maxLimit,
			defaultLimit)
	case at.Language != "" && !goodLanguage.MatchString(at.Language):
		return invalidSetting("language", at.Language,
			"it must be the name of a text search configuration, such as portuguese")
	case len(at.Filters) > maxColumns:
		return invalidSetting("filters", fmt.Sprint(len(at.Filters)), "there may be at most %d", maxColumns)
	}
	at.Limit = cmp.Or(at.Limit, defaultLimit)
	return nil
}

// tableOf returns the table with the given name. Of two names that differ only in case, it prefers the exact one.
func tableOf(key string, s source.Schema, name string) (source.Table, error) {
	for _, t := range s.Tables {
		if t.FullName() == name {
			return t, nil
		}
	}
	if t, ok := s.Table(name); ok {
		return t, nil
	}
	return source.Table{}, invalidSetting(key, name, "%s", lookup.MissingTable(s, name))
}

// columnOf returns the column with the given name and one of the given kinds. The kinds also appear in messages.
func (at *target) columnOf(key, name string, kinds ...string) (source.Column, error) {
	c, err := lookup.Column(at.table, name)
	for _, exact := range at.table.Columns {
		if exact.Name == name {
			c, err = exact, nil
		}
	}
	if err != nil {
		return c, invalidSetting(key, name, "%v", err)
	}
	if len(kinds) > 0 && !slices.Contains(kinds, c.Kind) || at.isVector(c) {
		return c, invalidSetting(key, name, "the column has the type %s", c.Type)
	}
	return c, nil
}

// isVector reports whether a column can be the engine's index.
func (at *target) isVector(c source.Column) bool {
	ts := at.dialect.TextSearch
	return ts.Index == source.IndexColumn && strings.EqualFold(c.Type, ts.IndexType)
}

// columns looks up the columns that every engine needs.
func (at *target) columns() (err error) {
	scalars := []string{footnote.KindText, footnote.KindInteger, footnote.KindNumber, footnote.KindDecimal,
		footnote.KindBoolean, footnote.KindDate, footnote.KindTimestamp, footnote.KindTime, footnote.KindUnknown}
	if at.key, err = at.columnOf("key", at.Key, scalars...); err != nil {
		return err
	}
	for _, name := range at.Title {
		c, wrong := at.columnOf("title", name, scalars...)
		at.title, err = append(at.title, c), cmp.Or(err, wrong)
	}
	for _, name := range at.Text {
		c, wrong := at.columnOf("text", name, footnote.KindText, footnote.KindUnknown)
		at.text, err = append(at.text, c), cmp.Or(err, wrong)
	}
	if err != nil {
		return err
	}
	if at.OrgColumn != "" {
		if at.org, err = at.columnOf("org_column", at.OrgColumn, footnote.KindText, footnote.KindInteger,
			footnote.KindUnknown); err != nil {
			return err
		}
	}
	for _, f := range at.Filters {
		if err := at.filter(f); err != nil {
			return err
		}
	}
	return nil
}

// filter looks up a column to filter by.
func (at *target) filter(f Filter) error {
	kinds := map[string][]string{
		typed.Text:    {footnote.KindText},
		typed.Integer: {footnote.KindInteger},
		typed.Number:  {footnote.KindInteger, footnote.KindNumber, footnote.KindDecimal},
		typed.Boolean: {footnote.KindBoolean},
		typed.Date:    {footnote.KindDate, footnote.KindTimestamp},
	}[f.Type]
	if kinds == nil {
		return invalidSetting("filters.type", f.Type, "the type of the filter %s must be %s", f.Column,
			strings.Join(typed.All, ", "))
	}
	if !at.dialect.Typed() { // dates are texts, and booleans 0 and 1
		kinds = append(slices.Clone(kinds), footnote.KindUnknown)
		switch f.Type {
		case typed.Date:
			kinds = append(kinds, footnote.KindText)
		case typed.Boolean:
			kinds = append(kinds, footnote.KindInteger)
		}
	}
	c, err := at.columnOf("filters.column", f.Column)
	if err != nil {
		return err
	}
	switch {
	case !slices.Contains(kinds, c.Kind):
		return invalidSetting("filters.type", f.Type, "the column %s has the type %s", f.Column, c.Type)
	case len(f.Values) > 0 && f.Type != typed.Text || len(f.Values) > maxValues:
		return invalidSetting("filters.values", strings.Join(f.Values[:min(len(f.Values), 5)], ", "),
			"the filter %s may have them as a text alone, at most %d", f.Column, maxValues)
	case c.Name == at.org.Name:
		return invalidSetting("filters.column", f.Column, "it is the org_column, which every search is limited to")
	case slices.ContainsFunc(at.filters, func(o filter) bool { return o.column.Name == c.Name }):
		return invalidSetting("filters.column", f.Column, "it is listed twice")
	case len(f.Description) > maxWords:
		return invalidSetting("filters.description", f.Description[:40]+"…", "it has more than %d bytes", maxWords)
	}
	at.filters = append(at.filters, filter{f, c})
	return nil
}

// method looks up how the source's engine searches the table, and refuses settings that it does not have.
func (at *target) method(ctx context.Context, src source.Source, s source.Schema) error {
	ts := at.dialect.TextSearch
	for _, setting := range []struct {
		key, value string
		known      bool
	}{
		{"language", at.Language, ts.Language != ""},
		{"vector", at.Vector, ts.Index == source.IndexColumn},
		{"fts", at.FTS, ts.Index == source.IndexTable},
	} {
		if setting.value != "" && !setting.known {
			return invalidSetting(setting.key, setting.value, "the source %s is %s, which does not support it",
				at.Source, at.dialect.Name)
		}
	}
	if at.OrgColumn != "" && at.dialect.SameBytes == "" {
		return invalidSetting("org_column", at.OrgColumn, "%s cannot compare texts byte by byte", at.dialect.Name)
	}
	at.Language = cmp.Or(at.Language, ts.Language)
	if err := at.findIndex(ctx, src, s); err != nil {
		return err
	}
	remark, advice, err := at.accents(ctx, src)
	if err != nil {
		return invalidSetting("language", at.Language, "%s", operatorText(err))
	}
	about := ts.Scanned
	if at.index != "" {
		about = ts.Indexed
	}
	at.remark = about.Remark.With("{index}", at.index, "{language}", at.Language, "{accents}", remark)
	at.advice = about.Advice.With("{language}", at.Language, "{accents}", advice)
	return nil
}

// findIndex looks up the configured index, and tests one that is a table.
func (at *target) findIndex(ctx context.Context, src source.Source, s source.Schema) error {
	d, ts := at.dialect, at.dialect.TextSearch
	at.from = d.Table(at.table)
	at.document = ts.Document.With("{text}", at.fullText(), "{language}", at.Language)
	if at.Vector != "" {
		c, err := lookup.Column(at.table, at.Vector)
		if err != nil {
			return invalidSetting("vector", at.Vector, "%v", err)
		}
		if !at.isVector(c) {
			return invalidSetting("vector", at.Vector, "the column has the type %s, not %s", c.Type, ts.IndexType)
		}
		at.index, at.document = c.Name, d.Quote(c.Name)
	}
	if at.FTS == "" {
		return nil
	}
	entries, err := tableOf("fts", s, at.FTS)
	if err != nil {
		return err
	}
	name := d.Quote(entries.Name)
	at.index, at.document, at.prefix = entries.Name, "f."+name, "t."
	if c, ok := entries.Column(at.org.Name); ok {
		at.entryOrg = "f." + d.Quote(c.Name)
	}
	w := &writer{dialect: d}
	p := at.textSearch(w, words{alternatives: []source.Terms{{All: []source.Term{newTerm([]rune("footnote"))}}}})
	probe := w.finish("SELECT " + p.score + " FROM " + name + " AS f WHERE " + p.match + d.First(0))
	if _, err := value(ctx, src, probe); err != nil {
		return invalidSetting("fts", at.FTS, "it is not of the type %s: %s", ts.IndexType, operatorText(err))
	}
	at.from = fmt.Sprintf("%s AS f JOIN %s AS t ON %s", name, at.from, ts.Join.With("{entry}", "f", "{row}", "t"))
	if _, err := value(ctx, src, statement{sql: "SELECT 1 FROM " + at.from + d.First(0)}); err != nil {
		return invalidSetting("fts", at.FTS, "the rows of %s %s", at.Table.Table, ts.JoinFault)
	}
	return nil
}

// accents says for the remark and for the advice whether the engine treats é like e in the configured language. It
// fails if there is no such language.
func (at *target) accents(ctx context.Context, src source.Source) (remark, advice string, err error) {
	ts := at.dialect.TextSearch
	if at.Language == "" {
		return "", "", nil
	}
	of := func(text string) string { return ts.Document.With("{text}", text, "{language}", at.Language) }
	same, err := value(ctx, src, statement{sql: "SELECT " + of("'manutenção'") + " = " + of("'manutencao'")})
	if err != nil {
		return "", "", err
	}
	if remark = "accents do not matter"; same == true {
		return remark, remark, nil
	}
	hint := ts.AccentHint(func(sql string) bool {
		_, err := value(ctx, src, statement{sql: sql})
		return err == nil
	})
	return "accents matter: " + hint, "accents matter, so write words with theirs", nil
}

// value runs a statement and returns the only cell of its result, or nil if there are no rows.
func value(ctx context.Context, src source.Source, st statement) (any, error) {
	r, _, err := source.Collect(ctx, src, source.Query{SQL: st.sql, Args: st.args})
	if err != nil || len(r.Rows) == 0 {
		return nil, err
	}
	return r.Rows[0][0], nil
}

// try has the engine compile the search with every filter, without reading rows.
func (at *target) try(ctx context.Context, src source.Source) error {
	w, err := parseWords(`footnote or "a phrase" -none`)
	if err != nil {
		return err
	}
	in := input{}
	for _, f := range at.filters {
		in.Filters = append(in.Filters, f.example())
	}
	st, err := at.statement(w, in.Filters, "org", 0)
	if err != nil {
		return err
	}
	if _, err := value(ctx, src, st); err != nil {
		return invalidSetting("table", at.Table.Table, "the source refuses the search as it is configured: %s",
			operatorText(err))
	}
	return nil
}

// operatorText returns an error's text for the operator.
func operatorText(err error) string {
	if bad, ok := errors.AsType[*source.Error](err); ok {
		return bad.Reason
	}
	return err.Error()
}
