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
		Rows      [][]any           `json:"rows"`
		RowCount  int               `json:"rowCount"`
		Truncated bool              `json:"truncated"`
		SQL       string            `json:"sql"`
	}
	dec := json.NewDecoder(bytes.NewReader(result))
	dec.UseNumber()
	if dec.Decode(&in) != nil || len(in.Columns) == 0 || in.Rows == nil {
		return a, false
	}
	columns, ok := protocol.Columns(in.Columns)
	if !ok || !cells(in.Rows, columns) {
		return a, false
	}
	return tool.Answer{
		Rows:     &footnote.Result{Columns: columns, Rows: in.Rows, Truncated: in.Truncated},
		RowCount: max(in.RowCount, len(in.Rows)), SQL: in.SQL,
	}, true
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
	for _, item := range tree.Items() {
		row := make([]any, len(at))
		for _, m := range item.Members() {
			dec := json.NewDecoder(bytes.NewReader(m.Value.Raw()))
			dec.UseNumber()
			if dec.Decode(&row[at[m.Name]]) != nil {
				return res, false
			}
		}
		res.Rows = append(res.Rows, row)
	}
	return res, cells(res.Rows, res.Columns)
}

// cells converts the numbers in rows to the types of a result, and reports whether all cells are scalar.
func cells(rows [][]any, columns []footnote.Column) bool {
	for _, row := range rows {
		if slices.ContainsFunc(row, nested) {
			return false
		}
		for i, cell := range row {
			if n, ok := cell.(json.Number); ok {
				kind := ""
				if i < len(columns) {
					kind = columns[i].Kind
				}
				row[i] = number(n, kind)
			}
		}
	}
	return true
}

func nested(cell any) bool {
	switch cell.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

func number(n json.Number, kind string) any {
	if i, err := n.Int64(); err == nil && kind != footnote.KindNumber {
		return i
	}
	f, err := n.Float64()
	if err != nil {
		return n.String() // out of range for a number: keep it as written
	}
	return f
}
