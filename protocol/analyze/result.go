package analyze

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/tool"
)

// answer converts a tool's result to an answer for the engine. It recognises rows in two forms: {columns,
// rows, rowCount?, truncated?, sql?}, which may hold fewer rows than the query returned, and an array of flat
// objects. Everything else is text for the model. Rows that do not match the number of columns still count as
// rows: the engine refuses them, so the error goes to the page and not to the model.
func answer(callID string, result json.RawMessage) tool.Answer {
	if a, ok := tableOf(result); ok {
		a.CallID = callID
		return a
	}
	if rows, ok := objectsOf(result); ok {
		return tool.Answer{CallID: callID, Rows: &rows, RowCount: len(rows.Rows)}
	}
	return protocol.TextAnswer(callID, result)
}

// tableOf reads the form {columns, rows, …}.
func tableOf(result json.RawMessage) (a tool.Answer, ok bool) {
	var in struct {
		Columns   []json.RawMessage `json:"columns"`
		Rows      json.RawMessage   `json:"rows"`
		RowCount  int               `json:"rowCount"`
		Truncated bool              `json:"truncated"`
		SQL       string            `json:"sql"`
	}
	if json.Unmarshal(result, &in) != nil || len(in.Columns) == 0 {
		return a, false
	}
	columns, ok := protocol.Columns(in.Columns)
	if !ok {
		return a, false
	}
	rows, ok := flatRows(in.Rows, columns)
	return tool.Answer{
		Rows:     &footnote.Result{Columns: columns, Rows: rows, Truncated: in.Truncated},
		RowCount: max(in.RowCount, len(rows)), SQL: in.SQL,
	}, ok
}

// maxCells limits the cells built from an array of objects, whose keys may all differ.
const maxCells = 1_000_000

// objectsOf reads an array of flat objects; the columns are their keys in order of first appearance.
func objectsOf(result json.RawMessage) (res footnote.Result, ok bool) {
	tree, err := strictjson.Parse(result)
	if err != nil || tree.Kind() != strictjson.Array || len(tree.Items()) == 0 {
		return res, false
	}
	at := map[string]int{}
	for _, item := range tree.Items() {
		if item.Kind() != strictjson.Object || len(item.Members()) == 0 {
			return res, false
		}
		for _, m := range item.Members() {
			if _, known := at[m.Name]; !known {
				at[m.Name] = len(at)
				res.Columns = append(res.Columns, footnote.Column{Name: m.Name})
			}
		}
	}
	if len(at)*len(tree.Items()) > maxCells {
		return res, false
	}
	array := []byte{'['}
	for i, item := range tree.Items() {
		row := slices.Repeat([][]byte{[]byte("null")}, len(at))
		for _, m := range item.Members() {
			row[at[m.Name]] = m.Value.Raw()
		}
		if i > 0 {
			array = append(array, ',')
		}
		array = append(append(append(array, '['), bytes.Join(row, []byte{','})...), ']')
	}
	res.Rows, ok = flatRows(append(array, ']'), res.Columns)
	return res, ok
}

// flatRows decodes rows, and reports whether there is an array of them whose cells are all scalar.
func flatRows(data []byte, columns []footnote.Column) (rows [][]any, ok bool) {
	rows, err := footnote.DecodeRows(data, columns)
	return rows, err == nil && rows != nil && !slices.ContainsFunc(rows, func(row []any) bool {
		return slices.ContainsFunc(row, protocol.Nested)
	})
}
