package search

import (
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
	dialect *source.Dialect
	table   source.Table
	key     source.Column
	title   []source.Column
	text    []source.Column
	vector  source.Column // a tsvector; nameless: none
	fts     source.Table  // an FTS5 table; nameless: none
	ftsOrg  string        // the org column in fts, if it has one
	org     source.Column // nameless: none
	filters []filter
	advice  string // for the model
	remark  string // for the operator
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
	if at.Name == "" {
		at.Name = t.Table
	}
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
	if at.table, err = tableOf("table", schema, t.Table); err != nil {
		return at, err
	}
	if err := at.columns(); err != nil {
		return at, err
	}
	if err := at.engine(ctx, src, schema); err != nil {
		return at, err
	}
	return at, at.try(ctx, src)
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
	if at.Limit == 0 {
		at.Limit = defaultLimit
	}
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

// columnOf returns a table's column with the given name and one of the given kinds. The kinds also appear in
// messages.
func columnOf(key string, t source.Table, name string, kinds ...string) (source.Column, error) {
	c, err := lookup.Column(t, name)
	for _, exact := range t.Columns {
		if exact.Name == name {
			c, err = exact, nil
		}
	}
	if err != nil {
		return c, invalidSetting(key, name, "%v", err)
	}
	if len(kinds) > 0 && !slices.Contains(kinds, c.Kind) || isVector(c) {
		return c, invalidSetting(key, name, "the column has the type %s", c.Type)
	}
	return c, nil
}

func isVector(c source.Column) bool { return strings.EqualFold(c.Type, "tsvector") }

// columns looks up the columns that every engine needs.
func (at *target) columns() (err error) {
	scalars := []string{footnote.KindText, footnote.KindInteger, footnote.KindNumber, footnote.KindDecimal,
		footnote.KindBoolean,
		footnote.KindDate, footnote.KindTimestamp, footnote.KindTime, footnote.KindUnknown}
	if at.key, err = columnOf("key", at.table, at.Key, scalars...); err != nil {
		return err
	}
	for _, name := range at.Title {
		c, err := columnOf("title", at.table, name, scalars...)
		if err != nil {
			return err
		}
		at.title = append(at.title, c)
	}
	for _, name := range at.Text {
		c, err := columnOf("text", at.table, name, footnote.KindText, footnote.KindUnknown)
		if err != nil {
			return err
		}
		at.text = append(at.text, c)
	}
	if at.OrgColumn != "" {
		if at.org, err = columnOf("org_column", at.table, at.OrgColumn, footnote.KindText, footnote.KindInteger,
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
	c, err := columnOf("filters.column", at.table, f.Column)
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
		return invalidSetting("filters.column", f.Column, "it is there twice")
	case len(f.Description) > maxWords:
		return invalidSetting("filters.description", f.Description[:40]+"…", "it has more than %d bytes", maxWords)
	}
	at.filters = append(at.filters, filter{f, c})
	return nil
}

// engine looks up what the source's way to search needs, and refuses settings for other ways.
func (at *target) engine(ctx context.Context, src source.Source, s source.Schema) error {
	way := at.dialect.TextSearch
	switch {
	case at.Language != "" && way != source.SearchTSVector:
		return invalidSetting("language", at.Language, "it is for Postgres; the source %s is %s", at.Source,
			at.dialect.Name)
	case at.Vector != "" && way != source.SearchTSVector:
		return invalidSetting("vector", at.Vector, "it is for Postgres; the source %s is %s", at.Source,
			at.dialect.Name)
	case at.FTS != "" && way != source.SearchFTS5:
		return invalidSetting("fts", at.FTS, "it is for SQLite; the source %s is %s", at.Source, at.dialect.Name)
	case at.OrgColumn != "" && at.dialect.SameBytes == "":
		return invalidSetting("org_column", at.OrgColumn, "%s cannot compare texts byte by byte", at.dialect.Name)
	case way == source.SearchTSVector:
		return at.withTSVector(ctx, src)
	case at.FTS != "":
		return at.withFTS5(ctx, src, s)
	case at.dialect.FoldsAccents:
		at.remark = "ILIKE, without an index; neither case nor accents matter"
		at.advice = "Words are found as they are written, also inside longer ones; accents do not matter."
		return nil
	}
	at.remark = "LIKE, without an index; accents matter"
	if at.dialect.LikeFolds {
		at.remark += ", and case does where words mix it beyond ASCII"
	}
	at.advice = "Words are found as they are written, also inside longer ones; accents matter, so write words with " +
		"theirs."
	return nil
}

// withTSVector checks that the language exists, and whether it treats é like e.
func (at *target) withTSVector(ctx context.Context, src source.Source) error {
	if at.Language == "" {
		at.Language = "simple"
	}
	if at.Vector != "" {
		c, err := lookup.Column(at.table, at.Vector)
		if err != nil {
			return invalidSetting("vector", at.Vector, "%v", err)
		}
		if !isVector(c) {
			return invalidSetting("vector", at.Vector, "the column has the type %s, not tsvector", c.Type)
		}
		at.vector = c
	}
	one := func(sql string) (any, error) {
		r, _, err := source.Collect(ctx, src, source.Query{SQL: sql})
		if err != nil || len(r.Rows) != 1 || len(r.Rows[0]) != 1 {
			return nil, err
		}
		return r.Rows[0][0], nil
	}
	folds, err := one(fmt.Sprintf("SELECT to_tsvector('%[1]s', 'manutenção') = to_tsvector('%[1]s', 'manutencao')",
		at.Language))
	if err != nil {
		return invalidSetting("language", at.Language, "%s", operatorText(err))
	}
	how := "a tsvector made for each row of each search (an index on the same expression is used)"
	if at.vector.Name != "" {
		how = "the column " + at.vector.Name
	}
	at.advice = "Words are found in most of their forms (configuration " + at.Language +
		"; join forms that differ more by or); "
	switch _, err := one("SELECT unaccent('é')"); {
	case folds == true:
		at.advice += "accents do not matter."
		at.remark = fmt.Sprintf("%s, language %s, in which accents do not matter", how, at.Language)
	case err == nil:
		at.advice += "accents matter, so write words with theirs."
		at.remark = fmt.Sprintf(
			"%s, language %s, in which accents matter: unaccent is installed, but no dictionary of this configuration",
			how, at.Language)
	default:
		at.advice += "accents matter, so write words with theirs."
		at.remark = fmt.Sprintf(
			"%s, language %s, in which accents matter: the extension unaccent is not installed, or not for this role",
			how, at.Language)
	}
	return nil
}

// withFTS5 looks up the index.
func (at *target) withFTS5(ctx context.Context, src source.Source, s source.Schema) (err error) {
	if at.fts, err = tableOf("fts", s, at.FTS); err != nil {
		return err
	}
	if at.org.Name != "" {
		if c, ok := at.fts.Column(at.org.Name); ok {
			at.ftsOrg = c.Name
		}
	}
	name := at.dialect.Quote(at.fts.Name)
	probe := fmt.Sprintf(`SELECT bm25(f.%[1]s) FROM %[1]s AS f WHERE f.%[1]s MATCH '"footnote"' LIMIT 0`, name)
	if _, _, err := source.Collect(ctx, src, source.Query{SQL: probe}); err != nil {
		return invalidSetting("fts", at.FTS, "it is no FTS5 table: %s", operatorText(err))
	}
	at.remark = "the FTS5 table " + at.fts.Name + ", whose tokenizer decides on accents and forms"
	at.advice = "Whole words are found."
	return nil
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
	if _, _, err := source.Collect(ctx, src, source.Query{SQL: st.sql, Args: st.args}); err != nil {
		if at.fts.Name != "" && strings.Contains(operatorText(err), "rowid") {
			return invalidSetting("fts", at.FTS,
				"the rows of %s have no rowid by which its own are found: it is a view, or WITHOUT ROWID, or the "+
					"source has filters", at.Table.Table)
		}
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
