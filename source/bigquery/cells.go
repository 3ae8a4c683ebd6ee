package bigquery

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/footnotehq/footnote/source/warehouse"
)

// field is a column, or a part of a record.
type field struct {
	Name   string  `json:"name"`
	Type   string  `json:"type"`
	Mode   string  `json:"mode"`
	Fields []field `json:"fields"`
}

// value is a value of a row: of the whole row or a record in F, of another type in V.
type value struct {
	F []value         `json:"f"`
	V json.RawMessage `json:"v"`
}

var errShape = errors.New("a row does not fit its columns")

func columns(fields []field) []warehouse.Column {
	cols := make([]warehouse.Column, len(fields))
	for i, f := range fields {
		cols[i] = warehouse.Column{Name: f.Name, Type: f.Type}
		if f.Mode == "REPEATED" {
			cols[i].Type = "ARRAY"
		}
	}
	return cols
}

// cells returns the cells of a row: a text, or the JSON of an array or record.
func cells(fields []field, row value) ([]any, error) {
	if len(row.F) != len(fields) {
		return nil, errShape
	}
	out := make([]any, len(fields))
	for i, f := range fields {
		v, err := f.plain(row.F[i].V, f.Mode == "REPEATED")
		if err != nil {
			return nil, err
		}
		switch s := v.(type) {
		case nil:
		case string:
			out[i] = s
		default:
			text, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			out[i] = json.RawMessage(text)
		}
	}
	return out, nil
}

// plain returns a value without the wrappings of the API: nil, a string, a list or a record.
func (f field) plain(raw json.RawMessage, repeated bool) (any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if repeated {
		var list []value
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, errShape
		}
		out := make([]any, len(list))
		for i, v := range list {
			var err error
			if out[i], err = f.plain(v.V, false); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if f.Type == "RECORD" || f.Type == "STRUCT" {
		var record value
		if err := json.Unmarshal(raw, &record); err != nil || len(record.F) != len(f.Fields) {
			return nil, errShape
		}
		out := map[string]any{}
		for i, part := range f.Fields {
			v, err := part.plain(record.F[i].V, part.Mode == "REPEATED")
			if err != nil {
				return nil, err
			}
			out[part.Name] = v
		}
		return out, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, errShape
	}
	if f.Type == "TIMESTAMP" {
		micros, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, errShape
		}
		return time.UnixMicro(micros).UTC().Format(time.RFC3339Nano), nil
	}
	return s, nil
}
