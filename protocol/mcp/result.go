package mcp

import (
	"encoding/json"
	"fmt"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

type resultArgs struct {
	ID     string `json:"id" jsonschema:"Id of a stored result, as ask and query return it: conv_….r1."`
	Offset int    `json:"offset,omitempty" jsonschema:"First row, from 0."`
	Limit  int    `json:"limit,omitempty" jsonschema:"Rows to return: 1 to 1000; default 100."`
}

// maxOffset bounds the first row of a page.
const maxOffset = 1 << 40

// result returns a page of a stored result.
func (p *Protocol) result(in invocation, args resultArgs) (*sdk.CallToolResult, error) {
	limit, err := rowLimit(args.Limit)
	if err != nil {
		return nil, err
	}
	if args.Offset < 0 || args.Offset > maxOffset {
		return nil, footnote.Invalidf("offset must be 0 to %d.", maxOffset)
	}
	page, err := p.server.Result(in.r, args.ID, args.Offset, limit)
	if err != nil {
		return nil, err
	}
	t := tableOf(page, limit)
	return succeeded(t.text(), t)
}

// tableOf converts a page of a result.
func tableOf(page protocol.ResultPage, limit int) Table {
	return Table{
		ID: page.ID, Source: page.Source, SQL: page.SQL, Columns: page.Columns, Rows: fitting(page.Rows, limit),
		Offset: int(page.Offset), RowCount: page.RowCount, Truncated: page.Truncated,
		Export: "/api/results/" + url.PathEscape(page.ID) + "?format=csv",
	}
}

// Drawing is a chart of a result.
type Drawing struct {
	Spec json.RawMessage // as checked
	Text string          // drawn in characters
}

type chartArgs struct {
	Result string   `json:"result" jsonschema:"Id of the stored result to draw: conv_….r1. It has one row for each mark."`
	Type   string   `json:"type" jsonschema:"bar, line, area, scatter, pie, histogram or table."`
	X      string   `json:"x,omitempty" jsonschema:"Column along the x axis, or the slices of a pie."`
	Y      []string `json:"y,omitempty" jsonschema:"Numeric columns to draw."`
	Series string   `json:"series,omitempty" jsonschema:"Column whose values split y into series."`
	Title  string   `json:"title,omitempty"`
	Sort   string   `json:"sort,omitempty" jsonschema:"x, -x, y or -y."`
}

// maxDrawn bounds the rows that a chart reads.
const maxDrawn = 10_000

// chart draws a stored result.
func (p *Protocol) chart(in invocation, args chartArgs) (*sdk.CallToolResult, error) {
	page, err := p.server.Result(in.r, args.Result, 0, maxDrawn)
	if err != nil {
		return nil, err
	}
	spec, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode the chart: %w", err)
	}
	d, err := p.Draw(in.r.Context(), page, spec)
	if err != nil {
		return nil, err
	}
	return succeeded(d.Text, map[string]any{"chart": d.Spec, "result": page.ID, "source": page.Source, "sql": page.SQL})
}
