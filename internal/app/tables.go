package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/source"
)

// tableLimits applies the setting tables of a source, besides what another Hiding, which may be nil, hides and says.
type tableLimits struct {
	source.Hiding
	hidden source.Hidden
	config.Tables
}

// limitTables returns inner if the setting is empty.
func limitTables(t config.Tables, inner source.Hiding) source.Hiding {
	l := tableLimits{Hiding: inner, Tables: t}
	if len(t.Include) > 0 {
		keep := source.HiddenTable{}
		for _, name := range t.Include {
			keep.Except = append(keep.Except, source.NewTablePattern(name))
		}
		l.hidden = append(l.hidden, keep)
	}
	for _, name := range t.Exclude {
		p := source.NewTablePattern(name)
		if strings.Contains(name, "*") {
			l.hidden = append(l.hidden, source.HiddenTable{Pattern: &p})
		} else {
			l.hidden = append(l.hidden, source.HiddenTable{Schema: p.Schema, Table: p.Table})
		}
	}
	if len(l.hidden) == 0 && len(t.Descriptions) == 0 {
		return inner
	}
	return l
}

// Any implements source.Hiding.
func (l tableLimits) Any() bool { return len(l.hidden) > 0 || l.Hiding != nil && l.Hiding.Any() }

// For implements source.Hiding.
func (l tableLimits) For(ctx context.Context) source.Hidden {
	if l.Hiding == nil {
		return l.hidden
	}
	return slices.Concat(l.hidden, l.Hiding.For(ctx))
}

// Digest implements source.Describer.
func (l tableLimits) Digest() string {
	sum := sha256.Sum256(fmt.Append(nil, l.Descriptions))
	digest := hex.EncodeToString(sum[:12])
	if d, ok := l.Hiding.(source.Describer); ok {
		digest += d.Digest()
	}
	return digest
}

// Describe implements source.Describer. The context folder has the last word.
func (l tableLimits) Describe(s source.Schema) source.Schema {
	s.Tables = slices.Clone(s.Tables)
	for i := range s.Tables {
		t := &s.Tables[i]
		t.Columns = slices.Clone(t.Columns)
		for name, text := range l.Descriptions {
			if strings.EqualFold(name, t.FullName()) {
				t.Comment = text
			}
			if column, ok := l.column(name, *t); ok {
				t.Columns[column].Comment = text
			}
		}
	}
	if d, ok := l.Hiding.(source.Describer); ok {
		return d.Describe(s)
	}
	return s
}

// column returns the index of the column of a table that a description names.
func (tableLimits) column(name string, t source.Table) (int, bool) {
	table, column := name, ""
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		table, column = name[:at], name[at+1:]
	}
	at := slices.IndexFunc(t.Columns, func(c source.Column) bool { return strings.EqualFold(c.Name, column) })
	return at, at >= 0 && strings.EqualFold(table, t.FullName())
}

// Label implements source.Describer.
func (l tableLimits) Label(tables []string, columns []footnote.Column) {
	if d, ok := l.Hiding.(source.Describer); ok {
		d.Label(tables, columns)
	}
}

// checkTables rejects names in the setting tables that nothing in a source has: a misspelled one would hide nothing.
func checkTables(ctx context.Context, name string, src source.Source, t config.Tables) error {
	names := slices.Concat(t.Include, t.Exclude)
	if len(names)+len(t.Descriptions) == 0 {
		return nil
	}
	s, err := src.Schema(source.Unhidden(ctx))
	if err != nil {
		return fmt.Errorf("source %s: %w", name, err)
	}
	for _, pattern := range names {
		p := source.NewTablePattern(pattern)
		if !slices.ContainsFunc(s.Tables, func(t source.Table) bool { return p.Matches(t.Schema, t.Name) }) {
			return footnote.Invalidf("tables.%s names %.80q, and the source has no such table. Tables of the default "+
				"schema are named without it.", name, pattern)
		}
	}
	for _, described := range slices.Sorted(maps.Keys(t.Descriptions)) {
		if !slices.ContainsFunc(s.Tables, func(table source.Table) bool {
			_, ok := tableLimits{}.column(described, table)
			return ok || strings.EqualFold(described, table.FullName())
		}) {
			return footnote.Invalidf("tables.%s.descriptions describes %.80q, and the source has no such table or "+
				"column.", name, described)
		}
	}
	return nil
}
