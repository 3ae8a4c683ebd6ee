package aisdk

import (
	"bytes"
	"encoding/json"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// ClientResult converts a client tool's output to an answer: compact JSON, plus its rows if it has columns
// and rows, so that footnotes can refer to them. An output {columns, rows, rowCount?, truncated?} may hold
// fewer rows than the query returned.
func ClientResult(callID string, output json.RawMessage) tool.Answer {
	a := tool.Answer{CallID: callID}
	var words string
	if json.Unmarshal(output, &words) == nil {
		a.Content = words
		return a
	}
	var buf bytes.Buffer
	if json.Compact(&buf, output) == nil {
		a.Content = buf.String()
	}
	var table struct {
		Columns   []json.RawMessage `json:"columns"`
		Rows      json.RawMessage   `json:"rows"`
		RowCount  int               `json:"rowCount"`
		Truncated bool              `json:"truncated"`
	}
	if json.Unmarshal(output, &table) != nil || len(table.Columns) == 0 || len(table.Rows) == 0 {
		return a
	}
	res := footnote.Result{Columns: make([]footnote.Column, len(table.Columns))}
	for i, raw := range table.Columns {
		if json.Unmarshal(raw, &res.Columns[i].Name) != nil && json.Unmarshal(raw, &res.Columns[i]) != nil {
			return a
		}
	}
	rows, err := footnote.DecodeRows(table.Rows, res.Columns)
	if err != nil {
		return a
	}
	for _, row := range rows {
		if len(row) != len(res.Columns) {
			return a
		}
	}
	res.Rows, res.Truncated = rows, table.Truncated
	a.Rows, a.RowCount = &res, max(table.RowCount, len(rows))
	return a
}
