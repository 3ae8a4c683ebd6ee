// Package profile provides the tools that examine one column: get_column_stats and get_value_distribution. They
// write their own SQL. Names in it come from the source's catalog and are quoted for its dialect; the only part of
// an input that becomes part of a statement is checked numbers.
package profile

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/lookup"
	"github.com/footnotehq/footnote/tool/schema"
)

// Options configure the tools.
type Options struct {
	Sources lookup.Sources // required
	// Limits bound the queries. Zero fields take the source's own limits.
	Limits source.Limits
}

// New returns get_column_stats and get_value_distribution.
func New(o Options) []tool.Tool {
	return []tool.Tool{lookup.Tool(statsSpec, stats{o}.run), lookup.Tool(distributionSpec, distribution{o}.run)}
}

// cellShown limits the bytes of a text value that the model reads.
const cellShown = 500

type statsInput struct {
	Thought string `json:"thought,omitempty" jsonschema:"Why the statistics are needed, in one short sentence. The user sees it."`
	Column  string `json:"column" jsonschema:"Name of the column."`
	Table   string `json:"table,omitempty" jsonschema:"Name of the table or view. It may be left out when the source has only one."`
	Source  string `json:"source,omitempty" jsonschema:"Name of the source that has the table. Required when the conversation has several sources."`
}

type stats struct{ Options }

var statsSpec = tool.Spec{
	Name: "get_column_stats", Label: "Looking at a column", Family: tool.ColumnStats, Cacheable: true,
	Description: "Get statistics of one column over the whole table: number of rows, nulls and distinct values, the " +
		"smallest and the largest value. For numbers also mean, median and standard deviation; for text the lengths; " +
		"for dates the days between first and last; for booleans how many are true. Use it to learn what a column " +
		"holds before you filter or aggregate by it, and to check for missing or odd values. The statistics are " +
		"stored as a result that footnotes and charts can refer to.",
	InputSchema: schema.For[statsInput](),
	Side:        tool.Server, ReadOnly: true,
}

func (t stats) run(ctx context.Context, call tool.Call, in statsInput) (tool.Output, error) {
	at, err := t.find(ctx, call, in.Source, in.Table, in.Column)
	if err != nil {
		return tool.Output{}, err
	}
	ctx = footnote.WithSource(ctx, at.name)
	sql := at.statsSQL()
	result, _, err := source.Collect(ctx, at.src, source.Query{SQL: sql, Limits: t.Limits})
	if err != nil {
		return tool.Output{}, lookup.Failure(ctx, at.src, sql, err)
	}
	if len(result.Rows) != 1 {
		return tool.Output{}, fmt.Errorf("statistics of %s: %d rows instead of one", at.column.Name, len(result.Rows))
	}
	return tool.Output{Content: at.statsContent(call.ResultID, result), Rows: &result, Source: at.name, SQL: sql}, nil
}

// place is a column with its table and source.
type place struct {
	name    string // name of the source
	src     source.Source
	dialect *source.Dialect
	table   source.Table
	column  source.Column
}

func (o Options) find(ctx context.Context, call tool.Call, src, table, column string) (at place, err error) {
	if at.name, at.src, err = lookup.Source(o.Sources, call, src); err != nil {
		return place{}, err
	}
	at.dialect = at.src.Dialect()
	if at.table, err = lookup.Table(ctx, at.src, table); err != nil {
		return place{}, err
	}
	at.column, err = lookup.Column(at.table, column)
	return at, err
}

// header begins every answer and says what it is about.
type header struct {
	Result string `json:"result"`
	Source string `json:"source"`
	Table  string `json:"table"`
	Column string `json:"column"`
	Type   string `json:"type,omitempty"`
}

func (at place) header(id string) header {
	h := header{Result: id, Source: at.name}
	h.Table, _ = reply.Clip(at.table.FullName(), cellShown)
	h.Column, _ = reply.Clip(at.column.Name, cellShown)
	h.Type, _ = reply.Clip(at.column.Type, 100)
	return h
}

// statsContent encodes the single row as an object with its keys in the row's order.
func (at place) statsContent(id string, r footnote.Result) string {
	data := []byte{'{'}
	for i, c := range r.Columns {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, reply.JSON(c.Name)...)
		data = append(data, ':')
		cell := r.Rows[0][i]
		if s, ok := cell.(string); ok {
			cell, _ = reply.Clip(s, cellShown)
			data = append(data, reply.JSON(cell)...)
			continue
		}
		data = footnote.AppendCell(data, cell)
	}
	return string(reply.JSON(struct {
		header
		Stats json.RawMessage `json:"stats"`
	}{at.header(id), append(data, '}')}))
}

// as quotes the name of a result column: people would use names like count, min and max, which are functions.
func (at place) as(name string) string { return " AS " + at.dialect.Quote(name) }

// value returns the column, qualified by its table: SQLite reads a bare quoted name that does not exist as a
// string.
func (at place) value() string { return "t." + at.dialect.Quote(at.column.Name) }

func (at place) from() string { return " FROM " + at.dialect.Table(at.table) + " AS t" }
