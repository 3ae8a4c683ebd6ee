package offline

import (
	"context"
	"regexp"
	"strings"
)

var tablesAsked = regexp.MustCompile(
	`(?i)^\s*(please\s+)?((what|which)\s+(tables|columns|data|sources?)\s+(are\s+there|do\s+(you|we|i)\s+have|exist|` +
		`is\s+there)|(show|list|describe|display)\s+(me\s+)?((all|the|your|our)\s+)*(tables|schema|columns|` +
		`database\s+schema|database)|what('s|\s+is)\s+in\s+(this|the)\s+(data|database|file))\s*[?.!]*\s*$`)

// asksForTables reports whether a question is about the schema.
func asksForTables(q string) bool { return tablesAsked.MatchString(q) }

const (
	maxTables  = 30 // tables of a source that an answer names
	maxColumns = 12 // columns of a table that an answer names
)

// tables describes the contents of the sources. It needs no query, because the schema is known.
func (pn *Planner) tables(ctx context.Context, sources []string, def string) (*reading, error) {
	var ps []*profile
	var away []string
	var firstErr error
	for _, name := range sources[:min(8, len(sources))] {
		p, _, err := pn.profile(ctx, name)
		if err != nil {
			if firstErr == nil {
				firstErr = err
			}
			away = append(away, name)
			continue
		}
		ps = append(ps, p)
	}
	if len(ps) == 0 {
		return nil, firstErr
	}
	return &reading{source: def, say: func(w *Writer) {
		for i, p := range ps {
			if i > 0 {
				w.Text("\n")
			}
			w.echo(Clip(p.source) + " has these tables:\n")
			w.tables(p)
		}
		if len(away) > 0 {
			w.echo("\n" + unavailableText(away))
		}
	}}, nil
}

// tables lists the tables of a source.
func (w *Writer) tables(p *profile) {
	for _, t := range p.tables[:min(maxTables, len(p.tables))] {
		w.echo("- " + t.summary() + "\n")
	}
	if len(p.tables) > maxTables {
		w.Text("- and more\n")
	}
}

// summary returns a table's name and columns.
func (t *table) summary() string {
	var names []string
	for _, c := range t.cols[:min(maxColumns, len(t.cols))] {
		names = append(names, Clip(c.name))
	}
	if len(t.cols) > maxColumns {
		names = append(names, "…")
	}
	return Clip(t.name) + ": " + strings.Join(names, ", ")
}
