package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/source"
)

// The bounds of the statistics for a draft.
const (
	draftTime   = 2 * time.Minute // for all tables
	draftColumn = 5 * time.Second // for one column
	draftValues = 12              // columns with more values do not list them
	draftText   = 40              // characters of a value that is listed
)

// DraftModel writes a first model of a source from its schema, its comments and its values. What cannot be read in time
// is left out.
func DraftModel(ctx context.Context, name string, src source.Source) (knowledge.Model, error) {
	s, err := src.Schema(ctx)
	if err != nil {
		return knowledge.Model{}, err
	}
	limited, cancel := context.WithTimeout(ctx, draftTime)
	defer cancel()
	facts := map[string]map[string]knowledge.Facts{}
	for _, t := range s.Tables {
		of := map[string]knowledge.Facts{}
		for _, c := range t.Columns {
			if limited.Err() == nil {
				of[c.Name] = factsOf(limited, src, t, c)
			}
		}
		facts[t.FullName()] = of
	}
	if ctx.Err() != nil {
		return knowledge.Model{}, context.Cause(ctx)
	}
	return knowledge.Draft(name, s, facts), nil
}

// factsOf reads what the values of a column say.
func factsOf(ctx context.Context, src source.Source, t source.Table, c source.Column) (f knowledge.Facts) {
	d := src.Dialect()
	column, from := d.Quote(c.Name), d.Table(t)
	rows := func(sql string) [][]any {
		r, _, err := source.Collect(ctx, src, source.Query{SQL: sql, Limits: source.Limits{Time: draftColumn}})
		if err != nil {
			return nil // a fact that is not known is left out
		}
		return r.Rows
	}
	switch c.Kind {
	case footnote.KindText:
		all := rows("SELECT DISTINCT " + column + " AS v FROM " + from + " ORDER BY 1" + d.First(draftValues+2))
		f.Empty = len(all) == 1 && all[0][0] == nil
		if len(all) > draftValues {
			return f
		}
		for _, row := range all {
			text, ok := row[0].(string)
			if row[0] != nil && (!ok || len(text) > draftText || strings.TrimSpace(text) == "") {
				return knowledge.Facts{}
			}
			if ok {
				f.Values = append(f.Values, text)
			}
		}
	case footnote.KindDate, footnote.KindTimestamp:
		all := rows("SELECT min(" + column + ") AS a, max(" + column + ") AS b FROM " + from)
		if len(all) == 1 && len(all[0]) == 2 && all[0][0] != nil {
			f.First, f.Last = day(all[0][0]), day(all[0][1])
		}
	}
	return f
}

// day returns the date of a value.
func day(v any) string {
	text := fmt.Sprint(v)
	return text[:min(len(text), len(time.DateOnly))]
}
