package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
)

// Limits on stored rows.
const (
	maxRows    = 10_000
	maxColumns = 200
)

// rowsOf returns the rows of a result: of an array of objects, of the only array in an object, or the one row of an
// object of plain values. It returns nil if the result has no such form. Many servers put JSON into the text alone.
func rowsOf(structured any, text string) *footnote.Result {
	if structured == nil {
		if text = strings.TrimSpace(text); !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
			return nil
		}
		return rowsOfJSON([]byte(text))
	}
	data, err := json.Marshal(structured)
	if err != nil {
		return nil
	}
	return rowsOfJSON(data)
}

func rowsOfJSON(data []byte) *footnote.Result {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil || dec.More() {
		return nil
	}
	switch v := value.(type) {
	case []any:
		return table(v)
	case map[string]any:
		if len(v) == 0 {
			return nil
		}
		var inner []any
		arrays := 0
		for _, field := range v {
			switch f := field.(type) {
			case []any:
				inner = f
				arrays++
			case map[string]any:
				return nil // a tree
			}
		}
		switch arrays {
		case 0:
			if len(v) == 1 && isText(v) {
				return nil // {"content": "…"}: a text, not a row
			}
			return table([]any{v})
		case 1:
			return table(inner)
		}
	}
	return nil
}

func isText(object map[string]any) bool {
	for _, v := range object {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return true
}

// table converts objects to rows. Their columns are in the order of their names: JSON objects have none. It returns
// nil if an item is not an object.
func table(items []any) *footnote.Result {
	names := map[string]bool{}
	for _, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return nil
		}
		for name := range object {
			names[name] = true
		}
	}
	if len(names) == 0 || len(names) > maxColumns {
		return nil
	}
	columns := slices.Sorted(maps.Keys(names))
	out := &footnote.Result{Rows: [][]any{}, Truncated: len(items) > maxRows}
	items = items[:min(len(items), maxRows)]
	for _, name := range columns {
		out.Columns = append(out.Columns, footnote.Column{Name: name, Kind: kindOf(items, name)})
	}
	for _, item := range items {
		row := make([]any, len(columns))
		for i, c := range out.Columns {
			row[i] = cell(item.(map[string]any)[c.Name], c.Kind)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// kindOf returns the kind that fits every value of a column.
func kindOf(items []any, name string) string {
	kind := ""
	for _, item := range items {
		this := ""
		switch v := item.(map[string]any)[name].(type) {
		case nil:
			continue
		case bool:
			this = footnote.KindBoolean
		case string:
			this = footnote.KindText
		case json.Number:
			this = kindOfNumber(v.String())
		default:
			return footnote.KindJSON
		}
		numbers := []string{footnote.KindInteger, footnote.KindNumber, footnote.KindDecimal}
		switch {
		case kind == "" || kind == this:
			kind = this
		case slices.Contains(numbers, kind) && slices.Contains(numbers, this):
			kind = numbers[max(1, slices.Index(numbers, kind), slices.Index(numbers, this))]
		default:
			return footnote.KindJSON
		}
	}
	return kind
}

// exactDigits is how many digits a float64 keeps.
const exactDigits = 15

// kindOfNumber returns the kind that keeps all digits of a number.
func kindOfNumber(text string) string {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return footnote.KindInteger
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return footnote.KindJSON // too large
	}
	if len(strings.Trim(text, "-0.")) > exactDigits && !strings.ContainsAny(text, "eE") {
		return footnote.KindDecimal
	}
	return footnote.KindNumber
}

// cell converts a value to a cell of a column.
func cell(value any, kind string) any {
	switch v := value.(type) {
	case nil:
		return nil
	case json.Number:
		if n, err := v.Int64(); err == nil && kind == footnote.KindInteger {
			return n
		}
		f, err := strconv.ParseFloat(v.String(), 64)
		switch {
		case err == nil && kind == footnote.KindNumber:
			return f
		case err == nil && kind == footnote.KindDecimal && strings.ContainsAny(v.String(), "eE"):
			return strconv.FormatFloat(f, 'f', -1, 64)
		case kind == footnote.KindDecimal:
			return v.String()
		}
	case bool:
		if kind == footnote.KindBoolean {
			return v
		}
	case string:
		if kind == footnote.KindText {
			return strings.ToValidUTF8(v, "\uFFFD")
		}
	}
	data, _ := json.Marshal(value) // it was decoded from JSON
	return string(data)
}
