package app

import (
	"context"
	"fmt"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/search"
)

// searchTool adds search_database if the configuration names tables for it.
func (a *App) searchTool(ctx context.Context, tools []tool.Tool) ([]tool.Tool, error) {
	if len(a.cfg.Tools.Search) == 0 {
		return tools, nil
	}
	for _, t := range a.cfg.Tools.Search {
		if _, ok := a.cfg.Sources[t.Source]; !ok {
			return nil, fmt.Errorf("tools.search: the table %q: source is %q, which is not configured", t.Table,
				t.Source)
		}
	}
	t, remarks, err := search.New(ctx, search.Options{
		Tables:  searchTables(a.cfg, ""),
		Sources: a.catalog,
		Logger:  a.log,
	})
	if err != nil {
		return nil, err
	}
	for _, words := range remarks {
		a.log.DebugContext(ctx, "table can be searched", "how", words)
	}
	return append(tools, t), nil
}

// searchTables returns the configured search tables of one source, or of all.
func searchTables(c config.Config, source string) []search.Table {
	var list []search.Table
	for _, t := range c.Tools.Search {
		if source != "" && t.Source != source {
			continue
		}
		st := search.Table{
			Name: t.Name, Description: t.Description, Source: t.Source, Table: t.Table, Key: t.Key, Title: t.Title,
			Text:     t.Text,
			Language: t.Language, Vector: t.Vector, FTS: t.FTS, OrgColumn: t.OrgColumn, Limit: t.Limit,
		}
		for _, f := range t.Filters {
			st.Filters = append(st.Filters, search.Filter(f))
		}
		list = append(list, st)
	}
	return list
}

// checkSearch checks that the tables of a source can be searched as configured.
func checkSearch(ctx context.Context, c config.Config, name string, src source.Source) []doctor.Check {
	tables := searchTables(c, name)
	if len(tables) == 0 {
		return nil
	}
	what := "source " + name
	_, remarks, err := search.New(ctx, search.Options{Tables: tables, Sources: sources{name: src}})
	if err != nil {
		return []doctor.Check{doctor.Fail(what, err.Error())}
	}
	var checks []doctor.Check
	for _, words := range remarks {
		checks = append(checks, doctor.OK(what, "search: "+words))
	}
	return checks
}
