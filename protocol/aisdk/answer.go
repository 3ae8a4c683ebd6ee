package aisdk

import (
	"encoding/json"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/tool"
)

// ClientResult converts a client tool's output to an answer: compact JSON, plus its rows if it has columns
// and rows, so that footnotes can refer to them. An output {columns, rows, rowCount?, truncated?} may hold
// fewer rows than the query returned.
func ClientResult(callID string, output json.RawMessage) tool.Answer {
	a := protocol.TextAnswer(callID, output)
	var table struct {
		Columns   []json.RawMessage `json:"columns"`
		Rows      json.RawMessage   `json:"rows"`
		RowCount  int               `json:"rowCount"`
		Truncated bool              `json:"truncated"`
	}
	if json.Unmarshal(output, &table) != nil || len(table.Columns) == 0 || len(table.Rows) == 0 {
		return a
	}
	columns, ok := protocol.Columns(table.Columns)
	if !ok {
		return a
	}
	rows, err := footnote.DecodeRows(table.Rows, columns)
	if err != nil || slices.ContainsFunc(rows, func(row []any) bool { return len(row) != len(columns) }) {
		return a
	}
	a.Rows = &footnote.Result{Columns: columns, Rows: rows, Truncated: table.Truncated}
	a.RowCount = max(table.RowCount, len(rows))
	return a
}
